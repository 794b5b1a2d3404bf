# SPDX-License-Identifier: Apache-2.0
# Which loops of the `nki` API may have iterations left out.
"""The proof of loop bodies: what it accepts, and that everything else is executed in full."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest
from helpers import executions, tensor
from trnsim.frontend import FrontendError, trace
from kernel_files import find_kernel
from trnsim.frontend.loops import LoopRange

HEADER = """import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

class Box:
    nothing = None
    def __init__(self, value):
        self.value = value
        self.flag = False
    @property
    def twice(self):
        return 2
    def __getitem__(self, key):
        return self.value

def helper(tile):
    nisa.memset(dst=tile, value=0.0)

@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    bank = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    tiles, seen, count, box, keep = [tile] * 20, [], 0, Box(tile), 0
    other = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=other, value=0.0)
    mixed, numbers = [tile, tile, tile, other] * 5, list(range(20))
    fresh = [nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf) for _ in range(20)]
    nisa.memset(dst=tile, value=0.0)
    for i in nl.affine_range(20):
"""
LOAD = "nisa.dma_copy(dst=tile, src=x[i * 128:i * 128 + 128, 0:64])"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnsim.frontend.sampling.sample.LONG", 0)
    monkeypatch.setattr("trnsim.frontend.sampling.sample.BYTES_PER_CALL", 10**9)
    monkeypatch.setattr("trnsim.frontend.sampling.sample.SHORT", 0)


def loads(body: str, after: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the last statement of a loop of 20 is executed, of the trace that counts."""
    path.write_text(HEADER + "".join(f"        {line}\n" for line in (*body.split("\n"), LOAD))
                    + f"    {after}\n")
    kernel = find_kernel(f"{path}::kernel")
    return executions(lambda: kernel, monkeypatch)


@pytest.mark.parametrize(("body", "most"), [
    ("pass", 4),
    ("start = i * 64 + 5\nnisa.tensor_copy(dst=tile, src=tile[0:128, 0:64])", 4),
    ("parts = []\nfor k in range(3):\n    parts.append(tile)\n"
     "nisa.memset(dst=parts[2], value=1)", 4),
    ("if i >= 10:\n    nisa.memset(dst=tile, value=1.0)", 8),
    ("if x.shape[0] == 4096:\n    nisa.memset(dst=tile, value=1.0)", 4),
    ("assert i < 20, f'{i} is too much'", 4),
    ("nisa.tensor_copy(dst=tiles[i], src=tile)", 4),
    ("for k in range(3):\n    nisa.tensor_copy(dst=tiles[i], src=tiles[k + i * 0])", 4),
    ("tile.ap([[64, 128], [1, 64]])", 4),
    ("x.ap([[4096, 128], [1, 64]], offset=i * 64)", 4),
    ("start = box.value", 4),
    ("if box.flag:\n    count += 1", 4),
    ("if box.flag is not None and box.nothing is not None:\n    count += 1", 4),
    ("nisa.nc_matmul(dst=bank[0:64, 0:64], stationary=tile, moving=tile)", 5)])
