# SPDX-License-Identifier: Apache-2.0
# nki.isa of the 0.1 dialect: data movement by the DMA engines.
"""dma_copy and dma_transpose. [NKI-ISA-2.26]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction, ProgramError
from trnsim.frontend import recorder, source
from trnsim.frontend.legacy.emit import (as_tile, issue, mask_bounds, produce_clipped,
                                         result_dtype)
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.mask import EMPTY, rectangle
from trnsim.frontend.legacy.tensor import Tensor, release
from trnsim.frontend.legacy.transfer import matched, with_indices
from trnsim.frontend.nki.enums import DGE_NAMES, dge_mode, oob_mode
from trnsim.frontend.operators import legacy_alu as alu
from trnsim.frontend.records.tensor import HBM, SBUF

_auto = dge_mode.unknown
_error = oob_mode.error
MEMORIES = (HBM, SBUF)
TRANSPOSE_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
"""The permutation that dma_transpose applies, by rank. [NKI-ISA]"""


def _dge(mode: Any) -> dict[str, Any]:
    name = DGE_NAMES.get(mode, getattr(mode, "name", mode))
    if name not in DGE_NAMES.values():
        raise IllegalInstruction(f"{source.here()}: dge_mode={mode!r} is not a member of "
                                 "nki.isa.dge_mode; use one of unknown, none, swdge, hwdge")
    if name == "hardware" and recorder.required().chip.generation < 3:
        raise IllegalInstruction(f"{source.here()}: dge_mode hwdge needs NeuronCore-v3; use swdge "
                                 "or none, or choose another chip")
    return {} if name == "auto" else {"dge": name}


def dma_copy(*, dst: Any, src: Any, mask: Any = None, dst_rmw_op: Any = None,
             oob_mode: Any = _error, dge_mode: Any = _auto, **others: Any) -> None:
    """dst = src, or dst += src with dst_rmw_op; both in HBM or SBUF."""
    ignored(others)
    target = as_tile(dst, "dst of dma_copy", spaces=MEMORIES)
    data = as_tile(src, "src of dma_copy", spaces=MEMORIES)
    release(data)
    if data.shape != target.shape and data.size != target.size:
        data = matched(data, target.shape, "dma_copy")
    attributes = _dge(dge_mode)
    if dst_rmw_op is not None:
        read_modify_write("dst_rmw_op of dma_copy", dst_rmw_op, target, data, mask, attributes)
        return
    operands = with_indices(("dst", "write", target), ("src", "read", data))
    issue("dma_copy", operands, attributes, mask=mask, immediates=(oob_mode,))


def read_modify_write(argument: str, op: Any, target: Tensor, data: Tensor, mask: Any,
                      attributes: dict[str, Any]) -> None:
    """dst += src. The indices of a scatter are not an operand of dma_compute: noted."""
    if alu(op, argument) != "add":
        raise IllegalInstruction(f"{source.here()}: {argument} is {alu(op, argument)}, but the DMA "
                                 "engines only add")
    bounds = mask_bounds(mask, target.shape)
    if bounds == EMPTY:
        return
    if bounds is not None:
        indices = target.indices
        target, data = target.clipped(bounds), data.clipped(bounds)
        if indices is not None:
            columns = ((0, size) for size in indices.shape[1:])
            target.indices = indices.clipped((bounds[0], *columns))
    scattered: Tensor | None = None
    if target.indices is not None:
        scattered = target
        recorder.required().note("assumption", f"the scatter into {target.name!r} is recorded at "
                                               "the base of the tensor, with unique indices")
        excess = target.excess
        target = Tensor(target.storage, target.form, target.position)
        target.excess = excess
    issue("dma_compute", [("dst", "update", target), ("src", "read", target),
                          ("src", "read", data)], {"op": "add", **attributes},
          immediates=(None, "error", scattered))


def dma_transpose(src: Any, *, axes: Any = None, mask: Any = None, dtype: Any = None,
                  dge_mode: Any = _auto, **others: Any) -> Tensor:
    """src with its first and last axis exchanged, in SBUF."""
    ignored(others)
    data = as_tile(src, "src of dma_transpose", spaces=MEMORIES)
    order = TRANSPOSE_AXES.get(len(data.shape))
    if order is None or (axes is not None and (
            not isinstance(axes, (tuple, list)) or tuple(axes) != order)):
        allowed = ", ".join(str(one) for one in TRANSPOSE_AXES.values())
        raise ProgramError(f"{source.here()}: dma_transpose with axes {axes} of a tensor with "
                           f"{len(data.shape)} axes, but {allowed} are possible; reshape it")
    shape = tuple(data.shape[axis] for axis in order)
    kind, bounds = result_dtype(dtype, data.dtype), rectangle("dma_transpose", mask, data.shape)
    operands = [("src", "read", data)] if bounds else with_indices(("src", "read", data))
    return produce_clipped("dma_transpose", operands, _dge(dge_mode), shape, kind,
                           bounds and (tuple(bounds[axis] for axis in order), bounds))
