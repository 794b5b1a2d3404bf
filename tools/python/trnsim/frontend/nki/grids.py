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
from typing import Any, NoReturn, Protocol

from trnsim.errors import IllegalInstruction, UnsupportedFeature
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.nki.creation import ndarray
from trnsim.frontend.nki.enums import SPACES, space_of
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.records.tensor import HBM

Shape = tuple[int, ...]


def _refuse(what: str) -> NoReturn:
    raise IllegalInstruction(f"{source.here()}: {what}")


def _positive(function: str, name: str, shape: Any) -> Shape:
    """A shape that the program gives."""
    if type(shape) is not tuple or not all(type(size) is int and size > 0 for size in shape):
        _refuse(f"{function}: {name} is {shape!r}, but must be a tuple of positive integers")
    return shape


class Region(Protocol):
    """The elements that a grid selects. `key` has an integer (a dimension before the tiles, which
    is dropped) or a slice of elements that starts with a tile for each dimension."""

    @property
    def shape(self) -> Shape:
        """Elements in each dimension."""

    @property
    def tensor(self) -> NkiTensor:
        """The tensor that has the elements, and maybe others."""

    def narrowed(self, key: list[Any]) -> Region:
        """A part of the region."""

    def operand(self) -> NkiTensor | None:
        """The region as an operand; None if no tensor has just these elements."""


class Window:
    """A box of a tensor."""

    def __init__(self, tensor: NkiTensor) -> None:
        self.tensor = tensor

    @property
    def shape(self) -> Shape:
        """Elements in each dimension."""
        return self.tensor.shape

    def narrowed(self, key: list[Any]) -> Window:
        """A part of the box."""
        return Window(self.tensor[tuple(key)])

    def operand(self) -> NkiTensor:
        """The box as an operand."""
        return self.tensor


class Capacity:
    """Tiles of two dimensions side by side on chip, row after row, each with room for a whole tile.

    The order is [ASSUMED]: AWS calls it dense and of rank two.
    """

    def __init__(self, tensor: NkiTensor, tile: Shape, columns: int, at: Shape,
                 shape: Shape) -> None:
        self.tensor = tensor
        self.tile = tile
        self.columns = columns
        """Tiles in a row of the whole grid."""
        self.at = at
        """Row and column of the first tile."""
        self.shape = shape
        """Elements in each dimension."""

    def narrowed(self, key: list[Any]) -> Capacity:
        """Some of the tiles."""
        bounds = [(as_integer(item.start), as_integer(item.stop)) for item in key]
        at = tuple(first + start // size
                   for first, (start, _), size in zip(self.at, bounds, self.tile))
        return Capacity(self.tensor, self.tile, self.columns, at,
                        tuple(stop - start for start, stop in bounds))

    def operand(self) -> NkiTensor | None:
        """A row of tiles, or whole rows of whole tiles; None if no tensor has just these."""
        rows, width = self.shape
        height, tile_width = self.tile
        start = (self.at[0] * self.columns + self.at[1]) * tile_width
        if rows <= height:
            return self.tensor[0:rows, start:start + width]
        if rows % height != 0 or width != self.columns * tile_width:
            return None
        return self.tensor[0:height, start:start + rows // height * width]


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
        """Elements from one cell to the next, along each coordinate that is left."""
        return tuple(map(self._unit, self.dimensions))

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
            _refuse(f"{self._name} of shape {list(self.shape)} selects tiles of several rows of "
                    f"{self.region.tensor.name!r} that do not lie behind one another; select a row")
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
        whole: list[Any] = [slice(0, size) for size in self.region.shape]
        left: list[int] = []
        dropped = 0
        for place, dimension in enumerate(self.dimensions):
            item = items[place] if place < len(items) else slice(None)
            is_slice = isinstance(item, slice)
            whole[dimension] = (self._cells if is_slice else self._one)(dimension, item)
            if is_slice:
                left.append(dimension - dropped)
            elif dimension < self._lead:
                dropped += 1
        return self._with(self.region.narrowed(whole), tuple(left))

    def _cells(self, dimension: int, item: slice) -> slice:
        """The elements of some cells."""
        size, unit = self.region.shape[dimension], self._unit(dimension)
        cells = -(-size // unit)
        start = 0 if item.start is None else as_integer(item.start)
        stop = cells if item.stop is None else as_integer(item.stop)
        start += cells if start < 0 else 0
        stop += cells if stop < 0 else 0
        if item.step not in (None, 1) or not 0 <= start < stop <= cells:
            _refuse(f"{self._name} is sliced {start}:{stop}"
                    f"{'' if item.step is None else f':{item.step}'} where it has {cells} cells; "
                    "select some that follow one another")
        return slice(start * unit, min(stop * unit, size))

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
