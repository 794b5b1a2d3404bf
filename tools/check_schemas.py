#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the JSON Schemas of configs/schema and the committed files they describe."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema

# Which schema describes which files; a trace is JSON Lines, each line a record.
DESCRIBES = {
    "chip.schema.json": ("configs/chips/*.json",),
    "measurements.schema.json": ("tests/validation/rows/*.json",),
    "trace.schema.json": ("examples/**/*.nkt", "tests/**/*.nkt"),
}


def documents(path: Path) -> Iterator[tuple[str, Any]]:
    """(where, document) of a file."""
    if path.suffix == ".nkt":
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            yield f"{path}:{number}", json.loads(line)
    else:
        yield str(path), json.loads(path.read_text())


def check(root: Path, name: str, patterns: tuple[str, ...]) -> tuple[int, list[str]]:
    """The number of documents the schema describes and what is wrong with them."""
    schema = json.loads((root / "configs" / "schema" / name).read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema)
    count = 0
    errors = []
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        for where, document in documents(path):
            count += 1
            for error in validator.iter_errors(document):
                best = jsonschema.exceptions.best_match([error]) or error
                errors.append(f"{where}: /{'/'.join(map(str, best.absolute_path))}: {best.message}")
    return count, errors


def main() -> int:
    """Prints one line per finding; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "root", type=Path, nargs="?", default=Path(__file__).resolve().parent.parent
    )
    root = parser.parse_args().root
    errors = []
    total = 0
    for schema in sorted((root / "configs" / "schema").glob("*.json")):
        count, found = check(root, schema.name, DESCRIBES.get(schema.name, ()))
        total += count
        errors += found
    print("\n".join(errors).replace(f"{root}/", "") or f"schemas: {total} documents fit")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
