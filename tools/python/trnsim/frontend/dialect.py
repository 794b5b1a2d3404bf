# SPDX-License-Identifier: Apache-2.0
# What tells the two APIs apart for the rest of the frontend.
"""A dialect of NKI: its name, its tensors, and the modules that it impersonates."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, NamedTuple
from collections.abc import Callable

from trnsim.errors import UserError
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.tensor import Storage, View
from trnsim.frontend.source import Position


def _launch_once(grid: tuple[Any, ...], call: Callable[[], Any]) -> Any:
    return call()


def _no_advice(kernel: Any) -> list[tuple[Position, str]]:
    return []


def _no_review(active: Recorder) -> None:
    pass


def _one_core(grid: tuple[Any, ...]) -> int:
    return 1


class Dialect(NamedTuple):
    """`tensor` makes the view of a whole storage; `modules` the public modules by name.

    `launch` calls the kernel for every program of a launch grid and returns its result; `sample`
    chooses the iterations of a range that are executed (see Recorder.sample). `cores` is the number
    of cores that a launch grid names, each of which gets a program. `advise` finds what AWS's
    compiler does not take in a kernel's source, and what to write instead, where; `review` warns
    of what it does not take in a finished program, or raises IllegalInstruction.
    `has_middle_end` says whether kernels may be compiled without the passes that move instructions.
    """

    api: str
    tensor: Callable[[Storage], View]
    modules: Callable[[], dict[str, ModuleType]]
    launch: Callable[[tuple[Any, ...], Callable[[], Any]], Any] = _launch_once
    sample: Callable[..., Any] | None = None
    cores: Callable[[tuple[Any, ...]], int] = _one_core
    advise: Callable[[Any], list[tuple[Position, str]]] = _no_advice
    review: Callable[[Recorder], None] = _no_review
    has_middle_end: bool = False


def module(name: str, **contents: Any) -> ModuleType:
    """A public module of AWS's with contents of ours."""
    made = ModuleType(name, f"{name}, impersonated by trnsim.")
    made.__dict__.update(contents)
    return made


_MODULES = {"nki": "trnsim.frontend.dialects.nki",
            "neuronxcc.nki": "trnsim.frontend.dialects.legacy"}


def dialect(api: str) -> Dialect:
    """The dialect with the header's name `nki` or `neuronxcc.nki`."""
    if api not in _MODULES:
        raise UserError(f"API {api!r} is neither of {', '.join(_MODULES)}")
    home: Any = importlib.import_module(_MODULES[api])
    found: Dialect = home.DIALECT
    return found


def all_dialects() -> tuple[Dialect, ...]:
    """Both dialects."""
    return tuple(dialect(api) for api in _MODULES)
