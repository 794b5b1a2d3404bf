# SPDX-License-Identifier: Apache-2.0
# Tensors with block dimensions before nl.par_dim.
"""Blocks: an array of tiles, each an instance of its own that comes into being at its first use.

[NKI-BLOCKS-2.26]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from trnsim.errors import ProgramError, UserError
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.legacy.arithmetic import Operators
from trnsim.frontend.legacy.index import as_integer
from trnsim.frontend.legacy.late import assignment
from trnsim.frontend.legacy.session import Contents, Session, session
from trnsim.frontend.legacy.spacing import Spacing, periods
from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.loop_index import Loop, LoopIndex
from trnsim.frontend.records.tensor import Buffer, Shape, Storage


class Blocks(Operators):
    """An on-chip tensor with block dimensions. Subscript them with integers to get a tile."""

    __slots__ = ("_blocks", "_last", "_rest", "base", "lead", "named", "table")
    __hash__ = object.__hash__

    def __init__(self, table: BlockTable, lead: Shape, base: int) -> None:
        self.table = table
        self.lead = lead
        self.base = base
        self.named: dict[Any, Tensor | Blocks] = {}
        """What the program has named with plain numbers."""
        self._blocks = slice(0, len(lead))
        self._rest = slice(len(lead), None)
        self._last: Any = None
        """The key and the view of the latest subscript: `t[key] += x` assigns that view again."""

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
        if type(key) is not tuple:
            key = (key,)
        tile: Any = None
        if not self.table.here.symbolic:
            try:
                tile = self.named.get(key[self._blocks])
            except TypeError:
                pass
        if tile is None:
            tile = self._tile(key)
        if type(tile) is not Tensor:
            return tile
        within = key[self._rest]
        part = tile[within] if within else tile
        self._last = key, part
        return part

    def _tile(self, items: tuple[Any, ...]) -> Any:
        """The tile of a block, or the blocks that a key with fewer items leaves."""
        lead = self.lead
        given, number, is_indexed = len(items), self.base, False
        dimensions = len(self.table.periods)
        for axis, (item, size) in enumerate(zip(items, lead), dimensions - len(lead)):
            kind = type(item)
            if kind is LoopIndex:
                if LoopIndex.wide:
                    item.stay_within(0, size - 1)
                is_indexed = True
                item = self.table.block_at(item, axis)
            elif kind is not int:
                if item is Ellipsis and given == 1:
                    return self
                item = self._integer(items, item)
            if not 0 <= item < size:
                raise self._outside(items)
            number = number * size + item
        table = self.table
        if is_indexed and len(table.placed) == 1:
            table.here.index_log.append(
                Named.made(table, number if given >= len(lead) else None, items, lead))
        found: Any = (Blocks(table, lead[given:], number) if given < len(lead)
                      else table.tile(number))
        if not table.here.symbolic:
            try:
                self.named[items[self._blocks]] = found
            except TypeError:
                pass
        return found

    def _integer(self, items: tuple[Any, ...], item: Any) -> int:
        """The block that an item of a key names."""
        if type(item) is LoopIndex:
            return item.value
        number = as_integer(item)
        if number is None:
            axis = next(axis for axis, other in enumerate(items) if other is item)
            raise ProgramError(
                f"{source.here()}: block dimension {axis} of {self.table.name!r} is indexed "
                f"with {type(item).__name__}, but blocks are separate tiles; use an integer")
        return int(number)

    def _outside(self, items: tuple[Any, ...]) -> ProgramError:
        """The error for a block that does not exist."""
        numbers = [self._integer(items, item) for item in items[:len(self.lead)]]
        axis = next(axis for axis, (at, size) in enumerate(zip(numbers, self.lead))
                    if not 0 <= at < size)
        return ProgramError(
            f"{source.here()}: the index of block dimension {axis} of {self.table.name!r} is "
            f"{numbers[axis]}, but its size is {self.lead[axis]}; shrink the access")

    def __setitem__(self, key: Any, value: Any) -> None:
        last = self._last
        if last is not None and last[0] is key and last[1] is value:
            return
        target = self if key is Ellipsis else self[key]
        if type(target) is Tensor:
            assignment().assign(target, value)
            return
        if isinstance(target, Blocks):
            for at in range(target.lead[0]):
                target[at] = value if not isinstance(value, Blocks) else value[at]
            return
        target[...] = value

    def __bool__(self) -> bool:
        raise UserError(f"{source.here()}: the truth of tensor {self.table.name!r} is asked while "
                        "tracing, but its elements are only known when the kernel runs")


class Placed(NamedTuple):
    """Where a block is: its site, and the byte if the program fixed it."""

    buffer: Buffer
    place: int


class BlockTable:
    """The tiles of a tensor with block dimensions; one instance each, made at its first use."""

    __slots__ = ("_absent", "_lead", "_new", "_spacing", "dtype", "fill", "here", "name",
                 "number", "periods", "placed", "shape", "tiles")

    def __init__(self, placed: Sequence[Placed], lead: Shape, fill: float | None) -> None:
        """`placed` has one entry for all blocks, or one per block if the program placed them.

        `fill` is the initial value of the elements; it is written when a tile is first used.
        """
        self.fill = fill
        self.here = here = session()
        here.tables += 1
        self.number = here.tables
        self.placed = placed
        self.periods = (1,) * len(lead)
        """Along each dimension, the distance of blocks whose places are at equal distances."""
        if len(placed) > 1:
            is_one = all(one.buffer is placed[0].buffer for one in placed)
            self.periods = (periods(lead, tuple(one.place for one in placed)) if is_one
                            else (0,) * len(lead))
        self._lead = lead
        self._spacing: Spacing | None = None
        self._new: list[Made] = []
        """Tiles that the spacing does not know yet."""
        self._absent = prod(lead)
        self.shape = placed[0].buffer.shape
        self.dtype = placed[0].buffer.dtype
        self.name = placed[0].buffer.name
        self.tiles: list[Tensor | Promised | None] = [None] * self._absent
        """By number in row-major order; None before the first use."""

    def tile(self, number: int) -> Tensor:
        """The tile of a block, by its number in row-major order."""
        found = self.tiles[number]
        if isinstance(found, Promised):
            found = self.tiles[number] = found.tile(number)
        elif found is None:
            buffer, place = self.placed[number if len(self.placed) > 1 else 0]
            here = self.here
            found = self.tiles[number] = Tensor(Storage(buffer, here.recorder.frame, place),
                                                buffer.whole)
            if self.fill is not None:
                here.promised[id(found.storage)] = (found, self.fill)
                here.filled[id(found.storage)] = found
            if len(self.tiles) > 1:
                made = Made(self, number, found)
                self.add(made)
                if here.symbolic:
                    here.block_log.append(made)
        return found

    def block_at(self, index: LoopIndex, axis: int) -> int:
        """The block that a loop's index names along a dimension in this iteration."""
        period = self.periods[axis]
        if period == 0:
            return index.ask()
        if period == 1 or all(step % period == 0 for step in index.terms.values()):
            return index.value
        return index.ask_turn(period)

    def is_regular(self) -> bool:
        """Whether all tiles have been accessed, and lie at equal distances if their blocks do.

        Only then the tiles that a loop's index names are all as many apart as the first ones.
        """
        spacing = self._spacing
        if spacing is None:
            spacing = self._spacing = Spacing(self._lead)
        known = -1
        while known != spacing.known:  # What has been learned may tell what others mean.
            known = spacing.known
            self._new = [made for made in self._new if not made.is_accessed
                         or not spacing.add_run(made.number, made.base, made.count,
                                                made.number_step, made.base_step)]
        return spacing.is_even and not self._new

    def add(self, made: Made) -> None:
        """Takes note of blocks that have got their tiles."""
        self._new.append(made)
        self._absent -= made.count

    def forget(self) -> None:
        """Lets go of the tiles that its spacing does not know: they know the table."""
        self._new.clear()

    @property
    def is_complete(self) -> bool:
        """Whether all blocks have their tiles."""
        return self._absent == 0


