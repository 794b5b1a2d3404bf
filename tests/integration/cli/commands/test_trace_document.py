# SPDX-License-Identifier: Apache-2.0
# The lowered trace in docs/trace-format.md is one.
"""What the document shows runs, and each of its semaphores is needed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import CommandLine

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "trace-format.md"


def documented() -> list[str]:
    """The lines of the last trace in the document."""
    blocks = re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return str(blocks[-1]).splitlines()


def write(trnsim: CommandLine, lines: list[str]) -> str:
    """The name of a file with these lines."""
    (trnsim.folder / "documented.nkt").write_text("\n".join(lines) + "\n")
    return "documented.nkt"


def test_the_lowered_trace_of_the_document_runs(trnsim: CommandLine) -> None:
    result = trnsim.result(write(trnsim, documented()))
    assert result["kernel"] == "exponentials"
    assert result["summary"]["hbm_read_bytes"] == 4 * 128 * 512 * 2
    assert result["summary"]["scalar_engine_instruction_count"] == 4
    assert not result["warnings"]


@pytest.mark.parametrize("semaphore", [1, 2])
def test_each_semaphore_of_the_document_is_needed(trnsim: CommandLine, semaphore: int) -> None:
    records = [json.loads(line) for line in documented()]
    for record in records:
        for key in ("wait", "signal"):
            if record.get(key, [{}])[0].get("semaphore") == semaphore:
                del record[key]
    lines = [json.dumps(record) for record in records]
    assert trnsim.fails(3, "run", write(trnsim, lines)).startswith("race: exponentials.txt:")
