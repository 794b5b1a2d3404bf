# SPDX-License-Identifier: Apache-2.0
# Tests of the rules of DMA transposes, priorities and collectives.
"""What the DMA engines would not move does not trace; the message names the line and the rule."""

from __future__ import annotations

from typing import Any

import pytest
from kernels import nisa, nl
from legality_helpers import Body, accepts, rejects, sbuf
from nki import collectives

GROUP = [[0, 1]]
MODE = nisa.dge_mode


def hbm(*shape: int, dtype: Any = nl.bfloat16) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


def tile(*shape: int) -> Any:
    return sbuf(*shape, dtype=nl.bfloat16)


def transposed(*shape: int, dtype: Any = nl.bfloat16, **more: Any) -> Body:
    """A transpose of a tensor in HBM."""
    order = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}[len(shape)]
    return lambda h: nisa.dma_transpose(sbuf(*(shape[one] for one in order), dtype=dtype),
                                        hbm(*shape, dtype=dtype), **more)


@pytest.mark.parametrize(("body", "message"), [
    (transposed(64, 64, dge_mode=MODE.swdge),
     "dge_mode is swdge, but src has no indices; use hwdge, none or unknown"),
    (transposed(32, 64, dge_mode=MODE.hwdge), "src has 32 rows, but hwdge transposes 16"),
    (transposed(8, 64, dge_mode=MODE.hwdge), "src has 8 rows, but hwdge transposes 16"),
    (transposed(32, 2, 64, dge_mode=MODE.hwdge),
     r"src has shape \[32, 2, 64\], but with hwdge its first size must be one of 1, 2, 4, 8, 16"),
    (transposed(8, 3, 64, dge_mode=MODE.hwdge), r"src has shape \[8, 3, 64\], but with hwdge"),
    (transposed(4, 4, 1, 64, dge_mode=MODE.hwdge), r"src has shape \[4, 4, 1, 64\], but with"),
    (lambda h: nisa.dma_transpose(tile(128, 16), tile(16, 128), dge_mode=9),
     "dge_mode=9 is not a member of nki.isa.dge_mode"),
    (transposed(16, 64, dtype=nl.float32, dge_mode=MODE.hwdge),
     "src is float32, but hwdge transposes elements of 2 bytes"),
    (lambda h: nisa.dma_transpose(sbuf(64, 128), hbm(128, 64)),
     "src is bfloat16 and dst is float32, but both must have the same type"),
    (transposed(64, 64, oob_mode=nisa.oob_mode.skip),
     "oob_mode is skip, but src has no indices, and nothing of it is out of bounds; leave it out"),
    (lambda h: nisa.dma_transpose(hbm(64, 128), hbm(128, 64)),
     "dst is 'hbm_0' in hbm, but must be in sbuf"),
])
def test_a_transpose_is_refused(body: Body, message: str) -> None:
    rejects(body, f"dma_transpose: {message}")


@pytest.mark.parametrize("body", [
    transposed(64, 64), transposed(64, 64, dge_mode=MODE.none),
    transposed(64, 64, dtype=nl.float32), transposed(16, 128, dge_mode=MODE.hwdge),
    transposed(4, 4, 64, dge_mode=MODE.hwdge), transposed(1, 3, 16, 64, dge_mode=MODE.hwdge)])
def test_a_transpose_is_taken(body: Body) -> None:
    assert accepts(body) == ["dma_transpose"]


def gathered(rows: int = 128, columns: int = 64, indices: tuple[int, ...] = (128, 1),
             kind: Any = nl.uint32, dtype: Any = nl.bfloat16, place: Any = None,
             **more: Any) -> Body:
    """A transpose of rows that a tensor names."""
    def body(h: Any) -> None:
        places = nl.ndarray(indices, dtype=kind, buffer=place or nl.sbuf)
        src = hbm(256, columns, dtype=dtype).ap([[columns, rows], [1, columns]],
                                                vector_offset=places, indirect_dim=0)
        nisa.dma_transpose(sbuf(columns, rows, dtype=dtype), src, **more)
    return body


