# SPDX-License-Identifier: Apache-2.0
# When instructions run whose operands go by indices of their own.
"""An instruction waits for each of its tensors of indices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trnsim
import nki
import nki.isa as nisa
import nki.language as nl

X = "bfloat16[128,64]"
INDEX = "uint16[128,4]"
ROUNDS = 6


def brought(index: Any, is_late: bool) -> Any:
    """Indices in SBUF; late ones have been to HBM and back a few times."""
    tile = nl.ndarray(index.shape, dtype=index.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, index)
    for _ in range(ROUNDS if is_late else 0):
        away = nl.ndarray(index.shape, dtype=index.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(away, tile)
        tile = nl.ndarray(index.shape, dtype=index.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, away)
    return tile


@nki.jit
def scattered(x: Any, i: Any, j: Any, late: str) -> Any:
    """A tile whose columns are gathered by one tensor of indices and scattered by another."""
    first, second = brought(i, late == "first"), brought(j, late == "second")
    data, result = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(data, x)
    nisa.tensor_copy(result.indirect(first, 64), data.indirect(second, 64))


@nki.jit
def product(x: Any, i: Any, j: Any, late: str) -> Any:
    """A matmul both of whose tiles go by indices."""
    first, second = brought(i, late == "first"), brought(j, late == "second")
    left, right = (nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2))
    nisa.dma_copy(left, x)
    nisa.dma_copy(right, x)
    result = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(result, left.indirect(first, 64), right.indirect(second, 64))


@nki.jit
def products(x: Any, i: Any, j: Any) -> Any:
    """Matmuls of one stationary tile by equal and by other indices."""
    first, second = brought(i, False), brought(j, False)
    data = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(data, x)
    for index in (None, first, first, second):
        result = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
        stationary = data if index is None else data.indirect(index, 64)
        nisa.nc_matmul(result, stationary, data.indirect(first, 64))


def starts(folder: Path, kernel: Any, **options: Any) -> dict[str, list[float]]:
    """When what no DMA does starts, in nanoseconds, by its name."""
    path = folder / "instructions.json"
    trnsim.simulate(kernel, X, INDEX, INDEX, chip="trn3", instructions=path,
                    policies={"loads": "as_soon_as_possible", "dma_rings": 8},
                    **options)
    table = json.loads(path.read_text())
    found: dict[str, list[float]] = {}
    for one in table["instructions"]:
        name = table["templates"][one["template"]]["opcode"]
        found.setdefault(name, []).append(one["start_ns"])
    return found


@pytest.mark.parametrize("late", ["first", "second"])
def test_a_copy_waits_for_the_indices_of_both_its_operands(tmp_path: Path, late: str) -> None:
    (usual,) = starts(tmp_path, scattered, late="")["tensor_copy"]
    (delayed,) = starts(tmp_path, scattered, late=late)["tensor_copy"]
    assert delayed > usual + ROUNDS * 1000


def test_a_matmul_waits_for_the_indices_of_both_its_tiles(tmp_path: Path) -> None:
    usual, first, second = (starts(tmp_path, product, late=late)
                            for late in ("", "first", "second"))
    much = ROUNDS * 1000
    assert first["LoadStationary"][0] > usual["LoadStationary"][0] + much
    assert first["nc_matmul"][0] > first["LoadStationary"][0]
    assert second["LoadStationary"][0] < usual["LoadStationary"][0] + much
    assert second["nc_matmul"][0] > usual["nc_matmul"][0] + much


def test_a_stationary_tile_is_loaded_again_by_other_indices(tmp_path: Path) -> None:
    found = starts(tmp_path, products)
    assert len(found["nc_matmul"]) == 4 and len(found["LoadStationary"]) == 3
