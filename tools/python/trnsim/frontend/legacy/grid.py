# SPDX-License-Identifier: Apache-2.0
# The launch grid of the 0.1 dialect: its programs run one after the other on a core.
"""kernel[4, 2](...): eight programs. [NKI-PROGRAMMING-2.26]

AWS's compiler makes nested loops of the grid, on one core unless an axis is spread over cores with
`nl.spmd_dim(...)` or `nl.nc(cores)`; then the programs of core 0 are traced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.legacy.index import as_integer
from trnsim.frontend.legacy.loops import iterate, program_origin
from trnsim.frontend.legacy.session import Session, session
from trnsim.frontend.records.tensor import Shape
from trnsim.frontend.shapes import whole_number


@dataclass(frozen=True)
class nc:
    """`nl.nc(cores)`: an axis of the grid spread over NeuronCores."""

    cores: int

    def __mul__(self, programs: Any) -> SpmdDim:
        """`nl.nc(cores) * programs`: that many successive programs on each core."""
        return SpmdDim(whole_number(programs, "a number of programs"), self.cores)

    def __rmul__(self, programs: Any) -> SpmdDim:
        """`programs * nl.nc(cores)`: that many programs on each core, which take turns."""
        return SpmdDim(whole_number(programs, "a number of programs"), self.cores, True)


@dataclass(frozen=True)
class SpmdDim:
    """Programs on each of several cores: each has successive ones, or the cores take turns."""

    programs: int
    cores: int
    takes_turns: bool = False

    @property
    def size(self) -> int:
        """All programs of the axis."""
        return self.programs * self.cores

    def of(self, core: int) -> range:
        """The programs of a core."""
        if self.takes_turns:
            return range(core, self.size, self.cores)
        return range(core * self.programs, (core + 1) * self.programs)


def spmd_dim(*parts: Any) -> SpmdDim:
    """An axis of the grid from numbers of programs and an nl.nc(cores); the last part is innermost.

    `spmd_dim(nc(2), n)`: the first n programs on core 0; `spmd_dim(n, nc(2))`: every second.
    """
    spread = [at for at, part in enumerate(parts) if isinstance(part, nc)]
    if len(spread) > 1 or spread and spread[0] not in (0, len(parts) - 1):
        raise UserError(f"{source.here()}: nl.spmd_dim of {list(parts)}, but it takes one "
                        "nl.nc(cores), before or behind the numbers of programs")
    cores = parts[spread[0]].cores if spread else 1
    programs = prod(whole_number(part, "a number of programs") for part in parts
                    if not isinstance(part, nc))
    return SpmdDim(programs, cores, bool(spread) and spread[0] > 0)


def axis_of(item: Any) -> SpmdDim:
    """An entry of a launch grid."""
    if isinstance(item, SpmdDim):
        return item
    if isinstance(item, nc):
        return SpmdDim(1, item.cores)
    programs = as_integer(item)
    if programs is None:
        raise UserError(f"{source.here()}: a launch grid has {item!r}, but takes integers, "
                        "nl.nc(cores) and nl.spmd_dim(...)")
    return SpmdDim(programs, 1)


def launch(grid: tuple[SpmdDim, ...], call: Callable[[], Any]) -> Any:
    """Calls the kernel once for each program of core 0; returns the last result."""
    here = session()
    here.grid = tuple(axis.size for axis in grid)
    if any(axis.cores > 1 for axis in grid):
        recorder.required().note("assumption", "the grid spreads over NeuronCores: the programs of "
                                               "core 0 are traced")
    result = _run(grid, (), call)
    if here.recorder.has_values:
        cores = list(product(*(range(axis.cores) for axis in grid)))
        for core in cores[1:]:
            _on_another_core(here, grid, core, call)
    return result


def _run(grid: tuple[SpmdDim, ...], program: tuple[Any, ...], call: Callable[[], Any],
         core: Shape = ()) -> Any:
    """The programs of a core, which is given by its number along each axis, or core 0."""
    if not grid:
        here = session()
        here.program = program
        here.created.clear()
        return call()
    mine = grid[0].of(core[0] if core else 0)
    if len(mine) == 1:
        return _run(grid[1:], (*program, mine.start), call, core[1:])
    result = None
    for at in iterate(mine, program_origin(len(program))):
        result = _run(grid[1:], (*program, at), call, core[1:])
    return result


def _on_another_core(first: Session, grid: tuple[SpmdDim, ...], core: Shape,
                     call: Callable[[], Any]) -> None:
    """Computes the values of another core's programs; tensors in shared HBM are those of core 0."""
    first.recorder.flush()
    previous = recorder.activate(first.recorder.another_core())
    try:
        there = session()
        there.grid, there.outputs = first.grid, first.outputs
        _run(grid, (), call, core)
        there.recorder.finish()
    finally:
        recorder.activate(previous)


def program_id(axis: int = 0) -> Any:
    """The program's index along an axis of the launch grid."""
    here = session()
    axis = _axis(axis, "axis of nl.program_id")
    if axis < len(here.program):
        return here.program[axis]
    here.missing_axes.setdefault(axis, source.here())
    return 0


def note_missing_axes(active: recorder.Recorder) -> None:
    """A note on a finished program that asks where it is along an axis that its grid does not have.

    One that asks how large the grid is does the work of all programs then.
    """
    here = active.session
    if here is None or here.knows_grid or not here.missing_axes:
        return
    axis, at = min(here.missing_axes.items())
    count = len(here.grid)
    what = f"on a grid of {count} ax{'i' if count == 1 else 'e'}s" if count else "without a grid"
    active.note("assumption", f"nl.program_id({axis}) is 0, as the kernel is launched {what}; if "
                "it has more programs, launch it on all of them, as kernel[4, 2]", at)


def num_programs(axes: Any = None) -> int:
    """The programs along axes of the launch grid, or all of them."""
    session().knows_grid = True
    grid = session().grid
    if axes is None:
        return prod(grid)
    given = axes if isinstance(axes, (list, tuple)) else (axes,)
    chosen = [_axis(axis, "an axis of nl.num_programs") for axis in given]
    return prod(grid[axis] if axis < len(grid) else 1 for axis in chosen)


def _axis(given: Any, what: str) -> int:
    """An axis of the launch grid, counted from its first. A grid may have fewer than are asked for.
    """
    axis = whole_number(given, what)
    if axis < 0:
        raise UserError(f"{source.here()}: {what} is {axis}, but axes of a launch grid are counted "
                        f"from 0; this one has {len(session().grid)}")
    return axis


def program_ndim() -> int:
    """The number of axes of the launch grid."""
    session().knows_grid = True
    return len(session().grid)
