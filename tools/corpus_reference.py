# SPDX-License-Identifier: Apache-2.0
# Computes the values of one public kernel and compares them with a reference of its repository.
"""The part of tools/corpus that says whether a kernel is right: one process per case.

    python3 tools/corpus_reference.py CHECKOUT CHIP <case.json

`reference` of a case is an object with one of

    test    a test of nki-library as pytest names it, see corpus_library.py; with `platform` [trn2]
            and `with`, values in the place of the test's parameters
    check   Python that runs in the kernel's module with `kernel` (the case's function), `values`
            and `named` (its arguments, tensors with random contents), `wide` (`values` in float64),
            `module(PATH)` (another file of the checkout), `main(NAME)` (what the first call of NAME
            in the module's `__main__` block gives), `agrees(found, wanted, rtol=, atol=, norm=)`
            and `verdict(PASSED)`, what a test without comparisons finds
    driver  true: the case's own driver compares; of tests, those count that launch the kernel,
            and with `error`, a piece of a message, they should fail with it

A false result of `agrees`, `verdict` and the comparisons of numpy and torch is a wrong value. With
`comparisons`, the check ends after so many; with `arguments` or a `prelude`, they are in the place of the
case's, mostly for smaller tensors; with `needs`, a list of libraries, a case is left out where one is absent;
with `differs`, the values are expected to be wrong, for that reason.
Printed is an object with `error` (the largest difference over the largest magnitude of the
reference, in all comparisons; null if a verdict is all there is), `reason` ("" if all agree) and
`kernels` (those that the kernel has entered).
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

import corpus_arguments  # noqa: E402
import corpus_case  # noqa: E402
import corpus_library  # noqa: E402
import corpus_torch  # noqa: E402
from trnsim.frontend import TensorArgument, install, trace  # noqa: E402
from trnsim.frontend.chip import load_chip, set_target  # noqa: E402
from trnsim.frontend.host.frameworks import as_given  # noqa: E402
from trnsim.frontend.kernel import Kernel, set_launcher, set_listener  # noqa: E402
from trnsim.frontend.nki.decorators import jit  # noqa: E402

RTOL = 1e-3
"""The tolerance of `agrees` where the repository names none, relative to the largest magnitude."""
SEED = 0


class Compared(BaseException):
    """Ends a check: as many comparisons as the table wants have been made."""


class Made(NamedTuple):
    """A comparison: its error, None for a verdict, and whether the values agree."""

    error: float | None
    agrees: bool


class Comparisons:
    """All comparisons that a reference has made; `limit` of them end the check."""

    def __init__(self, limit: int = 0) -> None:
        self.made: list[Made] = []
        self.kernels: set[str] = set()
        self._limit = limit

    def agrees(self, found: Any, wanted: Any, rtol: float = RTOL, atol: float = 0.0,
               norm: float = 0.0) -> bool:
        """Whether an array is close to another, relative to the largest magnitude of that.

        With `norm` the norm of the difference counts, relative to that of the other.
        """
        difference = corpus_library.difference(array(found), array(wanted))
        is_close = difference.largest <= atol + rtol * difference.magnitude
        if norm:
            is_close = difference.norm < norm * difference.wanted_norm
        self._count(difference.relative, is_close)
        return is_close

    def verdict(self, passed: Any) -> None:
        """What a test has found that compares in a way of its own."""
        self.made.append(Made(None, bool(passed)))

    def _count(self, error: float, is_close: bool) -> None:
        self.made.append(Made(error, is_close))
        if len(self.made) == self._limit:
            raise Compared

    def watch(self, module: Any, name: str) -> None:
        """Lets a comparison of a library be counted too."""
        compare: Callable[..., Any] = getattr(module, name)

        def watched(found: Any, wanted: Any, *rest: Any, **named: Any) -> Any:
            error = corpus_library.difference(array(found), array(wanted)).relative
            try:
                result = compare(found, wanted, *rest, **named)
            except AssertionError:
                self._count(error, False)
                raise
            self._count(error, result is None or bool(result))
            return result
        setattr(module, name, watched)

    def test(self, test: Callable[[], Any], function: str, expected: str) -> None:
        """Runs a test, which counts if it launches the kernel.

        It passes if it ends, or if it fails as `expected`; what it finds not to be close on
        purpose is no error.
        """
        before, self.made = self.made, []
        kernels, self.kernels = self.kernels, set()
        problem: Exception | None = None
        try:
            test()
        except Exception as found:
            problem = found
        during, self.made = self.made, before
        if function not in self.kernels:
            self.kernels = kernels
            return
        self.kernels |= kernels
        if expected and expected in str(problem):
            self.verdict(True)
        elif problem is None:
            self.made += [one for one in during if one.agrees] or [Made(None, True)]
        elif isinstance(problem, AssertionError):
            self.made += during if any(not one.agrees for one in during) else [Made(None, False)]
        else:
            raise problem

    def outcome(self) -> dict[str, Any]:
        """What is printed."""
        largest = max((one.error for one in self.made if one.error is not None), default=None)
        wrong = sum(not one.agrees for one in self.made)
        reason = "" if self.made else "nothing was compared"
        if wrong:
            reason = f"{wrong} of {len(self.made)} comparisons fail"
            reason += "" if largest is None else f", largest error {largest:.1e}"
        return {"error": largest, "reason": reason, "kernels": sorted(self.kernels)}


def array(value: Any) -> Any:
    """A tensor of any library as a numpy array."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.double() if value.dtype.is_floating_point else value).numpy()
    return np.asarray(value)


