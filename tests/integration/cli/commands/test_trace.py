# SPDX-License-Identifier: Apache-2.0
# trnsim trace: recording and converting.
"""Tests of the trace command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import traces
from command_line import CommandLine

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "kernels"


@pytest.fixture
def add_trace(tmp_path: Path) -> Path:
    path = tmp_path / "add.nkt"
    path.write_text(traces.add())
    return path


def test_a_trace_in_canonical_form_stays_as_it_is(trnsim: CommandLine, add_trace: Path) -> None:
    assert trnsim("trace", "add.nkt", "-o", "once.nkt").status == 0
    assert trnsim("trace", "once.nkt", "-o", "twice.nkt").status == 0
    assert (trnsim.folder / "once.nkt").read_bytes() == (trnsim.folder / "twice.nkt").read_bytes()


@pytest.mark.parametrize("name", ["small.nkt", "small.nkt.zst", "small"])
def test_a_file_is_compressed_and_its_text_on_standard_output(
        trnsim: CommandLine, add_trace: Path, name: str) -> None:
    assert trnsim("trace", "add.nkt", "-o", name).status == 0
    assert (trnsim.folder / name).read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    text = trnsim("trace", name, "-o", "-").output
    assert text == trnsim("trace", "add.nkt", "-o", "-").output
    assert text.startswith('{"record":"header"')


def test_standard_output_takes_a_trace(trnsim: CommandLine, add_trace: Path) -> None:
    outcome = trnsim("trace", "add.nkt", "-o", "-")
    assert outcome.status == 0
    assert json.loads(outcome.output.splitlines()[-1]) == {"record": "summary", "instructions": 6}


def test_the_written_trace_simulates_like_the_one_read(
        trnsim: CommandLine, add_trace: Path) -> None:
    assert trnsim("trace", "add.nkt", "-o", "copy.nkt").status == 0
    assert trnsim.result("copy.nkt")["summary"] == trnsim.result("add.nkt")["summary"]


def test_a_kernel_is_recorded(trnsim: CommandLine) -> None:
    kernel = f"{EXAMPLES}/tensor_add.py::tensor_add"
    matrix = "float32[256,512]"
    outcome = trnsim("trace", kernel, "--arg", matrix, "--arg", matrix, "-o", "k.nkt")
    assert outcome.status == 0, outcome.error
    assert outcome.output.startswith("k.nkt: 8 instructions")
    recorded = trnsim.result("k.nkt")["summary"]
    direct = trnsim.result(kernel, "--arg", matrix, "--arg", matrix)["summary"]
    assert recorded == direct


def test_a_wrong_trace_leaves_the_old_file_whole(trnsim: CommandLine, add_trace: Path) -> None:
    (trnsim.folder / "out.nkt").write_text("old")
    add_trace.write_text(add_trace.read_text()[:-30])
    trnsim.fails(2, "trace", "add.nkt", "-o", "out.nkt")
    assert (trnsim.folder / "out.nkt").read_text() == "old"


@pytest.mark.parametrize("path", ["missing/k.nkt", ".", "/dev/full"])
def test_a_path_that_cannot_be_written_is_named(
        trnsim: CommandLine, add_trace: Path, path: str) -> None:
    assert path in trnsim.fails(2, "trace", "add.nkt", "-o", path)


def test_an_output_is_required(trnsim: CommandLine, add_trace: Path) -> None:
    assert "--output" in trnsim.fails(2, "trace", "add.nkt")


WIDE = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def wide(x):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def test_a_kernel_is_recorded_with_the_limits_that_are_set(trnsim: CommandLine) -> None:
    (trnsim.folder / "wide.py").write_text(WIDE)
    larger = [f"--set=neuron_core.sbuf.{name}=500" for name in ("partition_kib",
                                                                "usable_partition_kib")]
    kernel = ("wide.py::wide", "--arg", "float32[128,60000]")
    assert "240000" in trnsim.fails(3, "trace", *kernel, "-o", "wide.nkt")
    assert trnsim("trace", *kernel, *larger, "-o", "wide.nkt").status == 0
    assert (trnsim.result("wide.nkt", *larger)["summary"]["latency_us"]
            == trnsim.result(*kernel, *larger)["summary"]["latency_us"])


@pytest.mark.parametrize(("name", "setting", "message"), [
    ("add.nkt", "neuron_core.psum.banks=4", "add.nkt is a trace, which has been recorded; leave"),
    ("wide.py::wide", "dma.engines=8", "dma.engines=8: changes no trace, kernels are recorded with"),
    ("wide.py::wide", "neuron_core.psum.banks=inf", 'the value is "inf", but allowed is a whole number'),
])
def test_settings_that_no_trace_has_are_refused(trnsim: CommandLine, add_trace: Path, name: str,
                                                setting: str, message: str) -> None:
    (trnsim.folder / "wide.py").write_text(WIDE)
    assert message in trnsim.fails(2, "trace", name, "--set", setting, "-o", "out.nkt")
