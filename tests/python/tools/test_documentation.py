# SPDX-License-Identifier: Apache-2.0
# Files that the documentation names.
"""Theorem: what a page calls a file, a test or a layer of this tree is one."""

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


LAYER = re.compile(r"^trnsim_layer\((\w+)", re.MULTILINE)
COMMAND = re.compile(r"^    trnsim \w+ '?([\w/.]+)::(\w+)", re.MULTILINE)


def test_the_test_that_is_an_example_of_names_is_one() -> None:
    [(suite, name)] = re.findall(r"Its name is a claim \(`(\w+)\.(\w+)`\)",
                                 (ROOT / "CONTRIBUTING.md").read_text())
    assert any(f"({suite}, {name})" in path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp"))


def test_all_layers_are_in_the_chain_of_layers() -> None:
    [chain] = re.findall(r"^`(base → .*)`\.", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE)
    built = set(LAYER.findall((ROOT / "src/CMakeLists.txt").read_text()))
    assert set(re.findall(r"\w+", chain.replace("(SystemC)", ""))) == built | {"tools"}


@pytest.mark.parametrize("file", sorted((ROOT / "examples/kernels").glob("*.py")), ids=lambda path: path.stem)
def test_the_commands_of_an_example_work_in_the_root(file: Path) -> None:
    text = file.read_text()
    found = COMMAND.findall(text)
    assert found
    for path, function in found:
        assert ROOT / path == file and f"def {function}(" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text()
    named = {name for name in FROM_THE_TOP.findall(text) if not (ROOT / name).exists()}
    assert not named
    sources = [path for folder in ("include", "src", "tests", "tools") for path in (ROOT / folder).rglob("*.[ch]pp")]
    assert not {name for name in BY_NAME.findall(text)
                if not any(str(path).endswith(f"/{name}") for path in sources)}
