# SPDX-License-Identifier: Apache-2.0
# What a kernel's loops keep in Python, other than in local variables.
"""The lists, dictionaries, sets, arrays, attributes, globals and cells that a loop may change.

`holdings` finds those that the body of a loop reaches: from the variables and globals that it
names, through what those hold and the user's own functions, classes and modules. A look at them
says how many things they hold and which numbers and texts are among them; of other things it sees
the type only, so that one tile in the place of another changes nothing. Unlike watch.py, it proves
nothing: what it does not know keeps no loop from being shortened.
"""

from __future__ import annotations

import dis
import operator
from collections import deque
from functools import cache, partial
from itertools import chain
from types import (BuiltinFunctionType, CellType, CodeType, FrameType, FunctionType, MethodType,
                   ModuleType, NoneType)
from typing import Any, NamedTuple

from trnsim.frontend import source
from trnsim.frontend.bytecode import body_of_for, instructions_in, opcodes
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.sampling.effects import is_library, is_ours

MOST = 10_000
"""Objects that are looked at: a loop that reaches more is not slowed down by them. [ASSUMED]"""
_NUMBERS = frozenset((int, float, bool, str, NoneType))
_STORES = opcodes(("STORE_SUBSCR", "STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SLICE",
                   "DELETE_SUBSCR", "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_DEREF"))
_CHANGES = frozenset((
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "next", "pop",
    "popitem", "popleft", "remove", "reverse", "setattr", "setdefault", "sort", "update"))
"""Functions and methods that change something."""
_leaves: dict[type, bool] = {}
"""Whether all objects of a type hold nothing that is looked at: numbers, tensors, indices."""
_ABSENT = object()
_ARRAY_BYTES = 1 << 16
"""Of the largest array whose elements are looked at. [ASSUMED]"""


class _Code(NamedTuple):
    """What code names."""

    variables: tuple[str, ...]
    """Local variables and cells, of the body of a loop."""
    names: tuple[str, ...]
    """Globals and attributes."""
    changes: bool
    """Whether it may change something itself,"""
    stores_globals: bool
    """and that may be a global."""
    inner: tuple[CodeType, ...]


class Holdings:
    """What can be reached."""

    def __init__(self) -> None:
        self.may_change = False
        """Whether some of the code changes anything."""
        self._seen: dict[Any, Any] = {}
        self._todo: list[Any] = []
        self._lists: list[Any] = []
        self._tables: list[Any] = []
        self._names: list[tuple[dict[str, Any], str]] = []
        self._cells: list[CellType] = []
        self._slots: list[tuple[Any, str]] = []
        self._others: list[Any] = []

    def add(self, values: Any) -> None:
        """Objects that code is given."""
        self._todo += values

    def add_code(self, code: _Code, scope: dict[str, Any]) -> None:
        """Code with its globals."""
        self.may_change |= code.changes
        for name in code.names:
            if name in scope:
                self._name(scope, name, code.names)
        for one in code.inner:
            self.add_code(_code(one), scope)

    def walk(self) -> None:
        """Goes to all that can be reached."""
        while self._todo and len(self._seen) < MOST:
            value = self._todo.pop()
            if type(value) not in _NUMBERS and id(value) not in self._seen:
                self._seen[id(value)] = value
                self._visit(value)

    def look(self) -> list[Any]:
        """How many things all of them hold, and which numbers."""
        return [*[tuple(map(_shown, one)) for one in self._lists],
                *[(tuple(map(_shown, one)), tuple(map(_shown, one.values())))
                  for one in self._tables],
                [_shown(scope.get(name, _ABSENT)) for scope, name in self._names],
                [_shown(_contents(cell)) for cell in self._cells],
                [_shown(getattr(one, name, _ABSENT)) for one, name in self._slots],
                [_state(one) for one in self._others]]

    def held(self) -> list[int]:
        """Which things all of them hold."""
        return [id(one) for one in chain(
            *self._lists, *(table.values() for table in self._tables),
            (scope.get(name) for scope, name in self._names), map(_contents, self._cells),
            (getattr(one, name, None) for one, name in self._slots))]

    def _name(self, scope: dict[str, Any], name: str, names: tuple[str, ...]) -> None:
        key = (id(scope), name)
        if key in self._seen:
            return
        self._seen[key] = scope
        value = scope[name]
        if type(value) is not ModuleType:
            self._names.append((scope, name))
            self._todo.append(value)
        elif _is_users(value.__name__, getattr(value, "__file__", None)):
            for attribute in names:
                if attribute in vars(value):
                    self._name(vars(value), attribute, names)

    def _visit(self, value: Any) -> None:
        kind = type(value)
        if kind is list or kind is deque:
            self._lists.append(value)
            self._todo += value
        elif kind is tuple:
            self._todo += value
        elif kind is dict:
            self._table(value)
        elif kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            self._todo += (value.__self__, value.__func__)
        elif kind is BuiltinFunctionType:
            self.may_change |= value.__name__ in _CHANGES
            self._todo.append(value.__self__)
        elif kind is Kernel:
            self._todo.append(value.function)
        elif kind in (staticmethod, classmethod):
            self._todo.append(value.__func__)
        elif kind is property:
            self._todo += (value.fget, value.fset)
        elif kind is partial:
            self._todo += (value.func, value.args, value.keywords)
        elif isinstance(value, type):
            if _is_users(value.__module__):
                self._table(vars(value))
                self._todo += value.__bases__
        elif kind is set or hasattr(kind, "__length_hint__") or hasattr(kind, "tobytes"):
            self._others.append(value)
        elif _is_users(kind.__module__):
            self._table(getattr(value, "__dict__", {}))
            slots = [name for one in kind.__mro__ for name in vars(one).get("__slots__", ())]
            self._slots += [(value, name) for name in slots]
            self._todo += (kind, *(getattr(value, name, None) for name in slots))

    def _table(self, table: Any) -> None:
        self._tables.append(table)
        self._todo += table.values()

    def _function(self, function: FunctionType) -> None:
        if source.is_user(function.__code__):
            self.add_code(_code(function.__code__), function.__globals__)
            self._todo += (function.__defaults__, function.__kwdefaults__)
            for cell in function.__closure__ or ():
                self._cells.append(cell)
                self._todo.append(_contents(cell))


