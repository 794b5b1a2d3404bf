# SPDX-License-Identifier: Apache-2.0
# Legality of what the DMA engines move.
"""Elements and types of transfers. [NKI-ISA]"""

from __future__ import annotations

from trnsim.frontend.chip import Chip
from trnsim.frontend.legality.instruction import Instruction


def check_dma_elements(chip: Chip, it: Instruction) -> None:
    dst = it.view("dst").form
    for role, _, view in it.operands:
        if role == "src" and view.form.elements != dst.elements:
            raise it.reject(
                f"src is {view.form.describe()}, {view.form.elements} elements, but dst is "
                f"{dst.describe()}, {dst.elements} elements; both must be equal")


def check_sendrecv(chip: Chip, it: Instruction) -> None:
    dst, src = it.view("dst").form, it.view("src").form
    if dst.dtype is not src.dtype:
        raise it.reject(f"src is {src.dtype} and dst is {dst.dtype}, but what is sent is not "
                        "converted; make them equal")
    if dst.shape != src.shape:
        raise it.reject(f"src has shape {list(src.shape)} and dst {list(dst.shape)}, but both must "
                        "be equal; reshape one of them")
