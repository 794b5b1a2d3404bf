# SPDX-License-Identifier: Apache-2.0
# From a call of a public nki.isa function to the recorder.
"""Issuing instructions of the `nki` API."""

from __future__ import annotations

import sys
from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction, UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.arguments import describe
from trnsim.frontend.dtypes import float32, int32, uint32
from trnsim.frontend.legality.parameter_names import called
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.enums import engine_names
from trnsim.frontend.nki.grids import NkiGrid
from trnsim.frontend.nki.parameters import NUMBER_OR_TENSOR, check_number
from trnsim.frontend.operators import BITVEC, SUMS
from trnsim.frontend.recorder import Operand, Recorder
from trnsim.frontend.records.tensor import View
from trnsim.frontend.shortcuts import Retrace

Candidate = tuple[str, str, Any]
"""What becomes an operand if it is a tensor: (role, access, value)."""


class NkiInstruction:
    """The handle that an instruction returns."""

    __slots__ = ("_number",)

    def __init__(self, number: int | None = None) -> None:
        """`number`: the one that the schedule knows it by; None if it was left out."""
        self._number = number

    def depends_on(self, *producers: NkiInstruction) -> NkiInstruction:
        """Lets it run after others, whatever their data. UserError if one is no instruction."""
        for one in producers:
            if not isinstance(one, NkiInstruction):
                raise UserError(f"{source.here()}: depends_on: {one!r} is no instruction; pass "
                                "what functions of nki.isa return")
        schedule = recorder.required().schedule
        if schedule is None:
            raise Retrace(asks_order=True)
        if self._number is not None:
            schedule.depend(self._number,
                            [one._number for one in producers if one._number is not None])
        return self


HANDLE = NkiInstruction()
"""Of all instructions, as long as nobody asks for their order."""
INDEXED_THEMSELVES = ("dma_transpose", "dma_compute")
"""Operations whose functions have appended the indices already."""
_any = enums.engine.unknown
_ADDRESSES = (int32, uint32)


def issue(op: str, operands: Sequence[Operand], attributes: dict[str, Any],
          engine: Any = _any, immediates: tuple[Any, ...] = ()) -> NkiInstruction:
    """Records an instruction that was called by name from the kernel (two frames up)."""
    active = recorder.required()
    frame = sys._getframe(2)
    at = (id(frame.f_code), frame.f_lasti) if source.is_user(frame.f_code) else None
    for _, _, view in operands:
        if getattr(view, "indices", None) is not None and op not in INDEXED_THEMSELVES:
            operands = indexed(operands)
            break
    try:
        active.record(op, None if engine is _any else engine_names(engine), operands, attributes,
                      at, immediates)
    except AttributeError:
        _reject_operands(op, operands)
        raise
    if active.schedule is None:
        return HANDLE
    return scheduled(active, sys._getframe(1).f_locals.get("name"))


def scheduled(active: Recorder, name: str | None) -> NkiInstruction:
    """The handle of the instruction that was recorded last, which the program calls `name`."""
    return (HANDLE if active.schedule is None else
            NkiInstruction(active.schedule.issued(active, name)))


def indexed(operands: Sequence[Operand]) -> Sequence[Operand]:
    """The operands, followed by the tensors that hold the indices of those that are indirect.

    Each once, in the order of those operands. Registers are no operands.
    """
    found: list[View] = []
    views = [id(view) for _, _, view in operands]
    for _, _, view in operands:
        indices = view.indices
        if not isinstance(indices, View) or id(indices) in views:
            continue
        for one in found:
            if is_same(one, indices):
                view.indices = one
                break
        else:
            found.append(indices)
    return (*operands, *(("index", "read", one) for one in found))


def is_same(one: View, other: View) -> bool:
    """Whether two views are of the same elements, selected by the same indices if by any."""
    if (one.storage, one.form, one.position) != (other.storage, other.form, other.position):
        return False
    first, second = one.indices, other.indices
    return first is second or (isinstance(first, View) and isinstance(second, View)
                               and is_same(first, second))


def _reject_operands(op: str, operands: Sequence[Operand]) -> None:
    """IllegalInstruction if an operand is not a tensor."""
    for role, _, view in operands:
        if not isinstance(view, View):
            raise not_a_tensor(op, role, view)


def not_a_tensor(op: str, role: str, value: Any) -> IllegalInstruction:
    """The error for an argument that should be a tensor."""
    what, advice = describe(value), "pass one made by nl.ndarray or an argument of the kernel"
    if isinstance(value, NkiGrid):
        what, advice = f"a grid of tiles, {what}", "pass its data"
    elif isinstance(value, NkiInstruction):
        what, advice = "an instruction", "pass the dst that it writes to"
    elif hasattr(value, "shape"):
        what, advice = f"an array, {what}", "make it an argument of the kernel"
    return IllegalInstruction(f"{source.here()}: {op}: {called(op, role)} is {what}, but must be a "
                              f"tensor; {advice}")


def given(*candidates: Candidate) -> tuple[Operand, ...]:
    """Those of (role, access, value) that have a value: of parameters whose default is None."""
    return tuple([one for one in candidates if one[2] is not None])


def vectors(op: str, *candidates: Candidate) -> tuple[Operand, ...]:
    """Those of (role, access, value) whose value is a tensor; constants are no operands.

    IllegalInstruction if one of them is neither.
    """
    for role, _, value in candidates:
        if type(value) is not float and not isinstance(value, View):
            check_number(op, called(op, role), value, NUMBER_OR_TENSOR)
    return _tensors(candidates)


def _tensors(candidates: Sequence[Candidate]) -> tuple[Operand, ...]:
    return tuple([one for one in candidates if isinstance(one[2], View)])


def float_vectors(op: str, *candidates: Candidate) -> tuple[Operand, ...]:
    """Like vectors; IllegalInstruction if one of them is no float32."""
    found = vectors(op, *candidates)
    for role, _, view in found:
        if view.dtype is not float32:
            raise IllegalInstruction(
                f"{source.here()}: {op}: {called(op, role)} is {view.dtype}, but one value per "
                "partition is a float32; convert it")
    return found


def scalar_vectors(operators: Sequence[str | None], tiles: Sequence[Any],
                   *candidates: Candidate) -> tuple[Operand, ...]:
    """Those of (role, access, value) whose value is a tensor, for operators on tiles.

    IllegalInstruction if one of them is no float32. Operators on bits take integers, and integers
    of 32 bits alone are added and subtracted, as addresses are. [NKI-ISA, tensor_scalar]
    """
    is_sum = all([one is None or one in SUMS for one in operators])
    found = _tensors(candidates)
    for role, _, view in found:
        if view.dtype is float32 or operators[0] in BITVEC and view.dtype.is_integer:
            continue
        if is_sum and all([getattr(one, "dtype", None) in _ADDRESSES for one in (*tiles, view)]):
            continue
        raise IllegalInstruction(
            f"{source.here()}: {role} is {view.dtype}, but one value per partition is a float32, "
            "unless int32 and uint32 alone are added or subtracted; convert it")
    return found
