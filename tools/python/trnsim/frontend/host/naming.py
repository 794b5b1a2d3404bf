# SPDX-License-Identifier: Apache-2.0
# How a kernel is named on a command line.
"""kernel_named("file.py::function"), or "file.py::function[2]" with a launch grid."""

from __future__ import annotations

import ast
import re
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from collections.abc import Callable, Iterator

from trnsim.errors import FrontendError, UserError
from trnsim.frontend import source
from trnsim.frontend.host.impersonate import imports_of, load_kernel_module
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.raised import words_of

_NAME = re.compile(r"(?P<file>.+)::(?P<function>[^\[\]:]+)(?:\[(?P<grid>[^\[\]]*)\])?")
_LISTED_MAX = 8
_AXIS = re.compile(r"(?:nl\.)?nc\((?P<cores>\d+)\)|(?P<programs>\d+)")


@contextmanager
def kernel_named(text: str) -> Iterator[Callable[..., Any]]:
    """The function that `file.py::function` names, or the kernel on the grid that stands behind it,
    while what it imports is what its file imports.

    UserError if there is none, or the kernel cannot be launched on that grid.
    """
    parts = _NAME.fullmatch(text)
    if parts is None:
        raise UserError(f"{text}: does not name a kernel; write file.py::function, or "
                        "'file.py::function[2]' for a launch grid")
    path = Path(parts["file"])
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; name the kernel as file.py::function")
    with imports_of(path):
        function = _function(parts["file"], parts["function"])
        yield function if parts["grid"] is None else _on_grid(text, function, parts["grid"])


def _function(file: str, name: str) -> Callable[..., Any]:
    try:
        found: Any = load_kernel_module(Path(file))
    except FrontendError:
        raise
    except SystemExit as status:
        raise UserError(f"{file}: ends Python with status {status.code} when it is imported; put "
                        "what runs there behind `if __name__ == '__main__':`, or run the file as a "
                        "script") from status
    except Exception as problem:
        words = problem.msg if isinstance(problem, SyntaxError) else words_of(problem)
        raise UserError(f"{source.raised_at(problem)}: importing {file} raises "
                        f"{type(problem).__name__}: {words}") from problem
    module = found
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found) or isinstance(found, type):
        what = f"{name!r} is a class" if isinstance(found, type) else f"has no function {name!r}"
        raise UserError(f"{file}: {what}; {_choice(module)}")
    return found  # type: ignore[no-any-return]


def calls_none(file: Path) -> UserError:
    """The error about a script without kernel calls: it names a function of it, better a decorated
    one."""
    functions = [each for each in ast.parse(file.read_bytes()).body
                 if isinstance(each, ast.FunctionDef) and not each.name.startswith("test")]
    decorated = [each.name for each in functions if each.decorator_list]
    names = decorated or [each.name for each in functions]
    more = ", …" if len(names) > _LISTED_MAX else ""
    defined = f"; it defines {', '.join(names[:_LISTED_MAX])}{more}" if names else ""
    return UserError(f"{file}: calls no kernel; name one as {file}::"
                     f"{names[0] if len(names) == 1 else 'function'} with an --arg for each "
                     f"parameter{defined}")


def _choice(module: ModuleType) -> str:
    """The kernels of a module; where nothing is decorated, its functions."""
    names = vars(module).items()
    kernels = [key for key, value in names if isinstance(value, Kernel)]
    if kernels:
        return f"its kernels are: {', '.join(kernels)}"
    functions = [key for key, value in names
                 if isinstance(value, FunctionType) and value.__module__ == module.__name__]
    return f"it has no kernel, but functions: {', '.join(functions)}" if functions else (
        "it has no kernel")


def _on_grid(text: str, function: Callable[..., Any], grid: str) -> Kernel:
    """`function[grid]`, where an axis is a number, or `nc(cores)` as the old API writes it."""
    from trnsim.frontend.legacy import decorators
    from trnsim.frontend.legacy.grid import nc
    from trnsim.frontend.nki.decorators import jit
    from trnsim.frontend.tracing import api_of

    is_legacy = api_of(function) == decorators.API
    axes: list[Any] = []
    for word in grid.split(","):
        axis = _AXIS.fullmatch(word.strip())
        if axis is None:
            raise UserError(f"{text}: [{grid}] is no launch grid; write numbers of programs, like "
                            "[2] or [4,2], or nc(2) for an axis over two NeuronCores")
        cores = int(axis["cores"] or 0)
        axes.append(nc(cores) if cores and is_legacy else cores or int(axis["programs"] or 0))
    if is_legacy and 0 in axes:
        # From Python, kernel[0] is one program: public kernels compute such grids.
        raise UserError(f"{text}: [{grid}] has an axis without programs, but every axis has a "
                        "program at least; write numbers from 1 on")
    launched: Kernel = (decorators.jit if is_legacy else jit)(function)
    try:
        return launched[tuple(axes)]
    except UserError as problem:
        raise UserError(f"{text}: {str(problem).partition(': ')[2]}") from problem
