# SPDX-License-Identifier: Apache-2.0
# How an operation of the 0.1 dialect becomes an instruction: fresh tiles, masks, broadcasts.
"""Between the public functions and the recorder.

`produce` issues an instruction that makes a fresh tile and returns the tile; the recorder holds the
instruction back until its next event, so that an assignment can still replace the tile (see
tensor.py). `issue` writes a tile that exists. Both clip all operands by `mask=`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trnsim.errors import IllegalInstruction, ProgramError
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import DType, bfloat16, float32, int16, int32, uint8
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.legacy.blocks import Blocks
from trnsim.frontend.legacy.mask import EMPTY, FULL, clip as clip_of
from trnsim.frontend.legacy.session import check_api, session
from trnsim.frontend.legacy.tensor import UNCLIPPED, Held, Tensor, release
from trnsim.frontend.legacy.views import with_form
from trnsim.frontend.legality.parameter_names import called
from trnsim.frontend.records.tensor import HBM, PSUM, SBUF, Shape, Storage, View

Role = tuple[str, str, Tensor]


def as_tile(value: Any, argument: str, *, spaces: Sequence[str] = (SBUF, PSUM)) -> Tensor:
    """The tensor of an argument; ProgramError if it is no tile or lies in another memory."""
    if type(value) is Tensor and value.form.space in spaces:
        return value
    if hasattr(value, "assign_to"):
        value = value.tile()
    if isinstance(value, Blocks):
        raise ProgramError(
            f"{source.here()}: {argument} is {value.table.name!r}, which has {len(value.lead)} "
            "block dimensions before its partitions, but an instruction works on one tile; "
            "index them")
    if not isinstance(value, Tensor):
        check_api()
        if isinstance(value, View):
            raise ProgramError(f"{source.here()}: {argument} is {value.name!r} of nki, but must be "
                               "a tensor of neuronxcc.nki, as the kernel is; import that language")
        what = "a numpy array" if type(value).__name__ == "ndarray" else type(value).__name__
        how = ("compute with numbers in Python, or create one with nl.full"
               if isinstance(value, (int, float)) else
               "pass arrays to the kernel as arguments and load them, or create one")
        raise ProgramError(f"{source.here()}: {argument} is {what}, but must be a tensor; {how}")
    if value.form.space not in spaces:
        how = "load it with nl.load" if value.form.space == HBM and SBUF in spaces else (
            "copy it there")
        raise ProgramError(f"{source.here()}: {argument} is {value.name!r} in {value.form.space}, "
                           f"but must be in {' or '.join(spaces)}; {how} first")
    return value


def fresh(shape: Shape, dtype: DType, space: str = SBUF,
          stack: tuple[source.Site, ...] = ()) -> Tensor:
    """A new tile for the result of the user's current operation, to which `stack` leads."""
    here = session()
    key = (stack or source.stack(), space, id(dtype), shape)
    buffer = here.tiles.get(key)
    if buffer is None:
        buffer = here.tiles[key] = here.recorder.storage(space, dtype, shape).buffer
    return Tensor(Storage(buffer, here.recorder.frame), buffer.whole)


def produce(op: str, operands: Sequence[Role], attributes: dict[str, Any], shape: Shape,
            dtype: DType, *, mask: Any = None, engines: tuple[str, ...] | None = None,
            space: str = SBUF, immediates: tuple[Any, ...] = ()) -> Tensor:
    """A fresh tile of `shape`, made by an instruction that `operands` (without dst) go into."""
    bounds = None if mask is None else mask_bounds(mask, shape)
    if bounds == EMPTY:
        return dropped(shape, dtype, space)
    here = session()
    ready = operands
    if bounds is not None or here.promised:
        ready = _ready(op, operands, bounds)
    else:
        for _, _, operand in operands:
            if operand.excess is not None:
                operand.check_inside()
            if operand.indices is not None:
                _check_gather(op, operands)
    active = here.recorder
    stack = source.stack(2)
    at = stack[0] if stack else None
    key = (stack, space, id(dtype), shape)
    buffer = here.tiles.get(key)
    if buffer is None:
        buffer = here.tiles[key] = active.storage(space, dtype, shape).buffer
    tile = Tensor(Storage(buffer, active.frame), buffer.whole)
    if bounds is None:
        active.hold(op, engines, (("dst", "write", tile), *ready), attributes, at,
                    immediates)
        tile.held = UNCLIPPED
    else:
        view = tile.clipped(bounds)
        active.hold(op, engines, (("dst", "write", view), *ready), attributes, at,
                    _clipped_values(immediates, bounds, shape))
        tile.held = Held(view, bounds)
    return tile


