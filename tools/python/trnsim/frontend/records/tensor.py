# SPDX-License-Identifier: Apache-2.0
# Buffers (allocation sites), their instances, and views of them.
"""Buffers, storages and views: what the operands of a recorded instruction refer to.

    Buffer   an allocation site: one `buffer` record of the trace
    Storage  one execution of the site: an instance, numbered when it is first accessed
    Form     everything about a view except where it starts; interned per buffer, so that two views
             with the same form are the same operand of the same template
    View     a storage, a form and a position

A *position* is one integer that holds the element offset (within the partition on chip, over the
whole buffer in HBM) and the start partition in separate lanes, see `position_of`. Adding a multiple
of a form's `steps` moves a view; the recorder compares whole positions by subtraction.

The dialects subclass View (for indexing and methods). Everything that a dialect needs to make
views of its own is `View.derive`, `Buffer.form` and `position_of`.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, TypeVar
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction, OutOfBounds, ProgramError
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.records import sites
from trnsim.frontend.records.frame import Frame
from trnsim.frontend.shapes import sizes_of

HBM, SBUF, PSUM = "hbm", "sbuf", "psum"

OFFSET_BITS = 56
"""Lane of the element offset: signed, so offsets up to 2^55 elements."""
PARTITION_BITS = 16
INSTANCE_BITS = 40
OPERAND_BITS = OFFSET_BITS + PARTITION_BITS + INSTANCE_BITS
PARTITION_UNIT = 1 << OFFSET_BITS
INSTANCE_SHIFT = OFFSET_BITS + PARTITION_BITS
MAXIMUM_PATTERN = {HBM: 6, SBUF: 4, PSUM: 4}
"""Pairs of an access pattern (docs/trace-format.md, section 4)."""

_OFFSET_HALF = 1 << (OFFSET_BITS - 1)
_OFFSET_MASK = (1 << OFFSET_BITS) - 1
_PARTITION_HALF = 1 << (PARTITION_BITS - 1)
_PARTITION_MASK = (1 << PARTITION_BITS) - 1
_INSTANCE_HALF = 1 << (INSTANCE_BITS - 1)
_INSTANCE_MASK = (1 << INSTANCE_BITS) - 1

Shape = tuple[int, ...]
V = TypeVar("V", bound="View")


def position_of(offset: int, partition: int = 0) -> int:
    """The position that starts `offset` elements in, at `partition`."""
    return offset + (partition << OFFSET_BITS)


def split_operand(value: int) -> tuple[int, int, int, int]:
    """Offset, partition, instance (each may be negative) and what is left for later operands."""
    offset = ((value + _OFFSET_HALF) & _OFFSET_MASK) - _OFFSET_HALF
    value = (value - offset) >> OFFSET_BITS
    partition = ((value + _PARTITION_HALF) & _PARTITION_MASK) - _PARTITION_HALF
    value = (value - partition) >> PARTITION_BITS
    instance = ((value + _INSTANCE_HALF) & _INSTANCE_MASK) - _INSTANCE_HALF
    return offset, partition, instance, (value - instance) >> INSTANCE_BITS


class Buffer:
    """An allocation site. `shape` is that of the declaration: partitions first on chip.

    `shared` names an HBM buffer that the cores of the program have in common; "" if it is private.
    `is_named` says whether the kernel gave the name, `met_at` where cores first met over it.
    `contents` are its values then, absent unless they are computed (see values/).
    `extent` is its memory, if the program fixes the addresses of its tiles.
    `instances`, `last_allocation` and `allocation` (the shape of its `alloc`) are the recorder's.
    """

    __slots__ = ("name", "space", "kind", "dtype", "shape", "stack", "extent", "instances",
                 "last_allocation", "identifier", "allocation", "spans_banks", "shared",
                 "is_named", "met_at", "contents", "_forms", "whole")

    contents: Any

    def __init__(self, name: str, space: str, dtype: DType, shape: Shape, *,
                 kind: str = "internal", stack: tuple[source.Site, ...] = (),
                 address: sites.Address | None = None, bank_bytes: int = 0) -> None:
        self.name = name
        self.space = space
        self.kind = kind
        self.dtype = dtype
        self.shape = shape
        self.stack = stack
        self.extent = None if address is None else sites.Extent(address[0])
        self.instances = 0
        self.last_allocation = -1
        self.identifier = -1
        self.allocation = -1
        self.shared = ""
        self.is_named = False
        self.met_at: source.Position | None = None
        self.spans_banks = space == PSUM and prod(shape[1:]) * dtype.itemsize > bank_bytes
        self._forms: dict[tuple[Any, ...], Form] = {}
        self.whole = self.form(shape, row_major(shape))
        """The form of the whole buffer, in row-major order."""

    def form(self, shape: Shape, strides: Shape, partition: int = 0,
             dtype: DType | None = None) -> Form:
        """The interned form with this shape and these element strides, one per dimension.

        On chip dimension 0 is the partitions and its stride is not used; `partition` is the start.
        """
        key = (shape, strides, partition, dtype)
        found = self._forms.get(key)
        if found is None:
            if dtype is not None and self.extent is not None:
                sites.check_view(self.name, self.dtype, dtype)
            found = self._forms[key] = Form(self, tuple(map(int, shape)), tuple(map(int, strides)),
                                            partition, dtype or self.dtype)
        return found


def row_major(shape: Sequence[int]) -> Shape:
    """Row-major element strides of a shape."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


