# SPDX-License-Identifier: Apache-2.0
# What a person at a terminal sees, and a pipe does not.
"""Tests of colours, progress and -v."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest
import traces
from command_line import CommandLine

LONG_BLOCKS = 20_000_000
"""Of three instructions each: minutes of simulation."""


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add())


def on_terminal(trnsim: CommandLine, *words: str, seconds: float = 60, until: str = "",
                **variables: str) -> str:
    """What a command writes to a terminal, until it ends or has written `until`."""
    try:
        mine, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"this machine has no terminals to give: {error}")
    process = subprocess.Popen([trnsim.binary, *words], cwd=trnsim.folder, stdin=theirs,
                               stdout=theirs, stderr=theirs,
                               env={**os.environ, "TERM": "xterm", **variables})
    os.close(theirs)
    text = b""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and (not until or until.encode() not in text):
        if select.select([mine], [], [], 0.1)[0]:
            try:
                text += os.read(mine, 65536)
            except OSError:
                break  # The command has ended: nobody holds the other side.
    process.terminate()
    process.wait(timeout=30)
    os.close(mine)
    return text.decode()


def test_a_terminal_gets_colours(trnsim: CommandLine) -> None:
    assert "\033[" in on_terminal(trnsim, "run", "add.nkt")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(trnsim: CommandLine, variables: dict[str, str]) -> None:
    assert "\033[" not in on_terminal(trnsim, "run", "add.nkt", **variables)


def test_long_work_shows_its_progress(trnsim: CommandLine) -> None:
    (trnsim.folder / "long.nkt").write_text(traces.add(128 * LONG_BLOCKS, 2))
    assert "simulating long.nkt: " in on_terminal(trnsim, "run", "long.nkt", until=" %, ")


def test_v_tells_the_steps_and_when(trnsim: CommandLine) -> None:
    outcome = trnsim("run", "add.nkt", "-v")
    assert outcome.status == 0
    assert re.search(r"^info \d+\.\d{3} ms: reading add\.nkt$", outcome.error, re.MULTILINE)
    assert "simulating 6 instructions" in outcome.error
    assert trnsim("run", "add.nkt").output == outcome.output