def _clipped_values(immediates: tuple[Any, ...], bounds: Any, shape: Shape) -> tuple[Any, ...]:
    """Those of an index expression have one value for each element, of which the clip leaves some.
    """
    part = tuple(slice(start, start + count) for start, count in bounds)
    return tuple(np.broadcast_to(one, shape)[part] if isinstance(one, np.ndarray) else one
                 for one in immediates)


def produce_per_row(op: str, operands: Sequence[Role], attributes: dict[str, Any], shape: Shape,
                    dtype: DType, *, masked: Tensor, bounds: Any,
                    immediates: tuple[Any, ...] = ()) -> Tensor:
    """As produce, for operands with columns of their own: a mask, which left `bounds` of the
    operand `masked`, clips the partitions of all, and other axes of that one and of a result like
    it. [NKI-ISA-2.26]
    """
    def left_of(sizes: Shape, is_alike: bool) -> Any:
        return bounds if is_alike else (bounds[0], *((0, size) for size in sizes[1:]))

    clips = bounds and (left_of(shape, shape == masked.shape),
                        *(left_of(one.shape, one is masked) for _, _, one in operands))
    return produce_clipped(op, operands, attributes, shape, dtype, clips, immediates=immediates)


def produce_clipped(op: str, operands: Sequence[Role], attributes: dict[str, Any], shape: Shape,
                    dtype: DType, clips: Any, *, engines: tuple[str, ...] | None = None,
                    space: str = SBUF, immediates: tuple[Any, ...] = ()) -> Tensor:
    """As produce, with what a mask leaves of the result and of each operand; or FULL or EMPTY."""
    if clips is FULL:
        return produce(op, operands, attributes, shape, dtype, engines=engines, space=space,
                       immediates=immediates)
    if clips == EMPTY:
        return dropped(shape, dtype, space)
    tile = fresh(shape, dtype, space)
    clip, *others = clips
    view = tile.clipped(clip)
    ready = [(role, access, one.clipped(left))
             for (role, access, one), left in zip(operands, others, strict=True)]
    for _, access, one in ready:
        touch(one, access)
    recorder.required().hold(op, engines, (("dst", "write", view), *ready), attributes,
                             immediates=immediates)
    tile.held = Held(view, clip)
    return tile


def dropped(shape: Shape, dtype: DType, space: str) -> Tensor:
    """The result of an instruction that its mask dropped: assigning it changes nothing."""
    tile = fresh(shape, dtype, space)
    tile.held = Held(None, EMPTY)
    return tile


def issue(op: str, operands: Sequence[Role], attributes: dict[str, Any], *, mask: Any = None,
          engines: tuple[str, ...] | None = None, immediates: tuple[Any, ...] = ()) -> None:
    """An instruction whose operands, dst first, exist. Their axes are those of dst."""
    bounds = mask_bounds(mask, operands[0][2].shape)
    if bounds != EMPTY:
        recorder.required().record(op, engines, _ready(op, operands, bounds), attributes, None,
                                   immediates)


def mask_bounds(mask: Any, shape: Shape) -> Any:
    """The clip of a mask; one that is not exact leaves a note in the trace."""
    if mask is None:
        return None
    bounds, exact = clip_of(mask, shape)
    if not exact:
        recorder.required().mask = mask if bounds is FULL else mask.within(bounds, shape)
        recorder.required().note(
            "assumption", "the mask couples axes of the tile, or is no conjunction of affine "
            "comparisons: the instruction is recorded for the whole tile")
    return bounds


def _check_gather(op: str, operands: Sequence[Role]) -> None:
    """IllegalInstruction if an operand is indexed by a tile that is no operand too."""
    indices = {id(tile) for role, _, tile in operands if role == "index"}
    for role, _, view in operands:
        if view.indices is not None and id(view.indices) not in indices:
            raise IllegalInstruction(
                f"{source.here()}: {op}: {called(op, role)} is {view.name!r} indexed by a tile, "
                "but only DMAs gather and scatter; copy what it points at to a tile first, with "
                "nl.load or nisa.tensor_copy_dynamic_src")


