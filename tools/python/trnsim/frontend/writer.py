# SPDX-License-Identifier: Apache-2.0
# Writes a recorded program as a trace file (docs/trace-format.md).
"""The `.nkt` writer: JSON lines, compressed in files, which are replaced atomically."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tempfile
from math import prod
from pathlib import Path
from typing import Any, BinaryIO
from collections.abc import Callable, Iterable, Sequence

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.folding import LoopShape
from trnsim.frontend.records.immediates import number_in
from trnsim.frontend.records.schedule import DEPENDS_ON, PRODUCER
from trnsim.frontend.records.template import Template
from trnsim.frontend.records.tensor import HBM, Buffer, Form, split_operand

FORMAT_VERSION = 1
COMPRESSION_LEVEL = 12
WINDOW_LOG = 19
"""Those of the C++ writer (src/program/file_writer.cpp). [ASSUMED]"""

RUN = "run"
"""The number of a template whose runs tell it: loops change it."""

Coefficients = list[tuple[str, list[int]]]
Number = int | float | str | None
Leaf = tuple[int, Number]
"""The shape of a template, and the number that it leaves out."""


class TraceWriter:
    """Writes the programs of all cores; `emit` receives each line without its end."""

    def __init__(self, recorders: Sequence[Recorder], emit: Callable[[str], Any]) -> None:
        self._recorders = recorders
        self._table = recorders[0].table
        self._emit = emit
        self._files: dict[str, int] = {}
        self._shown: dict[str, Path] = {}
        self._buffers = 0
        """Buffers of the cores before the current one."""
        self._declared = 0
        self._templates: dict[Leaf, int] = {}

    def write(self, header: dict[str, Any]) -> None:
        """The whole file. `header` has the keys of section 2 except `record`."""
        self._record("header", **header)
        for recorder in self._recorders:
            if len(self._recorders) > 1:
                self._record("core", core=recorder.core)
            self._program(recorder)
        self._record("summary", instructions=sum(one.executed() for one in self._recorders))

    def _program(self, recorder: Recorder) -> None:
        """The program of one core with its declarations."""
        self._table = recorder.table
        self._templates = {}
        for note in recorder.notes:
            self._record("note", kind=note.kind, text=note.text, **self._at([note.position]))
        for buffer in recorder.buffers:
            self._buffer(buffer)
        for leaf in _leaves(recorder):
            self._template(leaf)
        for buffer in recorder.buffers:
            if buffer.extent is not None:
                self._record("alloc", buffer=self._buffers + buffer.identifier)
        self._body(recorder.program.shapes, recorder.program.values, [])
        self._buffers += len(recorder.buffers)

    def _record(self, record: str, /, **keys: Any) -> None:
        line = {"record": record, **keys}
        self._emit(_encode(line))

    def _at(self, positions: Iterable[source.Position]) -> dict[str, Any]:
        """The `source` key, if anything is known."""
        pairs: list[int] = []
        for position in positions:
            if position is not source.UNKNOWN:
                pairs += [self._file(position.path), position.line]
        return {"source": pairs} if pairs else {}

    def _file(self, path: str) -> int:
        found = self._files.get(path)
        if found is None:
            found = self._files[path] = len(self._files)
            self._record("file", id=found, path=_told_apart(path, self._shown))
        return found

    def _buffer(self, buffer: Buffer) -> None:
        keys: dict[str, Any] = {"id": self._buffers + buffer.identifier, "name": buffer.name,
                                "space": buffer.space}
        if buffer.kind != "internal":
            keys["kind"] = buffer.kind
        keys.update(dtype=buffer.dtype.name, shape=list(buffer.shape))
        extent = buffer.extent
        if extent is not None:
            if extent.spread:
                free = prod(buffer.shape[1:]) + extent.spread // buffer.dtype.itemsize
                keys["shape"] = [buffer.shape[0], free]
            keys["address"] = [extent.partition, extent.first]
        if buffer.shared:
            keys["shared"] = buffer.shared
        self._record("buffer", **keys, **self._at(source.position(at) for at in buffer.stack))

    def _template(self, leaf: Leaf) -> None:
        shape, number = leaf
        template: Template = self._table.entries[shape]
        self._templates[leaf] = self._declared
        self._declared += 1
        operands = []
        for role, access, form, indirect in template.operands:
            operand: dict[str, Any] = {"role": role, "access": access,
                                       "buffer": self._buffers + form.buffer.identifier}
            if form.space != HBM:
                operand["partitions"] = form.partitions
            operand["pattern"] = [list(pair) for pair in form.pattern]
            if form.dtype is not form.buffer.dtype:
                operand["dtype"] = form.dtype.name
            if indirect is not None:
                operand["indirect"] = indirect
            operands.append(operand)
        attributes = {name: number if isinstance(value, type) else value
                      for name, value in template.attributes}
        self._record("template", id=self._templates[leaf], op=template.op,
                     engines=list(template.engines), **self._at([template.position]),
                     operands=operands, attributes=attributes)

    def _body(self, shapes: Iterable[int], values: list[int], loops: Coefficients) -> None:
        """Writes nodes. `loops` holds the enclosing loops' deltas, aligned with `values`."""
        place = 0
        for shape in shapes:
            entry = self._table.entries[shape]
            end = place + self._table.arity[shape]
            if isinstance(entry, Template):
                self._run(shape, entry, values[place], [(name, deltas[place])
                                                        for name, deltas in loops])
            elif isinstance(entry, LoopShape):
                self._loop(entry, values[place:end],
                           [(name, deltas[place:end]) for name, deltas in loops])
            else:
                self._record("alloc", buffer=self._buffers + entry.identifier)
            place = end

    def _loop(self, loop: LoopShape, values: list[int], loops: Coefficients) -> None:
        taken = {name for name, _ in loops}
        name, number = loop.origin.name, 1
        while name in taken or name == "base":
            number += 1
            name = f"{loop.origin.name}{number}"
        self._record("loop", index=name, count=loop.trips, kind=loop.origin.kind,
                     **({"in_order": True} if loop.origin.is_in_order else {}),
                     **self._at([loop.origin.position]))
        self._body(loop.body, values, [*loops, (name, list(loop.deltas))])
        self._record("end")

    def _run(self, shape: int, template: Template, value: int,
             loops: list[tuple[str, int]]) -> None:
        number = _number(template, value, [delta for _, delta in loops])
        at: list[dict[str, Any]] = []
        for _, _, form, _ in template.operands:
            offset, partition, instance, value = _split(value, form)
            moved: list[tuple[str, int, int, int]] = []
            rest: list[tuple[str, int]] = []
            for name, delta in loops:
                *steps, delta = _split(delta, form, is_step=True)
                moved.append((name, *steps))  # type: ignore[arg-type]
                rest.append((name, delta))
            loops = rest
            place: dict[str, Any] = {}
            for key, base, lane in (("instance", instance, 3), ("offset", offset, 1),
                                    ("partition", partition, 2)):
                affine = _affine(base, [(one[0], int(one[lane])) for one in moved])
                if affine:
                    place[key] = affine
            at.append(place)
        edges: dict[str, list[Any]] = {PRODUCER: [], DEPENDS_ON: []}
        for kind in template.edges:
            producer, _, _, value = split_operand(value)
            lanes = [(name, split_operand(delta)) for name, delta in loops]
            loops = [(name, lane[3]) for name, lane in lanes]
            edges[kind].append(_affine(producer, [(name, lane[0]) for name, lane in lanes]))
        self._record("run", template=self._templates[shape, number], at=at,
                     **({"value": _affine(value, loops)} if number == RUN else {}),
                     **({PRODUCER: edges[PRODUCER][0]} if edges[PRODUCER] else {}),
                     **({DEPENDS_ON: edges[DEPENDS_ON]} if edges[DEPENDS_ON] else {}))


