# SPDX-License-Identifier: Apache-2.0
# Loads one public kernel, finds the launch that its table names, and traces it for every chip.
"""The part of tools/corpus that runs a kernel's Python: one process per case.

    python3 tools/corpus_case.py CHECKOUT FOLDER CHIP... <case.json

A case of tools/corpus_cases has `path` and `function`, and either `arguments` (see
corpus_arguments.py) with `grid`, or `driver`: Python that runs in the kernel's module and launches
the kernel (`tests` runs the module's own tests). The `launch`-th launch of the function counts.
More keys:

    chips      those that the kernel is for; all of them if it is absent
    assume     trip counts of loops that only the hardware knows, by register
    inside     no arguments: the kernel is a helper, which ran if that function's case entered it
    expected   a piece of the message with which the kernel fails, as it should
    needs      libraries of the kernel's own host code; without them the case is left out
    reference  how its values are checked, see corpus_reference.py; a string is a name in the
               `references` of the table, and a case without has the table's own, if any
    harness    a file of the checkout that the kernel is put into at SUBSTITUTE HERE
    prelude    Python that runs before the kernel's file, in its module if that is no part of a package;
               a case without has the table's own, if any
    is_script  the kernel's file itself launches the kernel
    folders    are added to sys.path; with module, which is imported by that name
    macs       the analytic number of multiply-accumulates
    broken     why the kernel cannot run anywhere
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import math
import sys
import time
import traceback
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

import corpus_arguments  # noqa: E402
import corpus_torch  # noqa: E402
from trnsim.errors import FrontendError  # noqa: E402
from trnsim.frontend import TensorArgument, dtype, trace  # noqa: E402
from trnsim.frontend.arguments import describe  # noqa: E402
from trnsim.frontend.chip import load_chip, set_target  # noqa: E402
from trnsim.frontend.host.impersonate import (KERNEL_NAMES, install, load_kernel_module,  # noqa: E402
                                         package_of)
from trnsim.frontend.kernel import Kernel, set_launcher, set_listener  # noqa: E402
from trnsim.frontend.nki.decorators import jit  # noqa: E402
from trnsim.frontend.records.tensor import View  # noqa: E402

MARK = "# SUBSTITUTE HERE"


class Launch(NamedTuple):
    """A kernel with what it is called with."""

    kernel: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


class Found(BaseException):
    """Ends the driver: the launch of the table has been reached."""

    def __init__(self, launch: Launch) -> None:
        super().__init__()
        self.launch = launch


def execute(module: ModuleType, path: Path, text: str | None = None, first_line: int = 1) -> None:
    """Runs a file, or a part of one that begins at a line, in a module."""
    body = path.read_text(encoding="utf-8", errors="replace") if text is None else text
    exec(compile("\n" * (first_line - 1) + body, str(path), "exec"), module.__dict__)


def load(checkout: Path, case: dict[str, Any]) -> ModuleType:
    """The module of the kernel, executed."""
    path = checkout / case["path"]
    prelude = compile(case.get("prelude", ""), "<prelude>", "exec")
    if "module" in case or "harness" not in case and "." in package_of(path)[1]:
        exec(prelude, {"__file__": str(path)})
    if "module" in case:
        sys.path[:0] = [str(checkout / folder) for folder in case["folders"]]
        return importlib.import_module(case["module"])
    if "harness" not in case and "." in package_of(path)[1]:
        return load_kernel_module(path)
    name = "__main__" if case.get("is_script") else path.stem
    module = ModuleType(name)
    module.__dict__.update(KERNEL_NAMES, __file__=str(path))
    if not case.get("is_script"):
        sys.modules[path.stem] = module
    folders = [str(checkout / folder) for folder in case.get("folders", [])]
    sys.path[:0] = [*folders, str(path.parent)]
    exec(prelude, module.__dict__)
    if "harness" not in case:
        execute(module, path)
        return module
    harness = checkout / case["harness"]
    before, mark, after = harness.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{harness}: has no line {MARK!r}; leave harness out of the table")
    execute(module, harness, before)
    execute(module, path)
    execute(module, harness, after, before.count("\n") + 1)
    return module


def tensor(kind: str, *shape: int) -> TensorArgument:
    """For drivers: an input tensor without contents."""
    return TensorArgument(dtype(kind), shape)


def zeros(value: Any) -> Any:
    """What a kernel returned, for a driver that goes on: arrays of zeros."""
    if isinstance(value, View):
        return np.zeros(value.shape, getattr(value.dtype, "numpy", np.float32))
    if isinstance(value, (list, tuple)):
        return type(value)(zeros(item) for item in value)
    return value


def quiet_numpy() -> None:
    """Values are not computed: random arrays are zeros, which are cheap, and all compare equal."""
    for name in ("rand", "randn"):
        setattr(np.random, name, lambda *shape: np.zeros(shape))
    for name in ("random", "random_sample"):
        setattr(np.random, name, lambda size=None: np.zeros(size or ()))
    np.allclose = lambda *_, **__: True  # type: ignore[assignment]
    for name in ("assert_allclose", "assert_array_equal", "assert_almost_equal", "assert_equal",
                 "assert_array_almost_equal"):
        setattr(np.testing, name, lambda *_, **__: None)


def tests_of(module: ModuleType) -> list[Callable[[], Any]]:
    """The tests of a module, of unittest and of pytest."""
    tests: list[Any] = []
    for value in list(vars(module).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            names = unittest.defaultTestLoader.getTestCaseNames(value)
            tests += [getattr(value(name), name) for name in names]
        elif inspect.isfunction(value) and value.__name__.startswith("test"):
            if not inspect.signature(value).parameters:
                tests.append(value)
    return tests


def run_test(test: Callable[[], Any]) -> None:
    """Runs a test; what it finds out does not matter here."""
    try:
        test()
    except FrontendError:
        raise
    except Exception as problem:
        print(f"{test}: {type(problem).__name__}: {problem}", file=sys.stderr)


def drive(module: ModuleType, case: dict[str, Any], chip: str) -> None:
    """Runs the case's driver; raises Found at the launch."""
    if case["driver"] == "tests":
        for test in tests_of(module):
            run_test(test)
    else:
        module.__dict__.setdefault("np", np)
        module.__dict__["tensor"] = tensor
        module.__dict__["dtype"] = dtype
        exec(compile(case["driver"], "<driver>", "exec"), module.__dict__)


