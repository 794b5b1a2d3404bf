# SPDX-License-Identifier: Apache-2.0
# Where in the kernel's source an event comes from, cheaply.
"""Source positions of the kernel: the innermost frame outside this package, cached per instruction.

A position is named by a *site*, the pair (id of the code object, offset of the bytecode
instruction); the line number is only decoded once per site.
"""

from __future__ import annotations

import dis
import os
import re
import sys
import sysconfig
import traceback
from bisect import bisect_right
from functools import cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple
from collections.abc import Callable, Iterator

_PACKAGE = str(Path(__file__).parent.parent) + os.sep
"""What names of its files begin with: links that lead to it stay in them."""
_LIBRARY = sysconfig.get_path("stdlib")
_FRAMEWORK = re.compile(r"-packages[/\\](?:numpy|scipy|ml_dtypes|torch|jax|jaxlib)[/\\]")

Site = tuple[int, int]


class Position(NamedTuple):
    """A line of the kernel's source."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def in_short(self) -> str:
        """The position without the folder."""
        return f"{Path(self.path).name}:{self.line}"


UNKNOWN = Position("<unknown>", 0)

_is_user: dict[int, bool] = {}
_codes: dict[int, CodeType] = {}
_positions: dict[Site, Position] = {}
_bytecodes: dict[int, bytes] = {}
_lines: dict[int, list[tuple[int, int, int | None]]] = {}
LOOK_AHEAD = 48
"""Units of bytecode behind a call that are looked at for the variable that it is stored in."""
_entry_code: CodeType | None = None


def set_entry(code: CodeType) -> None:
    """Names the function of this package that calls the kernel: stacks end there."""
    global _entry_code
    _entry_code = code


def _classify(code: CodeType) -> bool:
    """Whether `code` is in a user's file; remembers the answer and the code."""
    user = is_user_file(code.co_filename)
    _is_user[id(code)] = user
    _codes[id(code)] = code
    return user


def is_user_file(name: str) -> bool:
    """Whether a file is neither ours nor Python's own, nor of a framework of arrays."""
    library = name.startswith(_LIBRARY) and "-packages" not in name
    return not (library or name.startswith((_PACKAGE, "<frozen")) or _FRAMEWORK.search(name))


def is_user(code: CodeType) -> bool:
    """Whether a code object is outside this package."""
    user = _is_user.get(id(code))
    return _classify(code) if user is None else user


def is_ours(code: CodeType) -> bool:
    """Whether a code object is of this package."""
    return code.co_filename.startswith(_PACKAGE)


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
    if frame is None:
        return ()
    site = id(frame.f_code), frame.f_lasti
    caller = frame.f_back
    if caller is _caller.frame and caller is not None and caller.f_lasti == _caller.at:
        return (site, *_caller.sites)
    sites = tuple(_sites_from(caller))
    if caller is not None and not caller.f_code.co_flags & _GENERATOR:
        _caller.frame, _caller.at, _caller.sites = caller, caller.f_lasti, sites
    return (site, *sites)


class _Caller:
    """The frame that called the innermost one lately, where in it, and the sites from there on.

    They stay as they are while it is there: only a generator goes on below other frames.
    """

    frame: FrameType | None = None
    at = -1
    sites: tuple[Site, ...] = ()


_caller = _Caller()
_GENERATOR = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def forget_caller() -> None:
    """Lets go of the frame that is kept for the sites of the next event."""
    _caller.frame = None


def _sites_from(frame: FrameType | None) -> Iterator[Site]:
    """The sites of all user frames from a frame to the kernel's."""
    while frame is not None and frame.f_code is not _entry_code:
        if is_user(frame.f_code):
            yield id(frame.f_code), frame.f_lasti
        frame = frame.f_back


def position(at: Site) -> Position:
    """The file and line of a site."""
    found = _positions.get(at)
    if found is None:
        code = _codes.get(at[0])
        if code is None:
            return UNKNOWN
        lines = _lines.get(at[0])
        if lines is None:
            lines = _lines[at[0]] = list(code.co_lines())
        entry = bisect_right(lines, at[1], key=lambda one: one[0]) - 1
        line = lines[entry][2] if entry >= 0 and at[1] < lines[entry][1] else None
        found = _positions[at] = Position(code.co_filename, line or code.co_firstlineno)
    return found


def here() -> Position:
    """The user's current file and line, for messages."""
    return position(site(2))


def called_at(wanted: Callable[[CodeType], bool]) -> Position:
    """The innermost line of wanted code that is being executed, else that of the user's."""
    frame = inner = user_frame()
    while frame is not None and not wanted(frame.f_code):
        frame = frame.f_back
    found = frame or inner
    return Position(found.f_code.co_filename, found.f_lineno) if found is not None else UNKNOWN


def raised_at(problem: BaseException, wanted: Callable[[CodeType], bool] = is_user) -> Position:
    """The innermost line of wanted code in an exception's traceback, else the innermost of all.

    Of a SyntaxError it is the line that the error is about.
    """
    if isinstance(problem, SyntaxError) and problem.filename is not None:
        return Position(problem.filename, problem.lineno or 1)
    lines = [(frame.f_code, line) for frame, line in traceback.walk_tb(problem.__traceback__)]
    found = [entry for entry in lines if wanted(entry[0])] or lines
    return Position(found[-1][0].co_filename, found[-1][1]) if found else UNKNOWN


def _following(at: Site) -> Iterator[tuple[int, str, int]]:
    """The bytecode instructions after a site: offset, name and argument of some of them."""
    code = _codes.get(at[0])
    if code is None:
        return
    bytecode = _bytecodes.get(at[0])
    if bytecode is None:
        bytecode = _bytecodes[at[0]] = code.co_code
    argument = 0
    for offset in range(at[1] + 2, min(at[1] + 2 * LOOK_AHEAD, len(bytecode)), 2):
        name = dis.opname[bytecode[offset]]
        argument = argument << 8 | bytecode[offset + 1]
        if name == "EXTENDED_ARG":
            continue
        if name != "CACHE":
            yield offset, name, argument
        argument = 0


@cache
def assigned_name(at: Site) -> str:
    """The variable that the value made at a site is stored in at once, or ""."""
    for _, name, argument in _following(at):
        code = _codes[at[0]]
        if name in ("STORE_FAST", "STORE_DEREF"):
            return str(code._varname_from_oparg(argument))  # type: ignore[attr-defined]
        if name in ("STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"):  # two names, from 3.13
            return str(code.co_varnames[argument >> 4])
        if name in ("STORE_NAME", "STORE_GLOBAL", "STORE_ATTR"):
            return code.co_names[argument]
        break
    return ""


def loop_variable(at: Site) -> str:
    """The variable of the `for` whose iterable is made at a site, or ""."""
    for steps, (offset, name, _) in enumerate(_following(at)):
        if name == "FOR_ITER":
            return assigned_name((at[0], offset))
        if steps > 8:
            break
    return ""
