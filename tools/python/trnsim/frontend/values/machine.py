# SPDX-License-Identifier: Apache-2.0
# The state that values depend on: memories, accumulator registers, random numbers.
"""What is behind the operands of an instruction."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.frontend import source
from trnsim.frontend.errors import ProgramError
from trnsim.frontend.legality_indirect import INDEX_GROUP
from trnsim.frontend.tensor import Storage, View
from trnsim.frontend.values import indirect
from trnsim.frontend.values.casting import Array, cast
from trnsim.frontend.values.generator import Generators
from trnsim.frontend.values.memory import Memory
from trnsim.frontend.values.team import Team


def memory_of(storage: Storage) -> Memory:
    """The contents of a storage, which begin unwritten."""
    try:
        found: Memory = storage.values
    except AttributeError:
        try:
            found = storage.buffer.contents
        except AttributeError:
            found = Memory(storage.buffer)
        storage.values = found
    return found


class Machine:
    """The state of a core. `registers` has the accumulators of each engine, one per partition."""

    def __init__(self, seed: int, partitions: int, reads_unwritten: bool, core: int,
                 team: Team) -> None:
        self.group = INDEX_GROUP
        """Partitions that share the indices of a tensor indirection of the current instruction."""
        self.goes_down = False
        """Whether the indices of the current instruction go down the partitions first."""
        self.core = core
        self.team = team
        self.reads_unwritten = reads_unwritten
        """Whether an element that nothing has written reads as NaN (integers: 0); else an error."""
        self.generators = Generators(seed, partitions)
        self.registers = {engine: np.zeros(partitions, dtype=np.float32)
                          for engine in ("vector", "scalar")}

    def read(self, view: View, at: source.Site, kept: Array | None = None,
             skips: bool = False, garbage: Garbage | None = None) -> Array:
        """The elements of a view in their own type; shares memory if it can.

        ProgramError if one of them (where `kept` holds) has not been written, unless there is a
        place to note `garbage`. `skips` leaves out indirect accesses that are out of bounds.
        """
        memory = memory_of(view.storage)
        if isinstance(view.indices, View):
            return indirect.gather(self, memory, view, at, skips, self.group)
        if memory.unwritten is None:
            return memory.view(view)
        if self.reads_unwritten:
            return memory.with_poison(view)
        if garbage is not None:
            flags = memory.flags(view).any(axis=-1)
            if kept is not None and kept.size == flags.size:
                flags = flags & kept.reshape(flags.shape)
            if flags.any():
                garbage.note(view, flags, at)
                return memory.with_poison(view)
            return memory.view(view)
        self._check(memory, view, at, kept)
        return memory.view(view)

    def _check(self, memory: Memory, view: View, at: source.Site, kept: Array | None) -> None:
        index = memory.first_unwritten(view)
        if index is not None and kept is not None:
            if kept.size != view.form.elements:
                return
            flags = memory.flags(view)[..., 0] & kept.reshape(view.form.shape)
            index = tuple(int(one) for one in np.argwhere(flags)[0]) if flags.any() else None
        if index is not None:
            raise unwritten(view, index, at, memory.origin)

    def write(self, view: View, values: Array, at: source.Site, kept: Array | None = None,
              skips: bool = False, garbage: Garbage | None = None) -> None:
        """Casts values to the view's type and writes them, where `kept` holds.

        Those that come from `garbage` count as not written.
        """
        memory = memory_of(view.storage)
        if isinstance(view.indices, View):
            kept = None if kept is None else fitted(kept, view.form.shape)
            indirect.scatter(self, memory, view, values, at, kept, skips, self.group)
            return
        target = memory.view(view)
        elements = cast(values, view.form.dtype)
        if elements.shape != target.shape:
            elements = fitted(elements, target.shape)
        if kept is None:
            target[...] = elements
        else:
            kept = fitted(kept, target.shape)
            np.copyto(target, elements, where=kept)
        memory.mark(view, kept)
        if garbage is not None and garbage.origin is not None:
            memory.unmark(view, garbage.rows(view), garbage.origin)

    def poisons(self, view: View, place: Any, at: source.Site) -> None:
        """What an indirect access does that reads an element that nothing has written."""
        if not self.reads_unwritten:
            row = 0 if place is Ellipsis else int(place)
            raise unwritten(view, (row,), at, "")

    def scalar(self, view: View, at: source.Site) -> Any:
        """The first element of a view as a Python number."""
        return self.read(view, at).reshape(-1)[0].item()


def fitted(values: Array, shape: tuple[int, ...]) -> Array:
    """The values in another shape with as many elements, or repeated along axes of size 1."""
    if values.size == int(np.prod(shape)):
        return values.reshape(shape)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.reshape((values.shape[0],) + (1,) * (len(shape) - 1))
    return np.broadcast_to(values, shape)


class Garbage:
    """What an instruction has read that nothing has written.

    A tile is often loaded in part, or with a mask, and computed with in full; that is no error as
    long as what comes from unwritten elements can be told and is not stored.
    """

    def __init__(self) -> None:
        self.origin: str | None = None
        self._flags: list[Array] = []

    def note(self, view: View, flags: Array, at: source.Site) -> None:
        """Remembers which elements of an operand are not written."""
        if self.origin is None:
            index = tuple(int(one) for one in np.argwhere(flags)[0])
            self.origin = memory_of(view.storage).origin or _read(view, index, at)
        self._flags.append(flags.reshape(flags.shape[0], -1))

    @property
    def is_noted(self) -> bool:
        """Whether a result depends on such elements."""
        return bool(self._flags)

    def take(self) -> Array | None:
        """What an operand had, a row for each partition, which counts no more; None: nothing."""
        return self._flags.pop() if self._flags else None

    def put(self, flags: Array) -> None:
        """Notes which elements of a result come from such elements."""
        self._flags.append(flags)

    def rows(self, view: View) -> Array:
        """The elements of a result that depend on such elements: the same ones, or whole rows."""
        partitions, columns = view.form.shape[0], view.form.free_elements
        found = np.zeros((partitions, columns), dtype=bool)
        for flags in self._flags:
            found |= (flags if flags.shape == found.shape
                      else flags[:partitions].any(axis=1, keepdims=True))
        return found.reshape(view.form.shape)


def unwritten(view: View, index: tuple[int, ...], at: source.Site, origin: str) -> ProgramError:
    """The error for reading an element that nothing has written, or that comes from one: `origin`
    says from which."""
    where = source.position(at) if at != (0, 0) else source.here()
    what = _read(view, index, at) if not origin else (
        f"{origin}, and element {list(index)} of {view.name!r}, read at {where}, comes from it")
    return ProgramError(f"{what}; write it first, shrink the access, or have it read as NaN "
                        "(reads_unwritten, --reads-unwritten)")


def _read(view: View, index: tuple[int, ...], at: source.Site) -> str:
    """That an element is read that nothing has written."""
    where = source.position(at) if at != (0, 0) else source.here()
    return (f"{where}: element {list(index)} of {view.name!r} ({view.form.describe()}) is read, "
            "but nothing has written it")
