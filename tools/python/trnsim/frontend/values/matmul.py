# SPDX-License-Identifier: Apache-2.0
# The tensor engine.
"""Matrix products with float32 accumulation, and transposes.

float32 operands are multiplied in float32, without the engine's passes of smaller products.
"""

from __future__ import annotations

import numpy as np

from trnsim.frontend.dtypes import float32
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array
from trnsim.frontend.values.machine import memory_of


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
        return stationary.T
    return stationary.T @ moving


def nc_transpose(call: Call) -> None:
    """dst = data.T with all free dimensions as one, bit by bit."""
    call.write(call.rows("data").T)
