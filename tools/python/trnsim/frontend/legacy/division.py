# SPDX-License-Identifier: Apache-2.0
# Instructions that are larger than the hardware's, or walk with more strides.
"""Division of one instruction into several: along its first free axis, or by blocks.

AWS's compiler does so for the 0.1 API, whose tiles may have any number of axes. [ASSUMED]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.legality.engines import VECTOR_BLOCK
from trnsim.frontend.recorder import Operand
from trnsim.frontend.records.tensor import MAXIMUM_PATTERN

_WHOLE_TILE = frozenset(("nc_matmul", "nc_transpose", "bn_stats", "bn_aggr", "max8", "iota",
                         "nc_find_index8", "nc_match_replace8", "dma_transpose", "local_gather",
                         "tensor_tensor_scan", "activation_reduce", "tensor_scalar_reduce"))
"""Operations whose result depends on all elements of a row."""


def divide(op: str, engines: tuple[str, ...] | None,
           operands: Sequence[Operand]) -> Sequence[Sequence[Operand]]:
    """The pieces of an instruction that is too large or walked with too many strides; else ()."""
    if op == "nc_transpose" and engines == ("vector",):
        return _transposed_blocks(operands)
    if all(len(view.form.pattern) <= MAXIMUM_PATTERN[view.form.space] for _, _, view in operands):
        return ()
    size = max((view.form.shape[1] for _, _, view in operands if len(view.form.shape) > 2),
               default=1)
    if op in _WHOLE_TILE or size == 1 or any(not _divisible(view, size)
                                             for _, _, view in operands):
        return ()
    return [[(role, access, _piece(view, at)) for role, access, view in operands]
            for at in range(size)]


def _transposed_blocks(operands: Sequence[Operand]) -> Sequence[Sequence[Operand]]:
    """A transpose on the vector engine, by blocks; () if it is one block. [NKI-ISA]"""
    (into, access, dst), (role, reading, data) = operands
    rows, columns = data.form.partitions, data.form.free_elements
    if max(rows, columns) <= VECTOR_BLOCK or not (isinstance(dst, Tensor)
                                                  and isinstance(data, Tensor)):
        return ()
    target, source = dst.reshape((columns, rows)), data.reshape((rows, columns))
    pieces = []
    for row in range(0, rows, VECTOR_BLOCK):
        for column in range(0, columns, VECTOR_BLOCK):
            down = slice(row, min(row + VECTOR_BLOCK, rows))
            across = slice(column, min(column + VECTOR_BLOCK, columns))
            pieces.append([(into, access, target[across, down]),
                           (role, reading, source[down, across])])
    return pieces


def _divisible(view: Any, size: int) -> bool:
    return isinstance(view, Tensor) and (view.form.free_elements == 1
                                         or view.form.shape[1] in (1, size))


def _piece(view: Any, at: int) -> Tensor:
    """The part of an operand at one place of the first free axis, which is dropped."""
    form = view.form
    if len(form.shape) < 3:
        return view  # type: ignore[no-any-return]
    move = form.steps[1] * at if form.shape[1] > 1 else 0
    stored = None if form.dtype is form.buffer.dtype else form.dtype
    shape = (form.shape[0], *form.shape[2:])
    strides = (form.strides[0], *form.strides[2:])
    made = form.buffer.form(shape, strides, form.partition, stored)
    return Tensor(view.storage, made, view.position + move, view.indices)
