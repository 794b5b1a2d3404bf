# SPDX-License-Identifier: Apache-2.0
# Loads, stores and copies of the 0.1 dialect.
"""nl.load and nl.store: DMA between HBM and SBUF; PSUM is reached by way of SBUF. nl.copy."""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction, ProgramError
from trnsim.frontend import recorder, source
from trnsim.frontend.legacy.blocks import Blocks
from trnsim.frontend.legacy.emit import Role, as_tile, broadcast_free, issue, produce, result_dtype
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.tensor import Tensor, release
from trnsim.frontend.legacy.views import with_form
from trnsim.frontend.nki.tile_size import tile_size
from trnsim.frontend.records.tensor import HBM, PSUM, Shape, View
from trnsim.frontend.shapes import number


def load(src: Any, *, mask: Any = None, dtype: Any = None, **others: Any) -> Tensor:
    """A new tile in SBUF with the elements of a tensor in HBM."""
    ignored(others)
    src = as_tile(src, "src of nl.load", spaces=(HBM,))
    if len(src.shape) == 1 and src.size > tile_size.pmax:
        raise IllegalInstruction(
            f"{source.here()}: src of nl.load is a tensor of shape {list(src.shape)}, one element "
            f"for each partition, but sbuf has {tile_size.pmax}; reshape it to (1, {src.size}) for "
            "a row in one partition")
    data = _tile_like(src)
    shape = data.shape
    return produce("dma_copy", with_indices(("src", "read", data)), {}, shape,
                   result_dtype(dtype, src.dtype), mask=mask)


def _tile_like(view: Tensor) -> Tensor:
    """The view with axes of size 1 appended until it has the two of a tile."""
    missing = 2 - len(view.shape)
    if missing <= 0:
        return view
    data = with_form(view, view.shape + (1,) * missing, view.form.strides + (0,) * missing)
    data.excess = view.excess
    return data


def with_indices(*operands: Role) -> list[Role]:
    """The operands, and the tensors that hold the indices of those that have some."""
    found = {id(view.indices): view.indices for _, _, view in operands if view.indices is not None}
    return [*operands, *(("index", "read", one) for one in found.values())]


def store(dst: Any, value: Any, *, mask: Any = None, **others: Any) -> None:
    """Writes a tile to a tensor in HBM; a tile in PSUM goes through SBUF."""
    ignored(others)
    dst = as_tile(dst, "dst of nl.store", spaces=(HBM,))
    target = _tile_like(dst)
    shape = target.shape
    if not isinstance(value, (View, Blocks)):
        filling = number(value, "value of nl.store", "a tile or a number")
        value = produce("memset", (), {"value": filling}, shape, dst.dtype)
    tile = in_sbuf(as_tile(value, "value of nl.store"))
    release(tile)
    if tile.shape != shape:
        tile = matched(tile, shape, "nl.store")
    operands: list[Role] = [("dst", "write", target), ("src", "read", tile)]
    if target.indices is not None:
        operands += with_indices(operands[0])[1:]
    issue("dma_copy", operands, {}, mask=mask)


def copy(src: Any, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """A copy on chip, cast if a data type is given."""
    tile = as_tile(src, "src of nl.copy")
    return produce("tensor_copy", [("data", "read", tile)], {}, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask)


def in_sbuf(tile: Tensor) -> Tensor:
    """The tile, or a copy of it in SBUF if it lies in PSUM."""
    if tile.form.space != PSUM:
        return tile
    release(tile)
    return produce("tensor_copy", (("data", "read", tile),), {}, tile.shape, tile.dtype)


def brought_to_sbuf(tile: Tensor, what: str) -> Tensor:
    """The tile, or a copy in SBUF of one in PSUM that the instruction does not reach. [ASSUMED]

    Public kernels leave that copy to AWS's compiler.
    """
    if tile.form.space != PSUM:
        return tile
    recorder.required().note("assumption", f"{what} is {tile.name!r} in psum, which the engine "
                                           "does not read: copied to sbuf first")
    copied = in_sbuf(tile)
    release(copied)
    return copied


def matched(tile: Tensor, shape: Shape, name: str) -> Tensor:
    """The tile as `shape`, which differs from its own only by axes of size 1 or a broadcast."""
    if tuple(size for size in tile.shape if size > 1) == tuple(size for size in shape if size > 1):
        first = tile.shape[0] if tile.form.is_on_chip else shape[0]
        if first == shape[0]:
            return tile.reshape(shape)
    if len(tile.shape) == len(shape) and tile.shape[0] == shape[0]:
        return broadcast_free(tile, shape)
    raise ProgramError(f"{source.here()}: {name}: the value has the shape {list(tile.shape)}, but "
                       f"the destination {list(shape)}; both must be equal{_repeated(tile, shape)}"
                       f"{_marked(tile, shape, name)}")


def _marked(tile: Tensor, shape: Shape, name: str) -> str:
    """How a tensor is declared one of whose elements along its first dimension is a tile."""
    if name != "assignment" or shape != (1, *tile.shape):
        return ""
    return (": if the partitions are not the destination's first dimension, write "
            f"nl.par_dim({tile.shape[0]}) in its shape")


def _repeated(tile: Tensor, shape: Shape) -> str:
    """How a tile is repeated along free axes that it does not have, if it can be."""
    own = (tile.shape[0], *(1,) * (len(shape) - len(tile.shape)), *tile.shape[1:])
    if not tile.form.is_on_chip or own[0] != shape[0] or len(own) != len(shape) or any(
            size not in (1, wanted) for size, wanted in zip(own, shape)):
        return ""
    return f": repeat the value with .reshape({own}).broadcast_to({tuple(shape)})"
