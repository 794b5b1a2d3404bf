# SPDX-License-Identifier: Apache-2.0
# What tools/corpus found out about a kernel, and docs/kernels.md made of it.
"""Rows and the page of tools/corpus."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHIPS = ("trn2", "trn1", "inf2", "trn3")
"""The first chip on which a kernel runs gives its counts."""

HEADER = """# Public kernels on trnsim

Written by `tools/corpus --corpus PATH` (PATH: a folder of checkouts called `owner+repository`) from the tables in
`tools/corpus_cases`. The kernels are unmodified and run in place.

*Right*: whether the values are (– until they are computed). *Instructions* are executed `nisa` operations; *MACs* are
multiply-accumulates without transposes, relative to the analytic count where the table has one; bytes, instructions and
MACs are those of trn2, or of the first chip that the kernel is for. Latency is comparable to a profiler's `total_time`.
*Trace* and *run* are processor seconds of tracing in Python and of simulating on that chip.

A MAC ratio above 1 is a kernel that broadcasts with matmuls: NKI's `broadcast_to` over partitions and partition
reductions run on the Tensor Engine and are counted there.

"""
COLUMNS = """| kernel | arguments | ran | right | instructions | MACs / analytic | HBM read, write MiB | \
inf2 us | trn1 us | trn2 us | trn3 us | trace s | run s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""


@dataclass
class Row:
    """What was found for one kernel."""

    case: dict[str, Any]
    arguments: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    reports: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    trace_seconds: dict[str, float] = field(default_factory=dict)
    run_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def chips(self) -> list[str]:
        """The chips that the kernel is for."""
        return [chip for chip in CHIPS if chip in self.case.get("chips", CHIPS)]

    @property
    def ran(self) -> bool:
        """Whether the kernel was simulated on at least one of its chips."""
        return bool(self.reports)

    @property
    def name(self) -> str:
        """Path and function."""
        return f"{self.case['path']}::{self.case['function']}"

    def by_reason(self) -> dict[str, list[str]]:
        """The reasons for not running with the chips they hold for."""
        found: dict[str, list[str]] = {}
        for chip, reason in self.reasons.items():
            found.setdefault(reason, []).append(chip)
        return found


def _macs(row: Row, summary: dict[str, Any]) -> str:
    """The ratio to the analytic count, or the count itself where there is none."""
    macs = summary["model_flops"] / 2
    expected = row.case.get("macs")
    if expected:
        return f"{macs / expected:.4f}"
    return f"{macs:,.0f}" if expected is None or macs == 0 else f"{macs:,.0f} / 0"


def line(row: Row) -> str:
    """One row of the table."""
    arguments = ", ".join(row.arguments or row.case.get("arguments", []))
    cells = [row.name, arguments if len(arguments) < 160 else f"{arguments[:150]} …",
             "yes" if row.ran else "no", "–"]
    chip = next(iter(row.reports), None)
    if chip is None:
        cells += ["–"] * 3
    else:
        summary = row.reports[chip]["summary"]
        mib = [f"{summary[key] / 2**20:,.2f}" for key in ("hbm_read_bytes", "hbm_write_bytes")]
        cells += [f"{row.reports[chip]['run']['nisa_call_count']:,}", _macs(row, summary),
                  ", ".join(mib)]
    for one in sorted(CHIPS):
        report = row.reports.get(one)
        cells.append("–" if report is None else f"{report['summary']['latency_us']:,.1f}")
    cells += ["–", "–"] if chip is None else [f"{row.trace_seconds[chip]:.2f}",
                                              f"{row.run_seconds[chip]:.3f}"]
    return "| " + " | ".join(cells).replace("\n", " ") + " |"


def _cause(row: Row) -> str:
    """What the table says about a kernel that cannot run."""
    return f" (the kernel: {row.case['broken']})" if "broken" in row.case else ""


def page(rows: list[Row]) -> str:
    """The whole document."""
    repositories = list(dict.fromkeys(row.case["repository"] for row in rows))
    text = HEADER + "| repository | kernels | ran |\n|---|---|---|\n"
    groups = {name: [row for row in rows if row.case["repository"] == name]
              for name in repositories}
    for name, group in groups.items():
        text += f"| {name} | {len(group)} | {sum(row.ran for row in group)} |\n"
    for name, group in groups.items():
        text += f"\n## {name}\n\n{COLUMNS}" + "\n".join(map(line, group)) + "\n"
        failures = [f"* {Path(row.case['path']).name}::{row.case['function']} on "
                    f"{', '.join(sorted(chips))}: {reason}{_cause(row)}"
                    for row in group for reason, chips in row.by_reason().items()]
        if failures:
            text += "\nWhat does not run, and why:\n\n" + "\n".join(failures) + "\n"
    return text