class Named(NamedTuple):
    """Blocks that the index of a loop has named."""

    table: BlockTable
    number: int | None
    """That of the tile; None if further subscripts select it."""
    steps: dict[Loop, int]
    """What an iteration of a loop adds to the number, by its index."""
    ranges: tuple[tuple[int, int], ...] = ()
    """(step, count) of iterations that were left out, of other loops."""

    @classmethod
    def made(cls, table: BlockTable, number: int | None, items: Sequence[Any],
             lead: Shape) -> Named:
        """The block that the items of a key name."""
        steps: dict[Loop, int] = {}
        weight = 1
        for item, size in reversed(tuple(zip(items, lead))):
            if type(item) is LoopIndex:
                for loop, coefficient in item.terms.items():
                    steps[loop] = steps.get(loop, 0) + coefficient * weight
            weight *= size
        return cls(table, number, steps)

    def exists(self, step: int, count: int) -> bool:
        """Whether the blocks have tiles that this and `count` further iterations name."""
        if self.table.is_complete:
            return True
        if self.number is None:
            return False
        numbers = [self.number]
        for distance, times in (*self.ranges, (step, count)):
            numbers = [one + at * distance for one in numbers for at in range(times + 1)]
        tiles = self.table.tiles
        return (0 <= min(numbers) and max(numbers) < len(tiles)
                and all(tiles[one] is not None for one in numbers))


