# SPDX-License-Identifier: Apache-2.0
# nki.isa of the 0.1 dialect: matrix multiplication and transposition.
"""nc_matmul and nc_transpose. [NKI-ISA-2.26]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.legacy.emit import (as_tile, dropped, flush, produce_clipped, result_dtype)
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.mask import EMPTY, rectangle
from trnsim.frontend.legacy.matmul import matmul_tile
from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.legacy.transfer import brought_to_sbuf, copy
from trnsim.frontend.nki.enums import engine, engine_names
from trnsim.frontend.records.tensor import PSUM, SBUF
from trnsim.frontend.shapes import whole_numbers

_any = engine.unknown
VECTOR_BLOCK = 32
"""Rows and columns of a transpose on the vector engine. [NKI-ISA]"""
_DOUBLE_ROW = ("double_row", "double_row_gen3")


def nc_matmul(stationary: Any, moving: Any, *, is_stationary_onezero: bool = False,
              is_moving_onezero: bool = False, is_transpose: bool = False,
              tile_position: Any = (), tile_size: Any = (), perf_mode: Any = None,
              mask: Any = None, **others: Any) -> Tensor:
    """stationary.T @ moving, in PSUM."""
    ignored(others)
    left = as_tile(stationary, "stationary of nc_matmul")
    if left.form.space == PSUM:
        left = brought_to_sbuf(left, "stationary of nc_matmul")
    right = as_tile(moving, "moving of nc_matmul")
    if right.form.space == PSUM:
        right = brought_to_sbuf(right, "moving of nc_matmul")
    attributes: dict[str, Any] = {}
    if is_transpose:
        attributes["is_transpose"] = True
    if is_stationary_onezero or is_moving_onezero:
        attributes["onezero"] = ("both" if is_stationary_onezero and is_moving_onezero else
                                 "stationary" if is_stationary_onezero else "moving")
    if tile_size:
        attributes["tile_position"] = whole_numbers(tile_position, "tile_position")
        attributes["tile_size"] = whole_numbers(tile_size, "tile_size")
    shape = None
    if perf_mode is not None and getattr(perf_mode, "value", perf_mode) != "none":
        shape = _double_row(attributes, perf_mode, left, right)
    return matmul_tile(left, right, attributes, mask=mask, shape=shape)


def _double_row(attributes: dict[str, Any], perf_mode: Any, left: Tensor,
                right: Tensor) -> tuple[int, int]:
    """Two rows of the contraction at a time: the first free axis of both operands is 2."""
    name = getattr(perf_mode, "value", perf_mode)
    if name not in _DOUBLE_ROW:
        raise IllegalInstruction(f"{source.here()}: nc_matmul: perf_mode is {perf_mode!r}, but "
                                 "double_row_gen3 exists; leave it out or use that")
    if len(left.shape) != 3 or left.shape[1] != 2 or len(right.shape) != 3 or right.shape[1] != 2:
        raise IllegalInstruction(
            f"{source.here()}: nc_matmul: perf_mode {name} with operands of shape "
            f"{list(left.shape)} and {list(right.shape)}, but both must be [K, 2, N]; reshape them")
    attributes["perf_mode"] = "double_row"
    return left.shape[2], right.shape[2]


def nc_transpose(data: Any, *, mask: Any = None, dtype: Any = None, engine: Any = _any,
                 **others: Any) -> Tensor:
    """data.T with all free axes as one: in PSUM from the tensor engine, in SBUF from the vector."""
    ignored(others)
    tile = as_tile(data, "data of nc_transpose")
    engines = engine_names(engine)
    shape = (tile.form.free_elements, tile.shape[0])
    vector = engines == ("vector",) or (engines is None and tile.form.space == PSUM)
    space = SBUF if vector else PSUM
    bounds = rectangle("nc_transpose", mask, tile.shape)
    if bounds == EMPTY:
        return dropped(shape, result_dtype(dtype, tile.dtype), space)
    if bounds and len(bounds) > 2:
        raise IllegalInstruction(f"{source.here()}: nc_transpose: the mask clips a tile with "
                                 f"{len(bounds)} axes, but the free ones become one; reshape the "
                                 "tile, or clip it by slices")
    result = produce_clipped("nc_transpose", [("data", "read", tile)], {}, shape, tile.dtype,
                             bounds and (bounds[::-1], bounds), engines=engines, space=space)
    if dtype is not None and dtype_of(dtype) is not tile.dtype:
        return copy(flush(result), dtype=dtype)
    return result
