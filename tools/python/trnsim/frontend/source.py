# SPDX-License-Identifier: Apache-2.0
# Where in the kernel's source an event comes from, cheaply.
"""Source positions of the kernel: the innermost frame outside this package, cached per instruction.

A position is named by a *site*, the pair (id of the code object, offset of the bytecode
instruction); the line number is only decoded once per site.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
from bisect import bisect_right
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple
from collections.abc import Iterator

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_LIBRARY = sysconfig.get_path("stdlib")

Site = tuple[int, int]


class Position(NamedTuple):
    """A line of the kernel's source."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


UNKNOWN = Position("<unknown>", 0)

_is_user: dict[int, bool] = {}
_codes: dict[int, CodeType] = {}
_positions: dict[Site, Position] = {}
_listings: dict[int, list[dis.Instruction]] = {}
_entry_code: CodeType | None = None


def set_entry(code: CodeType) -> None:
    """Names the function of this package that calls the kernel: stacks end there."""
    global _entry_code
    _entry_code = code


def _classify(code: CodeType) -> bool:
    """Whether `code` is neither ours nor Python's own; remembers the answer and the code."""
    name = code.co_filename
    library = name.startswith(_LIBRARY) and "-packages" not in name
    user = not (library or name.startswith((_PACKAGE, "<frozen")))
    _is_user[id(code)] = user
    _codes[id(code)] = code
    return user


def is_user(code: CodeType) -> bool:
    """Whether a code object is outside this package."""
    user = _is_user.get(id(code))
    return _classify(code) if user is None else user


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame outside this package, searched from `depth` frames above the caller."""
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None:
        code = frame.f_code
        user = _is_user.get(id(code))
        if user is None:
            user = _classify(code)
        if user:
            return frame
        frame = frame.f_back
    return None


def is_kernel_frame(frame: FrameType) -> bool:
    """Whether a frame is that of the kernel itself: the stack has one user frame."""
    back = frame.f_back
    return back is not None and back.f_code is _entry_code


def site(depth: int = 1) -> Site:
    """The site of the innermost frame outside this package; (0, 0) when there is none.

    The search begins `depth` frames above the caller.
    """
    frame: FrameType | None = sys._getframe(depth + 1)
    while frame is not None:
        code = frame.f_code
        user = _is_user.get(id(code))
        if user is None:
            user = _classify(code)
        if user:
            return id(code), frame.f_lasti
        frame = frame.f_back
    return 0, 0


def stack(depth: int = 1) -> tuple[Site, ...]:
    """The sites of all user frames from the innermost to the kernel's, innermost first."""
    frame = user_frame(depth + 1)
    sites: list[Site] = []
    entry = _entry_code
    while frame is not None:
        code = frame.f_code
        if code is entry:
            break
        user = _is_user.get(id(code))
        if user is None:
            user = _classify(code)
        if user:
            sites.append((id(code), frame.f_lasti))
        frame = frame.f_back
    return tuple(sites)


def position(at: Site) -> Position:
    """The file and line of a site."""
    found = _positions.get(at)
    if found is None:
        code = _codes.get(at[0])
        if code is None:
            return UNKNOWN
        line = code.co_firstlineno
        for start, end, number in code.co_lines():
            if start <= at[1] < end and number is not None:
                line = number
                break
        found = _positions[at] = Position(code.co_filename, line)
    return found


def here(depth: int = 1) -> Position:
    """The user's current file and line, for messages."""
    return position(site(depth + 1))


def _following(at: Site) -> Iterator[dis.Instruction]:
    """The bytecode instructions after a site."""
    listing = _listings.get(at[0])
    if listing is None:
        code = _codes.get(at[0])
        listing = _listings[at[0]] = list(dis.get_instructions(code)) if code is not None else []
    first = bisect_right(listing, at[1], key=lambda instruction: instruction.offset)
    return iter(listing[first:first + 16])


@cache
def assigned_name(at: Site) -> str:
    """The variable that the value made at a site is stored in at once, or ""."""
    for instruction in _following(at):
        if not instruction.opname.startswith("STORE_"):
            break
        stored = instruction.argval
        return str(stored[0] if isinstance(stored, tuple) else stored)
    return ""


def tests_again(code: CodeType, line: int, after: int) -> bool:
    """Whether `line` has a conditional jump back, behind the instruction at offset `after`.

    That is how the condition of a `while` differs from that of an `if`.
    """
    for instruction in dis.get_instructions(code):
        if instruction.offset <= after or "JUMP" not in instruction.opname:
            continue
        target = instruction.argval
        if isinstance(target, int) and target <= instruction.offset and position(
                _at(code, instruction.offset)).line == line:
            return True
    return False


def _at(code: CodeType, offset: int) -> Site:
    _codes.setdefault(id(code), code)
    return id(code), offset


def loop_variable(at: Site) -> str:
    """The variable of the `for` whose iterable is made at a site, or ""."""
    code = _codes.get(at[0])
    for steps, instruction in enumerate(_following(at)):
        if instruction.opname == "FOR_ITER" and code is not None:
            return assigned_name((at[0], instruction.offset))
        if steps > 8:
            break
    return ""
