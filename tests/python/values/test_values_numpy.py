# SPDX-License-Identifier: Apache-2.0
# The functions of nki.language against numpy's, over random shapes.
"""Theorem: what is not refused is what numpy computes, in both APIs and whatever the shapes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from trnsim.errors import FrontendError
from values_helpers import Array, evaluate, nl, run_kernel

old_nl: Any = importlib.import_module("neuronxcc.nki.language")
APIS = {"nki": nl, "neuronxcc.nki": old_nl}
DRAWS = 40


class Draw:
    """Random shapes, axes and tiles."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.x = self.tile(self.shape(int(self.random.integers(2, 5))))
        rank = self.x.ndim
        kinds = (self.x.shape, self.related(), self.x.shape[:-1], self.shape(rank))
        self.y = self.tile(kinds[self.random.choice(4, p=(0.2, 0.4, 0.1, 0.3))])
        self.mixed = (self.x.shape[0], *map(int, self.random.permutation(self.y.shape[1:])))
        last = int(self.random.integers(1, rank))
        self.axes = tuple(range(last, rank))
        if self.random.random() < 0.2:
            self.axes = (int(self.random.integers(1, rank)),)
        self.keeps = bool(self.random.integers(2))

    def shape(self, rank: int) -> tuple[int, ...]:
        rows = int(self.random.choice([1, 2, 64]))
        return (rows, *map(int, self.random.choice([1, 2, 3, 4], rank - 1)))

    def related(self) -> tuple[int, ...]:
        """The shape of x with some sizes 1."""
        return tuple(size if self.random.integers(2) else 1 for size in self.x.shape)

    def tile(self, shape: tuple[int, ...]) -> Array:
        return self.random.standard_normal(shape).astype(np.float32)


def softmax(x: Array, axes: tuple[int, ...]) -> Array:
    raised = np.exp(x - x.max(axes, keepdims=True))
    return raised / raised.sum(axes, keepdims=True)


def rms_norm(x: Array, w: Array, axes: tuple[int, ...]) -> Array:
    return x / np.sqrt((x * x).mean(axes, keepdims=True) + 1e-6) * w


def reduction(name: str) -> tuple[Any, Any]:
    return (lambda language, draw: lambda x: getattr(language, name)(
        x, axis=draw.axes, keepdims=draw.keeps),
        lambda draw: getattr(np, name)(draw.x, axis=draw.axes))


def count(draw: Draw) -> int:
    return math.prod(draw.x.shape[axis] for axis in draw.axes)


FUNCTIONS: dict[str, tuple[Callable[[Any, Draw], Any], Callable[[Draw], Array]]] = {
    "add": (lambda language, draw: language.add, lambda draw: draw.x + draw.y),
    "multiply": (lambda language, draw: language.multiply, lambda draw: draw.x * draw.y),
    "maximum": (lambda language, draw: language.maximum, lambda draw: np.maximum(draw.x, draw.y)),
    "where": (lambda language, draw: lambda x, y: language.where(language.greater(x, 0.0), x, y),
              lambda draw: np.where(draw.x > 0, draw.x, draw.y)),
    "broadcast_to": (lambda language, draw: lambda x: language.broadcast_to(x, draw.y.shape),
                     lambda draw: np.broadcast_to(draw.x, draw.y.shape)),
    "reshape": (lambda language, draw: lambda x: x.reshape(draw.mixed),
                lambda draw: draw.x.reshape(draw.mixed)),
    **{name: reduction(name) for name in ("sum", "max", "min", "mean", "prod")},
    "var": (lambda language, draw: lambda x: language.var(x, axis=draw.axes),
            lambda draw: draw.x.var(draw.axes)),
    "softmax": (lambda language, draw: lambda x: language.softmax(x, axis=draw.axes),
                lambda draw: softmax(draw.x, draw.axes)),
    "rms_norm": (lambda language, draw: lambda x, y: language.rms_norm(x, y, draw.axes, count(draw)),
                 lambda draw: rms_norm(draw.x, draw.y, draw.axes)),
    "transpose": (lambda language, draw: language.transpose,
                  lambda draw: draw.x.reshape(draw.x.shape[0], -1).T),
}
OF_TWO = {"add", "multiply", "maximum", "where", "rms_norm"}


def computed(api: str, body: Any, *arrays: Array) -> Array:
    """What `body` makes of tiles that hold the arrays."""
    if api == "nki":
        return evaluate(body, *arrays)

    def kernel(*given: Any) -> Any:
        result = body(*(old_nl.load(one) for one in given))
        output = old_nl.ndarray(result.shape, dtype=result.dtype, buffer=old_nl.shared_hbm)
        old_nl.store(output, result)
        return output
    return run_kernel(kernel, *arrays, api=api)


def is_vector(draw: Draw) -> bool:
    """One operand is a number for each partition, which the shape of the other does not matter to."""
    return any(one.size == one.shape[0] for one in (draw.x, draw.y))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_not_refused_is_what_numpy_computes(name: str, api: str) -> None:
    body, reference = FUNCTIONS[name]
    accepted = 0
    for seed in range(DRAWS):
        draw = Draw(seed)
        if name in OF_TWO and is_vector(draw):
            continue
        try:
            found = computed(api, body(APIS[api], draw),
                             *([draw.x, draw.y] if name in OF_TWO else [draw.x]))
        except FrontendError:
            continue
        wanted = reference(draw)
        assert found.size == wanted.size, (draw.x.shape, draw.y.shape, draw.axes)
        assert_allclose(found.reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-5)
        accepted += 1
    assert accepted >= DRAWS // 10
