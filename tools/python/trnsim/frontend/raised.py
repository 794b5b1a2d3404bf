# SPDX-License-Identifier: Apache-2.0
# What an exception of the user's code says.
"""words_of(problem): its message; of an `assert` without one, what does not hold; of a missing
module, for which Python.

    assert x.shape == (rows, 64)     x.shape == (rows, 64) is false; x.shape is (9, 64), rows 8
"""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from types import FrameType

from trnsim.frontend.arguments import describe

_MOST_LETTERS = 120
_SHOWN = (type(None), bool, int, float, str, tuple, list)
"""Types of values worth showing."""


def words_of(problem: BaseException) -> str:
    """The message of an exception, never empty."""
    words = str(problem)
    if not words and type(problem) is AssertionError:
        words = _condition(problem)
    if isinstance(problem, ModuleNotFoundError):
        words += (f"; install it for {sys.executable}, or name another interpreter with the "
                  "environment variable TRNSIM_PYTHON")
    return words or "without a message"


def _condition(problem: AssertionError) -> str:
    entry = problem.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    if entry is None:
        return ""
    test = _asserted(entry.tb_frame.f_code.co_filename, entry.tb_lineno)
    words = ast.unparse(test) if test is not None else ""
    if test is None or len(words) > _MOST_LETTERS:
        return ""
    return f"{words} is false{_values(test, entry.tb_frame)}"


def _asserted(path: str, line: int) -> ast.expr | None:
    """The condition of the `assert` of a line."""
    try:
        module = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):  # The file was changed.
        return None
    return next((node.test for node in ast.walk(module) if isinstance(node, ast.Assert)
                 and node.lineno <= line <= (node.end_lineno or line)), None)


def _values(test: ast.expr, frame: FrameType) -> str:
    names = {**frame.f_globals, **frame.f_locals}
    shown: dict[str, str] = {}
    for node in _named(test):
        try:
            value = eval(compile(ast.Expression(node), "", "eval"), names)
        except Exception:
            continue
        if isinstance(value, _SHOWN):
            shown[ast.unparse(node)] = describe(value)
    if not shown:
        return ""
    first, *others = shown
    text = f"; {first} is {shown[first]}" + "".join(f", {name} {shown[name]}" for name in others)
    return text if len(text) <= _MOST_LETTERS else ""


def _named(node: ast.AST) -> Iterator[ast.expr]:
    """What is named by itself, as `x` and `x.shape[0]`, but for functions that are called."""
    if isinstance(node, ast.expr) and _is_name(node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Call) and child is node.func):
            yield from _named(child)


def _is_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return _is_name(node.value)
    if isinstance(node, ast.Subscript):
        return _is_name(node.value) and isinstance(node.slice, ast.Constant)
    return isinstance(node, ast.Name)
