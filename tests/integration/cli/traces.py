# SPDX-License-Identifier: Apache-2.0
# Small program traces, written as a person would write them.
"""Each function returns the text of a trace (docs/trace-format.md)."""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]


def text(records: list[Record], instructions: int) -> str:
    """Records and a summary after them, one JSON object a line."""
    records = [*records, {"record": "summary", "instructions": instructions}]
    return "".join(json.dumps(record) + "\n" for record in records)


def header(kernel: str, form: str = "program", target: str = "trn2") -> Record:
    """The first record."""
    return {"record": "header", "format": "nkt", "version": 1, "form": form, "target": target,
            "kernel": kernel, "api": "trace"}


def operand(role: str, access: str, buffer: int, columns: int, partitions: int = 128) -> Record:
    """A [partitions, columns] tile on chip."""
    return {"role": role, "access": access, "buffer": buffer, "partitions": partitions,
            "pattern": [[1, columns]]}


def hbm_operand(role: str, access: str, buffer: int, columns: int) -> Record:
    """128 rows of a matrix in HBM."""
    return {"role": role, "access": access, "buffer": buffer,
            "pattern": [[columns, 128], [1, columns]]}


def add(rows: int = 256, columns: int = 512) -> str:
    """x + x, 128 rows at a time."""
    blocks = rows // 128
    hbm = {"record": "buffer", "space": "hbm", "dtype": "float32", "shape": [rows, columns]}
    step = {"offset": {"i": 128 * columns}}
    tile = {"instance": {"i": 1}}
    return text([
        header("add"),
        {**hbm, "id": 0, "name": "x", "kind": "input"},
        {**hbm, "id": 1, "name": "y", "kind": "output"},
        {"record": "buffer", "id": 2, "name": "tile", "space": "sbuf", "dtype": "float32",
         "shape": [128, columns]},
        {"record": "template", "id": 0, "op": "dma_copy", "engines": ["dma"],
         "operands": [operand("dst", "write", 2, columns), hbm_operand("src", "read", 0, columns)]},
        {"record": "template", "id": 1, "op": "tensor_tensor", "engines": ["vector"],
         "operands": [operand("dst", "write", 2, columns), operand("data1", "read", 2, columns),
                      operand("data2", "read", 2, columns)],
         "attributes": {"op": "add"}},
        {"record": "template", "id": 2, "op": "dma_copy", "engines": ["dma"],
         "operands": [hbm_operand("dst", "write", 1, columns), operand("src", "read", 2, columns)]},
        {"record": "loop", "index": "i", "count": blocks, "kind": "affine"},
        {"record": "alloc", "buffer": 2},
        {"record": "run", "template": 0, "at": [tile, step]},
        {"record": "run", "template": 1, "at": [tile, tile, tile]},
        {"record": "run", "template": 2, "at": [step, tile]},
        {"record": "end"},
    ], 3 * blocks)


def copy_in_hbm(rows: int = 128, columns: int = 512) -> str:
    """A transfer that leaves SBUF alone."""
    hbm = {"record": "buffer", "space": "hbm", "dtype": "float32", "shape": [rows, columns]}
    return text([
        header("copy"),
        {**hbm, "id": 0, "name": "x", "kind": "input"},
        {**hbm, "id": 1, "name": "y", "kind": "output"},
        {"record": "template", "id": 0, "op": "dma_copy", "engines": ["dma"],
         "operands": [hbm_operand("dst", "write", 1, columns),
                      hbm_operand("src", "read", 0, columns)]},
        {"record": "run", "template": 0, "at": [{}, {}]}], 1)


def live_tiles(count: int, columns: int = 2048) -> str:
    """`count` tiles of 4 x columns bytes a partition, all written before the first is read."""
    place = {"instance": {"i": 1}}
    return text([
        header("live_tiles"),
        {"record": "buffer", "id": 0, "name": "tile", "space": "sbuf", "dtype": "float32",
         "shape": [128, columns]},
        {"record": "buffer", "id": 1, "name": "total", "space": "sbuf", "dtype": "float32",
         "shape": [128, columns]},
        {"record": "template", "id": 0, "op": "memset", "engines": ["vector"],
         "operands": [operand("dst", "write", 0, columns)], "attributes": {"value": 0}},
        {"record": "template", "id": 1, "op": "tensor_copy", "engines": ["vector"],
         "operands": [operand("dst", "write", 1, columns), operand("data", "read", 0, columns)]},
        {"record": "alloc", "buffer": 1},
        {"record": "loop", "index": "i", "count": count, "kind": "static"},
        {"record": "alloc", "buffer": 0},
        {"record": "run", "template": 0, "at": [place]},
        {"record": "end"},
        {"record": "loop", "index": "i", "count": count, "kind": "static"},
        {"record": "run", "template": 1, "at": [{}, place]},
        {"record": "end"},
    ], 2 * count)


def lowered_memset(engine: str, template: int) -> Record:
    """A memset of 512 float32 on one engine, address given by the run."""
    return {"record": "template", "id": template, "op": "memset", "engines": [engine],
            "operands": [{"role": "dst", "access": "write", "space": "sbuf", "dtype": "float32",
                          "partitions": 128, "pattern": [[1, 512]]}],
            "attributes": {"value": 0}}


def deadlock() -> str:
    """A lowered trace whose only instruction waits for a semaphore that nothing raises."""
    return text([
        header("deadlock", form="lowered"),
        lowered_memset("vector", 0),
        {"record": "run", "template": 0, "at": [{"address": 0}],
         "wait": [{"semaphore": 17, "at_least": 4}]},
    ], 1)


def race(ordered: bool = False) -> str:
    """Two engines write the same bytes; a semaphore orders them or does not."""
    wait = {"wait": [{"semaphore": 3, "at_least": 1}]} if ordered else {}
    signal = {"signal": [{"semaphore": 3, "add": 1}]} if ordered else {}
    return text([
        header("race", form="lowered"),
        lowered_memset("vector", 0),
        lowered_memset("gpsimd", 1),
        {"record": "run", "template": 0, "at": [{"address": 0}], **signal},
        {"record": "run", "template": 1, "at": [{"address": 1024}], **wait},
    ], 2)


def unsupported() -> str:
    """A trace whose frontend had to leave an operation out."""
    records = [json.loads(line) for line in add().splitlines()]
    records.insert(1, {"record": "note", "kind": "unsupported",
                       "text": "sendrecv between two cores"})
    return "".join(json.dumps(record) + "\n" for record in records)
