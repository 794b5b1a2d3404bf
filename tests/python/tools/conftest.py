# SPDX-License-Identifier: Apache-2.0
"""Runs the repository's check scripts on small trees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"

Run = Callable[[str, dict[str, str]], subprocess.CompletedProcess[str]]


@pytest.fixture
def run_check(tmp_path: Path) -> Run:
    """run_check("check_layers.py", {path: text}) writes the files and checks the tree."""

    def run(script: str, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, str(TOOLS / script), str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run