def test_a_proven_loop_executes_a_few_iterations(
        body: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 3 <= loads(body, "pass", tmp_path / "proven.py", monkeypatch) <= most


@pytest.mark.parametrize("body", [
    "count += 1", "seen.append(i)", "helper(tile)", "print(i)", "box[0]", "box.twice",
    "tiles[i % 3]", "nisa.tensor_copy(dst=mixed[i], src=tile)", "keep = np.float32(i)",
    "nisa.tensor_copy(dst=fresh[i], src=tile)", "if not box.flag:\n    count += 1",
    "box.value = tile", "nisa.memset(dst=tile, value=numbers[i])",
    "tile.ap([[64, 128], [1, 64]], dtype=x.dtype)", "x.ap([[i + 1, 128], [1, 64]])",
    "if i == 3:\n    keep = i", "nisa.memset(dst=tile, value=i)", "x[0:128, 0:i + 1]",
    "global SEEN\nSEEN = count\ncount = i", "'%d' % i",
    "[i for i in range(3)]", "(lambda: 0)()", "del keep\nkeep = 1", "tiles[0] = tile",
    "try:\n    pass\nfinally:\n    pass", "while False:\n    pass", "if i == 30:\n    break",
    "nisa.nc_matmul(dst=bank[0:64, i * 8:i * 8 + 64], stationary=tile, moving=tile, "
    "accumulate=False)"])
def test_every_other_loop_is_executed_in_full(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loads(body, "pass", tmp_path / "other.py", monkeypatch) == 20


def test_a_kernel_finds_plain_integers_after_a_loop(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loads("start = i * 2", "assert type(i) is int and type(start) is int",
                      tmp_path / "after.py", monkeypatch) == 3


def test_an_error_is_that_of_the_iteration_at_fault(tmp_path: Path) -> None:
    path = tmp_path / "fault.py"
    path.write_text(f"{HEADER}        {LOAD.replace('128:i * 128', '256:i * 256')}\n")
    with pytest.raises(FrontendError, match="is sliced 4096:4224 in"):
        trace(find_kernel(f"{path}::kernel"), [tensor("bfloat16", 4096, 4096)])


def test_a_source_that_was_changed_proves_nothing(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "changed.py"
    path.write_text(HEADER + f"        count += 1\n        {LOAD}\n")
    function: Any = find_kernel(f"{path}::kernel")
    path.write_text(HEADER + f"        pass\n        {LOAD}\n")
    program = trace(function, [tensor("bfloat16", 4096, 4096)])
    assert program.instructions == 22 and not program._recorders[0].shortcuts.has_sampled


def test_a_file_that_runs_with_the_future_statements_of_another_one_is_proven(
        tmp_path: Path) -> None:
    path = tmp_path / "handed_down.py"
    path.write_text(f"{HEADER}        {LOAD}\n")
    names: dict[str, Any] = {"range": LoopRange}
    exec(compile(path.read_text(), str(path), "exec"), names)  # annotations, as in this file
    program = trace(names["kernel"], [tensor("bfloat16", 4096, 4096)])
    assert program._recorders[0].shortcuts.has_sampled


def test_a_source_that_was_changed_and_loaded_again_proves_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    for body, is_proven in (("pass", True), ("seen.append(i)", False), ("count = 1", True)):
        path.write_text(f"{HEADER}        {body}\n        {LOAD}\n")
        names: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), names)
        program = trace(names["kernel"], [tensor("bfloat16", 4096, 4096)])
        assert program._recorders[0].shortcuts.has_sampled == is_proven


def test_a_loop_in_a_cell_of_a_notebook_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    text, name = f"{HEADER}        {LOAD}\n", "/tmp/ipykernel_1/2.py"
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(True), name))
    names: dict[str, Any] = {"range": LoopRange}
    exec(compile(text, name, "exec"), names)
    program = trace(names["kernel"], [tensor("bfloat16", 4096, 4096)])
    assert program._recorders[0].shortcuts.has_sampled


def test_loops_inside_of_a_proven_one_execute_two_iterations_once_they_are_known(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = ("for j in nl.affine_range(30):\n    for k in range(30):\n"
            "        nisa.dma_copy(dst=tile, src=x[i * 8 + j:i * 8 + j + 128, nl.ds(k * 4, 64)])")
    # Of 20 * 900: the outer loop executes 3 iterations, and its first one has nothing proven.
    assert loads(body, "pass", tmp_path / "nested.py", monkeypatch) < 100


def test_a_list_is_looked_at_whenever_its_loop_runs(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = ("for one in (tiles, mixed):\n    pass\n")
    assert loads(body + "box[0]", "for one in (tiles, mixed):\n        for k in range(20):\n"
                      "            nisa.tensor_copy(dst=one[k], src=tile)",
                      tmp_path / "lists.py", monkeypatch) >= 20
