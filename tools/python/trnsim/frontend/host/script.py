# SPDX-License-Identifier: Apache-2.0
# Runs a script that calls kernels itself.
"""run_script(file, arguments, launch): the script as `__main__` under the impersonated nki.

trace_script(path, chip): the programs of all kernel launches of a script, in their order. Unless
values are computed, a launch in it returns tensors that have a shape and a type, can be passed to
other kernels, and cannot be read.
"""

from __future__ import annotations

import builtins
import re
import sys
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from collections.abc import Callable, Iterator, Mapping, Sequence

from trnsim.errors import FrontendError, UserError
from trnsim.frontend import source
from trnsim.frontend.chip import Chip, load_chip, set_target
from trnsim.frontend.dtypes import DType
from trnsim.frontend.host.impersonate import KERNEL_NAMES, install, prepare_libraries
from trnsim.frontend.host.jax_arrays import failure
from trnsim.frontend.host.naming import calls_none
from trnsim.frontend.host.own import is_own
from trnsim.frontend.host.stand_ins import called_libraries
from trnsim.frontend.kernel import Kernel, Launcher, set_launcher
from trnsim.frontend.leaves import mapped
from trnsim.frontend.program import Program
from trnsim.frontend.raised import words_of
from trnsim.frontend.records.tensor import is_view
from trnsim.frontend.tracing import trace

_PLUGIN = "pytest_trnsim"
"""The fixture of tests; pip makes it known to pytest, `cmake --install` does not."""
_USAGE = frozenset({"-h", "--help", "--version"})
_TESTS = re.compile(r"^\s*(def test_|class Test)", re.MULTILINE)


def run_script(file: Path, arguments: Sequence[str], launch: Launcher,
               has_launched: Callable[[], bool]) -> bool:
    """Runs a script to its end, with `launch` for every kernel call; whether it may have made none:
    it was tests, or was asked how to use it.

    UserError if it raises, or ends with a status that is not 0.
    """
    if not file.is_file():
        raise UserError(f"{file}: there is no such file; name a script, file.py::function, or a "
                        "trace")
    install()
    prepare_libraries()
    previous = set_launcher(launch)
    try:
        with _as_main(file, arguments):
            has_ended = _run(file)
            known = failure()
            if known is not None:
                raise known
            if has_ended and _USAGE.intersection(arguments):
                return True
            if not has_launched() and _TESTS.search(file.read_text(errors="replace")):
                _run_tests(file, arguments)
                return True
    finally:
        set_launcher(previous)
    return False


@contextmanager
def _as_main(file: Path, arguments: Sequence[str]) -> Iterator[None]:
    """What `python file arguments` sets."""
    words, folders, main = sys.argv, sys.path, sys.modules.get("__main__")
    sys.argv, sys.path = [str(file), *arguments], [str(file.resolve().parent), *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path = words, folders
        if main is not None:
            sys.modules["__main__"] = main


def _run(file: Path) -> bool:
    """Whether the script ended Python, well."""
    try:
        _execute(file)
    except (FrontendError, BrokenPipeError):
        raise
    except SystemExit as status:
        if isinstance(status.code, str):
            raise UserError(f"{file}: ends with {status.code!r}") from status
        if status.code not in (None, 0):
            raise UserError(f"{file}: ends with status {status.code}; what it printed may say why"
                            ) from status
        return True
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        if failure() is not None:
            return False
        raise UserError(f"{source.raised_at(problem, is_own)}: the script raises "
                        f"{type(problem).__name__}: {words_of(problem)}{_absent()}"
                        ) from problem
    return False


def _execute(file: Path) -> None:
    """Executes a file as Python does: lines are those of the file as it is named, and `__file__` is
    where it is, whatever folder it goes to."""
    module = ModuleType("__main__")
    module.__dict__.update(KERNEL_NAMES, __builtins__=builtins, __cached__=None,
                           __file__=str(file.absolute()))
    sys.modules["__main__"] = module
    exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), module.__dict__)


def _absent() -> str:
    """What may be behind an exception: stand-ins of libraries that the script called."""
    names = ", ".join(sorted(called_libraries))
    return f"; the script calls {names}, not installed for {sys.executable}" if names else ""


def _run_tests(file: Path, arguments: Sequence[str]) -> None:
    """Runs the tests in a file that calls no kernel at its top level."""
    try:
        import pytest
    except ImportError:
        raise UserError(f"{file}: calls no kernel itself but has tests, and pytest is not "
                        f"installed for {sys.executable}; install it") from None
    is_installed = any(one.value == _PLUGIN for one in entry_points(group="pytest11"))
    plugin = () if is_installed else ("-p", _PLUGIN)
    status = pytest.main([str(file), "-q", "-p", "no:cacheprovider", *plugin, *arguments])
    if status != 0:
        raise UserError(f"{file}: pytest ends with status {int(status)}, its words are above; "
                        "choose tests with -- -k NAME")


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
    return mapped(value, lambda view, _: Result(view.dtype, view.shape, kernel), is_view)


def trace_script(path: str | Path, chip: str | Chip = "trn2",
                 trip_counts: Mapping[str, int] | None = None, *,
                 arguments: Sequence[str] = (), values: bool = False,
                 seed: int = 0) -> list[Program]:
    """Runs a Python script as `__main__` and traces every kernel that it calls.

    `arguments` are the script's own. With `values` the script gets what its kernels compute, as
    numpy arrays; `seed` makes the contents of tensors that have none.

    UserError if the script raises or calls no kernel.
    """
    file = Path(path)
    target = chip if isinstance(chip, Chip) else load_chip(chip)
    set_target(target)
    programs: list[Program] = []

    def launch(kernel: Kernel, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        programs.append(trace(kernel, inputs, target, keywords=keywords,
                              trip_counts=trip_counts, values=values, seed=seed))
        if values:
            return programs[-1].outputs
        return _result(programs[-1].result, kernel.name)

    run_script(file, arguments, launch, lambda: bool(programs))
    if not programs:
        raise calls_none(file)
    return programs
