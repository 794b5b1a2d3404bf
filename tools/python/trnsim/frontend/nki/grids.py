# SPDX-License-Identifier: Apache-2.0
# nl.tiles, nl.blocks and their relatives of NKI 0.7.
"""Tensors seen as grids of tiles, or of blocks of tiles. [NKI-GRIDS]

A grid selects a region of a tensor and counts it in cells; nothing is copied, and nothing allocated
but by `alloc_tiles` and `alloc_blocks`. A cell at the end of a dimension may be smaller. An integer
selects one cell and uses its coordinate up; `data` is the tensor for an instruction.
"""

from __future__ import annotations

from math import prod
from operator import index as as_integer
from typing import Any, NoReturn
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction, UnsupportedFeature
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.nki.creation import ndarray
from trnsim.frontend.nki.enums import SPACES, space_of
from trnsim.frontend.nki.regions import Capacity, Region, Runs, Shape, Spread, Window, every
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.records.tensor import HBM, SBUF


def _refuse(what: str) -> NoReturn:
    raise IllegalInstruction(f"{source.here()}: {what}")


def _positive(function: str, name: str, shape: Any) -> Shape:
    """A shape that the program gives."""
    if type(shape) is not tuple or not all(type(size) is int and size > 0 for size in shape):
        _refuse(f"{function}: {name} is {shape!r}, but must be a tuple of positive integers")
    return shape


