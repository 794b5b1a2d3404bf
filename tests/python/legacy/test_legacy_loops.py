# SPDX-License-Identifier: Apache-2.0
# Loops of the 0.1 dialect: extrapolation is exact, and gives way where it would not be.
"""nl.affine_range and its relatives, the launch grid, and nl.loop_reduce."""

from __future__ import annotations

import itertools
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
from legacy_helpers import (F32, attribute, count, in_full, nisa, nki, nl, ops, program, tensor,
                            traced, where)
from trace_expander import expand, parse
from trnsim.frontend import UserError, trace

P = nl.arange(128)[:, None]
F = nl.arange(512)[None, :]
BIG = tensor("float32", 4096, 4096)


def noted(calls: SimpleQueue[Any]) -> list[Any]:
    """What a kernel has noted where nobody looks, unlike in a list."""
    return [calls.get() for _ in range(calls.qsize())]


def executions(body: Any) -> int:
    """How often the body of an affine loop of 64 iterations is executed as Python."""
    calls = itertools.count()

    def kernel(x: Any) -> None:
        tile = nl.load(x[0:128, 0:512])
        for i in nl.affine_range(64):
            next(calls)
            body(i, x, tile)

    program(kernel, BIG)
    return next(calls)


def blocked(x: Any, y: Any) -> Any:
    """A matmul with blocks, accumulation, masks and a reduction over a loop."""
    out = nl.ndarray((1000, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray((8, 8, nl.par_dim(128), 128), dtype=x.dtype)
    total = nl.zeros((8, nl.par_dim(128), 512), nl.float32)
    for m in nl.affine_range(8):
        for k in nl.affine_range(8):
            left[m, k] = nl.load(x[k * 128 + P, m * 128 + nl.arange(128)[None, :]])
    for n in nl.sequential_range(4):
        right = nl.ndarray((8, nl.par_dim(128), 512), dtype=x.dtype)
        for k in nl.affine_range(8):
            right[k] = nl.load(y[k * 128 + P, n * 512 + F])
        for m in nl.affine_range(8):
            bank = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(8):
                bank += nisa.nc_matmul(left[m, k], right[k])
            rows = nl.ndarray((128, 512), dtype=x.dtype)
            rows[...] = nl.copy(bank)
            nl.store(out[m * 128 + P, n * 512 + F], rows, mask=m * 128 + P < 1000)
            total[m] += rows
    for m in nl.affine_range(8):
        nl.store(out[m * 100:m * 100 + 100, 0:512], total[7 - m][0:100, :])
    return out


def bounded(x: Any) -> None:
    tile = nl.load(x[0:128, 0:512])
    for i in nl.affine_range(40):
        for j in nl.affine_range(30):
            if i + j < 20:
                nl.store(x[0:128, nl.ds(i * 8 + j, 8)], tile[:, 0:8])
            else:
                nl.store(x[0:128, nl.ds(j, 4)], tile[:, 0:4])


def alternating(x: Any) -> None:
    tiles = nl.ndarray((2, nl.par_dim(128), 512), dtype=x.dtype)
    for i in nl.sequential_range(32):
        tiles[i % 2] = nl.load(x[i * 128 + P, F])
        nl.store(x[i * 128 + P, F], tiles[(i + 1) % 2] if i > 0 else tiles[0])


def carried(x: Any) -> None:
    last = nl.load(x[0:128, 0:512])
    for i in nl.sequential_range(20):
        last = nl.add(last, nl.load(x[i * 128 + P, F]))
    nl.store(x[0:128, 0:512], last)


def escaping(x: Any) -> None:
    for i in nl.affine_range(20):
        tile = nl.load(x[i * 128 + P, F])
    nl.store(x[0:128, 0:512], tile)


def reduced(x: Any) -> None:
    parts = nl.ndarray((8, 4, nl.par_dim(128), 1), nl.float32)
    top = nl.ndarray((8, nl.par_dim(128), 1), nl.float32)
    for i in nl.affine_range(8):
        for j in nl.affine_range(4):
            tile = nl.load(x[i * 128 + P, j * 512 + F])
            parts[i, j, P, 0] = nisa.tensor_reduce(nl.max, tile, axis=[1])
            top[i, P, 0] = nl.loop_reduce(parts[i, j, P, 0], op=nl.max, loop_indices=[j])
        nl.store(x[i * 128 + P, 0], top[i])


def placed(place: Any) -> Any:
    """A kernel whose 16 blocks lie at byte `place(block)`."""
    def kernel(x: Any) -> None:
        import neuronxcc.nki.compiler as ncc

        tiles = nl.ndarray((16, nl.par_dim(128), 512), dtype=x.dtype, buffer=ncc.sbuf.alloc(
            lambda block, partitions, size: (0, place(block[0]) * size)))
        for i in nl.affine_range(16):
            tiles[i] = nl.load(x[i * 128 + P, F])
        for i in nl.affine_range(16):
            nl.store(x[i * 128 + P, F], tiles[i])
    return kernel


PLACES = [lambda block: block, lambda block: 20 - block, lambda block: block % 2,
          lambda block: block % 15, lambda block: {3: 4, 4: 3}.get(block, block),
          lambda block: block // 8, lambda block: 3]


@pytest.mark.parametrize("place", PLACES)
def test_blocks_lie_where_the_program_put_them(place: Any) -> None:
    lines = program(placed(place), BIG).lines()
    assert expand(lines) == expand(in_full(placed(place), BIG))
    loads, stores = (expand(lines)[half] for half in (slice(16), slice(16, 32)))
    assert [one.places[0][1] for one in loads] == [place(block) * 2048 for block in range(16)]
    assert [one.places[1][1] for one in stores] == [place(block) * 2048 for block in range(16)]


def first_used(order: Any, lead: tuple[int, ...] = (16,)) -> Any:
    """A kernel that loads its 16 blocks in some order, then stores all of them in theirs."""
    def kernel(x: Any) -> None:
        tiles = nl.ndarray((*lead, nl.par_dim(128), 512), dtype=x.dtype)
        for turn in nl.static_range(16):
            block = order(turn)
            tiles[np.unravel_index(block, lead)] = nl.load(x[block * 128 + P, F])
        if len(lead) == 1:
            for i in nl.affine_range(16):
                nl.store(x[i * 128 + P, F], tiles[i])
            return
        for i in nl.affine_range(lead[0]):
            for j in nl.affine_range(lead[1]):
                nl.store(x[(i * lead[1] + j) * 128 + P, F], tiles[i, j])
    return kernel


@pytest.mark.parametrize("lead", [(16,), (2, 8), (8, 2)])
@pytest.mark.parametrize("order", [
    lambda turn: turn, lambda turn: 15 - turn, lambda turn: {3: 4, 4: 3}.get(turn, turn),
    lambda turn: turn * 5 % 16, lambda turn: turn // 2 + turn % 2 * 8,
    lambda turn: turn // 8 + turn % 8 * 2])
def test_blocks_are_those_that_the_program_named_in_whatever_order_they_came_into_being(
        order: Any, lead: tuple[int, ...]) -> None:
    kernel = first_used(order, lead)
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_blocks_that_came_into_being_column_by_column_are_a_loop_nest() -> None:
    lines = program(first_used(lambda turn: turn // 2 + turn % 2 * 8, (2, 8)), BIG).lines()
    assert sum('"dma_copy"' in line for line in lines) == 2
    assert sum('"run"' in line for line in lines[-6:]) == 1


def named(x: Any) -> None:
    """Blocks that are named before they are used."""
    tiles = nl.ndarray((16, nl.par_dim(128), 512), dtype=x.dtype)
    for block in range(16):
        tiles[block]
    for i in nl.affine_range(16):
        tiles[i] = nl.load(x[i * 128 + P, F])
    for block in range(16):
        nl.store(x[block * 128 + P, F], tiles[block])


def gap(x: Any) -> None:
    """Blocks where one loop reads existing ones first and last, and makes those between."""
    tiles, others = (nl.ndarray((16, nl.par_dim(128), 512), dtype=x.dtype) for _ in range(2))
    for one, blocks in ((tiles, 8), (others, 7)):
        for i in nl.affine_range(blocks):
            one[i] = nl.load(x[i * 128 + P, F])
    tiles[15] = nl.load(x[15 * 128 + P, F])
    for i in nl.affine_range(16):
        nl.store(x[i * 128 + P, F], tiles[i])


def turns(orders: list[list[int]]) -> Any:
    """Tensors of one line whose blocks come into being in several orders, read by one loop."""
    def kernel(x: Any) -> None:
        tables = [nl.ndarray((12, nl.par_dim(128), 512), dtype=x.dtype) for _ in orders]
        for tiles, order in zip(tables, orders):
            for block in order:
                tiles[block] = nl.load(x[block * 128 + P, F])
        for tiles in tables:
            for i in nl.affine_range(12):
                nl.store(x[i * 128 + P, F], tiles[i])
    return kernel


IN_TURN = list(range(12))
SWAPPED = [0, 1, 2, 4, 3, *range(5, 12)]


@pytest.mark.parametrize("kernel", [
    named, gap, turns([IN_TURN, SWAPPED, IN_TURN]), turns([SWAPPED, IN_TURN, IN_TURN[::-1]])])
def test_blocks_are_those_that_the_program_named_whatever_it_did_with_them_before(
        kernel: Any) -> None:
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_blocks_at_equal_distances_are_a_loop() -> None:
    lines = program(placed(lambda block: 2 * block), BIG).lines()
    assert sum('"run"' in line for line in lines) == 2


def strided(x: Any) -> None:
    tile = nl.load(x[0:128, 0:512])
    for step in (8, 16, 4):
        for i in nl.affine_range(9):
            nl.store(x[0:128, nl.ds(i * step, 4)], tile[:, nl.ds(i * step, 4)])


def ranged(x: Any) -> None:
    for i in range(0, 2048, 128):
        tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(x[i + P, F])
        for j in nl.static_range(6):
            nl.store(x[i + P, j * 512 + F], tile)
    nl.store(x[i + P, F], tile)


def counted(x: Any) -> None:
    seen = 0
    for i in range(16):
        seen += i
        nl.store(x[0:128, nl.ds(seen, 4)], nl.load(x[i * 128 + P, F])[:, 0:4])


@pytest.mark.parametrize(("kernel", "arguments"), [
    (strided, [BIG]), (ranged, [BIG]), (counted, [BIG]),
    (blocked, [tensor("bfloat16", 1024, 1024), tensor("bfloat16", 1024, 2048)]),
    (bounded, [BIG]), (alternating, [BIG]), (carried, [BIG]), (escaping, [BIG]), (reduced, [BIG])])
def test_an_extrapolated_trace_is_the_executed_one_byte_for_byte(
        kernel: Any, arguments: list[Any]) -> None:
    lines = program(kernel, *arguments).lines()
    assert lines == in_full(kernel, *arguments)
    assert expand(lines)


@pytest.mark.parametrize(("body", "most"), [
    (lambda i, x, t: nl.store(x[0:128, nl.ds(i * 8, 8)], t[:, 0:8]), 3),
    (lambda i, x, t: nl.store(x[0:128, i * 64:(i + 1) * 64], t[:, 0:64], mask=i < 50), 7),
    (lambda i, x, t: nl.store(x[0:128, 0:8], t[:, 0:8]) if i >= 32 else None, 7),
    (lambda i, x, t: nl.store(x[0:128, 0:8], nl.exp(t)[:, nl.ds((i * 8) // 4, 8)]), 3)])
def test_an_affine_loop_executes_a_few_iterations(body: Any, most: int) -> None:
    assert executions(body) <= most


def test_a_loop_inside_of_another_executes_two_iterations_once_its_pattern_is_known() -> None:
    calls: SimpleQueue[Any] = SimpleQueue()

    def kernel(x: Any) -> None:
        tile = nl.load(x[0:128, 0:512])
        for i in nl.affine_range(10):
            for j in nl.affine_range(10):
                calls.put((i.value, j.value))
                at = i * 80 + j * 8
                nl.store(x[0:128, nl.ds(at, 8)], tile[:, 0:8])
            nl.store(x[0:128, nl.ds(at + 1000, 8)], tile[:, 0:8])

    program(kernel, BIG)
    assert noted(calls) == [(0, 0), (0, 1), (0, 9), (1, 0), (1, 9), (9, 0), (9, 9)]


def test_a_pattern_that_does_not_hold_is_forgotten_but_loops_are_still_extrapolated() -> None:
    launches: list[int] = []
    calls: SimpleQueue[Any] = SimpleQueue()

    def kernel(x: Any) -> None:
        launches.append(1)
        tile = nl.load(x[0:128, 0:512])
        for step in (8, 16):
            for i in nl.affine_range(20):
                calls.put((step, i.value))
                nl.store(x[0:128, nl.ds(i * step, 4)], tile[:, 0:4])

    program(kernel, BIG)
    runs = [(8, 0), (8, 1), (8, 19), (16, 0)]
    assert len(launches) == 2
    assert noted(calls) == [*runs, (16, 19), *runs, (16, 1), (16, 19)]


@pytest.mark.parametrize("body", [
    lambda i, x, t: nl.store(x[0:128, 0:8], t[:, nl.ds((i % 30) * 8, 8)]),
    lambda i, x, t: nl.store(x[0:128, 0:8], t[:, nl.ds(list(range(64))[i], 8)]),
    lambda i, x, t: nl.store(x[0:128, 0:8], t[:, nl.ds(i * i // 64, 8)])])
def test_a_loop_whose_index_is_asked_for_is_executed_in_full(body: Any) -> None:
    assert executions(body) == 64


def test_a_last_iteration_that_deviates_has_the_kernel_traced_again() -> None:
    runs = []

    def kernel(x: Any) -> None:
        runs.append(1)
        tile = nl.load(x[0:128, 0:512])
        turns: SimpleQueue[int] = SimpleQueue()
        for i in nl.affine_range(16):
            turns.put(1)
            width = 16 if len(runs) == 1 and turns.qsize() == 3 else 8
            nl.store(x[0:128, nl.ds(i * 8, width)], tile[:, 0:width])

    executed = traced(kernel, BIG)
    assert len(runs) == 2 and len(executed) == 17


def test_static_and_python_loops_have_plain_integers() -> None:
    def kernel(x: Any) -> None:
        tiles = []
        for i in nl.static_range(10):
            assert type(i) is int
            tiles.append(nl.load(x[i * 128:(i + 1) * 128, 0:512]))
        for i, tile in enumerate(tiles):
            nl.store(x[i * 128:(i + 1) * 128, 0:512], tile)

    assert len(traced(kernel, BIG)) == 20


def test_loops_stay_loops_in_the_trace() -> None:
    def kernel(x: Any) -> None:
        for row in nl.affine_range(2, 30, 2):
            tile = nl.load(x[row * 128 + P, F])
            nl.store(x[row * 128 + P, F], tile)

    (loop,) = parse(program(kernel, BIG).lines())._walk(
        parse(program(kernel, BIG).lines()).body)
    assert (loop["index"], loop["count"], loop["kind"]) == ("row", 14, "affine")
    assert where(traced(kernel, BIG)[2], "src") == (4 * 128 * 4096, 0)


def test_an_empty_loop_is_no_loop_and_a_break_ends_one() -> None:
    def kernel(x: Any) -> None:
        for _ in nl.affine_range(0):
            nl.load(x)
        for i in nl.sequential_range(100):
            nl.store(x[i * 8:i * 8 + 8, 0:1], nl.zeros((8, 1), nl.float32))
            if i == 4:
                break

    assert count(traced(kernel, BIG)) == {"memset": 5, "dma_copy": 5}


def test_a_loop_reduction_copies_first_and_combines_then() -> None:
    executed = traced(reduced, BIG)
    kinds = [(one.op, attribute(one, "op")) for one in executed
             if one.operand("dst")[2] == "top"]
    assert kinds == ([("tensor_copy", None)] + [("tensor_tensor", "maximum")] * 3) * 8


def test_a_loop_reduction_counts_the_value_that_its_tile_was_created_with() -> None:
    def kernel(x: Any) -> None:
        total = nl.zeros((128, 512), nl.float32)
        for i in nl.affine_range(3):
            tile = nl.load(x[i * 128 + P, F])
            total[...] = nl.loop_reduce(tile, op=nl.add, loop_indices=i)

    assert ops(traced(kernel, BIG)) == ["memset"] + ["dma_copy", "tensor_tensor"] * 3


def test_a_loop_reduction_bound_to_a_variable_accumulates_too() -> None:
    def kernel(x: Any) -> None:
        for i in nl.affine_range(6):
            tile = nl.load(x[i * 128 + P, F])
            total = nl.loop_reduce(tile, op=nl.add, loop_indices=[i], dtype=nl.float32)
        nl.store(x[0:128, 0:512], total)

    executed = traced(kernel, BIG)
    assert ops(executed) == (["dma_copy", "tensor_copy"] + ["dma_copy", "tensor_tensor"] * 5
                             + ["dma_copy"])
    assert len({one.operand("dst")[5] for one in executed if one.op == "tensor_tensor"}) == 1


@pytest.mark.parametrize("body", [
    lambda i, total: nl.exp(total, mask=i * 16 + F < 444),
    lambda i, total: nl.multiply(total, float(i))], ids=["mask", "number"])
def test_a_loop_reduction_begins_once_in_a_loop_whose_index_is_looked_at(body: Any) -> None:
    """Such a loop goes on with numbers."""
    def kernel(x: Any) -> None:
        for i in nl.sequential_range(5):
            total = nl.loop_reduce(nl.load(x[i * 128 + P, F]), op=nl.max, loop_indices=[i])
            body(i, total)
        nl.store(x[0:128, 0:512], total)

    assert ops(traced(kernel, BIG)).count("tensor_tensor") == 4
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_a_loop_reduction_that_leaves_the_first_iteration_out_begins_in_the_second() -> None:
    def kernel(x: Any) -> None:
        for _ in nl.sequential_range(3):
            for j in nl.sequential_range(5):
                if j > 0:
                    total = nl.loop_reduce(nl.load(x[j * 128 + P, F]), op=nl.max, loop_indices=[j])
                    nl.store(x[0:128, 0:512], total)

    assert ops(traced(kernel, BIG)).count("tensor_copy") == 3
    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


class Box:
    """What a kernel keeps a tile in."""

    def __init__(self) -> None:
        self.tiles: Any = [None]

    def keep(self, tile: Any) -> None:
        self.tiles = [tile]


@pytest.mark.parametrize(("keep", "kept"), [
    (lambda box, tile: box.tiles.__setitem__(0, tile), lambda box: box.tiles[0]),
    (lambda box, tile: box.keep(tile), lambda box: box.tiles[0]),
    (lambda box, tile: setattr(box, "tiles", tile), lambda box: box.tiles)])
def test_a_tile_that_an_inner_loop_leaves_in_a_list_or_an_object_is_its_last(keep: Any, kept: Any) -> None:
    """Also where the loop runs again, in iterations that are not compared with any others."""
    def kernel(x: Any) -> None:
        for i in nl.sequential_range(2):
            box = Box()
            for j in nl.sequential_range(3):
                for k in nl.affine_range(3):
                    keep(box, nl.load(x[128 * (4 * j + k) + P, 512 * i + F]))
            nl.store(x[P, F], kept(box))

    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


def test_a_tile_that_an_inner_loop_leaves_in_a_slot_is_its_last() -> None:
    def kernel(x: Any) -> None:
        tiles = [nl.load(x[P, F]) for _ in range(3)]
        for i in range(3):
            tiles = [*tiles[1:], nl.load(x[P, F])]
            for j in nl.sequential_range(3):
                for k in nl.affine_range(3):
                    tiles[1] = nl.load(x[128 * (4 * j + k) + P, 512 * i + F])
            nl.store(x[P, F], tiles[1])

    assert expand(program(kernel, BIG).lines()) == expand(in_full(kernel, BIG))


# The launch grid ------------------------------------------------------------------------------

@nki.jit
def add(a: Any, b: Any) -> Any:
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    rows = nl.program_id(0) * 128 + P
    columns = nl.program_id(1) * 512 + F
    assert nl.num_programs(0) == 8 and nl.num_programs() == 48 and nl.program_ndim() == 2
    nl.store(out[rows, columns], nl.load(a[rows, columns]) + nl.load(b[rows, columns]))
    return out


GRID = [tensor("float32", 1024, 3072)] * 2


def test_the_programs_of_a_grid_run_one_after_the_other_and_share_their_output() -> None:
    executed = expand(trace(add[8, 6], GRID).lines())
    assert len(executed) == 8 * 6 * 4
    stores = [one for one in executed if one.operand("dst")[2] == "out"]
    assert [where(one, "dst")[0] for one in stores] == [
        row * 128 * 3072 + column * 512 for row in range(8) for column in range(6)]


def test_a_grid_over_cores_traces_the_first_core_and_says_so() -> None:
    found = trace(add[nl.spmd_dim(4, nl.nc(2)), 6], GRID)
    assert found.instructions == 4 * 6 * 4
    assert "the programs of core 0 are traced" in found.notes[0]


@pytest.mark.parametrize(("grid", "rows"), [
    (nl.spmd_dim(nl.nc(2), 4), [0, 1, 2, 3]), (nl.nc(2) * 4, [0, 1, 2, 3]),
    (nl.spmd_dim(4, nl.nc(2)), [0, 2, 4, 6]), (4 * nl.nc(2), [0, 2, 4, 6])])
def test_programs_are_dealt_to_cores_in_blocks_or_in_turns(grid: Any, rows: list[int]) -> None:
    executed = expand(trace(add[grid, 6], GRID).lines())
    stores = [one for one in executed if one.operand("dst")[2] == "out"]
    assert [where(one, "dst")[0] // (128 * 3072) for one in stores][::6] == rows


def test_cores_are_the_outer_or_the_inner_part_of_an_axis() -> None:
    with pytest.raises(UserError, match=r"test_legacy_loops.py:\d+: nl.spmd_dim of .* one nl.nc"):
        nl.spmd_dim(2, nl.nc(2), 2)


def test_a_negative_grid_is_refused_and_zero_is_one_program() -> None:
    with pytest.raises(UserError, match=r"kernel add is launched on a grid of \[-1\], but every"):
        add[-1]
    assert [axis.size for axis in add[0].grid] == [1]


def test_without_a_grid_there_is_one_program() -> None:
    def kernel() -> None:
        assert (nl.program_id(0), nl.num_programs(0), nl.program_ndim()) == (0, 1, 0)

    assert not any("program_id" in note for note in program(kernel).notes)


@pytest.mark.parametrize(("grid", "axis", "said"), [
    (None, 0, "launched without a grid"), ((2,), 1, "launched on a grid of 1 axis"),
    ((2, 3), 2, "launched on a grid of 2 axes"), ((1,), 0, None), ((2, 3), 1, None)])
def test_a_program_that_has_no_place_on_its_grid_is_noted(grid: Any, axis: int, said: str | None) -> None:
    def kernel(x: Any) -> Any:
        nl.load(x[nl.ds(nl.program_id(axis) * 128, 128)])
        return x

    found = program(nki.jit(kernel)[grid] if grid else kernel, BIG).notes
    assert (said is None) == (found == [])
    assert said is None or f"nl.program_id({axis}) is 0, as the kernel is {said}; if it has more" in found[0]


def test_a_kernel_called_from_a_kernel_is_part_of_it() -> None:
    @nki.jit(mode="trace")
    def inner(tile: Any) -> Any:
        return nl.exp(tile)

    def kernel(x: Any) -> None:
        nl.store(x, inner(nl.load(x)))

    assert ops(traced(kernel, F32)) == ["dma_copy", "activation", "dma_copy"]
