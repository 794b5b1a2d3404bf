# SPDX-License-Identifier: Apache-2.0
# `tensor[...] = value`: retargets the instruction that made the value, or copies.
"""Assignment to a part of a tensor."""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.arguments import describe
from trnsim.frontend.legality.rules import RULES
from trnsim.frontend.records.psum import begins_group
from trnsim.frontend.records.tensor import HBM, PSUM, SBUF, View


def assign(target: View, value: Any) -> None:
    """Writes `value`, a tensor of the same shape or a number, to `target`."""
    active = recorder.required()
    if not isinstance(value, View):
        active.record("memset", None, (("dst", "write", target),), {"value": value})
        return
    if value.size != target.size:
        raise IllegalInstruction(
            f"{source.here()}: {value.form.describe()} is assigned to {target.form.describe()}, "
            "but both must have the same shape; slice or reshape one")
    if target.space != HBM and value.space != HBM and active.is_pending(value):
        op = active.pending_op
        if value.space == target.space or target.space in RULES[op].operand("dst").spaces:
            if op == "nc_matmul":
                begins_group(target, False, source.here)
            active.retarget(value, target)
            return
    copy(target, value)


def copy(target: View, value: View) -> None:
    """A copy by DMA if one side is in HBM, else by an engine. PSUM is not reached by DMA."""
    active = recorder.required()
    if not isinstance(value, View):
        raise IllegalInstruction(f"{source.here()}: the value is {describe(value)}, but must be a "
                                 "tensor; fill a tile with nisa.memset and store that")
    if HBM not in (target.space, value.space):
        active.record("tensor_copy", None, (("dst", "write", target), ("data", "read", value)), {})
        return
    if value.space == PSUM:
        storage = active.storage(SBUF, target.dtype, value.shape, name="evicted")
        tile = View(storage, storage.buffer.whole)
        active.record("tensor_copy", None, (("dst", "write", tile), ("data", "read", value)), {})
        value = tile
    active.record("dma_copy", None, (("dst", "write", target), ("src", "read", value)), {})
