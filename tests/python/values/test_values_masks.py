# SPDX-License-Identifier: Apache-2.0
# What masks of the 0.1 dialect leave of instructions, held against numpy.
"""Theorem: a masked instruction computes what its mask leaves, and an assignment moves no more."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from values_helpers import integers, normal, run_kernel

from trnsim.errors import IllegalInstruction, ProgramError, UserError

nl: Any = importlib.import_module("neuronxcc.nki.language")
nisa: Any = importlib.import_module("neuronxcc.nki.isa")

DATA = normal(64, 64)
ROW, COLUMN = np.mgrid[0:64, 0:64]


def masked(body: Callable[[Any, Any, Any], Any], shape: tuple[int, int] = (64, 64),
           dtype: Any = np.float32) -> Any:
    """What `body(tile, row, column)` leaves in a tile of zeros of that shape."""
    def kernel(data: Any) -> Any:
        row, column = nl.mgrid[0:64, 0:64]
        tile, result = nl.load(data), nl.zeros(shape, dtype)
        at = nl.mgrid[0:shape[0], 0:shape[1]]
        result[at.p, at.x] = body(tile[row, column], row, column)
        output = nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)
        nl.store(output, result)
        return output
    return run_kernel(kernel, DATA, api="neuronxcc.nki")


def kept(values: Any, where: Any) -> Any:
    """The values, and zeros where a mask is not true."""
    return np.where(where, values, 0)


def column_of(values: Any, rows: int) -> Any:
    """One value for each of the first rows, else zeros."""
    return kept(np.reshape(values, (-1, 1)), ROW[:, :1] < rows)


@pytest.mark.parametrize(("body", "expected"), [
    (lambda t, p, f: nl.exp(t, mask=(p < 9) & (f > 4)), kept(np.exp(DATA), (ROW < 9) & (COLUMN > 4))),
    (lambda t, p, f: nl.multiply(t, t[0:64, 3:4], mask=p < 9), kept(DATA * DATA[:, 3:4], ROW < 9)),
    (lambda t, p, f: nisa.iota(p * 64 + f, dtype=nl.float32, mask=f < 9),
     kept(ROW * 64 + COLUMN, COLUMN < 9)),
    (lambda t, p, f: nisa.iota(p * 64 + f, dtype=nl.float32, mask=p < 9),
     kept(ROW * 64 + COLUMN, ROW < 9)),
    (lambda t, p, f: nisa.affine_select(pred=p >= f, on_true_tile=t, on_false_value=7.0, mask=f < 9),
     kept(np.where(ROW >= COLUMN, DATA, 7.0), COLUMN < 9)),
    (lambda t, p, f: nisa.affine_select(pred=p - f, on_true_tile=t, on_false_value=7.0),
     np.where(ROW - COLUMN > 0, DATA, 7.0)),
    (lambda t, p, f: nl.where(t > 0, t, 0.0, mask=f < 5), kept(np.maximum(DATA, 0), COLUMN < 5)),
], ids=["exp", "vector", "iota columns", "iota rows", "affine_select", "affine expression", "where"])
def test_masks_clip_elements(body: Callable[[Any, Any, Any], Any], expected: Any) -> None:
    """A mask on rows or columns leaves the others as they were."""
    np.testing.assert_allclose(masked(body), expected, rtol=1e-5)


@pytest.mark.parametrize(("condition", "true"), [
    (lambda p, f: p >= f, ROW >= COLUMN), (lambda p, f: (p < 9) & (f < 5), (ROW < 9) & (COLUMN < 5)),
    (lambda p, f: (p >= f) & (f < 5), (ROW >= COLUMN) & (COLUMN < 5)),
    (lambda p, f: (p >= f) | (f < 5), (ROW >= COLUMN) | (COLUMN < 5)),
    (lambda p, f: p >= 5, ROW >= 5), (lambda p, f: p >= 32, ROW >= 32),
    (lambda p, f: ~(f < 5), COLUMN >= 5),
    (lambda p, f: p < 0, ROW < 0), (lambda p, f: f >= 0, ROW >= 0),
    (lambda p, f: nl.broadcast_to(f[0:1, :] < 5, shape=(64, 64)), COLUMN < 5),
    (lambda p, f: nl.broadcast_to((f[0:1, :] < 5) | (f[0:1, :] > 9), shape=(64, 64)),
     (COLUMN < 5) | (COLUMN > 9)),
], ids=["coupled", "rectangle", "both", "or", "most rows", "last rows", "not", "none", "all",
        "repeated", "or repeated"])
def test_a_condition_may_be_one_on_indices(condition: Callable[[Any, Any], Any], true: Any) -> None:
    """nl.where takes tiles and numbers, whatever the shape of what it chooses."""
    for chosen, expected in (
            (lambda t, c: nl.where(c, t, nl.exp(t)), np.where(true, DATA, np.exp(DATA))),
            (lambda t, c: nl.where(c, t[0:64, 3:4], t), np.where(true, DATA[:, 3:4], DATA)),
            (lambda t, c: nl.where(c, t, t[0:1, 0:64]), np.where(true, DATA, DATA[0:1])),
            (lambda t, c: nl.where(c, nl.ones((64, 64), nl.bfloat16), t), np.where(true, 1.0, DATA)),
            (lambda t, c: nl.where(c, t, -9984.0), np.where(true, DATA, -9984.0)),
            (lambda t, c: nl.where(c, 3.0, t), np.where(true, 3.0, DATA))):
        found = masked(lambda t, p, f, chosen=chosen: chosen(t, condition(p, f)))
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_choice_of_numbers_has_the_shape_of_its_condition() -> None:
    def body(t: Any, p: Any, f: Any) -> Any:
        return nl.where(nl.broadcast_to(f[0:1, :] < 5, shape=(64, 64)), 2.5, -1.5)
    np.testing.assert_array_equal(masked(body), np.where(COLUMN < 5, 2.5, -1.5))


def test_a_condition_is_repeated_along_axes_of_one_element_only() -> None:
    with pytest.raises(UserError, match=r"\[1, 64\] and \[64, 32\] do not broadcast"):
        masked(lambda t, p, f: nl.where(nl.broadcast_to(f < 5, shape=(64, 32)), t, 0.0))
    with pytest.raises(ProgramError, match=r"\[64, 1\] does not broadcast to \[1, 64\]"):
        masked(lambda t, p, f: nl.where(nl.broadcast_to(p < 5, shape=(1, 64)), t, 0.0))


def test_a_condition_on_indices_is_masked_too() -> None:
    """What the mask leaves out stays as it was."""
    found = masked(lambda t, p, f: nl.where(p >= f, t, -1.0, mask=f < 40))
    np.testing.assert_array_equal(found, kept(np.where(ROW >= COLUMN, DATA, -1.0), COLUMN < 40))
    found = masked(lambda t, p, f: nl.where(f < 5, t, t[0:64, 3:4], mask=p < 9))
    np.testing.assert_array_equal(found, kept(np.where(COLUMN < 5, DATA, DATA[:, 3:4]), ROW < 9))


CHOICES: dict[str, tuple[Callable[[Any, Any, Any, Any], Any], Any]] = {
    "values": (lambda t, p, f, m: nl.where(t > 0, t, nl.exp(t), mask=m), np.where(DATA > 0, DATA, np.exp(DATA))),
    "a number": (lambda t, p, f, m: nl.where(t > 0, t, 2.0, mask=m), np.where(DATA > 0, DATA, 2.0)),
    "rows": (lambda t, p, f, m: nl.where(p >= 20, t, nl.exp(t), mask=m), np.where(ROW >= 20, DATA, np.exp(DATA))),
    "columns": (lambda t, p, f, m: nl.where(f < 20, t, nl.exp(t), mask=m), np.where(COLUMN < 20, DATA, np.exp(DATA))),
    "both": (lambda t, p, f, m: nl.where(p + f < 20, 5.0, t, mask=m), np.where(ROW + COLUMN < 20, 5.0, DATA)),
    "affine_select": (lambda t, p, f, m: nl.where(p + f < 20, t, 5.0, mask=m), np.where(ROW + COLUMN < 20, DATA, 5.0))}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("mask", "true"), [
    (lambda p, f: p >= f, ROW >= COLUMN), (lambda p, f: (p >= f) & (p < 30), (ROW >= COLUMN) & (ROW < 30)),
    (lambda p, f: f % 2 == 0, COLUMN % 2 == 0)], ids=["coupled", "clipped", "every second"])
def test_a_choice_leaves_what_a_mask_that_couples_axes_leaves_out(
        choice: str, mask: Callable[[Any, Any], Any], true: Any) -> None:
    """Its assignment copies no more than the mask, which several instructions have followed."""
    body, expected = CHOICES[choice]
    found = masked(lambda t, p, f: body(t, p, f, mask(p, f)))
    np.testing.assert_allclose(found, kept(expected, true), rtol=1e-5)


@pytest.mark.parametrize("body", [
    lambda t, p, f: nl.copy(t, mask=(p >= f) & (f < 40)),
    lambda t, p, f: nl.copy(t, mask=(f < 40) & (p < 50) & (p >= f))])
def test_a_mask_that_couples_axes_may_shorten_them_too(body: Callable[[Any, Any, Any], Any]) -> None:
    """Elements are those of the part that is left."""
    found = masked(body)
    rows = 50 if np.all(found[50:] == 0) else 64
    np.testing.assert_array_equal(
        found, kept(DATA, (ROW >= COLUMN) & (COLUMN < 40) & (ROW < rows)))


CHANGES: dict[str, tuple[Callable[[Any, Any, Any], Any], Any]] = {
    "load": (lambda x, at, mask: nl.load(x[at], mask=mask), DATA),
    "copy": (lambda x, at, mask: nl.copy(nl.load(x), mask=mask), DATA),
    "function": (lambda x, at, mask: nl.exp(nl.load(x), mask=mask), np.exp(DATA)),
    "number": (lambda x, at, mask: nl.multiply(nl.load(x), 3.0, mask=mask), DATA * 3),
    "tiles": (lambda x, at, mask: nl.add(nl.load(x), nl.load(x), mask=mask), DATA * 2),
    "instruction": (lambda x, at, mask: nisa.activation(nl.square, nl.load(x), mask=mask), DATA**2)}


@pytest.mark.parametrize("change", CHANGES)
def test_random_masks_keep_what_numpy_keeps(change: str) -> None:
    """Of rows, columns or both together, one condition or two; refused where no engine starts."""
    body, expected = CHANGES[change]
    random = np.random.default_rng(0)
    accepted = 0
    for _ in range(40):
        rows, columns = random.choice([(1, 0), (0, 1), (1, 1), (1, -1)])
        least, most = int(random.integers(-20, 90)), int(random.integers(1, 65))

        def keeps(p: Any, f: Any) -> Any:
            return (rows * p + columns * f >= least) & (f < most)  # noqa: B023

        def kernel(x: Any) -> Any:
            at = tuple(nl.mgrid[0:64, 0:64])
            result, output = nl.zeros((64, 64), nl.float32), nl.ndarray(
                (64, 64), nl.float32, buffer=nl.shared_hbm)
            result[at] = body(x, at, keeps(*at))  # noqa: B023
            nl.store(output, result)
            return output
        try:
            found = run_kernel(kernel, DATA, api="neuronxcc.nki")
        except IllegalInstruction:
            continue
        np.testing.assert_allclose(found, kept(expected, keeps(ROW, COLUMN)), rtol=1e-5)
        accepted += 1
    assert accepted > 20


@pytest.mark.parametrize(("body", "expected"), [
    (lambda t, p, f: nl.mean(t, axis=1, mask=(p < 9) & (f < 5)), column_of(DATA[:, :5].mean(1), 9)),
    (lambda t, p, f: nl.var(t, axis=1, mask=(p < 9) & (f < 5)), column_of(DATA[:, :5].var(1), 9)),
    (lambda t, p, f: nl.max(t, axis=1, mask=f < 5), column_of(DATA[:, :5].max(1), 64)),
    (lambda t, p, f: nl.mean(t, axis=1, mask=(f + 0 * p) % 2 == 0), column_of(DATA[:, ::2].mean(1), 64)),
], ids=["mean", "var", "max", "mean of every second"])
def test_masks_clip_what_is_reduced(body: Callable[[Any, Any, Any], Any], expected: Any) -> None:
    """What a mask leaves out is not reduced, nor does it count for a mean."""
    np.testing.assert_allclose(masked(body, (64, 1)), expected, rtol=1e-4)


def test_a_mask_of_rows_that_is_not_affine_leaves_rows_out_of_reductions() -> None:
    """What is assigned stays there."""
    found = masked(lambda t, p, f: nl.max(t, axis=1, mask=(p < 9) | (p > 20)), (64, 1))
    np.testing.assert_array_equal(found, kept(DATA.max(1, keepdims=True), (ROW[:, :1] < 9) | (ROW[:, :1] > 20)))


@pytest.mark.parametrize(("mask", "message"), [
    (lambda p, f: f <= p, "mask= leaves 1 elements of one row and 64 of another"),
    (lambda p, f: (f <= p) & (p < 9), "mask= leaves 1 elements of one row and 9 of another"),
    (lambda p, f: (p < 9) | (p > 20), "mask= leaves 0 elements of one row and 64 of another, but all rows are "
                                      "divided by one number; use nl.sum, and multiply by a tile of one over")])
def test_a_mean_of_other_elements_in_each_row_is_refused(mask: Callable[[Any, Any], Any], message: str) -> None:
    with pytest.raises(IllegalInstruction, match=f"nl.mean: {message}"):
        masked(lambda t, p, f: nl.mean(t, axis=1, mask=mask(p, f)), (64, 1))


@pytest.mark.parametrize(("name", "reference", "neutral"), [
    ("add", np.sum, 0), ("multiply", np.prod, 1), ("maximum", np.max, -np.inf), ("minimum", np.min, np.inf),
    ("bitwise_or", np.bitwise_or.reduce, 0), ("bitwise_xor", np.bitwise_xor.reduce, 0),
    ("bitwise_and", np.bitwise_and.reduce, -1)])
def test_masks_that_couple_axes_leave_elements_out_of_reductions(name: str, reference: Any, neutral: Any) -> None:
    data = integers(2, 2**20, 64, 64) if name.startswith("bitwise") else 3 + normal(64, 64)

    def kernel(x: Any) -> Any:
        row, column = nl.mgrid[0:64, 0:64]
        out = nl.ndarray((64, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, nisa.tensor_reduce(getattr(nl, name), nl.load(x), axis=1, mask=row >= column))
        return out
    found = run_kernel(kernel, data, api="neuronxcc.nki")
    np.testing.assert_allclose(found[:, 0], reference(np.where(ROW >= COLUMN, data, neutral), axis=1), rtol=1e-5)


def test_masks_of_searches_are_those_of_the_data() -> None:
    """Columns that are left out are not found; rows that are left out stay."""
    largest = -np.sort(-DATA[:, :20], axis=1)[:, :8]
    columns = np.argsort(-DATA[:, :20], axis=1)[:, :8]
    rows = ROW[:, :8] < 32
    np.testing.assert_array_equal(
        masked(lambda t, p, f: nisa.max8(src=t, mask=(f < 20) & (p < 32)), (64, 8)),
        kept(largest, rows))

    def find(tile: Any, row: Any, column: Any) -> Any:
        found = nisa.max8(src=tile, mask=column < 20)
        return nisa.nc_find_index8(data=tile, vals=found, mask=(column < 20) & (row < 32))
    np.testing.assert_array_equal(masked(find, (64, 8), np.uint32), kept(columns, rows))


def test_masks_of_replacements_are_those_of_the_data() -> None:
    """Values that a mask leaves out are neither found nor moved."""
    def replace(tile: Any, row: Any, column: Any) -> Any:
        mask = (row < 32) & (column < 20)
        return nisa.nc_match_replace8(data=tile, vals=nisa.max8(src=tile, mask=column < 20),
                                      imm=0.0, mask=mask)
    left = DATA[:, :20].copy()
    np.put_along_axis(left, np.argsort(-left, axis=1)[:, :8], 0.0, axis=1)
    np.testing.assert_array_equal(masked(replace), kept(np.pad(left, ((0, 0), (0, 44))), ROW < 32))


@pytest.mark.parametrize("rows", [20, 0])
def test_masks_of_scatters_leave_rows_out(rows: int) -> None:
    """Rows of data and of indices alike; none of them, if a mask leaves nothing."""
    places = (63 - np.arange(64, dtype=np.int32))[:, None]

    def kernel(data: Any, indices: Any) -> Any:
        output = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(output, nl.load(data))
        at, row, column = nl.load(indices), nl.arange(64)[:, None], nl.arange(64)[None, :]
        nl.atomic_rmw(output[at[row, 0], column], nl.load(data), op=np.add,
                      mask=(row >= 8) & (row < 8 + rows))
        return output
    expected = DATA.copy()
    expected[places[8:8 + rows, 0]] += DATA[8:8 + rows]
    np.testing.assert_array_equal(run_kernel(kernel, DATA, places, api="neuronxcc.nki"), expected)


def test_masks_of_gathers_are_those_of_the_indices() -> None:
    """A mask on the indices of gather_flattened leaves the elements of the others as they were."""
    def gather(tile: Any, row: Any, column: Any) -> Any:
        indices = nisa.iota(63 - column, dtype=nl.uint32)
        at = nl.mgrid[0:64, 0:8]
        return nl.gather_flattened(tile, indices.broadcast_to((64, 64))[at.p, at.x], mask=at.x < 5)
    np.testing.assert_array_equal(masked(gather, (64, 8)),
                                  kept(DATA[:, :55:-1], COLUMN[:, :8] < 5))


@pytest.mark.parametrize("turn", [
    lambda tile, mask: nl.transpose(tile, mask=mask),
    lambda tile, mask: nisa.nc_transpose(tile, mask=mask),
    lambda tile, mask: nisa.dma_transpose(tile, mask=mask),
], ids=["transpose", "nc_transpose", "dma_transpose"])
def test_masks_of_transposes_have_the_axes_of_the_data(turn: Callable[[Any, Any], Any]) -> None:
    """What a mask leaves of rows is left of the columns of the result."""
    np.testing.assert_array_equal(masked(lambda t, p, f: turn(t, (p < 20) & (f < 7))),
                                  kept(DATA.T, (ROW < 7) & (COLUMN < 20)))


@pytest.mark.parametrize(("body", "message"), [
    (lambda t, m: nl.var(t, axis=1, mask=m), r"nl.var: the mask couples axes of a tile of shape \[64, 64\], or is no "
     "conjunction of affine comparisons, but must clip each axis by itself here; compare one index at a time, or"),
    (lambda t, m: nisa.max8(src=t, mask=m), "max8: the mask couples"),
    (lambda t, m: nisa.nc_find_index8(data=t, vals=nisa.max8(src=t), mask=m), "nc_find_index8: the mask couples"),
    (lambda t, m: nisa.nc_match_replace8(data=t, vals=nisa.max8(src=t), imm=0.0, mask=m),
     "nc_match_replace8: the mask couples"),
    (lambda t, m: nisa.bn_stats(t, mask=m), "bn_stats: the mask couples"),
    (lambda t, m: nisa.bn_aggr(t, mask=m), "bn_aggr: the mask couples"),
    (lambda t, m: nisa.tensor_partition_reduce(np.add, t, mask=m), "tensor_partition_reduce: the mask couples"),
    (lambda t, m: nisa.local_gather(t, nl.zeros((64, 64), nl.uint16), mask=m), "local_gather: the mask couples"),
    (lambda t, m: nl.transpose(t, mask=m), "nl.transpose: the mask couples"),
    (lambda t, m: nisa.nc_transpose(t, mask=m), "nc_transpose: the mask couples"),
    (lambda t, m: nisa.dma_transpose(t, mask=m), "dma_transpose: the mask couples"),
], ids=["var", "max8", "nc_find_index8", "nc_match_replace8", "bn_stats", "bn_aggr", "tensor_partition_reduce",
        "local_gather", "transpose", "nc_transpose", "dma_transpose"])
@pytest.mark.parametrize("mask", [lambda p, f: f <= p + 10, lambda p, f: (f + 0 * p) % 2 == 0],
                         ids=["coupled", "every second"])
def test_a_mask_of_what_is_no_element_of_the_result_couples_no_axes(
        body: Callable[[Any, Any], Any], message: str, mask: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(IllegalInstruction, match=message):
        masked(lambda t, p, f: body(t, mask(p, f)))


@pytest.mark.parametrize(("body", "message"), [
    (lambda t, p, f: nl.matmul(t, t, transpose_x=True, mask=f <= p), "nc_matmul: the mask couples axes of a tile of shape"),
    (lambda t, p, f: nisa.nc_matmul(t, t, mask=f <= p), "nc_matmul: the mask couples axes of a tile of shape"),
    (lambda t, p, f: nl.matmul(t[f <= p], t, transpose_x=True), "the mask couples axes of a tile of shape")])
def test_a_mask_of_a_product_couples_no_axes(body: Callable[[Any, Any, Any], Any], message: str) -> None:
    """Its axes are the contraction and the columns, and the result has none of the contraction."""
    with pytest.raises(IllegalInstruction, match=message):
        masked(body)


def test_masks_of_reductions_over_partitions_leave_rows_out() -> None:
    """tensor_partition_reduce adds up the partitions that a mask leaves."""
    def body(tile: Any, row: Any, column: Any) -> Any:
        return nisa.tensor_partition_reduce(np.add, tile, mask=(row < 20) & (column < 5))
    np.testing.assert_allclose(masked(body, (1, 64)),
                               kept(DATA[:20].sum(0, keepdims=True), COLUMN[:1] < 5), rtol=1e-4)


@pytest.mark.parametrize("axes", [3, -1, [2, 3], [1, 2, 3]], ids=str)
def test_variances_are_those_of_the_last_axes(axes: Any) -> None:
    """nl.var over some of the free axes, with rows longer than one bn_stats takes."""
    data = normal(16, 2, 3, 520)

    def kernel(operand: Any) -> Any:
        result = nl.var(nl.load(operand), axis=axes)
        output = nl.ndarray(result.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(output, result)
        return output
    expected = data.var(axis=tuple(axes) if isinstance(axes, list) else axes)
    found = run_kernel(kernel, data, api="neuronxcc.nki")
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-4)


@pytest.mark.parametrize(("mask", "message"), [
    (lambda t, p, f: t > 0, "mask= is Tensor, it must be comparisons of indices"),
    (lambda t, p, f: (p < 3, f < 4), "mask= is tuple, it must be comparisons of indices"),
    (lambda t, p, f: p, "mask= is an index expression, it must be a comparison"),
], ids=["tile", "tuple", "index"])
def test_masks_are_comparisons(mask: Callable[[Any, Any, Any], Any], message: str) -> None:
    """Everything else is refused."""
    with pytest.raises(UserError, match=message):
        masked(lambda t, p, f: nl.exp(t, mask=mask(t, p, f)))


@pytest.mark.parametrize("column", [
    lambda f: 5 - (f >= 2), lambda f: (f >= 2) - (-3), lambda f: (f >= 2) + 3,
    lambda f: 3 + (f >= 2), lambda f: (f >= 2) * 4, lambda f: 4 * (f >= 2)])
def test_a_comparison_of_indices_counts_as_zero_or_one(column: Callable[[Any], Any]) -> None:
    def kernel(x: Any) -> Any:
        row, at = nl.arange(64)[:, None], nl.arange(4)[None, :]
        found = nl.load(x[row, column(at)])
        output = nl.ndarray(found.shape, found.dtype, buffer=nl.shared_hbm)
        nl.store(output, found)
        return output
    wanted = DATA[:, column(np.arange(4))]
    np.testing.assert_array_equal(run_kernel(kernel, DATA, api="neuronxcc.nki"), wanted)
