# SPDX-License-Identifier: Apache-2.0
# What the tests of the neuronxcc.nki dialect share.
"""Importing the 0.1 API, and tracing a function with and without extrapolated loops."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from trace_expander import Executed, expand
from trnsim.frontend import TensorArgument, dtype, install, trace
from trnsim.frontend.program import Program

install()
nki: Any = importlib.import_module("neuronxcc.nki")
nl: Any = importlib.import_module("neuronxcc.nki.language")
nisa: Any = importlib.import_module("neuronxcc.nki.isa")

API = "neuronxcc.nki"


def tensor(kind: str, *shape: int) -> TensorArgument:
    """An input tensor."""
    return TensorArgument(dtype(kind), shape)


F32 = tensor("float32", 128, 512)


def program(function: Callable[..., Any], *arguments: Any, chip: str = "trn2") -> Program:
    """The traced kernel; a plain function is taken for one of the 0.1 API."""
    return trace(function, arguments, chip, api=API)


def traced(function: Callable[..., Any], *arguments: Any, chip: str = "trn2") -> list[Executed]:
    """The executed instructions of a kernel, checked on the way."""
    executed = expand(program(function, *arguments, chip=chip).lines())
    check_written(executed)
    return executed


def check_written(executed: Sequence[Executed]) -> None:
    """AssertionError if an on-chip instance is read before anything is written to it."""
    written: set[tuple[str, int]] = set()
    for one in executed:
        for _, access, buffer, partitions, _, instance, _, _ in one.operands:
            if access == "read" and partitions is not None:
                assert (buffer, instance) in written, (one, "reads what was never written")
        for _, access, buffer, _, _, instance, _, _ in one.operands:
            if access != "read":
                written.add((buffer, instance))


def in_full(function: Callable[..., Any], *arguments: Any, chip: str = "trn2") -> list[str]:
    """The lines of a trace all of whose loops were executed in full."""
    return trace(function, arguments, chip, api=API, takes_shortcuts=False).lines()


def ops(executed: Sequence[Executed]) -> list[str]:
    """The names of the executed operations."""
    return [one.op for one in executed]


def count(executed: Sequence[Executed]) -> Counter[str]:
    """How often each operation is executed."""
    return Counter(one.op for one in executed)


def attribute(one: Executed, name: str) -> Any:
    """The value of an attribute; None if it is absent."""
    return json.loads(dict(one.attributes).get(name, "null"))


def pattern(one: Executed, role: str) -> tuple[tuple[int, int], ...]:
    """The access pattern of an operand."""
    return one.operand(role)[4]  # type: ignore[no-any-return]


def where(one: Executed, role: str) -> tuple[int, int]:
    """Offset and start partition of an operand."""
    return one.operand(role)[6:8]  # type: ignore[return-value]
