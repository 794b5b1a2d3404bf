# SPDX-License-Identifier: Apache-2.0
# nl.where of the 0.1 dialect.
"""Choices between two tiles, or a tile and a number. [NKI-LANGUAGE-2.26]

A condition on values is a copy of y and a predicated copy of x. One on indices, which is known
before the kernel runs, is an `affine_select` where one comparison couples axes and y is a number,
as of a causal mask; else a copy of y, then one of x as far as the condition reaches. [ASSUMED]
"""

from __future__ import annotations

from typing import Any

from trnsim.frontend.dtypes import float32, uint8, uint16, uint32
from trnsim.frontend.legacy import isa_gpsimd
from trnsim.frontend.legacy.broadcast import broadcast_to
from trnsim.frontend.legacy.elementwise import binary, is_number
from trnsim.frontend.legacy.emit import (Role, as_tile, broadcast_free, flush, issue, produce,
                                         promoted, result_dtype)
from trnsim.frontend.legacy.index import broadcast_shapes
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.mask import Mask, clip
from trnsim.frontend.legacy.tensor import UNCLIPPED, Held, Tensor
from trnsim.frontend.legacy.views import view_as
from trnsim.frontend.records.tensor import Shape

_PREDICATES = {1: uint8, 2: uint16, 4: uint32}
"""What integers of a size are seen as: of their bits none is set if they are zero."""


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None,
          **others: Any) -> Tensor:
    """x where the condition holds, else y."""
    ignored(others)
    if isinstance(condition, Mask):
        return _where_indices(condition, x, y, dtype, mask)
    test = flush(as_tile(condition, "condition of nl.where"))
    tiles = _tiles(x, y)
    kind = result_dtype(dtype, _widest(tiles))
    if not test.dtype.is_float and test.dtype.itemsize in _PREDICATES:
        test = view_as(test, _PREDICATES[test.dtype.itemsize])
    else:
        test = flush(binary("not_equal", test, 0.0, dtype=uint8, mask=mask))
    shape = max([test, *tiles], key=lambda one: one.size).shape
    result = _filled(y, shape, kind, mask)
    made = result.held
    flush(result)
    operands: list[Role] = [("dst", "update", result)]
    if not is_number(x):
        operands.append(("data", "read", _spread(as_tile(x, "x of nl.where"), shape)))
    issue("tensor_copy_predicated",
          [*operands, ("predicate", "read", _spread(test, shape))], {}, mask=mask,
          immediates=(x,))
    return _holding(result, made, mask)


def _where_indices(condition: Mask, x: Any, y: Any, dtype: Any, mask: Any) -> Tensor:
    """where() of a condition on indices."""
    tiles = _tiles(x, y)
    kind = result_dtype(dtype, _widest(tiles))
    shape = condition.shape
    for tile in tiles:
        shape = broadcast_shapes(shape, tile.shape)
    bounds, is_rectangle = clip(condition, shape)
    if not condition.opaque and len(condition.predicates) == 1:
        if not is_rectangle and is_number(y) and not is_number(x):
            return isa_gpsimd.affine_select(condition, _spread(tiles[0], shape), y, dtype=kind,
                                            mask=mask)
        if bounds and bounds[0][0] > 0:  # Engines may not start there.
            return _where_indices(~condition, y, x, kind, mask)
    result = _filled(y, shape, kind, mask)
    made = result.held
    flush(result)
    reached = condition if mask is None else condition & mask
    if is_number(x):
        issue("memset", [("dst", "write", result)], {"value": float(x)}, mask=reached)
    else:
        other = _spread(as_tile(x, "x of nl.where"), shape)
        issue("tensor_copy", [("dst", "write", result), ("data", "read", other)], {}, mask=reached)
    return _holding(result, made, mask)


def _tiles(x: Any, y: Any) -> list[Tensor]:
    """The operands that are no numbers."""
    return [flush(as_tile(one, "an operand of nl.where")) for one in (x, y) if not is_number(one)]


def _filled(y: Any, shape: Shape, kind: Any, mask: Any) -> Tensor:
    """A new tile that is y all over, still to be issued."""
    if is_number(y):
        return produce("memset", (), {"value": float(y)}, shape, kind, mask=mask)
    other = _spread(as_tile(y, "y of nl.where"), shape)
    return produce("tensor_copy", [("data", "read", other)], {}, shape, kind, mask=mask)


def _holding(result: Tensor, made: Any, mask: Any) -> Tensor:
    """The result: its assignment copies what the mask of y's copy left, and no more."""
    if not clip(mask, result.shape)[1]:
        result.held = Held(result if made is UNCLIPPED else made.view, made.clip, mask)
    elif made is not UNCLIPPED:
        result.held = made
    return result


def _spread(tile: Tensor, shape: Shape) -> Tensor:
    """The tile repeated to a shape, across partitions as well."""
    if tile.shape[0] == shape[0]:
        return broadcast_free(tile, shape)
    return broadcast_to(tile, shape)  # type: ignore[no-any-return]


def _widest(tiles: list[Tensor]) -> Any:
    kind = float32 if not tiles else tiles[0].dtype
    for tile in tiles[1:]:
        kind = promoted(kind, tile.dtype)
    return kind
