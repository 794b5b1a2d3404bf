# SPDX-License-Identifier: Apache-2.0
# What the cores of a logical NeuronCore do together, and registers.
"""Evaluators of core_barrier, sendrecv, register_store."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.errors import IllegalInstruction, ProgramError
from trnsim.frontend import source
from trnsim.frontend.values.alu import BINARY
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import to_float32
from trnsim.frontend.values.garbage import Garbage
from trnsim.frontend.values.team import Parcel


def core_barrier(call: Call) -> None:
    """Waits for the other cores, if there are any."""
    members = call.attributes.get("cores")
    if members is not None:
        call.machine.team.barrier(call.machine.core, members)


def sendrecv(call: Call, reduce_op: str | None = None) -> None:
    """dst = what another core sends, or its reduction with src, while src goes to one.

    What has not been written is sent as such, unless it is reduced: tiles are padded to 16
    partitions for GPSIMD's DMA.
    """
    attributes, machine, unwritten = call.attributes, call.machine, Garbage()
    src = call.views["src"]
    data = machine.read(src, call.at, garbage=unwritten if reduce_op is None else None)
    found = machine.team.exchange(
        machine.core, attributes["pipe"], attributes["send_to"], attributes["recv_from"],
        Parcel(data.copy(), unwritten, src.form, call.at))
    _check_fits(call, found)
    received = found.data
    if reduce_op is not None:
        received = BINARY[reduce_op](to_float32(data), to_float32(received))
    machine.write(call.views["dst"], received, call.at, garbage=found.unwritten)


def _check_fits(call: Call, found: Parcel) -> None:
    """IllegalInstruction unless dst has the shape and type of what is sent. [NKI-ISA, sendrecv]"""
    dst, src = call.views["dst"].form, found.form
    if dst.shape != src.shape or dst.dtype is not src.dtype:
        raise IllegalInstruction(
            f"{source.position(call.at)}: sendrecv: dst of core {call.machine.core} is "
            f"{dst.describe()}, but core {call.attributes['recv_from']} sends {src.describe()} at "
            f"{source.position(found.at)}; make shapes and types equal on both cores")


def register_store(call: Call, value: Any = None) -> None:
    """dst = a register."""
    if value is None:
        raise ProgramError(f"{source.position(call.at)}: register_store: the register holds no "
                           "value; set it first")
    call.write(np.full((1, 1), value, dtype=np.int64))


def nothing(call: Call) -> None:
    """A register operation, whose values the frontend keeps itself."""
