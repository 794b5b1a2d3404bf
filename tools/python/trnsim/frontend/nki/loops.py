# SPDX-License-Identifier: Apache-2.0
# nl.affine_range and its relatives, nl.ds, and the launch grid.
"""Loops, slices of known size, and the program's place in the launch grid. [NKI-LANGUAGE]"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any
from collections.abc import Iterator

from trnsim.errors import UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.arguments import describe
from trnsim.frontend.loops import AffineRange, SequentialRange, StaticRange
from trnsim.frontend.records.tensor import View


def affine_range(start: Any, stop: Any = None, step: Any = 1, **hints: Any) -> AffineRange:
    """A loop whose iterations are independent."""
    return AffineRange(*_bounds(start, stop, step))


def sequential_range(start: Any, stop: Any = None, step: Any = 1, **hints: Any) -> SequentialRange:
    """A loop whose iterations depend on each other."""
    return SequentialRange(*_bounds(start, stop, step))


def static_range(start: Any, stop: Any = None, step: Any = 1, **hints: Any) -> StaticRange:
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


def ds(start: int, size: int) -> slice:
    """The slice of `size` elements from `start`."""
    return slice(start, start + size)


def program_id(axis: int = 0) -> int:
    """The program's index in the launch grid: the core that runs it."""
    return recorder.required().core


def num_programs(axes: Any = 0) -> int:
    """The programs along axes of the launch grid: one on each core."""
    return recorder.required().cores


def program_ndim() -> int:
    """The dimensions of the launch grid."""
    return recorder.required().grid_rank


@contextmanager
def no_reorder() -> Iterator[None]:
    """A region whose instructions keep their order on each queue."""
    with recorder.required().in_order():
        yield


def device_print(print_prefix: str, tensor: Any) -> None:
    """Prints a tensor if values are computed; it is not an instruction of the trace."""
    recorder.required().show(print_prefix, tensor)
