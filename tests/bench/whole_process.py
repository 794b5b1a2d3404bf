#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Measures the whole command: from opening a trace to the written result.
"""Speed and memory of `trnsim run`, on one core.

    tests/bench/whole_process.py                   the example kernel, 8192^3 and 16384^3 bfloat16
    tests/bench/whole_process.py --corpus FOLDER   nki-samples' tiled product at those sizes, and
                                                   NKIBench's kernels

FOLDER holds checkouts called owner+repository, like tools/corpus's. Builds the release preset,
traces each kernel once, then runs the traces several times in turn, pinned to one core. The table
has the least of each, for a machine that others use too; --json writes all of it. "cpu s" and
calls/s count from opening the trace to the written result; "start s" is what comes before: the
process, its libraries and the chip file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
VENV_PYTHON = TOP / "build" / "venv" / "bin" / "python"
if __name__ == "__main__" and sys.prefix == sys.base_prefix and VENV_PYTHON.is_file():
    os.execv(VENV_PYTHON, [str(VENV_PYTHON), *sys.argv])

import zstandard  # noqa: E402

BINARY = TOP / "build" / "release" / "tools" / "trnsim" / "trnsim"
OWN_KERNEL = TOP / "examples" / "kernels" / "matmul.py"
TILED = Path("aws-neuron+nki-samples", "src/nki_samples/tutorials/matrix_multiplication",
             "matrix_multiplication_nki_kernels.py")
NKIBENCH = TOP / "tools" / "corpus_cases" / "zhang677+AccelOpt.json"


@dataclass(frozen=True)
class Case:
    """A kernel with its arguments."""

    name: str
    kernel: str
    arguments: tuple[str, ...]


@dataclass
class Measurement:
    """One kernel, all repetitions."""

    name: str
    chip: str
    instructions: int
    trace_seconds: float
    wall_seconds: list[float] = field(default_factory=list)
    start_seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    peak_rss_mib: float = 0.0
    simulated_seconds: float = 0.0

    @property
    def least_seconds(self) -> float:
        """Of the processor, from opening the trace to the written result."""
        return min(self.cpu_seconds)

    @property
    def calls_per_second(self) -> float:
        return self.instructions / self.least_seconds

    @property
    def per_simulated(self) -> float:
        return self.least_seconds / self.simulated_seconds


def build() -> None:
    """The release preset, up to date."""
    if not (TOP / "build" / "release" / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=TOP, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "trnsim", "-j2"],
                   cwd=TOP, check=True, stdout=subprocess.DEVNULL)


def products(kernel: str, sizes: list[int]) -> list[Case]:
    """A matrix product at several sizes."""
    return [Case(f"{kernel.rpartition('::')[2]} {size}^3", kernel,
                 (f"bfloat16[{size},{size}]",) * 2) for size in sizes]


def nkibench(corpus: Path) -> list[Case]:
    """NKIBench's kernels with the arguments of tools/corpus_cases."""
    table = json.loads(NKIBENCH.read_text())
    checkout = corpus / table["repository"].replace("/", "+")
    return [Case(Path(case["path"]).stem, f"{checkout / case['path']}::{case['function']}",
                 tuple(case["arguments"]))
            for case in table["cases"] if case["path"].startswith("NKIBench/")]


def cases(corpus: Path | None, sizes: list[int]) -> list[Case]:
    """What is measured."""
    if corpus is None:
        return products(f"{OWN_KERNEL}::matmul_naive", sizes)
    chosen = products(f"{corpus / TILED}::nki_matmul_tiled_", sizes) + nkibench(corpus)
    for case in chosen:
        path = Path(case.kernel.partition("::")[0])
        if not path.exists():
            sys.exit(f"--corpus {corpus}: has no {path.relative_to(corpus)}; name a folder of "
                     "checkouts called owner+repository")
    return chosen


def trace(binary: Path, case: Case, chip: str, output: Path) -> float:
    """Writes the trace; returns the seconds that took."""
    arguments = [text for argument in case.arguments for text in ("--arg", argument)]
    start = time.perf_counter()
    subprocess.run([binary, "trace", case.kernel, *arguments, "--chip", chip, "-o", output, "-q"],
                   check=True)
    return time.perf_counter() - start


