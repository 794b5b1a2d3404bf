# SPDX-License-Identifier: Apache-2.0
# A traced program: what trace() returns.
"""The result of a trace: save it, or read it as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from trnsim.frontend.recorder import Recorder
from trnsim.frontend.writer import TraceWriter, save


class Program:
    """A traced kernel. `result` is what the kernel returned, as views."""

    def __init__(self, recorder: Recorder, header: dict[str, Any], result: Any) -> None:
        self._recorder = recorder
        self._header = header
        self.result = result

    @property
    def instructions(self) -> int:
        """Executed instructions, loops expanded."""
        executed = self._recorder.table.executed
        return sum(executed[shape] for shape in self._recorder.program.shapes)

    @property
    def notes(self) -> list[str]:
        """The remarks of the trace: assumptions, warnings, unsupported features."""
        return [f"{note.position}: {note.text}" for note in self._recorder.notes]

    def lines(self) -> list[str]:
        """The records of the trace, one line each."""
        lines: list[str] = []
        TraceWriter(self._recorder, lines.append).write(self._header)
        return lines

    def write(self, stream: BinaryIO) -> None:
        """Writes the trace, uncompressed."""
        TraceWriter(self._recorder,
                    lambda line: stream.write(line.encode() + b"\n")).write(self._header)

    def save(self, path: str | Path) -> None:
        """Writes the trace to a file that appears when it is complete; `.zst` compresses."""
        save(Path(path), self.write)
