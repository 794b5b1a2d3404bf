# SPDX-License-Identifier: Apache-2.0
# MXFP8 and MXFP4: blocks of 32 elements that share a power of two.
"""quantize_mx and nc_matmul_mx. [NKI-ISA] [OCP-MX]

A block is 8 partitions of 4 elements; the scale of block row r of a tile lies in partition
32 * (r // 4) + r % 4, that is in the first four partitions of the quadrant of its data.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from trnsim.frontend.dtypes import DType
from trnsim.frontend.records.tensor import View
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array, storage_type, to_float32
from trnsim.frontend.values.matmul import accumulated, contracted
from trnsim.frontend.values.memory import memory_of

PACK, BLOCK_ROWS, QUADRANT = 4, 8, 32
EXPONENT_BIAS = 127
ELEMENTS = {"float8_e5m2_x4": (ml_dtypes.float8_e5m2, 15, 57344.0),
            "float8_e4m3fn_x4": (ml_dtypes.float8_e4m3fn, 8, 448.0)}
"""Element type, largest exponent and largest value of the packed types that quantize_mx makes."""
_SHIFTS = 4 * np.arange(PACK, dtype=np.uint16)
"""Where the elements of float4_e2m1fn_x4 begin in its bits."""


def _scale_rows(partitions: int) -> Array:
    """The partition that holds the scale of each block row."""
    rows = np.arange(partitions // BLOCK_ROWS)
    return QUADRANT * (rows // PACK) + rows % PACK


def unpacked(values: Array, kind: DType) -> Array:
    """Packed elements as float32, [..., N] as [..., N, 4]."""
    values = np.ascontiguousarray(values).view(storage_type(kind))
    if kind.name in ELEMENTS:
        return to_float32(values.view(ELEMENTS[kind.name][0]).reshape(*values.shape, PACK))
    nibbles = ((values[..., None] >> _SHIFTS) & np.uint16(0xF)).astype(np.uint8)
    return to_float32(nibbles.view(ml_dtypes.float4_e2m1fn))


def packed(values: Array, kind: DType) -> Array:
    """Numbers as packed elements, [..., 4 N] as [..., N]."""
    element = ELEMENTS[kind.name][0] if kind.name in ELEMENTS else ml_dtypes.float4_e2m1fn
    bits = np.ascontiguousarray(to_float32(np.asarray(values)).astype(element)).view(np.uint8)
    if kind.name not in ELEMENTS:
        nibbles = bits.reshape(*bits.shape[:-1], -1, PACK).astype(np.uint16)
        bits = np.bitwise_or.reduce(nibbles << _SHIFTS, axis=-1, dtype=np.uint16)
    return bits.view(kind.dtype)


def _scaled(call: Call, role: str) -> tuple[Array, Array | None]:
    """An operand with its scales applied, [4 P, N], and what of it nothing has written."""
    view = call.views[role]
    values = unpacked(call.rows(role), view.form.dtype)
    unwritten = call.take_garbage()
    partitions, columns = values.shape[:2]
    exponents, unscaled = _scales(call, call.views[f"{role}_scale"], partitions)
    factors = np.exp2(exponents[:, :columns].astype(np.float32) - EXPONENT_BIAS)
    values = values * np.repeat(factors, BLOCK_ROWS, axis=0)[:, :, None]
    if unscaled is not None:
        spoiled = np.repeat(unscaled[:, :columns], BLOCK_ROWS, axis=0)
        unwritten = spoiled if unwritten is None else spoiled | unwritten
    flat = values.transpose(0, 2, 1).reshape(-1, columns)
    return flat, None if unwritten is None else np.repeat(unwritten, PACK, axis=0)


def _scales(call: Call, view: View, partitions: int) -> tuple[Array, Array | None]:
    """The exponents of all block rows, and which are garbage; only their partitions count."""
    rows = _scale_rows(partitions)
    kept = np.zeros(view.form.shape, dtype=bool)
    kept[rows[rows < view.form.shape[0]]] = True
    found = call.machine.read(view, call.at, kept, garbage=call.garbage)
    unwritten = call.take_garbage()
    found = np.ascontiguousarray(found).view(np.uint8).reshape(view.form.shape[0], -1)
    return found[rows], None if unwritten is None else unwritten[rows]


def nc_matmul_mx(call: Call) -> None:
    """dst = stationary.T @ moving of scaled operands, over partitions and packed elements."""
    (left, rows), (right, columns) = _scaled(call, "stationary"), _scaled(call, "moving")
    accumulated(call, contracted(call, left, right, rows, columns))


def quantize_mx(call: Call) -> None:
    """dst, dst_scale = data divided by the scale of its block, and that scale's exponent."""
    element, top, limit = ELEMENTS[call.views["dst"].form.dtype.name]
    data, unwritten = call.floats("data"), call.take_garbage()
    partitions, columns = data.shape
    blocks = data.reshape(partitions // BLOCK_ROWS, BLOCK_ROWS, columns // PACK, PACK)
    largest = np.abs(blocks).max(axis=(1, 3))
    _, exponents = np.frexp(largest)
    scales = np.where(largest > 0, exponents - 1 - (top - 1), -EXPONENT_BIAS)
    scales = np.clip(scales, -EXPONENT_BIAS, EXPONENT_BIAS)
    factors = np.exp2(-scales.astype(np.float32))[:, None, :, None]
    scaled = np.clip(blocks * factors, -limit, limit).reshape(partitions, columns)
    packed = np.ascontiguousarray(scaled.astype(element)).view(np.uint32)
    spoiled = None
    if unwritten is not None:
        spoiled = unwritten.reshape(blocks.shape).any(axis=(1, 3))
        call.put_garbage(np.repeat(spoiled, BLOCK_ROWS, axis=0))
    call.write(packed)
    _write_scales(call, (scales + EXPONENT_BIAS).astype(np.uint8), partitions, spoiled)


def _write_scales(call: Call, exponents: Array, partitions: int, spoiled: Array | None) -> None:
    view = call.views["dst_scale"]
    memory = memory_of(view.storage)
    target = memory.view(view)
    rows = _scale_rows(partitions)
    kept = np.zeros(view.form.shape, dtype=bool)
    kept[rows] = True
    target[rows] = exponents.reshape(len(rows), *target.shape[1:]).view(target.dtype)
    memory.mark(view, kept)
    if spoiled is not None and call.garbage is not None:
        kept[rows] = spoiled.reshape(len(rows), *target.shape[1:])
        memory.unmark(view, kept, call.garbage.origin, call.at)
