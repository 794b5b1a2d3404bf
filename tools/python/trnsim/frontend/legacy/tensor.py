# SPDX-License-Identifier: Apache-2.0
# Tensors of the 0.1 dialect: indexing, assignment that retargets producers, Python operators.
"""Tensors as a 0.1 kernel sees them.

`Tensor` is a tile or an HBM tensor; `Blocks` is an on-chip tensor with block dimensions before
nl.par_dim, each block an instance of its own that comes into being at its first use.

`t[i] = nisa.x(...)` lets the instruction write `t[i]` instead of a fresh tile and a copy. A tensor
that is the result of such a held-back instruction has `held`. [NKI-PROGRAMMING-MODEL]
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, Sequence

from trnsim.frontend import dtypes, recorder, source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.errors import ProgramError, UserError
from trnsim.frontend.legacy import selection
from trnsim.frontend.legacy.index import Index, as_integer
from trnsim.frontend.legacy.loop_index import LoopIndex
from trnsim.frontend.legacy.mask import Mask, clip
from trnsim.frontend.legacy.selection import Excess
from trnsim.frontend.psum import MatmulRegions
from trnsim.frontend.tensor import (PARTITION_UNIT, PSUM, Buffer, Form, Shape, Storage, View,
                                    row_major)


class Held(NamedTuple):
    """The dst of a held-back instruction, and the clip (None: all) that a mask made of it."""

    view: View
    clip: Any


class Operators:
    """Python operators on tensors; they are the functions of nl with the same meaning."""

    __slots__ = ()
    __array_ufunc__ = None

    def __add__(self, other: Any) -> Any:
        return _language().add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _language().add(other, self)

    def __sub__(self, other: Any) -> Any:
        return _language().subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _language().subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        return _language().multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _language().multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        return _language().divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _language().divide(other, self)

    def __pow__(self, other: Any) -> Any:
        return _language().power(self, other)

    def __mod__(self, other: Any) -> Any:
        return _language().mod(self, other)

    def __neg__(self) -> Any:
        return _language().negative(self)

    def __invert__(self) -> Any:
        return _language().invert(self)

    def __and__(self, other: Any) -> Any:
        return _language().bitwise_and(self, other)

    def __or__(self, other: Any) -> Any:
        return _language().bitwise_or(self, other)

    def __xor__(self, other: Any) -> Any:
        return _language().bitwise_xor(self, other)

    def __lshift__(self, other: Any) -> Any:
        return _language().left_shift(self, other)

    def __rshift__(self, other: Any) -> Any:
        return _language().right_shift(self, other)

    def __lt__(self, other: Any) -> Any:
        return _language().less(self, other)

    def __le__(self, other: Any) -> Any:
        return _language().less_equal(self, other)

    def __gt__(self, other: Any) -> Any:
        return _language().greater(self, other)

    def __ge__(self, other: Any) -> Any:
        return _language().greater_equal(self, other)

    def __eq__(self, other: Any) -> Any:
        return _language().equal(self, other)

    def __ne__(self, other: Any) -> Any:
        return _language().not_equal(self, other)

    __hash__ = object.__hash__


class Tensor(Operators, View):
    """A view of one instance: a tile on chip, or a tensor in HBM."""

    __slots__ = ("shape", "held", "excess")
    __hash__ = object.__hash__

    shape: Shape  # type: ignore[assignment]

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
        if isinstance(key, Mask):
            return self.clipped(clip(key, self.shape)[0])
        if self.excess is not None:
            self.check_inside()
        if self.held is not None:
            release(self)
        items = key if type(key) is tuple else (key,)
        for at, item in enumerate(items):
            if isinstance(item, (View, DynamicIndex)):
                return _indirect(self, items, at)
        tokens, constants = selection.split(key, self.shape)
        return self._select(tokens, constants)

    def _select(self, tokens: list[Any], constants: list[int]) -> Tensor:
        form = self.form
        partition = constants[0] if constants and form.is_on_chip else 0
        children: dict[Any, Any] = form.children
        found = (partition, *tokens)
        plan = children.get(found)
        if plan is None:
            plan = children[found] = selection.plan(form, self.shape, tokens, partition)
        position = self.position
        outside = False
        for const, step in zip(constants, plan.steps):
            if const < step.low or const > step.high:
                outside = True
            position += const * step.unit
        result = Tensor(self.storage, plan.form, position, self.indices)
        if outside:
            result.excess = tuple(
                Excess(step.axis, step.size, const, step.coefficients)
                for const, step in zip(constants, plan.steps)
                if const < step.low or const > step.high)
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key] if key is not Ellipsis else self
        _assignment().assign(target, value)

    def __iadd__(self, other: Any) -> Tensor:
        _assignment().accumulate(self, other)
        return self

    def __isub__(self, other: Any) -> Tensor:
        _assignment().assign(self, _language().subtract(self, other))
        return self

    def __imul__(self, other: Any) -> Tensor:
        _assignment().assign(self, _language().multiply(self, other))
        return self

    def __itruediv__(self, other: Any) -> Tensor:
        _assignment().assign(self, _language().divide(self, other))
        return self

    def check_inside(self) -> None:
        """ProgramError if the view leaves its tensor, which only a mask may repair."""
        for one in self.excess or ():
            low, high = one.range(None, self.shape)
            raise ProgramError(
                f"{source.here()}: the index of dimension {one.axis} of {self.name!r} runs from "
                f"{low} to {high}, but its size is {one.size}; shrink the access or pass mask=")

    def clipped(self, bounds: Any) -> Tensor:
        """The view that a clip leaves: (start, count) per axis; axes of size 1 stay."""
        if bounds is None:
            if self.excess is not None:
                self.check_inside()
            return self
        release(self)
        key = ("clip", bounds)
        found: tuple[Form, int] | None = self.form.children.get(key)  # type: ignore[assignment]
        if found is None:
            found = self.form.children[key] = _clip_form(self.form, bounds)  # type: ignore
        result = Tensor(self.storage, found[0], self.position + found[1], self.indices)
        for one in self.excess or ():
            low, high = one.range(bounds, self.shape)
            if low < 0 or high >= one.size:
                raise ProgramError(
                    f"{source.here()}: with its mask, the index of dimension {one.axis} of "
                    f"{self.name!r} runs from {low} to {high}, but its size is {one.size}; "
                    "tighten the mask")
        return result

    # Other views ------------------------------------------------------------------------------

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.form.dtype.itemsize

    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape; on chip the partition axis stays as it is."""
        sizes = _sizes(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        return reshape(self, sizes)

    def broadcast_to(self, shape: Sequence[int], **_: Any) -> Tensor:
        """The tile repeated along axes of size 1."""
        return _language().broadcast_to(self, shape)  # type: ignore[no-any-return]

    def expand_dims(self, axis: Any) -> Tensor:
        """The tile with axes of size 1 inserted."""
        return expand_dims(self, axis)

    def astype(self, dtype: Any) -> Tensor:
        """A copy in another data type."""
        return _language().copy(self, dtype=dtype)  # type: ignore[no-any-return]

    def view(self, dtype: Any) -> Tensor:
        """The same bytes as another data type; the last dimension grows or shrinks."""
        return view_as(self, dtypes.dtype(dtype))

    def assert_shape(self, shape: Sequence[int]) -> Tensor:
        """This tensor; ProgramError unless it has the shape."""
        if tuple(self.shape) != tuple(shape):
            raise ProgramError(f"{source.here()}: {self.name!r} has the shape {list(self.shape)}, "
                               f"expected is {list(shape)}")
        return self


class DynamicIndex(NamedTuple):
    """A tensor element plus an affine expression, as the index of a dimension."""

    indices: Tensor
    offset: Index


class Blocks(Operators):
    """An on-chip tensor with block dimensions. Subscript them with integers to get a tile."""

    __slots__ = ("tiles", "lead", "base", "table")
    __hash__ = object.__hash__

    def __init__(self, tiles: BlockTable, lead: Shape, base: int) -> None:
        self.table = tiles
        self.lead = lead
        self.base = base

    @property
    def shape(self) -> Shape:
        """Block dimensions, then those of a tile."""
        return self.lead + self.table.shape

    @property
    def dtype(self) -> DType:
        """The data type of the elements."""
        return self.table.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, key: Any) -> Any:
        items = key if type(key) is tuple else (key,)
        lead = self.lead
        number = self.base
        rank = len(lead)
        for axis, (item, size) in enumerate(zip(items, lead)):
            kind = type(item)
            at = item if kind is int else item.value if kind is LoopIndex else as_integer(item)
            if at is None:
                if axis == 0 and len(items) == 1 and item is Ellipsis:
                    return self
                raise ProgramError(
                    f"{source.here()}: block dimension {axis} of {self.table.name!r} is indexed "
                    f"with {kind.__name__}, but blocks are separate tiles; use an integer")
            if not 0 <= at < size:
                raise ProgramError(
                    f"{source.here()}: the index of block dimension {axis} of {self.table.name!r} "
                    f"is {at}, but its size is {size}; shrink the access")
            number = number * size + at
        if len(items) < rank:
            return Blocks(self.table, lead[len(items):], number)
        tile = self.table.tile(number)
        return tile if len(items) == rank else tile[items[rank:]]

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self if key is Ellipsis else self[key]
        if isinstance(target, Blocks):
            for at in range(target.lead[0]):
                target[at] = value if not isinstance(value, Blocks) else value[at]
            return
        _assignment().assign(target, value)

    def __bool__(self) -> bool:
        raise UserError(f"{source.here()}: the truth of tensor {self.table.name!r} is asked while "
                        "tracing, but its elements are only known when the kernel runs")


