#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage per folder, from the counts that the tests of a coverage build have left."""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def executed_lines(build: Path) -> dict[Path, dict[int, bool]]:
    """source -> line -> whether any test executed it; lines without code are absent."""
    lines: dict[Path, dict[int, bool]] = collections.defaultdict(dict)
    counts = sorted(str(path.resolve()) for path in build.rglob("*.gcda"))
    for start in range(0, len(counts), 16):
        report = subprocess.run(
            ["gcov", "--json-format", "--stdout", *counts[start : start + 16]],
            capture_output=True, text=True, check=True, cwd=build,
        )  # fmt: skip
        for document in filter(None, report.stdout.splitlines()):
            unit = json.loads(document)
            for file in unit["files"]:
                seen = lines[(Path(unit["current_working_directory"]) / file["file"]).resolve()]
                for line in file["lines"]:
                    number = line["line_number"]
                    seen[number] = seen.get(number, False) or line["count"] > 0
    return lines


def main() -> int:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    folders: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for path, seen in executed_lines(parser.parse_args().build).items():
        for top in (ROOT / "src", ROOT / "include" / "trnsim"):
            if path.is_relative_to(top):
                for row in (path.relative_to(top).parts[0], "all"):
                    folders[row][0] += sum(seen.values())
                    folders[row][1] += len(seen)
    print(f"{'folder':<16}{'executed':>10}{'lines':>8}{'percent':>9}")
    for folder, (executed, total) in sorted(
        folders.items(), key=lambda row: (row[0] == "all", row[0])
    ):
        print(f"{folder:<16}{executed:>10}{total:>8}{100 * executed / max(total, 1):>9.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
