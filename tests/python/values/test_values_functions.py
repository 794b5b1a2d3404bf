# SPDX-License-Identifier: Apache-2.0
# What functions and searches compute.
"""Activation functions against their definitions, derivatives against differences of what they
derive, and the largest elements against a sort."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from trnsim.frontend import ProgramError
from values_helpers import (
    BF16,
    Array,
    evaluate,
    nisa,
    nl,
    normal,
    run_kernel,
    stored,
    tile,
)

X = normal(64, 32)
POSITIVE = np.abs(X) + 0.1


def into(shape: tuple[int, ...], operation: Any) -> Any:
    """A new tile that `operation` has written."""
    result = tile(shape)
    operation(result)
    return result


def activated(name: str, x: Array) -> Array:
    return evaluate(lambda x: into(x.shape, lambda d: nisa.activation(d, getattr(nl, name), x)), x)


@pytest.mark.parametrize(("name", "wanted"), [
    ("abs", np.abs(X)), ("copy", X), ("gelu_apprx_sigmoid", X / (1 + np.exp(-1.702 * X)))])
def test_functions_of_any_number(name: str, wanted: Array) -> None:
    assert_allclose(activated(name, X), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "wanted"), [
    ("sqrt", np.sqrt(POSITIVE)), ("rsqrt", 1 / np.sqrt(POSITIVE)),
    ("reciprocal", 1 / POSITIVE), ("log", np.log(POSITIVE))])
def test_functions_of_positive_numbers(name: str, wanted: Array) -> None:
    assert_allclose(activated(name, POSITIVE), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("names", "wanted"), [
    (("gelu", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "silu", "mish"), [0, np.inf]),
    (("gelu_dx", "gelu_apprx_sigmoid_dx", "silu_dx"), [0, 1])])
def test_functions_are_their_limits_at_infinity(names: tuple[str, ...], wanted: list[float]) -> None:
    ends = np.array([[-np.inf, np.inf]], np.float32)
    for name in names:
        assert_array_equal(activated(name, ends), [wanted], err_msg=name)


def test_gelu_keeps_its_digits_where_it_nearly_vanishes() -> None:
    x = np.linspace(-7, -3, 64, dtype=np.float32).reshape(2, 32)
    exact = x.astype(np.float64)
    wanted = exact * np.vectorize(math.erfc)(-exact / math.sqrt(2)) / 2
    assert_allclose(activated("gelu", x), wanted, rtol=1e-6)
    inner = math.sqrt(2 / math.pi) * (exact + 0.044715 * exact ** 3)
    assert_allclose(activated("gelu_apprx_tanh", x), exact / (1 + np.exp(-2 * inner)), rtol=1e-5)


@pytest.mark.parametrize("name", ["gelu", "gelu_apprx_sigmoid", "silu", "erf"])
def test_a_derivative_is_the_slope_of_its_function(name: str) -> None:
    step = np.float32(2.0 ** -6)
    slope = (activated(name, X + step) - activated(name, X - step)) / (2 * step)
    assert_allclose(activated(f"{name}_dx", X), slope, atol=1e-3)


@pytest.mark.parametrize(("name", "wanted"), [
    ("cos", np.cos), ("tan", np.tan), ("ceil", np.ceil), ("floor", np.floor), ("trunc", np.trunc),
    ("negative", np.negative), ("sin", np.sin)])
def test_functions_that_no_activation_has_take_several_instructions(name: str,
                                                                     wanted: Any) -> None:
    x = np.clip(X, -1.4, 1.4)
    found = evaluate(lambda x: getattr(nl, name)(x), x)
    assert_allclose(found, wanted(x), rtol=1e-4, atol=1e-5)


def activated_twice(op0: Any, op1: Any, **options: Any) -> Array:
    return evaluate(lambda x: into(x.shape, lambda d: nisa.activate2(
        d, nl.copy, x, 3.0, 0.5, op0, op1, **options)), X, chip="trn3")


def test_activate2_has_two_operators_and_reverse_flags() -> None:
    assert_allclose(activated_twice(nl.multiply, nl.add), X * 3 + 0.5, rtol=1e-6)
    assert_allclose(activated_twice(nl.multiply, nl.subtract), X * 3 - 0.5, rtol=1e-6)
    assert_allclose(activated_twice(nl.multiply, nl.subtract, reverse1=True), 0.5 - X * 3, rtol=1e-6)


@pytest.mark.parametrize(("op", "wanted"), [
    (nl.add, lambda x: x.sum(1)), (nl.maximum, lambda x: x.max(1)), (nl.minimum, lambda x: x.min(1)),
    (nl.abs_max, lambda x: x[np.arange(len(x)), np.abs(x).argmax(1)])])
def test_activate2_reduces_what_it_returns(op: Any, wanted: Any) -> None:
    def body(x: Any) -> Any:
        result, total = tile(x.shape), tile((x.shape[0], 1))
        nisa.activate2(result, nl.square, x, 2.0, 1.0, nl.multiply, nl.subtract, reduce_op=op,
                       reduce_res=total, reduce_cmd=nisa.reduce_cmd.reset_reduce)
        return result, total
    result, total = evaluate(body, X, chip="trn3")
    squares = (X * 2 - 1) ** 2
    assert_allclose(result, squares, rtol=1e-5)
    assert_allclose(total[:, 0], wanted(squares), rtol=1e-4)


def test_prelu_has_a_slope_for_each_partition_left_of_zero() -> None:
    slopes = np.abs(normal(64, 1))

    def body(x: Any, slope: Any) -> Any:
        return into(x.shape, lambda d: nisa.activate2(d, nl.prelu, x, 1.0, 0.0, nl.multiply, nl.add,
                                                      relu_param=slope))
    assert_allclose(evaluate(body, X, slopes, chip="trn3"), np.where(X >= 0, X, slopes * X), rtol=1e-6)
    assert_allclose(activated("prelu", X), np.maximum(X, 0), rtol=1e-6)


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize(("count", "largest"), [(64, 8), (50, 16), (64, 40)])
def test_topk_finds_the_largest_of_sixteen_partitions(count: int, largest: int,
                                                      is_sorted: bool) -> None:
    x = normal(32, 4, kind=BF16)

    def body(x: Any) -> Any:
        values, places = tile((32, largest), nl.bfloat16), tile((32, largest), nl.uint32)
        nisa.memset(values, -99.0)
        nisa.memset(places, 99)
        nisa.topk(values, places, x, count, is_sorted)
        return values, places
    values, places = evaluate(body, x)
    for first in (0, 16):
        snake = x[first:first + 16].T.reshape(-1)[:count].astype(np.float32)
        wanted = np.sort(snake)[-largest:]
        found = values[first:first + 16].T.reshape(-1).astype(np.float32)
        assert_array_equal(found[:largest], wanted[::-1] if is_sorted else wanted)
        assert_array_equal(snake[places[first:first + 16].T.reshape(-1)[:largest]], found[:largest])
        assert (found[largest:] == -99).all()


def test_topk_reads_no_more_than_its_elements_and_writes_no_more_than_its_results() -> None:
    def body(x: Any) -> Any:
        source = tile((16, 3), nl.bfloat16)
        nisa.memset(source[:, 0:2], 1.0)
        values, places = tile((16, 8), nl.bfloat16), tile((16, 8), nl.uint32)
        nisa.topk(values, places, source, 32)
        return values
    with pytest.raises(ProgramError, match=r"element .0, 1. of .* nothing has written it"):
        evaluate(body, normal(16, 2))


def test_a_softmax_over_some_dimensions_sums_to_one_over_those() -> None:
    x = normal(64, 4, 8)
    found = evaluate(lambda x: nl.softmax(x, axis=-1), x)
    raised = np.exp(x - x.max(2, keepdims=True))
    assert_allclose(found, raised / raised.sum(2, keepdims=True), rtol=1e-5)
    everything = evaluate(lambda x: nl.softmax(x, axis=(1, 2)), x)
    assert_allclose(everything.sum((1, 2)), np.ones(64), rtol=1e-5)


def test_truths_of_rows() -> None:
    x = (normal(64, 8) > -1).astype(np.float32)
    assert_array_equal(evaluate(lambda x: nl.all(x, axis=1), x).ravel(), x.all(1))


def test_a_view_repeats_where_it_has_one_element() -> None:
    x = normal(64, 1, 8)
    assert_array_equal(evaluate(lambda x: nl.copy(x.broadcast_to((64, 4, 8))), x),
                       np.broadcast_to(x, (64, 4, 8)))




def test_a_transposing_load_has_columns_for_rows() -> None:
    x = normal(64, 32, kind=BF16)

    def kernel(x: Any) -> Any:
        return stored(nl.load_transpose2d(x))
    assert_array_equal(run_kernel(kernel, x, api="nki"), x.T)


@pytest.mark.parametrize("transposed", [
    lambda x: nl.load_transpose2d(x, dtype=nl.bfloat16),
    lambda x: nl.copy(nl.transpose(nl.load(x), dtype=nl.bfloat16))])
def test_transposes_have_the_type_asked_for(transposed: Callable[[Any], Any]) -> None:
    x = normal(64, 32)
    found = run_kernel(lambda x: stored(transposed(x)), x, api="nki")
    assert found.dtype == BF16
    assert_array_equal(found, x.T.astype(BF16))


@pytest.mark.parametrize("shapes", [((1, 8), (64, 8)), ((64, 8), (1, 8))])
def test_one_partition_is_combined_with_many(shapes: tuple[Any, Any]) -> None:
    x, y = (normal(*shape, seed=seed) for seed, shape in enumerate(shapes))
    assert_allclose(evaluate(nl.multiply, x, y), x * y, rtol=1e-6)


def test_integers_and_fractions_are_combined_as_fractions() -> None:
    x = np.arange(64, dtype=np.int32).reshape(32, 2)
    y = normal(32, 2, kind=BF16)
    found = evaluate(nl.add, x, y)
    assert found.dtype == BF16
    assert_array_equal(found, (x + y.astype(np.float32)).astype(BF16))


@pytest.mark.parametrize("shapes", [
    ((64, 8), (64, 8), (64, 8)), ((64, 8), (64, 1), (64, 8)), ((64, 1), (64, 8), (64, 8)),
    ((64, 1), (64, 8), (64, 1)), ((64, 8), (1, 8), (64, 1)), ((1, 8), (64, 8), (64, 8)),
    ((64, 2, 1), (64, 1, 8), (1, 2, 8))])
def test_choices_broadcast_as_in_numpy(shapes: tuple[Any, Any, Any]) -> None:
    condition, x, y = (normal(*shape, seed=seed) for seed, shape in enumerate(shapes))
    condition = (condition > 0).astype(np.float32)
    found = evaluate(nl.where, condition, x, y)
    assert_array_equal(found, np.where(condition != 0, x, y))


@pytest.mark.parametrize(("shape", "axes"), [
    ((64, 8), (1,)), ((64, 2, 4), (2,)), ((64, 2, 4), (1, 2)), ((64, 2, 3, 4), (2, 3)),
    ((64, 1, 8), (2,)), ((64, 8, 1), (2,))])
def test_rms_norm_divides_by_the_root_of_its_own_mean(shape: Any, axes: Any) -> None:
    x, w = normal(*shape), normal(*shape, seed=1)
    n = math.prod(shape[axis] for axis in axes)
    found = evaluate(lambda x, w: nl.rms_norm(x, w, axis=axes, n=n), x, w)
    wanted = x / np.sqrt((x * x).mean(axes, keepdims=True) + 1e-6) * w
    assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_integers_are_normalized_as_fractions() -> None:
    x, w = np.arange(1, 257, dtype=np.int32).reshape(32, 8), np.full((32, 8), 10, np.float32)
    found = evaluate(lambda x, w: nl.rms_norm(x, w, axis=1, n=8), x, w)
    wanted = 10 * x / np.sqrt((x.astype(float) ** 2).mean(1, keepdims=True))
    assert_array_equal(found, np.rint(wanted))


def test_a_tensor_is_iterated_over_by_its_rows() -> None:
    x = normal(3, 64, 8)

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for row, target in zip(x, out, strict=True):
            nisa.dma_copy(target, row)
        return out
    assert_array_equal(run_kernel(kernel, x, api="nki"), x)
