# SPDX-License-Identifier: Apache-2.0
# Rules for parameters of DMA instructions.
"""What descriptors a dma_transpose takes, and what of. [NKI-ISA, dma_transpose] [NKI-DGE]

The two pages differ on what the hardware's descriptors transpose; the newer one is kept to. That
`dge_mode` none is no mode of a transpose stands on the other; nki-library's kernels name it.
"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.nki import enums
from trnsim.frontend.records.tensor import HBM, SBUF, View

ROW_BLOCK = 16
"""Rows that are transposed at a time."""
INDEX_ROWS = 128
"""Rows of several columns of indices."""
ELEMENT_BYTES = 2
"""Size of what such a transpose moves."""
TRIGGERS = ("sync", "scalar")
"""Engines that have the hardware make descriptors."""
_ROWS = (1, 2, 4, 8, 16)
_OFFSET_TYPES = ("int32", "uint32")
"""Of indices of a DMA. [NKI-ISA, dma_copy]"""
_NOT_ROWS = ("scalar", "columns")
"""Kinds of indirection that select no rows."""
_GATHER_GENERATION = 3
"""The first NeuronCore that gathers and transposes; on one of AWS's pages, that gathers at all."""


def check_dge_mode(op: str, mode: Any) -> None:
    """A mode is one of NKI's, and the chip has it."""
    if mode not in enums.DGE_NAMES:
        raise _refused(op, f"dge_mode={mode!r} is not a member of nki.isa.dge_mode; use one of "
                           "unknown, none, swdge, hwdge")
    chip = recorder.required().chip
    if enums.DGE_NAMES[mode] == "hardware" and chip.generation < 3:
        raise _refused(op, f"dge_mode hwdge needs NeuronCore-v3, but {chip.name} has "
                           f"{chip.neuron_core}; use swdge or none")


def check_oob_mode(op: str, mode: Any) -> None:
    """A mode is one of NKI's."""
    if not isinstance(mode, enums.oob_mode):
        raise _refused(op, f"oob_mode={mode!r} is not a member of nki.isa.oob_mode; use error or "
                           "skip")


def check_trigger(engine: Any, mode: Any) -> None:
    """An engine is named for the descriptors of the hardware, which two of them trigger."""
    names = enums.engine_names(engine)
    if names is None:
        return
    if enums.DGE_NAMES[mode] != "hardware":
        raise _refused("dma_copy", f"engine is {names[0]}, but dge_mode is not hwdge, with which "
                                   "an engine triggers descriptors; pass that or no engine")
    if names[0] not in TRIGGERS:
        raise _refused("dma_copy", f"engine is {names[0]}, but descriptors of hwdge are triggered "
                                   f"by {' or '.join(TRIGGERS)}; name one of them")


def check_skipped(src: View, mode: Any) -> None:
    """What a dma_transpose skips is out of bounds by an index."""
    if mode is enums.oob_mode.skip and src.indices is None:
        raise _transpose("oob_mode is skip, but src has no indices, and nothing of it is out of "
                         "bounds; leave it out")


def check_rows(op: str, view: View, mode: Any) -> None:
    """What a DMA reads or writes by a vector_offset lies in HBM, described by software."""
    if not isinstance(view.indices, View):
        return
    _check_offset(op, view)
    if view.indirection.kind in _NOT_ROWS:
        return
    active = recorder.required()
    if active.chip.generation < _GATHER_GENERATION:
        active.note("warning", f"{op} gathers or scatters by a vector_offset, which AWS's guide "
                               "to descriptor generation has from NeuronCore-v"
                               f"{_GATHER_GENERATION} on")
    if view.space != HBM:
        raise _refused(op, f"{view.name!r} in {view.space} is accessed by a vector_offset, "
                           "but rows are selected in hbm; use a compute instruction")
    if enums.DGE_NAMES[mode] not in ("auto", "software"):
        raise _refused(op, f"dge_mode is {mode.name}, but {view.name!r} has a "
                           "vector_offset, which takes swdge; leave it out")


def _check_offset(op: str, view: View) -> None:
    """Indices are integers of 32 bits: one in all, or one in each partition for a row each."""
    index, kind = view.indices.form, view.indirection.kind
    if kind == "columns":
        return
    name, what = view.indices.name, "scalar_offset" if kind == "scalar" else "vector_offset"
    if index.dtype.name not in _OFFSET_TYPES:
        raise _refused(op, f"{view.name!r} has the {what} {name!r}, {index.dtype}, but must have "
                           f"{' or '.join(_OFFSET_TYPES)}; copy it into one")
    if kind == "scalar" and index.elements != 1:
        raise _refused(op, f"{view.name!r} has the scalar_offset {name!r}, {index.describe()}, but "
                           "one element moves all of it; slice it")
    rows = view.shape[0]
    if kind == "vector" and (index.partitions, index.free_elements) != (rows, 1):
        raise _refused(op, f"{view.name!r} of {rows} rows has the vector_offset {name!r}, "
                           f"{index.describe()}, but must have one index for each, [{rows}, 1]; "
                           "slice or reshape it")


