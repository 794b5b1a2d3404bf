# SPDX-License-Identifier: Apache-2.0
# What an exception of the user's code says.
"""words_of(problem): its message; of an `assert` without one, what does not hold; of a missing
module, for which Python; of an attribute that tensors do not have, what to do instead.

    assert x.shape == (rows, 64)     x.shape == (rows, 64) is false; x.shape is (9, 64), rows 8
    tile.T                           a tensor has no attribute 'T'; transpose it with …
"""

from __future__ import annotations

import ast
import difflib
import linecache
import re
import sys
from collections.abc import Iterator
from types import FrameType

from trnsim.frontend.arguments import describe
from trnsim.frontend.records.tensor import View

_MOST_LETTERS = 120
_SHOWN = (type(None), bool, int, float, str, tuple, list)
"""Types of values worth showing."""
_OURS = {"NkiTensor": "a tensor", "Tensor": "a tensor", "VirtualRegister": "a register",
         "NkiInstruction": "an instruction", "LoopIndex": "the index of a loop", **dict.fromkeys(
             ("Index", "Arange", "ArrayIndex"), "an expression of nl.arange")}
"""What our classes are called, in Python's messages."""
_OUR_NAMES = re.compile(rf"'({'|'.join(_OURS)})'(?: object)?|\b({'|'.join(_OURS)})(?=\.__)")
_TRANSPOSED = "transpose it with nki.isa.nc_transpose"
_CAST = "copy it into a tile of another type with nki.isa.tensor_copy"
_REDUCED = "reduce it with nki.isa.tensor_reduce"
_UNKNOWN = "its elements are only known when the kernel runs"
_INSTEAD = {"T": _TRANSPOSED, "transpose": _TRANSPOSED, "astype": _CAST, "to": _CAST,
            "type": _CAST, "float": _CAST, "half": _CAST, "bfloat16": _CAST,
            **dict.fromkeys(("sum", "mean", "max", "min"), _REDUCED),
            **dict.fromkeys(("item", "numpy", "tolist", "data", "cpu"), _UNKNOWN)}
"""What to do instead of an attribute that arrays have and tensors have not."""


def words_of(problem: BaseException) -> str:
    """The message of an exception, never empty."""
    words = _OUR_NAMES.sub(lambda found: _OURS[found[1] or found[2]], str(problem))
    if isinstance(problem, AttributeError) and isinstance(problem.obj, View):
        words += _instead_of(problem.name or "", problem.obj)
    if "'NkiInstruction'" in str(problem):
        words += "; functions of nki.isa return no tensor, but write to their dst: use that"
    if not words and type(problem) is AssertionError:
        words = _condition(problem)
    if isinstance(problem, ModuleNotFoundError):
        words += (f"; install it for {sys.executable}, or name another interpreter with the "
                  "environment variable TRNSIM_PYTHON")
    return words or "without a message"


def _instead_of(name: str, tensor: View) -> str:
    """What to do without an attribute of a tensor."""
    advice = _INSTEAD.get(name)
    if advice is None:
        public = [one for one in dir(tensor) if not one.startswith("_")]
        near = difflib.get_close_matches(name, public, 1)
        advice = f"did you mean {near[0]}?" if near else ""
    return f"; {advice}" if advice else ""


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
