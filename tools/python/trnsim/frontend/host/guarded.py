# SPDX-License-Identifier: Apache-2.0
# Imports that a program does without.
"""is_guarded(library): whether who imports an absent library has something else in its place, as in

    try:
        import torch
    except ImportError:
        torch = None
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from trnsim.frontend.host.own import is_own
from trnsim.frontend.host.stand_ins import OF_AWS
from trnsim.frontend.source import is_user_file

NEEDED = OF_AWS | {"torch_xla", "nki"}
"""Who imports these means to have them, whatever happens without: they are where kernels run."""
_MISSING = frozenset(("ImportError", "ModuleNotFoundError"))
_ANYTHING = frozenset(("Exception", "BaseException"))
_ENDS = frozenset(("exit", "_exit", "quit", "skip", "fail"))
"""Functions that leave nothing to go on with."""


def is_guarded(library: str) -> bool:
    """Of the import that is being executed, or of a question whether there is such a library."""
    frame: FrameType | None = sys._getframe(1)
    is_question = False
    while frame is not None and not _imports(frame.f_code):
        is_question |= frame.f_code is importlib.util.find_spec.__code__
        frame = frame.f_back
    if frame is None or library in NEEDED:
        return False
    path = frame.f_globals.get("__file__") or frame.f_code.co_filename
    return is_question or frame.f_lineno in _guarded_lines(path, is_own(frame.f_code))


def _imports(code: CodeType) -> bool:
    """Whether code is not of what imports, Python's or ours."""
    return is_user_file(code.co_filename) or "-packages" in code.co_filename


@cache
def _guarded_lines(path: str, is_own_file: bool) -> frozenset[int]:
    """Lines of a file in which something absent may be imported. In files of the user's, an
    exception of any kind is about more than that, but for import statements."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and not _imported(node.body) & NEEDED:
            caught = frozenset[str]().union(*map(_caught, filter(_goes_on, node.handlers)))
            for one in node.body:
                is_import = isinstance(one, (ast.Import, ast.ImportFrom))
                if caught & _MISSING or caught & _ANYTHING and is_import or (
                        caught and not is_own_file):
                    found.update(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    return frozenset(found)


def _caught(handler: ast.ExceptHandler) -> frozenset[str]:
    """The names of what a handler catches."""
    if handler.type is None:
        return _ANYTHING
    return frozenset(one.id if isinstance(one, ast.Name) else one.attr
                     for one in ast.walk(handler.type)
                     if isinstance(one, (ast.Name, ast.Attribute)))


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether the program goes on after a handler."""
    last = handler.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        function = last.value.func
        return getattr(function, "attr", getattr(function, "id", "")) not in _ENDS
    return not isinstance(last, ast.Raise)


def _imported(body: list[ast.stmt]) -> set[str]:
    """The packages that statements import."""
    names = [name.name for one in body if isinstance(one, ast.Import) for name in one.names]
    names += [one.module or "" for one in body if isinstance(one, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}
