# SPDX-License-Identifier: Apache-2.0
# Reductions and scans along rows, and reductions over partitions.
"""Evaluators of tensor_reduce, scans, partition reductions and batch statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.frontend.values import alu
from trnsim.frontend.values.call import Call, command_name
from trnsim.frontend.values.casting import Array

STATISTIC = 3
"""Values of one statistic: count, mean, variance * count."""


def tensor_reduce(call: Call) -> None:
    """dst = the reduction of data over its last dimensions."""
    op = call.attributes["op"]
    rows = call.rows("data") if alu.is_bitwise(op) else call.floats("data")
    kept = call.kept
    if kept is not None and kept.size == rows.size:
        identity = np.asarray(alu.IDENTITIES[op]).astype(rows.dtype)
        rows = np.where(kept.reshape(rows.shape), rows, identity)
        call.kept = None
    dst = call.views["dst"].form
    unwritten = call.take_garbage()
    if unwritten is not None:
        call.put_garbage(unwritten.reshape(dst.shape[0], dst.free_elements, -1).any(axis=-1))
    result = alu.reduce(op, rows.reshape(dst.shape[0], dst.free_elements, -1))
    call.write(-result if call.attributes.get("negate") else result)
    call.kept = kept


def tensor_partition_reduce(call: Call) -> None:
    """dst = the reduction of data over its partitions."""
    op = call.attributes["op"]
    rows = call.rows("data") if alu.is_bitwise(op) else call.floats("data")
    unwritten = call.take_garbage()
    if unwritten is not None:
        call.put_garbage(unwritten.any(axis=0)[None, :])
    call.write(alu.reduce(op, rows, axis=0)[None, :])


def tensor_tensor_scan(call: Call, initial: Any = 0.0, reverse0: bool = False,
                       reverse1: bool = False) -> None:
    """dst[i] = (data1[i] op0 dst[i - 1]) op1 data2[i]."""
    first, second = call.floats("data1"), call.floats("data2")
    call.run_garbage_on()
    state = np.broadcast_to(np.asarray(call.number("initial", initial)).reshape(-1),
                            (first.shape[0],)).astype(np.float32)
    op0, op1 = alu.BINARY[call.attributes["op0"]], alu.BINARY[call.attributes["op1"]]
    left, right = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
    result = np.empty_like(left)
    for at in range(left.shape[0]):
        inner = op0(state, left[at]) if reverse0 else op0(left[at], state)
        state = op1(right[at], inner) if reverse1 else op1(inner, right[at])
        result[at] = state
    call.write(result.T)


def tensor_scalar_cumulative(call: Call, operand0: Any = 0.0, operand1: Any = None,
                             command: Any = "reset_reduce", reverse0: bool = False) -> None:
    """dst[i] = (data[i] op0 operand0) op1 dst[i - 1], from what the registers begin with."""
    op1 = call.attributes["op1"]
    values = alu.apply(call.attributes["op0"], call.floats("data"),
                       call.number("operand0", operand0), reverse0)
    call.run_garbage_on()
    name = command_name(command)
    registers, spoiled = call.machine.registers["vector"], call.machine.spoiled["vector"]
    count = values.shape[0]
    if name in ("reset", "reset_reduce"):
        registers[:] = alu.IDENTITIES[op1]
    elif name == "load_reduce":
        registers[:count] = np.broadcast_to(
            np.asarray(call.number("operand1", operand1)).reshape(-1), (count,))
    combine = alu.BINARY[op1]
    state = registers[:count].copy()
    columns = np.ascontiguousarray(values.T)
    result = np.empty_like(columns)
    for at, column in enumerate(columns):
        state = combine(column, state)
        result[at] = state
    registers[:count] = state
    spoiled.begin(name, count)
    spoiled.recall(call.garbage, count)
    call.write(result.T)
    spoiled.keep(call.garbage, count)


def bn_stats(call: Call) -> None:
    """dst = count, mean and variance * count of the even elements of a row, then of the odd."""
    data = call.floats("data")
    call.write(np.concatenate([_statistic(data[:, 0::2]), _statistic(data[:, 1::2])], axis=1))


def _statistic(values: Array) -> Array:
    rows, count = values.shape
    result = np.zeros((rows, STATISTIC), dtype=np.float32)
    if count:
        mean = values.mean(axis=1, dtype=np.float32)
        result[:, 0] = count
        result[:, 1] = mean
        result[:, 2] = np.square(values - mean[:, None]).sum(axis=1)
    return result


def bn_aggr(call: Call) -> None:
    """dst = mean and variance of the union of all statistics of a row."""
    data = call.floats("data")
    groups = data.reshape(data.shape[0], -1, STATISTIC)
    counts, means, spreads = groups[..., 0], groups[..., 1], groups[..., 2]
    total = counts.sum(axis=1)
    mean = (counts * means).sum(axis=1) / total
    spread = spreads + counts * np.square(means - mean[:, None])
    call.write(np.stack([mean, spread.sum(axis=1) / total], axis=1))