class Promised:
    """Tiles that a loop would have made, which come into being when the program names them."""

    __slots__ = ("_base", "_base_step", "_buffer", "_form", "_here", "_is_filled", "_number",
                 "_number_step", "_place", "_position", "_promise", "_regions")

    def __init__(self, made: Made, here: Session) -> None:
        tile = made.tile
        self._here = here
        self._is_filled = id(tile.storage) in here.filled
        self._promise = here.promised.get(id(tile.storage))
        regions: Contents | None = tile.storage.matmul_regions
        self._buffer = tile.storage.buffer
        self._place = tile.storage.place
        self._form = tile.form
        self._position = tile.position
        self._regions = None if regions is None else regions.copy()
        self._number = made.number
        self._base = made.base
        self._number_step = made.number_step
        self._base_step = made.base_step

    def tile(self, number: int) -> Tensor:
        """The tile of a block, in the state of the one that it was predicted from."""
        storage = Storage(self._buffer, None, self._place)
        further = (number - self._number) // self._number_step
        storage.base = self._base + further * self._base_step
        if self._regions is not None:
            storage.matmul_regions = self._regions.copy()
        made = Tensor(storage, self._form, self._position)
        if self._is_filled:
            self._here.filled[id(storage)] = made
        if self._promise is not None:
            self._here.promised[id(storage)] = (made, self._promise[1])
        return made


class Made:
    """`count` tiles of a table like `tile`, from `number`, with constant steps between them.

    `offset` is the difference of the first one's base from that of `tile`.
    """

    __slots__ = ("base_step", "count", "number", "number_step", "offset", "table", "tile")

    def __init__(self, table: BlockTable, number: int, tile: Tensor, offset: int = 0,
                 count: int = 1, number_step: int = 1, base_step: int = 0) -> None:
        self.table = table
        self.number = number
        self.tile = tile
        self.offset = offset
        self.count = count
        self.number_step = number_step
        self.base_step = base_step

    @property
    def is_accessed(self) -> bool:
        """Whether the tiles have instances, or a place in memory."""
        return self.tile.storage.base is not None

    @property
    def base(self) -> int:
        """The instance of the first tile, which has been accessed."""
        base = self.tile.storage.base
        assert base is not None
        return base + self.offset

    def repeated(self, number: int, base: int, count: int) -> list[Made]:
        """The tiles of `count` further iterations, which are `number` and `base` apart."""
        if self.count == 1:
            return [Made(self.table, self.number + number, self.tile, self.offset + base, count,
                         number, base)]
        if (number, base) == (self.count * self.number_step, self.count * self.base_step):
            return [Made(self.table, self.number + number, self.tile, self.offset + base,
                         self.count * count, self.number_step, self.base_step)]
        return [Made(self.table, self.number + further * number, self.tile,
                     self.offset + further * base, self.count, self.number_step, self.base_step)
                for further in range(1, count + 1)]

    def _places(self) -> slice | None:
        """Their numbers; None if there are no such blocks."""
        ends = (self.number, self.number + (self.count - 1) * self.number_step)
        if min(ends) < 0 or max(ends) >= len(self.table.tiles) or self.number_step == 0:
            return None
        return slice(min(ends), max(ends) + 1, abs(self.number_step))

    def is_free(self) -> bool:
        """Whether there are such blocks and none has a tile yet."""
        places = self._places()
        return places is not None and all(one is None for one in self.table.tiles[places])

    def adopt(self, here: Session) -> None:
        """Gives the blocks, which are free, their tiles."""
        places = self._places()
        assert places is not None
        self.table.tiles[places] = [Promised(self, here)] * self.count
        here.block_log.append(self)
        self.table.add(self)
