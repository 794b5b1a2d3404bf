# SPDX-License-Identifier: Apache-2.0
# Which list a kernel is subscripting with the index of a loop.
"""Finds the list behind a subscript that Python asks an index for, from the instructions before it.

They are evaluated once more, without doing anything: names, numbers, sums and products of integers,
and subscripts of lists and tuples are.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, FrameType
from typing import Any, NamedTuple

from trnsim.frontend import source
from trnsim.frontend.loop_index import LoopIndex

Reader = Callable[[Mapping[str, Any], Mapping[str, Any]], Any]
"""The value of an expression, given the local and global names; None if it is of another kind."""
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul}
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_LOCAL, _GLOBAL = ("LOAD_FAST", "LOAD_DEREF", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"), "LOAD_GLOBAL"
_subscripts: dict[source.Site, Reader | None] = {}
_kept: list[CodeType] = []
"""The code of all sites, so that none is mistaken for another."""


class _Other(Exception):
    """The instructions do something else."""


def subscripted(frame: FrameType) -> Any:
    """The list that a frame of the kernel is subscripting; None if it does something else."""
    code = frame.f_code
    at = (id(code), frame.f_lasti)
    if at not in _subscripts:
        _kept.append(code)
        _subscripts[at] = _subscript(code, at[1]) if source.is_user(code) else None
    read = _subscripts[at]
    if read is None:
        return None
    found = read(frame.f_locals, frame.f_globals)
    return found if type(found) in (list, tuple) else None


def _subscript(code: CodeType, at: int) -> Reader | None:
    """What is subscripted at an instruction."""
    listing, places = _listing(code)
    place = places.get(at)
    if place is None or not _is_subscript(listing[place]):
        return None
    try:
        _, before = _expression(listing, place - 1)
        return _expression(listing, before)[0]
    except _Other:
        return None


class _Step(NamedTuple):
    """An instruction, or a half of one that loads two names."""

    opname: str
    argval: Any
    argrepr: str
    is_jump_target: bool


@cache
def _listing(code: CodeType) -> tuple[list[_Step], dict[int, int]]:
    """The instructions of a function, and their numbers by offset."""
    listing: list[_Step] = []
    places: dict[int, int] = {}
    for one in dis.get_instructions(code):
        places[one.offset] = len(listing)
        if isinstance(one.argval, tuple) and one.opname.startswith("LOAD_FAST"):
            listing += (_Step(_LOCAL[0], name, "", one.is_jump_target) for name in one.argval)
        else:
            listing.append(_Step(one.opname, one.argval, one.argrepr, one.is_jump_target))
    return listing, places


def _is_subscript(one: _Step) -> bool:
    """Whether an instruction subscripts; from 3.14 on it is an operation like sums."""
    return one.opname == "BINARY_SUBSCR" or one.opname == "BINARY_OP" and one.argrepr == "[]"


def _expression(listing: list[_Step], place: int) -> tuple[Reader, int]:
    """The expression that ends with an instruction, and the place before it begins."""
    one = listing[place]
    if one.is_jump_target or place == 0:
        raise _Other
    if one.opname in _CONSTANTS:
        return _constant(one.argval), place - 1
    if one.opname in _LOCAL or one.opname == _GLOBAL and not one.argrepr.startswith("NULL"):
        return _named(one.argval), place - 1
    is_subscript = _is_subscript(one)
    if is_subscript or one.opname == "BINARY_OP" and one.argrepr in _OPERATIONS:
        last, before = _expression(listing, place - 1)
        first, before = _expression(listing, before)
        if is_subscript:
            return _selecting(first, last), before
        return _calculating(_OPERATIONS[one.argrepr], first, last), before
    raise _Other


def _constant(value: Any) -> Reader:
    return lambda values, names: value


def _named(name: str) -> Reader:
    """The value of a name; of a loop's index, that in this iteration."""
    def read(values: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
        value = values.get(name, names.get(name))
        return value.value if type(value) is LoopIndex else value
    return read


def _selecting(base: Reader, key: Reader) -> Reader:
    def read(values: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
        chosen, place = base(values, names), key(values, names)
        return chosen[place] if type(chosen) in (list, tuple) and type(place) is int else None
    return read


def _calculating(operation: Callable[[int, int], int], left: Reader, right: Reader) -> Reader:
    def read(values: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
        one, other = left(values, names), right(values, names)
        return operation(one, other) if type(one) is type(other) is int else None
    return read

