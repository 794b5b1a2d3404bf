# SPDX-License-Identifier: Apache-2.0
# buffer= of the 0.1 dialect: memories, and addresses that the program fixes for its blocks.
"""Memories as `buffer=` names them, nl.par_dim, and the allocation functions of nki.compiler.

`sbuf.alloc(f)` places each block of a tensor at `(partition, byte) = f(block, partitions, bytes)`,
`psum.alloc(f)` at `(bank, partition, byte)`; `mod_alloc` is the usual `f`: blocks take turns in a
number of places per block dimension. [NKI-ALLOCATION-2.26]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

from trnsim.errors import IllegalInstruction, UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.annotations import signature
from trnsim.frontend.records.tensor import HBM, PSUM, SBUF, Shape
from trnsim.frontend.shapes import whole_number

Address = tuple[int, ...]
"""A partition and a byte."""


class ParDim(int):
    """`nl.par_dim(n)`: the size of the partition dimension; dimensions before it are blocks."""

    def __new__(cls, size: Any) -> ParDim:
        return super().__new__(cls, whole_number(size, "a size of the shape"))

    def __repr__(self) -> str:
        return f"par_dim({int(self)})"


class Region:
    """A memory, with or without a rule for the addresses of blocks."""

    __slots__ = ("_place", "name", "space")

    def __init__(self, name: str, space: str,
                 place: Callable[[Shape, int, int], Address] | None = None) -> None:
        self.name = name
        self.space = space
        self._place = place

    @property
    def is_shared(self) -> bool:
        """Whether all programs of a grid see the same tensor."""
        return self.name == "shared_hbm"

    @property
    def is_placed(self) -> bool:
        """Whether the program fixes the addresses of blocks."""
        return self._place is not None

    def addresses(self, lead: Shape, tile: Shape, itemsize: int) -> list[Address]:
        """The address of each block, by the program's rule."""
        assert self._place is not None
        size = prod(tile[1:]) * itemsize
        return [self._place(block, tile[0], size) for block in product(*map(range, lead))]

    def __repr__(self) -> str:
        return f"nl.{self.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Region) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.name)

    def _key(self) -> tuple[Any, ...]:
        return self.name, self._place


class SbufRegion(Region):
    """`nl.sbuf` and `nki.compiler.sbuf`."""

    __slots__ = ()

    def alloc(self, func: Callable[..., Any]) -> Region:
        """Blocks at `(partition, byte) = func(block, partitions, bytes)`."""
        called = _with_names(func)
        return Region(self.name, self.space,
                      lambda block, partitions, size: _numbers(
                          called(block, partitions, size), ("partition", "byte")))

    def mod_alloc(self, *, base_addr: int, base_partition: int = 0,
                  num_par_tiles: Sequence[int] = (), num_free_tiles: Sequence[int] = ()) -> Region:
        """Blocks that take turns in `num_free_tiles` places from byte `base_addr` on."""
        partition = whole_number(base_partition, "base_partition")
        byte = whole_number(base_addr, "base_addr")
        parts, places = _counts(num_par_tiles, "num_par_tiles"), _counts(num_free_tiles,
                                                                         "num_free_tiles")
        return Region(self.name, self.space, lambda block, partitions, size: (
            partition + _turn(block, parts) * partitions,
            byte + _turn(block, places) * size))

    def auto_alloc(self) -> Region:
        """The compiler chooses."""
        return self


