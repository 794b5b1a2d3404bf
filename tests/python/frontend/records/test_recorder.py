# SPDX-License-Identifier: Apache-2.0
# Tests of the recorder: the compressed trace is the recorded stream, always.
"""Compression never changes what is executed; loops, allocations and fresh tiles are in place."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from helpers import flat, ops, program, tensor, traced
from kernels import matmul, nisa, nki, nl, scale
from trace_expander import expand, parse
from trnsim.errors import IllegalInstruction
from trnsim.frontend.loops import LoopRange

RANGES = (nl.affine_range, nl.sequential_range, nl.static_range, LoopRange)


def assert_same_as_flat(kernel: Callable[..., Any], arguments: list[Any],
                        monkeypatch: pytest.MonkeyPatch) -> None:
    assert traced(kernel, *arguments) == flat(kernel, arguments, monkeypatch)


class RandomKernel:
    """A kernel made of random loops, tiles and copies; the same at every call."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, x: Any) -> Any:
        self.chance = random.Random(self.seed)
        self.tiles = [self.tile(x)]
        self.plan: dict[tuple[int, ...], list[Any]] = {}
        self.block(x, 0, (), 0)
        return x

    def tile(self, x: Any) -> Any:
        return nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)

    def block(self, x: Any, depth: int, path: tuple[int, ...], moved: int) -> None:
        """The statements of one loop body are drawn once and depend on the indices."""
        if path not in self.plan:
            kinds = "l" if depth == 0 else "tcckvlll" if depth < 3 else "tcckv"
            self.plan[path] = [(self.chance.choice(kinds),
                                self.chance.randint(0, 6), self.chance.randint(1, 6),
                                self.chance.choice(RANGES), self.chance.random())
                               for _ in range(self.chance.randint(1, 4))]
        for place, (kind, number, count, kind_of_range, odds) in enumerate(self.plan[path]):
            if kind == "t":
                self.tiles = [*self.tiles[-3:], self.tile(x)]
            elif kind == "c":
                column = (number * moved) % 32 if odds < 0.3 else min(number + moved, 32)
                target = self.tiles[moved % len(self.tiles) if odds > 0.7 else -1]
                nisa.dma_copy(target[0:128, column:column + 8], x[0:128, number:number + 8])
            elif kind == "k":
                if moved % (count + 1) == 0:
                    nisa.memset(self.tiles[0], value=0)
            elif kind == "v":
                value = count * moved - number
                nisa.memset(self.tiles[0], value=float(value) if odds > 0.8 else value)
            else:
                for index in kind_of_range(count):
                    self.block(x, depth + 1, (*path, place), moved + index)
                    if odds < 0.1 and index == 2:
                        break


