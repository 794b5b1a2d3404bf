# SPDX-License-Identifier: Apache-2.0
# Tests of NkiScalar: arithmetic, loops, offsets, messages.
"""An integer of the device. [NKI-SCALAR]"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from helpers import ops, tensor, traced
from kernels import nisa, nl
from trnsim.frontend import IllegalInstruction, ProgramError, run_kernel
from trnsim.frontend.nki.registers import DEFAULT_TRIPS

ONE = {bits: tensor(f"int{bits}", 1, 1) for bits in (32, 64)}
TABLE = tensor("float32", 64, 16)


def loaded(number: Any) -> Any:
    """The number by way of SBUF."""
    tile = nl.ndarray((1, 1), dtype=number.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=number)
    count = nisa.scalar_load(tile)
    return count


def stored(scalar: Any) -> Any:
    tile = nl.ndarray((1, 1), dtype=scalar.dtype, buffer=nl.sbuf)
    nisa.scalar_store(tile, scalar)
    out = nl.ndarray((1, 1), dtype=scalar.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@pytest.mark.parametrize(("compute", "given", "wanted"), [
    (lambda i: i * 4 + 1, 5, 21), (lambda i: 3 - i, 5, -2), (lambda i: i - i * i, 5, -20),
    (lambda i: -i, 7, -7), (lambda i: +i + i, 7, 14), (lambda i: 2 * i, -3, -6)])
@pytest.mark.parametrize("bits", [32, 64])
def test_scalars_compute_as_integers_do(compute: Callable[[Any], Any], given: int, wanted: int,
                                        bits: int) -> None:
    array = numpy.array([[given]], dtype=f"int{bits}")
    assert run_kernel(lambda x: stored(compute(loaded(x))), array, api="nki") == [[wanted]]


@pytest.mark.parametrize(("bits", "wanted"), [(32, 1410065408), (64, 10_000_000_000)])
def test_scalars_wrap_at_their_width(bits: int, wanted: int) -> None:
    array = numpy.array([[100_000]], dtype=f"int{bits}")
    assert run_kernel(lambda x: stored(loaded(x) * 100_000), array, api="nki") == [[wanted]]
    largest = numpy.array([[2**(bits - 1) - 1]], dtype=f"int{bits}")
    assert run_kernel(lambda x: stored(loaded(x) + 1), largest, api="nki") == [[-2**(bits - 1)]]


def test_each_operation_is_an_instruction_of_a_sequencer() -> None:
    def kernel(x: Any) -> Any:
        return stored(loaded(x) * 4 + 1)
    assert ops(traced(kernel, ONE[32])) == ["dma_copy", "register_load", "register_move", "register_move",
                                    "register_store", "dma_copy"]


def row_of(table: Any, index: Any) -> Any:
    return table.ap([[16, 1], [1, 16]], scalar_offset=index, indirect_dim=0)


def test_a_scalar_chooses_rows_and_bounds_loops() -> None:
    def kernel(table: Any, number: Any) -> Any:
        out = nl.ndarray((64, 16), dtype=nl.float32, buffer=nl.shared_hbm)
        rows = nl.zeros((64, 16), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=out, src=rows)
        count = loaded(number)

        def body(i: Any) -> None:
            assert isinstance(i, nisa.NkiScalar)
            row = nl.ndarray((1, 16), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=row, src=row_of(table, i * 2 + 1))
            nisa.dma_copy(dst=row_of(out, i), src=row)
        nl.fori_loop(0, count - 1, body)
        return out
    table = numpy.arange(1024, dtype=numpy.float32).reshape(64, 16)
    found = run_kernel(kernel, table, numpy.array([[5]], dtype=numpy.int32), api="nki")
    assert numpy.array_equal(found[:4], table[1:9:2])
    assert not found[4:].any()
    assert ops(traced(kernel, TABLE, ONE[32])).count("dma_copy") == 2 + 2 * DEFAULT_TRIPS


def test_a_register_among_the_bounds_makes_the_index_a_register() -> None:
    kinds: list[type] = []

    def kernel(number: Any) -> None:
        nl.fori_loop(nisa.register_alloc(0), loaded(number), lambda i: kinds.append(type(i)))
        nl.fori_loop(0, 2, lambda i: kinds.append(type(i)))
    traced(kernel, ONE[32])
    assert set(kinds) == {nisa.VirtualRegister}


def on_chip(scalar: Any) -> Any:
    tile = nl.zeros((1, 16), dtype=nl.float32, buffer=nl.sbuf)
    return tile.ap([[16, 1], [1, 4]], scalar_offset=scalar, indirect_dim=1)


@pytest.mark.parametrize(("bits", "body", "message"), [
    (32, lambda i: i // 2, r"scalar 'count', int32, has the operators \+, - and \* only"),
    (64, lambda i: i % 2, r"scalar 'count', int64, has the operators \+, - and \* only"),
    (32, lambda i: i < 3, "is compared, but nothing can use the result"),
    (64, lambda i: i == 3, "is compared, but nothing can use the result"),
    (32, lambda i: i + 0.5, "is combined with 0.5, but takes integers and scalars"),
    (32, lambda i: i + nisa.register_alloc(3), "is combined with <register .* but takes integers"),
    (32, lambda i: range(i), "'count' is used as an integer, but its value is only known on the"),
    (32, lambda i: 1 if i else 2, "'count' is used as a condition, but its value is only known"),
    (64, lambda i: nl.fori_loop(0, i, lambda j: None), "scalar 'count' bounds a loop, but has 64 "
                                                       "bits; load it from an int32 tile"),
    (64, on_chip, "is moved by scalar 'count' of 64 bits, but on chip offsets have 32"),
    (32, lambda i: nisa.register_move(i, 3),
     r"dst is scalar 'count', which never changes; copy it into a register of your own"),
    (32, lambda i: nisa.scalar_store(nl.ndarray((1, 1), nl.int64), i),
     "dst is int64, but scalar 'count' is int32; both have the same type"),
    (32, lambda i: nisa.scalar_store(nl.ndarray((1, 2), nl.int32), i), r"must be \[1, 1\]"),
    (32, lambda i: nisa.scalar_store(nl.ndarray((1, 1), nl.int32), 3),
     "the value is 3, but must be a scalar; write a constant with nki.isa.memset"),
    (32, lambda i: nisa.scalar_store(3, i), "scalar_store: dst is 3, but must be a tensor"),
    (32, lambda i: nisa.scalar_load(3), "scalar_load: src is 3, but must be a tensor"),
    (32, lambda i: nisa.scalar_load(nl.ndarray((1, 1), nl.uint32)),
     "scalar_load: src is uint32, but must be int32 or int64; copy it into one"),
])
def test_what_scalars_cannot_do_is_an_error(bits: int, body: Callable[[Any], Any],
                                            message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        traced(lambda x: body(loaded(x)) and None, ONE[bits])


def test_engines_compute_with_32_bits() -> None:
    def kernel(number: Any) -> None:
        tile, other = (nl.ndarray((1, 1), dtype=nl.int64) for _ in range(2))
        nisa.memset(tile, 1)
        nisa.dma_copy(dst=other, src=number)
        nisa.tensor_tensor(tile, tile, other, nl.add)
    with pytest.raises(IllegalInstruction, match=r"dst is sbuf int64\[1, 1\], but engines compute "
                                                 "with 32 bits at most; move it by DMA"):
        traced(kernel, ONE[64])


def test_scalars_of_two_widths_are_not_combined() -> None:
    with pytest.raises(IllegalInstruction, match="'count', int64, but both have the same type"):
        traced(lambda x, y: stored(loaded(x) + loaded(y)), ONE[32], ONE[64])
