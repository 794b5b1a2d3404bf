# SPDX-License-Identifier: Apache-2.0
# The report that a person reads.
"""text(validation): rows, families, overall, and the ablation, as columns."""

from __future__ import annotations

from collections.abc import Sequence

from trnsim.validation.ablation import Ablation
from trnsim.validation.runs import Outcome
from trnsim.validation.summary import Validation, hbm_bytes, parts_of, summary_of

Cells = Sequence[str]
FAMILY_HEAD = ("", "rows", "mean", "median", "bias", "worst", "worst row", "tau", "ordered",
               "roofline")
PARTS_HEAD = ("", "bytes within 5 %", "transfers exact", "tensor active", "DMA active")
_ROW_UNITS = ("simulated and measured in us, error and roofline's error in %; HBM bytes in MB and "
              "active shares in % as simulated / published")
_FAMILY_UNITS = ("absolute errors in %; tau and ordered: is the order that of silicon, ordered in "
                 "% of the pairs that differ by more than 5 %")
_PARTS_UNITS = "parts; bytes and transfers in % of rows, active shares off by so many points"
ROW_HEAD = ("row", "simulated", "measured", "error", "roofline", "HBM bytes", "tensor", "DMA")


def columns(head: Cells, lines: Sequence[Cells], left: Sequence[int] = (0,)) -> list[str]:
    """Lines of text with aligned columns; those in `left` are aligned to the left."""
    widths = [max(len(line[at]) for line in [head, *lines]) for at in range(len(head))]
    return ["  ".join(cell.ljust(width) if at in left else cell.rjust(width)
                      for at, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip()
            for line in [head, *lines]]


def signed(value: float) -> str:
    """An error in per cent."""
    return f"{value:+.1f}"


def microseconds(value: float) -> str:
    """A latency with four digits or more."""
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def optional(value: float | None, form: str) -> str:
    """A number that may be absent."""
    return "-" if value is None else format(value, form)


def family_cells(name: str, outcomes: Sequence[Outcome]) -> Cells:
    """One line of the table of families."""
    told = summary_of(outcomes)
    return (name, f"{told.count}", f"{told.mean:.1f}", f"{told.median:.1f}", signed(told.bias),
            signed(told.worst), told.worst_id, optional(told.tau, ".2f"),
            optional(told.ordered, ".0f"), f"{told.roofline_mean:.1f}")


def nearer_rooflines(validation: Validation) -> str:
    """The families in which the roofline alone is nearer to silicon than the model."""
    told = {name: summary_of(group) for name, group in validation.families().items()}
    found = [f"{name} ({one.roofline_mean:.2f} instead of {one.mean:.2f} %)"
             for name, one in told.items() if one.roofline_mean < one.mean]
    return f"The roofline alone is nearer in {', '.join(found) or 'no family'}."


def parts_cells(name: str, outcomes: Sequence[Outcome]) -> Cells:
    """One line of the table of parts."""
    told = parts_of(outcomes)

    def of(value: float | None, form: str, count: int) -> str:
        return "-" if value is None else f"{value:{form}} ({count} rows)"

    return (name, of(told.bytes_within_5, ".0f", told.bytes_rows),
            of(told.transfers_exact, ".0f", told.transfers_rows),
            of(told.tensor_points, ".1f", told.tensor_rows),
            of(told.dma_points, ".1f", told.dma_rows))


def row_cells(outcome: Outcome) -> Cells:
    """One line of the table of rows: simulated against measured."""
    point, published = outcome.point, outcome.row.published
    there, here = hbm_bytes(outcome)
    return (outcome.row.id, microseconds(point.simulated), microseconds(point.measured),
            signed(point.error), signed(point.roofline_error), _against(here, there, 1e-6),
            *(_against(outcome.counts[name], published.get(name))
              for name in ("tensor_engine_active_percent", "dma_active_percent")))


def _against(here: float, there: float | None, unit: float = 1.0) -> str:
    """Simulated / measured."""
    return f"{here * unit:.1f} / {'-' if there is None else f'{there * unit:.1f}'}"


def text(validation: Validation) -> str:
    """The whole report."""
    lines: list[str] = []
    for family, group in validation.families().items():
        lines += [family, *indented(columns(ROW_HEAD, [row_cells(one) for one in group])), ""]
    lines += [_ROW_UNITS, ""]
    lines += _not_run(validation)
    if validation.run:
        families = [family_cells(*one) for one in validation.families().items()]
        wholes = [family_cells(*one) for one in validation.wholes().items()]
        lines.append(_FAMILY_UNITS)
        lines += indented(columns(FAMILY_HEAD, [*families, *wholes], left=(0, 6)))
        lines.append(nearer_rooflines(validation))
        lines += ["", _PARTS_UNITS]
        lines += indented(columns(PARTS_HEAD, [parts_cells(*one)
                                               for one in validation.wholes().items()]))
    if validation.ablations:
        lines += ["", *ablation_lines(validation.ablations)]
    lines += [f"note: {note}" for note in validation.notes]
    return "\n".join(lines) + "\n"


def _not_run(validation: Validation) -> list[str]:
    """The rows that were not simulated, joined where the reason is the same."""
    reasons: dict[str, list[str]] = {}
    for one in validation.outcomes:
        if not one.is_run:
            reasons.setdefault(one.reason, []).append(one.row.id)
    lines = []
    for reason, ids in reasons.items():
        shown = ", ".join(ids[:4]) + (f" and {len(ids) - 4} more" if len(ids) > 4 else "")
        rows = "1 row" if len(ids) == 1 else f"{len(ids)} rows"
        lines.append(f"  {rows}: {reason}\n      {shown}")
    return ["not run", *lines, ""] if lines else []


def ablation_cells(one: Ablation, names: Sequence[str]) -> Cells:
    """One line of the ablation; `names` are families."""
    if one.overall is None:
        return (one.variant.name, *("-" for _ in names), "-", one.reason[:60])
    return (one.variant.name, *(f"{one.families[name]:.1f}" for name in names),
            f"{one.overall:.1f}", one.variant.what)


def ablation_lines(ablations: Sequence[Ablation]) -> list[str]:
    """Mean absolute error of each family without each part of the model."""
    names = list(ablations[0].families)
    head = ("without", *names, "all", "instead")
    return ["mean absolute error in % with one part of the model switched off",
            *indented(columns(head, [ablation_cells(one, names) for one in ablations],
                              left=(0, len(head) - 1)))]


def indented(lines: Sequence[str]) -> list[str]:
    """Two spaces before every line."""
    return [f"  {line}" for line in lines]
