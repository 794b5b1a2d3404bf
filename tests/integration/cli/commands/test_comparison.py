# SPDX-License-Identifier: Apache-2.0
# trnsim compare and trnsim diff.
"""Tests of what puts results side by side."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import traces
from command_line import CommandLine

CHIPS = {"trn1": "trainium1", "inf2": "inferentia2", "trn2": "trainium2", "trn3": "trainium3"}


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add(1024, 1024))


def test_all_chips_are_in_the_table_in_the_order_asked_for(trnsim: CommandLine) -> None:
    outcome = trnsim("compare", "add.nkt", "--chips", ",".join(CHIPS))
    assert outcome.status == 0, outcome.error
    rows = [line.split()[0] for line in outcome.output.splitlines() if line.strip()]
    assert [row for row in rows if row in CHIPS.values()] == list(CHIPS.values())


def test_a_compared_chip_has_the_numbers_of_a_run(trnsim: CommandLine) -> None:
    outcome = trnsim("compare", "add.nkt", "--chips", "trn1,trn2", "--json", "-")
    assert outcome.status == 0, outcome.error
    rows = json.loads(outcome.output)["chips"]
    assert [row["chip"] for row in rows] == ["trainium1", "trainium2"]
    for row, chip in zip(rows, ("trn1", "trn2"), strict=True):
        summary = trnsim.result("add.nkt", "--chip", chip)["summary"]
        assert {key: row[key] for key in summary if key in row} == {
            key: value for key, value in summary.items() if key in row}
        assert row["latency_us"] == summary["latency_us"]


def test_what_is_not_by_default_is_recorded_as_a_run_does(trnsim: CommandLine) -> None:
    words = ["--set", "dma.engine_gb_per_s=9", "--policy", "dma_rings=1", "--method", "benchmark"]
    text = trnsim("compare", "add.nkt", "--chips", "trn1,trn2", *words).output
    run = trnsim("run", "add.nkt", *words).output
    for line in ("like nki.benchmark's latency", "but dma_rings=1", "chip set: dma.engine_gb_per_s=9"):
        assert line in text and line in run
    rows = json.loads(trnsim("compare", "add.nkt", "--chips", "trn1,trn2", *words, "--json",
                             "-").output)["chips"]
    for row, chip in zip(rows, ("trn1", "trn2"), strict=True):
        result = trnsim.result("add.nkt", "--chip", chip, *words)
        assert all(row[key] == result[key] for key in ("config", "config_overrides", "policies"))
        assert row["run"] == {"method": result["run"]["method"]} == {"method": "benchmark"}


def test_a_chip_that_fails_does_not_hide_the_others(trnsim: CommandLine) -> None:
    outcome = trnsim("compare", "add.nkt", "--chips", "trn1,trn22,trn2")
    assert outcome.status == 2
    assert outcome.error.startswith("trn22: no such chip")
    assert "trainium1" in outcome.output and "trainium2" in outcome.output


def test_what_is_wrong_on_all_chips_is_said_once(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "compare", "add.nkt", "--policy", "spiling=off")
    assert message.count("spiling") == 1


@pytest.mark.parametrize("chips", ["", "trn1,", "trn1,trn1"])
def test_a_wrong_list_of_chips_is_the_users_error(trnsim: CommandLine, chips: str) -> None:
    assert "--chips" in trnsim.fails(2, "compare", "add.nkt", "--chips", chips)


def result_file(trnsim: CommandLine, name: str, *words: str) -> None:
    assert trnsim("run", "add.nkt", "--quiet", "--json", name, *words).status == 0


def test_equal_results_have_no_differences(trnsim: CommandLine) -> None:
    result_file(trnsim, "a.json")
    outcome = trnsim("diff", "a.json", "a.json")
    assert outcome.status == 0
    assert " -> " not in outcome.output.partition("\n")[2]


def test_one_of_two_results_may_be_standard_input(trnsim: CommandLine) -> None:
    trnsim("run", "add.nkt", "--json", "a.json")
    other = trnsim("run", "add.nkt", "--set", "dma.engines=8", "--json", "-").output.encode()
    outcome = trnsim("diff", "a.json", "-", stdin=other)
    assert "dma.engines  16 -> 8" in outcome.output, outcome.error
    assert "both are standard input" in trnsim.fails(2, "diff", "-", "-", stdin=other)


def test_a_difference_is_shown_with_both_values_and_percent(trnsim: CommandLine) -> None:
    result_file(trnsim, "a.json")
    result_file(trnsim, "b.json", "--chip", "trn1")
    outcome = trnsim("diff", "a.json", "b.json")
    assert outcome.status == 0, outcome.error
    latency = next(line for line in outcome.output.splitlines() if line.split()[:1] == ["latency"])
    assert " -> " in latency and latency.endswith("%")


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b"{}", b"\xff\xfe", b"null", b'{"schema_version": 1}'])
def test_a_file_that_is_no_result_is_named(trnsim: CommandLine, content: bytes) -> None:
    result_file(trnsim, "a.json")
    (trnsim.folder / "b.json").write_bytes(content)
    assert "b.json" in trnsim.fails(2, "diff", "a.json", "b.json")


def test_a_missing_result_is_named(trnsim: CommandLine) -> None:
    result_file(trnsim, "a.json")
    assert "b.json" in trnsim.fails(2, "diff", "a.json", "b.json")


def test_compare_leaves_no_files_behind(trnsim: CommandLine) -> None:
    assert trnsim("compare", "add.nkt", "--chips", "trn1,trn2").status == 0
    assert os.listdir(trnsim.folder) == ["add.nkt"]
