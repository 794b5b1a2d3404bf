# SPDX-License-Identifier: Apache-2.0
"""tools/rebaseline.py shows what moved and writes only when told to."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "rebaseline.py"
TRACE = "matmul_tiled.json"
OLD = {"trn2": {"total_ps": 200, "gone": 7}}
NEW = {"trn2": {"total_ps": 210, "new": 3}}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout whose golden tests write NEW where OLD is committed."""
    (tmp_path / "tools").mkdir()
    shutil.copy(SCRIPT, tmp_path / "tools")
    golden = tmp_path / "tests" / "golden"
    golden.mkdir(parents=True)
    (golden / TRACE).write_text(json.dumps(OLD))
    binary = tmp_path / "build" / "release" / "tests" / "golden" / "simulator_golden_test"
    binary.parent.mkdir(parents=True)
    binary.write_text(
        f"#!/bin/sh\nprintf '%s' '{json.dumps(NEW)}' > \"$TRNSIM_GOLDEN_OUTPUT/{TRACE}\"\nexit 1\n"
    )
    binary.chmod(0o755)
    return tmp_path


def rebaseline(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(tree / "tools" / "rebaseline.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def golden(tree: Path) -> object:
    return json.loads((tree / "tests" / "golden" / TRACE).read_text())


def test_moved_numbers_are_shown_and_nothing_is_written(tree: Path) -> None:
    done = rebaseline(tree)
    assert done.stdout == (
        "matmul_tiled:\n"
        "  trn2 gone: is not there, was 7\n"
        "  trn2 new: 3, was not there\n"
        "  trn2 total_ps: 210, was 200 (+5 %)\n"
        "nothing was written; --write replaces tests/golden\n"
    )
    assert golden(tree) == OLD


def test_write_replaces_the_committed_numbers(tree: Path) -> None:
    assert rebaseline(tree, "--write").returncode == 0
    assert golden(tree) == NEW
    assert rebaseline(tree).stdout == "no number moved\n"


def test_a_missing_binary_is_named(tree: Path) -> None:
    done = rebaseline(tree, "--build", "elsewhere")
    assert done.returncode == 2
    assert done.stderr == (
        "elsewhere/tests/golden/simulator_golden_test: there is no such file; "
        "build the tests, or name their folder with --build\n"
    )
