# SPDX-License-Identifier: Apache-2.0
# nki.isa: data movement by the DMA engines.
"""dma_copy, dma_transpose, dma_compute. [NKI-ISA]"""

from __future__ import annotations

from sys import _getframe
from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.arguments import describe
from trnsim.frontend.legality.operators import take
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.issue import (HANDLE, NkiInstruction, indexed, is_same, issue,
                                       not_a_tensor, scheduled)
from trnsim.frontend.nki.parameters import check_priority
from trnsim.frontend.nki.parameters_dma import (check_dge_mode, check_oob_mode, check_rows,
                                                check_skipped, check_transpose, check_trigger)
from trnsim.frontend.nki.tensor import UnusableTensor
from trnsim.frontend.operators import alu
from trnsim.frontend.recorder import Operand
from trnsim.frontend.records.tensor import View

_error = enums.oob_mode.error
_auto = enums.dge_mode.unknown
_any_engine = enums.engine.unknown
SOURCES_MAX = 16
"""Tensors that one dma_compute adds."""
TRANSPOSE_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
"""The permutation that dma_transpose applies, by rank."""


def dma_copy(dst: Any, src: Any, priority: int | None = None, oob_mode: Any = _error,
             dge_mode: Any = _auto, engine: Any = _any_engine, name: str | None = None,
             unique_indices: bool = True) -> NkiInstruction:
    """dst = src; both in HBM or SBUF, with as many elements, cast if the types differ."""
    active = recorder.required()
    frame = _getframe(1)
    if oob_mode is not _error:
        check_oob_mode("dma_copy", oob_mode)
    try:
        key = (id(frame.f_code), frame.f_lasti, dst.form, src.form, dge_mode, engine, priority)
        shape = active.templates.get(key)
        is_indirect = dst.indices is not None or src.indices is not None
    except AttributeError:
        raise _not_tensors(dst, src) from None
    if _is_skipped(oob_mode, dst, src):
        return HANDLE
    if is_indirect:
        operands = indexed((("dst", "write", dst), ("src", "read", src)))
        attributes = _attributes(dst, src, priority, dge_mode, engine)
        for view in (dst, src):
            check_rows("dma_copy", view, dge_mode)
        active.record("dma_copy", None, operands, _generated(attributes, operands),
                      None, (oob_mode,))
        return scheduled(active, name)
    if shape is None:
        attributes = _attributes(dst, src, priority, dge_mode, engine)
        operands = (("dst", "write", dst), ("src", "read", src))
        shape = active.template("dma_copy", None, operands, attributes, source.site())
        if source.is_user(frame.f_code):
            active.templates[key] = shape
    active.issue_two(shape, dst, src)
    return HANDLE if active.schedule is None else scheduled(active, name)


def _is_skipped(oob_mode: Any, *views: View) -> bool:
    """Whether a register moves one of them out of its tensor, and nothing is to be done then."""
    return oob_mode is enums.oob_mode.skip and any([
        isinstance(view, UnusableTensor) and view.is_moved for view in views])


def _not_tensors(dst: Any, src: Any) -> Exception:
    return (not_a_tensor("dma_copy", "src", src) if isinstance(dst, View) else
            not_a_tensor("dma_copy", "dst", dst))


def _attributes(dst: View, src: View, priority: int | None, dge_mode: Any,
                engine: Any) -> dict[str, Any]:
    """`dge` and `trigger`; checks the rules of hardware descriptor generation."""
    check_priority("dma_copy", priority)
    check_dge_mode("dma_copy", dge_mode)
    check_trigger(engine, dge_mode)
    if enums.DGE_NAMES[dge_mode] == "hardware" and dst.dtype is not src.dtype:
        raise IllegalInstruction(
            f"{source.here()}: dma_copy: dge_mode hwdge casts {src.dtype} to {dst.dtype}, but "
            "moves elements unchanged; use the same type or swdge")
    attributes = {}
    if dge_mode is not _auto:
        attributes["dge"] = enums.DGE_NAMES[dge_mode]
    names = enums.engine_names(engine)
    if names is not None:
        attributes["trigger"] = names[0]
    return attributes


def _illegal(what: str) -> IllegalInstruction:
    return IllegalInstruction(f"{source.here()}: dma_copy: {what}")


def _generated(attributes: dict[str, Any], operands: Sequence[Operand]) -> dict[str, Any]:
    """The attributes of a DMA whose addresses are only known on the device.

    An index per partition takes software descriptor generation; a moved start either kind, of
    which the compiler is taken to choose the hardware's where there is one. [ASSUMED]
    """
    if "dge" in attributes:
        return attributes
    has_hardware = recorder.required().chip.generation >= 3
    casts = len({view.form.dtype for role, _, view in operands if role != "index"}) > 1
    is_vector = any([role == "index" and view.form.elements > 1 for role, _, view in operands])
    mode = "hardware" if has_hardware and not is_vector and not casts else "software"
    return {**attributes, "dge": mode}


