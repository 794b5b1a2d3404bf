# SPDX-License-Identifier: Apache-2.0
# The contents of one storage.
"""Bytes of a storage, and which of its elements have been written.

On chip the bytes are one row per partition; in HBM they are one row. A view is a numpy array on
these bytes, made from the strides of its form, so that reinterpreted types and strides of 0 need no
copies.
"""

from __future__ import annotations

from math import prod

import numpy as np

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.records.tensor import Buffer, Form, Storage, View, split_operand
from trnsim.frontend.source import Site
from trnsim.frontend.values.casting import Array, storage_type

_LAYOUT = "values"


class Layout:
    """What numpy needs to see a form: its dtype and its strides and start in bytes."""

    __slots__ = ("dtype", "start", "strides")

    def __init__(self, form: Form) -> None:
        size = form.dtype.itemsize
        self.dtype = storage_type(form.dtype)
        self.strides = tuple(stride * size for stride in form.strides)
        self.start = 0
        if form.is_on_chip:
            row = row_bytes(form.buffer)
            self.strides = (row, *self.strides[1:])
            self.start = form.partition * row


def row_bytes(buffer: Buffer) -> int:
    """Bytes of a buffer in each partition; all of its bytes in HBM."""
    shape = buffer.shape[1:] if buffer.space != "hbm" else buffer.shape
    return prod(shape) * buffer.dtype.itemsize


def layout_of(form: Form) -> Layout:
    """The layout of a form, made once."""
    found: Layout | None = form.children.get(_LAYOUT)
    if found is None:
        found = form.children[_LAYOUT] = Layout(form)
    return found


def poisoned(values: Array, flags: Array) -> Array:
    """Elements with NaN where a flag is set; integers are as they are."""
    if values.dtype.kind in "iub":
        return values
    return np.where(flags, np.array(np.nan, values.dtype), values)


