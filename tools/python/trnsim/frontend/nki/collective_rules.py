# SPDX-License-Identifier: Apache-2.0
# What tensors a collective takes.
"""Reductions, and memories, numbers, sizes and dimensions of the tensors of collectives.

[NKI-COLLECTIVES]
"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source
from trnsim.frontend.nki.issue import not_a_tensor
from trnsim.frontend.operators import alu
from trnsim.frontend.records.tensor import HBM, SBUF, View
from trnsim.frontend.shapes import whole_number


REDUCTIONS = ("add", "minimum", "maximum")


def reduction(op: Any, role: str = "op") -> str:
    """The operator's name; IllegalInstruction if ranks and cores do not reduce with it."""
    name = alu(op, role)
    if name not in REDUCTIONS:
        raise IllegalInstruction(f"{source.here()}: {role} is {name}, but collectives reduce with "
                                 f"{', '.join(REDUCTIONS)}")
    return name


def tensors_of(op: str, role: str, given: Any) -> list[View]:
    """The tensors of an argument: a list, or lists by channel."""
    found: list[View] = []
    for one in given if isinstance(given, (list, tuple)) else (given,):
        if isinstance(one, (list, tuple)):
            found += tensors_of(op, role, one)
        elif isinstance(one, View):
            found.append(one)
        else:
            raise not_a_tensor(op, role, one)
    return found


def memory_of(op: str, tensors: Sequence[View]) -> str:
    """The memory of all tensors; IllegalInstruction if there are two."""
    spaces = sorted({view.space for view in tensors})
    if len(spaces) > 1:
        raise _refused(op, f"the tensors are in {' and '.join(spaces)}, but must all be in hbm or "
                           "all in sbuf; copy one side")
    return spaces[0] if spaces else HBM


def check_memory(op: str, srcs: Any, dsts: Any, takes_sbuf: bool = True) -> None:
    """IllegalInstruction for tensors in SBUF where none may be, or several of them."""
    given = {role: tensors_of(op, role, one) for role, one in (("srcs", srcs), ("dsts", dsts))}
    space = memory_of(op, [*given["srcs"], *given["dsts"]])
    if space == HBM:
        return
    if not takes_sbuf:
        raise _refused(op, f"the tensors are in {space}, but must be in hbm; copy them there")
    for role, tensors in given.items():
        if len(tensors) > 1:
            raise _refused(op, f"{role} has {len(tensors)} tensors in {space}, but only those in "
                               "hbm are moved together; use one collective for each")


def check_single(op: str, srcs: Any, dsts: Any) -> None:
    """IllegalInstruction unless there are one src and one dst, in HBM."""
    for role, given in (("srcs", srcs), ("dsts", dsts)):
        count = len(tensors_of(op, role, given))
        if count != 1:
            raise _refused(op, f"{role} has {count} tensors, but must have one; use one collective "
                               "for each")
    check_memory(op, srcs, dsts, takes_sbuf=False)


def check_sizes(op: str, srcs: Any, dsts: Any, groups: tuple[tuple[int, ...], ...],
                factor: tuple[int, int]) -> None:
    """IllegalInstruction unless dst has factor[0] / factor[1] times the elements of its src."""
    for one, other in zip(tensors_of(op, "srcs", srcs), tensors_of(op, "dsts", dsts)):
        if one.size * factor[0] != other.size * factor[1]:
            raise _refused(op, f"src is {one.form.describe()} and dst is {other.form.describe()} "
                               f"in groups of {len(groups[0])} ranks; dst must have "
                               f"{one.size * factor[0] // factor[1]} elements")


def dimension_of(op: str, srcs: Any, collective_dim: Any, most_in_sbuf: int = 0) -> int:
    """The dimension along which ranks have their parts: 0, and in SBUF up to `most_in_sbuf`."""
    in_sbuf = all(view.space == SBUF for view in tensors_of(op, "srcs", srcs))
    most = most_in_sbuf if in_sbuf else 0
    dimension = whole_number(collective_dim, f"{op}: collective_dim")
    if not 0 <= dimension <= most:
        raise _refused(op, f"collective_dim is {dimension}, but for tensors in "
                           f"{'sbuf' if in_sbuf else 'hbm'} it must be "
                           f"{'0 or 1' if most else '0'}; reshape them")
    return dimension


def _refused(op: str, what: str) -> IllegalInstruction:
    return IllegalInstruction(f"{source.here()}: {op}: {what}")
