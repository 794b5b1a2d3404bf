# SPDX-License-Identifier: Apache-2.0
# What the cores of a logical NeuronCore do together, and registers.
"""Evaluators of core_barrier, sendrecv, register_store."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.errors import ProgramError
from trnsim.frontend import source
from trnsim.frontend.values.alu import BINARY
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import to_float32
from trnsim.frontend.values.garbage import Garbage


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
    data = machine.read(call.views["src"], call.at,
                        garbage=unwritten if reduce_op is None else None)
    received, unwritten = machine.team.exchange(
        machine.core, attributes["pipe"], attributes["send_to"], attributes["recv_from"], data,
        unwritten)
    if reduce_op is not None:
        received = BINARY[reduce_op](to_float32(data), to_float32(received))
    machine.write(call.views["dst"], received, call.at, garbage=unwritten)


def register_store(call: Call, value: Any = None) -> None:
    """dst = a register."""
    if value is None:
        raise ProgramError(f"{source.position(call.at)}: register_store: the register holds no "
                           "value; set it first")
    call.write(np.full((1, 1), value, dtype=np.int64))


def nothing(call: Call) -> None:
    """A register operation, whose values the frontend keeps itself."""
