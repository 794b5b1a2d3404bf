# SPDX-License-Identifier: Apache-2.0
# The loops of a program while it is being recorded.
"""LoopStack: the open loops, from the program to the innermost, each with what it has recorded."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any
from collections.abc import Iterable, Iterator

from trnsim.frontend.records.folding import Folder, ShapeTable, fold_unmarked
from trnsim.frontend.records.frame import IN_ORDER, RUNTIME, UNMARKED, Frame, LoopOrigin

_LONG_PROGRAM = 64
"""Nodes outside of loops beyond which repetitions are looked for. [ASSUMED]"""


class LoopStack:
    """Loops that are being recorded. `frame` is the innermost; `program` is the outermost."""

    def __init__(self) -> None:
        self.table = ShapeTable()
        self.program = Frame(None, None, 0)
        self.frame = self.program
        self.clock = 0
        """When loops are opened and buffers allocated, in order."""
        self.fold_beyond = 1024 * _LONG_PROGRAM
        """Nodes outside of loops after which repetitions among them are looked for again."""

    def flush(self) -> None:
        """What has to be recorded before a loop or an iteration begins or ends."""

    def compare(self, folder: Folder, frame: Frame) -> None:
        """What has to be known of an iteration of the run time that has ended after another one."""

    def loop(self, values: Iterable[Any], origin: LoopOrigin) -> Iterator[Any]:
        """Iterates over `values` and marks the iterations.

        Any use of the iterator is safe: breaking off, interleaving, keeping it. At worst the
        trace is longer.
        """
        frame = self.open_loop(origin)
        end_iteration = self.end_iteration
        try:
            for value in values:
                yield value
                end_iteration(frame)
        finally:
            self.close_loop(frame)

    def once(self, value: Any) -> Iterator[Any]:
        """Like `loop`, for one value: no loop record comes of it."""
        frame = self._open(None)
        try:
            yield value
        finally:
            self.close_loop(frame)

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """A loop of one iteration whose instructions keep their order."""
        frame = self.open_loop(IN_ORDER)
        try:
            yield
            self.end_iteration(frame)
        finally:
            self.close_loop(frame)

    @property
    def keeps_order(self) -> bool:
        """Whether an open loop is one of `in_order`."""
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.folder is not None and frame.folder.origin.is_in_order:
                return True
            frame = frame.parent
        return False

    def open_loop(self, origin: LoopOrigin) -> Frame:
        """Begins a loop; the token identifies it."""
        return self._open(Folder(self.table, origin, keeps_single=origin.is_in_order))

    def _open(self, folder: Folder | None) -> Frame:
        self.flush()
        self.clock += 1
        self.frame = frame = Frame(folder, self.frame, self.clock)
        return frame

    def end_iteration(self, frame: Frame) -> None:
        """Ends an iteration of the loop `frame` and begins the next."""
        self.flush()
        if frame is not self.frame:
            if not frame.is_open:
                return
            self._dissolve_down_to(frame)
        shapes, folder = frame.shapes, frame.folder
        if shapes:
            assert folder is not None
            if folder.count and folder.origin.kind == RUNTIME and not frame.varies:
                self.compare(folder, frame)
            folder.add(shapes, frame.values)
            frame.shapes = []
            frame.values = []

    def close_loop(self, frame: Frame) -> None:
        """Ends the loop `frame`; an iteration that was broken off counts as the last one."""
        if not frame.is_open:
            return
        folder = frame.folder
        if folder is None:
            self.flush()
            self._dissolve_down_to(frame)
            shapes, values = frame.shapes, frame.values
        else:
            self.end_iteration(frame)
            shapes, values = folder.finish()
        frame.is_open = False
        parent = frame.parent
        assert parent is not None
        if frame.varies or folder is not None and folder.origin.kind == RUNTIME:
            parent.varies = True
        parent.shapes += shapes
        parent.values += values
        self.frame = parent

    def _dissolve_down_to(self, frame: Frame) -> None:
        """Ends all loops inside `frame`: their iterators are interleaved with its own."""
        while self.frame is not frame:
            self.close_loop(self.frame)

    def finish(self) -> None:
        """Ends the program: flushes and closes what is still open."""
        self.flush()
        self._dissolve_down_to(self.program)
        self.fold_program()

    def executed(self) -> int:
        """Executed instructions, loops expanded."""
        return sum(self.table.executed[shape] for shape in self.program.shapes)

    def fold_program(self) -> None:
        """Makes loops of what the program repeats outside of marked loops, if it is long."""
        program = self.program
        if len(program.shapes) > _LONG_PROGRAM:
            program.shapes, program.values = fold_unmarked(self.table, UNMARKED, program.shapes,
                                                           program.values)
        self.fold_beyond = 2 * max(len(program.shapes), 512 * _LONG_PROGRAM)
