# SPDX-License-Identifier: Apache-2.0
# Every instruction of the `nki` API against numpy.
"""One test per instruction, of what its documentation says. [NKI-ISA]"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from trnsim.frontend import trace
from trnsim.frontend.values.generator import Generators
from trnsim.testing import assert_allclose
from values_helpers import (BF16, evaluate, integers, loaded, nisa, nl, normal, stored,
                            tile)

Array = Any
X, Y = normal(64, 96), normal(64, 96, seed=1)
COLUMN = normal(64, 1, seed=2)


def into(shape: tuple[int, ...], issue: Any, dtype: Any = None) -> Any:
    """A fresh tile that `issue` writes."""
    result = tile(shape, dtype)
    issue(result)
    return result


def test_tensor_tensor_computes_in_float32_and_rounds_once() -> None:
    a, b = X.astype(BF16), Y.astype(BF16)
    found = evaluate(lambda x, y: into(x.shape, lambda d: nisa.tensor_tensor(
        d, x, y, nl.multiply), nl.bfloat16), a, b)
    assert_allclose(found, (a.astype(np.float32) * b.astype(np.float32)).astype(BF16), rtol=0)


@pytest.mark.parametrize(("op", "reference"), [
    ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply),
    ("not_equal", lambda a, b: (a != b).astype(np.float32)), ("maximum", np.maximum), ("minimum", np.minimum),
    ("less", lambda a, b: (a < b).astype(np.float32)),
    ("greater_equal", lambda a, b: (a >= b).astype(np.float32)),
    ("logical_and", lambda a, b: ((a != 0) & (b != 0)).astype(np.float32)),
    ("abs_max", lambda a, b: np.where(np.abs(a) > np.abs(b), a, b))])
def test_tensor_tensor_operators(op: str, reference: Any) -> None:
    found = evaluate(lambda x, y: into(x.shape, lambda d: nisa.tensor_tensor(
        d, x, y, getattr(nl, op))), X, Y, chip="trn3" if op == "abs_max" else "trn2")
    assert_allclose(found, reference(X, Y), rtol=1e-7)


def test_integers_are_exact_on_gpsimd() -> None:
    a, b = integers(2**29, 2**30, 8, 16), integers(2**29, 2**30, 8, 16, seed=1)
    found = evaluate(lambda x, y: into(x.shape, lambda d: nisa.tensor_tensor(d, x, y, nl.add),
                                       nl.int32), a, b)
    assert_allclose(found, a + b, rtol=0)


def test_bitwise_operators_work_on_bits() -> None:
    a, b = (integers(0, 2**31, 8, 16, kind=np.uint32, seed=at) for at in (0, 1))
    found = evaluate(lambda x, y: (
        into(x.shape, lambda d: nisa.tensor_tensor(d, x, y, nl.bitwise_xor), nl.uint32),
        into(x.shape, lambda d: nisa.tensor_scalar(d, x, nl.right_shift, 5, False,
                                                   nl.bitwise_and, 255), nl.uint32)), a, b)
    assert_allclose(found, (a ^ b, (a >> 5) & 255), rtol=0)


@pytest.mark.parametrize(("reverse0", "reverse1"), [(False, False), (True, False), (False, True)])
def test_tensor_scalar_has_two_operators_and_reverse_flags(reverse0: bool, reverse1: bool) -> None:
    found = evaluate(lambda x, c: into(x.shape, lambda d: nisa.tensor_scalar(
        d, x, nl.subtract, c, reverse0, nl.subtract, 2.5, reverse1)), X, COLUMN)
    first = COLUMN - X if reverse0 else X - COLUMN
    assert_allclose(found, 2.5 - first if reverse1 else first - np.float32(2.5), rtol=1e-6)


@pytest.mark.parametrize(("op", "reference"), [
    ("abs", np.abs), ("rsqrt", lambda x: 1 / np.sqrt(x)), ("reciprocal", lambda x: 1 / x)])
def test_operators_of_one_operand(op: str, reference: Any) -> None:
    data = X if op == "abs" else 1 + X ** 2
    found = evaluate(lambda x: into(x.shape, lambda d: nisa.tensor_scalar(d, x, getattr(nl, op), None)), data)
    assert_allclose(found, reference(data), rtol=1e-5)


def test_operands_stand_behind_unless_they_are_reversed() -> None:
    found = evaluate(lambda x: into(x.shape, lambda d: nisa.tensor_scalar(
        d, x, nl.subtract, 3.0, op1=nl.subtract, operand1=2.5)), X)
    assert_allclose(found, X - np.float32(5.5), rtol=1e-5, atol=1e-6)


def test_scalar_tensor_tensor() -> None:
    found = evaluate(lambda x, y: into(x.shape, lambda d: nisa.scalar_tensor_tensor(
        d, x, nl.multiply, 3.0, nl.subtract, y, reverse1=True)), X, Y)
    assert_allclose(found, Y - 3 * X, rtol=1e-5, atol=1e-6)


def test_tensor_scalar_reduce_returns_both() -> None:
    def body(x: Any) -> Any:
        dst, total = tile(x.shape), tile((64, 1))
        nisa.tensor_scalar_reduce(dst, x, nl.add, 1.0, nl.maximum, total)
        return dst, total
    found = evaluate(body, X)
    assert_allclose(found, (X + 1, (X + 1).max(axis=1, keepdims=True)), rtol=1e-6)


def test_scalar_tensor_tensor_reduces_what_it_returns() -> None:
    def body(x: Any, y: Any) -> Any:
        dst, largest, total = tile(x.shape), tile((64, 1)), tile((64, 1))
        nisa.scalar_tensor_tensor(dst, x, nl.multiply, 3.0, nl.add, y, reduce_op=nl.maximum,
                                  reduce_res=largest)
        nisa.scalar_tensor_tensor(dst, x, nl.multiply, 3.0, nl.add, y, reduce_op=nl.add)
        nisa.scalar_tensor_tensor(dst, x, nl.multiply, 1.0, nl.subtract, y, reduce_op=nl.add,
                                  reduce_cmd=nisa.reduce_cmd.reduce, reduce_res=total)
        return dst, largest, total
    both = 3 * X + Y
    assert_allclose(evaluate(body, X, Y), (
        X - Y, both.max(axis=1, keepdims=True),
        both.sum(axis=1, keepdims=True) + (X - Y).sum(axis=1, keepdims=True)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("op", "reference"), [("max", np.max), ("min", np.min)])
def test_reductions_of_nl_name_operators(op: str, reference: Any) -> None:
    def body(x: Any) -> Any:
        total = tile((64, 1))
        nisa.tensor_scalar_reduce(tile(x.shape), x, nl.add, 1.0, getattr(nl, op), total)
        return total
    assert_allclose(evaluate(body, X), reference(X + 1, axis=1, keepdims=True), rtol=1e-6)


def test_accumulators_last_from_one_instruction_to_the_next() -> None:
    def body(x: Any) -> Any:
        dst, total = tile(x.shape), tile((64, 1))
        nisa.tensor_scalar_reduce(dst, x, nl.multiply, 1.0, nl.add)
        nisa.tensor_scalar_reduce(dst, x, nl.multiply, 2.0, nl.add, total,
                                  reduce_cmd=nisa.reduce_cmd.reduce)
        return total
    assert_allclose(evaluate(body, X), 3 * X.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-4)


def test_tensor_scalar_cumulative() -> None:
    def body(x: Any) -> Any:
        first, second = tile(x.shape), tile(x.shape)
        nisa.tensor_scalar_cumulative(first, x, nl.multiply, nl.add, 2.0)
        nisa.tensor_scalar_cumulative(second, x, nl.add, nl.maximum, 0.0, 0.5,
                                      nisa.reduce_cmd.load_reduce)
        return first, second
    found = evaluate(body, X)
    assert_allclose(found, (np.cumsum(2 * X, axis=1),
                            np.maximum(np.maximum.accumulate(X, axis=1), 0.5)), rtol=1e-4,
                    atol=1e-4)


@pytest.mark.parametrize(("op", "reference"), [("add", np.sum), ("maximum", np.max),
                                               ("minimum", np.min), ("multiply", np.prod)])
def test_tensor_reduce_takes_the_last_dimensions(op: str, reference: Any) -> None:
    data = normal(32, 3, 4, 5)
    found = evaluate(lambda x: into((32, 3), lambda d: nisa.tensor_reduce(
        d, getattr(nl, op), x, axis=(2, 3), negate=True)), data)
    assert_allclose(found, -reference(data, axis=(2, 3)), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("op", "reference"), [(nl.add, np.sum), (nl.mean, np.mean),
                                               (nl.max, np.max)])
def test_tensor_partition_reduce(op: Any, reference: Any) -> None:
    found = evaluate(lambda x: into((1, 96), lambda d: nisa.tensor_partition_reduce(d, op, x)), X)
    assert_allclose(found, reference(X, axis=0, keepdims=True), rtol=1e-4, atol=1e-5)


def test_tensor_partition_reduce_of_bits() -> None:
    data = integers(0, 1 << 20, 64, 96)
    found = evaluate(lambda x: into((1, 96), lambda d: nisa.tensor_partition_reduce(
        d, nl.bitwise_xor, x), nl.int32), data)
    assert np.array_equal(found, np.bitwise_xor.reduce(data, axis=0, keepdims=True))


def test_tensor_tensor_scan() -> None:
    found = evaluate(lambda x, y, c: into(x.shape, lambda d: nisa.tensor_tensor_scan(
        d, x, y, c, nl.multiply, nl.add)), X, Y, COLUMN)
    state, wanted = COLUMN[:, 0].astype(np.float64), np.empty(X.shape)
    for at in range(X.shape[1]):
        state = wanted[:, at] = X[:, at] * state + Y[:, at]
    assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_activation_scales_adds_and_sums_up() -> None:
    def body(x: Any, bias: Any) -> Any:
        dst, total = tile(x.shape), tile((64, 1))
        nisa.activation(dst, nl.exp, x, bias=bias, scale=0.5, reduce_op=nl.add, reduce_res=total,
                        reduce_cmd=nisa.reduce_cmd.reset_reduce)
        return dst, total
    wanted = np.exp(0.5 * X + COLUMN)
    assert_allclose(evaluate(body, X, COLUMN), (wanted, wanted.sum(axis=1, keepdims=True)),
                    rtol=1e-5)


def test_activation_reduce_without_a_result_leaves_it_in_the_accumulator() -> None:
    def body(x: Any) -> Any:
        dst, total = tile(x.shape), tile((64, 1))
        for function in (nl.exp, nl.copy):
            nisa.activation_reduce(dst, function, x, nl.add, None)
        nisa.activation(dst, nl.square, x, reduce_op=nl.add, reduce_res=total,
                        reduce_cmd=nisa.reduce_cmd.reduce)
        return total
    assert_allclose(evaluate(body, X), (X + X * X).sum(axis=1, keepdims=True), rtol=1e-4,
                    atol=1e-4)


_erf = np.vectorize(math.erf)
SIGMOID = 1 / (1 + np.exp(-X.astype(np.float64)))
FUNCTIONS = {
    "exp": np.exp(X), "tanh": np.tanh(X), "sigmoid": SIGMOID, "silu": X * SIGMOID,
    "relu": np.maximum(X, 0), "gelu": X * 0.5 * (1 + _erf(X / math.sqrt(2))), "erf": _erf(X),
    "softplus": np.log1p(np.exp(X)), "square": X * X, "sign": np.sign(X), "arctan": np.arctan(X),
    "silu_dx": SIGMOID * (1 + X * (1 - SIGMOID)),
    "mish": X * np.tanh(np.log1p(np.exp(X))),
    "gelu_apprx_tanh": 0.5 * X * (1 + np.tanh(math.sqrt(2 / math.pi) * (X + 0.044715 * X**3)))}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_activation_functions(name: str) -> None:
    found = evaluate(lambda x: into(x.shape, lambda d: nisa.activation(d, getattr(nl, name), x)), X)
    assert_allclose(found, FUNCTIONS[name], rtol=1e-5, atol=1e-6)


def test_a_sine_beyond_pi_is_a_cubic() -> None:
    given = np.array([[9.0, -9.0, math.pi + 0.01, 2.0]], np.float32)
    found = evaluate(lambda x: into(x.shape, lambda d: nisa.activation(d, nl.sin, x)), given)
    assert_allclose(found, [[27.65, -27.65, -0.01, math.sin(2.0)]], rtol=1e-4, atol=1e-6)


def test_matmul_accumulates_in_psum() -> None:
    a, b = normal(128, 64, kind=BF16), normal(128, 256, kind=BF16)

    def body(x: Any, y: Any) -> Any:
        psum = tile((64, 256), buffer=nl.psum)
        for _ in range(3):
            nisa.nc_matmul(psum, x, y)
        return psum
    wanted = 3 * (a.astype(np.float32).T @ b.astype(np.float32))
    assert_allclose(evaluate(body, a, b), wanted, rtol=1e-5, atol=1e-4)


def test_double_row_matmul_contracts_over_two_dimensions() -> None:
    kind = ml_dtypes.float8_e4m3
    a, b = normal(128, 2, 64, kind=kind), normal(128, 2, 256, kind=kind)

    def body(x: Any, y: Any) -> Any:
        psum = tile((64, 256), buffer=nl.psum)
        nisa.nc_matmul(psum, x, y, perf_mode=nisa.matmul_perf_mode.double_row)
        return psum
    wanted = np.einsum("kim,kin->mn", a.astype(np.float32), b.astype(np.float32))
    assert_allclose(evaluate(body, a, b), wanted, rtol=1e-5, atol=1e-4)


def test_transposes_are_bit_accurate() -> None:
    data = X.copy()
    data[3, 4], data[5, 6] = np.nan, np.inf

    def body(x: Any) -> Any:
        psum = tile((96, 64), buffer=nl.psum)
        nisa.nc_transpose(psum, x)
        copy = tile((96, 64))
        nisa.dma_transpose(copy, x)
        return psum, copy
    assert_allclose(evaluate(body, data), (data.T, data.T), rtol=0)


def test_the_array_of_v2_transposes_by_multiplying_with_the_identity() -> None:
    data = X[:, :32].copy()
    data[3, 4], data[5, 6], data[[7, 8], 9] = np.nan, -np.inf, np.inf

    def body(x: Any) -> Any:
        by_array = tile((32, 64), buffer=nl.psum)
        nisa.nc_transpose(by_array, x)
        by_vector = tile((32, 32))
        nisa.nc_transpose(by_vector, x[0:32, :], engine=nisa.engine.vector)
        return by_array, by_vector
    wanted = data.T.copy()
    wanted[[4, 6, 9]] = np.nan
    wanted[6, 5] = -np.inf
    assert_allclose(evaluate(body, data, chip="trn1"), (wanted, data[:32].T), rtol=0)
    assert_allclose(evaluate(body, data, chip="trn2"), (data.T, data[:32].T), rtol=0)


def test_dma_compute_adds() -> None:
    assert_allclose(evaluate(lambda x, y: into(x.shape, lambda d: nisa.dma_compute(
        d, [x, y], nl.add)), X, Y), X + Y, rtol=1e-6)


def test_iota_and_affine_select() -> None:
    def body(x: Any) -> Any:
        numbers = tile((64, 96), nl.int32)
        nisa.iota(numbers, [[10, 8], [1, 12]], offset=3, channel_multiplier=100)
        causal = tile((64, 96))
        nisa.affine_select(causal, [[-1, 96]], 1, x, -7.0, nl.greater_equal)
        return numbers, causal
    p, f = np.mgrid[0:64, 0:96]
    wanted = 3 + 100 * p + 10 * (f // 12) + f % 12
    assert_allclose(evaluate(body, X), (wanted.astype(np.int32), np.where(p >= f, X, -7.0)), rtol=0)


def test_affine_select_keeps_elements_of_the_same_type_as_they_are() -> None:
    data = integers(2**29, 2**30, 64, 96) | 1

    def body(x: Any) -> Any:
        same, other = tile((64, 96), nl.int32), tile((64, 96))
        for dst in (same, other):
            nisa.affine_select(dst, [[-1, 96]], 1, x, -7.0, nl.greater_equal)
        return same, other
    p, f = np.mgrid[0:64, 0:96]
    wanted = np.where(p >= f, data, -7)
    assert_allclose(evaluate(body, data), (wanted.astype(np.int32), wanted.astype(np.float32)),
                    rtol=0)


@pytest.mark.parametrize("fill", [float(np.finfo(np.float32).min), None, ...])
def test_range_select(fill: Any) -> None:
    low, high = np.full((64, 1), 10, np.float32), normal(64, 1) * 20 + 50

    def body(x: Any, first: Any, last: Any) -> Any:
        dst, largest = tile(x.shape), tile((64, 1))
        nisa.range_select(dst, x, nl.greater_equal, nl.less, first, last, reduce_res=largest,
                          range_start=2, on_false_value=fill)
        return dst, largest
    columns = np.arange(2, 98)[None]
    wanted = np.where((columns >= low) & (columns < high), X, np.finfo(np.float32).min)
    assert_allclose(evaluate(body, X, low, high), (wanted, wanted.max(axis=1, keepdims=True)),
                    rtol=0)


def test_predicated_copies() -> None:
    mask = integers(0, 2, 64, 96, kind=np.uint8)

    def body(x: Any, y: Any, m: Any) -> Any:
        some, others = into(x.shape, lambda d: nisa.tensor_copy(d, y)), tile(x.shape)
        nisa.tensor_copy_predicated(some, x, m)
        nisa.select_reduce(others, m, x, 4.0, reverse_pred=True)
        return some, others
    assert_allclose(evaluate(body, X, Y, mask), (np.where(mask, X, Y), np.where(mask, 4.0, X)),
                    rtol=0)


@pytest.mark.parametrize("kind", [np.int32, np.uint32])
def test_a_predicated_number_keeps_all_its_bits(kind: Any) -> None:
    data, mask = integers(0, 9, 64, 96, kind=kind), integers(0, 2, 64, 96, kind=np.uint8)

    def body(x: Any, m: Any) -> Any:
        nisa.tensor_copy_predicated(x, 2**30 + 1, m)
        return x
    assert np.array_equal(evaluate(body, data, mask), np.where(mask, kind(2**30 + 1), data))


def test_batch_statistics() -> None:
    data = normal(64, 1001) * 3 + 5

    def body(x: Any) -> Any:
        stats, moments = tile((64, 3, 6)), tile((64, 2))
        for at, (first, last) in enumerate([(0, 512), (512, 1000), (1000, 1001)]):
            nisa.bn_stats(stats[:, at, :], x[:, first:last])
        nisa.bn_aggr(moments, stats)
        return moments
    wanted = np.stack([data.mean(axis=1), data.var(axis=1)], axis=1)
    assert_allclose(evaluate(body, data), wanted, rtol=1e-4)


def test_eight_largest_found_and_replaced() -> None:
    data = integers(0, 12, 16, 40).astype(np.float32)

    def body(x: Any) -> Any:
        largest, where, rest = tile((16, 8)), tile((16, 8), nl.uint32), tile((16, 40))
        nisa.max8(largest, x)
        nisa.nc_find_index8(where, x, largest)
        nisa.nc_match_replace8(rest, x, largest, -1.0)
        return largest, where, rest
    largest, where, rest = evaluate(body, data)
    assert_allclose(largest, -np.sort(-data, axis=1)[:, :8], rtol=0)
    assert_allclose(np.take_along_axis(data, where.astype(np.int64), axis=1), largest, rtol=0)
    assert all(len(set(row)) == 8 for row in where.tolist())
    wanted = data.copy()
    np.put_along_axis(wanted, where.astype(np.int64), -1.0, axis=1)
    assert_allclose(rest, wanted, rtol=0)


def test_gathers_on_chip() -> None:
    index = integers(0, 96, 64, 20, kind=np.uint32)
    found = evaluate(lambda x, i: into((64, 20), lambda d: nisa.nc_n_gather(d, x, i)), X, index)
    assert_allclose(found, np.take_along_axis(X, index.astype(np.int64), axis=1), rtol=0)


def test_a_matmul_shares_indices_among_32_partitions() -> None:
    data, index = normal(64, 48, kind=BF16), integers(0, 48, 64, 2, kind=np.uint16)
    weights = normal(64, 8, kind=BF16)

    def body(x: Any, w: Any, i: Any) -> Any:
        result = tile((8, 40), buffer=nl.psum)
        for _ in range(2):
            nisa.nc_matmul(result, w, x.indirect(i, 40))
        return result
    chosen = np.stack([data[p, [index[p // 32 * 32 + j % 32, j // 32] for j in range(40)]]
                       for p in range(64)]).astype(np.float32)
    assert_allclose(evaluate(body, data, weights, index, chip="trn3"),
                    2 * weights.astype(np.float32).T @ chosen, rtol=1e-5, atol=1e-5)


def test_gather_and_scatter_by_dma() -> None:
    from trnsim.frontend import run_kernel
    index = np.random.default_rng(0).permutation(64).astype(np.int32)[:, None]

    def kernel(table: Any, indices: Any) -> Any:
        i = tile((64, 1), nl.int32)
        nisa.dma_copy(i, indices)
        rows = tile((64, 96))
        nisa.dma_copy(rows, table.ap([[96, 64], [1, 96]], vector_offset=i, indirect_dim=0))
        out = nl.ndarray((64, 96), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out.ap([[96, 64], [1, 96]], vector_offset=i, indirect_dim=0), rows)
        one = tile((1, 96))
        nisa.dma_copy(one, table.select(0, i[3:4]).reshape((1, 96)))
        row = nl.ndarray((1, 96), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(row, one)
        return out, row
    found = run_kernel(kernel, X, index, api="nki")
    assert_allclose(found, (X, X[index[3]]), rtol=0)


def test_a_gathering_transpose_takes_its_indices_by_columns() -> None:
    from trnsim.frontend import run_kernel
    table, index = normal(300, 128, kind=BF16), integers(0, 300, 128, 2, kind=np.uint32)

    def kernel(source: Any, indices: Any) -> Any:
        there = source.ap([[128, 256], [1, 128]], vector_offset=loaded(indices), indirect_dim=0)
        dst = tile((128, 256), nl.bfloat16)
        nisa.dma_transpose(dst, there, axes=(1, 0))
        return stored(dst)
    assert_allclose(run_kernel(kernel, table, index, api="nki"), table[index.T.reshape(-1)].T,
                    rtol=0)


def test_stream_shuffle_reorders_each_quadrant() -> None:
    mask = [(7 * at + 3) % 32 for at in range(32)]
    found = evaluate(lambda x: into(x.shape, lambda d: nisa.nc_stream_shuffle(d, x, mask)), X)
    assert_allclose(found, X.reshape(2, 32, 96)[:, mask].reshape(64, 96), rtol=0)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_gather_by_groups_takes_neighbours(count: int) -> None:
    data, index = normal(32, 96), integers(0, 96 - count, 32, 3, kind=np.uint16)
    found = evaluate(lambda x, i: into((32, 48 * count), lambda d: nisa.local_gather(
        d, x, i, num_elem_per_idx=count, num_valid_indices=48)), data, index)
    for core in (0, 16):
        first = index[core:core + 16].T.reshape(-1).astype(int)
        wanted = [data[core:core + 16, at:at + count] for at in first]
        assert_allclose(found[core:core + 16], np.concatenate(wanted, axis=1), rtol=0)


def test_nonzero_with_count() -> None:
    data = np.zeros((1, 8), np.float32)
    data[0, [1, 2, 5]] = 1
    found = evaluate(lambda x: into((1, 9), lambda d: nisa.nonzero_with_count(d, x, 16, -1),
                                    nl.int32), data)
    assert found.tolist() == [[17, 18, 21, -1, -1, -1, -1, -1, 3]]


def test_sequence_bounds() -> None:
    ids = np.array([[0, 1, 1, 2, 2, 2, 0, 3, 3]], np.int32)
    found = evaluate(lambda x: into((1, 2, 9), lambda d: nisa.sequence_bounds(d, x), nl.int32), ids)
    assert found.tolist() == [[[9, 1, 1, 3, 3, 3, 9, 7, 7], [-1, 3, 3, 6, 6, 6, -1, 9, 9]]]


def test_random_numbers_repeat_with_their_seed() -> None:
    def body(seed: Any, x: Any) -> Any:
        first, second, dropped = tile((64, 96), nl.uint32), tile((64, 96), nl.uint32), tile(x.shape)
        for dst in (first, second):
            nisa.set_rng_seed(seed)
            nisa.rng(dst)
        nisa.dropout(dropped, x, 0.25)
        return first, second, dropped
    first, second, dropped = evaluate(body, np.array([[9]], np.int32), X)
    assert_allclose(first, second, rtol=0)
    assert abs(first.astype(np.float64).mean() / 2**31 - 1) < 0.05
    assert abs((dropped == 0).mean() - 0.25) < 0.03
    assert set(np.unique(dropped)) <= {0.0, *np.unique(X)}


XORWOW = [123456789, 362436069, 521288629, 88675123, 5783321, 6615241]
"""The state that Marsaglia begins with ("Xorshift RNGs", 2003), and what it gives."""
NUMBERS = [246875399, 3690007200, 1264581005, 3906711041, 1866187943]


def test_random_numbers_are_those_of_xorwow() -> None:
    generators = Generators(0, 3)
    before = generators.get_state("gpsimd", 3)
    generators.set_state("gpsimd", np.array([XORWOW]))
    generators.set_state("vector", np.tile(XORWOW, (2, 4)))
    assert generators.bits("gpsimd", 1, 2).tolist() == [NUMBERS[:2]]
    assert generators.bits("gpsimd", 1, 3).tolist() == [NUMBERS[2:]]
    assert (generators.get_state("gpsimd", 3)[1:] == before[1:]).all()
    assert generators.bits("vector", 2, 10).tolist() == [[NUMBERS[at // 4] for at in range(10)]] * 2
    assert generators.uniform("vector", 1, 1)[0, 0] == np.float32(NUMBERS[3] >> 8) / 2**24


@pytest.mark.parametrize("kind", [nl.uint8, nl.int16, nl.int32, nl.uint32])
def test_random_integers_fill_all_bits(kind: Any) -> None:
    def body(seed: Any) -> Any:
        nisa.set_rng_seed(seed)
        return into((64, 96), nisa.rng, kind)
    found = evaluate(body, np.array([[9]], np.int32)).astype(np.int64)
    bits = 8 * kind.itemsize
    set_bits = [(found >> bit & 1).mean() for bit in range(bits)]
    assert all(abs(one - 0.5) < 0.05 for one in set_bits)


def test_exponential_and_uniform_numbers_of_trainium3() -> None:
    def body(x: Any) -> Any:
        dst, total, noise = tile(x.shape), tile((64, 1)), tile(x.shape)
        nisa.exponential(dst, x, 0.5, total, nisa.reduce_cmd.reset_reduce)
        nisa.rand2(noise, 2.0, 3.0)
        return dst, total, noise
    raised, total, noise = evaluate(body, X, chip="trn3")
    assert_allclose((raised, total), (np.exp(X - 0.5), np.exp(X - 0.5).sum(axis=1, keepdims=True)),
                    rtol=1e-5)
    assert noise.min() >= 2 and noise.max() <= 3


def test_every_operation_has_an_evaluator() -> None:
    from trnsim.frontend.legality.rules import RULES
    from trnsim.frontend.values.evaluate import EVALUATORS
    assert set(RULES) <= set(EVALUATORS)


@pytest.mark.parametrize(("more", "expected"), [
    ({}, lambda x, y: x + y), ({"op1": nl.subtract, "operand1": 3}, lambda x, y: x + y - 3),
    ({"op1": nl.subtract, "operand1": 3, "reverse1": True}, lambda x, y: 3 - (x + y))])
def test_a_column_of_integers_is_added_to_integers_exactly(more: Any, expected: Any) -> None:
    x = np.array([[2**24 + 1, 2**31 - 1], [-5, 7]], np.int32)
    y = np.array([[2], [2**30 + 1]], np.int32)
    found = evaluate(lambda a, b: into(a.shape, lambda d: nisa.tensor_scalar(
        d, a, nl.add, b, **more), nl.int32), x, y)
    with np.errstate(over="ignore"):
        assert np.array_equal(found, expected(x, y))


def test_a_column_of_integers_is_added_to_unsigned_ones_exactly() -> None:
    x, y = np.array([[2**32 - 1, 0]], np.uint32), np.array([[2]], np.int32)
    found = evaluate(lambda a, b: into(a.shape, lambda d: nisa.tensor_scalar(d, a, nl.subtract, b),
                                       nl.uint32), x, y)
    assert found.tolist() == [[2**32 - 3, 2**32 - 2]]


@pytest.mark.parametrize(("accumulate", "reads", "is_lost"), [
    (False, False, True), (None, False, False), (False, True, False)])
def test_a_product_that_nobody_reads_before_the_next_is_a_warning(
        accumulate: bool | None, reads: bool, is_lost: bool) -> None:
    def kernel(x: Any) -> Any:
        data, result = loaded(x), tile((32, 32))
        product = nl.ndarray((32, 32), dtype=nl.float32, buffer=nl.psum)
        for _ in range(3):
            nisa.nc_matmul(product, data, data, accumulate=accumulate)
            if reads:
                nisa.tensor_copy(result, product)
        nisa.tensor_copy(result, product)
        return stored(result)
    notes = trace(kernel, [normal(64, 32)], api="nki", values=True).notes
    assert [note.partition(": ")[2] for note in notes] == [
        "a matmul overwrites a product in 'product' that nothing has read; pass accumulate=True to "
        "add to it"] * is_lost
