# SPDX-License-Identifier: Apache-2.0
# The buffers of a program while it is being recorded.
"""Allocations: sites of tensors, their instances, and where in the program each is allocated.

A storage gets its instance number, and the trace its `alloc`, at the first access. The record goes
to the innermost loop that is still open and was open when the storage was created, so that a tile
made before a loop is allocated before it, not in its first iteration.
"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from trnsim.frontend import source
from trnsim.frontend.chip import Chip
from trnsim.frontend.dtypes import DType
from trnsim.frontend.records import extents, sites
from trnsim.frontend.records.frame import Frame
from trnsim.frontend.records.loop_stack import LoopStack
from trnsim.frontend.records.tensor import (INSTANCE_SHIFT, PSUM, Buffer, Storage,
                                            check_declaration)


class Allocations(LoopStack):
    """Buffers of a program for a core of a chip, in the order of their first access."""

    def __init__(self, chip: Chip, core: int, cores: int) -> None:
        super().__init__()
        self.chip = chip
        self.core = core
        self.cores = cores
        """The core whose program is recorded, of the cores of the logical NeuronCore."""
        self.buffers: list[Buffer] = []
        self.sites: dict[Any, Buffer] = {}
        """Cache of the dialects: any key that implies the allocation site, to its buffer."""
        self.adopted: list[int] = []
        """When the loops were opened that have made tiles whose `alloc` is in another loop."""
        self._shared: dict[str, int] = {}
        self._created = 0
        """Sites so far: the next one that has no name is called by its number."""

    def storage(self, space: str, dtype: DType, shape: Sequence[int], *, name: str = "",
                address: tuple[int, int] | None = None, kind: str = "internal") -> Storage:
        """A new instance of the allocation site that the user's call stack names.

        IllegalInstruction if no such tensor fits the memory.
        """
        if type(shape) is not tuple:
            shape = tuple(shape)
        stack = source.stack()
        key = (stack, space, id(dtype), shape, name, address)
        buffer = self.sites.get(key)
        if buffer is None:
            buffer = self._site(space, dtype, shape, name, address, kind, stack)
            if address is not None:
                sites.check_address(space, address, buffer.shape, self.chip.partitions)
            self.sites[key] = buffer
        return Storage(buffer, self.frame, 0 if address is None else address[1], name)

    def _site(self, space: str, dtype: DType, shape: Sequence[int], name: str,
              address: sites.Address | None, kind: str, stack: tuple[source.Site, ...]) -> Buffer:
        """The site of an allocation: a new one, or that of tiles which are alike (see sites.py)."""
        alike = (stack, space, id(dtype), shape, sites.likeness(space, dtype, name, address))
        buffer = self.sites.get(alike)
        if buffer is not None:
            if name and name != buffer.name:
                buffer.name = sites.pattern_of(name)
            return buffer
        chip = self.chip
        limit = chip.psum_partition_bytes if space == PSUM else chip.sbuf_partition_bytes
        sizes = check_declaration(space, shape, dtype, chip.partitions, limit)
        label = name or (source.assigned_name(stack[0]) if stack else "")
        label = label or f"{space}_{self._created}"
        self._created += 1
        buffer = self.sites[alike] = Buffer(label, space, dtype, sizes, kind=kind, stack=stack,
                                            address=address, bank_bytes=chip.psum_bank_bytes)
        buffer.is_named = bool(name)
        if kind == "output":
            buffer.shared = self.share(label)
        return buffer

    def argument(self, name: str, dtype: DType, shape: Sequence[int], kind: str) -> Storage:
        """An `input` or `output` buffer: HBM, instance 0, exists from the start."""
        sizes = check_declaration("hbm", shape, dtype, 0, 0)
        buffer = Buffer(name, "hbm", dtype, sizes, kind=kind)
        buffer.shared = self.share(name)
        buffer.instances = 1
        buffer.identifier = len(self.buffers)
        self.buffers.append(buffer)
        storage = Storage(buffer, self.program)
        storage.base = 0
        return storage

    def share(self, label: str) -> str:
        """The name by which the cores know a shared buffer: equal calls get equal names.

        "" in a program of one core.
        """
        if self.cores == 1:
            return ""
        number = self._shared[label] = self._shared.get(label, 0) + 1
        return label if number == 1 else f"{label}.{number}"

    def allocate(self, storage: Storage) -> int:
        """Numbers the storage and places its `alloc`; returns its `base`."""
        buffer = storage.buffer
        if buffer.extent is not None:
            return self._place(storage, buffer, buffer.extent)
        if buffer.allocation < 0:
            buffer.allocation = self.table.add(buffer, 0, 0)
            buffer.identifier = len(self.buffers)
            self.buffers.append(buffer)
        storage.base = base = buffer.instances << INSTANCE_SHIFT
        buffer.instances += 1
        frame = self.frame
        created = storage.frame
        if created is not frame:
            frame = self._home(created, buffer)
            if frame is self.frame and created is not None:
                self.adopted.append(created.opened)
        frame.shapes.append(buffer.allocation)
        if frame is self.program and len(frame.shapes) > self.fold_beyond:
            self.fold_program()
        self.clock += 1
        buffer.last_allocation = self.clock
        storage.frame = None
        return base

    def _place(self, storage: Storage, buffer: Buffer, extent: sites.Extent) -> int:
        """Makes a storage with a fixed address part of its site's memory; returns its `base`."""
        if not extent.is_used:
            buffer.identifier = len(self.buffers)
            buffer.instances = 1
            self.buffers.append(buffer)
        extent.add(storage.place)
        storage.base = base = storage.place << INSTANCE_SHIFT
        storage.frame = None
        return base

    def _home(self, created: Frame | None, buffer: Buffer) -> Frame:
        """The loop whose body gets the `alloc` of a storage that was created in `created`."""
        current = self.frame
        if created is None or created is current or not created.is_open:
            return current
        child = current
        while child.parent is not created:
            if child.parent is None:
                return current
            child = child.parent
        # Instances are numbered in program order: no later one may be inside `child` already.
        return created if buffer.last_allocation < child.opened else current

    def finish(self) -> None:
        """Ends the program; sites with fixed addresses are as large as their instances reach."""
        super().finish()
        if any(buffer.extent is not None for buffer in self.buffers):
            extents.widen(self.table, self.program.shapes, self.program.values)
