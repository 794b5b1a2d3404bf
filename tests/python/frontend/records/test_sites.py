# SPDX-License-Identifier: Apache-2.0
# Tests of allocation sites: tiles that a loop names or places are one buffer.
"""A kernel that names its tiles or chooses their addresses has the trace of one that does not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from helpers import FlatRecorder, program, tensor, traced
from kernels import nisa, nl
from trace_expander import accesses, expand, parse
from trnsim.errors import FrontendError
from trnsim.frontend import dtype, trace, tracing
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.records import sites

X = tensor("float32", 128, 4096)


def on_chip(lines: list[str]) -> list[dict[str, Any]]:
    """The buffers that are not in HBM."""
    return [one for one in parse(lines).buffers.values() if one["space"] != "hbm"]


def apart(kernel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a kernel does to memory, recorded without loops and with a site per name and address."""
    with monkeypatch.context() as patch:
        patch.setattr(tracing, "Recorder", FlatRecorder)
        patch.setattr(sites, "likeness", lambda space, dtype, name, address: (name, address))
        return accesses(expand(trace(kernel, [X], takes_shortcuts=False).lines()))


class Placing:
    """A kernel of random loops whose tiles have names, addresses, or neither; always the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, x: Any) -> Any:
        chance = random.Random(self.seed)
        self.made = 0
        for _ in range(3):
            kept: list[Any] = []
            kinds = [chance.choice(("named", "placed", "ring", "scattered", "plain"))
                     for _ in range(2)]
            spaces = [chance.choice((nl.sbuf, nl.sbuf, nl.psum)) for _ in kinds]
            dtypes = [chance.choice((nl.float32, nl.bfloat16, nl.int8)) for _ in kinds]
            size = chance.choice((4, 32, 60))
            partitions = chance.choice((0, 0, 32))
            for outer in LoopRange(chance.randint(1, 3)):
                for index in LoopRange(chance.randint(1, 9)):
                    for which, kind in enumerate(kinds):
                        tile = self.tile(kind, spaces[which], dtypes[which], outer * 9 + index,
                                         size, partitions * (index % 2))
                        nisa.memset(tile, value=0)
                        kept = [*kept[-3:], tile]
                    nisa.tensor_copy(kept[0][0:32, 0:2], kept[-1][0:32, 0:2])
                    if index % 3 == 2:
                        nisa.memset(kept[index % len(kept)][0:32, 1:4], value=1)
        return x

    def tile(self, kind: str, space: Any, dtype: Any, index: int, size: int,
             partition: int) -> Any:
        self.made += 1
        byte = {"placed": index * size, "ring": index % 3 * size + 2048,
                "scattered": (index * index * 37 + index) % 256 * 4}.get(kind)
        name = f"q_{index}_of_{index // 9}" if kind != "plain" and self.seed % 2 else None
        address = None if byte is None else (partition, byte)
        return nl.ndarray((32, 4), dtype=dtype, buffer=space, name=name, address=address)


@pytest.mark.parametrize("seed", range(60))
def test_tiles_with_names_and_addresses_are_accessed_where_the_program_put_them(
        seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Placing(seed)
    assert accesses(traced(kernel, X)) == apart(kernel, monkeypatch)


def placed(tiles: int) -> Callable[..., Any]:
    def kernel(x: Any) -> Any:
        found = [nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, name=f"q_{i}",
                            address=(0, 1024 + 256 * i)) for i in LoopRange(tiles)]
        for i in LoopRange(tiles):
            nisa.dma_copy(found[i], x[:, 64 * i:64 * i + 64])
        for i in LoopRange(tiles):
            nisa.tensor_copy(found[i], found[0])
        return x
    return kernel


def test_tiles_at_equal_distances_are_one_buffer_over_all_their_bytes() -> None:
    lines = program(placed(8), X).lines()
    (buffer,) = on_chip(lines)
    assert (buffer["name"], buffer["shape"], buffer["address"]) == ("q_*", [128, 512], [0, 1024])
    runs = [json.loads(line) for line in lines if '"run"' in line]
    assert [one["at"][0] for one in runs] == [{"offset": {"i": 64}}] * 2
    assert sum('"alloc"' in line for line in lines) == 1


def test_a_trace_does_not_grow_with_the_tiles_that_a_program_places() -> None:
    assert len(program(placed(4), X).lines()) == len(program(placed(60), X).lines())


def test_one_placed_tile_keeps_its_shape() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray((128, 2, 32), dtype=x.dtype, buffer=nl.sbuf, address=(0, 512))
        nisa.dma_copy(tile, x[:, 0:64].reshape((128, 2, 32)))
        return x

    (buffer,) = on_chip(program(kernel, X).lines())
    assert (buffer["shape"], buffer["address"]) == ([128, 2, 32], [0, 512])


def test_the_memory_of_a_site_is_that_of_the_tiles_that_are_used() -> None:
    def kernel(x: Any) -> Any:
        tiles = [nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, address=(0, 256 * i))
                 for i in range(9)]
        for i in (6, 4, 7):
            nisa.dma_copy(tiles[i], x[:, 0:64])
        return x

    (buffer,) = on_chip(program(kernel, X).lines())
    assert (buffer["shape"], buffer["address"]) == ([128, 256], [0, 1024])


def test_named_tiles_are_instances_of_one_site() -> None:
    def kernel(x: Any) -> Any:
        for i in LoopRange(5):
            tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, name=f"k{i}_of_{i % 2}")
            nisa.dma_copy(tile, x[:, 64 * i:64 * i + 64])
        return x

    lines = program(kernel, X).lines()
    (buffer,) = on_chip(lines)
    assert buffer["name"] == "k*_of_*"
    assert parse(lines).loops() == 1 and sum('"run"' in line for line in lines) == 1


def test_a_name_that_is_the_only_one_stays_as_it_is() -> None:
    def kernel(x: Any) -> Any:
        for _ in LoopRange(3):
            nisa.dma_copy(nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, name="q8"),
                          x[:, 0:64])
        return x

    assert [one["name"] for one in on_chip(program(kernel, X).lines())] == ["q8"]


def test_names_without_a_number_in_common_are_sites_of_their_own() -> None:
    def kernel(x: Any) -> Any:
        for name in ("left", "right"):
            nisa.dma_copy(nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf, name=name),
                          x[:, 0:64])
        return x

    assert [one["name"] for one in on_chip(program(kernel, X).lines())] == ["left", "right"]


@pytest.mark.parametrize(("addresses", "buffers"), [
    ([(0, 0), (0, 4)], 1), ([(0, 0), (0, 2)], 2), ([(0, 0), (32, 0)], 2), ([(0, 64), (0, 64)], 1)])
def test_tiles_of_one_site_start_at_one_partition_and_at_whole_words(
        addresses: list[tuple[int, int]], buffers: int) -> None:
    def kernel(x: Any) -> Any:
        for address in addresses:
            nisa.memset(nl.ndarray((32, 64), dtype=nl.bfloat16, buffer=nl.sbuf, address=address),
                        value=0)
        return x

    assert len(on_chip(program(kernel, X).lines())) == buffers


def test_a_view_as_another_type_counts_in_its_own_elements() -> None:
    def kernel(x: Any) -> Any:
        for i in LoopRange(3):
            tile = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf,
                              address=(0, 256 + 128 * i))
            nisa.memset(tile.view(nl.float32)[:, 1:9], value=0)
            nisa.memset(tile.view(nl.int8)[:, 1:9], value=0)
        return x

    assert [one.places[0][1] for one in traced(kernel, X)] == [
        256 + 128 * i + start for i in range(3) for start in (4, 1)]


def test_a_view_as_a_type_that_the_address_is_not_aligned_to_is_refused() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf, address=(0, 4))
        tile.view(dtype("int64"))
        return x

    with pytest.raises(FrontendError, match=r"test_sites\.py:\d+: .*'tile' .*viewed as int64.*"
                                            r"aligned to 4 bytes; allocate it as int64"):
        program(kernel, X)
