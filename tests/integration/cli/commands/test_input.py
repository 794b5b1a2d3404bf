# SPDX-License-Identifier: Apache-2.0
# Every form of INPUT, right and wrong.
"""Tests of what trnsim run reads."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import traces
from command_line import CommandLine


@pytest.fixture
def add_trace(tmp_path: Path) -> Path:
    path = tmp_path / "add.nkt"
    path.write_text(traces.add())
    return path


def test_a_trace_is_simulated(trnsim: CommandLine, add_trace: Path) -> None:
    outcome = trnsim("run", "add.nkt")
    assert outcome.status == 0, outcome.error
    assert "add" in outcome.output
    assert outcome.error == ""


def test_a_file_standard_input_and_zstd_give_the_same_numbers(
        trnsim: CommandLine, add_trace: Path) -> None:
    from_file = trnsim.result("add.nkt")
    from_input = trnsim.result("-", stdin=add_trace.read_bytes())
    subprocess.run(["zstd", "-q", str(add_trace)], check=True)
    from_zstd = trnsim.result("add.nkt.zst")
    for result in (from_file, from_input, from_zstd):
        result.pop("input")
    assert from_file == from_input == from_zstd


def test_moved_bytes_are_those_of_the_program(trnsim: CommandLine, add_trace: Path) -> None:
    summary = trnsim.result("add.nkt")["summary"]
    assert summary["hbm_read_bytes"] == 256 * 512 * 4
    assert summary["hbm_write_bytes"] == 256 * 512 * 4
    assert summary["latency_us"] > 0


def test_two_runs_give_the_same_bytes(trnsim: CommandLine, add_trace: Path) -> None:
    for name in ("a", "b"):
        outcome = trnsim("run", "add.nkt", "--json", f"{name}.json",
                         "--timeline", f"{name}.pftrace")
        assert outcome.status == 0, outcome.error
    folder = trnsim.folder
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()
    assert (folder / "a.pftrace").read_bytes() == (folder / "b.pftrace").read_bytes()
    assert trnsim("run", "add.nkt").output == trnsim("run", "add.nkt").output


def test_a_missing_file_is_named(trnsim: CommandLine) -> None:
    assert "missing.nkt" in trnsim.fails(2, "run", "missing.nkt")


def test_a_directory_is_not_a_trace(trnsim: CommandLine) -> None:
    (trnsim.folder / "folder.nkt").mkdir()
    assert "folder.nkt" in trnsim.fails(2, "run", "folder.nkt")


def test_an_empty_file_is_not_a_trace(trnsim: CommandLine) -> None:
    (trnsim.folder / "empty.nkt").touch()
    assert "empty.nkt" in trnsim.fails(2, "run", "empty.nkt")


def test_a_truncated_trace_is_told_from_a_whole_one(trnsim: CommandLine, add_trace: Path) -> None:
    lines = add_trace.read_text().splitlines(keepends=True)
    add_trace.write_text("".join(lines[:-1]))
    message = trnsim.fails(2, "run", "add.nkt")
    assert "add.nkt" in message and "summary" in message


def test_a_line_cut_in_the_middle_is_located(trnsim: CommandLine, add_trace: Path) -> None:
    add_trace.write_text(traces.add()[:-20])
    assert f"add.nkt:{len(traces.add().splitlines())}" in trnsim.fails(2, "run", "add.nkt")


def test_a_truncated_zstd_frame_is_an_error(trnsim: CommandLine, add_trace: Path) -> None:
    subprocess.run(["zstd", "-q", str(add_trace)], check=True)
    whole = (trnsim.folder / "add.nkt.zst").read_bytes()
    (trnsim.folder / "cut.nkt.zst").write_bytes(whole[: len(whole) // 2])
    assert "cut.nkt.zst" in trnsim.fails(2, "run", "cut.nkt.zst")


def test_bytes_that_are_not_utf8_are_located(trnsim: CommandLine) -> None:
    text = traces.add().replace('"kernel": "add"', '"kernel": "caf\udce9"')
    (trnsim.folder / "latin.nkt").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "latin.nkt:1" in trnsim.fails(2, "run", "latin.nkt")


@pytest.mark.parametrize("old, new", [
    ('"count": 2', '"count": 0'),
    ('"count": 2', '"count": 99999999999999999999'),
    ('"shape": [256, 512]', '"shape": [9223372036854775807, 512]'),
    ('"shape": [256, 512]', '"shape": [-1, 512]'),
    ('"partitions": 128', '"partitions": 4294967297'),
    ('"version": 1', '"version": 2'),
])
def test_absurd_numbers_are_the_users_error(trnsim: CommandLine, old: str, new: str) -> None:
    text = traces.add()
    assert old in text
    (trnsim.folder / "absurd.nkt").write_text(text.replace(old, new))
    assert "absurd.nkt:" in trnsim.fails(2, "run", "absurd.nkt")


def test_an_unknown_key_is_answered_with_the_nearest(trnsim: CommandLine) -> None:
    (trnsim.folder / "typo.nkt").write_text(traces.add().replace('"engines"', '"engine"', 1))
    message = trnsim.fails(2, "run", "typo.nkt")
    assert '"engine"' in message and '"engines"' in message


def test_arguments_are_for_kernels_only(trnsim: CommandLine, add_trace: Path) -> None:
    assert "leave --arg out" in trnsim.fails(2, "run", "add.nkt", "--arg", "float32[1]")


@pytest.mark.parametrize("option", ["--arg=float32[1]", "--assume=n=3", "--values"])
def test_a_missing_file_is_no_trace_either(trnsim: CommandLine, option: str) -> None:
    assert trnsim.fails(2, "run", "softmax", option).startswith(
        "softmax: is no file; name a kernel as file.py::function, or a trace")


def test_a_script_is_refused_where_one_kernel_is_needed(trnsim: CommandLine) -> None:
    assert "kernel.py::function" in trnsim.fails(2, "compare", "kernel.py")


def test_operations_left_out_need_permission(trnsim: CommandLine) -> None:
    (trnsim.folder / "part.nkt").write_text(traces.unsupported())
    message = trnsim.fails(2, "run", "part.nkt")
    assert "sendrecv between two cores" in message and "--permissive" in message
    permitted = trnsim("run", "part.nkt", "--permissive", "--json", "-")
    assert permitted.status == 0, permitted.error
    assert any("sendrecv" in warning for warning in json.loads(permitted.output)["warnings"])


@pytest.mark.parametrize("name", ["kernel.py", "kernel.py::double"])
def test_kernels_need_no_permission(trnsim: CommandLine, name: str) -> None:
    (trnsim.folder / "kernel.py").write_text("raise SystemExit\n")
    message = trnsim.fails(2, "run", name, "--permissive")
    assert "recorded whole or refused; leave" in message and name in message


def test_remarks_of_a_trace_have_their_lines_and_are_told_once(trnsim: CommandLine) -> None:
    note = {"record": "note", "kind": "warning", "text": "slow"}
    notes = [{"record": "file", "id": 0, "path": "far/k.py"}, note, {**note, "source": [0, 7]},
             {**note, "source": [0, 9, 0, 2]}, {**note, "source": [0, 7]},
             {**note, "kind": "assumption", "source": [0, 7]}]
    head, _, rest = traces.add().partition("\n")
    (trnsim.folder / "noted.nkt").write_text("\n".join([head, *map(json.dumps, notes), rest]))
    result = trnsim.result("noted.nkt")
    assert result["warnings"] == ["slow", "k.py:7, 9: slow"]
    assert result["assumptions"] == ["k.py:7: slow"]


def test_a_trace_for_another_chip_is_warned_about(trnsim: CommandLine, add_trace: Path) -> None:
    warnings = trnsim.result("add.nkt", "--chip", "trn1")["warnings"]
    assert any("made for trn2 and runs on trn1" in warning for warning in warnings)
    assert trnsim.result("add.nkt", "--chip", "trn2")["warnings"] == []


@pytest.mark.parametrize("target, warnings", [
    ("trainium2", []),
    ("trn22", ["the trace was made for trn22, which is not one of the chips inf2, trn1, trn2, trn3, "
               "did you mean trn2? It runs on trn2"]),
    ("mine", ["the trace was made for mine and runs on trn2: tile limits "
              "and engines are those of mine; trace the kernel for trn2"]),
])
def test_a_misspelt_target_is_warned_about(
        trnsim: CommandLine, target: str, warnings: list[str]) -> None:
    text = traces.add().replace('"target": "trn2"', f'"target": "{target}"')
    (trnsim.folder / "other.nkt").write_text(text)
    assert trnsim.result("other.nkt")["warnings"] == warnings


def test_a_misspelt_operator_is_an_error(trnsim: CommandLine) -> None:
    text = traces.add().replace('"attributes": {"op": "add"}', '"attributes": {"op": "adds"}')
    (trnsim.folder / "typo.nkt").write_text(text)
    message = trnsim.fails(2, "run", "typo.nkt")
    assert message.startswith("typo.nkt:6: ")
    assert '"op" is "adds", an unknown operator; did you mean "add"?' in message
