# SPDX-License-Identifier: Apache-2.0
# NkiTensor: the tensor of the `nki` API, a view with numpy-like indexing.
"""Views of the `nki` API: indexing, reshaping and access patterns. [NKI-LANGUAGE]

On chip dimension 0 is the partitions: it is never dropped, moved or strided, and a tensor keeps at
least two dimensions. In HBM an integer index drops its dimension, down to one dimension.
"""

from __future__ import annotations

from math import prod
from operator import index as as_integer
from typing import Any, NoReturn
from collections.abc import Iterator, Sequence

from trnsim.errors import IllegalInstruction, OutOfBounds, UnsupportedFeature
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.loop_index import LoopIndex, give_up
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.nki.arithmetic import WithoutOperators
from trnsim.frontend.nki.assignment import assign
from trnsim.frontend.nki.enums import MemoryRegion
from trnsim.frontend.nki.registers import VirtualRegister
from trnsim.frontend.nki.reshaping import normalized_shape, parse_groups, reshaped_strides
from trnsim.frontend.records.tensor import HBM, Form, Indirection, Storage, View
from trnsim.frontend.shapes import whole_number


class NkiTensor(WithoutOperators, View):
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

    def __iter__(self) -> Iterator[NkiTensor]:
        """The parts along the first dimension."""
        return (self[index] for index in range(self.form.shape[0]))

    # Indexing ---------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NkiTensor:
        form = self.form
        if type(key) is tuple and self.indices is None and len(key) == len(form.shape):
            rank = len(key)
            if rank == 2:
                rows, columns = key
                return self._plane(rows, columns, form)
            if rank == 3 and form.is_on_chip:
                return self._box(key, form)
            if not form.is_on_chip:
                return self._volume(key, form)
        return self._general_index(key)

    def _plane(self, rows: Any, columns: Any, form: Form) -> NkiTensor:
        """Two plain slices of two dimensions: the key that matters most for speed."""
        if type(rows) is not slice or type(columns) is not slice:
            return self._general_index((rows, columns))
        height, width = form.shape
        first, last = rows.start, rows.stop
        if first is None:
            first = 0
        if last is None:
            last = height
        left, right = columns.start, columns.stop
        if left is None:
            left = 0
        if right is None:
            right = width
        if (rows.step is not None or columns.step is not None or type(first) is not int
                or type(last) is not int or type(left) is not int or type(right) is not int
                or not 0 <= first < last <= height or not 0 <= left < right <= width):
            if LoopIndex.open_loops and LoopIndex in map(type, (first, last, left, right)):
                return self._plane(_settled(rows), _settled(columns), form)
            return self._general_index((rows, columns))
        cached = (last - first, right - left, first if form.is_on_chip else 0)
        child = form.children.get(cached)
        if child is None:
            child = form.children[cached] = self._indexed_form(
                ((last - first, 1), (right - left, 1)), first)
        down, across = form.steps
        return NkiTensor(self.storage, child, self.position + first * down + left * across)

    def _box(self, key: tuple[Any, ...], form: Form) -> NkiTensor:
        """Three dimensions on chip; keys come again often, so the result is remembered."""
        rows, middle, columns = key
        raw: tuple[Any, ...]
        if type(rows) is not slice or type(columns) is not slice:
            return self._general_index(key)
        if type(middle) is int:
            first, last, left, right = rows.start, rows.stop, columns.start, columns.stop
            raw = (first, last, rows.step, middle, left, right, columns.step)
            if (type(first) is type(last) is type(left) is type(right) is int
                    and rows.step is columns.step is None):
                found = form.children.get(raw)
                if found is not None:
                    return NkiTensor(self.storage, found[0], self.position + found[1])
        elif type(middle) is slice:
            raw = (rows.start, rows.stop, rows.step, middle.start, middle.stop, middle.step,
                   columns.start, columns.stop, columns.step)
        elif type(middle) is LoopIndex:
            return self._box((rows, _settled(middle), columns), form)
        else:
            return self._general_index(key)
        if LoopIndex.open_loops and LoopIndex in map(type, raw):
            return self._box(tuple(map(_settled, key)), form)
        found = form.children.get(raw)
        if found is None:
            view = self._general_index(key)
            form.children[raw] = (view.form, view.position - self.position)
            return view
        child, moved = found
        return NkiTensor(self.storage, child, self.position + moved)

    def _volume(self, key: tuple[Any, ...], form: Form) -> NkiTensor:
        """Plain slices and integers in HBM."""
        position = self.position
        counts: list[int] = []
        for item, size, step in zip(key, form.shape, form.steps):
            if type(item) is slice:
                start = item.start
                stop = item.stop
                if (item.step is not None or type(start) is not int or type(stop) is not int
                        or not 0 <= start < stop <= size):
                    if LoopIndex in (type(start), type(stop)):
                        return self._volume(tuple(map(_settled, key)), form)
                    return self._general_index(key)
                position += start * step
                counts.append(stop - start)
            elif type(item) is int and 0 <= item < size:
                position += item * step
                counts.append(-1)
            elif type(item) is LoopIndex:
                return self._volume(tuple(map(_settled, key)), form)
            else:
                return self._general_index(key)
        cached = tuple(counts)
        child = form.children.get(cached)
        if child is None:
            child = form.children[cached] = self._indexed_form([(one, 1) for one in counts], 0)
        return NkiTensor(self.storage, child, position)

    def _general_index(self, key: Any) -> NkiTensor:
        """Any key: ellipsis, missing dimensions, negative and open slices, steps."""
        if LoopIndex.open_loops:
            key = tuple(_settled(item) for item in (key if type(key) is tuple else (key,)))
        items = self._complete(key if type(key) is tuple else (key,))
        position = self.position
        selected: list[tuple[int, int]] = []
        first = 0
        for axis, (item, size) in enumerate(zip(items, self.form.shape)):
            start, count, step = self._selection(item, size, axis)
            if axis == 0:
                first = start
                if self.form.is_on_chip and step != 1 and count != 1:
                    self._reject(f"slices the partitions with step {step}, but an access takes "
                                 "consecutive partitions")
            if (count, step) != (size, 1) and self._is_selected(axis):
                self._reject(f"is sliced or selected in dimension {axis}, of which "
                             f"{self.indices.name!r} selects elements when the kernel runs")
            position += start * self.form.steps[axis]
            selected.append((count, step))
        form = self._indexed_form(selected, first)
        view = NkiTensor(self.storage, form, position, self.indices)
        if isinstance(self.indices, View):
            view.indirection = self.indirection
        return view

    def _complete(self, key: tuple[Any, ...]) -> list[Any]:
        """The key with one item per dimension."""
        ndim = len(self.form.shape)
        given = sum(1 for item in key if item is not Ellipsis)
        if given > ndim or len(key) - given > 1:
            hint = (", and None adds none; use expand_dim() of the view"
                    if any(item is None for item in key) else "")
            self._reject(f"is indexed with {given} items, but has {ndim} dimensions{hint}")
        items: list[Any] = []
        for item in key:
            if item is Ellipsis:
                items += [slice(None)] * (ndim - given)
            else:
                items.append(item)
        return items + [slice(None)] * (ndim - len(items))

    def _selection(self, item: Any, size: int, axis: int) -> tuple[int, int, int]:
        """Start, count (-1 for an integer) and step of one item of a key; a range is a slice."""
        if isinstance(item, (slice, LoopRange)):
            step = 1 if item.step is None else as_integer(item.step)
            start = 0 if item.start is None else as_integer(item.start)
            stop = size if item.stop is None else as_integer(item.stop)
            start += size if start < 0 else 0
            stop += size if stop < 0 else 0
            if step < 1 or not 0 <= start < stop <= size:
                why = ("steps are at least 1" if step < 1 else
                       "a slice has at least one" if 0 <= stop <= start <= size else
                       f"that dimension has {size} elements")
                self._reject(f"is sliced {_written(item)} in dimension {axis}, but {why}")
            return start, -(-(stop - start) // step), step
        if isinstance(item, View):
            raise UnsupportedFeature.named(str(source.here()), "indexing with a tensor")
        try:
            start = as_integer(item)
        except TypeError:
            self._reject(f"is indexed with {item!r} in dimension {axis}, but takes integers, "
                         "slices, `...` and nl.ds"
                         f"{', not a range to loop over' if isinstance(item, LoopRange) else ''}")
        start += size if start < 0 else 0
        if not 0 <= start < size:
            self._reject(f"is indexed with {item} in dimension {axis}, but that dimension has "
                         f"{size} elements")
        return start, -1, 1

    def _indexed_form(self, selected: Sequence[tuple[int, int]], first: int) -> Form:
        """The form after selecting (count, step) per dimension; count -1 drops the dimension."""
        form = self.form
        shape: list[int] = []
        strides: list[int] = []
        for axis, ((count, step), stride) in enumerate(zip(selected, form.strides)):
            if count >= 0:
                shape.append(count)
                strides.append(stride * step)
            elif axis == 0 and form.is_on_chip:
                shape.append(1)
                strides.append(stride)
        partition = 0
        if form.is_on_chip:
            partition = form.partition + first
        if len(shape) < (2 if form.is_on_chip else 1):
            shape.append(1)
            strides.append(1)
        return self._form(shape, strides, partition)

    def __setitem__(self, key: Any, value: Any) -> None:
        target = self[key]
        if isinstance(value, View) and value.storage is target.storage and (
                value.position == target.position and value.form is target.form):
            return
        assign(target, value)

    # Views ------------------------------------------------------------------------------------

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> NkiTensor:
        """Elements start to end (exclusive) of one dimension."""
        key = [slice(None)] * self.ndim
        key[self._axis(dim)] = slice(start, end, step)
        return self._general_index(tuple(key))

    def select(self, dim: int, index: Any) -> NkiTensor:
        """One element of a dimension, which is dropped. A tensor is an index of the run time."""
        axis = self._axis(dim)
        if isinstance(index, (View, VirtualRegister)):
            if self.form.is_on_chip and axis == 0:
                self._reject("is selected dynamically in its partitions, which is not possible")
            self._selected_once()
            shape = list(self.form.shape)
            strides = list(self.form.strides)
            step = strides[axis]
            how = Indirection("scalar", step, shape[axis])
            del shape[axis], strides[axis]
            if isinstance(index, VirtualRegister):
                plain = self._moved(shape or [1], strides or [1], None)
                return plain._at_register(index, step)
            return self._moved(shape or [1], strides or [1], index, how)
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

    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """Reorders the dimensions."""
        order = [self._axis(dim) for dim in dims]
        if sorted(order) != list(range(self.ndim)) or (self.form.is_on_chip and order[0] != 0):
            self._reject(f"is permuted by {tuple(dims)}, which must be a permutation of its "
                         f"{self.ndim} dimensions that leaves the partitions first")
        if order != sorted(order) and self._is_selected(1):
            self._reject(f"is permuted by {tuple(dims)}, but its columns are selected when the "
                         "kernel runs")
        return self._moved([self.form.shape[axis] for axis in order],
                           [self.form.strides[axis] for axis in order], self.indices)

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """Repeats a dimension of size 1."""
        axis = self._free_axis(dim, "broadcast")
        if self.form.shape[axis] != 1:
            self._reject(f"is broadcast in dimension {dim}, which has size "
                         f"{self.form.shape[axis]}, not 1")
        shape, strides = list(self.form.shape), list(self.form.strides)
        shape[axis], strides[axis] = size, 0
        return self._moved(shape, strides, self.indices)

    def broadcast_to(self, shape: Sequence[int]) -> NkiTensor:
        """Repeats dimensions of size 1 to a shape of the same rank."""
        sizes = tuple(shape)
        if len(sizes) != self.ndim or any(
                have not in (1, want) for have, want in zip(self.form.shape, sizes)):
            self._reject(f"has shape {list(self.shape)}, which does not broadcast to "
                         f"{list(sizes)}; equal ranks and sizes 1 do")
        if self.form.is_on_chip and sizes[0] != self.form.shape[0]:
            self._reject("is broadcast over partitions, which takes an instruction; use "
                         "nl.broadcast_to")
        strides = [stride if have == want else 0
                   for have, want, stride in zip(self.form.shape, sizes, self.form.strides)]
        return self._moved(sizes, strides, self.indices)

    def expand_dim(self, dim: int) -> NkiTensor:
        """Inserts a dimension of size 1."""
        axis = dim + self.ndim + 1 if dim < 0 else dim
        if not (1 if self.form.is_on_chip else 0) <= axis <= self.ndim:
            self._reject(f"is expanded at dimension {dim}, which is not possible")
        shape, strides = list(self.form.shape), list(self.form.strides)
        shape.insert(axis, 1)
        strides.insert(axis, strides[axis] * shape[axis + 1] if axis < self.ndim else 1)
        return self._moved(shape, strides, self.indices)

    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Removes a dimension of size 1."""
        axis = self._free_axis(dim, "squeezed")
        if self.form.shape[axis] != 1:
            self._reject(f"is squeezed in dimension {dim}, which has size "
                         f"{self.form.shape[axis]}, not 1")
        shape, strides = list(self.form.shape), list(self.form.strides)
        del shape[axis], strides[axis]
        return self._moved(shape, strides, self.indices)

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> NkiTensor:
        """Splits one dimension."""
        axis = self._axis(dim)
        sizes = normalized_shape(shape, self.form.shape[axis])
        if axis == 0 and self.form.is_on_chip and len(sizes) == 1:
            return self
        axis = self._free_axis(dim, "split")
        if prod(sizes) != self.form.shape[axis]:
            self._reject(f"has {self.form.shape[axis]} elements in dimension {dim}, which do not "
                         f"split into {list(sizes)}")
        inner = [self.form.strides[axis] * prod(sizes[k + 1:]) for k in range(len(sizes))]
        return self._moved([*self.form.shape[:axis], *sizes, *self.form.shape[axis + 1:]],
                           [*self.form.strides[:axis], *inner, *self.form.strides[axis + 1:]],
                           self.indices)

    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """Merges dimensions start to end (inclusive), which must be contiguous."""
        start, end = self._free_axis(start_dim, "flattened"), self._axis(end_dim)
        shape = self.form.shape
        return self.reshape((*shape[:start], prod(shape[start:end + 1]), *shape[end + 1:]))

    def reshape(self, shape: Any, *more: int) -> NkiTensor:
        """Another shape of the same elements, if no copy is needed."""
        given = shape if isinstance(shape, (tuple, list)) else (shape, *more)
        sizes = normalized_shape(given, self.form.elements)
        if prod(sizes) != self.form.elements:
            self._reject(f"has {self.form.elements} elements, which do not reshape to "
                         f"{list(sizes)}")
        keep = 1 if self.form.is_on_chip else 0
        if keep and (not sizes or sizes[0] != self.form.shape[0]):
            self._reject(f"has {self.form.shape[0]} partitions, but is reshaped to {list(sizes)}; "
                         "the first dimension stays")
        strides = reshaped_strides(self.form.shape[keep:], self.form.strides[keep:], sizes[keep:])
        if strides is None:
            self._reject(f"has strides {list(self.form.strides)}, which do not allow the shape "
                         f"{list(sizes)} without a copy")
        if keep and len(sizes) == 1:
            sizes, strides = (*sizes, 1), (1,)
        return self._moved(sizes, (*self.form.strides[:keep], *strides), self.indices)

    def rearrange(self, src_pattern: Any, dst_pattern: Any,
                  fixed_sizes: dict[str, int] | None = None) -> NkiTensor:
        """Splits, reorders and merges named dimensions."""
        source_groups, target_groups = parse_groups(src_pattern), parse_groups(dst_pattern)
        if len(source_groups) != self.ndim:
            self._reject(f"has {self.ndim} dimensions, but the pattern names "
                         f"{len(source_groups)}")
        sizes = dict(fixed_sizes or {})
        split: NkiTensor = self
        names: list[str] = []
        for group, size in zip(source_groups, self.form.shape):
            known = [sizes.get(name, -1) for name in group]
            parts = normalized_shape(known, size)
            sizes.update(zip(group, parts))
            if len(group) > 1:
                split = split.reshape_dim(len(names), parts)
            names += group
        flat = [name for group in target_groups for name in group]
        if sorted(flat) != sorted(names):
            self._reject(f"is rearranged from {names} to {flat}, which must be the same names")
        moved = split.permute([names.index(name) for name in flat])
        return moved.reshape(tuple(prod(sizes[name] for name in group)
                                   for group in target_groups))

    def view(self, dtype: Any) -> NkiTensor:
        """The same bytes as another data type; the last dimension is rescaled."""
        target = dtype_of(dtype)
        if isinstance(self.indices, View):
            self._reject(f"is viewed as {target} after {self.indices.name!r} has selected elements "
                         "of it, which is not possible")
        old, new = self.form.dtype.itemsize, target.itemsize
        shape, strides = list(self.form.shape), list(self.form.strides)
        if old == new:
            return self.derive(shape, strides, offset=self.element_offset,
                               partition=self.form.partition, dtype=target)
        start = self.element_offset * old
        give_up()
        if strides[-1] != 1 or shape[-1] * old % new or start % new or any(
                stride * old % new for stride in strides[:-1]):
            self._reject(f"is {self.form.describe()} with strides {strides}, which does not view "
                         f"as {target}; the last dimension must be contiguous and divisible")
        shape[-1] = shape[-1] * old // new
        strides = [stride * old // new for stride in strides[:-1]] + [1]
        return self.derive(shape, strides, offset=start // new, partition=self.form.partition,
                           dtype=target)

    reinterpret_cast = view

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
        offset = _settled(offset)
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
            strides = tuple([as_integer(pair[0]) for pair in pattern])
            shape = tuple([as_integer(pair[1]) for pair in pattern])
        except (TypeError, IndexError):
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
                f"{self.name!r}, which has {capacity}; keep it in bounds or pass oob_mode=skip"),
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

    # Helpers ----------------------------------------------------------------------------------

    def _form(self, shape: Sequence[int], strides: Sequence[int], partition: int) -> Form:
        buffer = self.form.buffer
        stored = None if self.form.dtype is buffer.dtype else self.form.dtype
        return buffer.form(tuple(shape), tuple(strides), partition, stored)

    def _moved(self, shape: Sequence[int], strides: Sequence[int],
               indices: View | None, how: Indirection | None = None) -> NkiTensor:
        """The same start with another shape; `how` is what new indices mean."""
        form = self.form
        if how is None and self._is_selected(0) and (
                shape[0] != form.shape[0] or strides[0] != form.strides[0]
                or form.is_on_chip and prod(shape) != form.elements):
            self._reject(f"becomes {list(shape)}, but {self.indices.name!r} selects elements of it "
                         "when the kernel runs, whose dimensions stay")
        view = NkiTensor(self.storage, self._form(shape, strides, self.form.partition),
                         self.position, indices)
        if isinstance(indices, View):
            view.indirection = how or self.indirection
        return view

    def _is_selected(self, axis: int) -> bool:
        """Whether indices select along a dimension, one for each of its elements."""
        if not isinstance(self.indices, View):
            return False
        kind = self.indirection.kind
        return kind == "columns" or kind == "vector" and axis == 0

    def _selected_once(self) -> None:
        if self.indices is not None:
            self._reject("is selected dynamically twice, which is not possible; flatten the "
                         "dimensions and select once")

    def _axis(self, dim: int) -> int:
        axis = dim + self.ndim if dim < 0 else dim
        if not 0 <= axis < self.ndim:
            self._reject(f"has {self.ndim} dimensions, but dimension {dim} is named")
        return axis

    def _free_axis(self, dim: int, verb: str) -> int:
        axis = self._axis(dim)
        if axis == 0 and self.form.is_on_chip:
            self._reject(f"is {verb} in dimension 0, the partitions, which is not possible")
        return axis

    def _reject(self, what: str) -> NoReturn:
        raise IllegalInstruction(
            f"{source.here()}: {self.form.space} tensor {self.name!r} of shape {list(self.shape)} "
            f"{what}; change the index or the shape")


def _settled(item: Any) -> Any:
    """An item of a key with this iteration's values of loop indices, if all others are like it.

    A slice keeps its length and an index its sign; otherwise the index is asked for its value.
    """
    if type(item) is LoopIndex:
        return item.value if item.is_at_least(0) else item.ask()
    if type(item) is not slice:
        return item
    start, stop = item.start, item.stop
    if type(start) is not LoopIndex and type(stop) is not LoopIndex:
        return item
    if (type(start) is LoopIndex and type(stop) is LoopIndex and type(stop - start) is int
            and start.is_at_least(0)):
        return slice(start.value, stop.value, item.step)
    return slice(start.ask() if type(start) is LoopIndex else start,
                 stop.ask() if type(stop) is LoopIndex else stop, item.step)


def _written(item: Any) -> str:
    """A slice as the kernel has it."""
    parts = [item.start, item.stop] if item.step is None else [item.start, item.stop, item.step]
    return ":".join("" if part is None else str(part) for part in parts)


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
