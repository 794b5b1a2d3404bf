# SPDX-License-Identifier: Apache-2.0
# nc_matmul of the 0.1 dialect: fresh PSUM tiles, masks, and which matmul overwrites.
"""Matrix multiplication. The axes of mask= are the contraction and the moving tile's columns."""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import float32
from trnsim.frontend.legacy.emit import dropped, fresh, touch
from trnsim.frontend.legacy.mask import EMPTY, rectangle
from trnsim.frontend.legacy.session import Session
from trnsim.frontend.legacy.tensor import UNCLIPPED, Held, MaskedTensor, Tensor
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.legality.matmul import check_bank
from trnsim.frontend.records.tensor import PSUM, Shape


def begins_group(here: Session, view: Tensor, accumulate: bool) -> bool:
    """Whether a matmul into `view` overwrites it; remembers that it has been written.

    With `accumulate` (`+=`) it does only if nothing has been written there yet.
    """
    regions = view.storage.matmul_regions or here.contents(view.storage)
    if view.form.buffer.spans_banks:
        _check_bank(view)
    if (view.position, view.form) in regions.known:
        return not accumulate
    coverage = regions.coverage(view) if accumulate else "none"
    if coverage == "some":
        raise IllegalInstruction(
            f"{source.here()}: part of {view.name!r} has been written and part has not, so a "
            "matmul can neither overwrite nor accumulate; let each group write its own region")
    regions.add(view)
    return coverage == "none"


def _check_bank(view: Tensor) -> None:
    chip = recorder.required().chip
    if chip.generation < 4:
        check_bank(chip, Instruction("nc_matmul", (("dst", "write", view),), {}, None,
                                     source.here()))


def matmul_tile(stationary: Tensor, moving: Tensor, attributes: dict[str, Any], *,
                mask: Any = None, shape: Shape | None = None) -> Tensor:
    """A fresh PSUM tile `stationary.T @ moving`; the mask's axes are those of moving, of which the
    first is the contraction and stationary's too. [NKI-SHARED-2.26]

    Its free axes are those of moving, or one axis if there is a mask.
    """
    columns = moving.form.free_elements
    shape = shape or (stationary.form.free_elements, *(
        moving.shape[1:] if mask is None else (columns,)))
    bounds = None if mask is None else rectangle("nc_matmul", mask, (moving.shape[0], columns))
    if bounds == EMPTY:
        return dropped(shape, float32, PSUM)
    if bounds is None and (type(stationary) is MaskedTensor or type(moving) is MaskedTensor):
        return _masked_operands(stationary, moving, attributes)
    if bounds is not None:
        contraction, free = bounds
        stationary = stationary.clipped((contraction, (0, stationary.form.free_elements)))
        moving = moving.clipped((contraction, free))
        bounds = ((0, shape[0]), free)
    return _issued(stationary, moving, attributes, shape, bounds)


def _masked_operands(stationary: Tensor, moving: Tensor, attributes: dict[str, Any]) -> Tensor:
    """The matmul of what masks leave of the operands; its result has the shape of whole tiles."""
    left, right = (one.whole if isinstance(one, MaskedTensor) else one
                   for one in (stationary, moving))
    bounds = tuple((0, size) for size in (left.form.free_elements, *right.shape[1:]))
    shape = tuple(size for _, size in bounds)
    if isinstance(stationary, MaskedTensor) and len(left.shape) == 2:
        bounds = (*stationary.bounds[1:], *bounds[1:])
    if isinstance(moving, MaskedTensor):
        bounds = (bounds[0], *moving.bounds[1:])
    if len(bounds) != len(shape):
        return dropped(shape, float32, PSUM)
    return _issued(stationary, moving, attributes, shape, bounds)


def _issued(stationary: Tensor, moving: Tensor, attributes: dict[str, Any], shape: Shape,
            bounds: Any) -> Tensor:
    """Holds the matmul back; its result is a fresh tile of which it writes what `bounds` say."""
    stack = source.stack(3)
    columns = recorder.target().pe_columns
    if shape[0] > columns:
        raise IllegalInstruction(
            f"{source.here()}: nc_matmul: stationary is {list(stationary.shape)}, {shape[0]} "
            f"columns, but the PE array has {columns}; both operands have the contraction on "
            f"their partitions: transpose it, or take {columns} columns at a time")
    tile = fresh(shape, float32, PSUM, stack)
    view = tile if bounds is None else tile.clipped(bounds)
    for operand in (stationary, moving):
        if operand.excess is not None:
            operand.check_inside()
        touch(operand, "read")
    recorder.required().hold("nc_matmul", None, (("dst", "write", view),
                                                 ("stationary", "read", stationary),
                                                 ("moving", "read", moving)),
                             {"start": True, **attributes},
                             stack[0] if stack else None)
    tile.held = UNCLIPPED if bounds is None else Held(view, bounds)
    return tile
