# SPDX-License-Identifier: Apache-2.0
# Gathers, shuffles and index searches on chip.
"""Evaluators of the gathers, nc_stream_shuffle, sequence_bounds and nonzero_with_count."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from trnsim.errors import ProgramError
from trnsim.frontend import source
from trnsim.frontend.legality.gpsimd import GATHER_PARTITIONS
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array

QUADRANT = 32
UNMODIFIED = 255
"""Entry of a shuffle mask that leaves its partition as it is. [NKI-ISA]"""


def nc_n_gather(call: Call) -> None:
    """dst[p, i] = data[p, index[p, i]]."""
    _take(call, call.indices("index"))


def local_gather(call: Call) -> None:
    """The indices of 16 partitions, taken down the partitions first, select in each of them."""
    index = call.indices("index")
    group = int(call.attributes["elements_per_index"])
    count = int(call.attributes["indices"])
    cores = index.reshape(-1, GATHER_PARTITIONS, index.shape[1]).swapaxes(1, 2)
    first = cores.reshape(len(cores), -1)[:, :count].astype(np.int64)
    columns = (first[:, :, None] + np.arange(group)).reshape(len(cores), -1)
    _take(call, np.repeat(columns, GATHER_PARTITIONS, axis=0))


def _take(call: Call, index: Array) -> None:
    """dst[p, i] = data[p, index[p, i]], and what of it nothing has written."""
    data, unwritten = call.rows("data"), call.take_garbage()
    index = _in_bounds(call, index, data)
    if unwritten is not None:
        call.put_garbage(np.take_along_axis(unwritten, index, axis=1))
    call.write(np.take_along_axis(data, index, axis=1))


def _in_bounds(call: Call, index: Array, data: Array) -> Array:
    index = index.astype(np.int64)
    if index.size and (index.min() < 0 or index.max() >= data.shape[1]):
        raise ProgramError(
            f"{source.position(call.at)}: {call.op}: the indices are {index.min()} to "
            f"{index.max()}, but a partition of data has {data.shape[1]} elements; keep them in "
            "bounds")
    return index


def nc_stream_shuffle(call: Call) -> None:
    """dst = data with the partitions of each quadrant reordered."""
    data, unwritten = call.rows("data"), call.take_garbage()
    shape = call.views["dst"].form.shape
    places = np.arange(shape[0]) % QUADRANT
    chosen = np.asarray(call.attributes["mask"])[places]
    origins = np.arange(shape[0]) - places + chosen
    is_taken = (chosen != UNMODIFIED) & (origins < data.shape[0])
    origins[~is_taken] = 0
    if unwritten is not None:
        call.put_garbage(unwritten[origins] & is_taken[:, None])
    kept = np.broadcast_to(is_taken.reshape(-1, *[1] * (len(shape) - 1)), shape)
    call.kept = kept if call.kept is None else kept & call.kept.reshape(shape)
    call.write(data[origins])


def sequence_bounds(call: Call) -> None:
    """dst[0], dst[1] = where the run of equal elements around each one starts, and ends.

    Elements that are 0 belong to no run: theirs are the number of elements, and -1.
    """
    ids = call.rows("data")
    rows, count = ids.shape
    result = np.empty((rows, 2, count), dtype=np.int64)
    for row in range(rows):
        edges = np.flatnonzero(np.diff(ids[row]) != 0) + 1
        bounds = [0, *edges.tolist(), count]
        for first, end in pairwise(bounds):
            empty = ids[row, first] == 0
            result[row, 0, first:end] = count if empty else first
            result[row, 1, first:end] = -1 if empty else end
    call.write(result.reshape(rows, -1))


def nonzero_with_count(call: Call, offset: int = 0, padding: int = -1) -> None:
    """Indices of the non-zero elements, padding, and their number, in every 16th partition."""
    dst, source_form = call.views["dst"], call.views["data"].form
    memory_rows = range(0, source_form.shape[0], GATHER_PARTITIONS)
    read = np.zeros(source_form.shape, dtype=bool)
    read[::GATHER_PARTITIONS] = True
    data = call.machine.read(call.views["data"], call.at, read, garbage=call.garbage)
    data = data.reshape(data.shape[0], -1)
    result = np.zeros((dst.form.shape[0], dst.form.free_elements), dtype=np.int64)
    kept = np.zeros(dst.form.shape, dtype=bool)
    for row in memory_rows:
        (where,) = np.nonzero(data[row])
        result[row] = padding
        result[row, :len(where)] = where + offset
        result[row, -1] = len(where)
        kept[row] = True
    call.kept = kept
    call.write(result)


def topk(call: Call, is_sorted: bool = False) -> None:
    """The largest elements of each 16 partitions, and their places there, in a snake as the source:
    place j is partition j % 16, element j // 16. In ascending order or, sorted, the largest first.

    What of the results is behind them is left as it was. [NKI-ISA-2.33]
    """
    dst, count = call.views["dst"].form, int(call.attributes["n"])
    largest = dst.free_elements
    is_read = _snake(dst.shape[0], call.views["data"].form.free_elements) < count
    data = call.floats("data", is_read)
    places = _snake(dst.shape[0], largest)
    values = np.zeros(places.shape, np.float32)
    indices = np.zeros(places.shape, np.int64)
    found = np.arange(largest)
    for first in range(0, dst.shape[0], GATHER_PARTITIONS):
        snake = data[first:first + GATHER_PARTITIONS].T.reshape(-1)[:count]
        order = np.argsort(-snake, kind="stable")[:largest]
        order = order if is_sorted else order[::-1]
        at = (first + found % GATHER_PARTITIONS, found // GATHER_PARTITIONS)
        values[at], indices[at] = snake[order], order
    for role, result in (("dst", values), ("dst_index", indices)):
        call.machine.write(call.views[role], result, call.at, places < largest)


def _snake(partitions: int, elements: int) -> Array:
    """The place of each element in the snake of its 16 partitions."""
    rows = np.arange(partitions) % GATHER_PARTITIONS
    return rows[:, None] + GATHER_PARTITIONS * np.arange(elements)