def _ready(op: str, operands: Sequence[Role], bounds: Any) -> Sequence[Role]:
    """The operands clipped, inside their tensors, and initialised if that was put off."""
    ready = operands
    if bounds is not None:
        ready = [(role, access, view.clipped(bounds)) for role, access, view in operands]
        clipped = {id(old): new for (_, _, old), (_, _, new) in zip(operands, ready)}
        for _, _, view in ready:
            if view.indices is not None:
                view.indices = clipped.get(id(view.indices), view.indices)
    else:
        for _, _, view in operands:
            if view.excess is not None:
                view.check_inside()
    if any(view.indices is not None for _, _, view in ready):
        _check_gather(op, ready)
    here = session()
    if here.promised:
        for _, access, view in sorted(ready, key=lambda operand: operand[1] == "write"):
            touch(view, access if here.recorder.mask is None else "update")
    return ready


def touch(view: Tensor, access: str) -> None:
    """Before an access: writes the initial value that a declaration promised, if it matters.

    `access` is "update" if a write may keep some elements. An instruction that is held back stays
    so: it does not access the tile yet.
    """
    here = session()
    promise = here.promised.pop(id(view.storage), None) if here.promised else None
    if promise is not None and (access != "write" or view.size != promise[0].size):
        active = here.recorder
        held, active.pending = active.pending, None
        mask, active.mask = active.mask, None
        active.record("memset", None, (("dst", "write", promise[0]),), {"value": promise[1]})
        active.pending, active.mask = held, mask


def broadcast_free(tile: Tensor, shape: Shape) -> Tensor:
    """The tile seen with axes of size 1 repeated; the partitions must be equal already."""
    if tile.shape == shape:
        return tile
    have = tile.shape
    if tile.form.free_elements == 1 and have[0] == shape[0] and len(have) != len(shape):
        return with_form(tile, shape, (0,) * len(shape))
    if len(have) != len(shape):
        raise no_broadcast(have, shape)
    strides = list(tile.form.strides)
    for axis in range(1, len(shape)):
        if have[axis] != shape[axis]:
            if have[axis] != 1:
                raise no_broadcast(have, shape)
            strides[axis] = 0
    return with_form(tile, shape, tuple(strides))


def no_broadcast(have: Shape, want: Shape) -> ProgramError:
    """The error for a tile that has to be repeated and cannot."""
    return ProgramError(f"{source.here()}: a tile of shape {list(have)} does not broadcast to "
                        f"{list(want)}; sizes must be equal or 1")


def is_vector(tile: Tensor, partitions: int) -> bool:
    """Whether a tile holds one value per partition."""
    return tile.shape[0] == partitions and tile.form.free_elements == 1


def result_dtype(dtype: Any, default: DType) -> DType:
    """The data type of a result: what the program says, else `default`."""
    if dtype is None:
        return default
    return dtype if type(dtype) is DType else dtype_of(dtype)


def promoted(a: DType, b: DType) -> DType:
    """The type of arithmetic on two: a float if either is one, else the wider, else the least one
    that holds the values of both. [NKI-SHARED-2.26]
    """
    if a is b:
        return a
    if a.is_float != b.is_float:
        return a if a.is_float else b
    narrow, wide = sorted((a, b), key=lambda one: one.itemsize)
    if a.is_float:
        return wide if narrow.itemsize < wide.itemsize else _WIDENED_FLOATS[wide.itemsize]
    signed = [one.name.startswith("int") for one in (narrow, wide)]
    if signed[0] == signed[1] or (signed[1] and narrow.itemsize < wide.itemsize):
        return wide
    return _WIDENED_INTEGERS[(narrow if signed[1] else wide).itemsize]


_WIDENED_FLOATS = {1: bfloat16, 2: float32, 4: float32}
"""By the size of two different floats: what holds both."""
_WIDENED_INTEGERS = {1: int16, 2: int32, 4: float32}
"""By the size of an unsigned integer: what holds it and signed ones that are no wider."""


def type_of_number(number: Any) -> DType:
    """What a constant counts as next to a tile: numpy's have a type, others the widest of their
    kind. [NKI-SHARED-2.26]
    """
    kind = getattr(number, "dtype", None)
    if kind is not None:
        return dtype_of(kind) if kind.itemsize < 8 else float32 if kind.kind == "f" else int32
    if isinstance(number, bool):
        return uint8
    return float32 if isinstance(number, float) else int32


def flush(value: Any) -> Any:
    """Issues what makes `value`, so that it can be used twice; returns `value`."""
    if isinstance(value, Tensor):
        release(value)
    return value

