# SPDX-License-Identifier: Apache-2.0
# Tests of the rules of tensor indirection.
"""Which operands may be `.indirect(index)`, on which engines, of which types and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from helpers import traced
from kernels import nisa, nl
from legality_helpers import HBM, Body, accepts, kernel_of, psum, rejects, sbuf
from nki import collectives

ENGINE = nisa.engine
CHIP = "trn3"


def by(tile: Any, count: int | None = 32, address: tuple[int, int] | None = None) -> Any:
    """Some columns of a tile."""
    index = nl.ndarray((tile.shape[0], 2), dtype=nl.uint16, buffer=nl.sbuf, address=address)
    return tile.indirect(index, count)


def of(dtype: Any = nl.float32, rows: int = 64) -> Any:
    """32 of 80 columns."""
    return by(sbuf(rows, 80, dtype=dtype))


def plain(dtype: Any = nl.float32, columns: int = 32) -> Any:
    return sbuf(64, columns, dtype=dtype)


Call = Callable[..., Any]

CALLS: dict[str, tuple[Call, dict[str, Callable[[], Any]]]] = {
    "tensor_copy": (nisa.tensor_copy, {"dst": plain, "src": plain}),
    "tensor_copy_predicated": (nisa.tensor_copy_predicated, {
        "dst": plain, "src": plain, "predicate": lambda: plain(nl.uint8)}),
    "tensor_tensor": (lambda **tiles: nisa.tensor_tensor(**tiles, op=nl.add),
                      {"dst": plain, "data1": plain, "data2": plain}),
    "tensor_scalar": (lambda **tiles: nisa.tensor_scalar(**tiles, op0=nl.add, operand0=1.0),
                      {"dst": plain, "data": plain}),
    "tensor_scalar_reduce": (
        lambda **tiles: nisa.tensor_scalar_reduce(
            **tiles, op0=nl.add, operand0=1.0, reduce_op=nl.add, reduce_res=sbuf(64, 1)),
        {"dst": plain, "data": plain}),
    "tensor_scalar_cumulative": (
        lambda **tiles: nisa.tensor_scalar_cumulative(**tiles, op0=nl.add, op1=nl.add, imm0=1.0),
        {"dst": plain, "src": plain}),
    "tensor_reduce": (lambda **tiles: nisa.tensor_reduce(**tiles, op=nl.add, axis=1),
                      {"dst": lambda: plain(columns=1), "data": plain}),
    "exponential": (nisa.exponential, {"dst": plain, "src": plain}),
    "activation": (lambda **tiles: nisa.activation(**tiles, op=nl.exp),
                   {"dst": plain, "data": plain}),
    "activation_reduce": (
        lambda **tiles: nisa.activation_reduce(**tiles, op=nl.exp, reduce_op=nl.add,
                                               reduce_res=sbuf(64, 1)),
        {"dst": plain, "data": plain}),
    "activate2": (
        lambda **tiles: nisa.activate2(**tiles, op=nl.exp, imm0=1.0, imm1=1.0, op0=nl.multiply,
                                       op1=nl.add), {"dst": plain, "data": plain}),
    "memset": (lambda **tiles: nisa.memset(**tiles, value=1.0), {"dst": plain}),
    "reciprocal": (nisa.reciprocal, {"dst": plain, "data": plain}),
    "scalar_tensor_tensor": (
        lambda **tiles: nisa.scalar_tensor_tensor(**tiles, op0=nl.add, operand0=1.0, op1=nl.add),
        {"dst": plain, "data": plain, "operand1": plain}),
    "tensor_tensor_scan": (
        lambda **tiles: nisa.tensor_tensor_scan(**tiles, initial=0.0, op0=nl.add, op1=nl.add),
        {"dst": plain, "data0": plain, "data1": plain}),
    "nc_transpose": (nisa.nc_transpose, {"dst": lambda: sbuf(32, 32),
                                         "data": lambda: sbuf(32, 32)}),
    "max8": (nisa.max8, {"dst": lambda: plain(columns=8), "src": plain}),
    "dma_copy": (nisa.dma_copy, {"dst": plain, "src": plain}),
}
TAKEN = {
    "tensor_copy": "dst src", "tensor_copy_predicated": "dst predicate",
    "tensor_tensor": "dst data1", "tensor_scalar": "dst data", "tensor_scalar_reduce": "dst data",
    "tensor_scalar_cumulative": "dst src", "tensor_reduce": "dst data", "exponential": "dst src",
    "activation": "dst data", "activation_reduce": "dst data", "activate2": "dst data"}


def called(op: str, indirect: str) -> Body:
    """An instruction with one operand that is selected by index."""
    call, operands = CALLS[op]

    def body(h: Any) -> None:
        tiles = {role: make() for role, make in operands.items()}
        tile = tiles[indirect]
        tiles[indirect] = by(sbuf(tile.shape[0], 80, dtype=tile.dtype), tile.shape[1])
        call(**tiles)
    return body


@pytest.mark.parametrize(("op", "role"), [(op, role) for op, (_, operands) in CALLS.items()
                                          for role in operands])
def test_thirteen_instructions_take_columns_by_index_and_only_of_what_they_name(
        op: str, role: str) -> None:
    if role in TAKEN.get(op, "").split():
        assert accepts(called(op, role), CHIP) == [op]
    else:
        rejects(called(op, role), rf"{op}: \w+ is 'sbuf_\d+' with \.indirect\(\), but", CHIP)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.memset(of(), 0.0),
     r"memset: dst is 'sbuf_0' with .indirect\(\), but memset takes columns by index of no "
     "operand; gather or scatter with nisa.tensor_copy"),
    (lambda h: nisa.tensor_tensor(plain(), plain(), of(), nl.add),
     "data2 is .* but tensor_tensor takes columns by index only of dst and data1"),
    (lambda h: nisa.tensor_scalar(plain(), plain(), nl.add, by(sbuf(64, 80), 1)),
     "operand0 is .* takes columns by index only of dst and data"),
    (lambda h: nisa.activation(plain(), nl.exp, plain(), bias=by(sbuf(64, 80), 1)), "bias is"),
    (lambda h: nisa.dma_transpose(sbuf(32, 64), of()), "dma_transpose: src is 'sbuf_1' with"),
    (lambda h: nisa.dma_compute(plain(), [plain(), of()], nl.add), "dma_compute: src is"),
    (lambda h: nisa.tensor_copy(plain(), sbuf(64, 80).indirect(
        nl.ndarray((64, 2), dtype=nl.uint16, buffer=nl.psum), 32)),
     r"index is 'psum_\d' in psum, but must be in"),
    (lambda h: nisa.tensor_copy(plain(), sbuf(64, 80).indirect(
        nl.ndarray((64, 2), dtype=nl.uint16, buffer=nl.shared_hbm), 32)),
     "the index of src is in hbm, but columns are selected by one in sbuf"),
])
def test_an_operand_that_is_not_taken_by_index_is_named(body: Body, message: str) -> None:
    rejects(body, message, CHIP)


def test_collectives_take_no_columns_by_index() -> None:
    rejects(lambda h: collectives.all_reduce([plain()], [of()], [[0, 1]], nl.add),
            "all_reduce: dst is 'sbuf_1' with .indirect.., but", CHIP)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.tensor_copy(plain(), of(), engine=ENGINE.gpsimd),
     "src with .indirect.. on the gpsimd engine, which does not copy by index"),
    (lambda h: nisa.tensor_copy(by(psum(64, 80)), plain(), engine=ENGINE.scalar),
     "dst is 'psum_0' in psum with .indirect.., but the scalar engine scatters into sbuf only"),
    (lambda h: nisa.tensor_scalar(by(psum(64, 80)), plain(), nl.multiply, 2.0,
                                  engine=ENGINE.scalar), "dst is 'psum_0' in psum with"),
    (lambda h: nisa.activation(by(psum(64, 80)), nl.exp, plain()), "dst is 'psum_0' in psum with"),
    (lambda h: nisa.activation_reduce(by(psum(64, 80)), nl.exp, plain(), nl.add, sbuf(64, 1)),
     "dst is 'psum_0' in psum with"),
])
def test_engines_gather_and_scatter_what_they_can(body: Body, message: str) -> None:
    rejects(body, message, CHIP)


@pytest.mark.parametrize("body", [
    lambda h: nisa.tensor_copy(plain(), of(), engine=ENGINE.scalar),
    lambda h: nisa.tensor_copy(of(), plain(), engine=ENGINE.scalar),
    lambda h: nisa.tensor_copy(by(psum(64, 80)), plain()),
    lambda h: nisa.tensor_copy(plain(), by(psum(64, 80)), engine=ENGINE.scalar),
    lambda h: nisa.tensor_tensor(of(), of(), plain(), nl.add, engine=ENGINE.gpsimd)])
def test_engines_that_can_are_taken(body: Body) -> None:
    assert len(accepts(body, CHIP)) == 1


@pytest.mark.parametrize(("body", "engines"), [
    (lambda h: nisa.tensor_copy(plain(), plain()), ("vector", "scalar", "gpsimd")),
    (lambda h: nisa.tensor_copy(plain(), of()), ("vector", "scalar")),
    (lambda h: nisa.tensor_copy(by(psum(64, 80)), plain()), ("vector",)),
    (lambda h: nisa.tensor_scalar(of(), plain(), nl.add, 1.0), ("vector", "scalar")),
    (lambda h: nisa.tensor_scalar(by(psum(64, 80)), plain(), nl.add, 1.0), ("vector",))])
def test_the_compiler_chooses_among_engines_that_can(body: Body, engines: Any) -> None:
    (executed,) = traced(kernel_of(body), HBM, chip=CHIP)
    assert executed.engines == engines


def multiplied(dtype: Any = nl.bfloat16, stationary: bool = False, **more: Any) -> Body:
    def body(h: Any) -> None:
        given = [sbuf(64, 32, dtype=dtype), sbuf(64, 80, dtype=dtype)]
        given = [by(given[1]), given[0]] if stationary else [given[0], by(given[1])]
        nisa.nc_matmul(psum(32, 32, dtype=dtype if "is_transpose" in more else nl.float32), *given,
                       **more)
    return body


@pytest.mark.parametrize(("body", "message"), [
    (multiplied(nl.float32), "moving is float32 with .indirect.., but must be one of float16, bf"),
    (multiplied(nl.float32, True), "stationary is float32 with .indirect.., but must be one of"),
    (multiplied(tile_position=(64, 0), tile_size=(64, 128)),
     r"tile_position is \[64, 0\], but moving with .indirect\(\) takes the tile at \[0, 0\]"),
    (multiplied(is_transpose=True), "moving with .indirect.., but is_transpose is True"),
])
def test_a_matmul_takes_columns_of_narrow_floats_in_its_first_tile(body: Body,
                                                                   message: str) -> None:
    rejects(body, f"nc_matmul: {message}", CHIP)


@pytest.mark.parametrize("body", [
    multiplied(), multiplied(nl.float8_e5m2, True),
    multiplied(tile_position=(0, 0), tile_size=(64, 128)),
    lambda h: nisa.nc_matmul(by(psum(32, 80)), plain(nl.bfloat16), plain(nl.bfloat16))])
def test_a_matmul_takes_columns_by_index(body: Body) -> None:
    assert accepts(body, CHIP) == ["nc_matmul"]


def scaled_matmul(scales: str = "same") -> Body:
    """A scaled matmul whose moving tile is by index, and its scales are or are not."""
    def body(h: Any) -> None:
        kind = nl.float8_e5m2_x4
        index, other = (sbuf(64, 2, dtype=nl.uint16) for _ in range(2))
        scale = sbuf(64, 80 if scales != "none" else 32, dtype=nl.uint8)
        if scales != "none":
            scale = scale.indirect(index if scales == "same" else other, 32)
        nisa.nc_matmul_mx(psum(32, 32), sbuf(64, 32, dtype=kind),
                          sbuf(64, 80, dtype=kind).indirect(index, 32),
                          sbuf(64, 32, dtype=nl.uint8), scale)
    return body


def test_packed_elements_and_their_scales_go_by_one_index() -> None:
    assert accepts(scaled_matmul(), CHIP) == ["nc_matmul_mx"]
    for scales in ("none", "other"):
        rejects(scaled_matmul(scales), r"moving and moving_scale are not both with .indirect\(\) "
                                       "by one index", CHIP)


def placed(partition: int, index: int, scatter: bool = False) -> Body:
    """A copy whose tile and index begin at partitions that the kernel gives."""
    def body(h: Any) -> None:
        tile = nl.ndarray((16, 80), dtype=nl.float32, buffer=nl.sbuf, address=(partition, 0))
        if scatter:
            nisa.tensor_copy(by(sbuf(16, 80), 32, (index, 4096)), tile[:, 0:32])
        else:
            nisa.tensor_copy(sbuf(16, 32), by(tile, 32, (index, 4096)))
    return body


def test_placed_tiles_start_with_their_index_on_a_quadrant() -> None:
    for scatter in (False, True):
        accepts(placed(32, 32, scatter), CHIP)
    rejects(placed(32, 64), "src starts at partition 32 and the index of src at 64, but", CHIP)
    rejects(placed(32, 64, True), "src starts at partition 32 and the index of dst at 64", CHIP)
    def multiplied_with(index: int) -> Body:
        def body(h: Any) -> None:
            tile = nl.ndarray((32, 80), dtype=nl.bfloat16, buffer=nl.sbuf, address=(32, 0))
            nisa.nc_matmul(psum(32, 32), sbuf(32, 32, dtype=nl.bfloat16),
                           by(tile, 32, (index, 4096)))
        return body

    accepts(multiplied_with(32), CHIP)
    rejects(multiplied_with(64), "moving starts at partition 32 and the index of moving at 64", CHIP)
    rejects(placed(0, 16), "the index of src starts at partition 16, but an index starts at", CHIP)


def test_columns_by_index_are_checked_where_a_line_has_taken_another_offset_before() -> None:
    def body(h: Any) -> None:
        tile, index = sbuf(64, 80), sbuf(64, 1, dtype=nl.uint16)
        rows = tile.ap([[80, 64], [1, 32]], vector_offset=index, indirect_dim=0)
        for one in (rows, tile.indirect(index, 32)):
            nisa.reciprocal(plain(), one)
    rejects(body, "reciprocal: data is 'sbuf_0' with .indirect.., but", CHIP)
