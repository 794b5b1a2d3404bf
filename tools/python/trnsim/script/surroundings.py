# SPDX-License-Identifier: Apache-2.0
# What a kernel reads that it was not given.
"""add_surroundings(kernel, snapshot): keeps the global variables, closure cells and attributes that
a kernel reads.
"""

from __future__ import annotations

import dis
import functools
import sys
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from trnsim.frontend.host.own import is_own, is_own_module
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.leaves import attributes_of
from trnsim.script.snapshots import NOTHING, Snapshot, module_of


def add_surroundings(kernel: Kernel, snapshot: Snapshot) -> None:
    """Of the functions, classes and modules of the user's that a kernel names, or was given."""
    visitor = _Visitor(snapshot)
    snapshot.code.append(kernel)
    while snapshot.code:
        visitor.visit(snapshot.code.pop())


class _Visitor:
    """Walks over what is named, once over each; what else that holds, the snapshot tells."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._seen: set[Any] = set()

    def visit(self, value: Any) -> None:
        """What a function names, what a decorator holds, the methods of a class."""
        if not self._is_new(id(value)):
            return
        name = getattr(value, "__name__", "")
        if isinstance(value, Kernel):
            self._hold(value.function, name)
        elif isinstance(value, functools.partial):
            self._hold([value.func, *value.args, *value.keywords.values()], name)
        elif isinstance(value, (staticmethod, classmethod)):
            self._hold(value.__func__, name)
        elif isinstance(value, MethodType):
            self._hold([value.__func__, value.__self__], name)
        elif isinstance(value, property):
            self._hold(value.fget, name)
        elif isinstance(value, FunctionType):
            self._visit_function(value)
        elif isinstance(value, type):
            self._visit_class(value)

    def _hold(self, value: Any, name: str) -> None:
        """What there is behind a name; decorators of libraries tell what they wrap."""
        self._snapshot.add(value, name)
        own = {} if isinstance(value, (type, ModuleType)) else attributes_of(value)
        for attribute in ("__wrapped__", "func"):
            if attribute in own:
                self._snapshot.add(own[attribute], name)

    def _visit_function(self, function: FunctionType) -> None:
        code = function.__code__
        self._hold(vars(function).get("__wrapped__"), function.__name__)
        if not is_own(code):
            return
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if self._is_new(id(cell)):
                self._snapshot.add_variable(functools.partial(_contents, cell),
                                            functools.partial(_fill, cell), name)
                self._hold(_contents(cell), name)
        self._snapshot.add([function.__defaults__, function.__kwdefaults__, vars(function)],
                           f"what {function.__name__} has")
        names = _names(code)
        for name in names.variables:
            self._visit_entry(function.__globals__, name, names.attributes)
        for name in names.modules:
            if is_own_module(sys.modules.get(name)):
                self._visit_module(sys.modules[name], names.attributes)

    def _visit_module(self, module: ModuleType, attributes: frozenset[str]) -> None:
        """The variables of a module that may be read as attributes of it."""
        for attribute in attributes:
            self._visit_entry(vars(module), attribute, attributes)

    def _visit_entry(self, names: dict[str, Any], name: str, attributes: frozenset[str]) -> None:
        """A variable of a module."""
        if not self._is_new((id(names), name)):
            return
        self._snapshot.add_variable(functools.partial(names.get, name, NOTHING),
                                    functools.partial(_put, names, name), name)
        value = names.get(name)
        if isinstance(value, ModuleType):
            if is_own_module(value):
                self._visit_module(value, attributes)
        elif isinstance(value, type):
            self._snapshot.code.append(value)
        else:
            self._hold(value, name)

    def _visit_class(self, kind: type) -> None:
        for one in kind.__mro__:
            if not is_own_module(module_of(one)) or not self._is_new(("class", id(one))):
                continue
            for name, value in list(vars(one).items()):
                if isinstance(value, FunctionType) or not name.startswith("__"):
                    self._snapshot.add_variable(
                        functools.partial(vars(one).get, name, NOTHING),
                        functools.partial(_set, one, name), f"{one.__name__}.{name}")
                    self._hold(value, f"{one.__name__}.{name}")

    def _is_new(self, key: Any) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


class _Names(NamedTuple):
    """What a function, and the functions in it, may read or assign outside of them."""

    variables: frozenset[str]
    attributes: frozenset[str]
    modules: frozenset[str]


_KINDS = {"LOAD_GLOBAL": 0, "LOAD_NAME": 0, "STORE_GLOBAL": 0, "DELETE_GLOBAL": 0, "LOAD_ATTR": 1,
          "LOAD_METHOD": 1, "IMPORT_FROM": 1, "IMPORT_NAME": 2}


@functools.cache
def _names(code: CodeType) -> _Names:
    found: tuple[set[str], set[str], set[str]] = set(), set(), set()
    for one in dis.get_instructions(code):
        kind = _KINDS.get(one.opname)
        if kind is not None:
            found[kind].add(one.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for names, inner in zip(found, _names(constant), strict=True):
                names |= inner
    return _Names(*map(frozenset, found))


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # Nothing is assigned to it yet.
        return NOTHING


def _fill(cell: CellType, value: Any) -> None:
    if value is NOTHING:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _put(names: dict[str, Any], name: str, value: Any) -> None:
    if value is NOTHING:
        names.pop(name, None)
    else:
        names[name] = value


def _set(kind: type, name: str, value: Any) -> None:
    if value is NOTHING:
        type.__delattr__(kind, name)
    else:
        type.__setattr__(kind, name, value)
