# SPDX-License-Identifier: Apache-2.0
# What a kernel leaves behind: which of its buffers are outputs, and what to warn of.
"""declare_outputs(recorder, returned views): outputs of a traced kernel, and their warnings."""

from __future__ import annotations

from pathlib import Path

from trnsim.frontend import source
from trnsim.frontend.recorder import Recorder, Template
from trnsim.frontend.tensor import Buffer, Storage, View


def declare_outputs(active: Recorder, returned: list[View]) -> None:
    """Turns buffers into outputs: what is returned, what is shared, and arguments only written.

    An output exists from the start, so a buffer that is allocated in a loop stays internal.
    """
    executed, read, written = _executed(active)
    wanted = {id(view.storage.buffer) for view in returned if view.space == "hbm"}
    program = active.program
    allocated = {id(entry) for entry in (active.table.entries[shape] for shape in program.shapes)
                 if isinstance(entry, Buffer)}
    promoted: set[int] = set()
    for buffer in active.buffers:
        if buffer.kind == "input":
            if id(buffer) in executed and id(buffer) not in read:
                buffer.kind = "output"
        elif buffer.space == "hbm" and (id(buffer) in wanted or buffer.kind == "output"):
            is_single = buffer.instances == 1 and id(buffer) in allocated
            buffer.kind = "output" if is_single else "internal"
            if is_single:
                promoted.add(id(buffer))
    kept = [shape for shape in program.shapes if id(active.table.entries[shape]) not in promoted]
    program.shapes[:] = kept
    if not any(isinstance(entry, Template) for entry in active.table.entries):
        active.note("warning", "the kernel has no instruction: its time is that of the launch")
    for view in returned:
        if view.space != "hbm":
            active.note("warning", f"{view.name!r} is returned in {view.space}, but a kernel's "
                                   "results are in HBM: storing it is not in the time")
        if isinstance(view.storage, Storage) and view.storage.base is None:
            active.note("warning", f"the returned tensor {view.name!r} is never written")
    for buffer in active.buffers:
        if id(buffer) in read and id(buffer) not in written and _needs_writing(buffer):
            active.note("warning", f"{_allocated_at(buffer)}tile {buffer.name!r} is read, but "
                                   "nothing in the kernel writes it")


def _needs_writing(buffer: Buffer) -> bool:
    """Whether only this kernel's own instructions can give a buffer its contents: it is on chip and
    shares its bytes with no other."""
    return buffer.space != "hbm" and buffer.kind == "internal" and buffer.extent is None


def _allocated_at(buffer: Buffer) -> str:
    """The line that allocates a buffer, as it begins a remark."""
    if not buffer.stack:
        return ""
    path, line = source.position(buffer.stack[0])
    return f"{Path(path).name}:{line}: "


def _executed(active: Recorder) -> tuple[set[int], set[int], set[int]]:
    """The buffers that any instruction touches, that any reads, and that any writes."""
    touched: set[int] = set()
    read: set[int] = set()
    written: set[int] = set()
    for entry in active.table.entries:
        if isinstance(entry, Template):
            for _, access, form, _ in entry.operands:
                touched.add(id(form.buffer))
                if access != "write":
                    read.add(id(form.buffer))
                if access != "read":
                    written.add(id(form.buffer))
    return touched, read, written
