# SPDX-License-Identifier: Apache-2.0
# Where control goes in Python's instructions, and what they do with local variables.
"""The facts about CPython's instructions, of version 3.11 and later, that the analyses of loops
(watch.py, runs.py, loop_source.py) rest on.
"""

from __future__ import annotations

import dis
import opcode
from types import CodeType

_GET_ITER, _FOR_ITER, _EXTENDED_ARG = (
    opcode.opmap[name] for name in ("GET_ITER", "FOR_ITER", "EXTENDED_ARG"))
_OPTIMIZED = 0x1
"""CO_OPTIMIZED."""
_ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD",
                   "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"))
_ACCESSES = ("LOAD", "STORE", "DELETE")


def has_local_names(code: CodeType) -> bool:
    """Whether code is that of a function, whose names are local variables."""
    return bool(code.co_flags & _OPTIMIZED)


def goes_on(one: dis.Instruction) -> bool:
    """Whether the next instruction may follow."""
    return one.opname not in _ENDS


def target(one: dis.Instruction) -> int | None:
    """The offset to which an instruction may jump; None if it never does."""
    if one.opcode in opcode.hasjrel or one.opcode in opcode.hasjabs:
        return int(one.argval)
    return None


def local_accesses(one: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does with local variables, in order: LOAD, STORE or DELETE, and the name.

    One instruction may do so with two of them. Cells are no local variables.
    """
    if "_FAST" not in one.opname:
        return []
    names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
    words = [word for word in one.opname.split("_") if word in _ACCESSES]
    return list(zip(words, names))


def head_of_for(code: CodeType, at: int) -> int | None:
    """The offset of FOR_ITER of the `for` statement whose iterator is made at an offset.

    None if there is no such instruction, or it is something else.
    """
    bytecode = code.co_code
    if at >= len(bytecode) or bytecode[at] != _GET_ITER:
        return None
    head = at + 2
    while bytecode[head] == _EXTENDED_ARG:
        head += 2
    return head if bytecode[head] == _FOR_ITER else None
