# SPDX-License-Identifier: Apache-2.0
# nl.loop_reduce: a reduction whose accumulator lives across loop iterations.
"""`t[i] = nl.loop_reduce(x, op, loop_indices)`: in the first iteration of the named loops `t[i]`
becomes `x`, in the others `t[i] op x`. If `t` was created with a value, that value counts too.
[NKI-LANGUAGE-2.26]
"""

from __future__ import annotations

from typing import Any

from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.legacy.arithmetic import Operators
from trnsim.frontend.legacy.elementwise import binary
from trnsim.frontend.legacy.emit import flush, issue, result_dtype
from trnsim.frontend.legacy.session import session
from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.legacy.transfer import copy
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.records.tensor import Shape


class LoopReduction(Operators):
    """The value of nl.loop_reduce until it is assigned."""

    __slots__ = ("is_first", "kind", "mask", "op", "value")
    __hash__ = object.__hash__

    def __init__(self, value: Tensor, op: str, is_first: bool, kind: DType, mask: Any) -> None:
        self.value = value
        self.op = op
        self.is_first = is_first
        self.kind = kind
        self.mask = mask

    @classmethod
    def made(cls, value: Tensor, op: str, loop_indices: Any, dtype: Any, mask: Any) -> Any:
        """The reduction, or its tile at once if the result is bound to a variable."""
        indices = loop_indices if isinstance(loop_indices, (list, tuple)) else (loop_indices,)
        first = all(_is_first(index) for index in indices)
        reduction = cls(value, op, first, result_dtype(dtype, value.dtype), mask)
        return reduction.tile() if source.assigned_name(source.site()) else reduction

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.value.shape

    @property
    def dtype(self) -> DType:
        """The data type of the result."""
        return self.kind

    def __getitem__(self, key: Any) -> Tensor:
        return self.tile()[key]

    def tile(self) -> Tensor:
        """The accumulator as a tile of its own, one for each way to this place in the source."""
        accumulators = session().accumulators
        at = source.stack()
        if self.is_first or at not in accumulators:
            accumulators[at] = flush(copy(self.value, dtype=self.kind, mask=self.mask))
        else:
            binary(self.op, accumulators[at], self.value, mask=self.mask, dst=accumulators[at])
        return accumulators[at]

    def assign_to(self, target: Tensor) -> None:
        """`target[...] = reduction`."""
        if self.is_first and id(target.storage) not in session().filled:
            issue("tensor_copy", (("dst", "write", target), ("data", "read", self.value)), {},
                  mask=self.mask)
        else:
            binary(self.op, target, self.value, mask=self.mask, dst=target)


def _is_first(index: Any) -> bool:
    if type(index) is LoopIndex:
        return index.is_first()
    return int(index) == 0
