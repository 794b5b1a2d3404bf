# SPDX-License-Identifier: Apache-2.0
# What the objects are that the body of a Python loop names.
"""Kinds of objects, as far as a proof (proof.py) needs to know them.

A kind is a text, or a tuple: ("list", kind), ("object", module), ("function", function), or
("record", (name, kind), ...) for an object of the user's, with the attributes that a body names.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from enum import Enum
from types import FrameType, FunctionType, ModuleType
from typing import Any, ClassVar

from trnsim.frontend.dtypes import DType
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.nki.creation import par_dim
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.nki.tile_size import TileSize

NUMBER, INDEX, TENSOR, PLAIN, RESULT = "number", "index", "tensor", "plain", "result"
ARRAY = "array"
"""A tensor, an index expression or a mask of the 0.1 dialect, and what its functions return."""

_OURS = "trnsim.frontend.nki."
NUMERIC = {id(one) for one in (min, max, abs, len)}
LEGACY = "trnsim.frontend.legacy."
_ARRAYS = ("Tensor", "Blocks", "Index", "Arange", "ArrayIndex", "Mask")
_MODULES = ("nki", "nki.typing", "numpy")
"""Modules whose attributes are constant, besides ours."""
_LARGEST_LIST = 4096
"""Elements of a list that are looked at. [ASSUMED]"""


class Unproven(Exception):
    """The body may do something else."""


class Known(str):
    """The kind of True, False or None that comes from outside: conditions on it are decided."""

    value: bool | None

    @classmethod
    def of(cls, value: bool | None) -> Known:
        """The kind of a value."""
        made = cls(PLAIN if value is None else NUMBER)
        made.value = value
        return made


class Local:
    """The kind of a list that was made in this iteration: its elements are of one kind."""

    learned: ClassVar[int] = 0
    """Lists whose elements' kind has been found out."""

    def __init__(self) -> None:
        self._shared: list[Any] = [None]

    @property
    def element(self) -> Any:
        """The kind of the elements; None before there is one."""
        return self._shared[0]

    def append(self, kind: Any) -> None:
        """An element is added. Lists in one list hold elements of one kind."""
        have = self.element
        if isinstance(kind, Local) and isinstance(have, Local):
            if kind.element is not None:
                have.append(kind.element)
            kind._shared = have._shared
        elif kind in (RESULT, INDEX) or (have is not None and have != kind):
            raise Unproven
        elif have is None:
            self._shared[0] = kind
            Local.learned += 1


def value_of(name: str, values: dict[str, Any], frame: FrameType) -> Any:
    """What a name means in a frame."""
    for scope in (values, frame.f_globals, vars(builtins)):
        if name in scope:
            return scope[name]
    raise Unproven


def kind_of(value: Any, depth: int = 0) -> Any:
    """The kind of an object that the body takes from outside; Unproven for unknown ones."""
    kind = type(value)
    if value is None or kind is bool:
        return Known.of(value)
    if kind in (int, float, par_dim):
        return NUMBER
    if kind is LoopIndex:
        return INDEX
    if kind is NkiTensor:
        return TENSOR
    if kind in (str, DType) or (
            isinstance(value, Enum) and _is_inherited(kind, "__eq__")):
        return PLAIN
    if kind is TileSize or kind is ModuleType and (
            value.__name__ in _MODULES
            or value.__name__.startswith((_OURS, LEGACY, "neuronxcc.nki"))):
        return ("object", value)
    if kind is FunctionType and value.__module__.startswith((_OURS, LEGACY)):
        return ("function", value)
    if kind.__module__.startswith(LEGACY):
        return _legacy_kind(value)
    if kind.__module__ == "numpy" and callable(value):
        return PLAIN
    if id(value) in NUMERIC or isinstance(value, type) and is_callee(value):
        return ("function", value)
    if kind in (list, tuple) and 0 < len(value) <= _LARGEST_LIST and depth < 8:
        kinds = {kind_of(one, depth + 1) for one in value}
        if len(kinds) == 1:
            return ("list", kinds.pop())
    raise Unproven


def decided(kinds: Any) -> Iterator[bool | None]:
    """The values of the kinds that equal others which have another value."""
    for kind in kinds:
        if type(kind) is Known:
            yield kind.value
        elif type(kind) is tuple:
            yield from decided(kind)


def undecided(kind: Any) -> Any:
    """The kind of a name that is assigned: another iteration may assign another value."""
    if type(kind) is tuple:
        return tuple(undecided(one) for one in kind)
    return str(kind) if type(kind) is Known else kind


def kind_or_record(value: Any, wanted: dict[str, Any]) -> Any:
    """The kind of an object; that of a user's is those of its attributes that the body names."""
    try:
        return kind_of(value)
    except Unproven:
        if not wanted or not _is_record(value):
            raise
    return ("record", *((name, kind_or_record(_attribute(value, name), inner))
                        for name, inner in wanted.items()))


def _is_inherited(kind: type, name: str) -> bool:
    """Whether a class has a method as every object has it."""
    return getattr(kind, name) is getattr(object, name)


def _is_record(value: Any) -> bool:
    """Whether reading attributes of an object does nothing else."""
    kind = type(value)
    return (_is_inherited(kind, "__getattribute__") and not hasattr(kind, "__getattr__")
            and hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)))


def _attribute(value: Any, name: str) -> Any:
    """An attribute that is stored in an object or its class."""
    found = [vars(one)[name] for one in type(value).__mro__ if name in vars(one)]
    if found and hasattr(type(found[0]), "__get__"):
        raise Unproven
    if name in vars(value):
        return vars(value)[name]
    if not found:
        raise Unproven
    return found[0]


def is_callee(value: type) -> bool:
    """Whether a class is one that bodies may call: a range, or nl.par_dim."""
    return value is par_dim or issubclass(value, LoopRange)


def _legacy_kind(value: Any) -> Any:
    """The kind of an object of the 0.1 dialect."""
    name = type(value).__name__
    if name in _ARRAYS:
        return ARRAY
    if name.endswith("Region") and not value.is_placed:
        return PLAIN
    raise Unproven


def given_kind(kind: Any) -> Any:
    """The kind of something for a loop that it comes from outside of: a list is not appended to."""
    if not isinstance(kind, Local):
        return kind
    if kind.element is None:
        raise Unproven
    return ("list", given_kind(kind.element))
