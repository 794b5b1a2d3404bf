# SPDX-License-Identifier: Apache-2.0
# The eight largest elements, and searches for eight values.
"""Evaluators of max8, nc_find_index8 and nc_match_replace8. [NKI-ISA]"""

from __future__ import annotations

import numpy as np

from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array

FOUND = 8


def max8(call: Call) -> None:
    """dst = the eight largest elements of each partition, descending."""
    data = call.floats("data")
    call.fill_garbage()
    call.write(-np.sort(-data, axis=1)[:, :FOUND])


def _matches(data: Array, values: Array) -> list[list[int]]:
    """For each value, in order, the first column that holds it and is not taken yet, or -1."""
    found = []
    for row, wanted in zip(data, values):
        taken: set[int] = set()
        places = []
        for value in wanted:
            columns = [int(one) for one in np.flatnonzero(row == value) if int(one) not in taken]
            places.append(columns[0] if columns else -1)
            taken.update(columns[:1])
        found.append(places)
    return found


def nc_find_index8(call: Call) -> None:
    """dst = the column of each of eight values; all ones where there is none."""
    data, values = call.floats("data"), call.floats("values")
    call.fill_garbage()
    found = np.asarray(_matches(data, values), dtype=np.int64)
    missing = np.iinfo(np.dtype(f"u{call.views['dst'].form.dtype.itemsize}")).max
    call.write(np.where(found < 0, missing, found))


def _found_reversed(data: Array, values: Array) -> Array:
    """The columns when the last value is searched first. [NKI-ISA, nc_match_replace8]"""
    return np.asarray([places[::-1] for places in _matches(data, values[:, ::-1])],
                      dtype=np.int64)


def nc_match_replace8(call: Call, immediate: float = 0.0) -> None:
    """dst = data with the first match of each of eight values replaced."""
    data = call.floats("data").copy()
    values = call.floats("values")
    call.fill_garbage()
    found = _found_reversed(data, values)
    for row, places in enumerate(found):
        for column in places:
            if column >= 0:
                data[row, column] = immediate
    call.write(data)
    if "dst_index" in call.views:
        missing = np.iinfo(np.dtype(f"u{call.views['dst_index'].form.dtype.itemsize}")).max
        call.write(np.where(found < 0, missing, found), "dst_index")
