# SPDX-License-Identifier: Apache-2.0
"""tools/test, tools/demo, tools/optimize and tools/install_dependencies: what they say, and how their steps end."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
SCRIPTS = ["test", "demo", "optimize", "install_dependencies"]


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
             "--analyze, --fuzz SECONDS, --coverage, --optimized, --all and --help\n"),
    ("demo", "tools/demo: the argument is --bogus, but it takes none, or --help\n"),
    ("optimize", "tools/optimize: the argument is --bogus, but it takes none, or --help\n"),
    ("install_dependencies", "install_dependencies: the option is --bogus, allowed are --lint and "
                             "--help\n")])
def test_an_unknown_option_is_refused_by_name(script: str, message: str) -> None:
    result = run(script, "--bogus")
    assert (result.returncode, result.stdout, result.stderr) == (2, "", message)


def programs() -> list[Path]:
    """Files of the tree whose first line names an interpreter."""
    folders = [TOOLS, TOOLS.parent / "tests" / "bench", TOOLS.parent / ".ci"]
    files = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
    return [path for path in files if path.read_bytes().startswith(b"#!")]


def test_programs_may_be_executed() -> None:
    assert len(programs()) > 10
    assert [path.name for path in programs() if not os.access(path, os.X_OK)] == []


@pytest.mark.parametrize("program", [
    "tools/calibrate", "tools/corpus", "tests/bench/tracing.py", "tests/bench/whole_process.py"])
def test_what_runs_kernels_finds_its_packages(program: str) -> None:
    """Whatever python3 is: numpy is in build/venv."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environment["PATH"] = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if "venv" not in folder)
    result = subprocess.run([TOOLS.parent / program, "--help"], capture_output=True, text=True,
                            timeout=60, check=False, env=environment)
    assert (result.returncode, result.stderr) == (0, "")
    assert program in result.stdout


def steps(folder: Path, commands: str) -> list[str]:
    """A script of commands that logs into a folder."""
    return ["bash", "-c", f"set -euo pipefail; source {TOOLS}/steps.sh; log_dir={folder}; {commands}"]


def test_a_step_ends_at_its_first_error(tmp_path: Path) -> None:
    commands = "work() { echo begun; (exit 3); echo went on; }; step work work; echo next step"
    result = subprocess.run(steps(tmp_path, commands), capture_output=True, text=True, timeout=10,
                            check=False)
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.startswith("begun\nwork: stopped with status 3 after ")
    assert (tmp_path / "work.log").read_text() == "begun\n"


def is_alive(process: int) -> bool:
    # A process that nobody has waited for yet is dead, but has an entry.
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_an_interrupt_ends_a_step_with_the_script(tmp_path: Path, on_a_terminal: bool) -> None:
    log = tmp_path / "wait.log"
    # The end of what it calls does not end this work.
    commands = ("work() { echo $BASHPID; while true; do sleep 0.1 || true; done; }; "
                "step wait work; echo next step")
    terminal, errors = pty.openpty() if on_a_terminal else os.pipe()
    script = subprocess.Popen(steps(tmp_path, commands), stdout=subprocess.PIPE, stderr=errors,
                              start_new_session=True)
    try:
        assert wait_until(lambda: log.exists() and log.read_text().endswith("\n"))
        work = int(log.read_text())
        os.killpg(script.pid, signal.SIGINT)  # what a terminal does at ^C
        said, _ = script.communicate(timeout=10)
        # Bash ends by the signal, or says that what it called has ended so.
        assert script.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
        assert said == b""
        assert wait_until(lambda: not is_alive(work))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(script.pid, signal.SIGKILL)
        os.close(terminal)
        os.close(errors)
