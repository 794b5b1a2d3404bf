# SPDX-License-Identifier: Apache-2.0
# Broadcasts of tiles, along free dimensions and across partitions.
"""nl.broadcast_to, and the operands of operations on tiles of different shapes. [NKI-LANGUAGE]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import DType, float32, uint16
from trnsim.frontend.nki.creation import fresh
from trnsim.frontend.nki.emit import copy, dense, emit, flat, repeated, result_dtype, tile
from trnsim.frontend.records.tensor import PSUM, View
from trnsim.frontend.shapes import sizes_of


def over_same_partitions(x: View, y: View) -> tuple[View, View]:
    """Both tiles, one of a single partition copied to all those of the other."""
    partitions = max(x.shape[0], y.shape[0])
    return over_partitions(x, partitions), over_partitions(y, partitions)


def over_partitions(x: View, partitions: int) -> View:
    """`x`, copied to as many partitions if it has one."""
    return broadcast_to(x, (partitions, *x.shape[1:])) if x.shape[0] == 1 < partitions else x


def spread(x: View, shape: tuple[int, ...]) -> View:
    """`x` in a shape to which it broadcasts: partitions by a copy, the others by their pattern."""
    return x if x.shape == shape else repeated(over_partitions(x, shape[0]), shape)


def broadcast_to(x: Any, shape: Any, dtype: Any = None) -> View:
    """A larger tile. Free dimensions repeat by access pattern, partitions by a matmul."""
    data = tile(x, "broadcast_to")
    sizes = sizes_of(shape)
    if sizes == data.shape:
        return data if dtype is None else copy(data, dtype)
    kind = result_dtype(dtype, data)
    if len(sizes) != data.ndim or any(
            have not in (1, want) for have, want in zip(data.shape, sizes)):
        raise IllegalInstruction(f"{source.here()}: broadcast_to: {list(data.shape)} does not "
                                 f"broadcast to {list(sizes)}; equal ranks and sizes 1 do")
    if sizes[0] != data.shape[0]:
        data = _over_partitions(data, (sizes[0], *data.shape[1:]), kind)
    if sizes == data.shape:
        return data
    return emit("tensor_copy", fresh(sizes, kind), (("data", "read", repeated(data, sizes)),))


def _over_partitions(data: View, sizes: tuple[int, ...], kind: DType) -> View:
    """Row 0 to all partitions: ones[1, P].T @ row, in pieces of a PSUM bank, then copied out.

    Integers go through float32, which is exact up to 24 bits: those of 32 as their halves.
    """
    if data.dtype.is_integer and data.dtype.itemsize > uint16.itemsize:
        result = fresh(sizes, data.dtype)
        _repeat_row(_halves(dense(data)), _halves(result))
        return result if kind is data.dtype else copy(result, kind)
    result = fresh(sizes, kind)
    _repeat_row(dense(data), flat(result))
    return result


def _repeat_row(row: View, result: View) -> None:
    """result[p, n] = row[0, n], both flat, the row in SBUF."""
    active = recorder.required()
    if not row.dtype.is_float:
        row = copy(row, float32)
    partitions, columns = result.shape
    ones = _ones(partitions, row.dtype)
    step = active.chip.psum_bank_bytes // float32.itemsize
    for start in range(0, columns, step):
        count = min(step, columns - start)
        piece = row.derive((1, count), row.strides, offset=row.element_offset + start,
                           partition=row.form.partition)
        bank = fresh((partitions, count), float32, PSUM, name="broadcast")
        active.record("nc_matmul", None, (("dst", "write", bank),
                                          ("stationary", "read", ones),
                                          ("moving", "read", piece)),
                      {"start": True, "onezero": "stationary"})
        part = result.derive((partitions, count), result.strides, offset=start)
        active.record("tensor_copy", None, (("dst", "write", part), ("data", "read", bank)), {})


def _ones(partitions: int, kind: DType) -> View:
    """A row of ones, written once, before the loops that are open."""
    active = recorder.required()
    key = ("ones", partitions, kind)
    found = active.constants.get(key)
    if found is None:
        active.flush()
        inner, active.frame = active.frame, active.program
        found = active.constants[key] = fresh((1, partitions), kind, name="ones")
        active.record("memset", None, (("dst", "write", found),), {"value": 1.0})
        active.frame = inner
    return found


def _halves(data: View) -> View:
    """A contiguous tile of 32-bit elements as [P, 2N] of their halves."""
    columns = 2 * data.form.free_elements
    return data.derive((data.shape[0], columns), (columns, 1), offset=2 * data.element_offset,
                       partition=data.form.partition, dtype=uint16)