class Form:
    """A view without its start: shape, strides, dtype and start partition, interned per buffer."""

    __slots__ = ("buffer", "dtype", "shape", "strides", "partition", "steps", "is_on_chip",
                 "space", "children", "elements", "free_elements", "partitions", "_pattern")

    def __init__(self, buffer: Buffer, shape: Shape, strides: Shape, partition: int,
                 dtype: DType) -> None:
        self.buffer = buffer
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.partition = partition
        self.space = buffer.space
        self.is_on_chip = buffer.space != HBM
        self.steps = ((PARTITION_UNIT, *strides[1:]) if self.is_on_chip else strides)
        self.children: dict[Any, Any] = {}
        """Cache of the dialects: what indexing a view of this form makes."""
        self._pattern: tuple[tuple[int, int], ...] | None = None
        self.elements = prod(shape)
        """Elements touched, in all partitions."""
        self.free_elements = prod(shape[1:])
        """Elements touched in one partition (on chip)."""
        self.partitions = shape[0] if self.is_on_chip else 0
        """Partitions touched; 0 in HBM, which has none."""

    @property
    def unplaced(self) -> Form:
        """That of equal views that start at partition 0: where they start is in their positions."""
        if self.partition == 0:
            return self
        stored = None if self.dtype is self.buffer.dtype else self.dtype
        return self.buffer.form(self.shape, self.strides, 0, stored)

    @property
    def pattern(self) -> tuple[tuple[int, int], ...]:
        """(stride, count) pairs, outermost first, adjacent dimensions merged where possible."""
        if self._pattern is None:
            first = 1 if self.is_on_chip else 0
            self._pattern = merge_pattern(self.strides[first:], self.shape[first:])
        return self._pattern

    @property
    def span(self) -> tuple[int, int]:
        """Lowest and highest offset touched, relative to the start, in elements."""
        low = sum(stride * (count - 1) for stride, count in self.pattern if stride < 0)
        high = sum(stride * (count - 1) for stride, count in self.pattern if stride > 0)
        return low, high

    def is_contiguous(self) -> bool:
        """Whether the elements (of one partition, on chip) are dense in row-major order."""
        return self.pattern in ((), ((1, self.elements // max(self.partitions, 1)),))

    def describe(self) -> str:
        """For messages: space, shape and dtype."""
        return f"{self.space} {self.dtype}{list(self.shape)}"


def merge_pattern(strides: Sequence[int], shape: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The shortest (stride, count) list that walks the same elements in the same order."""
    pairs: list[tuple[int, int]] = []
    for stride, count in zip(strides, shape):
        if count == 1:
            continue
        if pairs and pairs[-1][0] == stride * count:
            pairs[-1] = (stride, pairs[-1][1] * count)
        else:
            pairs.append((stride, count))
    return tuple(pairs)


class Storage:
    """One instance of a buffer. `base` is its number in the instance lane, None before first use.

    `place` is the byte at which the program puts it, if it does: that is then in the instance lane
    instead (see sites.py). `frame` is the loop in which it was created (its `alloc` goes there).
    `matmul_regions` belongs to the rule that decides whether a matmul overwrites or accumulates
    (see psum.py). `values` are its contents, absent until something is evaluated (see values/).
    `name` is the one that the kernel gave it, if it did: its site may have another (see sites.py).
    """

    __slots__ = ("buffer", "base", "frame", "matmul_regions", "name", "place", "values")

    values: Any

    def __init__(self, buffer: Buffer, frame: Frame | None, place: int = 0,
                 name: str = "") -> None:
        self.buffer = buffer
        self.place = place
        self.name = name
        self.frame = frame
        self.base: int | None = None
        self.matmul_regions: Any = None

    @property
    def instance(self) -> int | None:
        return None if self.base is None else self.base >> INSTANCE_SHIFT


class Indirection(NamedTuple):
    """What the elements of `indices` mean: each moves the start by `step` elements, below `limit`.

    `kind` is `scalar` (one index moves all), `vector` (one for each element of the first dimension,
    instead of its stride), `added` (besides its stride) or `columns` (of a group of partitions, see
    NkiTensor.indirect).
    """

    kind: str
    step: int
    limit: int


class View:
    """A part of a storage. Immutable; all operations return another view of the same storage.

    `indices` is the view that holds the indices of an indirect access, or the register that moves
    the start; else None. If it is a view, `indirection` says what its elements mean, which matters
    to values and to what is allowed.
    """

    __slots__ = ("storage", "form", "position", "indices", "indirection")

    indirection: Indirection
    truth_advice = "use shapes or arguments to decide"
    """What to do instead of asking whether a view is true."""

    def __init__(self, storage: Storage, form: Form, position: int = 0,
                 indices: Any = None) -> None:
        self.storage = storage
        self.form = form
        self.position = position
        self.indices = indices

    @property
    def shape(self) -> Shape:
        return self.form.shape

    @property
    def dtype(self) -> DType:
        return self.form.dtype

    @property
    def ndim(self) -> int:
        return len(self.form.shape)

    @property
    def size(self) -> int:
        return self.form.elements

    @property
    def strides(self) -> Shape:
        return self.form.strides

    @property
    def space(self) -> str:
        return self.form.space

    @property
    def name(self) -> str:
        return self.storage.name or self.form.buffer.name

    @property
    def element_offset(self) -> int:
        """Elements from the start of the instance (within the partition, on chip)."""
        return split_operand(self.position)[0]

    def derive(self: V, shape: Sequence[int], strides: Sequence[int], *, offset: int,
               partition: int = 0, dtype: DType | None = None, indices: Any = None) -> V:
        """A view of the same storage from explicit shape, element strides, offset and partition.

        On chip `shape[0]` is the partition count and `strides[0]` is ignored. All are absolute
        (from the start of the instance), in elements of `dtype` (default: this view's).
        ProgramError if an element lies outside the storage.
        """
        kind = dtype or self.form.dtype
        stored = None if kind is self.form.buffer.dtype else kind
        form = self.form.buffer.form(tuple(shape), tuple(strides), partition, stored)
        if isinstance(indices, View):
            check_base(form, offset)
        else:
            check_bounds(form, offset)
        return type(self)(self.storage, form, position_of(offset, partition), indices)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} {self.form.describe()}>"

    def __len__(self) -> int:
        return self.form.shape[0]

    def __bool__(self) -> bool:
        raise ProgramError(
            f"{source.here()}: the truth of tensor {self.name!r} is asked while tracing, but its "
            f"elements are only known when the kernel runs; {self.truth_advice}")


def is_view(value: Any) -> bool:
    """Whether a value is a view, as kernels pass and return them."""
    return isinstance(value, View)


def check_bounds(form: Form, offset: int) -> None:
    """OutOfBounds if a view of `form` at `offset` (elements) leaves its buffer."""
    buffer = form.buffer
    low, high = form.span
    shape = buffer.shape[1:] if form.is_on_chip else buffer.shape
    capacity = prod(shape) * buffer.dtype.itemsize // form.dtype.itemsize
    if offset + low < 0 or offset + high >= capacity:
        where = "each partition of " if form.is_on_chip else ""
        raise OutOfBounds(
            f"{source.here()}: the access reaches elements {offset + low} to {offset + high}, but "
            f"{where}{buffer.name!r} has {capacity} {form.dtype} elements; shrink the access")
    if form.is_on_chip and not 0 <= form.partition <= buffer.shape[0] - form.shape[0]:
        last = form.partition + form.shape[0] - 1
        raise OutOfBounds(
            f"{source.here()}: the access reaches partitions {form.partition} to {last}, but "
            f"{buffer.name!r} has {buffer.shape[0]} partitions; shrink the access")


def check_base(form: Form, offset: int) -> None:
    """ProgramError if an indirect view counts its indices from outside of its buffer."""
    buffer = form.buffer
    capacity = (prod(buffer.shape[1:] if form.is_on_chip else buffer.shape) * buffer.dtype.itemsize
                // form.dtype.itemsize)
    if not 0 <= offset < capacity:
        raise ProgramError(
            f"{source.here()}: the indices count from element {offset} of {buffer.name!r}, which "
            f"has {capacity} {form.dtype} elements; shrink the offset")


ELEMENTS_MAX = 2**48
"""Elements of a buffer (docs/trace-format.md)."""


def check_declaration(space: str, shape: Sequence[Any], dtype: DType, partitions: int,
                      partition_bytes: int) -> Shape:
    """The shape as integers. IllegalInstruction if no buffer of this shape fits the memory."""
    sizes = sizes_of(shape)
    where = source.here()
    if not sizes or any(size < 1 for size in sizes):
        raise IllegalInstruction(f"{where}: a {space} tensor of shape {list(sizes)}; "
                                 "every size must be at least 1")
    if space == HBM:
        if prod(sizes) > ELEMENTS_MAX:
            raise IllegalInstruction(f"{where}: an hbm tensor of shape {list(sizes)} has "
                                     f"{prod(sizes)} elements, but at most {ELEMENTS_MAX} are "
                                     "possible; make it smaller")
        return sizes
    if len(sizes) < 2:
        raise IllegalInstruction(f"{where}: a {space} tensor of shape {list(sizes)}; on-chip "
                                 "tensors have a partition and at least one free dimension; write "
                                 f"{[*sizes, 1]}")
    if sizes[0] > partitions:
        raise IllegalInstruction(f"{where}: a {space} tensor of shape {list(sizes)} takes "
                                 f"{sizes[0]} partitions, but {space} has {partitions}; split it")
    need = prod(sizes[1:]) * dtype.itemsize
    if need > partition_bytes:
        raise IllegalInstruction(
            f"{where}: a {space} tensor {dtype}{list(sizes)} takes {need} bytes of each "
            f"partition, but a {space} partition has {partition_bytes}; split it")
    return sizes