class PsumRegion(Region):
    """`nl.psum` and `nki.compiler.psum`."""

    __slots__ = ()

    def alloc(self, func: Callable[..., Any]) -> Region:
        """Blocks at `(bank, partition, byte) = func(block, partitions, bytes)`."""
        called = _with_names(func)

        def place(block: Shape, partitions: int, size: int) -> Address:
            bank, partition, byte = _numbers(called(block, partitions, size),
                                             ("bank", "partition", "byte"))
            _require_whole_banks(partition, byte)
            return partition, _bank_bytes() * bank + byte
        return Region(self.name, self.space, place)

    def mod_alloc(self, *, base_bank: int = 0, base_addr: int = 0, base_partition: int = 0,
                  num_bank_tiles: Sequence[int] = (), num_par_tiles: Sequence[int] = (),
                  num_free_tiles: Sequence[int] = ()) -> Region:
        """Blocks that take turns in `num_bank_tiles` banks from `base_bank` on."""
        _require_whole_banks(whole_number(base_partition, "base_partition"),
                             whole_number(base_addr, "base_addr"))
        for name, counts in (("num_par_tiles", num_par_tiles), ("num_free_tiles", num_free_tiles)):
            if any(count != 1 for count in _counts(counts, name)):
                raise IllegalInstruction(f"{source.here()}: {name} is {counts!r}, but tiles of "
                                         "PSUM take turns in banks; use num_bank_tiles")
        bank, banks = whole_number(base_bank, "base_bank"), _counts(num_bank_tiles,
                                                                    "num_bank_tiles")
        return Region(self.name, self.space, lambda block, partitions, size: (
            0, _bank_bytes() * (bank + _turn(block, banks))))

    def auto_alloc(self) -> Region:
        """The compiler chooses."""
        return self


def _bank_bytes() -> int:
    return recorder.required().chip.psum_bank_bytes


def _with_names(func: Callable[..., Any]) -> Callable[[Shape, int, int], Any]:
    """A placement function, called by AWS's names of its parameters if it has them."""
    if _NAMES <= signature(func).parameters.keys():
        return lambda block, partitions, size: func(idx=block, pdim_size=partitions,
                                                    fdim_size=size)
    return func


_NAMES = {"idx", "pdim_size", "fdim_size"}


def _numbers(address: Any, names: Sequence[str]) -> tuple[int, ...]:
    """What a placement function returned, one number for each name."""
    if not isinstance(address, (tuple, list)) or len(address) != len(names):
        raise UserError(f"{source.here()}: the placement function returns {address!r}, but "
                        f"({', '.join(names)}) is needed; return these numbers")
    return tuple(whole_number(one, f"a {name}") for one, name in zip(address, names, strict=True))


def _require_whole_banks(partition: int, byte: int) -> None:
    """IllegalInstruction for a tile of PSUM that does not begin where a bank does."""
    if partition or byte:
        raise IllegalInstruction(f"{source.here()}: a tile of PSUM is placed at partition "
                                 f"{partition} and byte {byte} of a bank, but both must be 0; "
                                 "choose a bank")


def _counts(given: Any, name: str) -> tuple[int, ...]:
    """Numbers of places, one for each block dimension, or none."""
    if not isinstance(given, (tuple, list)):
        raise UserError(f"{source.here()}: {name} is {given!r}, but one number for each block "
                        f"dimension is needed; write ({given!r},)")
    counts = tuple(whole_number(one, f"a number of {name}") for one in given)
    if any(count < 1 for count in counts):
        raise UserError(f"{source.here()}: {name} is {given!r}, but every dimension has a place at "
                        "least; write numbers from 1 on")
    return counts


def _turn(block: Shape, places: Sequence[int]) -> int:
    """The number of the place that a block takes among `places` per block dimension. AWS asks for
    as many of these, or none, and has kernels with more."""
    number = 0
    for at, count in zip(block, places):
        number = number * count + at % count
    return number


sbuf = SbufRegion("sbuf", SBUF)
psum = PsumRegion("psum", PSUM)
hbm = Region("hbm", HBM)
private_hbm = Region("private_hbm", HBM)
shared_hbm = Region("shared_hbm", HBM)

_BY_NAME = {region.name: region for region in (sbuf, psum, hbm, private_hbm, shared_hbm)}


def region_of(buffer: Any) -> Region:
    """The memory of a `buffer=` argument; SBUF when there is none."""
    if buffer is None:
        return sbuf
    if isinstance(buffer, Region):
        return buffer
    found = _BY_NAME.get(str(buffer))
    if found is None:
        raise IllegalInstruction(f"{source.here()}: buffer={buffer!r} is not a memory of NKI; use "
                                 "nl.sbuf, nl.psum, nl.hbm, nl.private_hbm or nl.shared_hbm")
    return found
