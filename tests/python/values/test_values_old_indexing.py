# SPDX-License-Identifier: Apache-2.0
# Indices, slices and views of the 0.1 dialect.
"""Theorem: what they name is what numpy does."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from trnsim.errors import FrontendError
from values_helpers import evaluate_old, normal, run_kernel

nl: Any = importlib.import_module("neuronxcc.nki.language")

DATA = normal(64, 40)


@pytest.mark.parametrize("columns", [
    slice(1, 33, 4), slice(None, None, 5), slice(3, None, 2), slice(None, 30, 3), slice(2, 9), slice(None)])
def test_slices_have_the_steps_of_numpy(columns: slice) -> None:
    """Of tiles, and of what is loaded."""
    def loaded_in_part(x: Any) -> Any:
        found = nl.load(x[0:64, columns])
        output = nl.ndarray(found.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(output, found)
        return output
    np.testing.assert_array_equal(evaluate_old(lambda t: nl.copy(t[0:64, columns]), DATA), DATA[:, columns])
    np.testing.assert_array_equal(run_kernel(loaded_in_part, DATA, api="neuronxcc.nki"), DATA[:, columns])


def stepped(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Any:
    """Elements that two functions of twelve numbers index."""
    def kernel(x: Any) -> Any:
        tile = nl.load(x[nl.arange(1)[:, None] * 0 + first(nl.arange(12)[None, :]), second(nl.arange(12)[None, :])])
        output = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(output, tile)
        return output
    return run_kernel(kernel, DATA, api="neuronxcc.nki")[0]


@pytest.mark.parametrize(("first", "second"), [
    (lambda i: i // 2, lambda i: i % 2), (lambda i: i // 4, lambda i: 3 * (i % 4)), (lambda i: i % 3, lambda i: 5)])
def test_indices_in_steps_are_those_of_numpy(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
    at = np.arange(12)
    np.testing.assert_array_equal(stepped(first, second), DATA[first(at), second(at)])


@pytest.mark.parametrize("decode", [
    lambda i: (i // 16, i % 16 // 2, i % 2), lambda i: (i // 16, i % 8, i // 8), lambda i: (i // 8, i // 4, i // 2),
    lambda i: (i % 2, i % 4, i % 8), lambda i: (i // 16, i, i % 2), lambda i: (3 - i // 8, 15 - i % 16, 1)])
def test_indices_that_repeat_at_several_levels_are_walked_by_the_steps_of_all(decode: Callable[[Any], Any]) -> None:
    """Of tensors and of tiles: an axis is split as often as the indices together need."""
    data = normal(16, 4, 32, 16)

    def loaded(x: Any) -> Any:
        tile = nl.load(x[(nl.arange(16)[:, None], *decode(nl.arange(32)[None, :]))])
        output = nl.ndarray(tile.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(output, tile)
        return output

    def copied(t: Any) -> Any:
        return nl.copy(t[(nl.arange(16)[:, None], *decode(nl.arange(32)[None, :]))])
    wanted = data[(slice(None), *decode(np.arange(32)))]
    np.testing.assert_array_equal(run_kernel(loaded, data, api="neuronxcc.nki"), wanted)
    np.testing.assert_array_equal(evaluate_old(copied, data), wanted)


@pytest.mark.parametrize(("first", "second"), [(lambda i: i // 2, lambda i: i // 3), (lambda i: i // 2, lambda i: i % 3)])
def test_indices_in_different_steps_are_an_error(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
    with pytest.raises(FrontendError, match="two indices that are not affine split axis 1 differently; copy the data"):
        stepped(first, second)


@pytest.mark.parametrize("shape", [(64, 5, 8), (64, -1, 8), (64, 5, -1), (64, 2, 5, 4), [64, -1]])
def test_reshaped_tiles_have_the_elements_of_numpy(shape: Any) -> None:
    found = evaluate_old(lambda t: nl.copy(t.reshape(shape)), DATA)
    np.testing.assert_array_equal(found, DATA.reshape(shape))


@pytest.mark.parametrize("axis", [1, 2, -1, -2, (1, 2), (2, -1), (-2, -1), (3, 1), [1, -1]], ids=str)
def test_axes_are_inserted_where_numpy_inserts_them(axis: Any) -> None:
    found = evaluate_old(lambda t: nl.copy(nl.expand_dims(t, axis)), DATA)
    np.testing.assert_array_equal(found, np.expand_dims(DATA, tuple(axis) if isinstance(axis, list) else axis))


@pytest.mark.parametrize(("axis", "message"), [
    (5, "expand_dims at axis 5 of a tile with 2 axes, but the result has 3, -3 to 2; name some of them, each once"),
    (-4, "expand_dims at axis -4 of a tile with 2 axes, but the result has 3"),
    ((1, 1), r"expand_dims at axis \(1, 1\) of a tile with 2 axes, but the result has 4, -4 to 3"),
    ((1, -3), r"expand_dims at axis \(1, -3\) of a tile with 2 axes"),
    (-3, "expand_dims at axis 0, which is the partition axis of a tile; use a free axis"),
    ("a", "axis of expand_dims is 'a', but must be an integer")], ids=str)
def test_axes_that_a_result_does_not_have_are_not_inserted(axis: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        evaluate_old(lambda t: nl.copy(nl.expand_dims(t, axis)), DATA)


@pytest.mark.parametrize("rows", [slice(0, 64), slice(32, 64)])
def test_a_view_of_another_type_has_the_same_bytes(rows: slice) -> None:
    found = evaluate_old(lambda t: nl.copy(t[rows, 0:40].view(nl.int16)), DATA)
    np.testing.assert_array_equal(found, DATA[rows].view(np.int16))


def test_a_number_among_indices_multiplies_the_index_of_a_loop() -> None:
    def kernel(x: Any) -> Any:
        output = nl.ndarray((64, 40), dtype=x.dtype, buffer=nl.shared_hbm)
        row, column = nl.arange(64)[:, None], nl.arange(8)[None, :]
        for block in nl.affine_range(5):
            eight = nl.arange(1)[None, :] * 0 + 8
            nl.store(output[row, eight * block + column], nl.load(x[row, block * eight + column]))
        return output
    np.testing.assert_array_equal(run_kernel(kernel, DATA, api="neuronxcc.nki"), DATA)
