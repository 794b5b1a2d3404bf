# SPDX-License-Identifier: Apache-2.0
# The tutorial is true.
"""Runs every command of docs/tutorial.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from command_line import CommandLine

ROOT = Path(__file__).resolve().parents[4]


def test_every_command_of_the_tutorial_prints_what_it_says(trnsim: CommandLine) -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "tutorial.py"], capture_output=True,
                          text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
