# SPDX-License-Identifier: Apache-2.0
# Numbers of configs/chips read and replaced, everything else left as it stands.
"""ChipFile: one configuration, with value(path) and replace(path, …)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from trnsim.errors import UserError

NAMES = {"trn1": "trainium1", "inf2": "inferentia2", "trn2": "trainium2", "trn3": "trainium3"}
FOLLOWERS = {"trn1": ("inf2",), "trn2": ("trn3",)}
"""Chips of which nothing was measured: they have the constants of the one before, EXTRAPOLATED."""


class ChipFile:
    """The configuration of a chip, by its short name, below the root of a source tree."""

    def __init__(self, root: Path, chip: str) -> None:
        self.path = root / "configs" / "chips" / f"{NAMES[chip]}.json"
        try:
            self._text = self.path.read_text(encoding="utf-8")
        except OSError as problem:
            raise UserError(f"{self.path} cannot be read: {problem.strerror}; name the root of a "
                            "source tree") from None

    def value(self, path: str) -> float:
        """The number at a path like dma.completion_ns."""
        return float(self._entry(path)["value"])

    def replace(self, path: str, value: str, source: str, note: str) -> None:
        """Gives a number another value, source tag and note; unit and all others stay."""
        entry = self._entry(path)
        unit = json.dumps(entry["unit"], ensure_ascii=False)
        told = (f'{{"value": {value}, "unit": {unit}, "source": {json.dumps(source)}, '
                f'"note": {json.dumps(note, ensure_ascii=False)}}}')
        begin, end = self._span(path)
        changed = self._text[:begin] + told + self._text[end:]
        expected = json.loads(self._text)
        _follow(expected, path).update(json.loads(told))
        if json.loads(changed) != expected:
            raise UserError(f"{self.path}: {path} is not written on one line like the others; "
                            "change it by hand")
        self._text = changed

    def save(self) -> None:
        """Writes the file, whole or not at all."""
        partial = self.path.with_suffix(".json.partial")
        partial.write_text(self._text, encoding="utf-8")
        os.replace(partial, self.path)

    def _entry(self, path: str) -> dict[str, Any]:
        return _follow(json.loads(self._text), path)

    def _span(self, path: str) -> tuple[int, int]:
        """Where the entry's braces stand: each name after that of what holds it."""
        place = 0
        for name in path.split("."):
            place = self._text.index(f'"{name}": {{', place) + len(name) + 4
        end = re.compile(r"\}").search(self._text, place)
        assert end is not None
        return place, end.end()


def _follow(document: Any, path: str) -> dict[str, Any]:
    for name in path.split("."):
        if name not in document:
            raise UserError(f"there is no {path} in the configuration; look for its name with "
                            "trnsim describe")
        document = document[name]
    found: dict[str, Any] = document
    return found