def holdings(frame: FrameType, at: int) -> Holdings | None:
    """Those of the loop whose iterator a frame has made at an instruction; None if its code changes
    nothing."""
    body = _body(frame.f_code, at)
    if body is None:
        return None
    values, scope = frame.f_locals, frame.f_globals
    given = [values[name] for name in body.variables
             if name in values and not _is_known(values[name])]
    if not given and not body.stores_globals and all(
            _is_known(scope[name]) for name in body.names if name in scope):
        return None
    found = Holdings()
    found.add(given)
    found.add_code(body, scope)
    found.walk()
    return found if found.may_change and found.look() else None


def _is_known(value: Any) -> bool:
    """Whether something holds nothing that is looked at: what most bodies name."""
    kind = type(value)
    if kind is type:
        return not _is_users(value.__module__)
    if kind is ModuleType:
        return not _is_users(value.__name__, getattr(value, "__file__", None))
    if kind is FunctionType:
        return not source.is_user(value.__code__)
    known = _leaves.get(kind)
    if known is None:
        known = _leaves[kind] = kind in _NUMBERS or kind in (range, slice) or (
            is_ours(kind.__module__) and kind is not Kernel)
    return known


@cache
def _body(code: CodeType, at: int) -> _Code | None:
    """The body of a `for` statement; None if there is none at an instruction."""
    offsets = body_of_for(code, at)
    if offsets is None:
        return None
    inside = instructions_in(code, offsets)
    named = [one.argval for one in inside if one.opcode in dis.hasname]
    variables: dict[str, None] = {}
    for one in inside:
        if one.opcode in dis.haslocal or one.opcode in dis.hasfree:
            variables.update(dict.fromkeys(
                one.argval if isinstance(one.argval, tuple) else (one.argval,)))
    return _Code(tuple(variables), tuple(dict.fromkeys(named)),
                 not _CHANGES.isdisjoint(named)
                 or not _STORES.isdisjoint(one.opcode for one in inside),
                 any(one.opname.endswith("_GLOBAL") and one.opname != "LOAD_GLOBAL"
                     for one in inside),
                 tuple(one.argval for one in inside if isinstance(one.argval, CodeType)))


@cache
def _code(code: CodeType) -> _Code:
    """All code of a function."""
    return _Code((), code.co_names, not _CHANGES.isdisjoint(code.co_names)
                 or not _STORES.isdisjoint(code.co_code[::2]), False,
                 tuple(one for one in code.co_consts if isinstance(one, CodeType)))


def _is_users(module: str, path: str | None = "") -> bool:
    """Whether a module is neither this package's, nor Python's, nor numpy's."""
    return path is not None and not (is_ours(module) or is_library(module)
                                     or module in ("builtins", "collections"))


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _shown(value: Any) -> Any:
    """What is seen of something: a number or a text, else its type."""
    kind = type(value)
    return value if kind in _NUMBERS else kind


def _state(value: Any) -> Any:
    """What is seen of a set, an array, or an iterator of known length."""
    if type(value) is set:
        return len(value)
    elements = getattr(value, "tobytes", None)
    if elements is not None:
        return elements() if value.nbytes <= _ARRAY_BYTES else None
    return operator.length_hint(value, -1)
