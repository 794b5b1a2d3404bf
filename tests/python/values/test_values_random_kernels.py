# SPDX-License-Identifier: Apache-2.0
# Random small kernels of the `nki` API against the same operations on numpy arrays.
"""A random program of element-wise operations, reductions, transposes, matmuls, slices and masks.

Every step is done twice: on tiles by a traced instruction, and on arrays in float64. Steps keep
magnitudes near 1, so that the two stay within the rounding of the tile's type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from trnsim.frontend import run_kernel
from trnsim.testing import assert_allclose
from values_helpers import BF16, FP16, loaded, nisa, nl, stored, tile

ROWS = (32, 64, 96, 128)
COLUMNS = (8, 33, 64, 120)
Array = Any
Step = tuple[Callable[[list[Any]], Any], Callable[[list[Array]], Array]]
"""What a step makes of all tiles so far, and of all arrays so far."""


def made(shape: tuple[int, ...], issue: Callable[[Any], Any], buffer: Any = None) -> Any:
    result = tile(shape, buffer=buffer)
    issue(result)
    return result


def in_sbuf(psum: Any) -> Any:
    return made(psum.shape, lambda d: nisa.tensor_copy(d, psum))


def binary(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    same = [other for other, shape in enumerate(shapes) if shape == shapes[at]]
    other = int(r.choice(same))
    name = str(r.choice(["add", "subtract", "multiply", "maximum", "minimum"]))
    reference = getattr(np, name)
    return (lambda t: made(t[at].shape, lambda d: nisa.tensor_tensor(
                d, t[at], t[other], getattr(nl, name))),
            lambda a: reference(a[at], a[other]))


def scalar(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    first, second = (float(one) for one in r.uniform(0.5, 1.5, 2))
    back0, back1 = (bool(one) for one in r.integers(0, 2, 2))

    def reference(a: list[Array]) -> Array:
        inner = first - a[at] if back0 else a[at] - first
        return inner * second if not back1 else second * inner
    return (lambda t: made(t[at].shape, lambda d: nisa.tensor_scalar(
        d, t[at], nl.subtract, first, back0, nl.multiply, second, back1)), reference)


def function(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    name, reference = [("tanh", np.tanh), ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
                       ("relu", lambda x: np.maximum(x, 0)), ("sin", np.sin)][int(r.integers(4))]
    scale, bias = (float(one) for one in r.uniform(-1, 1, 2))
    return (lambda t: made(t[at].shape, lambda d: nisa.activation(
        d, getattr(nl, name), t[at], bias=bias, scale=scale)),
        lambda a: reference(a[at] * scale + bias))


def normalised(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    def kernel(t: list[Any]) -> Any:
        largest = made((t[at].shape[0], 1), lambda d: nisa.tensor_reduce(
            d, nl.maximum, t[at], axis=1, negate=True))
        return made(t[at].shape, lambda d: nisa.tensor_scalar(d, t[at], nl.add, largest))
    return kernel, lambda a: a[at] - a[at].max(axis=1, keepdims=True)


def transposed(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    rows, columns = shapes[at]
    return (lambda t: in_sbuf(made((columns, rows), lambda d: nisa.nc_transpose(d, t[at]), nl.psum)),
            lambda a: a[at].T)


def matmul(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    fits = [other for other, shape in enumerate(shapes) if shape[0] == shapes[at][0]]
    other = int(r.choice(fits))
    out, scale = (shapes[at][1], shapes[other][1]), 1.0 / shapes[at][0]

    def kernel(t: list[Any]) -> Any:
        psum = tile(out, buffer=nl.psum)
        nisa.nc_matmul(psum, t[at], t[other])
        nisa.nc_matmul(psum, t[at], t[other])
        return made(out, lambda d: nisa.tensor_scalar(d, psum, nl.multiply, scale))
    return kernel, lambda a: 2 * scale * (a[at].T @ a[other])


def spliced(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    """Writes a scaled part over a copy."""
    step = int(r.integers(1, 4))
    first = int(r.integers(0, shapes[at][1] // 2))
    part = slice(first, shapes[at][1], step)

    def kernel(t: list[Any]) -> Any:
        result = made(t[at].shape, lambda d: nisa.tensor_copy(d, t[at]))
        nisa.tensor_scalar(result[:, part], t[at][:, part], nl.multiply, -0.5)
        return result

    def reference(a: list[Array]) -> Array:
        result = a[at].copy()
        result[:, part] *= -0.5
        return result
    return kernel, reference


def selected(r: np.random.Generator, shapes: list[tuple[int, int]], at: int) -> Step:
    rows, columns = shapes[at]
    slope, offset = int(r.integers(-2, 3)), int(r.integers(-20, 20))
    p, f = np.mgrid[0:rows, 0:columns]
    return (lambda t: made(t[at].shape, lambda d: nisa.affine_select(
        d, [[slope, columns]], 1, t[at], 0.25, nl.greater_equal, offset)),
        lambda a: np.where(offset + p + slope * f >= 0, a[at], 0.25))


STEPS = (binary, scalar, function, normalised, transposed, matmul, spliced, selected)


def transposable(shape: tuple[int, int]) -> bool:
    return max(shape) <= 128


@pytest.mark.parametrize("kind", [np.float32, BF16, FP16])
@pytest.mark.parametrize("seed", range(25))
def test_a_random_kernel_computes_what_numpy_does(seed: int, kind: Any) -> None:
    r = np.random.default_rng(seed)
    rows, columns = int(r.choice(ROWS)), int(r.choice(COLUMNS))
    inputs = [r.uniform(-1, 1, (rows, columns)).astype(kind) for _ in range(2)]
    shapes = [(rows, columns)] * 2
    steps: list[Step] = []
    for _ in range(int(r.integers(3, 9))):
        at = int(r.integers(len(shapes)))
        makes = STEPS[int(r.integers(len(STEPS)))]
        steps.append(makes(r, shapes, at))
        probe = [np.zeros(shape) for shape in shapes]
        shapes.append(steps[-1][1](probe).shape)
    assert all(transposable(shape) for shape in shapes)

    def kernel(*given: Any) -> Any:
        tiles = []
        for one in given:
            raw = loaded(one)
            tiles.append(made(raw.shape, lambda d, raw=raw: nisa.tensor_copy(d, raw)))
        for body, _ in steps:
            tiles.append(body(tiles))
        return tuple(stored(one) for one in tiles[2:])
    arrays: list[Array] = [one.astype(np.float64) for one in inputs]
    for _, reference in steps:
        arrays.append(reference(arrays))
    assert_allclose(run_kernel(kernel, *inputs, api="nki"), arrays[2:], rtol=1e-4, atol=1e-4)
