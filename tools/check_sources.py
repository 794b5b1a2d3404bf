#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source tag, like [NKI-ARCH-V3] in a comment or "source": "M-TRN2" in a configuration, is
explained by docs/sources.md: a row of a table there begins with the tag in backquotes."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TAG = re.compile(r"\[(?!A-Z)([A-Z][A-Z0-9]*(?:[-.][A-Z0-9]+)+|ASSUMED|EXTRAPOLATED)(?:,[^\]]*)?\]")
EXPLAINED = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
FOLDERS = ("include", "src", "tools/trnsim", "tools/python", "docs")
KINDS = {".hpp", ".cpp", ".py", ".md"}


def tags_in_text(path: Path) -> Iterator[tuple[str, str]]:
    """(where, tag) of every bracketed tag in a file."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        for match in TAG.finditer(line):
            yield f"{path}:{number}", match.group(1)


def tags_in_json(path: Path) -> Iterator[tuple[str, str]]:
    """(where, tag) of every "source" in a configuration; several are comma separated."""

    def walk(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            for key, child in value.items():
                if key == "source" and isinstance(child, str):
                    yield from ((f"{path}: {pointer}", tag.strip()) for tag in child.split(","))
                else:
                    yield from walk(child, f"{pointer}/{key}")
        elif isinstance(value, list):
            for index, child in enumerate(value):
                yield from walk(child, f"{pointer}/{index}")

    yield from walk(json.loads(path.read_text()), "")


def main() -> int:
    """Prints one line per unexplained tag; 1 if there is one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").replace("\n", " "))
    parser.add_argument(
        "root", type=Path, nargs="?", default=Path(__file__).resolve().parent.parent
    )
    root = parser.parse_args().root
    explained = set(EXPLAINED.findall((root / "docs" / "sources.md").read_text()))
    used: list[tuple[str, str]] = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in KINDS and path.name != "sources.md":
                used += tags_in_text(path)
    for path in sorted((root / "configs").rglob("*.json")):
        if "schema" not in path.parts:
            used += tags_in_json(path)
    errors = [
        f"{where}: the source tag is {tag}, which docs/sources.md does not explain; "
        "add a row that begins with it"
        for where, tag in used
        if tag not in explained
    ]
    print("\n".join(errors).replace(f"{root}/", "") or f"sources: {len(used)} tags, all explained")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
