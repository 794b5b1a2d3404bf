# SPDX-License-Identifier: Apache-2.0
# nki.isa: the tensor engine.
"""nc_matmul, nc_matmul_mx, nc_transpose. [NKI-ISA]"""

from __future__ import annotations

from sys import _getframe
from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.legality.engines import VECTOR_BLOCK
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.legality.matmul import check_bank
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.issue import (HANDLE, NkiInstruction, indexed, issue, not_a_tensor,
                                       scheduled)
from trnsim.frontend.nki.registers import VirtualRegister
from trnsim.frontend.recorder import Operand
from trnsim.frontend.records.psum import begins_group
from trnsim.frontend.records.tensor import PSUM, View
from trnsim.frontend.shapes import whole_numbers

_no_mode = enums.matmul_perf_mode.none
_DOUBLE_ROW = (enums.matmul_perf_mode.double_row, "double_row", "double_row_gen3")


def nc_matmul(dst: Any, stationary: Any, moving: Any, is_stationary_onezero: bool = False,
              is_moving_onezero: bool = False, is_transpose: bool = False,
              accumulate: bool | None = None, tile_position: Any = (), tile_size: Any = (),
              perf_mode: Any = _no_mode, name: str | None = None) -> NkiInstruction:
    """dst = stationary.T @ moving, or dst += if it holds matmul results or `accumulate` says so."""
    active = recorder.required()
    frame = _getframe(1)
    if accumulate is not None and accumulate is not True and accumulate is not False:
        accumulate = _flag(accumulate)
    if tile_position or tile_size:
        tile_position, tile_size = tuple(tile_position), tuple(tile_size)
    try:
        regions = dst.storage.matmul_regions
        if is_transpose and accumulate is None:
            accumulate = False
        if accumulate is None and regions is not None and (
                dst.position, dst.form) in regions.known:
            start = False
        else:
            start = dst.space != "psum" or begins_group(dst, accumulate, source.here,
                                                        lambda is_all: _adds_to_others(dst, is_all))
        key = (id(frame.f_code), frame.f_lasti, dst.form, stationary.form, moving.form, start,
               is_stationary_onezero, is_moving_onezero, is_transpose, tile_position, tile_size,
               perf_mode)
        shape = active.templates.get(key)
        is_indirect = (dst.indices is not None or stationary.indices is not None
                       or moving.indices is not None)
    except AttributeError:
        raise _not_tensors(dst, stationary, moving) from None
    if shape is None or is_indirect or dst.form.buffer.spans_banks:
        operands: tuple[Operand, ...] = (
            ("dst", "write" if start else "accumulate", dst),
            ("stationary", "read", stationary), ("moving", "read", moving))
        attributes = _attributes(start, is_stationary_onezero, is_moving_onezero, is_transpose,
                                 tile_position, tile_size, perf_mode)
        if is_indirect:
            return _indexed(dst, operands, attributes, name)
        if shape is None:
            shape = active.template("nc_matmul", None, operands, attributes, source.site())
            if source.is_user(frame.f_code):
                active.templates[key] = shape
        check_bank(active.chip, Instruction("nc_matmul", operands, attributes, None,
                                            source.here()))
    active.issue_three(shape, dst, stationary, moving)
    return HANDLE if active.schedule is None else scheduled(active, name)


def _flag(accumulate: Any) -> bool:
    """`accumulate` of an nc_matmul, which the compiler has to know."""
    if isinstance(accumulate, VirtualRegister):
        raise IllegalInstruction(
            f"{source.here()}: nc_matmul: accumulate depends on register {accumulate.name!r}, but "
            "must be known when the kernel is built; take the first matmul out of the loop")
    return bool(accumulate)


def _adds_to_others(dst: View, is_all: bool) -> bool:
    """Whether matmuls accumulate onto what other instructions wrote: before NeuronCore-v4 AWS
    documents it as undefined, but public kernels count on it with a whole tile. [NKI-ISA]"""
    active = recorder.required()
    if active.chip.generation >= 4:
        return True
    if is_all:
        active.note("warning", "nc_matmul: accumulate=True adds to what other instructions wrote "
                               f"to {dst.name!r}, which AWS documents as undefined on "
                               f"{active.chip.neuron_core}; leave accumulate out, or pass False "
                               "for the first matmul that writes it")
    return is_all


