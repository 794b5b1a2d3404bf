#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/tutorial.md and compares what they print with what it says.

    tools/tutorial.py            says what differs; 1 if anything does
    tools/tutorial.py --update   writes what they print into the page

A block ```console has commands after "$ ", each with its output; a line "…" stands for any lines. A
block ```python whose first line is a comment with a file name is written to that file.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
BUILT = ROOT / "build" / "release" / "tools" / "trnsim" / "trnsim"
ELIDED = "…"
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\S+\.py)\n")
SECONDS = re.compile(r"in \d+\.\d+s")


@dataclass
class Command:
    """A command, and what the page says that it prints."""

    text: str
    expected: list[str]


def commands(block: str) -> list[Command]:
    """The commands of a console block; a command ends with the first line without a backslash."""
    found: list[Command] = []
    continues = False
    for line in block.splitlines():
        if continues:
            found[-1].text += "\n" + line
        elif line.startswith("$ "):
            found.append(Command(line[2:], []))
        else:
            found[-1].expected.append(line)
            continue
        continues = line.endswith("\\")
    return found


def environment(binary: Path) -> dict[str, str]:
    """What somebody has who installed trnsim."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("TRNSIM_", "NEURON_", "PYTEST_"))}
    path = [str(binary.parent), str(Path(sys.executable).parent), kept.get("PATH", "")]
    return {**kept, "PATH": os.pathsep.join(path), "TRNSIM_BINARY": str(binary),
            "PYTHONPATH": str(ROOT / "tools" / "python"), "TRNSIM_PYTHON": sys.executable,
            "PYTEST_ADDOPTS": "-p pytest_trnsim -p no:cacheprovider", "COLUMNS": "100",
            "PYTHONDONTWRITEBYTECODE": "1"}


def run(command: str, folder: Path, binary: Path) -> list[str]:
    """The lines that a command prints, standard error after standard output."""
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment(binary),
                          capture_output=True, text=True, check=False, timeout=300)
    text = SECONDS.sub("in 0.50s", done.stdout + done.stderr)
    return [line.rstrip() for line in text.rstrip("\n").split("\n")] if text.strip() else []


def fits(expected: list[str], printed: list[str]) -> bool:
    """Whether lines are what is expected, where "…" stands for any number of lines."""
    if not expected or not printed:
        return all(line == ELIDED for line in expected) and not printed
    if expected[0] == ELIDED:
        return fits(expected[1:], printed) or fits(expected, printed[1:])
    return expected[0] == printed[0] and fits(expected[1:], printed[1:])


def updated(expected: list[str], printed: list[str]) -> list[str]:
    """What was printed, with lines left out where the page leaves them out.

    A part between two "…" keeps its length, and begins where its first line looks most alike.
    """
    if ELIDED not in expected:
        return printed
    parts: list[list[str]] = [[]]
    for line in expected:
        if line == ELIDED:
            parts.append([])
        else:
            parts[-1].append(line)
    result = printed[:len(parts[0])]
    at = len(result)
    for part in parts[1:]:
        result.append(ELIDED)
        if part:
            words = re.sub(r"[\d.,]+", "#", part[0]).split()
            start = next((index for index in range(at, len(printed))
                          if re.sub(r"[\d.,]+", "#", printed[index]).split() == words), at)
            result += printed[start:start + len(part)]
            at = start + len(part)
    return result


def rewritten(page: str, binary: Path) -> Iterator[tuple[str, str, list[str]]]:
    """(block as it is, block as it would be, what differs) of each block that runs."""
    with tempfile.TemporaryDirectory(prefix="tutorial-") as name:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        for block in BLOCK.finditer(page):
            kind, text = block.groups()
            if kind == "python":
                named = FILE.match(text)
                if named is not None:
                    (folder / named.group(1)).write_text(text, encoding="utf-8")
                continue
            lines, differences = [], []
            for command in commands(text):
                printed = run(command.text, folder, binary)
                if not fits(command.expected, printed):
                    differences.append(f"$ {command.text}\n" + "\n".join(printed))
                lines += [f"$ {command.text}", *updated(command.expected, printed)]
            yield block.group(0), "```console\n" + "\n".join(lines) + "\n```", differences


def main() -> int:
    """Checks or updates the page."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    binary = Path(os.environ.get("TRNSIM_BINARY", BUILT)).resolve()
    page = PAGE.read_text(encoding="utf-8")
    differences: list[str] = []
    changed = page
    for before, after, found in rewritten(page, binary):
        differences += found
        if found:
            changed = changed.replace(before, after, 1)
    if update and changed != page:
        PAGE.write_text(changed, encoding="utf-8")
    for one in differences:
        print(f"{PAGE.relative_to(ROOT)}: prints something else; run tools/tutorial.py --update:\n"
              f"{one}\n")
    print(f"tutorial: {len(differences)} commands print something else than the page says")
    return 1 if differences and not update else 0


if __name__ == "__main__":
    sys.exit(main())
