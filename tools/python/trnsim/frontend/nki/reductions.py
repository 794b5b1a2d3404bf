# SPDX-License-Identifier: Apache-2.0
# nl functions that reduce, normalise, transpose or multiply tiles: their lowering.
"""Reductions, softmax, rms_norm, transpose, matmul of nki.language. [NKI-LANGUAGE]

The instruction sequences are this project's choice, see elementwise.py. [ASSUMED]
"""

from __future__ import annotations

from typing import Any

from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import float32
from trnsim.frontend.legality.vector import BN_STATS_FREE_MAX
from trnsim.frontend.nki import known_issues
from trnsim.frontend.nki.creation import fresh
from trnsim.frontend.nki.elementwise import binary, reciprocal, unary_function
from trnsim.frontend.nki.emit import copy, dense, emit, in_sbuf, repeated, result_dtype, tile
from trnsim.frontend.nki.isa_vector import reduced_axes
from trnsim.frontend.records.psum import begins_group
from trnsim.frontend.records.tensor import PSUM, View, row_major

_BN_STATS_RESULT = 6
"""Numbers that bn_stats writes. [NKI-ISA]"""


def reduce(name: str, operator: str, x: Any, axis: Any, dtype: Any, keepdims: bool) -> View:
    """One tensor_reduce over the last dimensions."""
    data = tile(x, name)
    axes = reduced_axes(axis, data.ndim, f"{source.here()}: {name}")
    kept = data.shape[:data.ndim - len(axes)]
    shape = (*kept, *(1 for _ in axes)) if keepdims else kept if len(kept) > 1 else (*kept, 1)
    return emit("tensor_reduce", fresh(shape, result_dtype(dtype, data)), (("data", "read", data),),
                op=operator)


