# SPDX-License-Identifier: Apache-2.0
# A traced program: what trace() returns.
"""The result of a trace: save it, or read it as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO
from collections.abc import Iterable, Sequence

from trnsim.errors import UserError
from trnsim.frontend.outputs import writes_arguments
from trnsim.frontend.recorder import Note, Recorder
from trnsim.frontend.writer import TraceWriter, compressed, save


class Program:
    """A traced kernel: the programs of its cores. `result` is what it returned, as views.

    With values, `outputs` is the same with arrays instead of views, and `written` has the arrays of
    the arguments that the kernel wrote, by name.
    """

    def __init__(self, recorders: Sequence[Recorder], header: dict[str, Any], result: Any) -> None:
        self._recorders = recorders
        self._header = header
        self.result = result
        self.outputs: Any = None
        self.written: dict[str, Any] = {}

    def collect(self) -> None:
        """Takes the values out of the recorder, which must be one that has them."""
        from trnsim.frontend.values.recorder import ValueRecorder

        first = self._recorders[0]
        assert isinstance(first, ValueRecorder)
        self.outputs = first.outputs(self.result)
        self.written = first.written()

    def __repr__(self) -> str:
        return (f"<trace of {self.kernel} for {self._header['target']}, {self.instructions} "
                "instructions>")

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"a trace of {self.kernel} cannot be pickled; save it with "
                        "save(\"kernel.nkt\") and pass the path of the file")

    @property
    def kernel(self) -> str:
        """The name of the function that was traced."""
        return str(self._header["kernel"])

    @property
    def instructions(self) -> int:
        """Executed instructions of all cores, loops expanded."""
        return sum(recorder.executed() for recorder in self._recorders)

    @property
    def cores(self) -> int:
        """Cores that have a program each."""
        return len(self._recorders)

    @property
    def notes(self) -> list[str]:
        """The remarks of the trace: assumptions, warnings, unsupported features."""
        return [str(note) for recorder in self._recorders for note in recorder.notes]

    @property
    def warnings(self) -> list[Note]:
        """The remarks that are warnings. A run on values finds more of them."""
        return [note for recorder in self._recorders for note in recorder.notes
                if note.kind == "warning"]

    def warn(self, warnings: Iterable[Note]) -> None:
        """Adds the warnings that the trace does not have."""
        known = set(self.warnings)
        self._recorders[0].notes.extend(one for one in warnings if one not in known)

    def lines(self) -> list[str]:
        """The records of the trace, one line each."""
        lines: list[str] = []
        TraceWriter(self._recorders, lines.append).write(self._header)
        return lines

    def write(self, stream: BinaryIO) -> None:
        """Writes the trace as text."""
        TraceWriter(self._recorders,
                    lambda line: stream.write(line.encode() + b"\n")).write(self._header)

    def save(self, path: str | Path) -> None:
        """Writes the trace, compressed with zstd, to a file that appears when it is complete."""
        save(Path(path), compressed(self.write))

    @property
    def unknown_bounds(self) -> set[str]:
        """Registers that end loops and whose values were not known."""
        return set().union(*(one.unknown_bounds for one in self._recorders))

    @property
    def depends_on_values(self) -> bool:
        """Whether what it executes was assumed, because registers decide it, or it should print."""
        return bool(self.unknown_bounds) or any(one.has_unknown_conditions or one.has_prints
                                                for one in self._recorders)

    @property
    def writes_arguments(self) -> bool:
        """Whether the kernel changes a tensor that it was given."""
        return writes_arguments(self._recorders)

    def require_unknown_bounds(self, registers: Iterable[str]) -> None:
        """UserError for a register whose value ends no loop, or is known."""
        known = sorted(self.unknown_bounds)
        for name in registers:
            if name not in known:
                raise UserError(f"a trip count for register {name!r}: no loop's end is an unknown "
                                f"value of it; registers with one are {', '.join(known) or 'none'}")
