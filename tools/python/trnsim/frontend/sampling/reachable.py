# SPDX-License-Identifier: Apache-2.0
# The state that Python code can change: all objects that it may reach from where it begins.
"""What code may see of the past and leave to the future.

Code reaches the objects that it is given, the globals that it names, what those hold, and the code
of their functions and classes in turn. `State` walks over all of them and remembers what each list,
dictionary, cell and namespace holds, by identity. If that is the same after the code has run, it
has changed nothing that it, run again, could see.

Names are what is looked at, whatever an object in front of them is: a code object reaches all
globals and attributes of modules that have one of its names. Code that could reach more, or whose
effects are none of Python's objects, is not taken: `Unknown`. So are all objects of kinds that are
not listed here (iterators, arrays, files, whatever keeps state of its own).
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, EnumMeta
from functools import partial
from operator import is_
from types import (BuiltinFunctionType, CodeType, EllipsisType, FunctionType, GenericAlias,
                   GetSetDescriptorType, MappingProxyType, MemberDescriptorType, MethodType,
                   ModuleType, NoneType, NotImplementedType, UnionType)
from typing import Any

from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.nki.creation import par_dim
from trnsim.frontend.nki.issue import NkiInstruction
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.nki.tile_size import TileSize
from trnsim.frontend.sampling.effects import (DYNAMIC, FUNCTIONS, IMPURE, Unknown,
                                              compare_with_singletons, globals_of,
                                              have_no_other_effects, is_accepted, is_library,
                                              is_ours, loose_names)


MOST = 100_000
"""Objects that are looked at. [ASSUMED]"""
_plain: set[type] = {
    bool, int, float, complex, str, bytes, NoneType, EllipsisType, NotImplementedType, range,
    GenericAlias, UnionType, DType, par_dim, NkiTensor, NkiInstruction, TileSize, LoopRange}
"""Types whose objects do not change, or only by the recorder."""
_ABSENT = object()


def add_plain(*kinds: type) -> None:
    """More of them: those of a dialect."""
    _plain.update(kinds)


class State:
    """What objects hold that code can reach from given values and globals."""

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}
        self._todo: list[Any] = []
        self._lists: list[tuple[list[Any], tuple[Any, ...]]] = []
        self._tables: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = []
        self._names: list[tuple[Any, str, Any]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._held: list[tuple[Any, ...]] = []
        self._is_dynamic = False
        self._has_modules = False
        self.indices: list[LoopIndex] = []
        """Indices of loops that objects hold."""

    def add(self, value: Any) -> None:
        """An object that code is given."""
        self._todo.append(value)

    def add_code(self, code: CodeType, scope: dict[str, Any]) -> None:
        """All code of a function, with its globals."""
        if self._is_seen((id(code), id(scope)), (code, scope)):
            return
        if not is_accepted(code):
            raise Unknown(f"{code.co_qualname} of {code.co_filename}")
        names = code.co_names
        if code.co_name == "__hash__":
            names = tuple(name for name in names if name != "hash")
        self._add_names(names, scope, lambda: dis.get_instructions(code))
        self._add_inner(code.co_consts, scope)

    def add_part(self, part: Sequence[dis.Instruction], scope: dict[str, Any]) -> None:
        """A part of a function's code, with its globals."""
        names = tuple(dict.fromkeys(one.argval for one in part if one.opcode in dis.hasname))
        if any(one.opname in ("YIELD_VALUE", "SEND") for one in part) or not (
                have_no_other_effects(bytes(one.opcode for one in part), names)
                and compare_with_singletons(part)):
            raise Unknown("the body itself")
        self._add_names(names, scope, lambda: part)
        self._add_inner([one.argval for one in part], scope)

    def _add_inner(self, constants: Iterable[Any], scope: dict[str, Any]) -> None:
        for constant in constants:
            if isinstance(constant, CodeType):
                self.add_code(constant, scope)

    def _add_names(self, names: tuple[str, ...], scope: dict[str, Any],
                   instructions: Callable[[], Iterable[dis.Instruction]]) -> None:
        """The names of code; how it uses them is only looked at in case of doubt."""
        self._is_dynamic |= not DYNAMIC.isdisjoint(names)
        known = vars(builtins)
        for name in names:
            if name in scope:
                self._name(scope, name, names, instructions)
            elif name in known and name not in FUNCTIONS and name not in DYNAMIC and (
                    name in globals_of(instructions())):
                raise Unknown(f"{name}")

    def walk(self) -> None:
        """Looks at all objects that those added lead to. Unknown if one may have other state."""
        todo = self._todo
        while todo:
            value = todo.pop()
            if type(value) not in _plain:
                self._visit(value)
            elif type(value) is NkiTensor:
                self._held.append((value,))
        if self._is_dynamic and self._has_modules:
            raise Unknown("getattr, where attributes of modules are not looked at by name")

    def is_unchanged(self) -> bool:
        """Whether everything holds the same objects as it did during the walk."""
        return (all(len(one) == len(held) and _are_same(one, held) for one, held in self._lists)
                and all(len(one) == len(keys) and _are_same(one, keys)
                        and _are_same(one.values(), held) for one, keys, held in self._tables)
                and all(is_same(scope.get(name, _ABSENT), value)
                        for scope, name, value in self._names)
                and all(is_same(_contents(cell), held) for cell, held in self._cells))

    def tensors(self) -> Iterator[NkiTensor]:
        """All tensors, some of them several times."""
        return (one for held in self._held for one in held if type(one) is NkiTensor)

    def pairs(self, later: State) -> Iterator[tuple[Any, Any]]:
        """What two walks came by, pair by pair; a pair of different types if they differ.

        A walk goes by what it finds, in an order that does not depend on which objects these are.
        """
        if any(len(some) != len(others) for some, others in (
                (self._lists, later._lists), (self._tables, later._tables),
                (self._names, later._names), (self._cells, later._cells))):
            yield None, ()
            return
        for (one, held), (other, holds) in zip(self._lists, later._lists):
            yield one, other
            yield held, holds
        for (table, keys, values), (other, others, holds) in zip(self._tables, later._tables):
            if type(table) is dict:
                yield table, other
            yield keys, others
            yield values, holds
        for (_, name, value), (_, another, found) in zip(self._names, later._names):
            yield name, another
            yield value, found
        for (cell, contents), (another, found) in zip(self._cells, later._cells):
            yield (contents, found) if cell is another else (None, ())

    def _is_seen(self, key: Any, value: Any) -> bool:
        """Whether something has been looked at; it is kept, so that no other gets its identity."""
        if key in self._seen:
            return True
        if len(self._seen) >= MOST:
            raise Unknown("so many objects")
        self._seen[key] = value
        return False

    def _visit(self, value: Any) -> None:
        if self._is_seen(id(value), value):
            return
        kind = type(value)
        if kind is LoopIndex:
            self.indices.append(value)
        elif kind is slice:
            self._elements((value.start, value.stop, value.step))
        elif kind is list:
            held = tuple(value)
            self._lists.append((value, held))
            self._elements(held)
        elif kind is tuple:
            self._elements(value)
        elif kind is dict or kind is MappingProxyType:
            self._table(value)
        elif kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            self._todo += (value.__self__, value.__func__)
        elif kind is ModuleType or isinstance(value, ModuleType):
            raise Unknown(f"module {value.__name__} in a variable")
        elif isinstance(value, type):
            self._class(value)
        elif kind is BuiltinFunctionType:
            if not is_library(value.__module__ or ""):
                raise Unknown(f"{value!r}")
        else:
            self._instance(value, kind)

    def _elements(self, values: tuple[Any, ...]) -> None:
        if _plain.issuperset(map(type, values)):
            self._held.append(values)
        else:
            self._todo += values

    def _table(self, table: Any) -> None:
        keys, held = tuple(table), tuple(table.values())
        if NkiTensor in map(type, keys):
            raise Unknown("tensors as keys, which are looked up by identity")
        self._tables.append((table, keys, held))
        self._elements(keys)
        self._elements(held)

    def _name(self, scope: Any, name: str, names: tuple[str, ...],
              instructions: Callable[[], Iterable[dis.Instruction]]) -> None:
        """A global, or an attribute of a module, and what follows it in the code."""
        value = scope[name]
        self._names.append((scope, name, value))
        if not isinstance(value, ModuleType):
            self._todo.append(value)
            return
        attributes = vars(value)
        if is_ours(value.__name__):
            self._names += ((attributes, one, attributes[one]) for one in names
                            if one in attributes)
            return
        if name in loose_names(instructions()):
            raise Unknown(f"module {value.__name__} as a value")
        if is_library(value.__name__):
            if not IMPURE.isdisjoint(names):
                raise Unknown(f"{value.__name__} beside {sorted(IMPURE.intersection(names))}")
            return
        if value.__name__.partition(".")[0] in sys.stdlib_module_names:
            raise Unknown(f"module {value.__name__}")
        self._has_modules = True
        if not self._is_seen((id(names), id(value)), (names, value)):
            for attribute in names:
                if attribute in attributes:
                    self._name(attributes, attribute, names, instructions)

    def _function(self, function: FunctionType) -> None:
        code = function.__code__
        if not source.is_user(code):
            home = function.__globals__.get("__name__", "")
            if not (is_ours(home) or is_library(home)):
                raise Unknown(f"{function.__qualname__} of {function.__module__}")
            if home in ("dataclasses", "reprlib"):
                return
        else:
            self.add_code(code, function.__globals__)
        self._todo += (function.__defaults__, function.__kwdefaults__)
        self._table(function.__dict__)
        for cell in function.__closure__ or ():
            held = _contents(cell)
            self._cells.append((cell, held))
            if held is not _ABSENT:
                self._todo.append(held)

    def _class(self, kind: type) -> None:
        module = kind.__module__
        if is_ours(module) or is_library(module):
            return
        if module == "builtins":
            if kind.__name__ not in FUNCTIONS and kind not in _plain:
                raise Unknown(f"{kind!r}")
            return
        if type(kind) not in (type, EnumMeta) and type(kind).__module__ != "abc":
            raise Unknown(f"{kind!r}, which has a metaclass")
        held = vars(kind)
        if "__del__" in held or "__slots__" in held:
            raise Unknown(f"{kind!r}")
        self._tables.append((held, tuple(held), tuple(held.values())))
        self._todo += kind.__bases__
        frozen = getattr(held.get("__dataclass_params__"), "frozen", False)
        for name, value in held.items():
            if frozen and name in ("__setattr__", "__delattr__"):
                continue  # raises an error
            if name == "__annotate_func__":
                continue  # called for `__annotations__` only, a name that is not taken
            if isinstance(value, _METHODS) or not (
                    name.startswith(("__", "_abc_")) or isinstance(value, _DESCRIPTORS)
                    or name.startswith("_") and type(kind) is EnumMeta):
                self._todo.append(value)
        if type(kind) is EnumMeta:
            self._todo += kind.__members__.values()

    def _instance(self, value: Any, kind: type) -> None:
        module = kind.__module__
        if kind is Kernel:
            self._todo.append(value.function)
        elif kind in (staticmethod, classmethod):
            self._todo.append(value.__func__)
        elif kind is property:
            self._todo += (value.fget, value.fset, value.fdel)
        elif kind is partial:
            self._todo += (value.func, value.args, value.keywords)
        elif module == "typing" or isinstance(value, Enum) and is_ours(module):
            return
        elif module == "numpy" and (callable(value) or kind.__name__.startswith("dtype")):
            return
        elif module.startswith("numpy.dtypes"):
            return
        elif isinstance(value, tuple) and not (is_ours(module) or is_library(module)):
            self._todo.append(kind)
            self._elements(tuple(value))
        elif is_ours(module) or is_library(module) or not hasattr(value, "__dict__") or (
                isinstance(value, (list, dict, set, frozenset, bytearray))):
            raise Unknown(f"an object of {kind!r}")
        else:
            self._todo.append(kind)
            self._table(value.__dict__)


_METHODS = (FunctionType, property, staticmethod, classmethod)
_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType)


def is_same(one: Any, other: Any) -> bool:
    """Whether code can tell no difference: the same object, equal integers or texts, or the same
    view of a tensor (tensors are no keys).
    """
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is NkiTensor:
        return bool(one.storage is other.storage and one.form is other.form
                    and one.position == other.position and one.indices is other.indices)
    return kind in (int, str) and bool(one == other)


def _are_same(some: Iterable[Any], others: Iterable[Any]) -> bool:
    """Whether the objects at each place are the same; both have as many."""
    return all(map(is_, some, others)) or all(map(is_same, some, others))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT
