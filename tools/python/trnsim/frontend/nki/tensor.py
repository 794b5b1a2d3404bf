# SPDX-License-Identifier: Apache-2.0
# NkiTensor: the tensor of the `nki` API, a view with numpy-like indexing.
"""What kernels see of a tensor, and parts of it that are found when the kernel runs. [NKI-LANGUAGE]

Indexing is in indexing.py, other shapes of the same elements are in rearranging.py.
"""

from __future__ import annotations

from math import prod
from operator import index as as_integer
from typing import Any
from collections.abc import Sequence

from trnsim.errors import OutOfBounds
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.loop_index import give_up
from trnsim.frontend.nki.enums import MemoryRegion
from trnsim.frontend.nki.indexing import settled
from trnsim.frontend.nki.rearranging import Rearrangeable
from trnsim.frontend.nki.registers import DynamicSlice, VirtualRegister
from trnsim.frontend.records.tensor import HBM, Form, Indirection, Storage, View
from trnsim.frontend.shapes import whole_number


class NkiTensor(Rearrangeable):
    """A tensor or a part of one. All view operations return another view; nothing is copied."""

    __slots__ = ()

    truth_advice = ("use shapes or arguments to decide, or give --values, with which it is whether "
                    "all of them are true")

    # Attributes -------------------------------------------------------------------------------

    @property
    def buffer(self) -> Any:
        """The memory region, a member of nl.MemoryRegion.

        Arguments are in nl.hbm, but in nl.shared_hbm on several cores. [NKI-SIMULATOR]
        """
        if self.form.space != HBM:
            return MemoryRegion[self.form.space]
        buffer = self.form.buffer
        is_private = buffer.kind == "internal" or buffer.kind == "input" and not buffer.shared
        return MemoryRegion.private_hbm if is_private else MemoryRegion.shared_hbm

    @property
    def address(self) -> tuple[int, int] | None:
        """(partition, byte) of the tensor that this is a view of, if the kernel fixes where it is;
        None if the compiler places it. [NKI-ALLOCATOR]"""
        give_up()
        extent = self.form.buffer.extent
        return None if extent is None else (extent.partition, self.storage.place)

    @property
    def data(self) -> NkiTensor:
        """The tensor: instructions take `data` of tensors and of grids alike. [NKI-GRIDS]"""
        return self

    @property
    def base_tensor(self) -> NkiTensor:
        """The tensor itself: nki-library's kernels take wrapped and plain tensors alike."""
        return self

    @property
    def offset(self) -> int:
        """Elements from the start of the storage, counting partitions as rows."""
        give_up()
        row = self.form.strides[0] if self.form.is_on_chip else 0
        return self.element_offset + self.form.partition * row

    def is_contiguous(self) -> bool:
        """Whether the view is dense in row-major order (within a partition, on chip)."""
        return self.form.is_contiguous()

    def get_pattern(self) -> list[list[int]]:
        """[[stride, count], ...], one pair per dimension."""
        return [[stride, count] for stride, count in zip(self.form.strides, self.form.shape)]

    def is_indirect(self) -> bool:
        return self.indices is not None

    def __class_getitem__(cls, shape: Any) -> type:
        """`tensor[128, 512]` as an annotation."""
        return cls

    def __bool__(self) -> bool:
        """A tensor that is there is true; the result of an operation, if all of its elements are:
        `assert nl.equal(x, y)`, as in AWS's examples. ProgramError if they are not computed."""
        active = recorder.active()
        if active is None or not active.is_pending(self):
            return True
        known = active.truth_of(self)
        return super().__bool__() if known is None else known

    # Selection when the kernel runs and access patterns -----------------------------------------

    def _general_index(self, key: Any) -> NkiTensor:
        """Any key. A register selects along its dimension, as AWS's guide indexes with the index of
        a loop of the run time, and nl.ds of one a part of it."""
        items = key if type(key) is tuple else (key,)
        if any(isinstance(item, (VirtualRegister, DynamicSlice)) for item in items):
            return self._dynamic_index(tuple(self._complete(items)))
        return super()._general_index(key)

    def _dynamic_index(self, items: tuple[Any, ...]) -> NkiTensor:
        """One item for each dimension, of which a register decides one."""
        axis = next(axis for axis, item in enumerate(items)
                    if isinstance(item, (VirtualRegister, DynamicSlice)))
        item, before, after = items[axis], items[:axis], items[axis + 1:]
        if isinstance(item, VirtualRegister):
            return self.select(axis, item)[before + after]
        self._movable(axis)
        part = self[(*before, slice(0, item.size), *after)]
        part._selected_once()
        return part._at_register(item.start, self.form.strides[axis])

    def _movable(self, axis: int) -> None:
        """Whether an index of the run time may move along a dimension; an error if not."""
        if self.form.is_on_chip and axis == 0:
            self._reject("is selected dynamically in its partitions, which is not possible")
        self._selected_once()

    def select(self, dim: int, index: Any) -> NkiTensor:
        """One element of a dimension, which is dropped. A tensor is an index of the run time."""
        axis = self._axis(dim)
        if isinstance(index, (View, VirtualRegister)):
            self._movable(axis)
            shape = list(self.form.shape)
            strides = list(self.form.strides)
            step = strides[axis]
            how = Indirection("scalar", step, shape[axis])
            del shape[axis], strides[axis]
            if len(shape) < (2 if self.form.is_on_chip else 1):
                shape.append(1)
                strides.append(1)
            if isinstance(index, VirtualRegister):
                return self._moved(shape, strides, None)._at_register(index, step)
            return self._moved(shape, strides, index, how)
        key: list[Any] = [slice(None)] * self.ndim
        key[axis] = index
        return self._general_index(tuple(key))

    def vector_select(self, dim: int, vector_offset: View) -> NkiTensor:
        """Per-partition indirect selection of dimension 0 of an HBM tensor."""
        if dim != 0 or self.form.is_on_chip:
            self._reject("is selected by a vector, which takes dimension 0 of a tensor in hbm")
        self._selected_once()
        shape = (vector_offset.shape[0], *self.form.shape[1:])
        how = Indirection("vector", self.form.strides[0], self.form.shape[0])
        return self._moved(shape, self.form.strides, vector_offset, how)

    def ap(self, pattern: Sequence[Sequence[int]], offset: int | None = None,
           scalar_offset: Any = None, vector_offset: Any = None, indirect_dim: int = 0,
           dtype: Any = None) -> NkiTensor:
        """An explicit access pattern, [[stride, count], ...], over the storage.

        A pattern that leaves the storage is an error when it is used: kernels make some whose loops
        then run zero times.

        `indirect_dim` only matters for values: its stride is what an index counts, and the trace
        holds the shape of what is moved.
        """
        if isinstance(self.indices, View):
            self._reject(f"is given an access pattern after {self.indices.name!r} has selected "
                         "elements of it, which is not possible")
        offset = settled(offset)
        target = self.form.dtype if dtype is None else dtype_of(dtype)
        indices = vector_offset if vector_offset is not None else scalar_offset
        if vector_offset is not None and scalar_offset is not None:
            self._reject("has both a scalar_offset and a vector_offset; use one of them")
        if isinstance(indices, VirtualRegister):
            plain = self.ap(pattern, offset, dtype=dtype)
            return plain._at_register(indices, self._row_major_step(indirect_dim, target))
        if indices is not None and not isinstance(indices, View):
            self._reject(f"is indexed by {indices!r}, but takes a tensor or a register")
        if indices is not None and indices.dtype.is_float:
            self._reject(f"is indexed by {indices.name!r}, {indices.dtype}, but an index is an "
                         "integer; copy it into an int32 or uint32")
        if vector_offset is not None and indirect_dim != 0:
            self._reject(f"has a vector_offset along dimension {indirect_dim}, but one index per "
                         "partition counts along dimension 0")
        try:
            strides = tuple([as_integer(step) for step, _ in pattern])
            shape = tuple([as_integer(count) for _, count in pattern])
        except (TypeError, ValueError):
            self._reject(f"is given the access pattern {pattern!r}, but takes a list of [step, "
                         "count], one for each dimension")
        key = None
        if indices is None and dtype is None and (offset is None or type(offset) is int):
            key = (self.position, offset, indirect_dim, strides, shape)
            found = self.form.children.get(key)
            if found is not None:
                view = NkiTensor(self.storage, found[0], found[1])
                view.indirection = found[2]
                return view
        old, new = self.form.dtype.itemsize, target.itemsize
        if old != new:
            give_up()
        how = Indirection("vector" if vector_offset is not None else "scalar",
                          self.form.strides[indirect_dim] * old // new,
                          self.form.shape[indirect_dim])
        start, partition = self.element_offset * old // new + (offset or 0), 0
        if self.form.is_on_chip:
            row = prod(self.form.buffer.shape[1:]) * self.form.buffer.dtype.itemsize // new
            own = self.form.free_elements * old // new
            if shape and shape[0] > 1 and strides[0] == own != row:
                # Of columns, as if they were all of the tile.
                strides = (row, *strides[1:])
                start += (offset or 0) // own * (row - own)
            partition, start = divmod(self.form.partition * row + start, row)
            if not shape or (shape[0] > 1 and strides[0] != row):
                self._reject(f"has {row} {target} elements per partition, but its access pattern "
                             f"has the partition stride {strides[:1]}; consecutive partitions are "
                             "accessed")
            if len(shape) == 1:
                shape, strides = (*shape, 1), (*strides, 1)
            strides = (row, *strides[1:])
        view = self._accessed(shape, strides, start, partition, target, indices, how)
        if key is not None and type(view) is NkiTensor:
            self.form.children[key] = view.form, view.position, how
        return view

    def _accessed(self, shape: Sequence[int], strides: Sequence[int], offset: int, partition: int,
                  dtype: DType, indices: View | None, how: Indirection) -> NkiTensor:
        """The view of an access pattern."""
        try:
            view = self.derive(shape, strides, offset=offset, partition=partition, dtype=dtype,
                               indices=indices)
        except OutOfBounds as problem:
            stored = None if dtype is self.form.buffer.dtype else dtype
            return UnusableTensor(
                self.form.buffer.form(tuple(shape), tuple(strides), partition, stored), problem)
        view.indirection = how
        return view

    def _row_major_step(self, dim: int, dtype: DType) -> int:
        """Elements of `dtype` between neighbours of a dimension, partitions counted as rows."""
        axis = self._axis(dim)
        if axis == 0 and self.form.is_on_chip:
            self._reject("is selected dynamically in its partitions, which is not possible")
        return self.form.strides[axis] * self.form.dtype.itemsize // dtype.itemsize

    def _at_register(self, register: VirtualRegister, step: int) -> NkiTensor:
        """The view moved by a register times `step` elements.

        The start counts from 0 if the register is not known, and a register that follows from a
        number of iterations that was assumed moves it as far as the storage reaches. Beyond that
        the view cannot be used, but by a DMA that skips it.
        """
        give_up()
        if self.form.is_on_chip and register.bits > 32:
            self._reject(f"is moved by scalar {register.name!r} of 64 bits, but on chip offsets "
                         "have 32; load it from an int32 tile")
        low, high = self.form.span
        buffer = self.form.buffer
        sizes = buffer.shape[1:] if self.form.is_on_chip else buffer.shape
        capacity = prod(sizes) * buffer.dtype.itemsize // self.form.dtype.itemsize
        offset = self.element_offset
        wanted = offset + (register.value or 0) * step
        inside = max(-low, min(wanted, capacity - 1 - high))
        active = recorder.required()
        if inside != wanted and (active.has_values or not active.unknown_bounds):
            return UnusableTensor(self.form, OutOfBounds(
                f"{source.here()}: register {register.name!r} is {register.value} and moves an "
                f"access to elements {wanted + low} to {wanted + high} of "
                f"{self.name!r}, which has {capacity}; keep it in bounds; a DMA skips it "
                "with oob_mode=skip"),
                True)
        if inside != wanted and step:
            inside = offset + (inside - offset) // step * step
        return NkiTensor(self.storage, self.form, self.position + inside - offset, register)

    def indirect(self, index: Any, num_elem: int | None = None) -> NkiTensor:
        """Columns by index, the same for a group of partitions (NeuronCore-v4)."""
        chip = recorder.required().chip
        if chip.generation < 4:
            self._reject(f"is accessed indirectly, which needs NeuronCore-v4, but {chip.name} has "
                         f"{chip.neuron_core}")
        self._selected_once()
        if not self.form.is_on_chip or self.ndim != 2:
            self._reject("is accessed indirectly, but only tensors in sbuf or psum with one free "
                         "dimension are")
        if not isinstance(index, View) or index.shape[0] != self.shape[0]:
            self._reject(f"is accessed by {index!r}, but the index has as many partitions")
        count = index.size if num_elem is None else whole_number(num_elem, "num_elem")
        if not 0 < count <= index.size:
            self._reject(f"is accessed by {count} of {index.size} indices")
        # Where the columns are is known on the device: the shape is that of what is moved.
        stride = 1 if count <= self.shape[1] else 0
        how = Indirection("columns", 1, self.shape[1])
        return self._moved((self.shape[0], count), (self.form.strides[0], stride), index, how)


def whole(storage: Storage) -> NkiTensor:
    """The view of a whole storage."""
    return NkiTensor(storage, storage.buffer.whole)


class UnusableTensor(NkiTensor):
    """A view that leaves its storage: it has a shape and a type, and any use of it is an error;
    but a DMA may skip one that `is_moved` out of it at run time."""

    __slots__ = ("_problem", "is_moved")

    def __init__(self, form: Form, problem: OutOfBounds, is_moved: bool = False) -> None:
        self.form = form
        self.is_moved = is_moved
        self.position = 0
        self.indices = None
        self._problem = problem

    @property
    def storage(self) -> Storage:  # type: ignore[override]
        """OutOfBounds: there is none."""
        here, problem = f"{source.here()}:", str(self._problem)
        raise OutOfBounds(problem if problem.startswith(here) else
                          f"{here} uses the view of {problem}")
