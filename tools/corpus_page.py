# SPDX-License-Identifier: Apache-2.0
# What tools/corpus found out about a kernel, and docs/kernels.md made of it.
"""Rows and the page of tools/corpus."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHIPS = ("trn2", "trn1", "inf2", "trn3")
"""The first chip on which a kernel runs gives its counts."""

TRACE_BYTES = 50_000
"""Traces follow the size of a kernel's source, not of its loops: no kernel has a larger one."""

SUMMARY = ("latency_us", "model_flops", "hbm_read_bytes", "hbm_write_bytes")
"""What the page needs of a report's summary."""

HEADER = """# Public kernels on trnsim

Written by `tools/corpus --corpus PATH` (PATH: a folder of checkouts called `owner+repository`) from the tables in
`tools/corpus_cases`. The kernels are unmodified and run in place.

*Right* compares the values that the simulator computes with the reference of the kernel's own repository, or with a
formula in our table where it has none: the largest difference, relative to the largest magnitude of the reference, or *no*;
– where there is no reference, or it has not been compared. What only a test's own validator judges has *yes*. 0 is exact,
and says little where the reference is another kernel that ran here too (autocomp). The shapes are those of the reference,
which may be smaller ones.
*Instructions* are executed `nisa` operations; *MACs* are multiply-accumulates without transposes, relative to the
analytic count where the table has one. *HBM* has in brackets how often the arguments were read and the results written as a
whole: 1.00 is what a kernel has to move that uses each byte of them once and nothing else; more is read again, kept in HBM in
between or spilled, less is not used. Bytes, instructions and MACs are those of trn2, or of the first chip that the
kernel is for. Latency is comparable to a profiler's `total_time`. *Trace* and *run* are processor seconds of tracing in
Python and of simulating on that chip; *trace kB* is the size of the trace as it is written and, in brackets, of its text.

A MAC ratio above 1 is a kernel that broadcasts with matmuls: NKI's `broadcast_to` over partitions and partition
reductions run on the Tensor Engine and are counted there.

"""
COLUMNS = """| kernel | arguments | ran | right | instructions | MACs / analytic | HBM read, write MiB | \
inf2 us | trn1 us | trn2 us | trn3 us | trace s | run s | trace kB |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
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
    tensors: dict[str, int] = field(default_factory=dict)
    """Bytes of all its arguments, "input", and of its results, "output"."""
    entered: list[str] = field(default_factory=list)
    """Kernels that this one calls."""
    bytes: int = 0
    """Size of the trace as it is written, compressed; the largest of all chips."""
    text_bytes: int = 0
    """Size of its text, likewise."""
    right: dict[str, Any] = field(default_factory=dict)
    """What corpus_reference.py found; empty if nothing was compared."""
    inside: str = ""
    """For a helper: whether the kernel that calls it ran ("ran") and was right ("right")."""

    def clear(self) -> None:
        """Forgets everything but the comparison of values."""
        self.__init__(self.case, right=self.right)  # type: ignore[misc]

    def record(self) -> dict[str, Any]:
        """All fields but the case, for a file; of the reports, what the page needs."""
        found = {name: value for name, value in vars(self).items() if name != "case"}
        found["reports"] = {chip: _kept(report) for chip, report in self.reports.items()}
        return found

    @property
    def chips(self) -> list[str]:
        """The chips that the kernel is for."""
        return [chip for chip in CHIPS if chip in self.case.get("chips", CHIPS)]

    @property
    def is_measured(self) -> bool:
        """Whether a run has traced it or failed to."""
        return bool(self.reports or self.reasons or "inside" in self.case)

    @property
    def has_large_trace(self) -> bool:
        """Whether the trace is larger than it may be."""
        return self.bytes > TRACE_BYTES

    @property
    def ran(self) -> bool:
        """Whether the kernel was simulated on at least one of its chips."""
        return bool(self.reports) or self.inside != ""

    @property
    def is_right(self) -> bool | None:
        """Whether the values agree with the reference; None if there is none."""
        if self.inside:
            return True if self.inside == "right" else None
        return not self.right["reason"] if "error" in self.right else None

    @property
    def reference(self) -> dict[str, Any]:
        """How the table checks its values; empty if it does not."""
        return self.case.get("reference") or {}

    @property
    def is_as_expected(self) -> bool:
        """Whether the kernel does what its table says."""
        if self.right.get("reason"):
            return "differs" in self.reference
        if self.has_large_trace:
            return False
        expected = self.case.get("expected")
        if expected is not None and self.is_measured:
            return all(expected in reason for reason in self.reasons.values())
        return self.ran or "broken" in self.case or not self.is_measured

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


def _kept(report: dict[str, Any]) -> dict[str, Any]:
    summary = report["summary"]
    return {"summary": {key: summary[key] for key in SUMMARY if key in summary},
            "run": {"nisa_call_count": report["run"]["nisa_call_count"]}}


def inherit(rows: list[Row]) -> None:
    """Lets helpers have what the kernels that enter them have."""
    for row in rows:
        if "inside" not in row.case:
            continue
        callers = [one for one in rows if one.case["function"] == row.case["inside"]
                   and one.case["repository"] == row.case["repository"]]
        function = row.case["function"]
        if any(one.is_right and function in one.right["kernels"] for one in callers):
            row.inside = "right"
        elif any(one.ran and function in one.entered for one in callers):
            row.inside = "ran"


def remember(rows: list[Row], page_text: str) -> None:
    """Lets rows without a comparison have what an earlier page says of it: comparing all kernels
    takes hours, and the rows may be gone."""
    known = _comparisons(page_text)
    for row in rows:
        same = known.get((row.case["repository"], row.name, _arguments(row)))
        found = same.pop(0) if same else None
        if found is None or row.right:
            continue
        if "inside" not in row.case:
            reason = found["reason"].removesuffix(_difference(row))
            row.right = {**found, "reason": reason}
        elif not found["reason"]:
            row.inside = "right"


def _comparisons(page_text: str) -> dict[tuple[str, str, str], list[dict[str, Any] | None]]:
    """By repository, name and arguments what a page says of values, in its order."""
    found: dict[tuple[str, str, str], list[dict[str, Any] | None]] = {}
    for section in page_text.split("\n## ")[1:]:
        lines = section.splitlines()
        wrong: dict[str, list[str]] = {}
        for text in lines:
            if text.startswith("* ") and ": " in text:
                name, reason = text.removeprefix("* ").split(": ", 1)
                wrong.setdefault(name, []).append(reason)
        for text in lines[1:]:
            cells = text.removeprefix("| ").split(" | ")
            if "::" not in cells[0] or len(cells) < 4:
                continue
            same = found.setdefault((lines[0], cells[0], cells[1]), [])
            if cells[3] == "–":
                same.append(None)
            elif cells[3] == "no":
                reasons = wrong.get(cells[0].rsplit("/", 1)[-1], [])
                reason = reasons.pop(0) if reasons else "differs"
                same.append({"error": None, "kernels": [], "reason": reason})
            else:
                error = None if cells[3] == "yes" else float(cells[3])
                same.append({"error": error, "kernels": [], "reason": ""})
    return found


def summary(rows: list[Row], values: bool) -> str:
    """The last line of a run."""
    if not values:
        ran = f"{sum(row.ran for row in rows)} of {len(rows)} kernels ran"
        return f"{ran}; {_sizes(rows)}" if any(row.bytes for row in rows) else ran
    compared = [row for row in rows if row.right or row.inside == "right"]
    return (f"{sum(row.is_right is True for row in compared)} of {len(compared)} kernels with a "
            "reference are right")


def _sizes(rows: list[Row]) -> str:
    """The largest trace, and how many are larger than they may be."""
    largest = max(rows, key=lambda row: row.bytes)
    text = max(rows, key=lambda row: row.text_bytes)
    return (f"the largest trace has {largest.bytes:,} bytes ({largest.case['function']}), the "
            f"longest text {text.text_bytes:,} ({text.case['function']}); traces over "
            f"{TRACE_BYTES:,} bytes: {sum(row.has_large_trace for row in rows)}, texts: "
            f"{sum(row.text_bytes > TRACE_BYTES for row in rows)}")


def _right(row: Row) -> str:
    if row.is_right is None:
        return "no" if row.right else "–"
    if not row.is_right:
        return "no"
    error = row.right.get("error")
    return "yes" if error is None else f"{error:.1e}" if error else "0"


def _macs(row: Row, summary: dict[str, Any]) -> str:
    """The ratio to the analytic count, or the count itself where there is none."""
    macs = summary["model_flops"] / 2
    expected = row.case.get("macs")
    if expected:
        return f"{macs / expected:.4f}"
    return f"{macs:,.0f}" if expected is None or macs == 0 else f"{macs:,.0f} / 0"


def _bytes(row: Row, summary: dict[str, Any], way: str, kind: str) -> str:
    """MiB that were moved, and how often that is all that there is to move."""
    moved = summary[f"hbm_{way}_bytes"]
    all_bytes = row.tensors.get(kind, 0)
    return f"{moved / 2**20:,.2f}" + (f" ({moved / all_bytes:.2f})" if all_bytes else "")


def _arguments(row: Row) -> str:
    given = row.case.get("arguments", [])
    arguments = ", ".join(row.arguments or (given if isinstance(given, list) else []))
    if "inside" in row.case:
        arguments = f"called by {row.case['inside']}"
    return arguments if len(arguments) < 160 else f"{arguments[:150]} …"


def line(row: Row) -> str:
    """One row of the table."""
    cells = [row.name, _arguments(row), "yes" if row.ran else "no", _right(row)]
    chip = next(iter(row.reports), None)
    if chip is None:
        cells += ["–"] * 3
    else:
        summary = row.reports[chip]["summary"]
        cells += [f"{row.reports[chip]['run']['nisa_call_count']:,}", _macs(row, summary),
                  f"{_bytes(row, summary, 'read', 'input')}, "
                  f"{_bytes(row, summary, 'write', 'output')}"]
    for one in sorted(CHIPS):
        report = row.reports.get(one)
        cells.append("–" if report is None else f"{report['summary']['latency_us']:,.1f}")
    cells += ["–", "–"] if chip is None else [f"{row.trace_seconds[chip]:.2f}",
                                              f"{row.run_seconds[chip]:.3f}"]
    cells.append(f"{row.bytes / 1e3:.1f} ({row.text_bytes / 1e3:.1f})" if row.text_bytes
                 else "–")
    return "| " + " | ".join(cells).replace("\n", " ") + " |"


def _cause(row: Row) -> str:
    """What the table says about a kernel that cannot run."""
    return f" (the kernel: {row.case['broken']})" if "broken" in row.case else ""


def _difference(row: Row) -> str:
    """What the table says about values that are not those of the reference."""
    known = row.reference.get("differs")
    return f" ({known})" if known else ""


def page(rows: list[Row]) -> str:
    """The whole document."""
    repositories = list(dict.fromkeys(row.case["repository"] for row in rows))
    text = HEADER + ("| repository | kernels | ran | with a reference | right |\n"
                     "|---|---|---|---|---|\n")
    groups = {name: [row for row in rows if row.case["repository"] == name]
              for name in repositories}
    for name, group in groups.items():
        compared = [row for row in group if row.right or row.inside == "right"]
        text += (f"| {name} | {len(group)} | {sum(row.ran for row in group)} | {len(compared)} | "
                 f"{sum(row.is_right is True for row in compared)} |\n")
    for name, group in groups.items():
        text += f"\n## {name}\n\n{COLUMNS}" + "\n".join(map(line, group)) + "\n"
        failures = [f"* {Path(row.case['path']).name}::{row.case['function']} on "
                    f"{', '.join(sorted(chips))}: {reason}{_cause(row)}"
                    for row in group for reason, chips in row.by_reason().items()]
        if failures:
            text += "\nWhat does not run, and why:\n\n" + "\n".join(failures) + "\n"
        wrong = [f"* {Path(row.case['path']).name}::{row.case['function']}: "
                 f"{row.right['reason']}{_difference(row)}" for row in group if row.right.get("reason")]
        if wrong:
            text += "\nWhat is not right, and why:\n\n" + "\n".join(wrong) + "\n"
    return text