def _indexed(dst: View, operands: tuple[Operand, ...],
             attributes: dict[str, Any], name: str | None) -> NkiInstruction:
    """Records a matmul some of whose operands are selected by indices or moved by registers."""
    active = recorder.required()
    check_bank(active.chip, Instruction("nc_matmul", operands, attributes, None,
                                        source.here()))
    active.record("nc_matmul", None, indexed(operands), attributes)
    _keep_group(dst, attributes["start"])
    return scheduled(active, name)


def _keep_group(dst: View, start: bool) -> None:
    """To the recorder a write is one of another instruction, which ends the accumulation."""
    if start and dst.storage.matmul_regions is not None:
        dst.storage.matmul_regions.add(dst)


def _not_tensors(dst: Any, stationary: Any, moving: Any) -> Exception:
    for role, value in (("dst", dst), ("stationary", stationary), ("moving", moving)):
        if not isinstance(value, View):
            return not_a_tensor("nc_matmul", role, value)
    raise AssertionError("nc_matmul was given three tensors")


def _attributes(start: bool, stationary_onezero: bool, moving_onezero: bool, is_transpose: bool,
                tile_position: Any, tile_size: Any, perf_mode: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"start": start}
    if is_transpose:
        attributes["is_transpose"] = True
    if stationary_onezero or moving_onezero:
        attributes["onezero"] = ("both" if stationary_onezero and moving_onezero else
                                 "stationary" if stationary_onezero else "moving")
    if perf_mode in _DOUBLE_ROW:
        attributes["perf_mode"] = "double_row"
    elif perf_mode not in (_no_mode, None, "none"):
        raise IllegalInstruction(f"{source.here()}: nc_matmul: perf_mode is {perf_mode!r}, but "
                                 "none and double_row exist; use a nki.isa.matmul_perf_mode")
    return {**attributes, **_tile("nc_matmul", tile_position, tile_size)}


def _tile(op: str, tile_position: Any, tile_size: Any) -> dict[str, Any]:
    """The part of the PE array as attributes; none for all of it."""
    if bool(tile_position) != bool(tile_size):
        raise IllegalInstruction(f"{source.here()}: {op}: tile_position is {tile_position} "
                                 f"and tile_size is {tile_size}; give both or neither")
    if not tile_size:
        return {}
    return {"tile_position": whole_numbers(tile_position, "tile_position"),
            "tile_size": whole_numbers(tile_size, "tile_size")}


def nc_matmul_mx(dst: Any, stationary: Any, moving: Any, stationary_scale: Any, moving_scale: Any,
                 tile_position: Any = None, tile_size: Any = None, accumulate: bool | None = None,
                 name: str | None = None) -> NkiInstruction:
    """dst = stationary.T @ moving of MXFP8 or MXFP4 operands with their scales (NeuronCore-v4)."""
    start = begins_group(dst, accumulate, source.here, lambda is_all: _adds_to_others(dst, is_all))
    operands: tuple[Operand, ...] = (
        ("dst", "write" if start else "accumulate", dst), ("stationary", "read", stationary),
        ("moving", "read", moving), ("stationary_scale", "read", stationary_scale),
        ("moving_scale", "read", moving_scale))
    handle = issue("nc_matmul_mx", operands,
                   {"start": start, **_tile("nc_matmul_mx", tile_position, tile_size)})
    _keep_group(dst, start)
    return handle


def nc_transpose(dst: Any, data: Any, engine: Any = enums.engine.unknown,
                 name: str | None = None, dtype: Any = None) -> NkiInstruction:
    """dst = data.T, with all free dimensions taken as one."""
    operands: tuple[Operand, ...] = (("dst", "write", dst), ("data", "read", data))
    if (engine is not enums.engine.vector and getattr(dst, "space", None) == PSUM
            and dst.form.buffer.spans_banks):
        try:
            check_bank(recorder.required().chip,
                       Instruction("nc_transpose", operands, {}, None, source.here()))
        except IllegalInstruction:
            if engine is enums.engine.tensor or not _is_small(data):
                raise
            engine = enums.engine.vector
    return issue("nc_transpose", operands, {}, engine)


def _is_small(data: Any) -> bool:
    """Whether the vector engine transposes it."""
    return isinstance(data, View) and max(data.form.partitions,
                                          data.form.free_elements) <= VECTOR_BLOCK
