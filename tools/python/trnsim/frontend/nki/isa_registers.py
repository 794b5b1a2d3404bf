# SPDX-License-Identifier: Apache-2.0
# nki.isa: registers of the sequencers.
"""register_alloc, register_move, register_load, register_store. [NKI-ISA]"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.issue import NkiInstruction, issue
from trnsim.frontend.nki.parameters import check_int32
from trnsim.frontend.nki.registers import VirtualRegister
from trnsim.frontend.nki.scalars import NkiScalar
from trnsim.frontend.records.tensor import View


_any = enums.engine.unknown


def register_alloc(x: Any = None) -> VirtualRegister:
    """A register: uninitialised, with a constant, or with the only element of a tensor."""
    register = VirtualRegister(None, source.assigned_name(source.site()))
    if isinstance(x, View):
        register_load(register, x)
    elif x is not None:
        register.value = _integer(x, "register_alloc")
        issue("register_move", (), {})
    else:
        register.is_set = False
    return register


def register_move(dst: VirtualRegister, src: Any, name: str | None = None) -> NkiInstruction:
    """dst = a constant or another register."""
    _check_written(dst, "register_move")
    dst.value = src.value if isinstance(src, VirtualRegister) else _integer(src, "register_move")
    return issue("register_move", (), {})


def register_load(dst: VirtualRegister, src: Any, name: str | None = None) -> NkiInstruction:
    """dst = the only element of a tensor in HBM or SBUF."""
    _check_written(dst, "register_load")
    handle = issue("register_load", (("data", "read", src),), {})
    value = recorder.required().value_of(src)
    dst.value = None if value is None else int(value)
    return handle


def register_store(dst: Any, src: VirtualRegister, name: str | None = None) -> NkiInstruction:
    """The only element of a tensor in HBM or SBUF = src."""
    _check(src, "register_store", "src")
    return issue("register_store", (("dst", "write", dst),), {}, _any, (src.value,))


def _check(register: Any, op: str, role: str) -> None:
    if not isinstance(register, VirtualRegister):
        raise IllegalInstruction(f"{source.here()}: {op}: {role} is {register!r}, but must be a "
                                 "register; make one with nki.isa.register_alloc")


def _check_written(register: Any, op: str) -> None:
    _check(register, op, "dst")
    if register.is_frozen:
        what = (f"scalar {register.name!r}, which never changes" if isinstance(register, NkiScalar)
                else f"{register.name}, the index of a dynamic_range, which only its loop changes")
        raise IllegalInstruction(f"{source.here()}: {op}: dst is {what}; copy it into a register "
                                 "of your own")


def _integer(value: Any, op: str) -> int:
    if not isinstance(value, int):
        raise IllegalInstruction(f"{source.here()}: {op}: the value is {value!r}, but must be an "
                                 "integer or a register")
    check_int32(op, "the value", value)
    return int(value)
