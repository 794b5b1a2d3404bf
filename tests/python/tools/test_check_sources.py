# SPDX-License-Identifier: Apache-2.0
"""tools/check_sources.py finds tags that docs/sources.md does not explain."""

from __future__ import annotations

from typing import Any

SOURCES = "| Tag | Document |\n|---|---|\n| `NKI-ARCH-V3` | the guide |\n| `ASSUMED` | a guess |\n"


def test_explained_tags_pass(run_check: Any) -> None:
    done = run_check(
        "check_sources.py",
        {
            "docs/sources.md": SOURCES,
            "include/trnsim/dma/ring.hpp": "int a = 1;  ///< [NKI-ARCH-V3, section 2]\n",
            "configs/chips/c.json": '{"a": {"value": 1, "source": "ASSUMED"}}',
        },
    )
    assert (done.returncode, done.stdout) == (0, "sources: 2 tags, all explained\n")


def test_an_unexplained_tag_is_named_with_its_place(run_check: Any) -> None:
    done = run_check(
        "check_sources.py",
        {
            "docs/sources.md": SOURCES,
            "include/trnsim/dma/ring.hpp": "\nint a = 1;  ///< [NKI-ARCH-V9]\n",
            "configs/chips/c.json": '{"a": [{"value": 1, "source": "NKI-ARCH-V3, M-TRN9"}]}',
        },
    )
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("include/trnsim/dma/ring.hpp:2: the source tag is NKI-ARCH-V9")
    assert lines[1].startswith("configs/chips/c.json: /a/0: the source tag is M-TRN9")
    assert len(lines) == 2


def test_code_in_brackets_is_not_a_tag(run_check: Any) -> None:
    code = "[[nodiscard]] int f(); array[N]; [A-Z0-9]\n"
    done = run_check("check_sources.py", {"docs/sources.md": SOURCES, "src/base/text.cpp": code})
    assert done.stdout == "sources: 0 tags, all explained\n"
