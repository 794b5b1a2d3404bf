# SPDX-License-Identifier: Apache-2.0
# The DMA engines.
"""Copies, transposes and sums of tensors in HBM and SBUF; casts go through float32. [NKI-ISA]"""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.frontend.records.tensor import View
from trnsim.frontend.values.alu import BINARY
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array, to_float32
from trnsim.frontend.values.indirect import selected
from trnsim.frontend.values.memory import memory_of

TRANSPOSE_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


def _is_skip(mode: Any) -> bool:
    return bool(getattr(mode, "name", mode) == "skip")


def _converted(values: Array, source: View, target: View) -> Array:
    return values if source.form.dtype is target.form.dtype else to_float32(values)


def _carry(call: Call, flags: Array | None, shape: tuple[int, ...],
           axes: tuple[int, ...] | None = None) -> None:
    """Notes which elements of dst come from what nothing has written, given those of a source."""
    if flags is None:
        return
    form = call.views["dst"].form
    if axes is not None:
        flags = flags.reshape(shape).transpose(axes)
    call.put_garbage(flags.reshape(form.shape[0], -1) if flags.size == form.elements else flags)


def dma_copy(call: Call, oob_mode: Any = "error") -> None:
    """dst = src."""
    call.skips = _is_skip(oob_mode)
    dst, src = call.views["dst"], call.views["src"]
    values = _converted(call.read("src"), src, dst)
    _carry(call, call.take_garbage(), values.shape)
    if call.skips and isinstance(src.indices, View):
        call.kept = selected(call.machine.indices(src, call.at), memory_of(src.storage), src,
                             call.at)
    call.write(values)


def dma_transpose(call: Call, oob_mode: Any = "error") -> None:
    """dst = src with its first and last dimension exchanged."""
    call.skips = _is_skip(oob_mode)
    values = call.read("src")
    axes = TRANSPOSE_AXES[values.ndim]
    _carry(call, call.take_garbage(), values.shape, axes)
    call.write(_converted(values.transpose(axes), call.views["src"], call.views["dst"]))


def dma_compute(call: Call, scales: Any = None, oob_mode: Any = "error",
                scattered: View | None = None) -> None:
    """dst = the sum, maximum or minimum of the scaled sources.

    `scattered` is the view with indices that dst stands for, if it has some; rows of equal indices
    are added to each other first. [NKI-ISA-2.26]
    """
    if scattered is not None:
        call.operands = [(role, access, scattered if view is call.views["dst"] else view)
                         for role, access, view in call.operands]
        call.views["dst"] = scattered
    call.skips = _is_skip(oob_mode)
    sources = [view for role, _, view in call.operands if role == "src"]
    total: Array | None = None
    for at, view in enumerate(sources):
        values = to_float32(call.machine.read(view, call.at, call.kept, call.skips,
                                              None if scattered else call.garbage))
        _carry(call, call.take_garbage(), values.shape)
        if scattered is not None and view is not scattered:
            values = _added_by_index(call, scattered, values)
        if scales is not None:
            values = values * np.float32(scales[at])
        if total is None:
            total = values
        else:
            total = BINARY[call.attributes["op"]](total, values.reshape(total.shape))
    assert total is not None
    call.write(total)


def _added_by_index(call: Call, scattered: View, values: Array) -> Array:
    """The rows that go to one place, each as their sum."""
    indices = scattered.indices
    if not isinstance(indices, View) or indices.form.elements != len(values):
        return values
    if scattered.form.strides[0]:
        return values
    _, first, place, counts = np.unique(call.machine.read(indices, call.at).reshape(-1),
                                        return_index=True, return_inverse=True, return_counts=True)
    if (counts == 1).all():
        return values
    sums = np.zeros((len(first), *values.shape[1:]), dtype=np.float32)
    np.add.at(sums, place.reshape(-1), values)
    return sums[place.reshape(-1)]
