# SPDX-License-Identifier: Apache-2.0
# What a kernel reads that it was not given.
"""add_surroundings(kernel, snapshot): keeps the global variables, closure cells and attributes that
a kernel reads.
"""

from __future__ import annotations

import dis
import functools
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from trnsim.frontend.host.own import is_own, is_own_module
from trnsim.frontend.kernel import Kernel
from trnsim.script.snapshots import NOTHING, Snapshot, module_of


def add_surroundings(kernel: Kernel, snapshot: Snapshot) -> None:
    """Of the functions, classes and modules of the user's that a kernel names."""
    _Visitor(snapshot).visit(kernel)


class _Visitor:
    """Walks over what is named, once over each."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._seen: set[Any] = set()

    def visit(self, value: Any, name: str = "") -> None:
        """What a function names, what a decorator holds, the methods of an object."""
        if not self._is_new(id(value)):
            return
        if isinstance(value, Kernel):
            self.visit(value.function, name)
        elif isinstance(value, functools.partial):
            for one in (value.func, *value.args, *value.keywords.values()):
                self.visit(one, name)
        elif isinstance(value, (staticmethod, classmethod)):
            self.visit(value.__func__)
        elif isinstance(value, MethodType):
            self.visit(value.__func__)
            self.visit(value.__self__, name)
        elif isinstance(value, property):
            self.visit(value.fget)
        elif isinstance(value, FunctionType):
            self._visit_function(value)
        elif isinstance(value, type):
            self._visit_class(value)
        else:
            self._snapshot.add(value, name)
            while self._snapshot.classes:
                self.visit(self._snapshot.classes.pop())

    def _visit_function(self, function: FunctionType) -> None:
        code = function.__code__
        if not is_own(code):
            return
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            if self._is_new(id(cell)):
                self._snapshot.add_variable(functools.partial(_contents, cell),
                                            functools.partial(_fill, cell), name)
                self.visit(_contents(cell), name)
        for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.visit(one, f"a default of {function.__name__}")
        variables, attributes = _names(code)
        for name in variables:
            self._visit_entry(function.__globals__, name)
            module = function.__globals__.get(name)
            if isinstance(module, ModuleType) and is_own_module(module):
                for attribute in attributes:
                    self._visit_entry(vars(module), attribute)

    def _visit_entry(self, names: dict[str, Any], name: str) -> None:
        """A variable of a module."""
        if self._is_new((id(names), name)):
            self._snapshot.add_variable(functools.partial(names.get, name, NOTHING),
                                        functools.partial(_put, names, name), name)
            self.visit(names.get(name), name)

    def _visit_class(self, kind: type) -> None:
        for one in kind.__mro__:
            if not is_own_module(module_of(one)):
                continue
            for name, value in list(vars(one).items()):
                if isinstance(value, FunctionType) or not name.startswith("__"):
                    self._snapshot.add_variable(
                        functools.partial(vars(one).get, name, NOTHING),
                        functools.partial(_set, one, name), f"{one.__name__}.{name}")
                    self.visit(value, f"{one.__name__}.{name}")

    def _is_new(self, key: Any) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new


@functools.cache
def _names(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The variables and the attributes that a function names, and the functions in it."""
    variables: set[str] = set()
    attributes: set[str] = set()
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            variables.add(one.argval)
        elif one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(one.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = _names(constant)
            variables |= inner[0]
            attributes |= inner[1]
    return frozenset(variables), frozenset(attributes)


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
        delattr(kind, name)
    else:
        setattr(kind, name, value)
