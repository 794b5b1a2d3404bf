# SPDX-License-Identifier: Apache-2.0
# Tests of accumulation: which matmul overwrites and which adds.
"""accumulate=None: the first matmul into a region overwrites, later ones accumulate."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import tensor, traced
from kernels import nisa, nki, nl
from trnsim.frontend import IllegalInstruction, run_kernel, trace
from trnsim.frontend.dtypes import float32
from trnsim.frontend.records.psum import free_mask
from trnsim.frontend.records.tensor import Buffer


def starts(body: Callable[..., Any]) -> list[bool]:
    """The `start` of every matmul that body(matmul, memset) issues.

    Both write columns first to last of a PSUM tile of 128 x 1024.
    """
    @nki.jit
    def kernel(x: Any) -> None:
        bank = nl.ndarray((128, 1024), dtype=nl.float32, buffer=nl.psum)
        left = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
        right = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)

        def matmul(first: int, last: int, rows: int = 128, **options: Any) -> None:
            nisa.nc_matmul(bank[0:rows, first:last], left[0:128, 0:rows],
                           right[0:128, 0:last - first], **options)

        def memset(first: int, last: int) -> None:
            nisa.memset(bank[0:128, first:last], value=0)
        body(matmul, memset)
    return [dict(one.attributes)["start"] == "true"
            for one in traced(kernel, tensor("float32", 128, 64)) if one.op == "nc_matmul"]


def test_the_first_overwrites_and_the_next_accumulates() -> None:
    assert starts(lambda matmul, memset: (matmul(0, 512), matmul(0, 512), matmul(0, 512))) == [
        True, False, False]


def test_regions_are_independent() -> None:
    assert starts(lambda matmul, memset: (matmul(0, 512), matmul(512, 1024), matmul(0, 512))) == [
        True, True, False]


def test_a_part_of_a_region_accumulates() -> None:
    assert starts(lambda matmul, memset: (matmul(0, 512), matmul(128, 256))) == [True, False]


def test_parts_together_make_a_region() -> None:
    assert starts(lambda matmul, memset: (matmul(0, 256), matmul(256, 512), matmul(0, 512))) == [
        True, True, False]


def test_another_instruction_ends_the_group() -> None:
    assert starts(lambda matmul, memset: (matmul(0, 512), memset(0, 512), matmul(0, 512))) == [
        True, True]


def test_another_instruction_elsewhere_does_not() -> None:
    assert starts(lambda matmul, memset: (matmul(0, 512), memset(512, 600), matmul(0, 512))) == [
        True, False]


def test_what_the_program_says_is_kept() -> None:
    assert starts(lambda matmul, memset: (
        matmul(0, 512, accumulate=False), matmul(0, 512, accumulate=True),
        matmul(0, 512, accumulate=False))) == [True, False, True]


def test_a_transpose_overwrites() -> None:
    assert starts(lambda matmul, memset: (matmul(0, 512), matmul(0, 512, is_transpose=True))) == [
        True, True]


@pytest.mark.parametrize("body", [
    lambda matmul, memset: (matmul(0, 256), matmul(0, 512)),
    lambda matmul, memset: (matmul(0, 512, rows=64), matmul(0, 512)),
    lambda matmul, memset: (matmul(0, 512), memset(0, 64), matmul(0, 512)),
])
def test_a_region_that_is_half_written_is_an_error(body: Callable[..., Any]) -> None:
    with pytest.raises(IllegalInstruction, match="can neither be overwritten nor accumulated"):
        starts(body)


def test_accumulating_onto_a_region_that_is_half_written_is_an_error() -> None:
    with pytest.raises(IllegalInstruction, match="part of dst .* does not hold the result of a "
                                                 "matmul; pass accumulate=False for the first"):
        starts(lambda matmul, memset: (matmul(0, 256), matmul(0, 512, accumulate=True)))


@pytest.mark.parametrize(("chip", "generation"), [("trn1", 2), ("trn2", 3), ("trn3", 4)])
def test_accumulating_onto_a_memset_is_warned_of_where_it_is_undefined(
        chip: str, generation: int) -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        left = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.memset(left, value=0)
        for _ in nl.affine_range(4):
            bank = nl.zeros((128, 128), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(bank, left, left, accumulate=True)
    program = trace(kernel, [tensor("float32", 128, 64)], chip)
    assert '"start":false' in "".join(program.lines())
    warned = [note for note in program.notes if "accumulate=True adds to what other" in note]
    assert len(warned) == (generation < 4)
    assert all(f"wrote to 'bank', which AWS documents as undefined on NeuronCore-v{generation}; "
               "leave accumulate out, or pass False for" in note for note in warned)


def test_a_sum_onto_a_memset_has_both() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        left = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(left, x)
        bank = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
        nisa.memset(bank, value=3.0)
        nisa.nc_matmul(bank, left, left, accumulate=True)
        out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        result = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(result, bank)
        nisa.dma_copy(out, result)
        return out
    assert np.array_equal(run_kernel(kernel, np.eye(64, dtype=np.float32)), np.eye(64) + 3)


def test_a_new_tile_begins_a_new_group() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        left = nl.ndarray((128, 128), dtype=nl.bfloat16, buffer=nl.sbuf)
        for _ in nl.affine_range(3):
            bank = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
            for _ in nl.affine_range(2):
                nisa.nc_matmul(bank, left, left)
    executed = traced(kernel, tensor("float32", 128, 64))
    assert [dict(one.attributes)["start"] for one in executed] == ["true", "false"] * 3


@pytest.mark.parametrize("seed", range(20))
def test_the_mask_of_a_view_has_the_bytes_that_it_touches(seed: int) -> None:
    chance = random.Random(seed)
    buffer = Buffer("b", "psum", float32, (128, 4096), bank_bytes=2048)
    shape = (128, *(chance.randint(1, 5) for _ in range(chance.randint(1, 3))))
    strides = (4096, *(chance.randint(-20, 40) for _ in shape[1:]))
    offsets = {200}
    for stride, count in zip(strides[1:], shape[1:], strict=True):
        offsets = {offset + stride * step for offset in offsets for step in range(count)}
    expected = sum(0xf << (4 * offset) for offset in offsets)
    assert free_mask(buffer.form(shape, strides), 200) == expected
