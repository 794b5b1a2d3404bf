# SPDX-License-Identifier: Apache-2.0
# The tensor engine.
"""Matrix products with float32 accumulation, and transposes.

float32 operands are multiplied in float32, without the engine's passes of smaller products.
"""

from __future__ import annotations

import numpy as np

from trnsim.frontend.dtypes import float32
from trnsim.frontend.recorder import required
from trnsim.frontend.tensor import PSUM
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array, to_float32
from trnsim.frontend.values.machine import memory_of

EXACT_TRANSPOSES = 3
"""The first NeuronCore with a transpose mode. [NKI-ARCH-V3]"""


def nc_matmul(call: Call) -> None:
    """dst = stationary.T @ moving, or dst += it."""
    stationary, moving = call.floats("stationary"), call.floats("moving")
    if call.attributes.get("perf_mode") == "double_row":
        stationary, moving = _unfolded(call, "stationary"), _unfolded(call, "moving")
    if call.attributes.get("is_transpose"):
        call.write(_transposed(stationary, moving))
        return
    accumulated(call, stationary.T @ moving)


def accumulated(call: Call, product: Array) -> None:
    """Writes a product, or adds it to what dst holds."""
    view = call.views["dst"]
    memory = memory_of(view.storage)
    if call.attributes["start"]:
        call.write(product)
    elif (memory.unwritten is None and call.kept is None and view.indices is None
          and view.form.dtype is float32):
        target = memory.view(view)
        target += product.reshape(target.shape)
    else:
        call.write(call.floats("dst").reshape(product.shape) + product)


def _unfolded(call: Call, role: str) -> Array:
    """[K, 2, N] as [2 K, N]: both halves of the contraction."""
    values = call.floats(role)
    return values.reshape(2 * values.shape[0], -1)


def _transposed(stationary: Array, moving: Array) -> Array:
    """The product with a permutation, exact even for NaN and infinity if that is an identity."""
    if moving.shape[0] == moving.shape[1] and np.array_equal(moving, np.eye(moving.shape[0])):
        return _as_product(stationary.T)
    return stationary.T @ moving


def nc_transpose(call: Call) -> None:
    """dst = data.T with all free dimensions as one, bit by bit."""
    transposed = call.rows("data").T
    is_on_array = call.views["dst"].form.space == PSUM and call.engines != ("vector",)
    call.write(_as_product(transposed) if is_on_array else transposed)


def _as_product(transposed: Array) -> Array:
    """A transpose as the product with the identity that it is on NeuronCore-v2, where 0 times what
    is not finite is NaN in all of its row. [NKI-ISA] [NKI-ARCH-V3]"""
    if required().chip.generation >= EXACT_TRANSPOSES or transposed.dtype.kind in "iub":
        return transposed
    values = to_float32(transposed)
    is_odd = ~np.isfinite(values)
    if not is_odd.any():
        return transposed
    is_alone = np.isinf(values) & (is_odd.sum(axis=1, keepdims=True) == 1)
    spread = is_odd.any(axis=1, keepdims=True) & ~is_alone
    return np.where(spread, np.float32(np.nan), values)