class BlockTable:
    """The tiles of a tensor with block dimensions; one instance each, made at its first use."""

    __slots__ = ("buffers", "shape", "dtype", "name", "is_zero", "_tiles")

    def __init__(self, buffers: Sequence[Buffer], blocks: int, is_zero: bool) -> None:
        """`buffers` has one entry for all blocks, or one per block if the program placed them.

        `is_zero`: the tiles are zero by declaration, and nothing has written the zeros yet.
        """
        self.is_zero = is_zero
        self.buffers = buffers
        self.shape = buffers[0].shape
        self.dtype = buffers[0].dtype
        self.name = buffers[0].name
        self._tiles: list[Tensor | None] = [None] * blocks

    def tile(self, number: int) -> Tensor:
        """The tile of a block, by its number in row-major order."""
        found = self._tiles[number]
        if found is None:
            buffer = self.buffers[number if len(self.buffers) > 1 else 0]
            found = self._tiles[number] = instance(buffer, whole(buffer))
            here = _emit().session()
            if self.is_zero:
                here.zeros[id(found.storage)] = found
            if len(self._tiles) > 1:
                here.block_log.append((self, number, found))
        return found

    def is_free(self, number: int) -> bool:
        """Whether there is such a block and it has no tile yet."""
        return 0 <= number < len(self._tiles) and self._tiles[number] is None

    def adopt(self, number: int, tile: Tensor) -> None:
        """Gives a free block its tile."""
        self._tiles[number] = tile


