# SPDX-License-Identifier: Apache-2.0
# Selections by predicates, and index patterns.
"""Evaluators of iota, affine_select, range_select, select_reduce, tensor_copy_predicated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trnsim.frontend.operators import operator_name
from trnsim.frontend.values import alu
from trnsim.frontend.values.call import Call, command_name
from trnsim.frontend.values.casting import Array, cast, to_float32

FLOAT32_MIN = float(np.finfo(np.float32).min)


def affine_values(partitions: int, pattern: Sequence[Sequence[int]], offset: int,
                  multiplier: int) -> Array:
    """offset + partition * multiplier + the pattern's steps, one row per partition."""
    values = np.full((1,), int(offset), dtype=np.int64)
    for step, count in pattern:
        values = (values[:, None] + int(step) * np.arange(int(count))).reshape(-1)
    return values[None, :] + int(multiplier) * np.arange(partitions)[:, None]


def iota(call: Call, pattern: Any = None, offset: int = 0, multiplier: int = 0) -> None:
    """dst = an affine function of its indices; or the values that an index expression has."""
    shape = call.views["dst"].form.shape
    values = (np.broadcast_to(offset, shape) if pattern is None else
              affine_values(shape[0], pattern, offset, multiplier))
    call.write(values.astype(np.int64).astype(np.int32))


def affine_select(call: Call, pattern: Any = None, offset: Any = 0, multiplier: int = 0,
                  on_false: float = 0.0, compare: Any = "equal") -> None:
    """dst = data where an affine function compares to 0, else a constant.

    Without a pattern `offset` is the predicate's value for each element, which is chosen if that is
    above 0. Between different types elements go by way of float32; else they stay as they are.
    [NKI-ISA, NKI-ISA-2.26]
    """
    shape = call.views["data"].form.shape
    if pattern is None:
        chosen = np.broadcast_to(offset, shape).reshape(shape[0], -1) > 0
    else:
        values = affine_values(shape[0], pattern, offset, multiplier)
        chosen = alu.BINARY[operator_name(compare)](values, np.int64(0)) != 0
    data = call.rows("data", chosen)
    kind = call.views["dst"].form.dtype
    other = np.full((1, 1), on_false, dtype=np.float32)
    if call.views["data"].form.dtype is kind:
        call.write(np.where(chosen, data, cast(other, kind)))
    else:
        call.write(np.where(chosen, to_float32(data), other))


def range_select(call: Call, compare0: Any = "greater_equal", compare1: Any = "less",
                 start: int = 0, on_false: Any = None, command: Any = "reset_reduce") -> None:
    """dst = data where its index is within both bounds; its maximum in reduce_result."""
    columns = call.views["data"].form.free_elements
    indices = np.arange(start, start + columns, dtype=np.float32)[None, :]
    chosen = ((alu.BINARY[operator_name(compare0)](indices, call.number("bound0")) != 0)
              & (alu.BINARY[operator_name(compare1)](indices, call.number("bound1")) != 0))
    data = call.floats("data", chosen)
    fill = FLOAT32_MIN if on_false is None or on_false is Ellipsis else float(on_false)
    result = np.where(chosen, data, np.float32(fill))
    call.write(result)
    _maximum(call, command, result)


def _maximum(call: Call, command: Any, result: Array) -> None:
    name = command_name(command)
    if name == "idle" and "reduce_result" in call.views:
        name = "reset_reduce"
    total = call.accumulate("vector", name, "maximum", alu.reduce("maximum", result))
    if "reduce_result" in call.views:
        call.write(total, "reduce_result")


def select_reduce(call: Call, on_false: Any = 0.0, is_reversed: bool = False,
                  command: Any = "idle") -> None:
    """dst = on_true where the predicate holds, else on_false; optionally its maximum."""
    chosen = (call.rows("predicate") != 0) != bool(is_reversed)
    result = np.where(chosen, call.floats("on_true", chosen), call.number("on_false", on_false))
    call.write(result)
    _maximum(call, command, result)


def tensor_copy_predicated(call: Call, value: Any = 0.0, is_reversed: bool = False) -> None:
    """dst = data where the predicate holds; elsewhere it stays."""
    chosen = (call.read("predicate").reshape(call.views["dst"].form.shape) != 0) != bool(
        is_reversed)
    if call.kept is not None:
        chosen = chosen & call.kept.reshape(chosen.shape)
    call.kept = chosen
    if "data" in call.views:
        same = call.views["data"].form.dtype is call.views["dst"].form.dtype
        call.write(call.read("data") if same else call.floats("data"))
    else:
        kind = np.int64 if isinstance(value, (int, np.integer)) else np.float32
        call.write(np.full((1, 1), value, dtype=kind))