@pytest.mark.parametrize("seed", range(60))
def test_a_random_loop_nest_expands_to_what_was_recorded(
        seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same_as_flat(RandomKernel(seed), [tensor("float32", 128, 64)], monkeypatch)


def test_a_tiled_matmul_expands_to_what_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [tensor("bfloat16", 512, 256), tensor("bfloat16", 512, 1024)]
    assert_same_as_flat(matmul, arguments, monkeypatch)


def test_a_trace_does_not_grow_with_the_trip_counts() -> None:
    small = program(scale, tensor("float32", 1280, 64)).lines()
    large = program(scale, tensor("float32", 12800, 64)).lines()
    assert len(small) == len(large)


@nki.jit
def filled(x: Any) -> None:
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    for i in nl.affine_range(40):
        for j in nl.static_range(30):
            nisa.memset(tile, value=7 - 100 * i + 3 * j)
    for value in (0, 5, 7):
        nisa.memset(tile, value=value)


def test_a_number_that_loops_count_is_no_other_template(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = program(filled, tensor("float32", 128, 64)).lines()
    found = parse(lines)
    assert [one["attributes"]["value"] for one in found.templates.values()] == ["run", 0, 5, 7]
    (loop,) = (one for one in found.body if one["record"] == "loop")
    assert loop["body"][0]["body"] == [{"record": "run", "template": 0, "at": [{}],
                                        "value": {"base": 7, "i": -100, "j": 3}}]
    assert_same_as_flat(filled, [tensor("float32", 128, 64)], monkeypatch)


def test_numbers_are_written_as_they_are_given() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for value in (-0.0, 2.0, 3, True, -5, 0.5, 1 << 50):
            nisa.memset(tile, value=value)
    found = parse(program(kernel, tensor("float32", 128, 64)).lines())
    given = [repr(one["attributes"]["value"]) for one in found.templates.values()]
    assert given == ["-0.0", "2.0", "3", "1", "-5", "0.5", str(1 << 50)]


def test_a_loop_that_one_call_counts_and_another_does_not(
        monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(tile: Any, value: Any) -> None:
        for _ in nl.affine_range(5):
            nisa.memset(tile, value=value)

    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        fill(tile, 7)
        for i in nl.affine_range(40):
            fill(tile, i)
        fill(tile, 8)
    found = parse(program(kernel, tensor("float32", 128, 64)).lines())
    assert [one["attributes"]["value"] for one in found.templates.values()] == [7, "run", 8]
    assert_same_as_flat(kernel, [tensor("float32", 128, 64)], monkeypatch)


def test_a_loop_over_partitions_is_one() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in range(128):
            nisa.dma_copy(tile[i:i + 1, 0:64], x[i:i + 1, 0:64])
        other = tile.view(nl.int32)
        for i in range(4):
            nisa.tensor_copy(other[i * 32:i * 32 + 32, 0:8], other[i * 32:i * 32 + 32, 8:16])
    found = parse(program(kernel, tensor("float32", 128, 64)).lines())
    assert found.loops() == len(found.templates) == 2
    copy = found.templates[1]["operands"]
    assert [one["dtype"] for one in copy] == ["int32", "int32"]


@pytest.mark.parametrize("value", [lambda i: 1 << 40 + i, lambda i: i / 2, lambda i: -0.0,
                                   lambda i: float("inf"), lambda i: i * (1 << 44)])
def test_other_numbers_stay_in_templates(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(20):
            nisa.memset(tile, value=value(i))
    assert_same_as_flat(kernel, [tensor("float32", 128, 64)], monkeypatch)


def test_each_number_of_a_packed_type_is_looked_at() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)
        for i in nl.affine_range(20):
            nisa.memset(tile, value=i)
    with pytest.raises(IllegalInstruction, match="value is 1, but a packed float8_e4m3fn_x4"):
        program(kernel, tensor("float32", 128, 64), chip="trn3")


def test_a_loop_is_named_after_its_variable_and_keeps_its_kind() -> None:
    (loop,) = parse(program(scale, tensor("float32", 512, 64)).lines()).body
    assert (loop["index"], loop["kind"], loop["count"]) == ("row", "affine", 4)


def test_nested_loops_over_one_variable_get_different_names() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            for i in nl.affine_range(4):  # noqa: B020, PLW2901
                nisa.dma_copy(tile[0:128, i:i + 1], x[0:128, i:i + 1])
    executed = expand(lines := program(kernel, tensor("float32", 128, 64)).lines())
    (outer,) = (one for one in parse(lines).body if one["record"] == "loop")
    assert outer["index"] == "i" and outer["body"][0]["index"] == "i2"
    assert len(executed) == 12


def test_the_first_matmul_of_a_group_overwrites_and_is_peeled() -> None:
    executed = traced(matmul, tensor("bfloat16", 512, 128), tensor("bfloat16", 512, 512))
    starts = [dict(one.attributes)["start"] for one in executed if one.op == "nc_matmul"]
    assert starts == ["true", "false", "false", "false"]


def test_a_tile_made_before_a_loop_is_allocated_before_it() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(8):
            nisa.dma_copy(tile[0:128, 8 * i:8 * i + 8], x[0:128, 8 * i:8 * i + 8])
    body = parse(program(kernel, tensor("float32", 128, 64)).lines()).body
    assert [one["record"] for one in body] == ["alloc", "loop"]


def test_instances_are_numbered_in_the_order_of_their_allocations() -> None:
    """A tile made before a loop is not allocated before it if a later one already is inside."""
    @nki.jit
    def kernel(x: Any) -> None:
        tiles = []
        opened = iter(nl.affine_range(3))
        for step in (0, 1):
            if step == 1:
                next(opened)
            tiles.append(nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf))
        nisa.dma_copy(tiles[1], x)
        nisa.dma_copy(tiles[0], x)
    lines = program(kernel, tensor("float32", 128, 64)).lines()
    records = [one["record"] for one in parse(lines).body]
    assert records == ["alloc", "run", "alloc", "run"]


def test_a_tile_that_is_never_accessed_is_not_allocated() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    trace = parse(program(kernel, tensor("float32", 128, 64)).lines())
    assert trace.body == [] and len(trace.buffers) == 1


def test_two_call_sites_of_a_helper_are_two_buffers() -> None:
    def load(x: Any) -> Any:
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)
        return tile

    @nki.jit
    def kernel(x: Any) -> None:
        first = load(x)
        second = load(x)
        nisa.tensor_tensor(first, first, second, op=nl.add)
    trace = parse(program(kernel, tensor("float32", 128, 64)).lines())
    assert [one["space"] for one in trace.buffers.values()] == ["hbm", "sbuf", "sbuf"]


def test_interleaved_iterators_do_not_lose_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i, j in zip(nl.affine_range(5), nl.affine_range(9), strict=False):
            nisa.dma_copy(tile[0:128, i:i + 1], x[0:128, j:j + 1])
        kept = iter(nl.affine_range(7))
        next(kept)
        for i in nl.affine_range(3):
            nisa.memset(tile[0:128, i:i + 1], value=next(kept))
        for i in nl.affine_range(50):
            nisa.dma_copy(tile[0:128, i:i + 1], x[0:128, 0:1])
            if i == 4:
                break
    assert_same_as_flat(kernel, [tensor("float32", 128, 64)], monkeypatch)


def test_an_exception_caught_in_the_kernel_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(4):
            try:
                for j in nl.affine_range(6):
                    nisa.dma_copy(tile[0:128, j:j + 1], x[0:128, i:i + 1])
                    if j == i:
                        raise KeyError(j)
            except KeyError:
                nisa.memset(tile, value=0)
    assert_same_as_flat(kernel, [tensor("float32", 128, 64)], monkeypatch)


def test_a_generator_that_outlives_its_loop_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(count: int) -> Any:
        yield from nl.affine_range(count)

    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        outer = rows(6)
        for i in nl.affine_range(3):
            j = next(outer)
            nisa.dma_copy(tile[0:128, i:i + 1], x[0:128, j:j + 1])
        nisa.memset(tile, value=0)
        list(outer)
    assert_same_as_flat(kernel, [tensor("float32", 128, 64)], monkeypatch)


def test_a_loop_without_marks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tiles = [nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf) for _ in (0, 1, 2)]
        step = 0
        while step < 3000:
            nisa.dma_copy(tiles[step % 3][0:128, 0:8], x[0:128, step % 32:step % 32 + 8])
            nisa.memset(tiles[2], value=0)
            step += 1
    assert len(program(kernel, tensor("float32", 128, 64)).lines()) < 1000
    assert_same_as_flat(kernel, [tensor("float32", 128, 64)], monkeypatch)


