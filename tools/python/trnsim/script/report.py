# SPDX-License-Identifier: Apache-2.0
# What is told about the kernel calls of a script.
"""One line for each call, and the JSON file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import trnsim
from trnsim.script.calls import Call

SCHEMA_VERSION = 1
COLUMNS = 100


def summary_lines(calls: Sequence[Call]) -> list[str]:
    """A table with one line for each call, and what its marks mean."""
    is_marked = _has_both(calls)
    rows = [("call", "kernel", "called at", "chip", "latency" + " " * is_marked, "bound by",
             "arguments")]
    rows += [(str(call.number), call.result.kernel, call.source, call.options.chip,
              f"{call.result.latency_us:,.2f} us" + _mark(call) * is_marked,
              f"{call.result.bound_by} {call.result.bound_percent:.1f} %",
              ", ".join(call.result.arguments)) for call in calls]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = []
    for row in rows:
        cells = [row[0].rjust(widths[0]), row[1].ljust(widths[1]), row[2].ljust(widths[2]),
                 row[3].ljust(widths[3]), row[4].rjust(widths[4]), row[5].ljust(widths[5]), row[6]]
        lines.append(_clipped("  " + "  ".join(cells).rstrip()))
    if is_marked:
        lines += ["  * like nki.benchmark, which counts another part of the launch; the others "
                  "like a profiler's", "    total_time; --method makes them alike"]
    return lines


def _mark(call: Call) -> str:
    return "*" if call.options.method == "benchmark" else " "


def _has_both(calls: Sequence[Call]) -> bool:
    """Whether some latencies are like nki.benchmark's and others like a profiler's."""
    return len({call.options.method for call in calls}) > 1


def _clipped(line: str) -> str:
    return line if len(line) <= COLUMNS else line[:COLUMNS - 1] + "…"


def title(script: str, calls: Sequence[Call]) -> str:
    """The line above the table."""
    total = sum(call.result.latency_us for call in calls)
    noun = "kernel call" if len(calls) == 1 else "kernel calls"
    methods = ", by two methods" if _has_both(calls) else ""
    return f"{script}: {len(calls)} {noun}, {total:,.2f} us simulated{methods}"


def slowest(calls: Sequence[Call]) -> Call:
    """The call with the longest latency, the first of several."""
    return max(calls, key=lambda call: call.result.latency_us)


def document(script: str, arguments: Sequence[str], calls: Sequence[Call],
             notes: Sequence[str]) -> dict[str, Any]:
    """What `trnsim run script.py --json` writes, configs/schema/script.schema.json."""
    return {"schema_version": SCHEMA_VERSION, "trnsim_version": trnsim.__version__,
            "script": script, "arguments": list(arguments),
            "calls": [call.to_dict() for call in calls], "warnings": list(notes)}


def json_text(document: dict[str, Any]) -> str:
    """The text of a JSON file."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