class Contents(MatmulRegions):
    """The bytes of a PSUM tile that hold anything: `+=` of a matmul adds to what any engine wrote.

    `born` numbers the PSUM tiles of a session; `log` is told of every region that is new.
    """

    __slots__ = ("born", "log")

    def __init__(self, born: int, log: list[Contents]) -> None:
        super().__init__()
        self.born = born
        self.log = log

    def add(self, view: View) -> None:
        """The region has been written."""
        super().add(view)
        self.log.append(self)

    def merge(self, other: Contents) -> None:
        """Takes over what another tile of the same buffer holds."""
        self.known |= other.known
        self._recent += other._recent
        self._written.update(other._written)

    def overwrite(self, view: View) -> None:
        """Another instruction than a matmul has written the region."""
        if (view.position, view.form) not in self.known:
            self.add(view)


def instance(buffer: Buffer, form: Form) -> Tensor:
    """A new instance of an allocation site, as a tensor of the given form."""
    storage = Storage(buffer, recorder.required().frame)
    if buffer.space == PSUM:
        storage.matmul_regions = _emit().new_contents()
    return Tensor(storage, form)


def clone(tile: Tensor, step: int) -> Tensor:
    """The tile `step` (in the instance lane) further, in the same state: see loops.py."""
    storage = Storage(tile.storage.buffer, None)
    assert tile.storage.base is not None
    storage.base = tile.storage.base + step
    regions = tile.storage.matmul_regions
    if regions is not None:
        storage.matmul_regions = copied = _emit().new_contents()
        copied.merge(regions)
    return Tensor(storage, tile.form, tile.position)


def release(tensor: Tensor) -> None:
    """Issues the instruction that makes `tensor`, if it is held back: a view of it is needed."""
    held = tensor.held
    if held is not None:
        tensor.held = None
        active = recorder.required()
        if active.is_pending(held.view):
            active.flush()


def whole(buffer: Buffer) -> Form:
    """The form of a whole buffer."""
    return buffer.form(buffer.shape, row_major(buffer.shape))


def _sizes(shape: Any) -> Shape:
    return tuple(int(size) for size in shape)


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


def with_form(tensor: Tensor, shape: Shape, strides: Shape) -> Tensor:
    """A view that starts where `tensor` does, of another shape."""
    release(tensor)
    form = tensor.form
    stored = None if form.dtype is form.buffer.dtype else form.dtype
    made = form.buffer.form(shape, strides, form.partition, stored)
    result = Tensor(tensor.storage, made, tensor.position, tensor.indices)
    return result