def executed(path: Path) -> int:
    """The instructions of a trace, from its last record."""
    with zstandard.open(path, "rt") as text:
        return int(json.loads(text.read().splitlines()[-1])["instructions"])


def milestones(log: str) -> tuple[float, float]:
    """Processor seconds of the process when it opened the trace and when its result was written."""
    times = {verb: float(milliseconds) / 1e3 for milliseconds, verb in
             re.findall(r"^info ([0-9.]+) ms: (reading|wrote) ", log, re.MULTILINE)}
    return times["reading"], times["wrote"]


@dataclass(frozen=True)
class Run:
    """One run; processor seconds before the trace was opened, and from then to the result."""

    wall_seconds: float
    start_seconds: float
    cpu_seconds: float
    peak_rss_mib: float


def run_once(binary: Path, path: Path, chip: str, result: Path, core: int) -> Run:
    """Runs pinned to a core."""
    with tempfile.TemporaryFile("w+") as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            [binary, "run", path, "--chip", chip, "--quiet", "-v", "--json", result], stderr=log,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        said = log.read()
    if process.returncode != 0:
        sys.exit(f"{path}: trnsim run ended with status {process.returncode}: {said}")
    opened, written = milestones(said)
    return Run(wall, opened, written - opened, usage.ru_maxrss / 1024)


def measure(binary: Path, chosen: list[Case], chip: str, repetitions: int,
            folder: Path) -> list[Measurement]:
    """Traces once, runs `repetitions` times in turn."""
    traces = [folder / f"{number}.nkt" for number in range(len(chosen))]
    result = folder / "result.json"
    measurements = []
    for case, path in zip(chosen, traces, strict=True):
        seconds = trace(binary, case, chip, path)
        measurements.append(Measurement(case.name, chip, executed(path), seconds))
    core = min(os.sched_getaffinity(0))
    for _ in range(repetitions):
        for measurement, path in zip(measurements, traces, strict=True):
            run = run_once(binary, path, chip, result, core)
            measurement.wall_seconds.append(run.wall_seconds)
            measurement.start_seconds.append(run.start_seconds)
            measurement.cpu_seconds.append(run.cpu_seconds)
            measurement.peak_rss_mib = max(measurement.peak_rss_mib, run.peak_rss_mib)
            measurement.simulated_seconds = json.loads(
                result.read_text())["summary"]["total_time"]
    return measurements


def table(measurements: list[Measurement]) -> str:
    """Aligned columns, one row a kernel."""
    rows = [["kernel", "nisa calls", "trace s", "wall s", "start s", "spread %", "cpu s",
             "calls/s", "cpu/simulated", "peak MiB"]]
    for m in measurements:
        spread = 100 * (max(m.cpu_seconds) - m.least_seconds) / m.least_seconds
        rows.append([m.name, f"{m.instructions:,}", f"{m.trace_seconds:.2f}",
                     f"{min(m.wall_seconds):.3f}", f"{min(m.start_seconds):.4f}",
                     f"{spread:.0f}", f"{m.least_seconds:.4f}",
                     f"{m.calls_per_second:,.0f}", f"{m.per_simulated:.2f}",
                     f"{m.peak_rss_mib:.1f}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join([row[0].ljust(widths[0])] +
                               [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
                     for row in rows)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="a folder of checkouts called owner+repository")
    parser.add_argument("--binary", type=Path, help="measure this trnsim and build nothing")
    parser.add_argument("--sizes", type=int, nargs="+", default=[8192, 16384],
                        help="multiples of 512")
    parser.add_argument("--chip", default="trn2")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    options = parser.parse_args()

    if options.binary is None:
        build()
    binary = options.binary or BINARY
    with tempfile.TemporaryDirectory() as folder:
        measurements = measure(binary, cases(options.corpus, options.sizes), options.chip,
                               options.repetitions, Path(folder))
    print(f"{options.chip}, least of {options.repetitions} runs on one core")
    print(table(measurements))
    if options.json:
        options.json.write_text(json.dumps(
            [asdict(m) | {"least_seconds": m.least_seconds,
                          "calls_per_second": m.calls_per_second,
                          "cpu_per_simulated": m.per_simulated}
             for m in measurements], indent=2) + "\n")


if __name__ == "__main__":
    main()