def _affine(base: int, terms: Iterable[tuple[str, int]]) -> Any:
    """A number that goes by loops as it is written."""
    steps = {name: step for name, step in terms if step}
    if not steps:
        return base
    return {"base": base, **steps} if base else steps


def _encoder() -> Callable[[dict[str, Any]], str]:
    """What makes a record one line of JSON. json's own makes a C encoder for each of them."""
    whole = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return whole.encode
    parts = make(None, whole.default, json.encoder.encode_basestring, None, ":", ",", False, False,
                 True)
    return lambda line: "".join(parts(line, 0))


_encode = _encoder()


def _split(value: int, form: Form, is_step: bool = False) -> tuple[int, int, int, int]:
    """split_operand; a place in the site's memory (see sites.py) becomes a part of the offset.

    `is_step`: `value` is the difference of two positions.
    """
    offset, partition, instance, rest = split_operand(value)
    extent = form.buffer.extent
    if extent is None:
        return offset, partition, instance, rest
    distance = instance if is_step else instance - extent.first
    return offset + distance // form.dtype.itemsize, partition, 0, rest


def _number(template: Template, value: int, deltas: Iterable[int]) -> Number:
    """What the template leaves out: None if nothing, RUN if loops change it."""
    kinds = [kind for _, kind in template.attributes if isinstance(kind, type)]
    if not kinds:
        return None
    operands = len(template.operands) + len(template.edges)
    if any(number_in(delta, operands) for delta in deltas):
        return RUN
    number: int | float = kinds[0](number_in(value, operands))
    return number


