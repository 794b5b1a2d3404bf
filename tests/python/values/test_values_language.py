# SPDX-License-Identifier: Apache-2.0
# Functions of nki.language, of both APIs, against numpy.
"""What the functions above the instructions compute. [NKI-LANGUAGE]"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from trnsim.frontend import IllegalInstruction, run_kernel
from trnsim.testing import assert_allclose
from values_helpers import BF16, integers, loaded, nl, normal, stored

old: Any = importlib.import_module("neuronxcc.nki.language")
oldisa: Any = importlib.import_module("neuronxcc.nki.isa")
Array = Any
X, Y = normal(64, 96) * 3, normal(64, 96, seed=1)
POSITIVE = np.abs(Y) + np.float32(0.1)
COLUMN = normal(64, 1, seed=2)


def in_new(body: Callable[..., Any], *arrays: Array) -> Any:
    """What `body` makes of tiles of the `nki` API."""
    return run_kernel(lambda *given: stored(body(nl, *(loaded(one) for one in given))), *arrays,
                      api="nki")


def in_old(body: Callable[..., Any], *arrays: Array) -> Any:
    """What `body` makes of tiles of the `neuronxcc.nki` API."""
    def kernel(*given: Any) -> Any:
        result = body(old, *(old.load(one) for one in given))
        out = old.ndarray(result.shape, dtype=result.dtype, buffer=old.shared_hbm)
        old.store(out, value=result)
        return out
    return run_kernel(kernel, *arrays, api="neuronxcc.nki")


BOTH = pytest.mark.parametrize("run", [in_new, in_old], ids=["nki", "neuronxcc"])

UNARY: dict[str, tuple[Array, Array]] = {
    "abs": (X, np.abs(X)), "negative": (X, -X), "reciprocal": (POSITIVE, 1 / POSITIVE),
    "square": (X, X * X), "sqrt": (POSITIVE, np.sqrt(POSITIVE)), "exp": (X, np.exp(X)),
    "rsqrt": (POSITIVE, 1 / np.sqrt(POSITIVE)), "log": (POSITIVE, np.log(POSITIVE)),
    "sin": (X, np.sin(X)), "cos": (X, np.cos(X)), "floor": (X, np.floor(X)),
    "ceil": (X, np.ceil(X)), "trunc": (X, np.trunc(X)), "sign": (X, np.sign(X)),
    "tanh": (X, np.tanh(X)), "copy": (X, X)}


def test_a_result_is_true_if_all_of_its_elements_are() -> None:
    def check(new: Any, x: Any) -> Any:
        assert new.equal(new.square(x), new.multiply(x, x))
        assert not new.equal(x, new.full((64, 96), 3.0, dtype=new.float32, buffer=new.sbuf))
        assert not new.greater(x, 0.0)
        return x
    assert_allclose(in_new(check, X), X)


@BOTH
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name: str, run: Callable[..., Any]) -> None:
    data, wanted = UNARY[name]
    found = run(lambda language, x: getattr(language, name)(x), data)
    assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)


@BOTH
@pytest.mark.parametrize("name", [*UNARY, "add", "multiply", "maximum", "divide"])
def test_results_have_the_type_that_is_asked_for(name: str, run: Callable[..., Any]) -> None:
    data, wanted = UNARY.get(name) or (POSITIVE, {"add": POSITIVE * 2, "multiply": POSITIVE ** 2}.get(
        name, POSITIVE if name == "maximum" else np.ones_like(POSITIVE)))

    def body(language: Any, x: Any) -> Any:
        operands = (x,) if name in UNARY else (x, x)
        result = getattr(language, name)(*operands, dtype=language.bfloat16)
        assert result.dtype == language.bfloat16
        return result
    assert_allclose(run(body, data).astype(np.float32), wanted, rtol=2 ** -8, atol=1e-5)


@pytest.mark.parametrize("chip", ["trn1", "trn2"])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_beyond_pi_are_of_a_reduced_range(name: str, chip: str) -> None:
    found = run_kernel(lambda x: stored(getattr(nl, name)(loaded(x))), 5 * X, api="nki", chip=chip)
    assert_allclose(found, getattr(np, name)(5 * X), rtol=1e-5, atol=1e-5)


@BOTH
@pytest.mark.parametrize(("name", "reference"), [
    ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
    ("maximum", np.maximum), ("minimum", np.minimum), ("mod", np.mod), ("fmod", np.fmod)])
@pytest.mark.parametrize("kind", ["tiles", "column", "number", "reversed number", "reversed column"])
def test_binary_functions(name: str, reference: Any, kind: str, run: Callable[..., Any]) -> None:
    other = {"tiles": POSITIVE, "number": np.float32(1.7), "reversed number": np.float32(1.7)}.get(
        kind, np.abs(COLUMN) + np.float32(0.2))
    left, right = (other, POSITIVE) if kind.startswith("reversed") else (X, other)

    def body(language: Any, *tiles: Any) -> Any:
        function = getattr(language, name)
        if kind == "number":
            return function(tiles[0], float(other))
        if kind == "reversed number":
            return function(float(other), tiles[0])
        return function(*tiles)
    arrays = [one for one in (left, right) if getattr(one, "shape", ())]
    if name in ("mod", "fmod") and kind == "tiles":
        pytest.skip("no element-wise remainder of two tiles is needed")
    assert_allclose(run(body, *arrays), reference(left, right), rtol=2e-5, atol=1e-5)


@BOTH
@pytest.mark.parametrize(("name", "reference"), [
    ("less", np.less), ("less_equal", np.less_equal), ("greater", np.greater),
    ("greater_equal", np.greater_equal), ("equal", np.equal), ("not_equal", np.not_equal)])
def test_comparisons_and_their_mirrors(name: str, reference: Any, run: Callable[..., Any]) -> None:
    data = integers(0, 4, 64, 96).astype(np.float32)
    found = run(lambda language, x: getattr(language, name)(x, 2.0), data)
    mirrored = run(lambda language, x: getattr(language, name)(2.0, x), data)
    assert_allclose(found.astype(np.float32), reference(data, 2.0), rtol=0)
    assert_allclose(mirrored.astype(np.float32), reference(2.0, data), rtol=0)


@BOTH
@pytest.mark.parametrize(("name", "reference"), [("sum", np.sum), ("max", np.max), ("min", np.min),
                                                 ("mean", np.mean), ("prod", np.prod)])
def test_reductions(name: str, reference: Any, run: Callable[..., Any]) -> None:
    data = normal(32, 6, 8)
    found = run(lambda language, x: getattr(language, name)(x, axis=(1, 2), keepdims=True), data)
    assert_allclose(found.reshape(32), reference(data, axis=(1, 2)), rtol=1e-4, atol=1e-5)
    found = run(lambda language, x: getattr(language, name)(x, axis=2), data)
    assert_allclose(found, reference(data, axis=2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [2, (1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_variance_keeps_the_reduced_dimensions(axis: Any, keepdims: bool) -> None:
    data = normal(32, 6, 8)
    found = in_new(lambda language, x: language.var(x, axis, keepdims=keepdims), data)
    assert_allclose(found, data.var(axis, keepdims=True), rtol=1e-4)


@pytest.mark.parametrize(("first", "last"), [(0, 1100), (70, 1100), (300, 900)])
def test_the_variance_of_a_long_row_or_a_part_of_it(first: int, last: int) -> None:
    data = normal(32, 1100) + np.linspace(0, 9, 1100, dtype=np.float32)
    found = in_new(lambda language, x: language.var(x[:, first:last], 1), data)
    assert_allclose(found, data[:, first:last].var(1, keepdims=True), rtol=1e-4)


@BOTH
def test_compositions(run: Callable[..., Any]) -> None:
    weights = np.exp(X - X.max(axis=1, keepdims=True))
    softmax = weights / weights.sum(axis=1, keepdims=True)
    assert_allclose(run(lambda one, x: one.softmax(x, axis=1), X), softmax, rtol=1e-5, atol=1e-7)
    assert_allclose(run(lambda one, x: one.var(x, axis=1), X), X.var(axis=1, keepdims=True),
                    rtol=1e-4)
    norm = X / np.sqrt((X * X).mean(axis=1, keepdims=True) + 1e-6) * Y
    assert_allclose(run(lambda one, x, y: one.rms_norm(x, y, 1, 96), X, Y), norm, rtol=1e-5)
    chosen = run(lambda one, x, y: one.where(one.greater(x, 0.5), x, y), X, Y)
    assert_allclose(chosen, np.where(X > 0.5, X, Y), rtol=0)
    assert_allclose(run(lambda one, x: one.transpose(x), X), X.T, rtol=0)
    assert_allclose(run(lambda one, x, y: one.matmul(x, y), X, Y.T.copy()), X @ Y.T, rtol=1e-4,
                    atol=1e-4)
    row = X[:1].copy()
    assert_allclose(run(lambda one, x, y: one.multiply(x, y), COLUMN, row), COLUMN * row, rtol=0)
    assert_allclose(run(lambda one, x: one.broadcast_to(x, (64, 96)), row), np.repeat(row, 64, 0),
                    rtol=0)


def test_integers_and_logic() -> None:
    data = integers(0, 256, 64, 96)
    for run in (in_new, in_old):
        assert_allclose(run(lambda one, x: one.invert(x), data), ~data, rtol=0)
        assert_allclose(run(lambda one, x: one.left_shift(one.bitwise_and(x, 15), 2), data),
                        (data & 15) << 2, rtol=0)
        found = run(lambda one, x: one.logical_not(x), data)
        assert_allclose(found.astype(np.int32), data == 0, rtol=0)


# The 0.1 API ----------------------------------------------------------------------------------


def old_kernel(body: Callable[..., Any], *arrays: Array, shape: tuple[int, ...],
               dtype: Any = np.float32, grid: Any = None) -> Any:
    """The output of `shape` that `body(out, *arguments)` stores to."""
    nki: Any = importlib.import_module("neuronxcc.nki")

    def kernel(*given: Any) -> Any:
        out = old.ndarray(shape, dtype=dtype, buffer=old.shared_hbm)
        body(out, *given)
        return out
    decorated = nki.jit(kernel)
    return run_kernel(decorated if grid is None else decorated[grid], *arrays)


@pytest.mark.parametrize(("rows", "dtype"), [(96, np.float32), (300, np.float32), (96, np.float16)])
def test_a_transposing_load_gives_the_transpose(rows: int, dtype: Any) -> None:
    data = normal(rows, 64).astype(dtype)
    found = old_kernel(lambda out, x: old.store(out, value=old.load_transpose2d(x)), data,
                       shape=(64, rows), dtype=dtype)
    np.testing.assert_array_equal(found, data.T)


def test_masks_of_one_axis_clip_and_those_of_two_select() -> None:
    def body(out: Any, x: Any) -> None:
        p, f = old.mgrid[0:64, 0:96]
        result = old.zeros((old.par_dim(64), 96), dtype=old.float32, buffer=old.sbuf)
        data = old.load(x)
        result[p, f] = old.multiply(data, 2.0, mask=(p < 40) & (f >= 10))
        result[p, f] = old.add(data, 100.0, mask=f > p)
        old.store(out, value=result)
    p, f = np.mgrid[0:64, 0:96]
    wanted = np.where(f > p, X + 100, np.where((p < 40) & (f >= 10), 2 * X, 0))
    assert_allclose(old_kernel(body, X, shape=(64, 96)), wanted, rtol=1e-6)


def test_a_masked_store_leaves_the_rest() -> None:
    def body(out: Any, x: Any) -> None:
        p, f = old.mgrid[0:64, 0:96]
        old.store(out[p, f], value=old.load(x), mask=p + f < 50)
    found = old_kernel(body, X, shape=(64, 96))
    p, f = np.mgrid[0:64, 0:96]
    assert_allclose(found, np.where(p + f < 50, X, np.nan), rtol=0)


def test_blocks_are_tiles_of_their_own() -> None:
    def body(out: Any, x: Any) -> None:
        tiles = old.ndarray((3, 2, old.par_dim(32), 48), dtype=old.float32, buffer=old.sbuf)
        for i in old.affine_range(3):
            for j in old.affine_range(2):
                tiles[i, j] = old.load(x[i * 32:(i + 1) * 32, j * 48:(j + 1) * 48])
        for i in old.affine_range(3):
            for j in old.affine_range(2):
                tiles[i, j] *= 1.0 + i
                old.store(out[i * 32:(i + 1) * 32, j * 48:(j + 1) * 48], value=tiles[2 - i, j])
    data = normal(96, 96)
    parts = data.reshape(3, 32, 96) * np.array([1, 2, 3], np.float32)[:, None, None]
    found = old_kernel(body, data, shape=(96, 96)).reshape(3, 32, 96)
    # Tile i is written before, and tile 2 - i read after, the multiplication of tile i.
    wanted = np.stack([data[64:], parts[1], parts[0]])
    assert_allclose(found, wanted, rtol=1e-6)


def test_matmuls_accumulate_in_a_zeroed_tile() -> None:
    def body(out: Any, x: Any, y: Any) -> None:
        psum = old.zeros((64, 96), dtype=old.float32, buffer=old.psum)
        for k in old.affine_range(3):
            psum += oldisa.nc_matmul(old.load(x[k * 128:(k + 1) * 128, :]),
                                     old.load(y[k * 128:(k + 1) * 128, :]))
        old.store(out, value=old.copy(psum))
    a, b = normal(384, 64), normal(384, 96)
    assert_allclose(old_kernel(body, a, b, shape=(64, 96)), a.T @ b, rtol=1e-4, atol=1e-4)


def test_a_result_is_rounded_to_where_it_is_assigned() -> None:
    def body(out: Any, x: Any, y: Any) -> None:
        tile = old.ndarray((old.par_dim(64), 96), dtype=old.bfloat16, buffer=old.sbuf)
        tile[...] = old.multiply(old.load(x), old.load(y))
        old.store(out, value=tile)
    found = old_kernel(body, X, Y, shape=(64, 96), dtype=old.bfloat16)
    assert_allclose(found, (X * Y).astype(BF16), rtol=0)


def test_an_assigned_value_keeps_its_contents() -> None:
    def body(out: Any, x: Any) -> None:
        tile = old.ndarray((old.par_dim(64), 96), dtype=old.float32, buffer=old.sbuf)
        twice = old.multiply(old.load(x), 2.0)
        tile[...] = twice
        tile[...] = old.add(tile, 100.0)
        old.store(out, value=old.add(twice, tile))
    assert_allclose(old_kernel(body, X, shape=(64, 96)), 4 * X + 100, rtol=1e-6)


def test_loop_reductions_and_grids() -> None:
    def body(out: Any, x: Any) -> None:
        at = old.program_id(0)
        total = old.ndarray((old.par_dim(64), 24), dtype=old.float32, buffer=old.sbuf)
        for i in old.affine_range(4):
            part = old.load(x[at * 64:(at + 1) * 64, i * 24:(i + 1) * 24])
            total[...] = old.loop_reduce(part, op=np.add, loop_indices=[i])
        old.store(out[at * 64:(at + 1) * 64, :], value=total)
    data = normal(128, 96)
    wanted = data.reshape(128, 4, 24).sum(axis=1)
    assert_allclose(old_kernel(body, data, shape=(128, 24), grid=(2,)), wanted, rtol=1e-5, atol=1e-6)
    cores = old.nc(2)
    assert_allclose(old_kernel(body, data, shape=(128, 24), grid=(cores,)), wanted, rtol=1e-5,
                    atol=1e-6)


@pytest.mark.parametrize("loop", [old.static_range, old.affine_range, old.sequential_range, range])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("start", [None, 5.0])
@pytest.mark.parametrize("is_variable", [True, False])
def test_loop_reductions_begin_with_what_their_result_was_created_with(
        loop: Any, first: int, start: float | None, is_variable: bool) -> None:
    def body(out: Any, x: Any) -> None:
        for at in range(2):
            total = (old.ndarray((64, 24), dtype=old.float32, buffer=old.sbuf) if start is None
                     else old.full((64, 24), start, dtype=old.float32, buffer=old.sbuf))
            for i in loop(first, 4):
                part = old.load(x[at * 64:(at + 1) * 64, i * 24:(i + 1) * 24])
                if is_variable:
                    total = old.loop_reduce(part, op=np.max, loop_indices=[i])
                else:
                    total[...] = old.loop_reduce(part, op=np.max, loop_indices=[i])
            old.store(out[at * 64:(at + 1) * 64, :], value=total)
    data = 4 * normal(128, 96)
    wanted = data.reshape(128, 4, 24)[:, first:].max(axis=1)
    wanted = wanted if start is None else np.maximum(wanted, np.float32(start))
    assert_allclose(old_kernel(body, data, shape=(128, 24)), wanted)


def test_a_variable_of_another_shape_is_no_beginning_of_a_loop_reduction() -> None:
    def body(out: Any, x: Any) -> None:
        total = old.full((64, 1), 5.0, dtype=old.float32, buffer=old.sbuf)
        for i in old.affine_range(4):
            total = old.loop_reduce(old.load(x[:, i * 24:(i + 1) * 24]), op=np.add, loop_indices=[i])
        old.store(out, value=total)
    found = old_kernel(body, X, shape=(64, 24))
    assert_allclose(found, X.reshape(64, 4, 24).sum(axis=1), rtol=1e-5, atol=1e-5)


def test_indices_from_tensors() -> None:
    index = integers(0, 64, 32, 1)

    def body(out: Any, x: Any, indices: Any) -> None:
        p, f = old.arange(32)[:, None], old.arange(96)[None, :]
        rows = old.load(indices)
        old.store(out, value=old.load(x[rows[p, 0], f]))
    assert_allclose(old_kernel(body, X, index, shape=(32, 96)), X[index[:, 0]], rtol=0)


def test_a_mask_clips_the_indices_too() -> None:
    index = integers(0, 64, 32, 1)

    def body(out: Any, x: Any, indices: Any) -> None:
        p, f = old.mgrid[0:32, 0:96]
        rows = old.load(indices)
        found = old.zeros((old.par_dim(32), 96), dtype=old.float32, buffer=old.sbuf)
        found[p, f] = old.load(x[rows[p, 0], f], mask=(p >= 5) & (p < 20))
        old.store(out, value=found)
    wanted = np.where((np.arange(32) >= 5)[:, None] & (np.arange(32) < 20)[:, None],
                      X[index[:, 0]], 0)
    assert_allclose(old_kernel(body, X, index, shape=(32, 96)), wanted, rtol=0)


def test_activations_of_both_apis_agree() -> None:
    for name in ("gelu", "silu", "softplus", "erf"):
        one, other = (run(lambda language, x, name=name: getattr(language, name)(x), X)
                      for run in (in_new, in_old))
        assert np.array_equal(one, other)
    assert abs(in_new(lambda one, x: one.erf(x), X)[0, 0] - math.erf(float(X[0, 0]))) < 1e-6


def test_random_tiles_follow_their_seed() -> None:
    for language, run in ((nl, in_new), (old, in_old)):
        def body(_: Any, x: Any, language: Any = language) -> Any:
            language.random_seed(5)
            first = language.rand((64, 96), dtype=language.float32)
            language.random_seed(5)
            return language.subtract(first, language.rand((64, 96), dtype=language.float32))
        assert_allclose(run(body, X), np.zeros_like(X), rtol=0)
        numbers = run(lambda one, x: one.rand((64, 96), dtype=one.float32), X)
        assert 0 <= numbers.min() and numbers.max() <= 1 and abs(numbers.mean() - 0.5) < 0.02


def test_elements_are_gathered_in_each_partition() -> None:
    index = integers(0, 96, 64, 20, kind=np.uint32)
    for run in (in_new, in_old):
        found = run(lambda one, x, i: one.gather_flattened(x, i), X, index)
        assert_allclose(found, np.take_along_axis(X, index.astype(np.int64), axis=1), rtol=0)


def two_rows(grid: Any, programs: int) -> Array:
    """What the programs of a grid leave: each adds its number to its two rows."""
    def body(out: Any, x: Any) -> None:
        assert old.num_programs() == programs
        row, column = old.mgrid[0:2, 0:96]
        at = old.program_id(0)
        out_row = 2 * at + row
        old.store(out[out_row, column], value=old.add(old.load(x[out_row, column]), at))
    return old_kernel(body, np.zeros((64, 96), np.float32), shape=(2 * programs, 96), grid=grid)


@pytest.mark.parametrize("grid", [
    old.spmd_dim(2, old.nc(2)), old.spmd_dim(old.nc(2), 2), old.nc(2) * 2, 2 * old.nc(2),
    (2 * old.nc(2), 1), old.spmd_dim(4), old.spmd_dim(1, 4), old.nc(4), (old.nc(4), 1)])
def test_all_programs_of_a_grid_run_however_it_is_spread_over_cores(grid: Any) -> None:
    assert two_rows(grid, 4)[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("grid", [(), (4,), (2 * old.nc(2),)])
def test_tensors_in_hbm_of_a_loop_of_python_are_tensors_of_their_own(grid: Any) -> None:
    """Of each there is one for all programs of a grid."""
    def body(x: Any) -> Any:
        rows = 128 // old.num_programs()
        at = rows * old.program_id(0) + old.arange(rows)[:, None]
        column = old.arange(32)[None, :]
        made = [old.ndarray((128, 32), dtype=x.dtype, buffer=old.shared_hbm) for _ in range(2)]
        for i in range(2, 4):
            made.append(old.ndarray((128, 32), dtype=x.dtype, buffer=old.shared_hbm))
            old.store(made[i][at, column], value=old.load(x[at, i * 32 + column]))
        for i in old.affine_range(2):
            one = old.ndarray((128, 32), dtype=x.dtype, buffer=old.shared_hbm)
            old.store(one[at, i * 16 + old.arange(16)[None, :]],
                      value=old.load(x[at, i * 16 + old.arange(16)[None, :]]))
        for i in range(2):
            old.store(made[i][at, column], value=old.load(x[at, i * 32 + column]))
        return [*made, one]

    data = normal(128, 128)
    kernel: Any = importlib.import_module("neuronxcc.nki").jit(body)
    found = run_kernel(kernel[grid] if grid else kernel, data)
    parts = np.split(data, 4, axis=1)
    assert_allclose(found, [*parts, parts[0]])


def test_an_axis_with_cores_alone_is_two_programs() -> None:
    assert two_rows(old.nc(2), 2)[:, 0].tolist() == [0, 0, 1, 1]


def test_a_mutable_parameter_is_written_and_returned() -> None:
    nki: Any = importlib.import_module("neuronxcc.nki")
    nt: Any = importlib.import_module("neuronxcc.nki.typing")

    @nki.jit(experimental_flags="enable-mutable-parameter")
    def kernel(a: nt.tensor, cache: nt.tensor[nt.mutable]) -> Any:
        old.store(cache[0:32], value=old.load(a))
        return cache
    cache, new = normal(64, 96, seed=3), normal(32, 96)
    wanted = np.concatenate([new, cache[32:]])
    assert np.array_equal(run_kernel(kernel, new, cache), wanted)
    assert np.array_equal(cache, wanted)


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int16, np.uint8])
def test_integers_are_repeated_over_partitions_with_all_their_bits(kind: Any) -> None:
    limits = np.iinfo(kind)
    data = integers(limits.min, limits.max, 1, 700, kind=kind)
    data[0, :2] = limits.min, limits.max
    ones = np.full((64, 700), -1 if limits.min else limits.max, kind)
    wanted = np.broadcast_to(data, (64, 700))
    for body in (lambda one, x, _: one.broadcast_to(x, (64, 700)),
                 lambda one, x, y: one.bitwise_and(y, x), lambda one, x, y: one.bitwise_and(x, y)):
        assert np.array_equal(in_old(body, data, ones), wanted)
    columns = in_old(lambda one, x, _: one.broadcast_to(x[:, 0:700:7], (64, 100)), data, ones)
    assert np.array_equal(columns, wanted[:, ::7])
    planes = in_old(lambda one, x: one.broadcast_to(x, (64, 7, 100)), data.reshape(1, 7, 100))
    assert np.array_equal(planes, wanted.reshape(64, 7, 100))


def test_a_number_of_indices_that_no_partition_holds_evenly_is_gathered() -> None:
    index = integers(0, 96, 64, 4, kind=np.uint16)
    found = in_old(lambda one, x, i: oldisa.local_gather(x, i, num_valid_indices=30), X, index)
    flat = index.reshape(4, 16, 4).transpose(0, 2, 1).reshape(4, 64)[:, :30].astype(np.int64)
    wanted = np.take_along_axis(X, np.repeat(flat, 16, axis=0), axis=1)
    assert np.array_equal(found.reshape(64, 30), wanted)


def test_the_old_api_refuses_the_same_operators() -> None:
    with pytest.raises(IllegalInstruction, match="tensor_reduce: op power does not reduce"):
        in_old(lambda one, x: oldisa.tensor_reduce(np.power, x, axis=1), X)
    with pytest.raises(IllegalInstruction, match="op0 is bitwise_and, but must be an arithmetic"):
        in_old(lambda one, x: oldisa.tensor_tensor_scan(x, x, 0, np.bitwise_and, np.add), X)


@pytest.mark.parametrize("kind", [np.int32, np.uint32, np.int16, np.uint8])
def test_the_new_api_repeats_integers_with_all_their_bits(kind: Any) -> None:
    limits = np.iinfo(kind)
    data = integers(limits.min, limits.max, 1, 700, kind=kind)
    data[0, :2] = limits.min, limits.max
    wanted = np.broadcast_to(data, (64, 700))
    assert np.array_equal(in_new(lambda one, x: one.broadcast_to(x, (64, 700)), data), wanted)
    columns = in_new(lambda one, x: one.broadcast_to(x[:, 0:700:7], (64, 100)), data)
    assert np.array_equal(columns, wanted[:, ::7])
    rest = in_new(lambda one, x: one.broadcast_to(x[:, 90:700], (64, 610)), data)
    assert np.array_equal(rest, wanted[:, 90:])
    planes = in_new(lambda one, x: one.broadcast_to(x, (64, 7, 100)), data.reshape(1, 7, 100))
    assert np.array_equal(planes, wanted.reshape(64, 7, 100))
    floats = in_new(lambda one, x: one.broadcast_to(x, (64, 700), dtype=one.float32), data)
    assert np.array_equal(floats, wanted.astype(np.float32))


def test_a_row_in_psum_is_repeated_over_partitions() -> None:
    row = normal(1, 96)
    assert np.array_equal(in_new(lambda one, x: one.broadcast_to(
        one.transpose(one.transpose(x)), (64, 96)), row), np.repeat(row, 64, 0))
