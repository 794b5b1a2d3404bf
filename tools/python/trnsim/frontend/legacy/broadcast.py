# SPDX-License-Identifier: Apache-2.0
# Broadcasts of tiles, along free axes and across partitions.
"""nl.broadcast_to: a view along free axes, a matmul with ones across partitions. [NKI-ARCH-V2]"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trnsim.frontend.dtypes import DType, float32, uint16
from trnsim.frontend.legacy.emit import as_tile, broadcast_free, flush, fresh, no_broadcast
from trnsim.frontend.legacy.index import broadcast_shapes
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.mask import Mask
from trnsim.frontend.legacy.matmul import matmul_tile
from trnsim.frontend.legacy.session import session
from trnsim.frontend.legacy.tensor import Tensor, release
from trnsim.frontend.legacy.transfer import copy, in_sbuf
from trnsim.frontend.legacy.views import view_as, with_form
from trnsim.frontend.records.tensor import SBUF
from trnsim.frontend.shapes import sizes_of

BANK_COLUMNS = 512
"""float32 elements of a PSUM bank: the widest output of one matmul. [NKI-ARCH-V2]"""
_ONES_ROW = {"onezero": "stationary"}


def broadcast_to(src: Any, shape: Sequence[int], **others: Any) -> Any:
    """The tile repeated along axes of size 1. Across partitions that takes the tensor engine.

    A comparison of indices costs nothing.
    """
    ignored(others)
    sizes = sizes_of(shape)
    if isinstance(src, Mask):
        if broadcast_shapes(src.shape, sizes) != sizes:
            raise no_broadcast(src.shape, sizes)
        return src.spanning(sizes)
    tile = as_tile(src, "src of broadcast_to")
    if tile.shape == sizes:
        return tile
    release(tile)
    if not sizes or len(sizes) > len(tile.shape):
        raise no_broadcast(tile.shape, sizes)
    if tile.shape[0] != sizes[0]:
        if tile.shape[0] != 1:
            raise no_broadcast(tile.shape, sizes)
        tile = broadcast_partitions(tile, sizes[0])
    return broadcast_free(tile, sizes)


def broadcast_partitions(tile: Tensor, partitions: int) -> Tensor:
    """One partition repeated: a matmul with ones per PSUM bank, copied to SBUF. [NKI-ARCH-V2]

    Integers go through float32, which is exact up to 24 bits: those of 32 as their halves.
    """
    tile = in_sbuf(tile)
    release(tile)
    kind = tile.dtype
    if kind.is_integer and kind.itemsize > uint16.itemsize:
        dense = tile if tile.form.is_contiguous() else flush(copy(tile))
        halves = broadcast_partitions(view_as(_row(dense), uint16), partitions)
        return view_as(flush(halves), kind).reshape((partitions, *tile.shape[1:]))
    if not kind.is_float:
        tile = flush(copy(tile, dtype=float32))
    columns = tile.form.free_elements
    flat = _row(tile if tile.form.is_contiguous() else flush(copy(tile)))
    stationary = _ones(flat, partitions)
    chunks = range(0, columns, BANK_COLUMNS)
    if len(chunks) == 1:
        result = _evicted(matmul_tile(stationary, flat, _ONES_ROW), kind)
    else:
        result = fresh((partitions, columns), kind)
        for start in chunks:
            part = slice(start, min(start + BANK_COLUMNS, columns))
            result[:, part] = _evicted(matmul_tile(stationary, flat[:, part], _ONES_ROW), kind)
    if tile.shape[1:] == (columns,):
        return result
    return result.reshape((partitions, *tile.shape[1:]))


def _evicted(psum: Tensor, kind: DType) -> Tensor:
    return copy(flush(psum), dtype=kind)


def _row(tile: Tensor) -> Tensor:
    """A contiguous tile of one partition as [1, N]."""
    return with_form(tile, (1, tile.form.free_elements), (0, 1))


def _ones(like: Tensor, partitions: int) -> Tensor:
    """A row of ones in SBUF, written once, before the loops that are open.

    It has a site of its own: other rows of the line may be of its shape and type, and come first.
    """
    here = session()
    key = ("ones", like.dtype, partitions)
    found = here.constants.get(key)
    if found is None:
        active = here.recorder
        active.flush()
        inner, active.frame = active.frame, active.program
        storage = active.storage(SBUF, like.dtype, (1, partitions), name="ones")
        found = Tensor(storage, storage.buffer.whole)
        active.record("memset", None, (("dst", "write", found),), {"value": 1.0})
        active.frame = inner
        here.constants[key] = found
    return found
