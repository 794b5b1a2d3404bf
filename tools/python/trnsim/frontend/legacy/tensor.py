# SPDX-License-Identifier: Apache-2.0
# Tensors of the 0.1 dialect: indexing, and assignment that retargets producers.
"""Tensors as a 0.1 kernel sees them.

`Tensor` is a tile or an HBM tensor; tensors with block dimensions are in blocks.py, operators in
arithmetic.py.

`t[i] = nisa.x(...)` lets the instruction write `t[i]` instead of a fresh tile and a copy. A tensor
that is the result of such a held-back instruction has `held`. [NKI-PROGRAMMING-2.26]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from trnsim.errors import ProgramError
from trnsim.frontend import dtypes, recorder, source
from trnsim.frontend.legacy import selection
from trnsim.frontend.legacy.arithmetic import Operators
from trnsim.frontend.legacy.index import Index
from trnsim.frontend.legacy.index import form as index_form
from trnsim.frontend.legacy.late import assignment, language, views
from trnsim.frontend.legacy.mask import Mask, rectangle
from trnsim.frontend.legacy.selection import DynamicIndex, DynamicSlice, Excess
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.records.tensor import HBM, Form, Indirection, Shape, Storage, View
from trnsim.frontend.shapes import sizes_of


class Held(NamedTuple):
    """The dst of a held-back instruction, and the clip that a mask made of it.

    `view` is None if the mask left nothing: there is no instruction. `mask` is one that leaves less
    than its clip, of a tile that several instructions made: its assignment copies no more.
    """

    view: View | None
    clip: Any
    mask: Mask | None = None


UNCLIPPED = Held(None, None)
"""Says that the tensor itself is the dst of the held-back instruction."""


class Tensor(Operators, View):
    """A view of one instance: a tile on chip, or a tensor in HBM."""

    __slots__ = ("excess", "held", "shape")
    __hash__ = object.__hash__

    shape: Shape

    def __init__(self, storage: Storage, form: Form, position: int = 0,
                 indices: View | None = None) -> None:
        self.storage = storage
        self.form = form
        self.position = position
        self.indices = indices
        self.shape = form.shape
        self.held: Held | None = None
        self.excess: tuple[Excess, ...] | None = None

    # Indexing ---------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        if type(key) is not tuple:
            if isinstance(key, Mask):
                return MaskedTensor.made(self, key)
            if key is True:
                return self
            is_one = isinstance(key, (DynamicSlice, DynamicIndex)) or not isinstance(key, tuple)
            key = (key,) if is_one else tuple(key)
        if self.excess is not None:
            self.check_inside()
        if self.held is not None:
            release(self)
        if len(key) != 2 or type(key[0]) is not Index or type(key[1]) is not Index:
            return self._selected(key)
        rows, columns = key
        first, second = rows.const, columns.const
        if type(first) is not int or type(second) is not int or self.indices is not None:
            return self._selected(key)
        form = self.form
        plan = form.children.get((rows.form, columns.form, first if form.is_on_chip else 0))
        if plan is None:
            return self._selected(key)
        made, visible, _, ((step, top, bottom), (unit, left, right)) = plan
        if not (top <= first <= bottom and left <= second <= right):
            return self._selected(key)
        result = Tensor(self.storage, made, self.position + first * step + second * unit)
        result.shape = visible
        return result

    def _selected(self, key: tuple[Any, ...]) -> Tensor:
        """The view that a key of any kind selects."""
        form, shape = self.form, self.shape
        if shape is not form.shape and len(shape) != len(form.shape):
            raise self._uneven("indexed again")
        tokens: list[Any] = []
        constants: list[int] = []
        for item in key:
            kind = type(item)
            if kind is Index:
                const = item.const
                tokens.append(item.form)
                constants.append(const if type(const) is int else const.value)
                continue
            if kind is int:
                tokens.append(None)
                constants.append(item)
                continue
            if kind is slice and item.step is None:
                start, stop = item.start, item.stop
                if type(start) is type(stop) is int and 0 <= start < stop:
                    tokens.append(stop - start)
                    constants.append(start)
                    continue
                if start is None and stop is None and len(tokens) < len(shape):
                    tokens.append(shape[len(tokens)])
                    constants.append(0)
                    continue
            split = selection.split(key, shape)
            if split is None:
                return _indirect(self, key)
            tokens, constants = split
            break
        tokens.append(constants[0] if constants and form.is_on_chip else 0)
        found = tuple(tokens)
        plan = form.children.get(found)
        if plan is None:
            partition = tokens.pop()
            if len(tokens) > len(shape):
                selection.split(key, shape)
            plan = form.children[found] = selection.plan(form, shape, tokens, partition)
        made, visible, _, limits = plan
        position = self.position
        outside = False
        for const, (unit, low, high) in zip(constants, limits):
            if const:
                position += const * unit
            if const < low or const > high:
                outside = True
        if LoopIndex.wide and not outside:
            selection.stay_inside(key, limits)
        indices = self.indices
        result = Tensor(self.storage, made, position, indices)
        result.shape = visible
        if indices is not None:
            result.indirection = self.indirection
        if outside:
            result.excess = tuple(
                Excess(step.axis, step.size, const, step.coefficients)
                for const, step in zip(constants, plan.steps)
                if const < step.low or const > step.high)
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key] if key is not Ellipsis else self
        assignment().assign(target, value)

    def __iter__(self) -> Iterator[Any]:
        """What its first axis holds, one after the other."""
        return (self[at] for at in range(len(self)))

    def __bool__(self) -> bool:
        """A tensor in HBM that is an argument is there; elements on chip are not known."""
        return True if self.form.space == HBM else super().__bool__()

    def __iadd__(self, other: Any) -> Self:
        assignment().accumulate(self, other)
        return self

    def __isub__(self, other: Any) -> Self:
        assignment().assign(self, language().subtract(self, other))
        return self

    def __imul__(self, other: Any) -> Self:
        assignment().assign(self, language().multiply(self, other))
        return self

    def __itruediv__(self, other: Any) -> Self:
        assignment().assign(self, language().divide(self, other))
        return self

    def check_inside(self) -> None:
        """ProgramError if the view leaves its tensor, which only a mask may repair."""
        for one in self.excess or ():
            low, high = one.range(None, self.shape)
            has_mask = recorder.required().mask is not None
            raise ProgramError(
                f"{source.here()}: the index of dimension {one.axis} of {self.name!r} runs from "
                f"{low} to {high}, but its size is {one.size}; "
                + ("the mask couples axes of the tile, or is no conjunction of affine comparisons, "
                   "and does not shorten the access: compare one index at a time" if has_mask else
                   "negative indices do not count from the end" if low == high < 0 else
                   "shrink the access or pass mask="))

    def clipped(self, bounds: Any) -> Tensor:
        """The view that a clip leaves: (start, count) per axis; axes of size 1 stay."""
        if bounds is None:
            if self.excess is not None:
                self.check_inside()
            return self
        release(self)
        if len(self.shape) != len(self.form.shape):
            raise self._uneven("masked")
        key = ("clip", bounds)
        found: tuple[Form, int] | None = self.form.children.get(key)
        if found is None:
            found = self.form.children[key] = _clip_form(self.form, bounds)
        result = Tensor(self.storage, found[0], self.position + found[1], self.indices)
        if self.indices is not None:
            result.indirection = self.indirection
        for one in self.excess or ():
            low, high = one.range(bounds, self.shape)
            if low < 0 or high >= one.size:
                raise ProgramError(
                    f"{source.here()}: with its mask, the index of dimension {one.axis} of "
                    f"{self.name!r} runs from {low} to {high}, but its size is {one.size}; "
                    "tighten the mask")
        return result

    def __add__(self, other: Any) -> Any:
        return DynamicIndex(self, other) if isinstance(other, Index) else super().__add__(other)

    __radd__ = __add__

    def _uneven(self, what: str) -> ProgramError:
        return ProgramError(f"{source.here()}: a view of {self.name!r} whose index is not affine "
                            f"is {what}, which is not possible; copy it first")

    # Other views ------------------------------------------------------------------------------

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.form.dtype.itemsize

    def reshape(self, *given: Any, shape: Any = None) -> Tensor:
        """The same elements in another shape; on chip the partition axis stays as it is."""
        shape = given if shape is None else (shape,)
        sizes = sizes_of(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        return views().reshape(self, sizes)  # type: ignore[no-any-return]

    def broadcast_to(self, shape: Sequence[int], **_: Any) -> Tensor:
        """The tile repeated along axes of size 1."""
        return language().broadcast_to(self, shape)  # type: ignore[no-any-return]

    def expand_dims(self, axis: Any) -> Tensor:
        """The tile with axes of size 1 inserted."""
        return views().expand_dims(self, axis)  # type: ignore[no-any-return]

    def astype(self, dtype: Any) -> Tensor:
        """A copy in another data type."""
        return language().copy(self, dtype=dtype)  # type: ignore[no-any-return]

    def as_tile(self) -> Tensor:
        """The tensor itself: what an index selects of a tile is one."""
        return self

    def view(self, dtype: Any) -> Tensor:
        """The same bytes as another data type; the last dimension grows or shrinks."""
        return views().view_as(self, dtypes.dtype(dtype))  # type: ignore[no-any-return]

    def assert_shape(self, shape: Sequence[int]) -> Tensor:
        """This tensor; ProgramError unless it has the shape."""
        if tuple(self.shape) != tuple(shape):
            raise ProgramError(f"{source.here()}: {self.name!r} has the shape {list(self.shape)}, "
                               f"expected is {list(shape)}")
        return self


class MaskedTensor(Tensor):
    """`tile[mask]`: what a mask leaves of a tile. `whole` is the tile, `bounds` the clip.

    A matmul of it has the shape of the tile's, of which it writes what the mask leaves.
    """

    __slots__ = ("bounds", "mask", "whole")
    __hash__ = object.__hash__

    bounds: Any
    mask: Mask
    whole: Tensor

    @classmethod
    def made(cls, whole: Tensor, mask: Mask) -> Tensor:
        """The tile itself where the mask leaves all of it."""
        bounds = rectangle(repr(whole.name), mask, whole.shape)
        view = whole.clipped(bounds)
        if bounds is None:
            return view
        found = cls(view.storage, view.form, view.position, view.indices)
        found.bounds, found.mask, found.whole = bounds, mask, whole
        return found

    def __getitem__(self, key: Any) -> Tensor:
        if isinstance(key, Mask):
            return MaskedTensor.made(self.whole, self.mask & key)
        return super().__getitem__(key)


def release(tensor: Tensor) -> None:
    """Issues the instruction that makes `tensor`, if it is held back: a view of it is needed."""
    held = tensor.held
    if held is not None:
        tensor.held = None
        active = recorder.required()
        if active.is_pending(tensor if held is UNCLIPPED else held.view):
            active.flush()


def _clip_form(form: Form, bounds: Any) -> tuple[Form, int]:
    shape = list(form.shape)
    moved, partition = 0, form.partition
    for axis, (start, count) in enumerate(bounds[:len(shape)]):
        if shape[axis] == 1:
            continue
        shape[axis] = count
        moved += start * form.steps[axis]
        if axis == 0 and form.is_on_chip:
            partition += start
    stored = None if form.dtype is form.buffer.dtype else form.dtype
    return form.buffer.form(tuple(shape), form.strides, partition, stored), moved


def _indirect(tensor: Tensor, items: tuple[Any, ...]) -> Tensor:
    """A view one dimension of which is indexed by the elements of a tensor."""
    at = next(at for at, item in enumerate(items) if isinstance(item, (View, DynamicIndex)))
    item = items[at]
    indices = item.indices if isinstance(item, DynamicIndex) else item
    if tensor.indices is not None or any(isinstance(other, (View, DynamicIndex))
                                         for other in items[at + 1:]):
        raise ProgramError(f"{source.here()}: {tensor.name!r} is indexed with two tensors, but an "
                           "access has indices for one dimension; combine them first")
    if indices.form.dtype is dtypes.bool_:
        raise ProgramError(f"{source.here()}: {tensor.name!r} is indexed with truth values, which "
                           "select no elements of a tensor; choose between values with nl.where")
    release(indices)  # type: ignore[arg-type]
    plain = list(items)
    kind = "added"
    if isinstance(item, DynamicIndex):
        plain[at] = item.offset
        kind = "scalar" if indices.size == 1 else kind
    elif indices.size == 1:
        plain[at] = 0
        kind = "scalar"
    else:
        rank = max([item.ndim for item in plain if isinstance(item, Index)] + [indices.ndim])
        placed = (slice(None),) + (None,) * (rank - 1)
        plain[at] = _zero_index(indices.shape[0])[placed]
    result = tensor[tuple(plain)]
    view = Tensor(result.storage, result.form, result.position, indices)
    view.indirection = Indirection(kind, tensor.form.steps[at], tensor.shape[at])
    return view


def _zero_index(count: int) -> Index:
    return Index(0, index_form((count,), (0,)))