class NkiGrid:
    """What grids of tiles and of blocks have in common.

    `dimensions` are the dimensions of the region whose coordinate is not used up yet.
    """

    __slots__ = ("region", "tile_shape", "dimensions")
    __iter__ = None  # or Python would count indices up until one is refused
    _name = "a grid"

    def __init__(self, region: Region, tile_shape: Shape, dimensions: Shape | None = None) -> None:
        self.region = region
        self.tile_shape = tile_shape
        """Elements of a tile, in the last dimensions of the region."""
        self.dimensions = tuple(range(len(region.shape))) if dimensions is None else dimensions

    def _with(self, region: Region, dimensions: Shape) -> NkiGrid:
        raise NotImplementedError

    def _moved_to(self, region: Region, tile_shape: Shape, tiled: Sequence[int],
                 dimensions: Shape) -> NkiGrid:
        """The grid over another region, its tiled dimensions in the order `tiled`."""
        raise NotImplementedError

    def _cell(self) -> Shape:
        """Elements of a cell in the tiled dimensions."""
        return self.tile_shape

    @property
    def _lead(self) -> int:
        """Dimensions before the tiled ones, whose cells are single elements."""
        return len(self.region.shape) - len(self.tile_shape)

    def _unit(self, dimension: int) -> int:
        """Elements of a cell in a dimension of the region."""
        return 1 if dimension < self._lead else self._cell()[dimension - self._lead]

    @property
    def shape(self) -> Shape:
        """Cells along each coordinate that is left."""
        return tuple(-(-self.region.shape[one] // self._unit(one)) for one in self.dimensions)

    @property
    def element_shape(self) -> Shape:
        """Selected elements in each dimension; of those before the tiles, of which one was chosen
        is not there."""
        return self.region.shape

    @property
    def index_step_elements(self) -> Shape:
        """Elements from the first cell to the next, along each coordinate that is left."""
        units = [(one, self._unit(one)) for one in self.dimensions]
        if isinstance(self.region, Spread):
            return tuple(self.region.distance(one, unit) for one, unit in units)
        return tuple(unit for _, unit in units)

    @property
    def is_remainder(self) -> bool:
        """Whether the last tile in some dimension is smaller than others."""
        return any(size % tile != 0
                   for size, tile in zip(self.region.shape[self._lead:], self.tile_shape))

    @property
    def dtype(self) -> DType:
        """The elements' type."""
        return self.region.tensor.dtype

    @property
    def buffer(self) -> Any:
        """The memory region, a member of nl.MemoryRegion."""
        return self.region.tensor.buffer

    @property
    def is_data_representable(self) -> bool:
        """Whether the selection is one operand, so that `data` has it."""
        return self.region.operand() is not None

    @property
    def data(self) -> NkiTensor:
        """The whole selection as an operand. IllegalInstruction if no tensor has just these
        elements."""
        found = self.region.operand()
        if found is None:
            _refuse(f"{self._name} of shape {list(self.shape)} selects tiles of "
                    f"{self.region.tensor.name!r} that do not lie behind one another; select a "
                    "row, or without a step")
        return found

    def __getitem__(self, key: Any) -> NkiGrid:
        items = list(key) if type(key) is tuple else [key]
        for place, item in enumerate(items):
            if item is Ellipsis:
                items[place:place + 1] = [slice(None)] * (len(self.dimensions) - len(items) + 1)
                break
        if len(items) > len(self.dimensions):
            _refuse(f"{self._name} is indexed with {len(items)} items, but has "
                    f"{len(self.dimensions)} coordinates left")
        region = self.region
        whole: list[Any] = [slice(0, size) for size in region.shape]
        left: list[int] = []
        dropped = 0
        for place, dimension in enumerate(self.dimensions):
            item = items[place] if place < len(items) else slice(None)
            if isinstance(item, slice):
                runs = self._cells(dimension, item)
                if len(runs) > 1:
                    region = every(region, dimension, runs)
                    whole[dimension] = slice(0, region.shape[dimension])
                else:
                    whole[dimension] = slice(*runs[0])
                left.append(dimension - dropped)
            else:
                whole[dimension] = self._one(dimension, item)
                dropped += 1 if dimension < self._lead else 0
        return self._with(region.narrowed(whole), tuple(left))

    def _cells(self, dimension: int, item: slice) -> Runs:
        """The elements of some cells."""
        size, unit = self.region.shape[dimension], self._unit(dimension)
        cells = -(-size // unit)
        start = 0 if item.start is None else as_integer(item.start)
        stop = cells if item.stop is None else as_integer(item.stop)
        step = 1 if item.step is None else as_integer(item.step)
        start += cells if start < 0 else 0
        stop += cells if stop < 0 else 0
        if step < 1 or not 0 <= start < stop <= cells:
            _refuse(f"{self._name} is sliced {start}:{stop}"
                    f"{'' if item.step is None else f':{step}'} where it has {cells} cells; "
                    "select some of them, in their order")
        if step == 1:
            return ((start * unit, min(stop * unit, size)),)
        return tuple((cell * unit, min((cell + 1) * unit, size))
                     for cell in range(start, stop, step))

    def _one(self, dimension: int, item: Any) -> Any:
        """The elements of one cell, or the element of a dimension before the tiles."""
        size, unit = self.region.shape[dimension], self._unit(dimension)
        if not isinstance(item, LoopIndex) or size % unit != 0:
            cells = -(-size // unit)
            try:
                number = as_integer(item)
            except TypeError:
                _refuse(f"{self._name} is indexed with {item!r}, but takes integers, slices and "
                        "`...`")
            if not -cells <= number < cells:
                _refuse(f"{self._name} is indexed with {number} where it has {cells} cells")
            item = number % cells
        start = item * unit
        if dimension < self._lead:
            return start
        return slice(start, start + unit if size % unit == 0 else min(start + unit, size))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {list(self.shape)} of {self.region.tensor.name}>"


class NkiTileGrid(NkiGrid):
    """A grid whose cells are tiles."""

    __slots__ = ()
    _name = "a grid of tiles"

    def _with(self, region: Region, dimensions: Shape) -> NkiTileGrid:
        return NkiTileGrid(region, self.tile_shape, dimensions)

    def _moved_to(self, region: Region, tile_shape: Shape, tiled: Sequence[int],
                 dimensions: Shape) -> NkiTileGrid:
        return NkiTileGrid(region, tile_shape, dimensions)


class NkiBlockGrid(NkiGrid):
    """A grid whose cells are blocks of `block_shape` tiles."""

    __slots__ = ("block_shape",)
    _name = "a grid of blocks"

    def __init__(self, region: Region, tile_shape: Shape, block_shape: Shape,
                 dimensions: Shape | None = None) -> None:
        super().__init__(region, tile_shape, dimensions)
        self.block_shape = block_shape

    def _with(self, region: Region, dimensions: Shape) -> NkiBlockGrid:
        return NkiBlockGrid(region, self.tile_shape, self.block_shape, dimensions)

    def _moved_to(self, region: Region, tile_shape: Shape, tiled: Sequence[int],
                 dimensions: Shape) -> NkiBlockGrid:
        return NkiBlockGrid(region, tile_shape, tuple(self.block_shape[axis] for axis in tiled),
                            dimensions)

    def _cell(self) -> Shape:
        return tuple(map(prod, zip(self.tile_shape, self.block_shape)))


def tiles(source: Any, *, tile_shape: Shape | None = None) -> NkiTileGrid:
    """A tensor, or what a grid selects, as a grid of tiles (of a grid: of the same tiles)."""
    return NkiTileGrid(*_tiled("nl.tiles", source, tile_shape))


def blocks(source: Any, *, tile_shape: Shape | None = None,
           block_shape: Shape) -> NkiBlockGrid:
    """The same as a grid of blocks of `block_shape` tiles."""
    region, tile = _tiled("nl.blocks", source, tile_shape)
    return NkiBlockGrid(region, tile, _blocks("nl.blocks", block_shape, tile))


def alloc_tiles(*, tile_shape: Shape, element_shape: Shape, buffer: Any, dtype: Any,
                address: tuple[int, int] | None = None, name: str = "") -> NkiTileGrid:
    """A new tensor of `element_shape` as a grid of tiles; on chip a tile has its own columns."""
    return NkiTileGrid(*_allocated("nl.alloc_tiles", tile_shape, element_shape, buffer, dtype,
                                   address, name))


def alloc_blocks(*, tile_shape: Shape, block_shape: Shape, element_shape: Shape, buffer: Any,
                 dtype: Any, address: tuple[int, int] | None = None,
                 name: str = "") -> NkiBlockGrid:
    """The same as a grid of blocks."""
    region, tile = _allocated("nl.alloc_blocks", tile_shape, element_shape, buffer, dtype, address,
                              name)
    return NkiBlockGrid(region, tile, _blocks("nl.alloc_blocks", block_shape, tile))


TRANSPOSED = ((1, 0), (2, 1, 0), (3, 1, 2, 0))
"""Orders of dimensions that dma_transpose knows. [NKI-LIKE]"""


def empty_like(x: Any, dtype: Any = None, buffer: Any = None, name: str = "", *,
               transpose_axes: Shape | None = None,
               address: tuple[int, int] | None = None) -> NkiTensor | NkiGrid:
    """A new tensor in the shape of a tensor, or of what a grid selects as a grid of the same cells;
    with `transpose_axes` what a dma_transpose makes of it."""
    if not isinstance(x, (NkiTensor, NkiGrid)):
        _refuse(f"nl.empty_like: x is {x!r}, but must be a tensor or a grid")
    kind = x.dtype if dtype is None else dtype
    space = x.buffer if buffer is None else buffer
    shape = x.shape if isinstance(x, NkiTensor) else x.element_shape
    axes = _order(transpose_axes, shape, space)
    shape = tuple(shape[axis] for axis in axes)
    if isinstance(x, NkiTensor):
        return ndarray(shape, kind, space, name, address)
    lead = len(shape) - len(x.tile_shape)
    tiled = [axis - lead for axis in axes[lead:]]
    region, tile = _allocated("nl.empty_like", tuple(x.tile_shape[axis] for axis in tiled), shape,
                              space, kind, address, name)
    left = tuple(place for place, axis in enumerate(axes) if axis in x.dimensions)
    return x._moved_to(region, tile, tiled, left)


def _order(axes: Any, shape: Shape, space: Any) -> Shape:
    """The dimensions of a source in the order of the destination's."""
    if axes is None:
        return tuple(range(len(shape)))
    if axes not in TRANSPOSED or len(axes) != len(shape):
        _refuse(f"nl.empty_like: transpose_axes is {axes!r} for {list(shape)}, but must be "
                f"{', '.join(map(str, TRANSPOSED))}, as many as there are dimensions")
    if (SPACES.get(space) or space_of(space)) != SBUF:
        _refuse("nl.empty_like: transpose_axes is for what dma_transpose writes, which lies in "
                "SBUF; give buffer=nl.sbuf")
    return tuple(axes)


def _blocks(function: str, block_shape: Any, tile: Shape) -> Shape:
    """The tiles of a block, in as many dimensions as a tile has."""
    block = _positive(function, "block_shape", block_shape)
    if len(block) != len(tile):
        _refuse(f"{function}: block_shape {list(block)} and tile_shape {list(tile)} have different "
                "numbers of dimensions")
    return block


def _check_tile(function: str, tile_shape: Any, shape: Shape, is_on_chip: bool) -> Shape:
    """The elements of a tile, in dimensions that a tensor of `shape` has."""
    tile = _positive(function, "tile_shape", tile_shape)
    fewest = len(shape) if is_on_chip else 2
    if not fewest <= len(tile) <= len(shape):
        rule = ("as many dimensions as the tensor" if is_on_chip else
                "2 dimensions or more, no more than the tensor")
        _refuse(f"{function}: tile_shape {list(tile)} of a tensor of shape {list(shape)}: tiles "
                f"have {rule}")
    return tile


def _tiled(function: str, source: Any, tile_shape: Shape | None) -> tuple[Region, Shape]:
    """What is to be seen as a grid, and its tiles."""
    if isinstance(source, NkiGrid):
        region = source.region
        tile = source.tile_shape if tile_shape is None else tile_shape
        if isinstance(region, Capacity) and tile != region.tile:
            _refuse(f"{function}: tile_shape is {tile!r}, but the tiles of this grid on chip were "
                    f"allocated as {list(region.tile)}")
    elif isinstance(source, NkiTensor):
        if tile_shape is None:
            _refuse(f"{function}: a tensor has no tiles yet; give tile_shape")
        region, tile = Window(source), tile_shape
    else:
        _refuse(f"{function}: the source is {source!r}, but must be a tensor or a grid")
    return region, _check_tile(function, tile, region.shape, region.tensor.form.is_on_chip)


def _allocated(function: str, tile_shape: Any, element_shape: Any, buffer: Any, dtype: Any,
               address: tuple[int, int] | None, name: str) -> tuple[Region, Shape]:
    """A new tensor and its tiles."""
    shape = _positive(function, "element_shape", element_shape)
    is_on_chip = (SPACES.get(buffer) or space_of(buffer)) != HBM
    tile = _check_tile(function, tile_shape, shape, is_on_chip)
    if not is_on_chip:
        return Window(ndarray(shape, dtype, buffer, name, address)), tile
    if len(shape) != 2:
        raise UnsupportedFeature.named(str(source.here()),
                                       f"{function} of {len(shape)} dimensions on chip")
    rows, columns = (-(-size // of) for size, of in zip(shape, tile))
    whole = ndarray((tile[0], rows * columns * tile[1]), dtype, buffer, name, address)
    return Capacity(whole, tile, columns, (0, 0), shape), tile