def reshape(tensor: Tensor, shape: Shape) -> Tensor:
    """The elements of `tensor` in row-major order as another shape, without moving them."""
    if -1 in shape:
        rest = prod(size for size in shape if size != -1)
        shape = tuple(tensor.size // rest if size == -1 else size for size in shape)
    first = 1 if tensor.form.is_on_chip else 0
    if prod(shape) != tensor.size or shape[:first] != tensor.shape[:first]:
        raise ProgramError(f"{source.here()}: a tensor of shape {list(tensor.shape)} is reshaped to "
                           f"{list(shape)}; the elements, and the partitions on chip, must be equal")
    strides = _reshaped_strides(tensor.form, shape, first)
    if strides is None:
        raise ProgramError(f"{source.here()}: a strided view of shape {list(tensor.shape)} has no "
                           f"view of shape {list(shape)}; copy it first")
    return with_form(tensor, shape, strides)


def _reshaped_strides(form: Form, shape: Shape, first: int) -> Shape | None:
    pairs = list(form.pattern) or [(1, 1)]
    strides: list[int] = []
    for size in reversed(shape[first:]):
        if size == 1:
            strides.append(0)
            continue
        stride, count = pairs[-1] if pairs else (0, 1)
        if count % size:
            return None
        strides.append(stride)
        pairs[-1] = (stride * size, count // size)
        if count == size:
            pairs.pop()
    return (0,) * first + tuple(reversed(strides))


def expand_dims(tensor: Tensor, axis: Any) -> Tensor:
    """The tile with axes of size 1 at the given places."""
    shape, strides = list(tensor.shape), list(tensor.form.strides)
    for one in sorted(axis if isinstance(axis, (list, tuple)) else (axis,)):
        at = one if one >= 0 else len(shape) + 1 + one
        if at == 0 and tensor.form.is_on_chip:
            raise ProgramError(f"{source.here()}: expand_dims at axis 0, which is the partition "
                               "axis of a tile; use a free axis")
        shape.insert(at, 1)
        strides.insert(at, 0)
    return with_form(tensor, tuple(shape), tuple(strides))


def view_as(tensor: Tensor, dtype: DType) -> Tensor:
    """The bytes of `tensor` as another type; its last dimension is contiguous."""
    release(tensor)
    old, new = tensor.form.dtype.itemsize, dtype.itemsize
    shape, strides = tensor.shape, tensor.form.strides
    if old != new and (strides[-1] not in (0, 1) or shape[-1] * old % new
                       or any(stride * old % new for stride in strides[:-1])):
        raise ProgramError(f"{source.here()}: a view of {tensor.form.dtype} elements with strides "
                           f"{list(strides)} cannot be seen as {dtype}; make it contiguous")
    form = tensor.form
    sizes = shape[:-1] + (shape[-1] * old // new,)
    steps = tuple(stride * old // new for stride in strides[:-1]) + (strides[-1],)
    stored = None if dtype is form.buffer.dtype else dtype
    offset = tensor.element_offset * old // new
    made = form.buffer.form(sizes, steps, form.partition, stored)
    lane = form.partition * PARTITION_UNIT if form.is_on_chip else 0
    return Tensor(tensor.storage, made, offset + lane, tensor.indices)


def _indirect(tensor: Tensor, items: tuple[Any, ...], at: int) -> Tensor:
    """A view whose dimension `at` is indexed by the elements of a tensor."""
    item = items[at]
    indices = item.indices if isinstance(item, DynamicIndex) else item
    if tensor.indices is not None or any(isinstance(other, (View, DynamicIndex))
                                         for other in items[at + 1:]):
        raise ProgramError(f"{source.here()}: {tensor.name!r} is indexed with two tensors, but an "
                           "access has indices for one dimension; combine them first")
    release(indices)
    plain = list(items)
    if isinstance(item, DynamicIndex):
        plain[at] = item.offset
    elif indices.size == 1:
        plain[at] = 0
    else:
        rank = max([item.ndim for item in plain if isinstance(item, Index)] + [indices.ndim])
        placed = (slice(None),) + (None,) * (rank - 1)
        plain[at] = _zero_index(indices.shape[0])[placed]
    result = tensor[tuple(plain)]
    return Tensor(result.storage, result.form, result.position, indices)


def _zero_index(count: int) -> Index:
    from trnsim.frontend.legacy.index import form

    return Index(0, form((count,), (0,)))


def _language() -> Any:
    from trnsim.frontend.legacy import language

    return language


def _emit() -> Any:
    from trnsim.frontend.legacy import emit

    return emit


def _assignment() -> Any:
    from trnsim.frontend.legacy import assignment

    return assignment
