# SPDX-License-Identifier: Apache-2.0
# Every example kernel runs on every chip it is listed for, and does the work it is listed with.
"""Tests of examples/kernels/cases.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine

FOLDER = Path(__file__).resolve().parents[4] / "examples" / "kernels"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())["cases"]
RUNS = [(case, chip) for case in CASES for chip in case["chips"]]


@pytest.mark.parametrize("case, chip", RUNS, ids=[f"{case['id']}-{chip}" for case, chip in RUNS])
def test_an_example_does_its_work(trnsim: CommandLine, case: dict[str, Any], chip: str) -> None:
    words = [word for argument in case["args"] for word in ("--arg", argument)]
    result = trnsim.result(f"{FOLDER}/{case['kernel']}", *words, "--chip", chip)
    summary = result["summary"]
    spills = summary["spill_save_bytes"] + summary["spill_reload_bytes"]
    assert spills == 0
    for key, value in case["expected"].items():
        assert summary[key] == value, key
    assert 0 <= summary["mfu_estimated_percent"] <= summary["hfu_estimated_percent"] <= 100
    for line in result["attribution"]:
        assert sum(line["waited_for_ns"].values()) == pytest.approx(line["stalled_ns"], abs=0.1)


def test_every_kernel_file_has_a_case() -> None:
    listed = {case["kernel"].split("::")[0] for case in CASES}
    assert listed == {path.name for path in FOLDER.glob("*.py")}
