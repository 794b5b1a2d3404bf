# SPDX-License-Identifier: Apache-2.0
# The state that values depend on: memories, accumulator registers, random numbers.
"""What is behind the operands of an instruction."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.frontend import source
from trnsim.frontend.legality.indirect import INDEX_GROUP
from trnsim.frontend.records.tensor import View
from trnsim.frontend.values import indirect
from trnsim.frontend.values.casting import Array, cast
from trnsim.frontend.values.garbage import Garbage, Spoiled, unwritten
from trnsim.frontend.values.generator import Generators
from trnsim.frontend.values.memory import memory_of, poisoned
from trnsim.frontend.values.placed import Placed
from trnsim.frontend.values.team import Team


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
        self._placed = Placed()
        self.spoiled = {engine: Spoiled(partitions) for engine in self.registers}

    def read(self, view: View, at: source.Site, kept: Array | None = None,
             skips: bool = False, garbage: Garbage | None = None) -> Array:
        """The elements of a view in their own type; shares memory if it can.

        ProgramError if one of them (where `kept` holds) has not been written, unless there is a
        place to note `garbage`. `skips` leaves out indirect accesses that are out of bounds.
        """
        memory = memory_of(view.storage)
        if memory.products:
            memory.products.clear()
        if isinstance(view.indices, View):
            values, flags = indirect.gather(self.indices(view, at), memory, view, at, skips,
                                            self.group)
        elif memory.unwritten is None:
            return memory.view(view)
        else:
            values, seen = memory.view(view), memory.flags(view)
            flags = seen.any(axis=-1) if seen.any() else None
        if flags is None:
            return values
        if not self.reads_unwritten:
            if kept is not None and kept.size == flags.size:
                flags = flags & kept.reshape(flags.shape)
            if not flags.any():
                return values
            if garbage is None:
                index = tuple(int(one) for one in np.argwhere(flags)[0])
                raise unwritten(view, index, at, memory.origin)
            garbage.note(view, flags, at)
        return poisoned(values, flags)

    def write(self, view: View, values: Array, at: source.Site, kept: Array | None = None,
              skips: bool = False, garbage: Garbage | None = None) -> None:
        """Casts values to the view's type and writes them, where `kept` holds.

        Those that come from `garbage` count as not written.
        """
        memory = memory_of(view.storage)
        if isinstance(view.indices, View):
            kept = None if kept is None else fitted(kept, view.form.shape)
            indirect.scatter(self.indices(view, at), memory, view, values, at, kept, skips,
                             self.group, garbage)
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
        if view.storage.buffer.extent is not None:
            self._placed.write(view, at)
        if garbage is not None and (doubtful := garbage.rows(view)) is not None:
            memory.unmark(view, doubtful, garbage.origin, at)

    def indices(self, view: View, at: source.Site) -> Array:
        """Those of an indirect view, in the order of the rows they select: of a tensor's rows, or
        for a dma_transpose of its columns. [NKI-ISA, dma_transpose]"""
        assert view.indices is not None
        values = self.read(view.indices, at)
        return values.reshape(values.shape[0], -1).T if self.goes_down else values

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
