# SPDX-License-Identifier: Apache-2.0
# Reads a trace as the format describes it and executes its loops, for tests.
"""An independent reader of program traces: strict about the rules that the writer must keep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import zstandard

ITEM_SIZES = {"float32": 4, "int32": 4, "uint32": 4, "bfloat16": 2, "float16": 2, "uint16": 2,
              "int16": 2, "int8": 1, "uint8": 1, "bool": 1, "float8_e4m3": 1, "float8_e5m2": 1}


@dataclass(frozen=True)
class Executed:
    """One executed instruction: what a template and its loops come to."""

    op: str
    engines: tuple[str, ...]
    line: int | None
    operands: tuple[Any, ...]
    """(role, access, buffer name, partitions, pattern, instance, offset, partition) each."""
    attributes: tuple[Any, ...]
    places: tuple[Any, ...] = field(compare=False)
    """Of each operand: (buffer id, instance, offset, partition), or (memory, byte, partition) if
    the program fixes its address."""
    producer: int | None = None
    depends_on: tuple[int, ...] = ()

    def operand(self, role: str) -> tuple[Any, ...]:
        return next(one for one in self.operands if one[0] == role)


@dataclass
class Trace:
    """A parsed trace: declarations by id, and the program as a tree of records."""

    header: dict[str, Any]
    buffers: dict[int, dict[str, Any]] = field(default_factory=dict)
    templates: dict[int, dict[str, Any]] = field(default_factory=dict)
    files: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[dict[str, Any]] = field(default_factory=list)
    body: list[Any] = field(default_factory=list)
    """The program of core 0."""
    other_cores: list[list[Any]] = field(default_factory=list)
    instructions: int = 0

    def loops(self) -> int:
        """Loop records in the file."""
        return sum(1 for _ in self._walk(self.body))

    def _walk(self, body: list[Any]) -> Iterator[Any]:
        for record in body:
            if record["record"] == "loop":
                yield record
                yield from self._walk(record["body"])


def lines_of(path: Path) -> list[str]:
    """The records of a trace file."""
    with zstandard.open(path, "rt", encoding="utf-8") as text:
        return text.read().splitlines()


def parse(lines: Iterable[str]) -> Trace:
    """The trace; AssertionError where it breaks the format."""
    records = [json.loads(line) for line in lines]
    assert records[0]["record"] == "header" and records[-1]["record"] == "summary"
    trace = Trace(records[0])
    stack, cores = [trace.body], 0
    declared = {"file": trace.files, "buffer": trace.buffers, "template": trace.templates}
    for record in records[1:-1]:
        kind = record["record"]
        if kind in declared:
            assert record["id"] == len(declared[kind]), record
            declared[kind][record["id"]] = record
            if kind == "template":
                assert all(one["buffer"] in trace.buffers for one in record["operands"])
        elif kind == "core":
            assert record["core"] == cores < trace.header["cores"] and len(stack) == 1
            cores += 1
            if record["core"] > 0:
                trace.other_cores.append([])
                stack = [trace.other_cores[-1]]
        elif kind == "note":
            trace.notes.append(record)
        elif kind == "loop":
            assert record["count"] >= 1
            record["body"] = []
            stack[-1].append(record)
            stack.append(record["body"])
        elif kind == "end":
            stack.pop()
        else:
            assert kind in ("run", "alloc"), record
            stack[-1].append(record)
    assert len(stack) == 1 and cores == trace.header.get("cores", 0)
    trace.instructions = records[-1]["instructions"]
    return trace


def expand(lines: Iterable[str]) -> list[Executed]:
    """All executed instructions; checks instances, bounds and the summary on the way."""
    return [one for core in expand_cores(lines) for one in core]


def expand_cores(lines: Iterable[str]) -> list[list[Executed]]:
    """The executed instructions of each core."""
    trace = parse(lines)
    instances = Counter({key: 1 for key, one in trace.buffers.items()
                         if one.get("kind") in ("input", "output")})
    cores: list[list[Executed]] = []
    for body in (trace.body, *trace.other_cores):
        cores.append([])
        _execute(trace, body, {}, instances, cores[-1])
    assert trace.instructions == sum(len(core) for core in cores)
    return cores


def _execute(trace: Trace, body: list[Any], indices: dict[str, int], instances: Counter[int],
             executed: list[Executed]) -> None:
    for record in body:
        if record["record"] == "alloc":
            assert trace.buffers[record["buffer"]].get("kind") not in ("input", "output")
            instances[record["buffer"]] += 1
        elif record["record"] == "run":
            executed.append(_run(trace, record, indices, instances))
        else:
            assert record["index"] not in indices
            for step in range(record["count"]):
                _execute(trace, record["body"], {**indices, record["index"]: step}, instances,
                         executed)


def _run(trace: Trace, record: dict[str, Any], indices: dict[str, int],
         instances: Counter[int]) -> Executed:
    template = trace.templates[record["template"]]
    assert len(record["at"]) == len(template["operands"])
    operands, places = [], []
    for operand, at in zip(template["operands"], record["at"], strict=True):
        instance, offset, partition = (_value(at.get(key, 0), indices)
                                       for key in ("instance", "offset", "partition"))
        buffer = trace.buffers[operand["buffer"]]
        assert 0 <= instance < instances[operand["buffer"]], (record, "no such instance")
        if "indirect" not in operand:
            _check_inside(buffer, operand, offset, partition)
        operands.append((operand["role"], operand["access"], buffer["name"],
                         operand.get("partitions"), tuple(map(tuple, operand["pattern"])),
                         instance, offset, partition))
        places.append((operand["buffer"], instance, offset, partition))
        if "address" in buffer:
            size = ITEM_SIZES[operand.get("dtype", buffer["dtype"])]
            first, byte = buffer["address"]
            places[-1] = (buffer["space"], byte + offset * size, first + partition)
    source = template.get("source")
    given = template["attributes"]
    assert (given.get("value") == "run") == ("value" in record)
    if "value" in record:
        steps = record["value"]
        assert all(abs(one) <= 1 << 48
                   for one in (steps.values() if isinstance(steps, dict) else [steps]))
        given = {**given, "value": _value(record["value"], indices)}
    if not isinstance(given.get("value", ""), str):
        given = {**given, "value": float(given["value"])}
    attributes = tuple(sorted((key, json.dumps(value)) for key, value in given.items()))
    producer = _value(record["producer"], indices) if "producer" in record else None
    depends_on = tuple(_value(one, indices) for one in record.get("depends_on", ()))
    assert min((*depends_on, producer or 0)) >= 0
    return Executed(template["op"], tuple(template["engines"]), source[1] if source else None,
                    tuple(operands), attributes, tuple(places), producer, depends_on)


def accesses(executed: Iterable[Executed]) -> list[Any]:
    """What the instructions do to memory, whatever the sites are called: bytes of tiles with fixed
    addresses, and other tiles numbered in the order in which they are first used."""
    tiles: dict[Any, int] = {}
    found = []
    for one in executed:
        places = [place if isinstance(place[0], str) else
                  (tiles.setdefault(place[:2], len(tiles)), *place[2:]) for place in one.places]
        shown = [operand[:2] + operand[3:5] for operand in one.operands]
        found.append((one.op, one.engines, one.line, one.attributes, shown, places))
    return found


def _check_inside(buffer: dict[str, Any], operand: dict[str, Any], offset: int,
                  partition: int) -> None:
    on_chip = buffer["space"] != "hbm"
    shape = buffer["shape"][1:] if on_chip else buffer["shape"]
    size = prod(shape)
    if "dtype" in operand:
        size = size * ITEM_SIZES[buffer["dtype"]] // ITEM_SIZES[operand["dtype"]]
    low = offset + sum(min(0, stride * (count - 1)) for stride, count in operand["pattern"])
    high = offset + sum(max(0, stride * (count - 1)) for stride, count in operand["pattern"])
    assert 0 <= low and high < size, (operand, offset, "leaves the buffer")
    if on_chip:
        assert 0 <= partition and partition + operand["partitions"] <= buffer["shape"][0]


def _value(value: Any, indices: dict[str, int]) -> int:
    if isinstance(value, int):
        return value
    return sum(factor if name == "base" else factor * indices[name]
               for name, factor in value.items())


def totals(executed: Iterable[Executed], lines: Iterable[str]) -> dict[str, int]:
    """Multiply-accumulates, bytes moved from and to HBM, and DMA calls."""
    dtypes = {one["name"]: one for one in parse(lines).buffers.values()}
    result = Counter({"macs": 0, "hbm_read_bytes": 0, "hbm_write_bytes": 0, "dma_calls": 0})
    for one in executed:
        if one.op.startswith("dma_"):
            result["dma_calls"] += 1
        if one.op == "nc_matmul":
            stationary, moving = one.operand("stationary"), one.operand("moving")
            result["macs"] += stationary[3] * _elements(stationary) * _elements(moving)
        for operand in one.operands:
            buffer = dtypes[operand[2]]
            if buffer["space"] == "hbm":
                kind = "hbm_read_bytes" if operand[1] == "read" else "hbm_write_bytes"
                result[kind] += _elements(operand) * ITEM_SIZES[buffer["dtype"]]
    return dict(result)


def _elements(operand: tuple[Any, ...]) -> int:
    return prod(count for _, count in operand[4])
