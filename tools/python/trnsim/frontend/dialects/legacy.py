# SPDX-License-Identifier: Apache-2.0
# The modules of neuronxcc.nki, and how its kernels are run.
"""The dialect `neuronxcc.nki`."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

from trnsim.frontend.dialect import Dialect, module
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.frame import LoopOrigin
from trnsim.frontend.records.tensor import Storage, View
from trnsim.frontend.source import Position


def _tensor(storage: Storage) -> View:
    from trnsim.frontend.legacy.tensor import Tensor

    return Tensor(storage, storage.buffer.whole)


def modules() -> dict[str, ModuleType]:
    """neuronxcc.nki with its language, isa, compiler and typing; as AWS's, it adds logging.OFF.

    Modules that others import late come with them, so that no kernel waits for them.
    """
    from trnsim.frontend.legacy import compiler, decorators, isa, language, typing
    for late in ("assignment", "division", "loop_reduction", "scopes"):
        importlib.import_module(f"trnsim.frontend.legacy.{late}")

    constants = module("neuronxcc.nki.isa.constants", dge_mode=isa.dge_mode, engine=isa.engine,
                       oob_mode=isa.oob_mode, reduce_cmd=isa.reduce_cmd,
                       nc_version=isa.nc_version)
    sizes = module("neuronxcc.nki.language.constants", sizeinbytes=language.sizeinbytes)
    language.__dict__.setdefault("__path__", [])
    language.__dict__["constants"] = sizes
    isa.__dict__["constants"] = constants
    if not hasattr(logging, "OFF"):
        logging.OFF = logging.CRITICAL + 10
    compiler.__dict__.setdefault("__path__", [])
    top = module("neuronxcc.nki", __path__=[], language=language, isa=isa, compiler=compiler,
                 typing=typing, jit=decorators.jit, trace=decorators.jit,
                 baremetal=decorators.jit, benchmark=decorators.benchmark,
                 profile=decorators.profile,
                 simulate_kernel=decorators.simulate_kernel, tensor=typing.tensor,
                 __version__="0.1")
    return {"neuronxcc": module("neuronxcc", __path__=[], nki=top), "neuronxcc.nki": top,
            "neuronxcc.nki.language": language, "neuronxcc.nki.language.constants": sizes,
            "neuronxcc.nki.isa": isa,
            "neuronxcc.nki.isa.constants": constants, "neuronxcc.nki.compiler": compiler,
            "neuronxcc.nki.typing": typing}


def _launch(grid: tuple[Any, ...], call: Callable[[], Any]) -> Any:
    from trnsim.frontend.legacy.grid import launch

    return launch(grid, call)


def _sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    from trnsim.frontend.legacy.loops import sample

    return sample(frame, values, origin)


def _advise(kernel: Any) -> list[tuple[Position, str]]:
    from trnsim.frontend.legacy.scopes import advise

    return advise(kernel)


def _review(active: Recorder) -> None:
    from trnsim.frontend.legacy.grid import note_missing_axes
    from trnsim.frontend.legacy.overwriting import warn_of_overwriting

    warn_of_overwriting(active)
    note_missing_axes(active)


DIALECT = Dialect("neuronxcc.nki", _tensor, modules, _launch, _sample, advise=_advise,
                  review=_review, has_middle_end=True)
