#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Measures the frontend: executed nisa calls per second of tracing a kernel.
"""Speed of tracing, in processor time, with every loop executed in full and with shortcuts.

    tests/bench/tracing.py                        the example kernels
    tests/bench/tracing.py --corpus FOLDER        public kernels, from checkouts called owner+repo
    tests/bench/tracing.py --corpus FOLDER --only gqa --profile full

Each measurement is a fork of this process, so that nothing but the imported frontend is warm: it
loads the kernel, then traces it and writes the records to memory, which is what is timed. `process`
is a whole `python3 -m trnsim.frontend`, start-up included. The best of several repetitions counts.
Kernels below --least calls are left out.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from collections.abc import Callable, Iterator

TOP = Path(__file__).resolve().parents[2]
VENV_PYTHON = TOP / "build" / "venv" / "bin" / "python"
if __name__ == "__main__" and sys.prefix == sys.base_prefix and VENV_PYTHON.is_file():
    os.execv(VENV_PYTHON, [str(VENV_PYTHON), *sys.argv])  # Kernels need numpy.
sys.path.insert(0, str(TOP / "tools" / "python"))
os.environ.setdefault("TRNSIM_CONFIG_DIR", str(TOP / "configs"))

from trnsim.frontend import arguments, install, trace  # noqa: E402
from trnsim.frontend.host.naming import kernel_named  # noqa: E402

TUTORIALS = "aws-neuron+nki-samples/src/nki_samples/tutorials"
SDK = "aws-neuron+aws-neuron-sdk/nki/examples"
LONG_SEQUENCE = ("bfloat16[128,8192]",) * 3
MAMBA = ("float32[1,256,2048]",) * 2 + ("float32[256,16]",) + ("float32[1,16,2048]",) * 2
MORE: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((f"{TUTORIALS}/attention_fwd_performance/attention_kernels.py::attn_fwd_v{version}",
       LONG_SEQUENCE) for version in ("3", "4", "5", "6", "7", "8", "8a", "11")),
    ("aws-neuron+nki-samples/contributed/matmul.py::matmul",
     ("float16[4096,4096]", "float16[4096,4096]")),
    ("aws-neuron+nki-samples/contributed/interpolate_trilinear_fwd.py"
     "::interpolate_trilinear_2x_fwd", ("float32[2,64,23,23,23]",)),
    *((f"{SDK}/fused_mamba/mamba_nki_kernels.py::mamba_v{version}", MAMBA)
      for version in (1, 2, 3)))
"""Beyond the kernels of tools/corpus_cases."""


@dataclass
class Case:
    """One kernel and its arguments."""

    kernel: str
    arguments: list[str]

    @property
    def name(self) -> str:
        path, _, function = self.kernel.rpartition("::")
        return Path(path).stem if function == "kernel" else f"{Path(path).stem}::{function}"


@dataclass
class Row:
    """What was measured: executed calls, and processor seconds of the three ways to trace."""

    kernel: str
    arguments: list[str]
    api: str
    calls: int
    full: float
    shortcuts: float
    process: float


def example_cases() -> Iterator[Case]:
    """The kernels of examples/."""
    folder = TOP / "examples" / "kernels"
    for case in json.loads((folder / "cases.json").read_text())["cases"]:
        yield Case(str(folder / case["kernel"]), case["args"])


def corpus_cases(corpus: Path) -> Iterator[Case]:
    """Public kernels of both APIs."""
    for name in ("zhang677+AccelOpt", "aws-neuron+nki-samples"):
        table = json.loads((TOP / "tools" / "corpus_cases" / f"{name}.json").read_text())
        for case in table["cases"]:
            if "arguments" in case and "prelude" not in case and "grid" not in case:
                yield Case(f"{corpus / name / case['path']}::{case['function']}", case["arguments"])
    for kernel, values in MORE:
        yield Case(str(corpus / kernel), list(values))


def forked(work: Callable[[], Any]) -> Any:
    """The result of `work` in a fork of this process; SystemExit if it fails."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writable, json.dumps(work()).encode())
            status = 0
        except Exception as problem:
            print(problem, file=sys.stderr)
        finally:
            os._exit(status)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit("a kernel was not traced; see above")
    return json.loads(text)


def traced(case: Case, takes_shortcuts: bool) -> tuple[str, int, float]:
    """API, executed calls and processor seconds of one trace."""
    values = [arguments.parse(text)[1] for text in case.arguments]
    with kernel_named(case.kernel) as function:
        start = time.process_time()
        program = trace(function, values, takes_shortcuts=takes_shortcuts)
        lines = program.lines()
        seconds = time.process_time() - start
    return json.loads(lines[0])["api"], program.instructions, seconds


def process_seconds(case: Case) -> float:
    """Processor seconds of the whole command."""
    options = [word for value in case.arguments for word in ("--arg", value)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "trnsim.frontend", case.kernel, *options, "-o", "-"],
                   env=os.environ | {"PYTHONPATH": str(TOP / "tools" / "python")},
                   stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(case: Case, repetitions: int, least: int) -> Row | None:
    """A row of the table; None for a kernel with few calls."""
    api, calls, shortcuts = forked(lambda: traced(case, True))
    if calls < least:
        return None
    full = [forked(lambda: traced(case, False))[2] for _ in range(repetitions)]
    more = [forked(lambda: traced(case, True))[2] for _ in range(repetitions - 1)]
    whole = [process_seconds(case) for _ in range(repetitions)]
    return Row(case.name, case.arguments, api, calls, min(full), min([shortcuts, *more]),
               min(whole))


def line(row: Row) -> str:
    """One row of the table."""
    api = "new" if row.api == "nki" else "old"
    shape = row.arguments[0] if row.arguments else ""
    return (f"{f'{row.kernel} {shape}':72.72}  {api}  {row.calls:>9,}"
            f"  {row.full:7.3f}  {row.calls / row.full:>11,.0f}"
            f"  {row.shortcuts:7.3f}  {row.calls / row.shortcuts:>11,.0f}  {row.process:7.3f}")


HEADING = (f"{'kernel':72}  api  {'calls':>9}  {'full s':>7}  {'calls/s':>11}"
           f"  {'short s':>7}  {'calls/s':>11}  process")


def profile(case: Case, takes_shortcuts: bool) -> None:
    """Prints where the time of one trace goes."""
    collector = cProfile.Profile()
    collector.runcall(traced, case, takes_shortcuts)
    print(case.name)
    pstats.Stats(collector).sort_stats("tottime").print_stats(30)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="a folder of checkouts called owner+repo")
    parser.add_argument("--only", default="", help="kernels whose name contains this")
    parser.add_argument("--least", type=int, default=1000, help="calls of a kernel [1000]")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--profile", choices=("full", "shortcuts"),
                        help="show where the time goes instead")
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    options = parser.parse_args()

    cases = corpus_cases(options.corpus) if options.corpus else example_cases()
    rows: list[Row] = []
    install()
    if not options.profile:
        print(HEADING)
    for case in cases:
        if options.only not in f"{case.name} {' '.join(case.arguments)}":
            continue
        if options.profile:
            profile(case, options.profile == "shortcuts")
            continue
        row = measure(case, options.repetitions, options.least)
        if row is not None:
            rows.append(row)
            print(line(row), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
