# SPDX-License-Identifier: Apache-2.0
# nl.affine_range and its relatives, nl.ds, and the launch grid.
"""Loops, slices of known size, and the program's place in the launch grid. [NKI-LANGUAGE]"""

from __future__ import annotations

from contextlib import contextmanager
from math import prod
from typing import Any
from collections.abc import Iterator

from trnsim.errors import UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.arguments import describe
from trnsim.frontend.loops import AffineRange, SequentialRange, StaticRange
from trnsim.frontend.nki.issue import not_a_tensor
from trnsim.frontend.nki.registers import DynamicSlice, VirtualRegister
from trnsim.frontend.records.tensor import View
from trnsim.frontend.shapes import whole_number


def affine_range(start: Any, stop: Any = None, step: Any = 1) -> AffineRange:
    """A loop whose iterations are independent."""
    return AffineRange(*_bounds(start, stop, step))


def sequential_range(start: Any, stop: Any = None, step: Any = 1) -> SequentialRange:
    """A loop whose iterations depend on each other."""
    return SequentialRange(*_bounds(start, stop, step))


def static_range(start: Any, stop: Any = None, step: Any = 1) -> StaticRange:
    """A loop that is unrolled."""
    return StaticRange(*_bounds(start, stop, step))


def _bounds(start: Any, stop: Any, step: Any) -> tuple[Any, ...]:
    """What a range is made of. UserError for a bound that is no integer."""
    bounds = (start,) if stop is None else (start, stop, step)
    for bound in bounds:
        if not hasattr(bound, "__index__"):
            raise UserError(f"{source.here()}: a bound of the range is {describe(bound)}, but must "
                            f"be an integer; {_in_place_of(bound)}")
    return bounds


def _in_place_of(bound: Any) -> str:
    if isinstance(bound, View):
        return "load it into a register, and loop with nl.dynamic_range"
    return "divide with //" if isinstance(bound, float) else "pass a number"


def ds(start: Any, size: int) -> slice | DynamicSlice:
    """The slice of `size` elements from `start`, which may be a register."""
    if isinstance(start, VirtualRegister):
        return DynamicSlice(start, whole_number(size, "the size of nl.ds"))
    return slice(start, start + size)


def program_id(axis: int = 0) -> int:
    """The program's index along an axis of the launch grid; 0 if there is no grid.

    The last axis is the innermost: its neighbours run on neighbouring cores.
    """
    sizes, (chosen,) = _axes_of("program_id", (axis,))
    return recorder.required().core // prod(sizes[chosen + 1:]) % sizes[chosen]


def num_programs(axes: Any = None) -> int:
    """The programs along axes of the launch grid: one on each core. Those of all axes if none is
    given."""
    if axes is None:
        return recorder.required().cores
    sizes, chosen = _axes_of("num_programs", axes)
    return prod(sizes[axis] for axis in chosen)


def _axes_of(function: str, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of the launch grid, and the axes that are asked for. UserError for one that it does
    not have; without a grid there is axis 0, of one program."""
    sizes = recorder.required().grid or (1,)
    given = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    chosen = tuple(whole_number(axis, f"an axis of nl.{function}") for axis in given)
    for axis in chosen:
        if not 0 <= axis < len(sizes):
            grid = recorder.required().grid
            what = f"the launch grid {list(grid)} has" if grid else "a kernel without a grid has"
            raise UserError(f"{source.here()}: nl.{function}: axis {axis}, but {what} "
                            f"{', '.join(map(str, range(len(sizes))))}; choose one of them, or "
                            "launch the kernel on a grid of more dimensions")
    return sizes, chosen


def program_ndim() -> int:
    """The dimensions of the launch grid."""
    return len(recorder.required().grid)


@contextmanager
def no_reorder() -> Iterator[None]:
    """A region whose instructions keep their order on each queue."""
    with recorder.required().in_order():
        yield


def device_print(print_prefix: str, tensor: Any) -> None:
    """Prints a tensor if values are computed; it is not an instruction of the trace."""
    if not isinstance(tensor, View):
        raise not_a_tensor("device_print", "tensor", tensor)
    recorder.required().show(print_prefix, tensor)
