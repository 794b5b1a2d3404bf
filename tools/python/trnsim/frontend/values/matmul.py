# SPDX-License-Identifier: Apache-2.0
# The tensor engine.
"""Matrix products with float32 accumulation, and transposes.

What nothing has written makes garbage of the elements of a product that depend on it, which is no
error as long as they are not stored.

float32 operands are multiplied in float32, without the engine's passes of smaller products.
"""

from __future__ import annotations

import numpy as np

from trnsim.frontend import source
from trnsim.frontend.dtypes import float32
from trnsim.frontend.recorder import required
from trnsim.frontend.records.tensor import PSUM
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array, to_float32
from trnsim.frontend.values.memory import memory_of
from trnsim.frontend.values.products import cleared, warn_of_zeros

EXACT_TRANSPOSES = 3
"""The first NeuronCore with a transpose mode. [NKI-ARCH-V3]"""


def nc_matmul(call: Call) -> None:
    """dst = stationary.T @ moving, or dst += it."""
    is_folded = call.attributes.get("perf_mode") == "double_row"
    stationary, rows = _operand(call, "stationary", is_folded)
    moving, columns = _operand(call, "moving", is_folded)
    is_transpose = bool(call.attributes.get("is_transpose"))
    if is_transpose and _is_identity(moving):
        _write_transpose(call, stationary, rows, is_on_array=True)
        return
    product = contracted(call, stationary, moving, rows, columns)
    if is_transpose:
        call.write(product)
    else:
        accumulated(call, product)


def _operand(call: Call, role: str, is_folded: bool) -> tuple[Array, Array | None]:
    """An operand [K, N], and what of it nothing has written. Folded, it is [K, 2, N], and both
    halves are of the contraction."""
    values = call.floats(role)
    shape = (2 * values.shape[0], -1) if is_folded else values.shape
    unwritten = call.take_garbage()
    return values.reshape(shape), None if unwritten is None else unwritten.reshape(shape)


def contracted(call: Call, left: Array, right: Array, left_unwritten: Array | None,
               right_unwritten: Array | None) -> Array:
    """left.T @ right, and what of it comes from what nothing has written."""
    if left_unwritten is None and right_unwritten is None:
        return left.T @ right
    left, left_counts = cleared(left, left_unwritten)
    right, right_counts = cleared(right, right_unwritten)
    none = np.zeros((left.shape[0], 1), dtype=bool)
    left_unwritten = none if left_unwritten is None else left_unwritten
    right_unwritten = none if right_unwritten is None else right_unwritten
    spoiled = _meet(left_unwritten, right_counts) | _meet(left_counts, right_unwritten)
    if spoiled.any():
        call.put_garbage(spoiled)
    if _meet(left_unwritten, ~right_counts).any() or _meet(~left_counts, right_unwritten).any():
        warn_of_zeros(call)
    return left.T @ right


def _meet(left: Array, right: Array) -> Array:
    """Which elements of a product have a term with both flags."""
    return left.T.astype(np.float32) @ right.astype(np.float32) > 0


def _is_identity(values: Array) -> bool:
    return values.shape[0] == values.shape[1] and np.array_equal(values, np.eye(values.shape[0]))


def accumulated(call: Call, product: Array) -> None:
    """Writes a product, or adds it to what dst holds."""
    view = call.views["dst"]
    memory, place = memory_of(view.storage), (view.position, view.form)
    if call.attributes["start"]:
        if place in memory.products and view.indices is None:
            required().note("warning", f"a matmul overwrites a product in {view.name!r} that "
                                       "nothing has read; pass accumulate=True to add to it",
                            source.position(call.at))
        call.write(product)
    elif (memory.unwritten is None and call.kept is None and view.indices is None
          and view.form.dtype is float32
          and not (call.garbage and call.garbage.is_noted)):
        target = memory.view(view)
        target += product.reshape(target.shape)
    else:
        call.write(call.floats("dst").reshape(product.shape) + product)
    memory.products.add(place)


def nc_transpose(call: Call) -> None:
    """dst = data.T with all free dimensions as one, bit by bit."""
    data = call.rows("data")
    is_on_array = call.views["dst"].form.space == PSUM and call.engines != ("vector",)
    _write_transpose(call, data, call.take_garbage(), is_on_array)


def _write_transpose(call: Call, values: Array, unwritten: Array | None, is_on_array: bool) -> None:
    """dst = values.T, by the PE array or by the Vector Engine."""
    if unwritten is not None:
        flags = unwritten.T
        call.put_garbage(flags | flags.any(axis=1, keepdims=True)
                         if is_on_array and _is_product() else flags)
    call.write(_as_product(values.T) if is_on_array else values.T)


def _is_product() -> bool:
    """Whether the PE array transposes by multiplying with the identity."""
    return required().chip.generation < EXACT_TRANSPOSES


def _as_product(transposed: Array) -> Array:
    """A transpose as the product with the identity that it is on NeuronCore-v2, where 0 times what
    is not finite is NaN in all of its row. [NKI-ISA] [NKI-ARCH-V3]"""
    if not _is_product() or transposed.dtype.kind in "iub":
        return transposed
    values = to_float32(transposed)
    is_odd = ~np.isfinite(values)
    if not is_odd.any():
        return transposed
    is_alone = np.isinf(values) & (is_odd.sum(axis=1, keepdims=True) == 1)
    spread = is_odd.any(axis=1, keepdims=True) & ~is_alone
    return np.where(spread, np.float32(np.nan), values)
