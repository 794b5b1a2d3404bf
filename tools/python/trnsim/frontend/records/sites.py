# SPDX-License-Identifier: Apache-2.0
# Which allocations are executions of one site, and where in memory the tiles of a site lie.
"""Allocation sites: what `buffer` records stand for.

Allocations of one line, with equal call stack, memory, dtype and shape, are one site even if each
tile has a name or an address of its own (`f"q_{i}"`, `address=(0, base + i * size)`): else every
iteration of a loop would run templates of its own, and no loop would stay one.

A tile with a fixed address is a part of its site's memory rather than an instance of it. Its byte
takes the place of the instance number while the program is recorded, so that tiles at equal
distances fold; where the memory begins is known at the end: the writer counts offsets from there.
"""

from __future__ import annotations

import re
from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType

Address = tuple[int, int]
"""Start partition and byte."""

ALIGNMENT = 4
"""Tiles of one site lie at a multiple of this from each other, so that views of them as types of up
to so many bytes start at whole elements. [ASSUMED]"""

_DIGITS = re.compile(r"\d+")


def pattern_of(name: str) -> str:
    """A name that is made in a loop, without what tells the iterations apart: `q_*` for `q_7`."""
    return _DIGITS.sub("*", name)


def likeness(space: str, dtype: DType, name: str, address: Address | None) -> tuple[Any, ...]:
    """What of a tile's name and address its site depends on.

    Names of HBM tensors matter as they are: by them the cores of a program share one. The start
    partition decides where engines may start, and is therefore that of all tiles of a site.
    """
    if space == "hbm":
        return (name,)
    if address is None:
        return (pattern_of(name or ""),)
    partition, byte = address
    return pattern_of(name or ""), partition, byte % alignment(dtype)


def alignment(dtype: DType) -> int:
    """Bytes that the distances of a site's tiles are multiples of."""
    return max(ALIGNMENT, dtype.itemsize)


class Extent:
    """The memory of a site whose tiles have fixed addresses: bytes of each partition."""

    __slots__ = ("first", "is_used", "last", "partition")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.first = self.last = 0
        """The places of the lowest and of the highest tile that is used."""
        self.is_used = False

    def add(self, place: int) -> None:
        """A tile at a byte is used."""
        self.first = min(self.first, place) if self.is_used else place
        self.last = max(self.last, place) if self.is_used else place
        self.is_used = True

    @property
    def spread(self) -> int:
        """Bytes from the lowest tile to the highest."""
        return self.last - self.first


def check_address(space: str, address: Address, shape: tuple[int, ...], partitions: int) -> None:
    """IllegalInstruction if a tile at an address begins or ends outside of the partitions."""
    partition, byte = address
    if partition < 0 or byte < 0 or partition + shape[0] > partitions:
        raise IllegalInstruction(
            f"{source.here()}: address={address} of a {space} tensor of shape {list(shape)}, but "
            f"{space} has partitions 0 to {partitions - 1}, and bytes from 0; place it there")


def check_view(name: str, stored: DType, dtype: DType) -> None:
    """IllegalInstruction if a tile at a fixed address may start within an element of `dtype`."""
    if dtype.itemsize > alignment(stored):
        raise IllegalInstruction(
            f"{source.here()}: {name!r} has {stored} elements and a fixed address, and is viewed "
            f"as {dtype}, but such tiles are only aligned to {alignment(stored)} bytes; allocate "
            f"it as {dtype}")
