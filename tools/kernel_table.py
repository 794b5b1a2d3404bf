#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs public kernels in place on every chip and writes docs/kernels.md.

    tools/kernel_table.py --corpus PATH            all kernels of kernel_table_cases.json
    tools/kernel_table.py --corpus PATH --only silu

PATH is a folder of checkouts called owner+repository, as public kernels are run in place and never copied. A kernel
that does not run on a chip is listed with the reason. Times are process times of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
CHIPS = ("inf2", "trn1", "trn2", "trn3")
REFERENCE_CHIP = "trn2"
HEADER = """# Public kernels on trnsim

Written by `tools/kernel_table.py --corpus PATH` (PATH: a folder of checkouts called `owner+repository`). The kernels are
unmodified and run in place. *Calls* are executed `nisa` operations; *MACs* are multiply-accumulates without transposes,
relative to the analytic count; bytes, calls and MACs are those of {reference}. Latency is comparable to a profiler's
`total_time`. *Trace* and *run* are processor seconds of tracing in Python and of simulating (reading the trace to the
written result) for {reference}.

A MAC ratio above 1 is a kernel that broadcasts with matmuls: NKI's `broadcast_to` over partitions and partition
reductions run on the Tensor Engine and are counted there.

| kernel | arguments | calls | MACs / analytic | HBM read, write MiB | inf2 us | trn1 us | trn2 us | trn3 us | trace s | run s |
|---|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass
class Row:
    """What was found for one kernel."""

    case: dict[str, Any]
    latency: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    calls: int = 0
    trace_seconds: float = 0.0
    run_seconds: float = 0.0


def run(command: list[str]) -> tuple[subprocess.CompletedProcess[str], float]:
    """Runs a command; also tells the processor time it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(trnsim: Path, corpus: Path, case: dict[str, Any], folder: Path) -> Row:
    """Traces and simulates one kernel on every chip."""
    row = Row(case)
    kernel = corpus / case["repository"].replace("/", "+") / case["path"]
    arguments = [word for value in case["arguments"] for word in ("--arg", value)]
    for chip in CHIPS:
        trace, result = folder / "kernel.nkt", folder / "result.json"
        traced, trace_seconds = run([str(trnsim), "trace", f"{kernel}::{case['function']}",
                                     "--chip", chip, *arguments, "-o", str(trace), "--quiet"])
        simulated, run_seconds = traced, 0.0
        if traced.returncode == 0:
            simulated, run_seconds = run([str(trnsim), "run", str(trace), "--chip", chip,
                                          "--json", str(result), "--quiet"])
        if simulated.returncode != 0:
            row.latency[chip] = "–"
            row.reasons[chip] = simulated.stderr.strip().replace(f"{corpus}{os.sep}", "")
            continue
        report = json.loads(result.read_text(encoding="utf-8"))
        row.latency[chip] = f"{report['summary']['latency_us']:,.1f}"
        if chip == REFERENCE_CHIP:
            row.summary, row.calls = report["summary"], report["run"]["nisa_call_count"]
            row.trace_seconds, row.run_seconds = trace_seconds, run_seconds
    return row


def macs_text(row: Row) -> str:
    """The ratio to the analytic count, or the count itself where that is zero."""
    macs = row.summary["model_flops"] / 2
    if row.case["macs"]:
        return f"{macs / row.case['macs']:.4f}"
    return "0 / 0" if macs == 0 else f"{macs:,.0f} / 0"


def line(row: Row) -> str:
    """One row of the table."""
    name = f"{row.case['repository'].split('/')[1]} {Path(row.case['path']).stem}"
    if row.case["function"] != "kernel":
        name += f"::{row.case['function']}"
    cells = [name, ", ".join(row.case["arguments"])]
    if row.summary:
        mib = [f"{row.summary[key] / 2**20:,.2f}" for key in ("hbm_read_bytes", "hbm_write_bytes")]
        cells += [f"{row.calls:,}", macs_text(row), ", ".join(mib)]
    else:
        cells += ["–", "–", "–"]
    cells += [row.latency[chip] for chip in CHIPS]
    cells += [f"{row.trace_seconds:.2f}", f"{row.run_seconds:.3f}"]
    return "| " + " | ".join(cells) + " |"


def page(rows: list[Row]) -> str:
    """The whole document."""
    text = HEADER.format(reference=REFERENCE_CHIP) + "\n".join(map(line, rows)) + "\n"
    failures = [f"* {Path(row.case['path']).stem}::{row.case['function']} on {chip}: {reason}"
                for row in rows for chip, reason in row.reasons.items()]
    if failures:
        text += "\n## What does not run, and why\n\n" + "\n".join(failures) + "\n"
    return text


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="folder of owner+repository checkouts")
    parser.add_argument("--trnsim", type=Path, default=TOP / "build/release/tools/trnsim/trnsim")
    parser.add_argument("--only", default="", help="kernels whose path or function contains this")
    parser.add_argument("--output", type=Path, default=TOP / "docs/kernels.md")
    options = parser.parse_args()
    cases = json.loads((TOP / "tools/kernel_table_cases.json").read_text(encoding="utf-8"))
    cases = [case for case in cases if options.only in f"{case['path']}::{case['function']}"]
    if not cases:
        sys.exit(f"--only {options.only}: no kernel of kernel_table_cases.json has that in its name")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            rows.append(measure(options.trnsim, options.corpus, case, Path(folder)))
            print(line(rows[-1]), flush=True)
    temporary = options.output.with_suffix(".tmp")
    temporary.write_text(page(rows), encoding="utf-8")
    temporary.replace(options.output)
    return 1 if any(row.reasons for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
