# SPDX-License-Identifier: Apache-2.0
"""tools/corpus_check.py on a small corpus; on nki-library where TRNSIM_CORPUS has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
CORPUS = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent"))
LIBRARY = TOOLS / "corpus_cases" / "nki_library.json"
KERNELS = """\
from dataclasses import dataclass
from enum import Enum
import nki, nki.isa as nisa, nki.language as nl

class Mode(Enum):
    TWICE = 2

@dataclass
class Options:
    mode: Mode
    rows: tuple

@nki.jit
def helper(tile):
    nisa.memset(tile, value=0)

@nki.jit
def scale(x, options, name="", dtype=None):
    assert options.mode is Mode.TWICE and options.rows == (1, 2) and name == "a"
    tile = nl.ndarray((128, 64), dtype=dtype, buffer=nl.sbuf)
    helper(tile)

@nki.jit
def broken(x):
    raise ValueError("no such thing")
"""


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOLS / "corpus_check.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def run(folder: Path, *cases: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    repository = folder / "owner+kernels"
    repository.mkdir(exist_ok=True)
    (repository / "kernels_of_a_test.py").write_text(KERNELS)
    table = folder / "table.json"
    every = [{"path": "kernels_of_a_test.py", **case} for case in cases]
    table.write_text(json.dumps({"repository": "owner+kernels", "cases": every}))
    return check("--corpus", str(folder), str(table))


MODULE = "kernels_of_a_test:"
SCALE = {"function": "scale", "lnc": 2, "arguments": {
    "x": "float32[128,64]", "name": {"text": "a"}, "dtype": {"dtype": "bfloat16"},
    "options": {"call": MODULE + "Options", "arguments": {
        "mode": {"enum": MODULE + "Mode.TWICE"}, "rows": {"tuple": [1, 2]}}}}}


def test_arguments_of_every_kind_reach_the_kernel(tmp_path: Path) -> None:
    done = run(tmp_path, SCALE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok   scale[2]: 2 instructions" in done.stdout
    assert "1 of 1 kernels trace; not: none" in done.stdout


def test_a_helper_counts_if_its_kernel_enters_it(tmp_path: Path) -> None:
    done = run(tmp_path, SCALE, {"function": "helper", "inside": "scale"},
               {"function": "broken", "inside": "scale"})
    assert "ok   helper: entered by scale" in done.stdout
    assert "2 of 3 kernels trace; not: broken" in done.stdout
    assert done.returncode == 1


def test_a_failure_is_told_with_its_line_unless_it_is_expected(tmp_path: Path) -> None:
    case = {"function": "broken", "arguments": {"x": "float32[4]"}}
    done = run(tmp_path, case)
    assert "kernels_of_a_test.py:25: the kernel raises ValueError: no such thing" in done.stdout
    assert done.returncode == 1
    assert run(tmp_path, {**case, "expected": "no such thing"}).returncode == 0


def test_a_case_without_its_library_is_left_out(tmp_path: Path) -> None:
    done = run(tmp_path, {**SCALE, "needs": ["no_such_library"]})
    assert "left out scale: no_such_library is not installed" in done.stdout
    assert done.returncode == 0


def test_the_table_names_the_55_entry_kernels() -> None:
    cases = json.loads(LIBRARY.read_text())["cases"]
    entries = {(case["path"], case["function"]) for case in cases}
    assert len(entries - {("src/nkilib_src/nkilib/core/moe/moe_tkg/moe_tkg.py", "moe_tkg")}) == 55


@pytest.mark.skipif(not CORPUS.is_dir(), reason="TRNSIM_CORPUS is not set")
def test_the_kernels_of_nki_library_trace() -> None:
    done = check("--corpus", str(CORPUS), str(LIBRARY))
    assert done.returncode == 0, done.stdout
