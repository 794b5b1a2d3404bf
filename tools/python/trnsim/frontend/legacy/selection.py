# SPDX-License-Identifier: Apache-2.0
# Indexing of the 0.1 dialect: integers, slices, nl.ds and nl.arange expressions into views.
"""What `tensor[key]` selects.

A key is split into *tokens*, which say what the result looks like, and *constants*, which say where
it starts. The token of an integer is None, of a slice its count, or count and step, of an index
expression its form or its `Steps`. Everything that follows from the tokens (shape, strides, bounds)
is a `Plan`, made once per form and tokens. An index that is not affine is walked with several
strides per axis, if its values repeat so (`Steps`); the view then has more dimensions than its tile
has axes.

Basic indexing (integers and slices) drops integer dimensions; advanced indexing (integers and index
expressions) has the shape that the expressions broadcast to. On chip the partition axis stays the
first and a tile has at least two axes. [NKI-PROGRAMMING-2.26]
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from trnsim.errors import ProgramError, UserError
from trnsim.frontend import source
from trnsim.frontend.legacy.index import ArrayIndex, Index, as_integer, broadcast_shapes, pad
from trnsim.frontend.legacy.index import Form as IndexForm
from trnsim.frontend.legacy.mask import Mask, as_index
from trnsim.frontend.loop_index import LoopIndex, plain
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.records.tensor import Form, Shape, View


class DynamicSlice(NamedTuple):
    """`nl.ds(start, size)`."""

    start: Any
    size: int


class DynamicIndex(NamedTuple):
    """A tensor element plus an affine expression, as the index of a dimension."""

    indices: View
    offset: Index


class Excess(NamedTuple):
    """A dimension that a view leaves: legal only if a mask clips the view before it is used."""

    axis: int
    size: int
    const: int
    coefficients: Shape

    def range(self, clip: Any, shape: Shape) -> tuple[int, int]:
        """Lowest and highest index after `clip` (FULL is None)."""
        bounds = clip or tuple((0, count) for count in shape)
        low = high = self.const
        for (start, count), coefficient in zip(bounds, self.coefficients):
            ends = (coefficient * start, coefficient * (start + count - 1))
            low, high = low + min(ends), high + max(ends)
        return low, high


class Step(NamedTuple):
    """One constant of a key: what it adds to the position, and where it may lie."""

    unit: int
    low: int
    high: int
    axis: int
    size: int
    coefficients: Shape


class Plan(NamedTuple):
    """What a form and the tokens of a key determine; `shape` is that of the result."""

    form: Form
    shape: Shape
    steps: tuple[Step, ...]
    limits: tuple[tuple[int, int, int], ...]
    """(unit, low, high) of every step: what indexing again needs."""


class Selection(NamedTuple):
    """The part of a plan that is found axis by axis."""

    shape: Shape
    rows: tuple[Shape, ...]
    """One row of coefficients, per axis of `shape`, for each dimension."""
    tile: Shape
    """The shape of the result, of which `shape` is a refinement."""


class Steps(NamedTuple):
    """An index that is not affine but repeats: per axis, (stride, count) pairs, outermost first."""

    shape: Shape
    axes: tuple[tuple[tuple[int, int], ...], ...]


MAXIMUM_STEPS = 3
"""Strides per axis that are looked for. [ASSUMED]"""


def _steps(index: ArrayIndex) -> tuple[Steps, int]:
    """The walk of an index that is not affine; ProgramError if there is none."""
    values = index.values()
    first = int(values.flat[0])
    axes = []
    total = values * 0 + first
    for axis, size in enumerate(values.shape):
        along = tuple(slice(None) if at == axis else 0 for at in range(values.ndim))
        sequence = [int(value) - first for value in values[along]]
        pairs = _factors(sequence, MAXIMUM_STEPS)
        if pairs is None:
            raise _not_affine(index)
        axes.append(pairs)
        total = total + (values[along] - first).reshape((size,) + (1,) * (values.ndim - axis - 1))
    if (total != values).any():
        raise _not_affine(index)
    return Steps(tuple(values.shape), tuple(axes)), first


def _factors(sequence: list[int], depth: int) -> tuple[tuple[int, int], ...] | None:
    """(stride, count) pairs, outermost first, whose nested walk is the sequence, or None."""
    size = len(sequence)
    if size == 1:
        return ((0, 1),)
    if depth == 0:
        return None
    stride = sequence[1] - sequence[0]
    for count in sorted((one for one in range(2, size + 1) if size % one == 0), reverse=True):
        if all(sequence[start + at] == sequence[start] + at * stride
               for start in range(0, size, count) for at in range(count)):
            if count == size:
                return ((stride, count),)
            outer = _factors(sequence[::count], depth - 1)
            if outer is not None:
                return (*outer, (stride, count))
    return None


def _not_affine(index: ArrayIndex) -> ProgramError:
    return ProgramError(
        f"{source.here()}: an index of shape {list(index.shape)} is not affine (values "
        f"{index.values().flat[:4].tolist()}...), and no access pattern walks it; use an "
        "expression that is a sum of nl.arange axes times constants")


FULL_SLICE = slice(None)


def split(items: tuple[Any, ...], shape: Shape) -> tuple[list[Any], list[int]] | None:
    """Tokens and constants of a key, one of each per dimension; None if a tensor is among them."""
    tokens: list[Any] = []
    constants: list[int] = []
    for item in items:
        kind = type(item)
        if kind is Index:
            const = item.const
            tokens.append(item.form)
            constants.append(const if type(const) is int else const.value)
        elif kind is int:
            tokens.append(None)
            constants.append(item)
        elif kind is LoopIndex:
            tokens.append(None)
            constants.append(item.value)
        elif kind is slice:
            token, const = _slice_token(item, shape[min(len(tokens), len(shape) - 1)])
            tokens.append(token)
            constants.append(const if type(const) is int else const.value)
        elif kind is DynamicSlice and type(start := item.start) is int:
            tokens.append(item.size)
            constants.append(start)
        elif item is Ellipsis:
            at = len(tokens)
            fill = (FULL_SLICE,) * (len(shape) - len(items) + 1)
            return split(items[:at] + fill + items[at + 1:], shape)
        elif isinstance(item, (View, DynamicIndex)):
            return None
        else:
            token, const = _token(item, shape[min(len(tokens), len(shape) - 1)])
            tokens.append(token)
            constants.append(plain(const))
    if len(tokens) > len(shape):
        raise ProgramError(f"{source.here()}: {len(items)} indices for a tensor of shape "
                           f"{list(shape)}; use at most {len(shape)}")
    return tokens, constants


def stay_inside(items: tuple[Any, ...], limits: tuple[tuple[int, int, int], ...]) -> None:
    """Traces again if a key leaves its tensor in iterations for which this one stands."""
    for at, item in enumerate(items):
        if item is Ellipsis:
            items = items[:at] + (None,) * (len(limits) - len(items) + 1) + items[at + 1:]
            break
    for item, (_, low, high) in zip(items, limits):
        kind = type(item)
        start = (item.const if kind is Index else item.start if kind in (slice, DynamicSlice)
                 else item)
        if type(start) is LoopIndex:
            start.stay_within(low, high)


def _token(item: Any, size: int) -> tuple[Any, Any]:
    if isinstance(item, slice):
        return _slice_token(item, size)
    if isinstance(item, Index):
        return item.form, item.const
    if isinstance(item, DynamicSlice):
        return item.size, _integer(item.start)
    if isinstance(item, Mask):
        return _token(as_index(item), size)
    if isinstance(item, ArrayIndex):
        return _steps(item)
    return None, _integer(item)


def _integer(value: Any) -> Any:
    """An integer or loop index."""
    number = as_integer(value)
    if number is None:
        how = ("loop over it, or write a slice for all of it" if isinstance(value, LoopRange) else
               "use integers, slices, nl.ds, nl.arange expressions or a tensor of indices")
        raise UserError(f"{source.here()}: a tensor is indexed with {type(value).__name__}; {how}")
    return number


def _slice_token(item: slice, size: int) -> tuple[Any, Any]:
    start, stop = item.start, item.stop
    if item.step is None:
        if start is None and stop is None:
            return size, 0
        if type(start) is type(stop) is int and 0 <= start < stop:
            return stop - start, start
        if (type(start) is type(stop) is LoopIndex and start.terms == stop.terms
                and stop.value > start.value and start.is_at_least(0) and stop.is_at_least(0)):
            return stop.value - start.value, start
    step = 1 if item.step is None else int(_integer(item.step))
    start = 0 if item.start is None else _integer(item.start)
    stop = size if item.stop is None else _integer(item.stop)
    start = start + size if start < 0 else start
    stop = stop + size if stop < 0 else stop
    count = -(int(start - stop) // step) if step > 0 else 0
    if count < 1:
        raise ProgramError(f"{source.here()}: the slice {start}:{stop}:{step} is empty or runs "
                           "backwards; a tile has at least one element")
    return count if step == 1 else (count, step), start


def plan(form: Form, shape: Shape, tokens: list[Any], partition: int) -> Plan:
    """The plan for a tensor of `form` whose selection starts `partition` partitions in."""
    advanced = any(isinstance(token, (IndexForm, Steps)) for token in tokens)
    chosen = _advanced(tokens, shape) if advanced else _basic(tokens, shape)
    if form.is_on_chip:
        chosen = _as_tile(chosen, shape, advanced)
    units = form.steps
    steps = tuple(
        Step(unit, -low, size - 1 - high, axis, size, row)
        for axis, (unit, size, row, (low, high)) in enumerate(
            zip(units, shape, chosen.rows, (_reach(row, chosen.shape) for row in chosen.rows)))
        if axis < len(tokens))
    strides = _strides(form, chosen)
    stored = None if form.dtype is form.buffer.dtype else form.dtype
    made = form.buffer.form(chosen.shape, strides, form.partition + partition, stored)
    return Plan(made, chosen.tile, steps, tuple(step[:3] for step in steps))


def _reach(row: Shape, shape: Shape) -> tuple[int, int]:
    ends = [coefficient * (count - 1) for coefficient, count in zip(row, shape)]
    return sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)


def _strides(form: Form, chosen: Selection) -> Shape:
    first = 1 if form.is_on_chip else 0
    return tuple(sum(row[axis] * stride for row, stride in
                     zip(chosen.rows[first:], form.strides[first:]))
                 for axis in range(len(chosen.shape)))


def _unit_row(axis: int, rank: int, value: int) -> Shape:
    return tuple(value if at == axis else 0 for at in range(rank))


def _basic(tokens: list[Any], shape: Shape) -> Selection:
    counts = [(token, 1) if type(token) is int else token for token in tokens]
    counts += [(size, 1) for size in shape[len(tokens):]]
    kept = [entry for entry in counts if entry is not None]
    rank, axis, rows = len(kept), 0, []
    for entry in counts:
        if entry is None:
            rows.append((0,) * rank)
            continue
        rows.append(_unit_row(axis, rank, entry[1]))
        axis += 1
    counts_kept = tuple(count for count, _ in kept)
    return Selection(counts_kept, tuple(rows), counts_kept)


def _advanced(tokens: list[Any], shape: Shape) -> Selection:
    common: Shape = ()
    for token in tokens:
        if type(token) in (int, tuple):
            raise ProgramError(
                f"{source.here()}: slices and nl.arange expressions are mixed in one index, whose "
                "meaning is not defined; use slices alone or an nl.arange for every dimension")
        if token is not None:
            if len(token.shape) < 2:
                raise ProgramError(
                    f"{source.here()}: a tensor is indexed with a one-dimensional nl.arange, but a "
                    "tile has two axes or more; write nl.arange(n)[:, None] or [None, :]")
            common = broadcast_shapes(common, token.shape)
    rest = shape[len(tokens):]
    counts = _refinement(tokens, common)
    refined = tuple(count for axis in counts for count in axis)
    rank = len(refined) + len(rest)
    rows = [(0,) * rank if token is None else _row(token, counts) + (0,) * len(rest)
            for token in tokens]
    rows += [_unit_row(len(refined) + at, rank, 1) for at in range(len(rest))]
    return Selection(refined + rest, tuple(rows), common + rest)


def _refinement(tokens: list[Any], common: Shape) -> list[Shape]:
    """The counts into which each axis is split: the coarsest that all Steps among the tokens are
    walked by.
    """
    found: list[Shape] = []
    for axis, size in enumerate(common):
        spans = {1, size}
        for token in tokens:
            at = axis - len(common) + (len(token.axes) if isinstance(token, Steps) else 0)
            if isinstance(token, Steps) and at >= 0 and token.shape[at] > 1:
                spans.update(_spans(tuple(count for _, count in token.axes[at])))
        chain = sorted(spans, reverse=True)
        if any(whole % part for whole, part in zip(chain, chain[1:])):
            raise ProgramError(f"{source.here()}: two indices that are not affine split "
                               f"axis {axis} differently; copy the data in two steps")
        found.append(tuple(whole // part for whole, part in zip(chain, chain[1:])) or (1,))
    return found


def _spans(counts: Shape) -> list[int]:
    """How many elements one step of each count goes, outermost first."""
    return [prod(counts[at + 1:]) for at in range(len(counts))]


def _row(token: Any, counts: list[Shape]) -> Shape:
    """The coefficients of a token for the refined axes."""
    if isinstance(token, Steps):
        axes = ((((0, 1),),) * (len(counts) - len(token.axes))) + token.axes
    else:
        axes = tuple(((one, 1),) for one in pad(token.coefficients, len(counts)))
    return tuple(coefficient for steps, split in zip(axes, counts)
                 for coefficient in _spread(steps, split))


def _spread(steps: tuple[tuple[int, int], ...], split: Shape) -> list[int]:
    """An axis walked in more steps: a stride is that of the next inner span, times how often it
    fits.
    """
    inner = list(zip(_spans(tuple(count for _, count in steps)), (stride for stride, _ in steps)))
    row = []
    for span in _spans(split):
        own, stride = next(one for one in inner if one[0] <= span)
        row.append(stride * (span // own))
    return row


def _as_tile(chosen: Selection, shape: Shape, advanced: bool) -> Selection:
    """Makes axis 0 of the result the partition axis, and the rank at least 2."""
    row = chosen.rows[0]
    if not any(row) and not advanced and chosen.shape[:1] != (1,):
        chosen = Selection((1, *chosen.shape), tuple((0, *one) for one in chosen.rows),
                           (1, *chosen.tile))
        row = chosen.rows[0]
    free_on_first = any(one[0] for one in chosen.rows[1:])
    if any(row[1:]) or free_on_first or row[0] not in (0, 1):
        raise ProgramError(
            f"{source.here()}: the index walks the partitions of a tensor of shape {list(shape)} "
            "other than one after the other along its first axis; let the first axis select the "
            "partitions, with stride 1, and the others the free dimensions; partitions that are "
            "not the first dimension of a tensor are marked with nl.par_dim in its shape")
    if row[0] == 0 and chosen.shape[0] > 1:
        raise ProgramError(
            f"{source.here()}: the first axis of the index has {chosen.shape[0]} elements and does "
            "not move along the partitions; put the partition index first")
    if len(chosen.shape) == 1:
        chosen = Selection((*chosen.shape, 1), tuple((*one, 0) for one in chosen.rows),
                           (*chosen.tile, 1))
    return chosen
