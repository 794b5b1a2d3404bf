# SPDX-License-Identifier: Apache-2.0
# What a kernel leaves behind: which of its buffers are outputs, and what to warn of.
"""declare_outputs(recorder, returned views): outputs of a traced kernel, and their warnings."""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from trnsim.frontend import source
from trnsim.frontend.nki.issue import NkiInstruction
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.template import Template
from trnsim.frontend.records.tensor import Buffer, Storage, View
from trnsim.frontend.written import function_of, name_of

PLAIN = (type(None), bool, int, float, str, list, tuple, dict, NkiInstruction)
"""What a kernel may return that hides no tensor from those who look for them."""


def declare_outputs(active: Recorder, returned: list[View]) -> None:
    """Turns buffers into outputs: what is returned, what is shared, and arguments only written.

    An output exists from the start, so a buffer that is allocated in a loop stays internal. One in
    private memory is warned of: AWS's guides and public kernels return such. [NKI-MIGRATION]
    """
    executed, read, written = _executed(active)
    private = {id(buffer) for buffer in active.buffers
               if buffer.space == "hbm" and buffer.kind == "internal" and not buffer.shared}
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
        active.note("warning", "the kernel has no instruction: its time is that of the launch",
                    source.UNKNOWN)
    for view in returned:
        if active.api == "nki" and active.core == 0 and id(view.storage.buffer) in private:
            why = ("every core has one of its own" if active.cores > 1 else
                   "it is in nl.private_hbm, which NKI 0.3.0 and later do not compile")
            active.note("warning", f"{view.name!r} is returned, but {why}; allocate it in "
                                   "nl.shared_hbm", allocated_at(view.storage.buffer))
        if view.space != "hbm":
            active.note("warning", f"{view.name!r} is returned in {view.space}, but a kernel's "
                                   "results are in HBM: storing it is not in the time",
                        allocated_at(view.storage.buffer))
    for buffer in active.buffers:
        if (active.core == 0 and buffer.met_at is not None and buffer.shared
                and id(buffer) not in wanted and not buffer.is_named and buffer.stack):
            active.note("warning", f"core_barrier over {buffer.name!r}, which is in nl.shared_hbm "
                                   "without a name and is not returned: nki-library says that each "
                                   "core has a copy of its own then; give nl.ndarray a name=",
                        buffer.met_at)
        if id(buffer) in read and id(buffer) not in written and _needs_writing(buffer):
            active.note("warning", f"tile {buffer.name!r} is read, but nothing in the kernel "
                                   "writes it", allocated_at(buffer))


def writes_arguments(recorders: Sequence[Recorder]) -> bool:
    """Whether the kernel writes to a tensor that it was given."""
    return any(buffer.kind != "internal" and not buffer.stack and id(buffer) in written
               for active in recorders for written in (_executed(active)[2],)
               for buffer in active.buffers)


def warn_of_unwritten_results(recorders: Sequence[Recorder], returned: Sequence[View]) -> None:
    """A warning for each of the tensors that core 0 has `returned` and no core uses."""
    written = {buffer.shared for active in recorders[1:] for ids in (_executed(active)[2],)
               for buffer in active.buffers if buffer.shared and id(buffer) in ids}
    for view in returned:
        storage = view.storage
        if (isinstance(storage, Storage) and storage.base is None
                and storage.buffer.shared not in written):
            recorders[0].note("warning", f"the returned tensor {view.name!r} is never written",
                              allocated_at(storage.buffer))


def warn_of_lost_results(recorders: Sequence[Recorder], body: Any, result: Any,
                         returned: Sequence[View]) -> None:
    """A warning if nobody can see what the kernel `body` did on any core: it returned `result`,
    without a tensor in it, and writes to none of its arguments."""
    if returned or not isinstance(result, PLAIN):
        return
    lost: list[Buffer] = []
    for active in recorders:
        _, _, written = _executed(active)
        lost += [buffer for buffer in active.buffers if id(buffer) in written]
    if not lost or any(buffer.kind != "internal" and not buffer.stack for buffer in lost):
        return  # Those that no line of the kernel allocates are arguments.
    todo = "return a tensor in HBM, or write to an argument"
    for buffer in lost:
        if buffer.space == "hbm" and buffer.stack:
            todo = f"return {buffer.name!r} of {allocated_at(buffer).in_short}, which it writes"
            break
    name, code = name_of(body), getattr(function_of(body), "__code__", None)
    at = (source.UNKNOWN if code is None else
          source.Position(code.co_filename, code.co_firstlineno))
    recorders[0].note("warning", f"{name} returns no tensor and writes to no argument, so that "
                                 f"nothing it computes is kept; {todo}", at)


def _needs_writing(buffer: Buffer) -> bool:
    """Whether only this kernel's own instructions can give a buffer its contents: it is on chip and
    shares its bytes with no other."""
    return buffer.space != "hbm" and buffer.kind == "internal" and buffer.extent is None


def allocated_at(buffer: Buffer) -> source.Position:
    """The line that allocates a buffer."""
    return source.position(buffer.stack[0]) if buffer.stack else source.UNKNOWN


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
