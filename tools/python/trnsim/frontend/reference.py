# SPDX-License-Identifier: Apache-2.0
# The function that a kernel's results are compared with.
"""Loads `file.py::function` and calls it with the arguments of a kernel, as numpy arrays."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trnsim.errors import FrontendError, UserError
from trnsim.frontend import arguments as forms
from trnsim.frontend import source
from trnsim.frontend.annotations import bound, signature
from trnsim.frontend.dtypes import DType
from trnsim.frontend.host.impersonate import imports_of, install, package_of
from trnsim.frontend.kernel import Kernel
from trnsim.frontend.misfits import called
from trnsim.frontend.raised import words_of
from trnsim.frontend.values.casting import Array, from_array, random_array


class Expected(NamedTuple):
    """What a reference says: its results in their order, and its arguments as it left them."""

    results: list[Any]
    arguments: dict[str, Array]


class Reference:
    """A plain function of the arguments of a kernel."""

    def __init__(self, text: str) -> None:
        """UserError if `text`, file.py::function, names none."""
        self.text = text
        file, separator, self._name = text.rpartition("::")
        if not separator or not file or not self._name:
            raise UserError(f"--check {text}: does not name a reference; write file.py::function")
        self._file = Path(file)
        self._function = self._find()

    def __call__(self, kernel: Callable[..., Any], values: Sequence[Any],
                 keywords: Mapping[str, Any], seed: int) -> Expected:
        """Calls it with what a kernel is given. `seed` makes what the kernel has of it, too."""
        body = kernel.function if isinstance(kernel, Kernel) else kernel
        fitted = bound(body, values, keywords)
        random = np.random.default_rng(seed)
        arrays: dict[str, Array] = {}

        def make(name: str, dtype: DType, shape: tuple[int, ...], contents: Any) -> Array:
            array = (random_array(dtype, shape, random) if contents is None
                     else from_array(contents, dtype).copy())
            arrays[name] = array
            return array

        names = list(fitted.arguments)
        given = [forms.bind(value, names[min(index, len(names) - 1)], make)
                 for index, value in enumerate(fitted.args)]
        named = {name: forms.bind(value, name, make) for name, value in fitted.kwargs.items()}
        return Expected(_tensors(self._call(given, named)), arrays)

    def _find(self) -> Callable[..., Any]:
        if not self._file.is_file():
            raise UserError(f"--check {self.text}: there is no file {self._file}; name the "
                            "reference as file.py::function")
        found: Any = self._load()
        functions = [name for name, one in vars(found).items()
                     if inspect.isfunction(one) and one.__module__ == found.__name__]
        for part in self._name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            raise UserError(f"--check {self.text}: {self._file} has no function {self._name!r}; "
                            f"its functions are: {', '.join(functions) or 'none'}")
        return found.function if isinstance(found, Kernel) else found

    def _load(self) -> Any:
        """The module, UserError if importing it raises."""
        install()
        try:
            with imports_of(self._file):
                return self._executed()
        except FrontendError:
            raise
        except SystemExit as status:
            raise UserError(f"{self._where(status)}: importing {self._file} ends Python (status "
                            f"{status.code}); put what runs there behind "
                            "`if __name__ == '__main__':`") from status
        except Exception as problem:
            raise UserError(f"{self._where(problem)}: importing {self._file} raises "
                            f"{type(problem).__name__}: {words_of(problem)}") from problem

    def _executed(self) -> Any:
        """A module of a package by its name there; else of a name of its own, as a kernel's file
        may be called the same."""
        inside = package_of(self._file.resolve())[1]
        if inside != self._file.stem:
            return importlib.import_module(inside)
        name = f"reference_{self._file.stem}"
        spec = importlib.util.spec_from_file_location(name, self._file)
        if spec is None or spec.loader is None:
            raise UserError(f"--check {self.text}: {self._file} is not a Python file; name the "
                            "reference as file.py::function")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def _call(self, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        try:
            signature(self._function).bind(*given, **named)
        except TypeError as problem:
            raise UserError(f"--check {self.text}: {called(self._function)} is called with the "
                            f"kernel's arguments, but: {problem}; give it the kernel's parameters"
                            ) from problem
        try:
            with imports_of(self._file):
                return self._function(*given, **named)
        except FrontendError:
            raise
        except SystemExit as status:
            raise UserError(f"{self._where(status)}: the reference ends Python (status "
                            f"{status.code}); let it return") from status
        except Exception as problem:
            raise UserError(f"{self._where(problem)}: the reference raises "
                            f"{type(problem).__name__}: {words_of(problem)}"
                            ) from problem

    def _where(self, problem: BaseException) -> str:
        """The innermost line in the file of the reference, else the innermost line of all."""
        where = source.raised_at(problem, lambda code: self._is_own(code.co_filename))
        return str(where._replace(path=str(self._file)) if self._is_own(where.path) else where)

    def _is_own(self, path: str) -> bool:
        return Path(path).name == self._file.name


def _tensors(result: Any) -> list[Any]:
    """The results of a function in one list; nothing is an empty one."""
    if result is None:
        return []
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in _tensors(item)]
    return [result]