def many(middle: int) -> Any:
    """32 blocks of rows that a tensor names."""
    places = sbuf(32, 1, dtype=nl.uint32)
    block = 2 * middle * 64
    return hbm(64, 2, middle, 64).ap([[block, 32], [middle * 64, 2], [64, middle], [1, 64]],
                                     vector_offset=places, indirect_dim=0)


@pytest.mark.parametrize(("body", "message"), [
    (gathered(kind=nl.int32), "the indices are int32, but must be uint32"),
    (gathered(place=nl.shared_hbm), "the indices are hbm .*, but must be a tile in sbuf"),
    (gathered(120, indices=(120, 1)), r"the indices have shape \[120, 1\], but are a column"),
    (gathered(64, indices=(64, 2)), r"the indices have shape \[64, 2\], but are a column"),
    (gathered(120), "src has 120 rows for 128 indices, but must have a multiple of 16"),
    (gathered(128, indices=(64, 1)), "src has 128 rows for 64 indices"),
    (gathered(dtype=nl.float32), "src is float32, but a gather transposes elements of 2 bytes"),
    (gathered(dge_mode=MODE.hwdge), "dge_mode is hwdge, but src has indices, which take swdge"),
    (gathered(dge_mode=MODE.none), "dge_mode is none, but src has indices"),
    (lambda h: nisa.dma_transpose(tile(64, 128), tile(128, 64).ap(
        [[64, 128], [1, 64]], vector_offset=sbuf(128, 1, dtype=nl.uint32), indirect_dim=0)),
     "src is 'sbuf_1' in sbuf, but rows are gathered from hbm"),
    (lambda h: nisa.dma_transpose(tile(64, 2, 2, 32), many(2)),
     r"src has shape \[32, 2, 2, 64\], but one of its two middle dimensions must be 1"),
])
def test_a_gather_is_refused(body: Body, message: str) -> None:
    rejects(body, f"dma_transpose: {message}")


@pytest.mark.parametrize(("to_rows", "more", "message"), [
    (False, {"dge_mode": MODE.hwdge},
     "dge_mode is hwdge, but 'hbm_0' has a vector_offset, which takes swdge"),
    (True, {"dge_mode": MODE.none}, "dge_mode is none, but 'hbm_0' has a vector_offset"),
    (None, {}, "'sbuf_0' in sbuf is accessed by a vector_offset, but rows are selected in hbm")])
def test_a_copy_by_rows_is_of_hbm_and_described_by_software(
        to_rows: bool | None, more: dict[str, Any], message: str) -> None:
    def body(h: Any) -> None:
        rows = (sbuf(128, 64) if to_rows is None else hbm(256, 64, dtype=nl.float32)).ap(
            [[64, 128], [1, 64]], vector_offset=sbuf(128, 1, dtype=nl.uint32), indirect_dim=0)
        tile = sbuf(128, 64)
        nisa.dma_copy(*((rows, tile) if to_rows else (tile, rows)), **more)
    rejects(body, f"dma_copy: {message}")


ENGINE = nisa.engine


def copied(**more: Any) -> Body:
    return lambda h: nisa.dma_copy(sbuf(128, 64), h[0:128], **more)


@pytest.mark.parametrize(("body", "message"), [
    (copied(engine=ENGINE.sync), "engine is sync, but dge_mode is not hwdge, with which an engine "
                                 "triggers descriptors; pass that or no engine"),
    (copied(engine=ENGINE.gpsimd, dge_mode=MODE.swdge), "engine is gpsimd, but dge_mode is not"),
    (copied(engine=ENGINE.vector, dge_mode=MODE.hwdge),
     "engine is vector, but descriptors of hwdge are triggered by sync or scalar; name one"),
])
def test_an_engine_that_triggers_no_descriptors_is_refused(body: Body, message: str) -> None:
    rejects(body, f"dma_copy: {message}")


