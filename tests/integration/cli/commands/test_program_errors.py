# SPDX-License-Identifier: Apache-2.0
# Programs that are wrong end with status 3 and say why.
"""Tests of deadlocks, races and overflows."""

from __future__ import annotations

import json

import traces
from command_line import CommandLine


def test_a_deadlock_names_the_engine_and_the_semaphore(trnsim: CommandLine) -> None:
    (trnsim.folder / "deadlock.nkt").write_text(traces.deadlock())
    message = trnsim.fails(3, "run", "deadlock.nkt")
    assert "deadlock" in message and "semaphore 17" in message and "4" in message
    assert "vector_engine stands before template 0 memset: waits" in message


def test_a_deadlock_in_a_loop_names_the_instruction_of_the_queue(trnsim: CommandLine) -> None:
    lines = [json.loads(line) for line in traces.deadlock().splitlines()]
    run = {**lines[2], "wait": [{"semaphore": 17, "at_least": {"i": 1}}]}
    loop = [{"record": "loop", "index": "i", "count": 4, "kind": "static"}, run, {"record": "end"}]
    signal = {"record": "run", "template": 1, "at": [{"address": 4096}],
              "signal": [{"semaphore": 17, "add": 2}]}
    (trnsim.folder / "loop.nkt").write_text(traces.text(
        [*lines[:2], traces.lowered_memset("gpsimd", 1), signal, *loop], 5))
    message = trnsim.fails(3, "run", "loop.nkt")
    assert "vector_engine stands before template 0 memset, instruction 4 of its queue: " in message
    assert "value 2, last raised by template 1 memset at " in message


def test_a_race_names_both_engines(trnsim: CommandLine) -> None:
    (trnsim.folder / "race.nkt").write_text(traces.race())
    message = trnsim.fails(3, "run", "race.nkt")
    assert "race" in message and "vector" in message and "gpsimd" in message
    assert "template 0 " in message and "template 1 " in message and "?" not in message


def test_a_semaphore_orders_what_would_race(trnsim: CommandLine) -> None:
    (trnsim.folder / "ordered.nkt").write_text(traces.race(ordered=True))
    assert trnsim("run", "ordered.nkt").status == 0


def test_cores_that_wait_on_different_pipes_are_told_with_them(trnsim: CommandLine) -> None:
    records = [{**traces.header("exchange"), "cores": 2}]
    for core in range(2):
        tile = {"record": "buffer", "space": "sbuf", "dtype": "float32", "shape": [128, 64]}
        records += [
            {"record": "core", "core": core},
            {**tile, "id": 2 * core, "name": "mine"}, {**tile, "id": 2 * core + 1, "name": "other"},
            {"record": "template", "id": core, "op": "sendrecv", "engines": ["dma"],
             "operands": [traces.operand("dst", "write", 2 * core + 1, 64),
                          traces.operand("src", "read", 2 * core, 64)],
             "attributes": {"send_to": 1 - core, "recv_from": 1 - core, "pipe": core}},
            {"record": "alloc", "buffer": 2 * core}, {"record": "alloc", "buffer": 2 * core + 1},
            {"record": "run", "template": core, "at": [{}, {}]}]
    (trnsim.folder / "exchange.nkt").write_text(traces.text(records, 2))
    message = trnsim.fails(3, "run", "exchange.nkt")
    assert "template 0 sendrecv: waits for core 1 on pipe 0; " in message
    assert "template 1 sendrecv: waits for core 0 on pipe 1; " in message


def test_sbuf_overflows_where_spilling_is_off(trnsim: CommandLine) -> None:
    (trnsim.folder / "full.nkt").write_text(traces.live_tiles(64))
    message = trnsim.fails(3, "run", "full.nkt", "--policy", "spilling=off")
    assert "SBUF" in message and "partition" in message


def test_tiles_without_a_line_are_named_by_their_number(trnsim: CommandLine) -> None:
    (trnsim.folder / "full.nkt").write_text(traces.live_tiles(64))
    message = trnsim.fails(3, "run", "full.nkt", "--policy", "spilling=off")
    assert "(buffer 0): " in message and "?" not in message


def test_sbuf_overflow_spills_by_default(trnsim: CommandLine) -> None:
    (trnsim.folder / "full.nkt").write_text(traces.live_tiles(64))
    summary = trnsim.result("full.nkt")["summary"]
    assert summary["spill_save_bytes"] > 0
    assert summary["spill_reload_bytes"] > 0


def test_what_fits_runs_without_spilling(trnsim: CommandLine) -> None:
    (trnsim.folder / "fits.nkt").write_text(traces.live_tiles(8))
    summary = trnsim.result("fits.nkt", "--policy", "spilling=off")["summary"]
    assert summary["spill_save_bytes"] == 0


TWO_TILES = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=tile)
    nisa.dma_copy(dst=out, src=result)
    return out
"""


def test_what_is_wrong_on_every_core_is_said_once(trnsim: CommandLine) -> None:
    (trnsim.folder / "kernel.py").write_text(TWO_TILES)
    outcome = trnsim("run", "kernel.py::kernel", "--arg", "float32[128,1536]", "--cores", "2",
                     "--set", "neuron_core.sbuf.usable_partition_kib=8")
    assert outcome.status == 3
    assert outcome.output == ""
    assert outcome.error.count("one instruction needs them all") == 1
