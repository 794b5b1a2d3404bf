# SPDX-License-Identifier: Apache-2.0
# The published tables: docs/accuracy.md and the one in README.md.
"""write(validation, root): rewrites what stands between the markers of the two pages."""

from __future__ import annotations

import re
from pathlib import Path
from collections.abc import Sequence

from trnsim.errors import UserError
from trnsim.validation import tables
from trnsim.validation.summary import Validation

PAGE = Path("docs") / "accuracy.md"
README = Path("README.md")
Cells = Sequence[str]


def write(validation: Validation, root: Path) -> list[Path]:
    """The pages it wrote. UserError if a page or one of its markers is missing."""
    if not validation.run:
        raise UserError("--write-docs: no row was run, the tables would be empty; give --corpus")
    blocks = {"summary": _families(validation), "parts": _parts(validation),
              "rows": _rows(validation), "not-run": _not_run(validation)}
    if validation.ablations:
        blocks["ablation"] = _ablation(validation)
    rewrite_page(root / PAGE, blocks)
    rewrite_page(root / README, {"overall": _overall(validation)})
    return [root / PAGE, root / README]


def rewrite_page(file: Path, blocks: dict[str, list[str]]) -> None:
    """Puts lines between the markers of a page. UserError if it or a marker is missing."""
    try:
        page = file.read_text(encoding="utf-8")
    except OSError as problem:
        raise UserError(f"--write-docs: {file} cannot be read: {problem.strerror}; name the root "
                        "of a source tree") from None
    for name, lines in blocks.items():
        start, end = f"<!-- validate:{name} -->", f"<!-- validate:{name} end -->"
        pattern = re.compile(re.escape(start) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(page):
            raise UserError(f"{file}: has no lines {start} and {end}; put them where the table "
                            "is to stand")
        before, after = pattern.split(page, maxsplit=1)
        page = before + "\n".join([start, *lines, end]) + after
    file.write_text(page, encoding="utf-8")


def markdown(head: Cells, lines: Sequence[Cells], left: Sequence[int] = (0,)) -> list[str]:
    """A table."""
    rule = ["---" if at in left else "---:" for at in range(len(head))]
    return [f"| {' | '.join(line)} |" for line in [head, rule, *lines]]


def _families(validation: Validation) -> list[str]:
    lines = [tables.family_cells(*one) for one in validation.families().items()]
    lines += [tables.family_cells(f"**{name}**", group)
              for name, group in validation.wholes().items()]
    return [*markdown(("family", *tables.FAMILY_HEAD[1:]), lines, left=(0, 6)), "",
            tables.nearer_rooflines(validation)]


def _parts(validation: Validation) -> list[str]:
    return markdown(tables.PARTS_HEAD, [tables.parts_cells(*one)
                                        for one in validation.wholes().items()])


def _rows(validation: Validation) -> list[str]:
    lines: list[str] = []
    for family, group in validation.families().items():
        by = ", ".join(sorted({one.row.measured_by or "the user" for one in group}))
        chips = ", ".join(sorted({one.row.chip for one in group}))
        ways = " and ".join(sorted({one.way for one in group}))
        lines += ["", f"### {family}", "",
                  f"{chips}, measured by {by}; {ways} kernels.", "",
                  *markdown(tables.ROW_HEAD, [tables.row_cells(one) for one in group])]
    return lines[1:]


def _not_run(validation: Validation) -> list[str]:
    missing = [one for one in validation.outcomes if not one.is_run]
    if not missing:
        return [f"All {len(validation.outcomes)} rows were run."]
    return [f"* `{one.row.id}`: {one.reason}" for one in missing]


def _ablation(validation: Validation) -> list[str]:
    names = list(validation.ablations[0].families)
    return markdown(("without", *names, "all", "instead"),
                    [tables.ablation_cells(one, names) for one in validation.ablations],
                    left=(0, len(names) + 2))


def _overall(validation: Validation) -> list[str]:
    lines = []
    for name, group in validation.wholes().items():
        cells = tables.family_cells(name, group)
        lines.append((name, *cells[1:6], *cells[8:]))
    return markdown(("", "rows", "mean error, %", "median", "bias", "worst", "ordered, %",
                     "roofline's mean error, %"), lines)
