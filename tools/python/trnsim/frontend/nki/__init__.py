# SPDX-License-Identifier: Apache-2.0
# The `nki` API, versions 0.2 to 0.6, and of 0.7 what docs/deviations.md does not except (D-41).
"""The dialect `nki`: explicit dst first, numpy-like views, loops that are unrolled."""

from __future__ import annotations

from enum import Enum
from math import prod
from types import FrameType, ModuleType
from typing import Any
from collections.abc import Iterator

from trnsim.frontend import recorder
from trnsim.frontend.dialect import Dialect
from trnsim.frontend.kernel import decorator
from trnsim.frontend.frame import LoopOrigin
from trnsim.frontend.tensor import Storage, View

API = "nki"
jit = decorator(API)


def simulate(kernel: Any) -> Any:
    """The kernel, whose calls are simulated; a plain function becomes one."""
    return jit(kernel)


def _tensor(storage: Storage) -> View:
    from trnsim.frontend.nki.tensor import whole
    return whole(storage)


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name, f"{name}, impersonated by trnsim.")
    module.__dict__.update(contents)
    return module


def modules() -> dict[str, ModuleType]:
    """nki, nki.language, nki.isa, nki.collectives, nki.typing and their relatives."""
    from trnsim.frontend.dtypes import DType
    from trnsim.frontend.nki import collectives, enums, isa, language, registers
    from trnsim.frontend.nki.objects import NKIObject
    from trnsim.frontend.nki.tensor import NkiTensor
    from trnsim.frontend.timed import timed
    benchmark, profile = timed(jit, "benchmark"), timed(jit, "profiler")
    experimental = _module("nki.experimental", while_loop=registers.while_loop,
                           fori_loop=registers.fori_loop)
    typing = _module("nki.typing", tensor=NkiTensor, NkiTensor=NkiTensor, DType=DType)
    dtype = _module("nki.dtype", DType=DType, **{
        name: value for name, value in vars(language).items() if isinstance(value, DType)})
    top = _module("nki", __path__=[], jit=jit, benchmark=benchmark, profile=profile,
                  baremetal=jit, trace=jit, simulate=simulate, language=language, isa=isa,
                  collectives=collectives, typing=typing, dtype=dtype, experimental=experimental,
                  NKIObject=NKIObject, __version__="0.6.0")
    constants = _module("nki.isa.constants", **{
        name: value for name, value in vars(enums).items() if isinstance(value, type(Enum))})
    isa.__dict__.update(__path__=[], constants=constants)
    return {"nki": top, "nki.language": language, "nki.isa": isa,
            "nki.isa.constants": constants, "nki.collectives": collectives,
            "nki.typing": typing, "nki.dtype": dtype, "nki.experimental": experimental}


def _cores(grid: tuple[Any, ...]) -> int:
    return prod(grid)


def _sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    from trnsim.frontend.sampling import sample

    recorder.required().sample = sample  # the module needs this one: from now on directly
    return sample(frame, values, origin)


DIALECT = Dialect(API, _tensor, modules, sample=_sample, cores=_cores)
