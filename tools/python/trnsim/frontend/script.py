# SPDX-License-Identifier: Apache-2.0
# Runs a script that calls kernels itself, and traces each call.
"""trace_script(path, chip): the programs of all kernel launches of a script, in their order.

Unless values are computed, a launch returns tensors that have a shape and a type, can be passed to
other kernels, and cannot be read.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn
from collections.abc import Mapping

from trnsim.frontend import source
from trnsim.frontend.chip import load_chip, set_target
from trnsim.frontend.dtypes import DType
from trnsim.frontend.errors import FrontendError, UserError
from trnsim.frontend.impersonate import install
from trnsim.frontend.kernel import Kernel, set_launcher
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.program import Program
from trnsim.frontend.tensor import View
from trnsim.frontend.tracing import trace


class Result:
    """A tensor that a traced kernel returned: shape and type without values."""

    def __init__(self, dtype: DType, shape: tuple[int, ...], kernel: str) -> None:
        self.dtype = dtype
        self.shape = shape
        self._kernel = kernel

    def _unknown(self, *arguments: Any, **keywords: Any) -> NoReturn:
        raise UserError(f"{source.here()}: the result of kernel {self._kernel} is read, but its "
                        "values are not computed; pass --values, or leave the comparison out of "
                        "the script")

    __array__ = __getitem__ = __iter__ = __float__ = __bool__ = __add__ = __sub__ = _unknown
    __mul__ = __truediv__ = __eq__ = __ne__ = _unknown
    __hash__ = object.__hash__


def _result(value: Any, kernel: str) -> Any:
    """What a kernel returned, as the script may see it."""
    if isinstance(value, View):
        return Result(value.dtype, value.shape, kernel)
    if isinstance(value, (list, tuple)):
        return type(value)(_result(item, kernel) for item in value)
    return value


def trace_script(path: str | Path, chip: str = "trn2",
                 trip_counts: Mapping[str, int] | None = None, *, values: bool = False,
                 seed: int = 0) -> list[Program]:
    """Runs a Python script as `__main__` and traces every kernel that it calls.

    With `values` the script gets what its kernels compute, as numpy arrays; `seed` makes the
    contents of tensors that have none.

    UserError if the script raises or calls no kernel.
    """
    file = Path(path)
    if not file.is_file():
        raise UserError(f"{file}: there is no such file; name a script or file.py::function")
    target = load_chip(chip)
    set_target(target)
    programs: list[Program] = []

    def launch(kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        programs.append(trace(kernel, arguments, target, keywords=keywords,
                              trip_counts=trip_counts, values=values, seed=seed))
        if values:
            return programs[-1].outputs
        return _result(programs[-1].result, kernel.name)

    install()
    previous, arguments, folders = set_launcher(launch), sys.argv, sys.path
    sys.argv, sys.path = [str(file)], [str(file.resolve().parent), *sys.path]
    try:
        runpy.run_path(str(file), {"range": LoopRange}, "__main__")
    except FrontendError:
        raise
    except SystemExit as status:
        if status.code not in (None, 0):
            raise UserError(f"{file}: ends with status {status.code}; run it without trnsim "
                            "first") from status
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        raise UserError(f"{where.filename}:{where.lineno}: the script raises "
                        f"{type(problem).__name__}: {problem}") from problem
    finally:
        set_launcher(previous)
        sys.argv, sys.path = arguments, folders
    if not programs:
        raise UserError(f"{file}: calls no kernel; name one as {file}::function with its --arg")
    return programs