def dma_transpose(dst: Any, src: Any, axes: Sequence[int] | None = None,
                  priority: int | None = None, dge_mode: Any = _auto, oob_mode: Any = _error,
                  name: str | None = None) -> NkiInstruction:
    """dst = src with its first and last dimension exchanged."""
    if not isinstance(dst, View) or not isinstance(src, View):
        raise not_a_tensor("dma_transpose", "an operand", dst if isinstance(src, View) else src)
    expected = TRANSPOSE_AXES.get(src.ndim)
    where = f"{source.here()}: dma_transpose"
    if expected is None or (axes is not None and tuple(axes) != expected):
        allowed = ", ".join(str(one) for one in TRANSPOSE_AXES.values())
        raise IllegalInstruction(f"{where}: axes {axes} of a tensor with {src.ndim} dimensions, "
                                 f"but {allowed} are possible; reshape or use nc_transpose")
    shape = tuple(src.shape[axis] for axis in expected)
    if dst.shape != shape:
        raise IllegalInstruction(f"{where}: dst has shape {list(dst.shape)}, but src "
                                 f"{list(src.shape)} transposed has {list(shape)}; make them equal")
    check_priority("dma_transpose", priority)
    check_oob_mode("dma_transpose", oob_mode)
    if _is_skipped(oob_mode, dst, src):
        return HANDLE
    check_skipped(src, oob_mode)
    check_transpose(dst, src, dge_mode)
    attributes = {} if dge_mode is _auto else {"dge": enums.DGE_NAMES[dge_mode]}
    operands = indexed((("dst", "write", dst), ("src", "read", src)))
    return issue("dma_transpose", operands, attributes, _any_engine, (oob_mode,))


def dma_compute(dst: Any, srcs: Sequence[Any], reduce_op: Any, scales: Any = None,
                unique_indices: bool = True, oob_mode: Any = _error,
                name: str | None = None) -> NkiInstruction:
    """dst = the sum of up to 16 sources, by the DMA engines."""
    where = f"{source.here()}: dma_compute"
    if not 0 < len(srcs) <= SOURCES_MAX:
        raise IllegalInstruction(f"{where}: {len(srcs)} sources, but 1 to {SOURCES_MAX} are added; "
                                 "split it")
    _check_scales(where, scales, len(srcs))
    check_oob_mode("dma_compute", oob_mode)
    operator = alu(reduce_op, "reduce_op")
    take("dma_compute", "reduce_op", operator, source.here())
    operands = [("dst", "write", dst), *(("src", "read", one) for one in srcs)]
    if not any(getattr(view, "indices", None) is not None for _, _, view in operands):
        return issue("dma_compute", operands, {"op": operator},
                     _any_engine, (scales, oob_mode))
    if len(srcs) != 2 or not unique_indices:
        raise IllegalInstruction(f"{where}: {len(srcs)} sources and unique_indices="
                                 f"{unique_indices}, but an indirect one adds one tensor to dst "
                                 "by unique indices; pass dst and the tensor")
    _check_sum(where, dst, srcs)
    return issue("dma_compute", indexed(operands),
                 {"op": operator, "dge": "software"}, _any_engine,
                 (scales, oob_mode))


def _check_scales(where: str, scales: Any, sources: int) -> None:
    """A one for each source, or nothing."""
    if scales is None:
        return
    if not isinstance(scales, (tuple, list)):
        raise IllegalInstruction(f"{where}: scales is {describe(scales)}, but must be a list of "
                                 "numbers; reduce_op stands before it")
    if any(scale != 1.0 for scale in scales):
        raise IllegalInstruction(f"{where}: scales is {scales!r}, but only 1.0 is possible; "
                                 "multiply before or after")
    if len(scales) != sources:
        raise IllegalInstruction(f"{where}: scales has {len(scales)} numbers for {sources} "
                                 "sources, but each has one; leave it out")


def _check_sum(where: str, dst: Any, srcs: Sequence[Any]) -> None:
    """An indirect dma_compute adds to what it reads: dst and a source are the same, of which either
    both are selected by the same indices, or none and the other source is. [NKI-ISA]"""
    for role, view in (("dst", dst), *(("src", one) for one in srcs)):
        if not isinstance(view, View):
            raise not_a_tensor("dma_compute", role, view)
        check_rows("dma_compute", view, _auto)
    if any(isinstance(view.indices, View) and view.indirection.kind == "columns"
           for view in (dst, *srcs)):
        return  # Which is no operand of a DMA.
    same = [is_same(dst, one) for one in srcs]
    plain = [one.indices is None for one in srcs]
    if dst.indices is None and sum(plain) == 1 and same[plain.index(True)]:
        return
    if dst.indices is not None and sum(plain) == 1 and same[plain.index(False)]:
        return
    has = "by indices" if dst.indices is not None else "without indices"
    raise IllegalInstruction(
        f"{where}: dst is {dst.name!r} {has}, and srcs are "
        f"{' and '.join(_described(one) for one in srcs)}, but it adds a tensor to dst by indices, "
        "or a tensor by indices to dst: one source is dst itself, and one of the two has indices; "
        "pass it so, or gather with dma_copy and add with tensor_tensor")


def _described(view: View) -> str:
    return f"{view.name!r} {'without' if view.indices is None else 'by'} indices"