def find_launch(checkout: Path, case: dict[str, Any], chip: str) -> Launch:
    """The launch that the case names; other launches of its driver are traced for their shapes."""
    target = load_chip(chip)
    set_target(target)
    corpus_torch.install()
    install()
    quiet_numpy()
    seen = 0

    def launch(kernel: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        nonlocal seen
        if kernel.name == case["function"]:
            seen += 1
            if seen == case.get("launch", 1):
                raise Found(Launch(kernel, arguments, keywords))
        return zeros(trace(kernel, arguments, target, keywords=keywords).result)

    set_launcher(launch)
    try:
        module = load(checkout, case)
        if "driver" in case:
            drive(module, case, chip)
        elif not case.get("is_script"):
            kernel = getattr(module, case["function"])
            if "grid" in case:
                kernel = (kernel if isinstance(kernel, Kernel) else jit(kernel))[
                    tuple(case["grid"])]
            return Launch(kernel, *corpus_arguments.values(case))
    except Found as found:
        return found.launch
    finally:
        set_launcher(None)
    raise ValueError(f"the driver does not launch {case['function']} {case.get('launch', 1)} times")


def shown(value: Any) -> str:
    """An argument for the page."""
    if isinstance(value, (list, tuple)) and not isinstance(value, TensorArgument):
        return "(" + ", ".join(shown(item) for item in value) + ")"
    return describe(value)


def failure(problem: Exception) -> str:
    """The message of an error; Python's own ones with the line that raised them."""
    if isinstance(problem, FrontendError):
        return str(problem)
    if isinstance(problem, SyntaxError):
        return f"{problem.filename}:{problem.lineno}: is not valid Python: {problem.msg}"
    where = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{where.filename}:{where.lineno}: {type(problem).__name__}: {problem}"


def tensor_bytes(lines: Iterable[str]) -> dict[str, int]:
    """Bytes of the arguments and of the results that a trace declares: "input" and "output".

    Cores have tensors in common.
    """
    found: dict[str, int] = {}
    seen: set[str] = set()
    for line in lines:
        record = json.loads(line)
        kind = record.get("kind")
        if record["record"] != "buffer" or kind not in ("input", "output"):
            continue
        name = record.get("shared") or f"{kind} {record['id']}"
        if name not in seen:
            seen.add(name)
            size = math.prod(record["shape"]) * dtype(record["dtype"]).itemsize
            found[kind] = found.get(kind, 0) + size
    return found


def main(arguments: list[str]) -> int:
    """Writes FOLDER/<chip>.nkt for each chip; prints what was found as JSON."""
    checkout, folder, chips = Path(arguments[0]), Path(arguments[1]), arguments[2:]
    case = json.load(sys.stdin)
    found: dict[str, Any] = {"seconds": {}, "reasons": {}, "notes": [], "bytes": 0,
                             "text_bytes": 0}
    output, sys.stdout = sys.stdout, sys.stderr
    sys.argv = [case["path"]]
    try:
        launch = find_launch(checkout, case, chips[0])
    except Exception as problem:
        found["reasons"] = {chip: failure(problem) for chip in chips}
        chips = []
    else:
        found["arguments"] = [shown(value) for value in launch.arguments] + [
            f"{name}={shown(value)}" for name, value in launch.keywords.items()]
        found["api"] = getattr(launch.kernel, "api", "")
    entered: set[str] = set()
    set_listener(lambda kernel: entered.add(kernel.name))
    for chip in chips:
        target = load_chip(chip)
        set_target(target)
        gc.collect()
        before = time.thread_time()  # Threads of numpy that a driver began still look for work.
        try:
            program = trace(launch.kernel, launch.arguments, target, keywords=launch.keywords,
                            trip_counts=case.get("assume"))
            lines = list(program.lines())
            text = sum(len(line.encode()) + 1 for line in lines)
        except Exception as problem:
            found["reasons"][chip] = failure(problem)
            continue
        found["seconds"][chip] = time.thread_time() - before
        found["notes"] = program.notes
        found.setdefault("tensors", tensor_bytes(lines))
        program.save(folder / f"{chip}.nkt")
        found["bytes"] = max(found["bytes"], (folder / f"{chip}.nkt").stat().st_size)
        found["text_bytes"] = max(found["text_bytes"], text)
    found["entered"] = sorted(entered)
    json.dump(found, output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