def test_an_assignment_retargets_the_instruction_that_made_the_value() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)
        other = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        other[:, :] = nl.exp(tile)
    executed = traced(kernel, tensor("float32", 128, 64))
    assert ops(executed) == ["dma_copy", "activation"]
    assert executed[1].operand("dst")[2] == "other"


def test_an_assignment_of_an_older_value_copies_it() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)
        value = nl.exp(tile)
        nisa.memset(tile, value=0)
        tile[:, :] = value
    assert ops(traced(kernel, tensor("float32", 128, 64))) == [
        "dma_copy", "activation", "memset", "tensor_copy"]


def test_a_retargeted_value_stays_readable() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        value = nl.exp(tile)
        tile[:, :] = value
        nl.store(out, value)
        return out
    executed = traced(kernel, tensor("float32", 128, 64))
    assert ops(executed) == ["dma_copy", "activation", "dma_copy"]
    assert executed[2].operand("src")[2] == "tile"


def test_a_helper_called_by_a_plain_loop_compresses_too() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        buffers = [nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf) for _ in range(2)]
        for i in nl.affine_range(64):
            nisa.dma_copy(buffers[i % 2], x)
        return x
    lines = program(kernel, tensor("float32", 128, 64)).lines()
    assert len(expand(lines)) == 64 and len(lines) < 16
