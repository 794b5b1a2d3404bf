# SPDX-License-Identifier: Apache-2.0
# nki.isa: what the cores of a logical NeuronCore do together.
"""core_barrier, sendrecv. [NKI-ISA] sendrecv_compute: [NKI-ISA-2.33]"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction, UnsupportedFeature, UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.collective_rules import reduction
from trnsim.frontend.nki.issue import NkiInstruction, issue, not_a_tensor
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.records.tensor import HBM, View
from trnsim.frontend.shapes import whole_number, whole_numbers

PIPE_MAX = 2**31 - 1
"""The largest `pipe_id` of a trace (docs/trace-format.md)."""


_INSTEAD = ("pass src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine and name; instead of "
            "use_gpsimd_dma, which NKI 0.3.0 took away, dma_engine=nisa.dma_engine.gpsimd_dma")


def core_barrier(data: Any, cores: Sequence[int], engine: Any = enums.engine.gpsimd,
                 name: str | None = None) -> NkiInstruction:
    """Waits until all cores are here; then what they wrote to `data` can be read by all.

    In a program of one core only the signal is left.
    """
    active = recorder.required()
    if active.cores == 1:
        active.note("assumption", "core_barrier: the kernel runs as one program, so the other "
                                  "core is taken to be there already")
        return issue("core_barrier", (), {}, engine)
    members = whole_numbers(cores, "cores of core_barrier")
    if members != tuple(range(active.cores)):
        raise IllegalInstruction(f"{source.here()}: core_barrier: cores is {list(members)}, but "
                                 f"all of {list(range(active.cores))} take part; name them")
    if not isinstance(data, NkiTensor):
        raise not_a_tensor("core_barrier", "data", data)
    if data.form.space == HBM and data.buffer is enums.MemoryRegion.private_hbm:
        raise IllegalInstruction(f"{source.here()}: core_barrier: data is {data.name!r} in private "
                                 "HBM, which the other core does not see; allocate it in "
                                 "nl.shared_hbm")
    met = data.storage.buffer
    met.met_at = met.met_at or source.here()
    return issue("core_barrier", (("dst", "update", data),), {"cores": members}, engine)


def sendrecv(src: Any, dst: Any, send_to_rank: int, recv_from_rank: int, pipe_id: int = 0,
             dma_engine: Any = enums.dma_engine.dma, name: str | None = None,
             **removed: Any) -> NkiInstruction:
    """Sends src to the dst of another core, while dst receives from one."""
    _check_ranks("sendrecv", send_to_rank, recv_from_rank)
    where = f"{source.here()}: sendrecv"
    if removed:
        raise UserError(f"{where}: {next(iter(removed))} is not a parameter; {_INSTEAD}")
    if not isinstance(dma_engine, enums.dma_engine):
        raise IllegalInstruction(f"{where}: dma_engine is {dma_engine!r}, but must be "
                                 "nisa.dma_engine.dma or nisa.dma_engine.gpsimd_dma")
    pipe = whole_number(pipe_id, "pipe_id of sendrecv")
    if not 0 <= pipe <= PIPE_MAX:
        raise IllegalInstruction(f"{where}: pipe_id is {pipe_id}, but must be a number from 0 "
                                 f"to {PIPE_MAX}, the same on both cores")
    is_gpsimd = dma_engine is enums.dma_engine.gpsimd_dma
    if is_gpsimd and isinstance(src, View):
        limit = 256 * min(src.dtype.itemsize, 4)
        size = src.form.free_elements * src.dtype.itemsize
        if size > limit:
            raise IllegalInstruction(f"{where}: src has {size} bytes per partition, but "
                                     f"gpsimd_dma moves at most {limit} of {src.dtype}; split it "
                                     "or use dma_engine.dma")
    attributes: dict[str, Any] = {"send_to": int(send_to_rank), "recv_from": int(recv_from_rank),
                                  "pipe": pipe}
    if is_gpsimd:
        attributes["gpsimd_dma"] = True
    return issue("sendrecv", (("dst", "write", dst), ("src", "read", src)), attributes)


def sendrecv_compute(src: Any, dst: Any, send_to_rank: int, recv_from_rank: int, reduce_op: Any,
                     name: str | None = None) -> NkiInstruction:
    """dst = the reduction of src and what another core sends, while src goes to one.

    It takes what a sendrecv takes [ASSUMED].
    """
    _check_ranks("sendrecv_compute", send_to_rank, recv_from_rank)
    by = reduction(reduce_op, "reduce_op of sendrecv_compute")
    if any(isinstance(one, View) and one.space == HBM for one in (src, dst)):
        raise UnsupportedFeature.named(str(source.here()), "sendrecv_compute in HBM")
    return issue("sendrecv", (("dst", "write", dst), ("src", "read", src)),
                 {"send_to": int(send_to_rank), "recv_from": int(recv_from_rank), "pipe": 0},
                 immediates=(by,))


def _check_ranks(op: str, send_to_rank: Any, recv_from_rank: Any) -> None:
    active = recorder.required()
    for role, rank in (("send_to_rank", send_to_rank), ("recv_from_rank", recv_from_rank)):
        if not isinstance(rank, int) or not 0 <= rank < active.cores or active.cores == 1:
            raise IllegalInstruction(
                f"{source.here()}: {op}: {role} is {rank!r}, but the kernel runs on {active.cores} "
                f"core{'s' if active.cores > 1 else ''}; launch it with kernel[2] and name core "
                "0 or 1")
