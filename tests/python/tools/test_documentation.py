# SPDX-License-Identifier: Apache-2.0
# Files that the documentation names.
"""Theorem: what a page calls a file of this tree is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
         *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "kernels.md")]
"""docs/kernels.md names files of others only. Folders may be of what is to come (decision 0001)."""
FOLDERS = "cmake|configs|docs|examples|include|src|tests|tools"
FROM_THE_TOP = re.compile(rf"`((?:{FOLDERS})/[\w/.-]+\.\w+)`")
BY_NAME = re.compile(r"`([\w/]+\.(?:cpp|hpp))`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text()
    named = {name for name in FROM_THE_TOP.findall(text) if not (ROOT / name).exists()}
    assert not named
    sources = [path for folder in ("include", "src", "tests", "tools") for path in (ROOT / folder).rglob("*.[ch]pp")]
    assert not {name for name in BY_NAME.findall(text)
                if not any(str(path).endswith(f"/{name}") for path in sources)}
