# SPDX-License-Identifier: Apache-2.0
# nl.loop_reduce: a reduction whose accumulator lives across loop iterations.
"""`t[i] = nl.loop_reduce(x, op, loop_indices)`, or `t = …`: in the first iteration of the named
loops `t[i]` becomes `x`, in the others `t[i] op x`. If `t` was created with a value, that value
counts too. [NKI-LANGUAGE-2.26]
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
from trnsim.frontend.loop_index import LoopIndex, plain
from trnsim.frontend.records.tensor import Shape
from trnsim.frontend.shapes import whole_number


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
        reduction = cls(value, op, _are_first(indices), result_dtype(dtype, value.dtype), mask)
        name = source.assigned_name(source.site())
        return reduction.tile(_variable(name)) if name else reduction

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

    def tile(self, variable: Any = None) -> Tensor:
        """The accumulator as a tile of its own, one for each way to this place in the source; or
        that of the variable that it is assigned to, if it was created with a value."""
        accumulators = session().accumulators
        at = source.stack()
        if self.is_first or at not in accumulators:
            if not _is_filled(variable) or variable.shape != self.shape:
                accumulators[at] = flush(copy(self.value, dtype=self.kind, mask=self.mask))
                return accumulators[at]
            accumulators[at] = variable
        binary(self.op, accumulators[at], self.value, mask=self.mask, dst=accumulators[at])
        return accumulators[at]

    def assign_to(self, target: Tensor) -> None:
        """`target[...] = reduction`."""
        if self.is_first and not _is_filled(target):
            issue("tensor_copy", (("dst", "write", target), ("data", "read", self.value)), {},
                  mask=self.mask)
        else:
            binary(self.op, target, self.value, mask=self.mask, dst=target)


def _are_first(indices: Any) -> bool:
    """Whether it is the first iteration of all loops; that of one whose indices are numbers, or may
    become some, has the number that was the first one here."""
    starts, at = session().reduction_starts, source.stack()

    def is_first(place: int, index: Any) -> bool:
        value = index if type(index) is LoopIndex else whole_number(index, "one of loop_indices")
        if type(value) is LoopIndex and not all(loop.is_counted for loop in value.terms):
            return value.is_first()
        return bool(value == starts.setdefault((at, place), plain(value)))
    return all([is_first(place, one) for place, one in enumerate(indices)])


def _is_filled(tile: Any) -> bool:
    """Whether it is a tile that was created with a value."""
    return isinstance(tile, Tensor) and id(tile.storage) in session().filled


def _variable(name: str) -> Any:
    """What a variable of the kernel holds."""
    frame = source.user_frame()
    return None if frame is None else frame.f_locals.get(name)
