#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows how the golden numbers moved, and on --write commits them to tests/golden.

    tools/rebaseline.py [--build build/release] [--write]

The golden tests compare every number of the example traces on every chip with tests/golden/*.json. This
is the only way to change those files; the commit that does says why the numbers moved.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
GOLDEN = TOP / "tests" / "golden"
BINARY = Path("tests/golden/simulator_golden_test")

Chips = dict[str, dict[str, int]]


def main() -> int:
    """Returns 0; the exit status is 2 if there is nothing to run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=TOP / "build" / "release")
    parser.add_argument("--write", action="store_true", help="replace tests/golden/*.json")
    arguments = parser.parse_args()
    binary = arguments.build / BINARY
    if not binary.exists():
        print(
            f"{binary}: there is no such file; build the tests, or name their folder with --build",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory() as folder:
        moved = False
        for trace in sorted(run_golden_tests(binary, Path(folder))):
            moved |= report(trace)
            if arguments.write:
                (GOLDEN / trace.name).write_text(trace.read_text())
    if not moved:
        print("no number moved")
    elif not arguments.write:
        print("nothing was written; --write replaces tests/golden")
    return 0


def run_golden_tests(binary: Path, folder: Path) -> list[Path]:
    """Runs the golden tests, which write their numbers as JSON into the folder, one file a trace."""
    environment = os.environ | {"TRNSIM_GOLDEN_OUTPUT": str(folder)}
    subprocess.run([binary], env=environment, cwd=TOP, stdout=subprocess.DEVNULL, check=False)
    return list(folder.glob("*.json"))


def report(trace: Path) -> bool:
    """Prints every number that moved; whether one did."""
    committed = GOLDEN / trace.name
    old: Chips = json.loads(committed.read_text()) if committed.exists() else {}
    new: Chips = json.loads(trace.read_text())
    lines = [
        describe(chip, key, old.get(chip, {}).get(key), new.get(chip, {}).get(key))
        for chip in sorted(old | new)
        for key in sorted(old.get(chip, {}) | new.get(chip, {}))
        if old.get(chip, {}).get(key) != new.get(chip, {}).get(key)
    ]
    if lines:
        print(f"{trace.stem}:")
        print("\n".join(f"  {line}" for line in lines))
    return bool(lines)


def describe(chip: str, key: str, old: int | None, new: int | None) -> str:
    """Key, new, old, percent."""
    if old is None:
        return f"{chip} {key}: {new}, was not there"
    if new is None:
        return f"{chip} {key}: is not there, was {old}"
    percent = f" ({100 * (new - old) / old:+.3g} %)" if old else ""
    return f"{chip} {key}: {new}, was {old}{percent}"


if __name__ == "__main__":
    sys.exit(main())
