# SPDX-License-Identifier: Apache-2.0
# `t[i] = value` and `t += value` of the 0.1 dialect.
"""Assignment: retargets the instruction that makes the value, else copies.

`psum[...] += nc_matmul(...)` accumulates in PSUM: the matmul that finds nothing in its destination
overwrites, the others accumulate. [NKI-PROGRAMMING-2.26]
"""

from __future__ import annotations

from typing import Any

from trnsim.errors import ProgramError
from trnsim.frontend import recorder, source
from trnsim.frontend.legacy.blocks import Blocks
from trnsim.frontend.legacy.elementwise import binary
from trnsim.frontend.legacy.emit import as_tile, issue, produce, touch
from trnsim.frontend.legacy.index import ArrayIndex, Index
from trnsim.frontend.legacy.loop_reduction import LoopReduction
from trnsim.frontend.legacy.mask import EMPTY
from trnsim.frontend.legacy.matmul import begins_group
from trnsim.frontend.legacy.session import session
from trnsim.frontend.legacy.tensor import UNCLIPPED, Tensor, release
from trnsim.frontend.legacy.transfer import in_sbuf, matched
from trnsim.frontend.legality.engines import VECTOR_BLOCK
from trnsim.frontend.legality.rules import RULES
from trnsim.frontend.records.tensor import HBM, PSUM, SBUF, Shape


def assign(target: Tensor, value: Any) -> None:
    """`target[...] = value`: retargets the instruction that makes `value`, or copies."""
    if type(value) is Tensor and type(target) is Tensor and target.form.space != HBM:
        if value.held is UNCLIPPED and value.shape == target.shape and retarget(target, value):
            return
        _assign_tile(target, as_tile(value, "the assigned value"))
        return
    if isinstance(target, Blocks):
        as_tile(target, "the destination of an assignment")
    if target.form.space == HBM:
        raise ProgramError(f"{source.here()}: {target.name!r} is in hbm, which an assignment does "
                           "not reach; use nl.store")
    if isinstance(value, LoopReduction):
        value.assign_to(target)
    elif isinstance(value, (Index, ArrayIndex)):
        _constant(target, "iota", {}, (None, value.values()))
    elif not isinstance(value, (Tensor, Blocks)):
        _constant(target, "memset", {"value": _number(value)})
    else:
        _assign_tile(target, as_tile(value, "the assigned value"))


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ProgramError(f"{source.here()}: {type(value).__name__} is assigned to a tile, but a "
                           "tile takes a tile or a number") from None


def _constant(target: Tensor, op: str, attributes: dict[str, Any],
              immediates: tuple[Any, ...] = ()) -> None:
    """Writes a constant; by DMA from another tile to where no engine starts. [ASSUMED]"""
    form = target.form
    step = 32 if form.partitions <= 32 else 64 if form.partitions <= 64 else 128
    if form.space == SBUF and form.partition % step and target.excess is None:
        tile = produce(op, (), attributes, target.shape, target.dtype, immediates=immediates)
        release(tile)
        issue("dma_copy", (("dst", "write", target), ("src", "read", tile)), {})
        return
    issue(op, (("dst", "write", target),), attributes, immediates=immediates)


def _assign_tile(target: Tensor, value: Tensor) -> None:
    if _is_itself(value, target):
        return
    if _fits(value, target) and retarget(target, value):
        return
    held, mask = value.held, None
    release(value)
    if held is not None and value.shape == target.shape:
        mask = held.mask
        if held.clip is not None and mask is None:
            value, target = value.clipped(held.clip), target.clipped(held.clip)
    if value.shape != target.shape:
        value = matched(value, target.shape, "assignment")
    issue("tensor_copy", (("dst", "write", target), ("data", "read", value)), {}, mask=mask)


def _is_itself(value: Tensor, target: Tensor) -> bool:
    """Whether the value is what is assigned to, as after `t[...] += x`; `t[...]` and `t` have forms
    of their own."""
    a, b = value.form, target.form
    return (value.storage is target.storage and value.position == target.position
            and (a is b or a.shape == b.shape and a.steps == b.steps
                 and a.partition == b.partition and a.dtype is b.dtype))


def _fits(value: Tensor, target: Tensor) -> bool:
    """Whether the instruction that makes `value` may write `target`; a matmul counts elements."""
    if _same_but_ones(value.shape, target.shape):
        return True
    return (recorder.required().pending_op == "nc_matmul" and value.held is UNCLIPPED
            and value.shape[0] == target.shape[0] and value.size == target.size)


def _same_but_ones(a: Shape, b: Shape) -> bool:
    if a == b:
        return True
    return a[0] == b[0] and [n for n in a[1:] if n > 1] == [n for n in b[1:] if n > 1]


def _reaches(op: str, value: Tensor, space: str) -> bool:
    """Whether the operation that makes `value` can write to a memory."""
    if op == "nc_transpose" and space == SBUF:
        return max(value.shape) <= VECTOR_BLOCK or value.form.space == SBUF
    return space in RULES[op].operands["dst"].spaces


_EVERYWHERE = frozenset((op, space) for op, rule in RULES.items() for space in (SBUF, PSUM)
                        if "dst" in rule.operands and space in rule.operands["dst"].spaces
                        and op != "nc_transpose")
"""Operations and memories that their results reach."""


def retarget(target: Tensor, value: Tensor, *, accumulate: bool = False) -> bool:
    """Lets the held-back instruction that makes `value` write `target`; False if none does."""
    held = value.held
    if held is None:
        return False
    here = session()
    active = here.recorder
    clip = held.clip
    dst = value if held is UNCLIPPED else held.view
    if dst is None:
        return True
    pending = active.pending
    if pending is None or dst is not active.pending_view:
        return False
    op = pending[0]
    space = target.form.space
    if (op, space) not in _EVERYWHERE and not _reaches(op, value, space) or (
            clip is not None and value.shape != target.shape):
        return False
    attributes, access = None, None
    view = target
    if clip is not None or target.excess is not None:
        view = target.clipped(clip)
    promised = here.promised
    if op == "nc_matmul":
        if promised:
            promise = promised.get(id(target.storage))
            if promise is not None and promise[1] == 0.0:
                del promised[id(target.storage)]
                active.initialise(target.storage, 0)
            touch(view, "update" if accumulate else "write")
        start = begins_group(here, view, accumulate)
        attributes, access = {"start": start}, "write" if start else "accumulate"
    elif promised:
        touch(view, "write" if active.held_mask is None else "update")
    active.retarget(dst, view, access=access, attributes=attributes)
    value.held = None
    value.storage, value.form, value.position = target.storage, target.form, target.position
    if active.has_values:  # The value stays what it is, whatever is written there later.
        value.storage = active.snapshot(target)
    return True


def accumulate(target: Tensor, value: Any) -> None:
    """`target += value`: PSUM accumulation if `value` is a matmul that was just issued."""
    held = value.held if isinstance(value, Tensor) else None
    if held is not None and held.clip == EMPTY:
        return
    if isinstance(value, Tensor) and target.form.space == PSUM and (
            value.shape == target.shape or _fits(value, target)):
        active = recorder.required()
        if (held is not None and active.pending_op == "nc_matmul"
                and active.is_pending(value if held is UNCLIPPED else held.view)):
            retarget(target, value, accumulate=True)
            return
        if value.form.space == PSUM:
            value = in_sbuf(value)
    binary("add", target, value, dst=target)
