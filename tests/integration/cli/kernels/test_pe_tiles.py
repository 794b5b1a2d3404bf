# SPDX-License-Identifier: Apache-2.0
# tile_position of nc_matmul: a kernel's matmuls on parts of the PE array.
"""Matmuls of few rows on disjoint tiles of the array, and the same ones on the whole of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine

KERNEL = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def product(a, b, tiles=4, rounds=64):
    """In every round four products of 32 rows, on so many different tiles of the array."""
    left = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    right = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    nisa.dma_copy(dst=right, src=b)
    for _ in range(rounds):
        for quarter in range(4):
            rows = nl.ds(32 * (quarter % tiles), 32)
            place = {}
            if tiles > 1:
                place = {"tile_position": (32 * (quarter % tiles), 0), "tile_size": (32, 128)}
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=total, stationary=left[rows, :], moving=right[rows, :], **place)
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=total)
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
'''
ALWAYS_WARM = ("--set", "neuron_core.tensor_engine.clock_gate.enabled=false")


@pytest.mark.parametrize("tiles", [2, 4])
def test_products_on_disjoint_tiles_run_side_by_side(trnsim: CommandLine, tmp_path: Path,
                                                     tiles: int) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)

    def active_ns(on: int) -> float:
        told = trnsim.result("kernel.py::product", "--arg", "bfloat16[128,128]", "--arg",
                             "bfloat16[128,512]", "--arg", f"tiles={on}", *ALWAYS_WARM)
        assert told["summary"]["model_flops"] == 256 * 2 * 32 * 128 * 512
        return float(told["engines"]["tensor"]["active_ns"])

    assert active_ns(1) / active_ns(tiles) == pytest.approx(tiles, rel=0.05)
