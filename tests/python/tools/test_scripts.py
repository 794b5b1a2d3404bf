# SPDX-License-Identifier: Apache-2.0
"""tools/test, tools/demo and tools/install_dependencies say what they do before they do anything."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
SCRIPTS = ["test", "demo", "install_dependencies"]


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOLS / script, *arguments], capture_output=True, text=True,
                          timeout=10, check=False)


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_the_comment_at_the_head(script: str, option: str) -> None:
    result = run(script, option)
    said = result.stdout.splitlines()
    head = (TOOLS / script).read_text().splitlines()[1:]
    assert result.returncode == 0
    assert len(said) >= 2
    assert [f"# {line}".rstrip() for line in said] == head[:len(said)]
    assert head[len(said)] == "set -euo pipefail"


def test_help_comes_before_what_other_options_ask_for() -> None:
    assert run("test", "--all", "--help").stdout == run("test", "--help").stdout


@pytest.mark.parametrize(("script", "message"), [
    ("test", "tools/test: the option is --bogus, allowed are --sanitizers, --checks, --lint, "
             "--analyze, --fuzz SECONDS, --coverage, --all and --help\n"),
    ("demo", "tools/demo: the argument is --bogus, but it takes none, or --help\n"),
    ("install_dependencies", "install_dependencies: the option is --bogus, allowed are --lint and "
                             "--help\n")])
def test_an_unknown_option_is_refused_by_name(script: str, message: str) -> None:
    result = run(script, "--bogus")
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)
