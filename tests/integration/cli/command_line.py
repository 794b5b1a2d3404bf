# SPDX-License-Identifier: Apache-2.0
# The executable under test, run in a folder of its own.
"""Runs trnsim as a user does. The executable is $TRNSIM_BINARY, which ctest sets."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    status: int
    output: str
    error: str


class CommandLine:
    """Runs trnsim in a folder."""

    def __init__(self, folder: Path) -> None:
        self.binary = os.environ.get("TRNSIM_BINARY", "trnsim")
        self.folder = folder

    def __call__(self, *words: str, stdin: bytes | None = None, **variables: str) -> Outcome:
        ended = subprocess.run(
            [self.binary, *words], cwd=self.folder, input=stdin, capture_output=True,
            stdin=subprocess.DEVNULL if stdin is None else None, check=False,
            timeout=TIMEOUT_SECONDS, env={**os.environ, **variables})
        return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    def result(self, *words: str, stdin: bytes | None = None) -> dict[str, Any]:
        """The JSON of a run that must succeed."""
        outcome = self("run", *words, "--json", "-", stdin=stdin)
        assert outcome.status == 0, outcome.error
        return json.loads(outcome.output)

    def fails(self, status: int, *words: str, stdin: bytes | None = None, **variables: str) -> str:
        """The one-paragraph message of a command that must end with `status`."""
        outcome = self(*words, stdin=stdin, **variables)
        assert outcome.status == status, f"status {outcome.status}: {outcome.error}"
        assert outcome.error.endswith("\n") and outcome.error.count("\n\n") == 0
        assert "!" not in outcome.error, outcome.error
        return outcome.error
