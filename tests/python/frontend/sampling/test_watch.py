# SPDX-License-Identifier: Apache-2.0
# Which loops whose body calls the kernel's own code may have iterations left out.
"""Watched loops: what may call functions, methods and closures, and what has state or other effects."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import executions
from kernel_files import find_kernel

HEADER = """import itertools
import math
import time
import time as nki_time
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

class Mode(Enum):
    A = 1
    B = 2

@dataclass(frozen=True)
class Sizes:
    rows: int = 128
    mode: Mode = Mode.A

class Box(nl.NKIObject):
    tile = None
    count = 0
    made = []

    def fill(self, value=0.0):
        nisa.memset(dst=self.tile, value=value)

    def next_tile(self):
        self.tile = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.memset(dst=self.tile, value=0.0)
        return self.tile

    @property
    def busy(self):
        return self.count > 0

    def use(self):
        self.count += 1

    def release(self):
        self.count -= 1

class Quadratic:
    view = None

COUNTER, CALLS, CLOCK = itertools.count(), [], {"now": 0}

def helper(tile):
    nisa.memset(dst=tile, value=0.0)

def chosen(tiles, i, depth=3):
    return tiles[i] if depth == 0 else chosen(tiles, i, depth - 1)

def ticks():
    CLOCK["now"] += 1
    return CLOCK["now"]

def remembers(tile, known=[]):
    known.append(tile)
    return len(known)

def counted():
    counted.calls = getattr(counted, "calls", 0) + 1
    return counted.calls

@lru_cache
def cached(i):
    return i

def peek(module):
    return module.time()

class Pairs:
    looked = []
    def __init__(self, tiles):
        self.tiles = tiles
    def __getitem__(self, key):
        self.looked.append(key)
        return self.tiles

def yielding(x, tile):
    for i in range(20):
        yield i
        nisa.dma_copy(dst=tile, src=x[i * 128:i * 128 + 128, 0:64])

def generated(n):
    for k in range(n):
        yield k

@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    other = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    tiles = [nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf) for _ in range(20)]
    for one in (tile, other, *tiles):
        nisa.memset(dst=one, value=0.0)
    box, sizes, seen, count, keep, queue = Box(), Sizes(), [], 0, None, [tile, other]
    box.tile, quadratic, steps = tile, Quadratic(), iter(range(100))
    quadratic.view = x[0:128, 0:64]
    by_tile, offset = {tile: 1}, 0
    def closure(value):
        nonlocal offset
        offset = value
    def fill():
        nisa.memset(dst=tile, value=offset)
    for i in nl.affine_range(20):