def _leaves(recorder: Recorder) -> list[Leaf]:
    """The templates that the program executes, in the order of their first use."""
    table = recorder.table
    seen: dict[Leaf, None] = {}
    whole: set[int] = set()
    """Loops all of whose templates are seen, wherever the loops are."""

    def visit(shapes: Iterable[int], values: Sequence[int], loops: list[Sequence[int]]) -> bool:
        """Whether the templates of these nodes have all they need."""
        place, is_whole = 0, True
        for shape in shapes:
            entry = table.entries[shape]
            end = place + table.arity[shape]
            if isinstance(entry, Template):
                number = _number(entry, values[place], [deltas[place] for deltas in loops])
                seen[shape, number] = None
                is_whole = is_whole and number is None
            elif isinstance(entry, LoopShape) and shape not in whole:
                if visit(entry.body, values[place:end],
                         [*(deltas[place:end] for deltas in loops), entry.deltas]):
                    whole.add(shape)
                else:
                    is_whole = False
            place = end
        return is_whole

    visit(recorder.program.shapes, recorder.program.values, [])
    return list(seen)


def shown_path(path: str) -> str:
    """A source path as it is written: relative to the current folder, or the file's name.

    What is not UTF-8 becomes a replacement character.
    """
    try:
        shown = Path(path).resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        shown = Path(path).name
    return os.fsencode(shown).decode(errors="replace")


def _told_apart(path: str, others: dict[str, Path]) -> str:
    """The same behind as many folders as tell it from `others`, files as they are shown, to which
    it is added."""
    file, shown = Path(path).resolve(), shown_path(path)
    parts = os.fsencode(file).decode(errors="replace").split(os.sep)
    behind = shown.count("/")
    while others.setdefault(shown, file) != file and behind < len(parts) - 1:
        behind += 1
        shown = "/".join(parts[-1 - behind:])
    return shown


def save(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Lets `write` fill a file that appears under its name only when it is complete.

    A link is followed; what is no file, as a device, is written and stays. UserError if it cannot
    be written.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                write(device)
            return
        path = path.resolve(strict=path.is_symlink() and path.exists())
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                write(stream)
            os.chmod(temporary, _permissions_for(path))
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}; choose another output file") from problem


def _permissions_for(path: Path) -> int:
    """Those of the file that is replaced, else what the umask leaves."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def save_text(path: Path, text: str) -> None:
    """As save, for a file of text."""
    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    save(path, write)


def compressed(write: Callable[[BinaryIO], None]) -> Callable[[BinaryIO], None]:
    """What writes the same as `write`, as a zstd frame.

    UserError if there is nothing that compresses.
    """
    try:
        import zstandard
    except ImportError:
        return lambda stream: _compressed_by_program(stream, write)

    def compress(stream: BinaryIO) -> None:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            COMPRESSION_LEVEL, window_log=WINDOW_LOG, write_checksum=True)
        compressor = zstandard.ZstdCompressor(compression_params=parameters)
        with compressor.stream_writer(stream, closefd=False) as packed:
            write(packed)

    return compress


def _compressed_by_program(stream: BinaryIO, write: Callable[[BinaryIO], None]) -> None:
    program = shutil.which("zstd")
    if program is None:
        raise UserError("trace files are compressed, which needs the Python package zstandard or "
                        "the program zstd; install one, or write to standard output (-)")
    stream.flush()
    command = [program, "-q", "-c", f"-{COMPRESSION_LEVEL}", f"--zstd=wlog={WINDOW_LOG}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stream) as process:
        assert process.stdin is not None
        write(process.stdin)  # type: ignore[arg-type]
        process.stdin.close()
        if process.wait() != 0:
            raise UserError(f"{program} ended with status {process.returncode}; write the trace to "
                            "standard output (-), which is not compressed")
