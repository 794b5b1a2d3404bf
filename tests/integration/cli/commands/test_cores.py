# SPDX-License-Identifier: Apache-2.0
# trnsim run --cores: copies of a kernel on several NeuronCores.
"""Tests of `--cores` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
import traces
from command_line import CommandLine


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add(1024, 2048))


def test_every_core_is_listed(trnsim: CommandLine) -> None:
    assert "3 NeuronCores-v3" in trnsim("run", "add.nkt", "--cores", "3").output
    assert "limited by HBM" in trnsim("run", "add.nkt", "--cores", "3").output
    assert len(trnsim.result("add.nkt", "--cores", "3")["cores"]) == 3


def test_how_many_cores_share_a_stack_is_told(trnsim: CommandLine) -> None:
    def heading(*words: str) -> str:
        lines = trnsim("run", "add.nkt", "--cores", "2", *words).output.splitlines()
        return next(line for line in lines if line.startswith("NeuronCores"))
    rest = "; all else is of the one that ended last"
    assert heading() == "NeuronCores, 2 to an HBM stack" + rest
    assert heading("--set", "hbm.cores_per_stack=1") == "NeuronCores" + rest


def test_one_core_has_no_table_of_cores(trnsim: CommandLine) -> None:
    output = trnsim("run", "add.nkt").output
    assert "one NeuronCore-v3" in output
    assert "limited by HBM" not in output


def test_more_cores_than_the_chip_has(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "add.nkt", "--chip", "inf2", "--cores", "3")
    assert "3 NeuronCores are asked for, but inf2 has 2; use 1 to 2" in message
    assert "use 1 to 8" in trnsim.fails(2, "run", "add.nkt", "--cores", "9223372036854775807")


def test_no_core_is_no_number_of_cores(trnsim: CommandLine) -> None:
    assert "--cores" in trnsim.fails(2, "run", "add.nkt", "--cores", "0")


RACING = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def exchange(x, meets=True):
    core = nl.program_id(0)
    between = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="between")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="out")
    mine, other = nl.ds(core * 64, 64), nl.ds(64 - core * 64, 64)
    tile = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[mine, :])
    nisa.dma_copy(dst=between[mine, :], src=tile)
    if meets:
        nisa.core_barrier(between, (0, 1))
    nisa.dma_copy(dst=tile, src=between[other, :])
    nisa.dma_copy(dst=out[mine, :], src=tile)
    return out


exchange_on_two = exchange[2]
'''


def test_cores_that_use_shared_memory_without_meeting_are_a_race(trnsim: CommandLine) -> None:
    (trnsim.folder / "racing.py").write_text(RACING)
    kernel = ("racing.py::exchange_on_two", "--arg", "float32[128,32]")
    assert trnsim.result(*kernel)["summary"]["latency_us"] > 0
    message = trnsim.fails(3, "run", *kernel, "--arg", "False")
    write = RACING.splitlines().index("    nisa.dma_copy(dst=between[mine, :], src=tile)") + 1
    assert message.startswith("race: core ") and f"racing.py:{write}: dma_copy" in message
    assert f"racing.py:{write + 3}: dma_copy, src" in message
    assert "no core_barrier or sendrecv orders the two; let the cores meet in between" in message