def filled(value: Any, random: np.random.Generator) -> Any:
    """An argument with contents."""
    if isinstance(value, TensorArgument):
        shape = value.shape
        if value.dtype.is_integer:
            return random.integers(0, 8, shape).astype(value.dtype.dtype)
        return random.standard_normal(shape, dtype=np.float32).astype(value.dtype.dtype)
    return value


def check(checkout: Path, case: dict[str, Any], chip: str) -> dict[str, Any]:
    """Runs `check` or the driver of a case with values."""
    reference = case["reference"]
    comparisons = Comparisons(reference.get("comparisons", 0))
    target = load_chip(chip)
    set_target(target)
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    corpus_torch.install()
    install()
    for name in ("allclose", "array_equal"):
        comparisons.watch(np, name)
    for name in ("assert_allclose", "assert_array_equal", "assert_array_almost_equal"):
        comparisons.watch(np.testing, name)
    if torch is not None:
        comparisons.watch(torch, "allclose")
        comparisons.watch(torch.testing, "assert_close")

    def launch(kernel: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        comparisons.kernels.add(kernel.name)
        gc.collect()
        program = trace(kernel, arguments, target, keywords=keywords, values=True,
                        reads_unwritten=True, trip_counts=case.get("assume"))
        return as_given((*arguments, *keywords.values()), program.outputs)

    set_launcher(launch)
    set_listener(lambda kernel: comparisons.kernels.add(kernel.name))
    np.random.seed(SEED)
    with contextlib.suppress(Compared):
        module = corpus_case.load(checkout, {**case, **reference})
        if "check" in reference:
            run_check(checkout, case, module, comparisons)
        elif case.get("driver") == "tests":
            for test in corpus_case.tests_of(module):
                comparisons.test(test, case["function"], reference.get("error", ""))
        elif not case.get("is_script"):
            corpus_case.drive(module, case, chip)
    return comparisons.outcome()


def run_check(checkout: Path, case: dict[str, Any], module: ModuleType,
              comparisons: Comparisons) -> None:
    """Runs the Python of a table in the kernel's module."""
    random = np.random.default_rng(SEED)
    given, named = corpus_arguments.values({**case, **case["reference"]})
    kernel = getattr(module, case["function"])
    if "grid" in case:
        kernel = (kernel if isinstance(kernel, Kernel) else jit(kernel))[tuple(case["grid"])]

    values = [filled(one, random) for one in given]

    def another(path: str) -> ModuleType:
        found = next(iter(sorted(checkout.glob(path))), checkout / path)
        return corpus_case.load(checkout, {"path": str(found)})

    module.__dict__.setdefault("np", np)
    module.__dict__.update(
        kernel=kernel, agrees=comparisons.agrees, verdict=comparisons.verdict, module=another,
        main=lambda name: call_in_main(module, checkout / case.get("harness", case["path"]), name),
        values=values, wide=[one.astype(np.float64) if isinstance(one, np.ndarray) else one
                             for one in values],
        named={name: filled(one, random) for name, one in named.items()})
    exec(compile(case["reference"]["check"], "<check>", "exec"), module.__dict__)


def call_in_main(module: ModuleType, path: Path, name: str) -> Any:
    """What the first call of a function in the `__main__` block of a file gives."""
    blocks = [one for one in ast.parse(path.read_text(encoding="utf-8")).body
              if isinstance(one, ast.If) and "__main__" in ast.unparse(one.test)]
    calls = [one for block in blocks for one in ast.walk(block)
             if isinstance(one, ast.Call) and ast.unparse(one.func) == name]
    if not calls:
        raise ValueError(f"{path}: calls no {name} in its __main__ block")
    return eval(compile(ast.Expression(calls[0]), str(path), "eval"), module.__dict__)


def main(arguments: list[str]) -> int:
    """Prints what was found as JSON."""
    sys.dont_write_bytecode = True
    checkout, chip = Path(arguments[0]), arguments[1]
    case = json.load(sys.stdin)
    reference = case["reference"]
    output, sys.stdout = sys.stdout, sys.stderr
    sys.argv = [case["path"]]
    absent = [name for name in reference.get("needs", ())
              if importlib.util.find_spec(name) is None]
    if absent:
        found = {"reason": f"{', '.join(absent)} is not installed", "kernels": []}
    else:
        try:
            if "test" in reference:
                outcome = corpus_library.run(checkout, reference["test"],
                                             reference.get("platform", "trn2"),
                                             reference.get("with", {}))
                found = outcome._asdict()
            else:
                found = check(checkout, case, chip)
        except SystemExit as problem:
            found = {"reason": f"ends with status {problem.code}", "kernels": []}
        except Exception as problem:
            found = {"reason": corpus_case.failure(problem), "kernels": []}
    json.dump(found, output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
