# SPDX-License-Identifier: Apache-2.0
# Reductions and normalisations of the 0.1 dialect.
"""Reductions over free axes, softmax, rms_norm, variance. [NKI-LANGUAGE-2.26]

Reduced axes leave the shape (or stay as 1 with keepdims), but a tile keeps two axes. Axes that are
not the last ones cost nothing: the access pattern walks them last.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from trnsim.errors import IllegalInstruction, ProgramError, UserError
from trnsim.frontend import source
from trnsim.frontend.dtypes import float32
from trnsim.frontend.legacy.elementwise import (as_vector, binary, fraction, reciprocal,
                                                unary)
from trnsim.frontend.legacy.emit import (as_tile, dropped, flush, fresh, issue, mask_bounds,
                                         produce, result_dtype, touch)
from trnsim.frontend.legacy.index import as_integer
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.mask import EMPTY, clip as clip_of, rectangle
from trnsim.frontend.legacy.tensor import UNCLIPPED, Held, Tensor, release
from trnsim.frontend.legacy.views import with_form
from trnsim.frontend.legality.operators import reducing
from trnsim.frontend.operators import legacy_alu as alu, operator_name
from trnsim.frontend.recorder import required
from trnsim.frontend.records.tensor import PSUM, SBUF, Shape
from trnsim.frontend.shapes import number

BN_STATS_COLUMNS = 512
"""Elements per partition that one bn_stats takes. [NKI-ISA]"""
BN_STATS_RESULT = 6
"""Values per partition that bn_stats makes. [NKI-ISA]"""
BN_AGGR_RESULT = 2
"""Mean and variance. [NKI-ISA]"""


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """The reduced axes of a tile, sorted; an error if they are none, or among them partitions."""
    given = axis if isinstance(axis, (list, tuple)) else (axis,)
    if any(as_integer(one) is None for one in given):
        raise UserError(f"{source.here()}: axis is {axis!r}, but must be the number of a free "
                        "axis, or a list of them")
    axes = tuple(sorted({int(one) + rank if int(one) < 0 else int(one) for one in given}))
    if not axes or axes[0] < 1 or axes[-1] >= rank:
        raise ProgramError(
            f"{source.here()}: axis {list(given)} of a tile with {rank} axes, but axes 1 to "
            f"{rank - 1} are reduced; transpose first to reduce over partitions")
    return axes


def reduce(op: Any, data: Any, axis: Any, *, dtype: Any = None, mask: Any = None,
           negate: bool = False, keepdims: bool = False) -> Tensor:
    """A tensor_reduce of a tile over free axes."""
    tile = as_tile(data, "data of a reduction")
    release(tile)
    axes = axes_of(axis, len(tile.shape))
    bounds = mask_bounds(mask, tile.shape)
    kept = [at for at in range(len(tile.shape)) if at not in axes]
    shape = _reduced(tile.shape, axes, keepdims)
    operator = reducing("tensor_reduce", operator_name(op), "average")
    attributes: dict[str, Any] = {"op": operator}
    if negate:
        attributes["negate"] = True
    kind = result_dtype(dtype, tile.dtype)
    if bounds == EMPTY:
        return dropped(shape, kind, SBUF)
    result = fresh(shape, kind)
    touch(tile, "read")
    source_tile = tile.clipped(bounds)
    walked = _permuted(source_tile, [*kept, *axes])
    clip = None if bounds is None else _kept_bounds(bounds, axes, keepdims, shape)
    view = result if clip is None else result.clipped(clip)
    required().hold("tensor_reduce", None, (("dst", "write", view), ("data", "read", walked)),
                    attributes)
    result.held = UNCLIPPED if clip is None else Held(view, clip)
    return result


def _reduced(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if at in axes else size for at, size in enumerate(shape))
    rest = tuple(size for at, size in enumerate(shape) if at not in axes)
    return rest if len(rest) > 1 else (*rest, 1)


def _kept_bounds(bounds: Any, axes: tuple[int, ...], keepdims: bool, shape: Shape) -> Any:
    kept = [bound if at not in axes else (0, 1)
            for at, bound in enumerate(bounds) if keepdims or at not in axes]
    kept += [(0, 1)] * (len(shape) - len(kept))
    full = all((start, count) == (0, size) for (start, count), size in zip(kept, shape))
    return None if full else tuple(kept)


def _permuted(tile: Tensor, order: list[int]) -> Tensor:
    if order == sorted(order):
        return tile
    return with_form(tile, tuple(tile.shape[at] for at in order),
                     tuple(tile.form.strides[at] for at in order))


def mean(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None,
         keepdims: bool = False) -> Tensor:
    """The sum, times one over the number of elements."""
    tile = as_tile(x, "x of nl.mean")
    kind = result_dtype(dtype, fraction(tile.dtype))
    total = reduce("add", tile, axis, dtype=fraction(kind), mask=mask, keepdims=keepdims)
    count = _elements(mask, tile.shape, axes_of(axis, len(tile.shape)))
    left = None if total.held is None else total.held.clip
    return binary("multiply", total, 1.0 / count,  # type: ignore[no-any-return]
                  dtype=kind, mask=left)


def _elements(mask: Any, shape: Shape, axes: tuple[int, ...]) -> int:
    """How many elements a mean is of; IllegalInstruction if a mask leaves other rows others."""
    bounds, is_exact = clip_of(mask, shape)
    kept = bounds or tuple((0, size) for size in shape)
    if is_exact:
        return prod(kept[at][1] for at in axes)
    counts = mask.within(kept, shape).index_values().sum(axis=axes)
    least, most = int(counts.min()), int(counts.max())
    if least != most:
        raise IllegalInstruction(
            f"{source.here()}: nl.mean: mask= leaves {least} elements of one row and {most} of "
            "another, but all rows are divided by one number; use nl.sum, and multiply by a tile "
            "of one over each row's count")
    return max(least, 1)


def var(x: Any, axis: Any, *, dtype: Any = None, mask: Any = None, **others: Any) -> Tensor:
    """The variance: for each row bn_stats over its pieces and one bn_aggr."""
    ignored(others)
    tile = as_tile(x, "x of nl.var")
    release(tile)
    rank, axes = len(tile.shape), axes_of(axis, len(tile.shape))
    if axes != tuple(range(axes[0], rank)):
        raise IllegalInstruction(f"{source.here()}: nl.var over axes {list(axes)} of a tile with "
                                 f"{rank} axes, but it takes the last ones; put them there first")
    shape, kind = _reduced(tile.shape, axes, False), result_dtype(dtype, tile.dtype)
    bounds = rectangle("nl.var", mask, tile.shape)
    if bounds == EMPTY:
        return dropped(shape, kind, SBUF)
    clip = None if bounds is None else _kept_bounds(bounds, axes, False, shape)
    both = fresh((*tile.shape[:axes[0]], BN_AGGR_RESULT), kind)
    result = both[(*(slice(None),) * axes[0], 1)].reshape(shape)
    part = tile if bounds is None else tile.clipped(bounds)
    into = both if bounds is None else both.clipped((*bounds[:axes[0]], (0, BN_AGGR_RESULT)))
    for at in product(*(range(size) for size in part.shape[1:axes[0]])):
        row = (slice(None), *at)
        _variance_of_rows(part[row] if at else part, into[row] if at else into)
    result.held = None if clip is None else Held(result.clipped(clip), clip)
    return result


def _variance_of_rows(tile: Tensor, into: Tensor) -> None:
    """Mean and variance of all that a partition has."""
    columns = tile.form.free_elements
    pieces = -(-columns // BN_STATS_COLUMNS)
    stats = fresh((tile.shape[0], BN_STATS_RESULT * pieces), float32)
    flat = tile.reshape((tile.shape[0], columns)) if pieces > 1 else tile
    for piece in range(pieces):
        part = slice(piece * BN_STATS_COLUMNS, min((piece + 1) * BN_STATS_COLUMNS, columns))
        at = slice(piece * BN_STATS_RESULT, (piece + 1) * BN_STATS_RESULT)
        issue("bn_stats", (("dst", "write", stats[:, at]),
                           ("data", "read", flat[:, part] if pieces > 1 else flat)), {})
    issue("bn_aggr", (("dst", "write", into), ("data", "read", stats)), {})


def softmax(x: Any, axis: Any, *, dtype: Any = None, compute_dtype: Any = None, mask: Any = None,
            **others: Any) -> Tensor:
    """Maximum, exponential that also adds up its results, reciprocal, product."""
    ignored(others)
    tile = as_tile(x, "x of nl.softmax")
    release(tile)
    kind = result_dtype(compute_dtype if dtype is None else dtype, tile.dtype)
    if axes_of(axis, len(tile.shape)) != tuple(range(1, len(tile.shape))):
        return _softmax_of_some_axes(tile, axis, kind, mask)
    bias = as_vector(flush(reduce("maximum", tile, axis, dtype=float32, mask=mask, negate=True)))
    total = fresh((tile.shape[0], 1), float32)
    powers = flush(produce(
        "activation_reduce", (("data", "read", tile), ("bias", "read", bias),
                              ("reduce_result", "write", total)),
        {"function": "exp", "reduce_op": "add"}, tile.shape, fraction(kind), mask=mask))
    inverse = flush(reciprocal(total))
    return binary("multiply", powers, inverse, dtype=kind, mask=mask)  # type: ignore


def _softmax_of_some_axes(tile: Tensor, axis: Any, kind: Any, mask: Any) -> Tensor:
    """The exponential adds up whole rows: where they have several sums, others add them up."""
    least = flush(reduce("maximum", tile, axis, dtype=float32, mask=mask, negate=True,
                         keepdims=True))
    shifted = flush(binary("add", tile, least, dtype=float32, mask=mask))
    powers = flush(unary("exp", shifted, dtype=fraction(kind), mask=mask))
    total = flush(reduce("add", powers, axis, dtype=float32, mask=mask, keepdims=True))
    inverse = flush(reciprocal(total))
    return binary("multiply", powers, inverse, dtype=kind, mask=mask)  # type: ignore[no-any-return]


def rms_norm(x: Any, w: Any, axis: Any, n: int, epsilon: float = 1e-6, *, dtype: Any = None,
             compute_dtype: Any = None, mask: Any = None, **others: Any) -> Tensor:
    """x / sqrt(mean(x * x) + epsilon) * w."""
    ignored(others)
    elements = number(n, "n of nl.rms_norm", "a number")
    if elements <= 0:
        raise UserError(f"{source.here()}: n of nl.rms_norm is {n}, but must be the number of "
                        "elements that a mean is of, which is 1 or more")
    tile = as_tile(x, "x of nl.rms_norm")
    release(tile)
    total = _sum_of_squares(tile, axis, mask)
    mean_square = flush(produce("tensor_scalar", (("data", "read", total),),
                                {"op0": "multiply", "op1": "add"}, total.shape, float32,
                                immediates=(1.0 / elements, False, epsilon)))
    inverse = flush(unary("rsqrt", mean_square))
    kind = result_dtype(compute_dtype if dtype is None else dtype, tile.dtype)
    scaled = flush(binary("multiply", tile, inverse, dtype=fraction(kind), mask=mask))
    return binary("multiply", scaled, w, dtype=kind, mask=mask)  # type: ignore[no-any-return]


def _sum_of_squares(tile: Tensor, axis: Any, mask: Any) -> Tensor:
    """Of whole rows by the instruction that squares them, else by two."""
    if axes_of(axis, len(tile.shape)) != tuple(range(1, len(tile.shape))):
        squares = flush(unary("square", tile, dtype=float32, mask=mask))
        return flush(reduce("add", squares, axis, mask=mask,  # type: ignore[no-any-return]
                            keepdims=True))
    total = fresh((tile.shape[0], 1), float32)
    flush(produce("activation_reduce",
                  (("data", "read", tile), ("reduce_result", "write", total)),
                  {"function": "square", "reduce_op": "add"}, tile.shape, float32, mask=mask))
    return total


def loop_reduce(x: Any, op: Any, loop_indices: Any, *, dtype: Any = None, mask: Any = None,
                **others: Any) -> Any:
    """A reduction over iterations; what the assignment of its result does (see assignment.py)."""
    ignored(others)
    from trnsim.frontend.legacy.loop_reduction import LoopReduction

    tile = as_tile(x, "x of nl.loop_reduce", spaces=(SBUF, PSUM))
    return LoopReduction.made(tile, alu(op, "op of nl.loop_reduce"), loop_indices, dtype, mask)
