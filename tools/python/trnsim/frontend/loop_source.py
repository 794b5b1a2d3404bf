# SPDX-License-Identifier: Apache-2.0
# The source of a Python loop: what runs is what the file says.
"""Finds the `for` statement, or the subscript, that a frame of a kernel is executing.

A file is parsed once. It is compiled again and compared with the code that runs: a source that was
changed, or code without one, is not found.
"""

from __future__ import annotations

import __future__
import ast
import opcode
from collections.abc import Iterator
from functools import cache, reduce
from itertools import islice
from operator import or_
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from trnsim.frontend import source
from trnsim.frontend.loop_index import LoopIndex


class Site(NamedTuple):
    """A loop in the source, and the names that its body takes from outside."""

    loop: ast.For
    stored: frozenset[str]
    free: tuple[str, ...]
    wanted: dict[str, Any]
    """The attributes that it names of each of them, and of those in turn."""


class Module(NamedTuple):
    """A source file: all code in it, and its `for` statements and subscripts by place."""

    codes: frozenset[CodeType]
    loops: dict[Any, ast.For]
    subscripts: dict[Any, ast.Subscript]


_EXTENDED_ARG, _FOR_ITER, _GET_ITER, _BINARY_SUBSCR = (
    opcode.opmap.get(name, -1)
    for name in ("EXTENDED_ARG", "FOR_ITER", "GET_ITER", "BINARY_SUBSCR"))
_PURE = (ast.Name, ast.Constant, ast.Subscript, ast.BinOp, ast.operator, ast.Load)
"""What an expression may consist of that is evaluated once more."""
_subscripts: dict[source.Site, CodeType | None] = {}
_FUTURES = reduce(or_, (getattr(__future__, name).compiler_flag
                        for name in __future__.all_feature_names))
"""Flags of code that a `from __future__ import` leaves."""
_sites: dict[source.Site, Site | None] = {}
_kept: list[CodeType] = []
"""The code of all sites, so that none is mistaken for another."""
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
    bytecode = code.co_code
    following = at + 2
    while bytecode[following] == _EXTENDED_ARG:
        following += 2
    if bytecode[at] != _GET_ITER or bytecode[following] != _FOR_ITER:
        return None
    parsed = _module(code.co_filename, code.co_flags & _FUTURES)
    if parsed is None or code not in parsed.codes:
        return None
    loop = parsed.loops.get(_position(code, at))
    return None if loop is None else described(loop)


def _position(code: CodeType, at: int) -> Any:
    return next(islice(code.co_positions(), at // 2, None))


def subscripted(frame: FrameType) -> Any:
    """The list that a frame of a proven loop is subscripting; None if it does something else."""
    code = frame.f_code
    at = (id(code), frame.f_lasti)
    if at not in _subscripts:
        _kept.append(code)
        _subscripts[at] = _subscript(code, at[1])
    expression = _subscripts[at]
    if expression is None:
        return None
    found = eval(expression, frame.f_globals, _Settled(frame.f_locals))
    return found if type(found) in (list, tuple) else None


def _subscript(code: CodeType, at: int) -> CodeType | None:
    """The code of what is subscripted at an instruction, if that has names and constants only."""
    if code.co_code[at] != _BINARY_SUBSCR or not source.is_user(code):
        return None
    parsed = _module(code.co_filename, code.co_flags & _FUTURES)
    node = None if parsed is None or code not in parsed.codes else parsed.subscripts.get(
        _position(code, at))
    if node is None or not all(isinstance(one, _PURE) for one in ast.walk(node.value)):
        return None
    return compile(ast.Expression(node.value), code.co_filename, "eval", dont_inherit=True)


class _Settled(dict[str, Any]):
    """Names with the values of loop indices in this iteration."""

    def __getitem__(self, name: str) -> Any:
        value = dict.__getitem__(self, name)
        return value.value if type(value) is LoopIndex else value


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


def _module(path: str, futures: int) -> Module | None:
    """What a file contains; None if there is no such source.

    `futures` are flags of the code that runs: `exec` hands them down to a file that has none.
    """
    key = (path, futures)
    if key not in _modules:
        try:
            tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
            code = compile(tree, path, "exec", futures, dont_inherit=True)
        except (OSError, SyntaxError, ValueError):
            _modules[key] = None
        else:
            _modules[key] = Module(frozenset(_codes(code)), *_places(tree))
    return _modules[key]


def _places(tree: ast.Module) -> tuple[dict[Any, ast.For], dict[Any, ast.Subscript]]:
    """The `for` statements and the subscripts by place.

    The place of GET_ITER is that of the statement or its iterable.
    """
    loops: dict[Any, ast.For] = {}
    subscripts: dict[Any, ast.Subscript] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            loops[_place(node)] = loops[_place(node.iter)] = node
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            subscripts[_place(node)] = node
    return loops, subscripts


def _place(node: ast.stmt | ast.expr) -> Any:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
