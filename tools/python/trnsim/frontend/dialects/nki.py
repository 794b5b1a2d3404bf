# SPDX-License-Identifier: Apache-2.0
# The modules of the `nki` API, and how its kernels are run.
"""The dialect `nki`."""

from __future__ import annotations

from enum import Enum
from math import prod
from types import FrameType, ModuleType
from typing import Any
from collections.abc import Iterator

from trnsim.frontend import recorder
from trnsim.frontend.dialect import Dialect, module
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.frame import LoopOrigin
from trnsim.frontend.records.tensor import Storage, View


def _tensor(storage: Storage) -> View:
    from trnsim.frontend.nki.tensor import whole
    return whole(storage)


def modules() -> dict[str, ModuleType]:
    """nki, nki.language, nki.isa, nki.collectives, nki.typing and their relatives."""
    from trnsim.frontend.dtypes import DType
    from trnsim.frontend.nki import collectives, enums, isa, language, registers
    from trnsim.frontend.nki.decorators import jit, simulate
    from trnsim.frontend.nki.objects import NKIObject
    from trnsim.frontend.nki.tensor import NkiTensor
    from trnsim.frontend.timed import timed
    benchmark, profile = timed(jit, "benchmark"), timed(jit, "profiler")
    experimental = module("nki.experimental", while_loop=registers.while_loop,
                          fori_loop=registers.fori_loop)
    typing = module("nki.typing", tensor=NkiTensor, NkiTensor=NkiTensor, DType=DType)
    dtype = module("nki.dtype", DType=DType, **{
        name: value for name, value in vars(language).items() if isinstance(value, DType)})
    top = module("nki", __path__=[], jit=jit, benchmark=benchmark, profile=profile,
                 baremetal=jit, trace=jit, simulate=simulate, language=language, isa=isa,
                 collectives=collectives, typing=typing, dtype=dtype, experimental=experimental,
                 NKIObject=NKIObject, __version__="0.6.0")
    constants = module("nki.isa.constants", **{
        name: value for name, value in vars(enums).items() if isinstance(value, type(Enum))})
    isa.__dict__.update(__path__=[], constants=constants)
    return {"nki": top, "nki.language": language, "nki.isa": isa,
            "nki.isa.constants": constants, "nki.collectives": collectives,
            "nki.typing": typing, "nki.dtype": dtype, "nki.experimental": experimental}


def _cores(grid: tuple[Any, ...]) -> int:
    return prod(grid)


def _sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    from trnsim.frontend.sampling.sample import sample

    recorder.required().sample = sample  # the module needs this one: from now on directly
    return sample(frame, values, origin)


def _review(active: Recorder) -> None:
    from trnsim.frontend.nki.split_collectives import check_triggered

    check_triggered(active)


DIALECT = Dialect("nki", _tensor, modules, sample=_sample, cores=_cores, review=_review)
