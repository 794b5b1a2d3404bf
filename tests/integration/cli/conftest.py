# SPDX-License-Identifier: Apache-2.0
# What the tests of the command line share.
"""Fixtures; the helper modules beside this file are made importable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from command_line import CommandLine  # noqa: E402


@pytest.fixture
def trnsim(tmp_path: Path) -> CommandLine:
    """The command line in an empty folder."""
    return CommandLine(tmp_path)
