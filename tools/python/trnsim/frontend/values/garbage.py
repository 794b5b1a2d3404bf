# SPDX-License-Identifier: Apache-2.0
# What comes from elements that nothing has written.
"""Follows such elements through instructions, and says where they were read."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.errors import ProgramError
from trnsim.frontend import recorder, source
from trnsim.frontend.records.tensor import View
from trnsim.frontend.values.casting import Array
from trnsim.frontend.values.memory import Memory, memory_of


class Garbage:
    """What an instruction has read that nothing has written.

    A tile is often loaded in part, or with a mask, and computed with in full; that is no error as
    long as what comes from unwritten elements can be told and is not stored.
    """

    def __init__(self) -> None:
        self.origin = ""
        """For messages: which element was read first."""
        self._read: list[Array] = []
        """Flags of operands, which are those of the same elements of the result, or of rows."""
        self._flags: list[Array] = []
        """Flags of the result."""

    def note(self, view: View, flags: Array, at: source.Site) -> None:
        """Remembers which elements of an operand are not written."""
        if not self.origin:
            index = tuple(int(one) for one in np.argwhere(flags)[0])
            self.origin = memory_of(view.storage).origin or _read(view, index, at)
        self._read.append(flags.reshape(flags.shape[0], -1))

    @property
    def is_noted(self) -> bool:
        """Whether a result depends on such elements."""
        return bool(self._read or self._flags)

    def take(self) -> Array | None:
        """What the operand read last had, a row for each partition, which counts no more; None:
        nothing."""
        return self._read.pop() if self._read else None

    def run_on(self) -> None:
        """Has what follows such an element in its row depend on it too."""
        self._read = [np.logical_or.accumulate(flags, axis=1) for flags in self._read]

    def fill_rows(self) -> None:
        """Has all of a row depend on each of its elements."""
        self._read = [flags.any(axis=1, keepdims=True) for flags in self._read]

    def by_row(self, count: int) -> Array:
        """In which of the first rows there is such an element."""
        found = np.zeros(count, dtype=bool)
        for flags in (*self._read, *self._flags):
            found |= flags[:count].any(axis=1)
        return found

    def put(self, flags: Array) -> None:
        """Notes which elements of a result come from such elements."""
        self._flags.append(flags)

    def rows(self, view: View) -> Array | None:
        """The elements of a result that depend on such elements, the same ones or whole rows;
        None: no element does."""
        if not self.is_noted:
            return None
        partitions, columns = view.form.shape[0], view.form.free_elements
        found = np.zeros((partitions, columns), dtype=bool)
        for flags in (*self._read, *self._flags):
            found |= (flags if flags.shape == found.shape
                      else flags[:partitions].any(axis=1, keepdims=True))
        return found.reshape(view.form.shape)


class Spoiled:
    """Which of an engine's registers come from what nothing has written."""

    def __init__(self, partitions: int) -> None:
        self._rows = np.zeros(partitions, dtype=bool)
        self._origin = ""

    def begin(self, command: str, count: int) -> None:
        """What a reduce_cmd sets anew comes from nothing."""
        if command in ("reset", "reset_reduce"):
            self._rows[:] = False
        elif command == "load_reduce":
            self._rows[:count] = False

    def keep(self, garbage: Garbage | None, count: int) -> None:
        """Notes what an instruction has read that it reduces into the registers."""
        if garbage is not None and garbage.is_noted:
            self._rows[:count] |= garbage.by_row(count)
            self._origin = garbage.origin

    def recall(self, garbage: Garbage | None, count: int) -> None:
        """Has what an instruction writes from now on come from the registers."""
        if garbage is not None and self._rows[:count].any():
            garbage.origin = garbage.origin or self._origin
            garbage.put(self._rows[:count, None].copy())


def unwritten(view: View, index: tuple[int, ...], at: source.Site, origin: str) -> ProgramError:
    """The error for reading an element that nothing has written, or that comes from one: `origin`
    says from which."""
    return _refused(_read(view, index, at) if not origin else (
        f"{origin}, and element {list(index)} of {view.name!r}, read at {_place(at)}, comes from "
        "it"))


def stored_garbage(name: str, index: tuple[int, ...], memory: Memory) -> ProgramError:
    """The error for leaving an element in HBM that comes from one that nothing has written."""
    return _refused(f"{memory.origin}, and element {list(index)} of {name!r}, stored at "
                    f"{_place(memory.doubted_at)}, comes from it")


def _refused(what: str) -> ProgramError:
    return ProgramError(f"{what}; write it first, shrink the access, or have it read as NaN "
                        "(reads_unwritten, --reads-unwritten)")


def _place(at: source.Site) -> Any:
    return source.position(at) if at != (0, 0) else source.here()


def _read(view: View, index: tuple[int, ...], at: source.Site) -> str:
    """That an element is read that nothing has written."""
    yet = (" so far (if another core does, let both meet at a core_barrier first)"
           if view.form.buffer.shared and recorder.required().cores > 1 else "")
    return (f"{_place(at)}: element {list(index)} of {view.name!r} ({view.form.describe()}) is "
            f"read, but nothing has written it{yet}")
