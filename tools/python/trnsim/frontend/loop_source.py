# SPDX-License-Identifier: Apache-2.0
# The source of a Python loop: what runs is what the file says.
"""Finds the `for` or `while` statement that a frame of a kernel is executing.

A file, or a cell of a notebook, is parsed once, and once more when the code that runs is of another
version of it. It is compiled again and compared with that code: a source that was changed after it
was loaded, or code without one, is not found.
"""

from __future__ import annotations

import __future__
import ast
import linecache
from collections.abc import Iterator
from functools import cache, reduce
from itertools import islice
from operator import or_
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from trnsim.frontend import source
from trnsim.frontend.bytecode import head_of_for, operations


class Site(NamedTuple):
    """A loop in the source, and the names that its body takes from outside."""

    loop: ast.For
    stored: frozenset[str]
    free: tuple[str, ...]
    wanted: dict[str, Any]
    """The attributes that it names of each of them, and of those in turn."""


class Module(NamedTuple):
    """A source file: its text, all code in it, and its `for` statements by place."""

    text: str
    tree: ast.Module
    codes: frozenset[CodeType]
    loops: dict[Any, ast.For]


_FUTURES = reduce(or_, (getattr(__future__, name).compiler_flag
                        for name in __future__.all_feature_names))
"""Flags of code that a `from __future__ import` leaves."""
_sites: dict[source.Site, Site | None] = {}
_kept: list[CodeType] = []
"""The code of all sites, so that none is mistaken for another."""
_conditions: dict[source.Site, bool | None] = {}
_modules: dict[tuple[str, int], Module | None] = {}


def is_known(at: source.Site) -> bool:
    """Whether the source of a loop has been looked at, which takes milliseconds."""
    return at in _sites


@cache
def source_bytes(path: str) -> int:
    """The size of a source file; 0 if there is none."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def statement(frame: FrameType, at: source.Site) -> Site | None:
    """The loop whose iterator `frame` has made at `at`, if it is a `for` statement in a file."""
    if at not in _sites:
        _kept.append(frame.f_code)
        _sites[at] = _site(frame.f_code, at[1])
    return _sites[at]


def _site(code: CodeType, at: int) -> Site | None:
    """The `for` statement whose iterator an instruction makes; None without one, or a file."""
    if head_of_for(code, at) is None:
        return None
    parsed = _module(code)
    if parsed is None or code not in parsed.codes:
        return None
    loop = parsed.loops.get(_position(code, at))
    return None if loop is None else described(loop)


def is_condition_of_while(code: CodeType, at: int) -> bool | None:
    """Whether an instruction asks for the condition of a `while`, or for a part of it; None if it
    cannot be told from another one, because the source is missing.
    """
    key = (id(code), at)
    if key not in _conditions:
        _kept.append(code)
        _conditions[key] = _is_condition(code, at)
    return _conditions[key]


def _is_condition(code: CodeType, at: int) -> bool | None:
    if not any(one.target is not None and max(at, one.target) < one.offset
               for one in operations(code)):
        return False  # No loop ends behind it.
    parsed = _module(code)
    place = _position(code, at)
    if parsed is None or None in place or (
            code not in parsed.codes and not _is_rewritten(code, place, parsed)):
        return None  # There are no columns if Python was told to keep none.
    return any(place == _place(one) or _is_inside(place, _place(one.test))
               for one in ast.walk(parsed.tree) if isinstance(one, ast.While))


def _is_rewritten(code: CodeType, place: Any, parsed: Module) -> bool:
    """Whether code may be what pytest has made of a source, with other assertions: a function of
    that name begins in that line, and something stands at that place."""
    return any(_name(code) == _name(one) for one in parsed.codes) and any(
        place == _place(one) for one in ast.walk(parsed.tree)
        if isinstance(one, (ast.expr, ast.While)))


def _name(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _is_inside(part: Any, whole: Any) -> bool:
    """Whether a place in the source is part of another."""
    (first, last, start, end), (top, bottom, left, right) = part, whole
    return (top, left) <= (first, start) and (last, end) <= (bottom, right)


def _position(code: CodeType, at: int) -> Any:
    return next(islice(code.co_positions(), at // 2, None))


@cache
def described(loop: ast.For) -> Site:
    stored: set[str] = set()
    loaded: dict[str, Any] = {}
    for node in [loop.target, *(one for statement in loop.body for one in ast.walk(statement))]:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                loaded.setdefault(node.id, {})
            else:
                stored.add(node.id)
        elif isinstance(node, ast.Attribute):
            path = _path(node)
            if path:
                wanted = loaded
                for name in path:
                    wanted = wanted.setdefault(name, {})
    free = {name: wanted for name, wanted in loaded.items() if name not in stored}
    return Site(loop, frozenset(stored), tuple(free), free)


def _path(node: ast.expr) -> tuple[str, ...]:
    """The names of `a.b.c`; () for anything else."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        path = _path(node.value)
        return (*path, node.attr) if path else ()
    return ()


def _module(code: CodeType) -> Module | None:
    """The source of code, in the version that it is of if that is still there; None without one."""
    path, futures = code.co_filename, code.co_flags & _FUTURES  # `exec` hands them down.
    known = _modules.get((path, futures))
    if known is not None and code in known.codes:
        return known
    text = _text(path)
    if text is not None and (known is None or text != known.text):
        known = _modules[path, futures] = _parsed(text, path, futures)
    return known


def _parsed(text: str, path: str, futures: int) -> Module | None:
    try:
        tree = ast.parse(text, path)
        code = compile(tree, path, "exec", futures, dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    return Module(text, tree, frozenset(_codes(code)), _places(tree))


def _text(path: str) -> str | None:
    """The text of a file, or of what a notebook has compiled under that name."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return "".join(linecache.getlines(path)) or None


def _places(tree: ast.Module) -> dict[Any, ast.For]:
    """The `for` statements by place. That of GET_ITER is the statement's or its iterable's place.
    """
    loops: dict[Any, ast.For] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            loops[_place(node)] = loops[_place(node.iter)] = node
    return loops


def _place(node: ast.stmt | ast.expr) -> Any:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
