# SPDX-License-Identifier: Apache-2.0
# Where control goes in Python's instructions, and what they do with local variables.
"""The facts about CPython's instructions, of version 3.11 and later, that the analyses of loops
(watch.py, runs.py, loop_source.py) rest on.
"""

from __future__ import annotations

import dis
import opcode
import sys
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import NamedTuple


def opcodes(names: Iterable[str]) -> frozenset[int]:
    """The numbers of the instructions that this version of Python has, of those with a name."""
    return frozenset(opcode.opmap[name] for name in names if name in opcode.opmap)


_GET_ITER, _FOR_ITER, _EXTENDED_ARG, _CACHE = (
    opcode.opmap[name] for name in ("GET_ITER", "FOR_ITER", "EXTENDED_ARG", "CACHE"))
_OPTIMIZED, _GENERATOR = 0x1, 0x20
"""CO_OPTIMIZED, CO_GENERATOR."""
_ENDS = opcodes(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD",
                 "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"))
_JUMPS = frozenset((*opcode.hasjrel, *opcode.hasjabs))
_BACKWARD = frozenset(one for one in _JUMPS if "_BACKWARD" in opcode.opname[one])
_ATTRIBUTES = opcodes(("LOAD_ATTR", "LOAD_METHOD"))
_ATTRIBUTE_SHIFT = int(sys.version_info >= (3, 12))
"""Below the number of the name, LOAD_ATTR says whether a method is called."""
TESTS_ONCE = sys.version_info >= (3, 14)
"""Whether the condition of a `while` is there once, before its body; else a copy comes behind it,
which all trips but the first ask."""
_WORDS = ("LOAD", "STORE", "DELETE")


def _accesses(name: str) -> list[str]:
    """What an instruction with a name does with local variables, in order."""
    return [word for word in name.split("_") if word in _WORDS] if "_FAST" in name else []


ACCESSES = {number: _accesses(name) for name, number in opcode.opmap.items() if _accesses(name)}
"""What instructions do with local variables, by opcode: LOAD, STORE or DELETE, in order."""


def has_local_names(code: CodeType) -> bool:
    """Whether code is that of a function, whose names are local variables."""
    return bool(code.co_flags & _OPTIMIZED)


class Operation(NamedTuple):
    """An instruction, read no further than control flow needs: dis takes much longer."""

    start: int
    """The offset of the instruction with what extends its argument."""
    offset: int
    opcode: int
    argument: int
    target: int | None
    """The offset to which it may jump."""


def operations(code: CodeType) -> Iterator[Operation]:
    """The instructions of code, in order."""
    bytecode = code.co_code
    argument, start = 0, -1
    for offset in range(0, len(bytecode), 2):
        number = bytecode[offset]
        if number == _CACHE:
            continue
        argument = argument << 8 | bytecode[offset + 1]
        start = offset if start < 0 else start
        if number != _EXTENDED_ARG:
            yield Operation(start, offset, number, argument,
                            _target(bytecode, offset, argument) if number in _JUMPS else None)
            argument, start = 0, -1


def _behind(bytecode: bytes, offset: int) -> int:
    """The offset of the instruction behind one, past its caches."""
    behind = offset + 2
    while behind < len(bytecode) and bytecode[behind] == _CACHE:
        behind += 2
    return behind


def _target(bytecode: bytes, offset: int, argument: int) -> int:
    """Where a jump goes: so many units of bytecode from the instruction behind it on."""
    way = -2 if bytecode[offset] in _BACKWARD else 2
    return _behind(bytecode, offset) + way * argument


def local_variables(one: Operation) -> list[tuple[str, int]]:
    """What an operation does with local variables, in order; they have numbers."""
    words = ACCESSES.get(one.opcode, ())
    if len(words) == 1:
        return [(words[0], one.argument)]
    return list(zip(words, divmod(one.argument, 16)))


def attribute(code: CodeType, one: Operation) -> str:
    """The attribute that an operation loads; "" if it does something else."""
    if one.opcode not in _ATTRIBUTES:
        return ""
    is_method = opcode.opname[one.opcode] == "LOAD_METHOD"
    return str(code.co_names[one.argument >> (0 if is_method else _ATTRIBUTE_SHIFT)])


def goes_on(number: int) -> bool:
    """Whether the next instruction may follow one with an opcode."""
    return number not in _ENDS


def target(one: dis.Instruction) -> int | None:
    """The offset to which an instruction may jump; None if it never does."""
    if one.opcode in opcode.hasjrel or one.opcode in opcode.hasjabs:
        return int(one.argval)
    return None


def local_accesses(one: dis.Instruction) -> list[tuple[str, str]]:
    """What an instruction does with local variables, in order: LOAD, STORE or DELETE, and the name.

    One instruction may do so with two of them. Cells are no local variables.
    """
    names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
    return list(zip(ACCESSES.get(one.opcode, ()), names))


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


def is_for_statement(code: CodeType, at: int) -> bool:
    """Whether an iterator that is made at an offset is that of a `for` statement alone. What a
    generator does with its indices is done elsewhere."""
    return head_of_for(code, at) is not None and not code.co_flags & _GENERATOR


def body_of_for(code: CodeType, at: int) -> range | None:
    """The offsets of the body of the `for` statement whose iterator is made at an offset.

    None if there is no such instruction, or it is something else.
    """
    head = head_of_for(code, at)
    if head is None:
        return None
    bytecode = code.co_code
    argument = int.from_bytes(bytecode[at + 3:head + 2:2], "big")  # What extends it comes before.
    return range(_behind(bytecode, head), _target(bytecode, head, argument))


def instructions_in(code: CodeType, body: range) -> list[dis.Instruction]:
    """The instructions at some offsets. Theirs, and those that they jump to, count from the first.

    dis would go through all of the code, which takes milliseconds.
    """
    part = code.replace(co_code=code.co_code[body.start:body.stop], co_exceptiontable=b"")
    return list(dis.get_instructions(part))