class Memory:
    """The contents of a storage. `unwritten` is None when every element has been written."""

    __slots__ = ("_grain", "_is_given", "_left", "buffer", "doubted_at", "is_modified", "origin",
                 "products", "raw", "unwritten")

    def __init__(self, buffer: Buffer) -> None:
        """UserError if this machine has no memory for it."""
        rows = buffer.shape[0] if buffer.space != "hbm" else 1
        size = rows * row_bytes(buffer)
        self.buffer = buffer
        self._grain = buffer.dtype.itemsize
        self._is_given = False
        self._left = size // self._grain
        try:
            self.raw = np.zeros(size, dtype=np.uint8)
            self.unwritten: Array | None = (None if buffer.kind == "input" else
                                            np.ones(self._left, dtype=bool))
            """One flag for each `_grain` bytes, `_left` of which are set; arguments have none."""
        except MemoryError:
            at = source.here()
            raise UserError(f"{'' if at is source.UNKNOWN else f'{at}: '}the values of "
                            f"{buffer.name!r} take {size:,} bytes, more memory than there is; give "
                            "smaller shapes, or leave values out") from None
        self.is_modified = False
        self.products: set[tuple[int, Form]] = set()
        """Places that matmuls have written, and nothing has read since."""
        self.origin = ""
        """For messages: where elements come from that were computed from unwritten ones."""
        self.doubted_at: Site = (0, 0)
        """For messages: the instruction that wrote the first of them."""

    def fill(self, values: Array) -> None:
        """Sets all elements, in row-major order, to values of the stored type."""
        self.raw[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.unwritten = None

    def clear(self) -> None:
        """Sets all elements to zero."""
        self.raw.fill(0)
        self.unwritten = None

    def whole(self) -> Array:
        """All elements in the shape of the declaration."""
        buffer = self.buffer
        return self.raw.view(storage_type(buffer.dtype)).reshape(buffer.shape)

    def view(self, view: View, moved: int = 0) -> Array:
        """The elements of a view, as an array that shares their bytes.

        `moved` elements are added to where it starts.
        """
        form = view.form
        layout = layout_of(form)
        start = layout.start + (split_operand(view.position)[0] + moved) * form.dtype.itemsize
        return np.ndarray(form.shape, layout.dtype, self.raw, start, layout.strides)

    def flags(self, view: View, moved: int = 0) -> Array:
        """The flags of a view's elements: its shape, and the flags of an element as a last axis."""
        form = view.form
        size = form.dtype.itemsize
        grain = self.grain(size)
        layout = layout_of(form)
        start = layout.start + (split_operand(view.position)[0] + moved) * size
        strides = (*(stride // grain for stride in layout.strides), 1)
        return np.ndarray((*form.shape, size // grain), np.bool_, self.unwritten,
                          start // grain, strides)

    def grain(self, size: int) -> int:
        """Bytes per flag, made 1 if elements of `size` bytes do not consist of whole flags."""
        if size % self._grain:
            self.unwritten = np.repeat(self.unwritten, self._grain)  # type: ignore[arg-type]
            self._left *= self._grain
            self._grain = 1
        return self._grain

    def give_away(self, values: Array) -> bool:
        """Whether elements may be kept as they are by who has asked for them: they are all there
        are, and nobody has asked before."""
        is_first, self._is_given = not self._is_given, True
        return is_first and values.nbytes == self.raw.size and values.flags.c_contiguous

    def with_poison(self, view: View) -> Array:
        """A copy of the elements of a view, NaN where nothing has written them (integers: 0)."""
        values = self.view(view)
        return values if self.unwritten is None else poisoned(values,
                                                              self.flags(view).any(axis=-1))

    def first_unwritten(self, view: View) -> tuple[int, ...] | None:
        """The index of the first element of a view that nothing has written, if there is one."""
        if self.unwritten is None:
            return None
        flags = self.flags(view)
        if not flags.any():
            return None
        return tuple(int(one) for one in np.argwhere(flags)[0][:-1])

    def first_flagged(self) -> tuple[int, ...] | None:
        """The index of the first element of all that nothing has written, if there is one."""
        if self.unwritten is None or not self.unwritten.any():
            return None
        element = int(self.unwritten.argmax()) * self._grain // self.buffer.dtype.itemsize
        return tuple(int(one) for one in np.unravel_index(element, self.buffer.shape))

    def mark(self, view: View, kept: Array | None = None, moved: int = 0) -> None:
        """Notes that a view's elements, or those where `kept` holds, have been written."""
        self.is_modified = True
        if self.unwritten is None:
            return
        form = view.form
        if kept is None and form.is_contiguous() and (
                form.elements * form.dtype.itemsize == self.raw.size):
            self.unwritten = None
            return
        flags = self.flags(view, moved)
        if kept is None:
            self._left -= int(np.count_nonzero(flags))
            flags[...] = False
        else:
            where = np.broadcast_to(kept, form.shape)
            self._left -= int(np.count_nonzero(flags[where]))
            flags[where] = False
        if 0 in form.strides:
            self.recount()
        if self._left == 0:
            self.unwritten = None

    def part(self, view: View) -> Memory:
        """A copy of the elements of a view, at the same place."""
        found = Memory(self.buffer)
        found.view(view)[...] = self.view(view)
        if self.unwritten is None:
            found.mark(view)
        else:
            found.mark(view, ~self.flags(view).any(axis=-1))
        return found

    @property
    def is_unwritten(self) -> bool:
        """Whether nothing has written any element."""
        return self.unwritten is not None and self._left == self.unwritten.size

    def take(self, partitions: slice, taken: Array, origin: str, at: Site) -> None:
        """Notes that bytes of some partitions, `taken` of each, are as good as not written."""
        columns = taken.reshape(-1, self._grain).any(axis=1)
        if self.unwritten is not None and self._rows()[partitions, columns].all():
            return
        self.doubt(origin, at)
        self._rows()[partitions, columns] = True
        self.recount()

    def _rows(self) -> Array:
        """The flags by partition."""
        assert self.unwritten is not None
        return self.unwritten.reshape(self.buffer.shape[0], -1)

    def unmark(self, view: View, where: Array | bool, origin: str, at: Site) -> None:
        """Notes that elements of a view, written by the instruction `at`, are as good as not
        written."""
        self.doubt(origin, at)
        self.flags(view)[where] = True
        self.recount()

    def doubt(self, origin: str, at: Site) -> None:
        """Has flags, because elements are about to be as good as not written."""
        if self.unwritten is None:
            self.unwritten = np.zeros(self.raw.size // self._grain, dtype=bool)
            self.origin = ""
        if not self.origin:
            self.origin, self.doubted_at = origin, at

    def recount(self) -> None:
        """Counts the flags, some of which were changed."""
        self._left = 0 if self.unwritten is None else int(np.count_nonzero(self.unwritten))


def memory_of(storage: Storage) -> Memory:
    """The contents of a storage, which begin unwritten."""
    try:
        found: Memory = storage.values
    except AttributeError:
        try:
            found = storage.buffer.contents
        except AttributeError:
            found = Memory(storage.buffer)
        storage.values = found
    return found
