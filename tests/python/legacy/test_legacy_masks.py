# SPDX-License-Identifier: Apache-2.0
# mask= on every kind of operation of the 0.1 dialect.
"""Masks clip access patterns, drop instructions, or are noted."""

from __future__ import annotations

from typing import Any

import pytest
from legacy_helpers import F32, nisa, nl, ops, pattern, program, tensor, traced, where
from trnsim.frontend import ProgramError

P = nl.arange(128)[:, None]
F = nl.arange(512)[None, :]
ROWS = tensor("float32", 300, 600)


def tiled(x: Any) -> None:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(3):
        inside = (i * 128 + P < 300) & (F < 500)
        tile = nl.load(x[i * 128 + P, F], mask=inside)
        tile = nl.exp(tile, mask=inside)
        nl.store(out[i * 128 + P, F], tile, mask=inside)


def test_the_last_tile_of_a_tensor_is_shorter() -> None:
    executed = traced(tiled, ROWS)
    assert ops(executed) == ["dma_copy", "activation", "dma_copy"] * 3
    assert [one.operand("dst")[3] for one in executed[1::3]] == [128, 128, 44]
    assert [pattern(one, "src") for one in executed[0::3]] == [
        ((600, 128), (1, 500)), ((600, 128), (1, 500)), ((600, 44), (1, 500))]
    assert all(pattern(one, "data") == ((1, 500),) for one in executed[1::3])


def test_a_lower_bound_moves_the_start() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nl.exp(tile, mask=(P >= 64) & (F >= 100) & (F < 132))

    exp = traced(kernel, F32)[1]
    assert exp.operand("data")[3:5] == (64, ((1, 32),)) and where(exp, "data") == (100, 64)
    assert where(exp, "dst") == (100, 64)


def test_an_instruction_that_is_masked_out_is_dropped() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        for i in nl.affine_range(4):
            tile[...] = nl.exp(tile, mask=i * 2 + 0 * P < 3)
            nl.store(x, tile, mask=i >= 3)
            nisa.nc_matmul(tile[:, 0:128], tile, mask=F < 0)

    assert ops(traced(kernel, F32)) == ["dma_copy", "activation", "activation", "dma_copy"]


@pytest.mark.parametrize(("mask", "stores"), [
    (F % 3 == 0, 1), (F % 3 != 0, 1), (F % 3 == 3, 0), (F % 3 != 3, 1), (0 == F % 512, 1)])
def test_an_equation_of_what_is_not_affine_is_a_mask(mask: Any, stores: int) -> None:
    def kernel(x: Any) -> None:
        nl.store(x, nl.load(x), mask=mask)

    assert ops(traced(kernel, F32)) == ["dma_copy"] * (1 + stores)


def test_a_vector_operand_keeps_its_column() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nisa.tensor_scalar(tile, nl.multiply, tile[:, 3], mask=(P < 32) & (F < 8))

    one = traced(kernel, F32)[1]
    assert one.operand("operand0")[3:5] == (32, ()) and pattern(one, "data") == ((1, 8),)


def test_the_axes_of_a_matmul_mask_are_the_contraction_and_the_moving_columns() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        bank += nisa.nc_matmul(tile[:, 0:128], tile, mask=(P < 96) & (F < 200))

    matmul = traced(kernel, F32)[1]
    assert matmul.operand("dst")[3:5] == (128, ((1, 200),))
    assert matmul.operand("stationary")[3:5] == (96, ((1, 128),))
    assert matmul.operand("moving")[3:5] == (96, ((1, 200),))


def test_an_operand_may_carry_its_own_mask() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nl.matmul(tile[:, 0:128][nl.arange(128)[None, :] < 64], tile[F < 256], transpose_x=True)

    matmul = traced(kernel, F32)[1]
    assert matmul.operand("dst")[3:5] == (64, ((1, 256),))


def test_a_reduction_reads_only_what_its_mask_keeps() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        total = nl.sum(tile, axis=1, mask=(P < 64) & (F < 100))
        assert total.shape == (128, 1)

    one = traced(kernel, F32)[1]
    assert one.operand("data")[3:5] == (64, ((1, 100),)) and one.operand("dst")[3] == 64


def test_a_mask_that_couples_axes_is_recorded_in_full_with_a_note() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        nl.exp(tile, mask=P + F < 400)
        return x

    found = program(kernel, F32)
    (note,) = found.notes
    assert note.endswith("the mask couples axes of the tile, or is no conjunction of affine comparisons: the instruction "
                         "is recorded for the whole tile")
    assert found.instructions == 2


@pytest.mark.parametrize(("mask", "message"), [
    (None, "runs from 0 to 383, but its size is 300; shrink the access or pass mask="),
    (3 * nl.arange(128)[:, None] < 303, "with its mask, the index of dimension 0 of 'x' runs from "
                                        "0 to 300, but its size is 300; tighten the mask"),
    (3 * P + nl.arange(500)[None, :] < 300, "runs from 0 to 383, .* the mask couples axes of the tile, or is no "
                                            "conjunction of affine comparisons, and does not shorten the access: compare"),
    (nl.arange(128)[:, None] % 4 < 2, "runs from 0 to 383, .* is no conjunction of affine comparisons")])
def test_an_access_beyond_a_tensor_needs_a_mask_that_covers_it(mask: Any, message: str) -> None:
    def kernel(x: Any) -> None:
        nl.load(x[3 * P + 0, nl.arange(500)[None, :]], mask=mask)

    with pytest.raises(ProgramError, match=message.replace("383", "381")):
        program(kernel, ROWS)