@pytest.mark.parametrize("engine", [ENGINE.sync, ENGINE.scalar, ENGINE.unknown])
def test_two_engines_trigger_the_descriptors_of_the_hardware(engine: Any) -> None:
    assert accepts(copied(engine=engine, dge_mode=MODE.hwdge)) == ["dma_copy"]


def test_a_gather_of_blocks_has_a_dimension_of_one() -> None:
    order = (64, 2, 1, 32)
    assert accepts(lambda h: nisa.dma_transpose(tile(*order), many(1))) == ["dma_transpose"]


def test_a_gather_transposes_from_the_third_generation_on() -> None:
    rejects(gathered(), "src has indices, which needs NeuronCore-v3, but trn1", "trn1")
    for body in (gathered(), gathered(dge_mode=MODE.swdge), gathered(256, indices=(128, 2)),
                 gathered(oob_mode=nisa.oob_mode.skip)):
        assert accepts(body) == ["dma_transpose"]


@pytest.mark.parametrize("call", [
    lambda **more: transposed(64, 64, **more),
    lambda **more: lambda h: nisa.dma_copy(sbuf(128, 64), h[0:128], **more),
    lambda **more: lambda h: collectives.all_reduce(
        [hbm(64, 64)], [hbm(64, 64)], GROUP, nl.add, **more)])
def test_priorities_are_0_to_3_of_the_fourth_generation(call: Any) -> None:
    rejects(call(priority=1), "priority=1 needs NeuronCore-v4, but trn2")
    rejects(call(priority=4), "priority is 4, but must be 0 to 3", "trn3")
    assert len(accepts(call(priority=3), "trn3")) == 1


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: collectives.all_gather([hbm(64, 64)], [hbm(64, 128)], GROUP, 1),
     "all_gather: collective_dim is 1, but for tensors in hbm it must be 0; reshape them"),
    (lambda h: collectives.all_gather([tile(64, 64)], [tile(64, 128)], GROUP, 2),
     "all_gather: collective_dim is 2, but for tensors in sbuf it must be 0 or 1"),
    (lambda h: collectives.reduce_scatter([tile(64, 64)], [tile(64, 32)], GROUP, 1, nl.add),
     "reduce_scatter: collective_dim is 1, but for tensors in sbuf it must be 0"),
    (lambda h: collectives.all_to_all([hbm(64, 64)], [hbm(64, 64)], GROUP, 1),
     "all_to_all: collective_dim is 1, but for tensors in hbm it must be 0"),
    (lambda h: collectives.all_to_all([tile(64, 64)], [tile(64, 64)], GROUP, 0),
     "all_to_all: the tensors are in sbuf, but must be in hbm"),
    (lambda h: collectives.all_reduce([tile(64, 64)] * 2, [tile(64, 64)] * 2, GROUP, nl.add),
     "all_reduce: srcs has 2 tensors in sbuf, but only those in hbm are moved together"),
    (lambda h: collectives.collective_permute([tile(64, 64)], [tile(64, 64)], [(0, 1)]),
     "collective_permute: the tensors are in sbuf, but must be in hbm"),
    (lambda h: collectives.collective_permute([hbm(64, 64)] * 2, [hbm(64, 64)] * 2, [(0, 1)]),
     "collective_permute: srcs has 2 tensors, but must have one"),
    (lambda h: collectives.all_to_all_v([hbm(64, 64)] * 2, [hbm(64, 64)], GROUP, hbm(3, 2)),
     "all_to_all_v: srcs has 2 tensors, but must have one"),
    (lambda h: collectives.all_gather_v([tile(64, 64)], [tile(64, 64)], GROUP, hbm(3, 2)),
     "all_gather_v: the tensors are in sbuf, but must be in hbm"),
])
def test_a_collective_is_refused(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize("body", [
    lambda h: collectives.all_gather([tile(64, 64)], [tile(64, 128)], GROUP, 1),
    lambda h: collectives.all_reduce([hbm(64, 64)] * 2, [hbm(64, 64)] * 2, GROUP, nl.add)])
def test_a_collective_is_taken(body: Body) -> None:
    assert len(accepts(body)) == 1