def sum_of(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> View:
    """The sum over the last dimensions."""
    return reduce("sum", "add", x, axis, dtype, keepdims)


def maximum_of(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> View:
    """The maximum over the last dimensions."""
    return reduce("max", "maximum", x, axis, dtype, keepdims)


def minimum_of(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> View:
    """The minimum over the last dimensions."""
    return reduce("min", "minimum", x, axis, dtype, keepdims)


# As operators they are nl.maximum and nl.minimum. [NKI-ISA, tensor_scalar_reduce]
maximum_of.operator_name = "maximum"  # type: ignore[attr-defined]
minimum_of.operator_name = "minimum"  # type: ignore[attr-defined]


def product_of(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> View:
    """The product over the last dimensions."""
    return reduce("prod", "multiply", x, axis, dtype, keepdims)


def all_of(x: Any, axis: Any, dtype: Any = None) -> View:
    """Whether all elements are true."""
    return reduce("all", "logical_and", x, axis, dtype, False)


def mean_of(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> View:
    """The sum over the last dimensions, divided by their size."""
    total = reduce("mean", "add", x, axis, float32, keepdims)
    size = tile(x, "mean").size // total.size
    return binary("multiply", total, 1.0 / size, dtype or x.dtype)


mean_of.operator_name = "average"  # type: ignore[attr-defined]


def variance_of(x: Any, axis: Any, dtype: Any = None, keepdims: bool = False) -> View:
    """The variance over all free dimensions by bn_stats in pieces, else from the mean of squares.

    The reduced dimensions are kept, whatever `keepdims` says. [NKI-LANGUAGE]
    """
    data = tile(x, "var")
    axes = reduced_axes(axis, data.ndim, f"{source.here()}: var")
    rows, columns = data.shape[0], data.form.free_elements
    kind = result_dtype(dtype, data)
    if len(axes) < data.ndim - 1:
        mean = mean_of(x, axis, float32, True)
        centred = binary("subtract", data, mean, float32)
        return mean_of(unary_function("square", centred, float32), axis, kind, True)
    starts = range(0, columns, BN_STATS_FREE_MAX)
    stats = fresh((rows, _BN_STATS_RESULT * len(starts)), float32, name="stats")
    flat = data if len(starts) == 1 else dense(data)
    for piece, start in enumerate(starts):
        part = flat if len(starts) == 1 else flat.derive(
            (rows, min(BN_STATS_FREE_MAX, columns - start)), flat.strides,
            offset=flat.element_offset + start, partition=flat.form.partition)
        of_part = stats.derive((rows, _BN_STATS_RESULT), stats.strides,
                               offset=piece * _BN_STATS_RESULT)
        emit("bn_stats", of_part, (("data", "read", part),))
    moments = emit("bn_aggr", fresh((rows, 2), float32, name="moments"),
                   (("data", "read", stats),))
    shape = (rows, *(1 for _ in axes))
    variance = moments.derive(shape, row_major(shape), offset=1)
    return copy(variance, kind)


def softmax(x: Any, axis: Any = -1, dtype: Any = None) -> View:
    """exp(x - max) / sum: a reduction, an activation that adds up, a reciprocal, a scaling."""
    data = tile(x, "softmax")
    kind = result_dtype(dtype, data)
    axes = reduced_axes(axis, data.ndim, f"{source.here()}: softmax")
    active = recorder.required()
    if len(axes) < data.ndim - 1:
        largest = maximum_of(data, axis, float32, True)
        shifted = binary("subtract", data, repeated(largest, data.shape), float32)
        raised = unary_function("exp", shifted, float32)
        inverse = reciprocal(sum_of(raised, axis, float32, True), float32)
        return binary("multiply", raised, repeated(inverse, data.shape), kind)
    column = (data.shape[0], 1)
    largest = fresh(column, float32, name="negative_maximum")
    active.record("tensor_reduce", None, (("dst", "write", largest), ("data", "read", data)),
                  {"op": "maximum", "negate": True})
    raised = fresh(data.shape, float32, name="exponential")
    total = fresh(column, float32, name="sum")
    active.record("activation_reduce", None,
                  (("dst", "write", raised), ("data", "read", data), ("bias", "read", largest),
                   ("reduce_result", "write", total)), {"function": "exp", "reduce_op": "add"})
    inverse = reciprocal(total, float32)
    return emit("tensor_scalar", fresh(data.shape, kind),
                (("data", "read", raised), ("operand0", "read", inverse)), op0="multiply")


def rms_norm(x: Any, w: Any, axis: Any, n: int, epsilon: float = 1e-06, dtype: Any = None,
             compute_dtype: Any = None) -> View:
    """x * rsqrt(mean(x^2) + epsilon) * w."""
    data = tile(x, "rms_norm")
    inner = result_dtype(compute_dtype, data)
    if not inner.is_float:
        inner = float32
    total = _sum_of_squares(data, axis)
    mean = emit("tensor_scalar", fresh(total.shape, float32, name="mean_square"),
                (("data", "read", total),), (1.0 / n, False, epsilon), op0="multiply", op1="add")
    scale = unary_function("rsqrt", mean, float32)
    if scale.form.free_elements > 1:
        scaled = binary("multiply", data, scale, inner)
    else:
        scaled = emit("tensor_scalar", fresh(data.shape, inner, name="normalized"),
                      (("data", "read", data), ("operand0", "read", scale)), op0="multiply")
    return binary("multiply", scaled, w, dtype or data.dtype)


def _sum_of_squares(data: View, axis: Any) -> View:
    """Over whole rows the scalar engine adds up its squares; over parts of them a reduction does,
    which keeps their dimensions."""
    axes = reduced_axes(axis, data.ndim, f"{source.here()}: rms_norm")
    if len(axes) < data.ndim - 1:
        return sum_of(unary_function("square", data, float32), axis, float32, True)
    squares = fresh(data.shape, float32, name="squares")
    total = fresh((data.shape[0], 1), float32, name="sum_of_squares")
    recorder.required().record("activation_reduce", None,
                               (("dst", "write", squares), ("data", "read", data),
                                ("reduce_result", "write", total)),
                               {"function": "square", "reduce_op": "add"})
    return total


def transpose(x: Any, dtype: Any = None) -> View:
    """The transposed tile, in PSUM, by the tensor engine; cast before if asked for."""
    data = tile(x, "transpose")
    kind = result_dtype(dtype, data)
    if data.space == PSUM or kind is not data.dtype:
        data = copy(data, kind)
    shape = (data.form.free_elements, data.shape[0])
    return emit("nc_transpose", fresh(shape, kind, PSUM), (("data", "read", data),))


def matmul(x: Any, y: Any, transpose_x: bool = False) -> View:
    """x @ y, or x.T @ y, as a float32 tile in PSUM. An x that is not transposed is, first."""
    known_issues.of_matmul(transpose_x)
    left, right = in_sbuf(tile(x, "matmul")), in_sbuf(tile(y, "matmul"))
    if not transpose_x:
        left = copy(transpose(left))
    result = fresh((left.form.free_elements, right.form.free_elements), float32, PSUM)
    begins_group(result, False, source.here)
    operands = (("dst", "write", result), ("stationary", "read", left),
                ("moving", "read", right))
    return recorder.required().hold("nc_matmul", None, operands, {"start": True})