"""
LOAD = "nisa.dma_copy(dst=tile, src=x[i * 128:i * 128 + 128, 0:64])"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnsim.frontend.sampling.sample.WATCHED", 0)


def loads(body: str, path: Path, monkeypatch: pytest.MonkeyPatch, after: str = "pass") -> int:
    """How often the load in a loop of 20 is executed, of the trace that counts."""
    path.write_text(HEADER + "".join(f"        {line}\n" for line in (*body.split("\n"), LOAD))
                    + f"    {after}\n")
    return executions(lambda: find_kernel(f"{path}::kernel"), monkeypatch)


@pytest.mark.parametrize("body", [
    "helper(tile)", "box.fill()", "box.fill(value=1.0)", "fill()", "helper(chosen(tiles, i))",
    "nisa.memset(dst=tile, value=1.0 if sizes.mode == Mode.A else 2.0)",
    "helper(box.next_tile())", "box.next_tile()", "seen = [box.next_tile() for _ in range(3)]",
    "box.use()\nhelper(tile)\nbox.release()", "helper(tile if not box.busy else other)",
    "queue.append(tile)\nhelper(queue.pop())", "queue[0] = tile", "box.made = [box.next_tile()]",
    "for k in generated(3):\n    helper(tile)", "(lambda: helper(tile))()",
    "try:\n    helper(tile)\nfinally:\n    pass", "while False:\n    pass",
    "if i == 30:\n    break", "if isinstance(i, int):\n    helper(tile)",
    "a, b = divmod(i * 2, 2)\nhelper(tile)", "names = {'a': tile}\nhelper(names['a'])",
    "helper(x[i * 128:i * 128 + 128, 0:64].reshape((128, 64))) if i < 0 else helper(tile)",
    "if False:\n    print(i)\nhelper(tile)", "if sizes.rows != 128:\n    print('odd')\nhelper(tile)",
    "closure(0)", "math.ceil(2.5)\nhelper(tile)", "np.float32\nhelper(tile)"])
def test_a_loop_that_leaves_no_state_behind_executes_a_few_iterations(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2 <= loads(body, tmp_path / "watched.py", monkeypatch) <= 5


@pytest.mark.parametrize("body", [
    "count += 1", "seen.append(i)\nhelper(tile)", "box.use()\nhelper(tile)", "closure(i)\nfill()",
    "closure(offset + 1)\nfill()", "nisa.memset(dst=tile, value=ticks())",
    "nisa.memset(dst=tile, value=remembers(tile))", "nisa.memset(dst=tile, value=counted())",
    "nisa.memset(dst=tile, value=next(COUNTER))", "nisa.memset(dst=tile, value=next(steps))",
    "CALLS.append(1)\nnisa.memset(dst=tile, value=len(CALLS))", "print('hello')\nhelper(tile)",
    "print(i)", "helper(tile)\ntime.time()", "queue.reverse()\nhelper(queue[0])",
    "queue[0], queue[1] = queue[1], queue[0]\nhelper(queue[0])", "cached(i)\nhelper(tile)",
    "box.count = i\nhelper(tile)", "Box.count = i\nhelper(tile)", "helper(tiles[i % 3])",
    "helper(by_tile and tile)\nby_tile[box.next_tile()] = 2", "nisa.memset(dst=tile, value=i / 2)",
    "nisa.memset(dst=tile, value=float(i))", "helper(tiles[i])\ntiles[i] = tile",
    "quadratic.view = quadratic.view.ap([[4096, 128], [1, 64]], offset=i * 64)\n"
    "nisa.dma_copy(dst=other, src=quadratic.view)", "x[0:128, 0:64].offset",
    "getattr(box, f'count{i}', 0)", "helper(nl.ndarray((128, 64), nl.bfloat16, name=f't{i}'))",
    "setattr(box, 'count', i)", "vars(box)['count'] = i", "globals()['HIDDEN'] = i",
    "import random\nhelper(tile)", "helper(box.tile)\nbox.next_tile()",
    "[helper(box.made[-1]) for _ in range(i > 0)]\nbox.made = [box.next_tile()]",
    "helper(tile) if type(i) is int else fill()", "helper(tile) if i is count else fill()",
    "for one in tiles[2 * (i // 2):2 * (i // 2) + 2]:\n    helper(one)", "i.bit_length()",
    "helper(tiles[0:i + 1][-1])", "helper(tile) if hasattr(i, 'bit_length') else fill()",
    "nisa.memset(dst=tile, value=0.0 * peek(nki_time))", "helper(Pairs(tiles)[0][i % 2])",
    "x[0:128, 0:1].broadcast(1, i + 1)", "nl.ndarray((128, i + 1), nl.bfloat16, buffer=nl.sbuf)",
    "seen.append(slice(i, i + 1))\nhelper(tile)", "seen.append([i % 3, i])\nhelper(tile)",
    "nl.level = getattr(nl, 'level', 0) + 1\nnisa.memset(dst=tile, value=0.0 * nl.level)",
    "{tile, other}", "seen[:] = [i]\nhelper(tile)", "np.random.rand()\nhelper(tile)"])
def test_every_other_loop_is_executed_in_full(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loads(body, tmp_path / "state.py", monkeypatch) >= 20


def test_what_is_printed_is_printed_once_per_iteration(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    loads("print('iteration', int(i))\nhelper(tile)", tmp_path / "prints.py", monkeypatch)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"iteration {k}" for k in range(20)] * 2


@pytest.mark.parametrize(("body", "after"), [
    ("pass", "assert type(i) is int and i == 19"),
    ("if i < 15:\n    last = i", "assert type(last) is int and last == 14"),
    ("if i < 15:\n    pair = [i, i + 1]",
     "assert [type(one) for one in pair] == [int, int] and pair == [14, 15]"),
    ("seen.append(i)", "assert [type(one) for one in seen] == [int] * 20"),
    ("box.count = i", "assert type(box.count) is int"),
    ("box.made = (slice(0, i), {'i': i})", "assert type(box.made[0].stop) is int")])
def test_a_kernel_finds_plain_numbers_after_a_watched_loop(
        body: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads(f"helper(tile)\n{body}", tmp_path / "after.py", monkeypatch, after)


def test_a_loop_that_is_refused_has_the_others_of_its_kernel_still_watched(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = f"for i in range(20):\n        helper(tile)\n        {LOAD}"
    assert loads("if i < 15:\n    pair = [i]\nhelper(tile)", tmp_path / "two.py", monkeypatch,
                 more) < 30


def test_a_loop_that_yields_is_executed_in_full(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after = ("for k in yielding(x, other):\n        count += k\n        if count > 50:\n"
             "            helper(tile)")
    assert loads("helper(tile)", tmp_path / "yields.py", monkeypatch, after) >= 2 + 20


def test_a_second_iteration_that_the_others_do_not_follow_is_found_out(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = ("start = 0 if i < 1 else i * 64 + 8\n"
            "nisa.dma_copy(dst=other, src=x[start:start + 128, 0:64])\nhelper(tile)")
    assert loads(body, tmp_path / "second.py", monkeypatch) <= 12


@pytest.mark.parametrize("body", [
    "keep = other\nother = box.next_tile()", "keep = [other]\nother = box.next_tile()",
    "if i < 10:\n    keep = other\nother = box.next_tile()",
    "if i == 19:\n    helper(keep)\nkeep = other\nother = box.next_tile()",
    "keep, other, tile = other, tile, box.next_tile()"])
def test_a_tile_that_changes_names_is_that_of_the_last_iterations(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    after = "helper(keep[0] if type(keep) is list else keep)"
    assert loads(f"helper(tile)\n{body}", tmp_path / "names.py", monkeypatch, after) >= 20


def test_a_tile_that_keeps_its_name_is_no_reason_to_execute_all(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert loads("keep = box.next_tile()\nlast = tile\nhelper(tile)", tmp_path / "names.py",
                 monkeypatch, "helper(keep)\n    helper(last)") <= 5