def check_transpose(dst: View, src: View, mode: Any) -> None:
    """The memories, types and sizes of a dma_transpose from `src` to `dst`."""
    check_dge_mode("dma_transpose", mode)
    name = enums.DGE_NAMES[mode]
    if dst.space != SBUF:
        raise _transpose(f"dst is {dst.name!r} in {dst.space}, but must be in sbuf; copy it from "
                         "there")
    if dst.dtype is not src.dtype:
        raise _transpose(f"src is {src.dtype} and dst is {dst.dtype}, but both must have the same "
                         "type; convert it before or after")
    if isinstance(src.indices, View) and src.indirection.kind not in _NOT_ROWS:
        _check_gather(src, src.indices, name)
    elif src.indices is None:
        _check_direct(src, name)


def _check_direct(src: View, mode: str) -> None:
    """A transpose without indices."""
    if mode == "software":
        raise _transpose("dge_mode is swdge, but src has no indices; use hwdge, none or unknown")
    if mode != "hardware":
        return
    rows = src.shape[0]
    if src.ndim == 2 and rows != ROW_BLOCK:
        raise _transpose(f"src has {rows} rows, but hwdge transposes {ROW_BLOCK} of a tensor with "
                         "2 dimensions; split it or leave dge_mode out")
    if src.ndim > 2 and (rows not in _ROWS or rows * src.shape[-2] % ROW_BLOCK):
        raise _transpose(f"src has shape {list(src.shape)}, but with hwdge its first size must be "
                         f"one of {', '.join(map(str, _ROWS))}, and that times the last but one a "
                         f"multiple of {ROW_BLOCK}; split it or leave dge_mode out")
    _check_elements(src, "hwdge transposes")


def _check_gather(src: View, indices: View, mode: str) -> None:
    """A transpose of the rows that indices name, by software."""
    chip = recorder.required().chip
    if chip.generation < _GATHER_GENERATION:
        raise _transpose(f"src has indices, which needs NeuronCore-v{_GATHER_GENERATION}, but "
                         f"{chip.name} has {chip.neuron_core}; gather with dma_copy and use "
                         "nc_transpose")
    if mode not in ("auto", "software"):
        raise _transpose(f"dge_mode is {'hwdge' if mode == 'hardware' else mode}, but src has "
                         "indices, which take swdge; use that or leave it out")
    if src.space != HBM:
        raise _transpose(f"src is {src.name!r} in {src.space}, but rows are gathered from hbm; "
                         "store it there first")
    if src.ndim == 4 and 1 not in src.shape[1:3]:
        raise _transpose(f"src has shape {list(src.shape)}, but one of its two middle dimensions "
                         "must be 1; reshape it")
    _check_elements(src, "a gather transposes")
    _check_indices(src, indices)


def _check_elements(src: View, what: str) -> None:
    """The size of what is moved. That src has 128 columns at most is a limit of dst already."""
    if src.dtype.itemsize != ELEMENT_BYTES:
        raise _transpose(f"src is {src.dtype}, but {what} elements of {ELEMENT_BYTES} bytes; "
                         "convert or view it")


def _check_indices(src: View, indices: View) -> None:
    """The indices of the rows: in columns of up to 128, first column first."""
    if indices.dtype.name != "uint32":
        raise _transpose(f"the indices are {indices.dtype}, but must be uint32; convert them")
    if indices.space != SBUF or indices.ndim != 2:
        raise _transpose(f"the indices are {indices.form.describe()}, but must be a tile in sbuf "
                         "with 2 dimensions; load and reshape them")
    rows, columns = indices.shape
    if rows % ROW_BLOCK or columns > 1 and rows != INDEX_ROWS:
        raise _transpose(f"the indices have shape {list(indices.shape)}, but are a column of a "
                         f"multiple of {ROW_BLOCK}, or columns of {INDEX_ROWS}; pad them")
    count = src.shape[0]
    if count % ROW_BLOCK or count > indices.size:
        raise _transpose(f"src has {count} rows for {indices.size} indices, but must have a "
                         f"multiple of {ROW_BLOCK}, and not more than indices; pad it")


def _transpose(what: str) -> IllegalInstruction:
    return _refused("dma_transpose", what)


def _refused(op: str, what: str) -> IllegalInstruction:
    return IllegalInstruction(f"{source.here()}: {op}: {what}")
