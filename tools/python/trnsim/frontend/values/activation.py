# SPDX-License-Identifier: Apache-2.0
# The activation functions of the scalar engine.
"""Functions in float32, as their definitions say; the engine's piecewise polynomials are not
reproduced, but for that of `sin` where it is no sine any more. [NKI-SHARED]
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trnsim.frontend.values.alu import UNARY, f32
from trnsim.frontend.values.casting import Array

_erf_of = np.frompyfunc(math.erf, 1, 1)
_erfc_of = np.frompyfunc(math.erfc, 1, 1)
_SQRT_EIGHT_OVER_PI = f32(math.sqrt(8.0 / math.pi))
_DENSITY = f32(1.0 / math.sqrt(2.0 * math.pi))
_CUBIC = f32(0.044715)
_GELU_SIGMOID = f32(1.702)
_PI, _SIXTH = f32(math.pi), f32(1.0 / 6.0)
ONE, HALF = f32(1.0), f32(0.5)


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(_erf_of(x.astype(np.float64))).astype(np.float32)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, ONE, small) / (ONE + small)


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    return np.maximum(x, f32(0.0)) + np.log1p(np.exp(-np.abs(x)))


def _weighted(x: Array, weight: Array) -> Array:
    """x times what tends to 0 faster than x grows: 0 at infinity, where these functions are valid,
    too. [NKI-SHARED]"""
    return np.where(weight == 0, f32(0.0), x * weight)


def _probability(x: Array) -> Array:
    """The normal distribution's probability of less than x, also where that is small."""
    return np.asarray(0.5 * _erfc_of(-math.sqrt(0.5) * x.astype(np.float64))).astype(np.float32)


def gelu(x: Array) -> Array:
    """x times the normal distribution's probability of less than x."""
    return _weighted(x, _probability(x))


def gelu_dx(x: Array) -> Array:
    """The derivative of gelu."""
    density = _DENSITY * np.exp(-HALF * x * x)
    return _probability(x) + _weighted(x, density)


def gelu_tanh(x: Array) -> Array:
    """gelu by its approximation with tanh: (1 + tanh(z)) / 2 is the sigmoid of 2 z."""
    return _weighted(x, sigmoid(_SQRT_EIGHT_OVER_PI * (x + _CUBIC * x * x * x)))


def gelu_sigmoid(x: Array) -> Array:
    """gelu by its approximation with a sigmoid."""
    return _weighted(x, sigmoid(_GELU_SIGMOID * x))


def gelu_sigmoid_dx(x: Array) -> Array:
    """The derivative of gelu_sigmoid."""
    s = sigmoid(_GELU_SIGMOID * x)
    return s + _weighted(x, _GELU_SIGMOID * s * (ONE - s))


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return _weighted(x, sigmoid(x))


def silu_dx(x: Array) -> Array:
    """The derivative of silu."""
    s = sigmoid(x)
    return s + _weighted(x, s * (ONE - s))


def erf_dx(x: Array) -> Array:
    """The derivative of the error function."""
    return f32(2.0 / math.sqrt(math.pi)) * np.exp(-x * x)


def bounded_sin(x: Array) -> Array:
    """The sine in [-pi, pi]; beyond, the cubic of the ends, as sin(9) = 27.65 says. [NKI-SHARED]"""
    beyond = x - np.copysign(_PI, x)
    return np.where(np.abs(x) <= _PI, np.sin(x), beyond * beyond * beyond * _SIXTH - beyond)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    **{name: UNARY[name] for name in ("abs", "square", "relu", "rsqrt", "sqrt", "reciprocal",
                                      "negative", "sign")},
    "copy": lambda x: x, "sigmoid": sigmoid, "gelu": gelu, "gelu_dx": gelu_dx,
    "gelu_apprx_tanh": gelu_tanh, "gelu_apprx_sigmoid": gelu_sigmoid,
    "gelu_apprx_sigmoid_dx": gelu_sigmoid_dx, "silu": silu, "silu_dx": silu_dx, "tanh": np.tanh,
    "softplus": softplus, "mish": lambda x: _weighted(x, np.tanh(softplus(x))), "erf": erf,
    "erf_dx": erf_dx, "exp": np.exp, "log": np.log, "sin": np.sin,
    "bounded_sin": bounded_sin, "cos": np.cos, "tan": np.tan,
    "arctan": np.arctan, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc}


def activate(name: str, x: Array, slope: Array | None = None) -> Array:
    """A function of float32 values; `slope` is that of prelu left of zero."""
    if name == "prelu":
        return np.where(x >= 0, x, (f32(0.0) if slope is None else slope) * x)
    return FUNCTIONS[name](x)
