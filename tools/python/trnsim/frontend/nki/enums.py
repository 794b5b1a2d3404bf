# SPDX-License-Identifier: Apache-2.0
# Enumerations of the `nki` API: memory regions, engines, DMA modes.
"""Enumerations. [NKI-ISA] [NKI-LANGUAGE]

Members hash by identity: they are parts of the keys that are looked up per instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source


class _Fast(Enum):
    """An Enum whose members are cheap dictionary keys."""

    __hash__ = object.__hash__


class _Creation:
    """What creates tensors; set by the module that does, which knows memory regions."""

    ndarray: Callable[..., Any]


creation = _Creation()


class MemoryRegion(_Fast):
    """Where a tensor lives."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"

    def view(self, dtype: Any, shape: Any) -> Any:
        """A new tensor in it, as kernels of NKI Beta 2 ask for one: `sbuf.view(dtype, shape)`."""
        return creation.ndarray(shape, dtype, buffer=self)


SPACES: dict[Any, str] = {
    MemoryRegion.sbuf: "sbuf", MemoryRegion.psum: "psum", MemoryRegion.private_hbm: "hbm",
    MemoryRegion.shared_hbm: "hbm", "sbuf": "sbuf", "psum": "psum", "hbm": "hbm",
    "private_hbm": "hbm", "shared_hbm": "hbm",
}
"""Memory of the trace by region or by its name."""

SHARED = (MemoryRegion.shared_hbm, "shared_hbm")


class engine(_Fast):
    """Engines of a NeuronCore; `unknown` lets the compiler choose."""

    tensor = 1
    vector = 5
    scalar = 2
    gpsimd = 3
    dma = 4
    sync = 6
    unknown = 0


class reduce_cmd(_Fast):
    """What an instruction does with the accumulator registers."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(_Fast):
    """Who generates DMA descriptors."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(_Fast):
    """What an indirect access out of bounds does."""

    error = 0
    skip = 1


class matmul_perf_mode(_Fast):
    """Performance modes of the tensor engine."""

    none = "none"
    double_row = "double_row"


class nc_version(IntEnum):
    """NeuronCore generations; they compare with each other and with numbers."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


class dma_engine(_Fast):
    """Who moves the data of a sendrecv."""

    dma = 1
    gpsimd_dma = 2


ENGINES: dict[Any, tuple[str, ...] | None] = {engine.unknown: None, None: None}
ENGINES.update({one: (one.name,) for one in engine if one is not engine.unknown})

DGE_NAMES: dict[Any, str] = {
    dge_mode.unknown: "auto", dge_mode.none: "none", dge_mode.swdge: "software",
    dge_mode.hwdge: "hardware"}
DGE_NAMES.update({mode.value: name for mode, name in tuple(DGE_NAMES.items())})
"""Values of the attribute `dge`, by member and, as some kernels pass it, by number."""


def engine_names(value: Any) -> tuple[str, ...] | None:
    """The engine as the recorder wants it; None lets the table choose."""
    try:
        return ENGINES[value]
    except (KeyError, TypeError):
        raise IllegalInstruction(f"{source.here()}: engine={value!r} is not a member of "
                                 "nki.isa.engine; use one of "
                                 f"{', '.join(one.name for one in engine)}") from None


def space_of(region: Any) -> str:
    """The memory of the trace for a `buffer=` argument."""
    space = SPACES.get(region)
    if space is None:
        raise IllegalInstruction(f"{source.here()}: buffer={region!r} is not a memory of NKI; use "
                                 "nl.sbuf, nl.psum, nl.shared_hbm or nl.private_hbm")
    return space
