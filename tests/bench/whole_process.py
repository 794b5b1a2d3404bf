#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Measures the whole command: from opening a trace to the written result.
"""Speed and memory of `trnsim run` on a tiled matrix product, on one core.

    tests/bench/whole_process.py                   the example kernel, 8192^3 and 16384^3 bfloat16
    tests/bench/whole_process.py --corpus FOLDER   nki-samples' tiled product, from a checkout

Builds the release preset, traces each size once, then runs the trace several times pinned to one
core. The table shows medians; --json writes all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import zstandard

TOP = Path(__file__).resolve().parents[2]
BINARY = TOP / "build" / "release" / "tools" / "trnsim" / "trnsim"
OWN_KERNEL = TOP / "examples" / "kernels" / "matmul.py"
CORPUS_KERNEL = Path("src/nki_samples/tutorials/matrix_multiplication",
                     "matrix_multiplication_nki_kernels.py")


@dataclass
class Measurement:
    """One size, all repetitions."""

    kernel: str
    size: int
    chip: str
    instructions: int
    trace_seconds: float
    wall_seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    peak_rss_mib: float = 0.0
    simulated_seconds: float = 0.0

    @property
    def median_seconds(self) -> float:
        return statistics.median(self.wall_seconds)

    @property
    def calls_per_second(self) -> float:
        return self.instructions / self.median_seconds

    @property
    def wall_per_simulated(self) -> float:
        return self.median_seconds / self.simulated_seconds


def build() -> None:
    """The release preset, up to date."""
    if not (TOP / "build" / "release" / "CMakeCache.txt").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=TOP, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "release", "--target", "trnsim", "-j2"],
                   cwd=TOP, check=True, stdout=subprocess.DEVNULL)


def kernel_reference(corpus: Path | None) -> str:
    """The kernel that is measured."""
    if corpus is None:
        return f"{OWN_KERNEL}::matmul_naive"
    path = corpus / CORPUS_KERNEL
    if not path.exists():
        sys.exit(f"--corpus {corpus}: has no {CORPUS_KERNEL}; "
                 "name a checkout of aws-neuron/nki-samples")
    return f"{path}::nki_matmul_tiled_"


def trace(binary: Path, kernel: str, size: int, chip: str, output: Path) -> float:
    """Writes the trace; returns the seconds that took."""
    matrix = f"bfloat16[{size},{size}]"
    start = time.perf_counter()
    subprocess.run([binary, "trace", kernel, "--arg", matrix, "--arg", matrix, "--chip", chip,
                    "-o", output, "-q"], check=True)
    return time.perf_counter() - start


def executed(path: Path) -> int:
    """The instructions of a trace, from its last record."""
    with zstandard.open(path, "rt") as text:
        return int(json.loads(text.read().splitlines()[-1])["instructions"])


def run_once(binary: Path, path: Path, chip: str, result: Path,
             core: int) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and peak MiB of one run, pinned to a core."""
    start = time.perf_counter()
    process = subprocess.Popen([binary, "run", path, "--chip", chip, "--quiet", "--json", result],
                               preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{path}: trnsim run ended with status {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(binary: Path, kernel: str, size: int, chip: str, repetitions: int,
            folder: Path) -> Measurement:
    """Traces once, runs `repetitions` times."""
    path, result = folder / f"{size}.nkt", folder / f"{size}.json"
    seconds = trace(binary, kernel, size, chip, path)
    measurement = Measurement(kernel.rpartition("/")[2], size, chip, executed(path), seconds)
    core = min(os.sched_getaffinity(0))
    for _ in range(repetitions):
        wall, cpu, rss = run_once(binary, path, chip, result, core)
        measurement.wall_seconds.append(wall)
        measurement.cpu_seconds.append(cpu)
        measurement.peak_rss_mib = max(measurement.peak_rss_mib, rss)
    measurement.simulated_seconds = json.loads(result.read_text())["summary"]["total_time"]
    return measurement


def table(measurements: list[Measurement]) -> str:
    """Aligned columns, one row a size."""
    rows = [["size", "nisa calls", "trace s", "wall s", "spread %", "cpu s", "calls/s",
             "wall/simulated", "peak MiB"]]
    for m in measurements:
        spread = 100 * (max(m.wall_seconds) - min(m.wall_seconds)) / m.median_seconds
        rows.append([f"{m.size}^3", f"{m.instructions:,}", f"{m.trace_seconds:.2f}",
                     f"{m.median_seconds:.3f}", f"{spread:.0f}",
                     f"{statistics.median(m.cpu_seconds):.3f}", f"{m.calls_per_second:,.0f}",
                     f"{m.wall_per_simulated:.2f}", f"{m.peak_rss_mib:.1f}"])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths))
                     for row in rows)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="a checkout of aws-neuron/nki-samples")
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
    kernel = kernel_reference(options.corpus)
    with tempfile.TemporaryDirectory() as folder:
        measurements = [measure(binary, kernel, size, options.chip, options.repetitions,
                                Path(folder)) for size in options.sizes]
    print(f"{measurements[0].kernel}, bfloat16, {options.chip}, "
          f"median of {options.repetitions} runs on one core")
    print(table(measurements))
    if options.json:
        options.json.write_text(json.dumps(
            [asdict(m) | {"median_seconds": m.median_seconds,
                          "calls_per_second": m.calls_per_second,
                          "wall_per_simulated": m.wall_per_simulated}
             for m in measurements], indent=2) + "\n")


if __name__ == "__main__":
    main()
