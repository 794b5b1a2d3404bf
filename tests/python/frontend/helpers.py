# SPDX-License-Identifier: Apache-2.0
# What the frontend's tests share.
"""Tracing a function with and without compression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy
import pytest
from trace_expander import Executed, expand, parse
from trnsim.frontend import TensorArgument, dtype, recorder, trace, tracing
from trnsim.frontend.program import Program


class FlatRecorder(recorder.Recorder):
    """Ignores loop marks: everything is recorded one after the other."""

    def loop(self, values: Any, origin: Any, wrap: Any = None) -> Iterator[Any]:
        return iter(values)

    def fold_program(self) -> None:
        """Nothing is folded."""


def tensor(kind: str, *shape: int) -> TensorArgument:
    """An input tensor."""
    return TensorArgument(dtype(kind), shape)


def traced(function: Callable[..., Any], *arguments: Any, chip: str = "trn2") -> list[Executed]:
    """The executed instructions of a kernel."""
    return expand(trace(function, arguments, chip).lines())


def program(function: Callable[..., Any], *arguments: Any, chip: str = "trn2") -> Program:
    """The traced kernel."""
    return trace(function, arguments, chip)


def flat(function: Callable[..., Any], arguments: Sequence[Any],
         monkeypatch: pytest.MonkeyPatch) -> list[Executed]:
    """The executed instructions of a kernel, recorded without compression."""
    with monkeypatch.context() as patch:
        patch.setattr(tracing, "Recorder", FlatRecorder)
        lines = trace(function, arguments, takes_shortcuts=False).lines()
    assert parse(lines).loops() == 0
    return expand(lines)


def elements(view: Any) -> Any:
    """The storage offset of every element of a view; on chip the partitions are rows."""
    offsets = numpy.full(view.shape, view.offset)
    for axis, (size, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        shape = [1] * view.ndim
        shape[axis] = size
        offsets = offsets + stride * numpy.arange(size).reshape(shape)
    return offsets


def ops(executed: Sequence[Executed]) -> list[str]:
    """The names of the executed operations."""
    return [one.op for one in executed]


def executions(kernel: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the kernel that is found executes its load, of the trace that counts."""
    calls: list[Any] = []
    issue_two = recorder.Recorder.issue_two

    def counted(self: Any, *instruction: Any) -> None:
        calls.append(self)
        issue_two(self, *instruction)

    argument = [tensor("bfloat16", 4096, 4096)]
    full = trace(kernel(), argument, takes_shortcuts=False).lines()
    with monkeypatch.context() as patch:
        patch.setattr(recorder.Recorder, "issue_two", counted)
        assert trace(kernel(), argument).lines() == full
    return calls.count(calls[-1])
