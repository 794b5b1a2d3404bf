# SPDX-License-Identifier: Apache-2.0
# Values of a script as they were at a launch, for what is computed later.
"""Snapshot: what is in values now, whatever the script does with them next.

Small arrays are copied. Of large ones only a checksum is kept, which tells that they have changed.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import is_dataclass
from functools import partial
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from trnsim.frontend.host.launch_result import TensorResult
from trnsim.frontend.host.own import is_own_module
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.leaves import has_attributes, slots_of
from trnsim.script.arrays import Copies, KeptArray, is_array

NOTHING = object()
"""The value of a variable that has none."""
_SCALARS = frozenset((int, float, complex, bool, str, bytes, type(None)))
_CALLABLES = (FunctionType, MethodType, Kernel, partial, staticmethod, classmethod, property)


class Snapshot:
    """Of what is in values: the items of lists, dicts and sets, attributes, and arrays.

    `code` is what it met that can be called, and the classes of the user's objects: what they read
    is not in it.
    """

    def __init__(self, copies: Copies) -> None:
        self.code: list[Any] = []
        self._copies = copies
        self._states: list[_State] = []
        self._known: dict[int, Any] = {}
        self._left: set[tuple[int, str]] = set()
        self._results: list[tuple[TensorResult, str]] = []

    def add(self, value: Any, name: str) -> None:
        """Keeps what is in a value, which messages call `name`."""
        waiting = [value]
        while waiting:  # A loop, as lists may be linked.
            one = waiting.pop()
            if (type(one) not in _SCALARS and id(one) not in self._known
                    and (id(one), name) not in self._left):
                self._known[id(one)] = one
                with suppress(ReferenceError):  # A weak reference to what is gone.
                    waiting += self._keep(one, name)

    def leave(self, value: Any, name: str) -> None:
        """Has a value of that name left alone, which somebody else keeps."""
        self._left.add((id(value), name))

    def add_variable(self, read: Callable[[], Any], write: Callable[[Any], None],
                     name: str) -> None:
        """Keeps the value of a variable, and what is in it."""
        self._states.append(_Variable(read, write))
        self.add(read(), name)

    def add_results(self) -> None:
        """Keeps the contents of results of other launches that have been read by now."""
        for result, name in self._results:
            if result.unread() is None:
                self.add(result.array(), name)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Everything is as it was, and afterwards as it is now. Changed if that cannot be."""
        with ExitStack() as later:
            for one in self._states:
                one.restore(later)
            yield

    def _keep(self, value: Any, name: str) -> list[Any]:
        """Keeps what is in a value itself; what is in that."""
        if isinstance(value, TensorResult):
            self._results.append((value, name))
            return []
        if isinstance(value, _CALLABLES):
            self.code.append(value)
            return []
        if is_array(value):
            self._states.append(_Array(KeptArray(value, self._copies), name))
            return []
        found: list[Any] = []
        if isinstance(value, (list, set, dict, deque)):
            self._states.append(_Items(value))
        if isinstance(value, (list, tuple, dict, set, deque)):
            found += value.values() if isinstance(value, dict) else value
        if _is_open(value):
            self.code.append(type(value))
            if has_attributes(value):
                found.append(vars(value))
            for slot in slots_of(value):
                self._states.append(_Variable(partial(_slot, value, slot),
                                              partial(_set_slot, value, slot)))
                found.append(_slot(value, slot))
        return found


class _State:
    """What is in one place."""

    def restore(self, later: ExitStack) -> None:
        """Puts back what was there, and `later` what is there now."""
        raise NotImplementedError


class _Items(_State):
    def __init__(self, value: Any) -> None:
        self._value = value
        self._then = _items(value)

    def restore(self, later: ExitStack) -> None:
        later.callback(_fill, self._value, _items(self._value))
        _fill(self._value, self._then)


class _Variable(_State):
    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None]) -> None:
        self._read = read
        self._write = write
        self._then = read()

    def restore(self, later: ExitStack) -> None:
        later.callback(self._assign, self._read())
        self._assign(self._then)

    def _assign(self, value: Any) -> None:
        if self._read() is not value:
            self._write(value)


class _Array(_State):
    def __init__(self, kept: KeptArray, name: str) -> None:
        self._kept = kept
        self._name = name

    def restore(self, later: ExitStack) -> None:
        undo = self._kept.restore(self._name)
        if undo is not None:
            later.callback(undo)


def _items(value: Any) -> list[Any]:
    return list(value.items() if isinstance(value, dict) else value)


def _fill(value: Any, items: list[Any]) -> None:
    """Has a list, deque, set or dict hold these items only, whatever methods its class has. Nothing
    is done about what is there already: somebody may be iterating over it."""
    now = _items(value)
    if len(now) == len(items) and all(map(_is_same, now, items)):
        return
    if isinstance(value, dict):
        kind: Any = OrderedDict if isinstance(value, OrderedDict) else dict
        if [key for key, _ in now] != [key for key, _ in items]:
            kind.clear(value)
        for key, one in items:
            kind.__setitem__(value, key, one)
    elif isinstance(value, list):
        list.__setitem__(value, slice(None), items)
    else:
        kind = deque if isinstance(value, deque) else set
        kind.clear(value)
        (deque.extend if isinstance(value, deque) else set.update)(value, items)


def _is_same(now: Any, then: Any) -> bool:
    """Whether two items are the same; those of a dict are pairs."""
    return now is then or (type(now) is type(then) is tuple and len(now) == len(then) == 2
                           and now[0] is then[0] and now[1] is then[1])


def _slot(value: Any, name: str) -> Any:
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return NOTHING


def _set_slot(value: Any, name: str, then: Any) -> None:
    if then is NOTHING:
        object.__delattr__(value, name)
    else:
        object.__setattr__(value, name, then)


def _is_open(value: Any) -> bool:
    """Whether an object is what its attributes are: those of the user's classes, and others that
    are made to hold values."""
    if isinstance(value, (type, ModuleType)):
        return False
    module = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", Namespace)
    return isinstance(value, (Namespace, SimpleNamespace, module)) or is_dataclass(value) or (
        is_own_module(module_of(type(value))))


def module_of(kind: type) -> Any:
    """The module of a class; None if it is gone."""
    return sys.modules.get(kind.__module__)
