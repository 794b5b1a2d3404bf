# SPDX-License-Identifier: Apache-2.0
# Values of a script as they were at a launch, for what is computed later.
"""Snapshot: what is in values now, whatever the script does with them next.

Small arrays are copied. Of large ones only a checksum is kept, which tells that they have changed.
"""

from __future__ import annotations

import sys
import zlib
from argparse import Namespace
from contextlib import ExitStack, contextmanager
from dataclasses import is_dataclass
from functools import partial
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any
from collections.abc import Callable, Iterator

import numpy as np

from trnsim.frontend.arguments import is_tensor
from trnsim.frontend.host.launch_result import TensorResult
from trnsim.frontend.host.own import is_own_module
from trnsim.frontend.leaves import is_record, slots_of

COPIED_BYTES = 64 << 20
"""The largest array of which a copy is kept. [ASSUMED]"""
NOTHING = object()
"""The value of a variable that has none."""


class Changed(Exception):
    """Something has changed of which no copy was kept; its name."""


class Snapshot:
    """Of what is in values: the items of lists, dicts and sets, attributes, and arrays.

    `classes` are those of the user's objects among them.
    """

    def __init__(self) -> None:
        self.classes: list[type] = []
        self._states: list[_State] = []
        self._known: dict[int, Any] = {}

    def add(self, value: Any, name: str) -> None:
        """Keeps what is in a value, which messages call `name`."""
        if id(value) in self._known or isinstance(value, TensorResult):
            return
        self._known[id(value)] = value
        if isinstance(value, (list, set, dict)):
            self._states.append(_Items(value))
        if isinstance(value, (list, tuple, dict)):
            for one in value.values() if isinstance(value, dict) else value:
                self.add(one, name)
        elif is_array(value):
            self._states.append(_Array(value, name))
        elif _is_plain(value):
            self._add_object(value, name)

    def add_variable(self, read: Callable[[], Any], write: Callable[[Any], None],
                     name: str) -> None:
        """Keeps the value of a variable, and what is in it."""
        self._states.append(_Variable(read, write))
        self.add(read(), name)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Everything is as it was. Changed if that cannot be."""
        with ExitStack() as later:
            for one in self._states:
                undo = one.restore()
                if undo is not None:
                    later.callback(undo)
            yield

    def _add_object(self, value: Any, name: str) -> None:
        self.classes.append(type(value))
        if hasattr(value, "__dict__"):
            self.add(vars(value), name)
        for slot in slots_of(value):
            self.add_variable(partial(getattr, value, slot, NOTHING),
                              partial(_set_slot, value, slot), name)


class _State:
    """What is in one place."""

    def restore(self) -> Callable[[], None] | None:
        """Puts back what was there; how to undo it, None if it still is there."""
        raise NotImplementedError


class _Items(_State):
    def __init__(self, value: Any) -> None:
        self._value = value
        self._then = list(value.items() if isinstance(value, dict) else value)

    def restore(self) -> Callable[[], None] | None:
        value, then = self._value, self._then
        now = list(value.items() if isinstance(value, dict) else value)
        if len(now) == len(then) and all(map(_is_same, now, then)):
            return None
        _fill(value, then)
        return lambda: _fill(value, now)


class _Variable(_State):
    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None]) -> None:
        self._read = read
        self._write = write
        self._then = read()

    def restore(self) -> Callable[[], None] | None:
        now, write = self._read(), self._write
        if now is self._then:
            return None
        write(self._then)
        return lambda: write(now)


class _Array(_State):
    def __init__(self, array: Any, name: str) -> None:
        self._memory = _memory(array)
        self._name = name
        is_small = self._memory.nbytes <= COPIED_BYTES
        self._then = self._memory.copy() if is_small else _checksum(self._memory)

    def restore(self) -> Callable[[], None] | None:
        memory, then = self._memory, self._then
        if isinstance(then, int):
            if _checksum(memory) != then:
                raise Changed(self._name)
            return None
        if np.array_equal(memory, then):
            return None
        if not memory.flags.writeable:
            raise Changed(self._name)
        now = memory.copy()
        memory[...] = then
        return lambda: memory.__setitem__(..., now)


def is_array(value: Any) -> bool:
    """Whether a value is an array or a tensor whose memory is here."""
    return _memory(value) is not None


def _memory(value: Any) -> Any:
    """The elements of an array or tensor, as integers that can be compared; None without."""
    if isinstance(value, np.ndarray):
        size = value.dtype.itemsize
        if value.dtype.hasobject or size not in (1, 2, 4, 8):
            return None
        return value.view(np.ndarray).view(f"u{size}")
    torch: Any = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if not isinstance(kind, type) or not isinstance(value, kind):
        return None
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    try:
        tensor: Any = value
        return tensor.detach().view(kinds[tensor.element_size()]).numpy()
    except (KeyError, TypeError, RuntimeError):  # Of no such size, or in no memory of the host's.
        return None


def _checksum(memory: Any) -> int:
    plain: Any = np.ascontiguousarray(memory)
    return zlib.crc32(plain)


def _is_same(now: Any, then: Any) -> bool:
    """Whether two items are the same; those of a dict are pairs."""
    return now is then or (type(now) is type(then) is tuple and len(now) == len(then) == 2
                           and now[0] is then[0] and now[1] is then[1])


def _fill(value: Any, items: list[Any]) -> None:
    """Has a list, set or dict hold these items only."""
    value.clear()
    if isinstance(value, list):
        value.extend(items)
    else:
        value.update(items)


def _set_slot(value: Any, name: str, then: Any) -> None:
    if then is NOTHING:
        object.__delattr__(value, name)
    else:
        object.__setattr__(value, name, then)


def _is_plain(value: Any) -> bool:
    """Whether an object is what its attributes are: those of the user's classes, and others that
    are made to hold values."""
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    module = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", Namespace)
    return isinstance(value, (Namespace, SimpleNamespace, module)) or is_dataclass(value) or (
        is_record(value, is_tensor) or is_own_module(module_of(type(value))))


def module_of(kind: type) -> Any:
    """The module of a class; None if it is gone."""
    return sys.modules.get(kind.__module__)
