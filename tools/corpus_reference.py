# SPDX-License-Identifier: Apache-2.0
# Computes the values of one public kernel and compares them with a reference of its repository.
"""The part of tools/corpus that says whether a kernel is right: one process per case.

    python3 tools/corpus_reference.py CHECKOUT CHIP <case.json

`reference` of a case is an object with one of

    test    a test of nki-library as pytest names it, see corpus_library.py; with `platform` [trn2]
            and `with`, values in the place of the test's parameters
    check   Python that runs in the kernel's module with `kernel` (the case's function), `values`
            (its arguments, tensors with random contents), `module(PATH)` (another file of the
            checkout) and `agrees(found, wanted, rtol=, atol=, norm=)`; a false result of `agrees`,
            and of the comparisons of numpy and torch, is a wrong value
    driver  true: the case's own driver compares

With `needs`, a list of libraries, a case is left out where one is absent. Printed is an object with
`error` (the largest difference over the largest magnitude of the reference, in all comparisons),
`reason` ("" if all agree) and `kernels` (those that the kernel has entered).
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))

import corpus_arguments  # noqa: E402
import corpus_case  # noqa: E402
import corpus_library  # noqa: E402
import corpus_torch  # noqa: E402
from trnsim.frontend import TensorArgument, install, trace  # noqa: E402
from trnsim.frontend.chip import load_chip, set_target  # noqa: E402
from trnsim.frontend.kernel import Kernel, set_launcher, set_listener  # noqa: E402
from trnsim.frontend.nki import jit  # noqa: E402

RTOL = 1e-3
"""The tolerance of `agrees` where the repository names none, relative to the largest magnitude."""
SEED = 0


class Comparisons:
    """The errors of all comparisons that a reference has made."""

    def __init__(self) -> None:
        self.errors: list[float] = []
        self.wrong = 0
        self.kernels: set[str] = set()

    def agrees(self, found: Any, wanted: Any, rtol: float = RTOL, atol: float = 0.0,
               norm: float = 0.0) -> bool:
        """Whether an array is close to another, relative to the largest magnitude of that.

        With `norm` the norm of the difference counts, relative to that of the other.
        """
        found, wanted = array(found), array(wanted)
        self.errors.append(corpus_library.relative_error(found, wanted))
        magnitude = np.abs(wanted).max(initial=0.0)
        is_close = self.errors[-1] * (magnitude or 1.0) <= atol + rtol * magnitude
        if norm:
            is_close = np.linalg.norm(found - wanted) < norm * np.linalg.norm(wanted)
        self.wrong += not is_close
        return bool(is_close)

    def watch(self, module: Any, name: str) -> None:
        """Lets a comparison of a library be counted too."""
        compare: Callable[..., Any] = getattr(module, name)

        def watched(found: Any, wanted: Any, *rest: Any, **named: Any) -> Any:
            result = compare(found, wanted, *rest, **named)
            self.errors.append(corpus_library.relative_error(array(found), array(wanted)))
            self.wrong += result is not None and not result
            return result
        setattr(module, name, watched)


def array(value: Any) -> Any:
    """A tensor of any library as a numpy array of float64."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().float().numpy()
    return np.asarray(value, dtype=np.float64)


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
    comparisons = Comparisons()
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
        return trace(kernel, arguments, target, keywords=keywords, values=True,
                     reads_unwritten=True, trip_counts=case.get("assume")).outputs

    set_launcher(launch)
    set_listener(lambda kernel: comparisons.kernels.add(kernel.name))
    np.random.seed(SEED)
    module = corpus_case.load(checkout, case)
    if "check" in case["reference"]:
        run_check(checkout, case, module, comparisons)
    elif not case.get("is_script"):
        corpus_case.drive(module, case, chip)
    reason = "" if comparisons.errors else "nothing was compared"
    if comparisons.wrong:
        reason = f"{comparisons.wrong} of {len(comparisons.errors)} comparisons fail"
    return {"error": max(comparisons.errors, default=0.0), "reason": reason,
            "kernels": sorted(comparisons.kernels)}


def run_check(checkout: Path, case: dict[str, Any], module: ModuleType,
              comparisons: Comparisons) -> None:
    """Runs the Python of a table in the kernel's module."""
    random = np.random.default_rng(SEED)
    given, named = corpus_arguments.values(case)
    kernel = getattr(module, case["function"])
    if "grid" in case:
        kernel = (kernel if isinstance(kernel, Kernel) else jit(kernel))[tuple(case["grid"])]

    def another(path: str) -> ModuleType:
        found = next(iter(sorted(checkout.glob(path))), checkout / path)
        return corpus_case.load(checkout, {"path": str(found)})

    module.__dict__.setdefault("np", np)
    module.__dict__.update(
        kernel=kernel, agrees=comparisons.agrees, module=another,
        values=[filled(one, random) for one in given],
        named={name: filled(one, random) for name, one in named.items()})
    exec(compile(case["reference"]["check"], "<check>", "exec"), module.__dict__)


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
