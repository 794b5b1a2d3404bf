#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces the kernels of a corpus with the arguments of a table, and says which do not trace and why.

    tools/corpus_check.py --corpus PATH                       all cases of tools/corpus_cases/*.json
    tools/corpus_check.py --corpus PATH --only cumsum         those whose function contains `cumsum`
    tools/corpus_check.py --corpus PATH --save FOLDER         keep the traces
    tools/corpus_check.py --corpus PATH --simulate TRNSIM     also run each trace with this program

PATH is a folder of checkouts called owner+repository; kernels are run in place and never copied. Each case runs in a
process of its own. The exit status is 0 if every case does what its table says: trace, or fail as `expected` tells.

A table has `repository` and `cases`. A case has `path` and `function`, `arguments` (by name), and optionally `chip`
[trn2], `lnc` [1], `assume` (trip counts by register), `inside` (the kernel is a helper that the case of this function
calls: it counts as traced if that case enters it), `expected` (a piece of the message with which it fails), `needs`
(libraries that the kernel's own host code uses; without them the case is left out).

An argument is a tensor, "bfloat16[128,512]"; a JSON value; or an object with one of the keys `dtype` (a data type),
`text` (a string that is no tensor), `tuple`, `enum` ("module:Class.member"), `call` ("module:Class", with the
`arguments` by name; what is not a parameter of the constructor is set as an attribute).
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
CASES = TOP / "tools" / "corpus_cases"
sys.path.insert(0, str(TOP / "tools" / "python"))
os.environ.setdefault("TRNSIM_CONFIG_DIR", str(TOP / "configs"))

from trnsim.frontend import TensorArgument, dtype, trace  # noqa: E402
from trnsim.frontend.__main__ import find_kernel  # noqa: E402
from trnsim.frontend.chip import load_chip, set_target  # noqa: E402
from trnsim.frontend.kernel import Kernel, set_listener  # noqa: E402
from trnsim.frontend.nki import jit  # noqa: E402

TENSOR = re.compile(r"([a-z]\w*)\[([0-9,]*)\]")
TIMEOUT_SECONDS = 300


def named(text: str) -> Any:
    """What "module:Class.member" names."""
    module, _, path = text.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def made(call: str, given: dict[str, Any]) -> Any:
    """An object by its constructor; what that does not take is set afterwards."""
    factory = named(call)
    parameters = inspect.signature(factory).parameters
    takes_any = any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in parameters.values())
    result = factory(**{name: value for name, value in given.items() if takes_any or name in parameters})
    for name, value in given.items():
        if not takes_any and name not in parameters:
            setattr(result, name, value)
    return result


def argument(value: Any) -> Any:
    """An argument as the table writes it, as the kernel gets it."""
    if isinstance(value, str):
        match = TENSOR.fullmatch(value)
        if match is None:
            return value
        return TensorArgument(dtype(match.group(1)), tuple(int(size) for size in match.group(2).split(",") if size))
    if isinstance(value, list):
        return [argument(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "dtype" in value:
        return dtype(value["dtype"])
    if "text" in value:
        return value["text"]
    if "tuple" in value:
        return tuple(argument(one) for one in value["tuple"])
    if "enum" in value:
        return named(value["enum"])
    if "call" in value:
        return made(value["call"], {name: argument(one) for name, one in value.get("arguments", {}).items()})
    return {name: argument(one) for name, one in value.items()}


def attempt(case: dict[str, Any], root: Path, output: Path) -> dict[str, Any]:
    """Traces one case; what was found, or the reason why not."""
    entered: set[str] = set()
    set_listener(lambda kernel: entered.add(kernel.name))
    started = time.process_time()
    found: dict[str, Any] = {}
    try:
        chip = load_chip(case.get("chip", "trn2"))
        set_target(chip)
        kernel: Any = find_kernel(f"{root / case['path']}::{case['function']}")
        if case.get("lnc", 1) > 1:
            kernel = (kernel if isinstance(kernel, Kernel) else jit(kernel))[case["lnc"]]
        values = {name: argument(one) for name, one in case.get("arguments", {}).items()}
        program = trace(kernel, [], chip, keywords=values, api="nki", trip_counts=case.get("assume", {}))
        program.save(output)
        found.update(instructions=program.instructions, cores=program.cores, notes=len(program.notes),
                     bytes=output.stat().st_size)
    except BaseException as problem:  # the kernel under test may raise anything
        found["reason"] = f"{type(problem).__name__}: {problem}"
        found["where"] = traceback.format_exc()
    found.update(entered=sorted(entered), seconds=time.process_time() - started)
    return found


def _child(connection: Any, case: dict[str, Any], root: Path, output: Path) -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    connection.send(attempt(case, root, output))


def isolated(case: dict[str, Any], root: Path, output: Path) -> dict[str, Any]:
    """Traces one case in a process of its own."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(False)
    process = context.Process(target=_child, args=(sender, case, root, output))
    process.start()
    sender.close()
    try:
        if receiver.poll(TIMEOUT_SECONDS):
            found: dict[str, Any] = receiver.recv()
        else:
            found = {"reason": f"no end after {TIMEOUT_SECONDS} s", "entered": []}
    except EOFError:
        found = {"reason": "the process ended without a result", "entered": []}
    process.kill()
    process.join()
    return found


def simulated(program: str, path: Path, chip: str) -> str:
    """What `trnsim run` says to a trace: "" or its message."""
    try:
        done = subprocess.run([program, "run", str(path), "--chip", chip], capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_SECONDS / 10)
    except subprocess.TimeoutExpired:
        return f"no end after {TIMEOUT_SECONDS // 10} s"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]


def report(case: dict[str, Any], found: dict[str, Any], is_verbose: bool) -> bool:
    """Prints a case's line; whether it did what the table says."""
    reason, expected = found.get("reason"), case.get("expected")
    is_good = reason is None if expected is None else expected in (reason or "")
    state = "ok  " if reason is None else "as expected" if is_good else "FAIL"
    name = case["function"] + (f"[{case['lnc']}]" if case.get("lnc", 1) > 1 else "")
    if reason is None:
        print(f"{state} {name}: {found['instructions']} instructions, {found['bytes']} bytes, "
              f"{found['notes']} notes, {found['seconds']:.1f} s", flush=True)
    else:
        print(f"{state} {name}: {reason}", flush=True)
        if is_verbose:
            print(found.get("where", ""))
    return is_good


def check(path: Path, options: argparse.Namespace, folder: Path) -> bool:
    """Runs the cases of one table."""
    table = json.loads(path.read_text(encoding="utf-8"))
    root = Path(options.corpus) / table["repository"]
    if not root.is_dir():
        print(f"{path.name}: {root} is not there; left out")
        return True
    is_good = True
    traced: set[str] = set()
    failed: set[str] = set()
    inside = [case for case in table["cases"] if "inside" in case]
    entered: dict[str, set[str]] = {}
    for number, case in enumerate(table["cases"]):
        if "inside" in case or options.only not in case["function"]:
            continue
        missing = [name for name in case.get("needs", ()) if importlib.util.find_spec(name) is None]
        if missing:
            print(f"left out {case['function']}: {', '.join(missing)} is not installed")
            continue
        output = folder / f"{number:03}_{case['function']}.nkt"
        found = isolated(case, root, output)
        if "reason" not in found and options.simulate:
            message = simulated(options.simulate, output, case.get("chip", "trn2"))
            if message:
                found["reason"] = f"traces, but does not run: {message}"
        is_good = report(case, found, options.verbose) and is_good
        if "reason" in found:
            failed.add(case["function"])
        else:
            traced.add(case["function"])
            entered.setdefault(case["function"], set()).update(found["entered"])
    for case in inside:
        if case["inside"] in traced | failed:
            is_there = case["function"] in entered.get(case["inside"], set())
            (traced if is_there else failed).add(case["function"])
            is_good = is_good and (is_there or "expected" in case)
            print(f"{'ok  ' if is_there else 'FAIL'} {case['function']}: "
                  f"{'entered' if is_there else 'not entered'} by {case['inside']}")
    print(f"{path.name}: {len(traced)} of {len(traced | failed)} kernels trace; "
          f"not: {', '.join(sorted(failed - traced)) or 'none'}")
    return is_good


def main() -> int:
    """Runs the command; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--save", metavar="FOLDER")
    parser.add_argument("--simulate", metavar="TRNSIM")
    parser.add_argument("--verbose", action="store_true", help="with the traceback of what fails")
    parser.add_argument("tables", nargs="*", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.save or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = [check(path, options, folder) for path in options.tables or sorted(CASES.glob("*.json"))]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
