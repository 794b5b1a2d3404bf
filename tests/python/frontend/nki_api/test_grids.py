# SPDX-License-Identifier: Apache-2.0
# Tests of tensors as grids of tiles and blocks: what they select, and messages.
"""A grid selects the elements that slices of its cells select. [NKI-GRIDS]"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from helpers import elements, program, tensor, traced
from kernels import nisa, nki, nl
from trnsim.frontend import IllegalInstruction, UnsupportedFeature, run_kernel

TILE, BLOCK = (128, 256), (2, 2)
WHOLE = numpy.arange(3 * 600 * 1000).reshape(3, 600, 1000)


def in_kernel(body: Callable[[Any], Any], *shape: int) -> Any:
    """Calls body(HBM tensor) in a trace and returns what it returns."""
    found: list[Any] = []

    def kernel(h: Any) -> None:
        found.append(body(h))
    program(nki.jit(kernel), tensor("float32", *(shape or (600, 1000))))
    return found[0]


SELECTIONS: list[tuple[Callable[[Any], Any], Any, tuple[int, ...]]] = [
    (lambda t: nl.tiles(t, tile_shape=TILE), WHOLE, (3, 5, 4)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[1], WHOLE[1], (5, 4)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[1, 2, 3], WHOLE[1, 256:384, 768:], ()),
    (lambda t: nl.tiles(t, tile_shape=TILE)[1][2][-1], WHOLE[1, 256:384, 768:], ()),
    (lambda t: nl.tiles(t, tile_shape=TILE)[1, -1, 0], WHOLE[1, 512:, :256], ()),
    (lambda t: nl.tiles(t, tile_shape=TILE)[0, :, 1], WHOLE[0, :, 256:512], (5,)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[..., 1:3], WHOLE[:, :, 256:768], (3, 5, 2)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[2, 1:, :2], WHOLE[2, 128:, :512], (4, 2)),
    (lambda t: nl.blocks(t, tile_shape=TILE, block_shape=BLOCK), WHOLE, (3, 3, 2)),
    (lambda t: nl.blocks(t, tile_shape=TILE, block_shape=BLOCK)[0, 2, 1], WHOLE[0, 512:, 512:], ()),
    (lambda t: nl.tiles(nl.blocks(t, tile_shape=TILE, block_shape=BLOCK)[0, 1, 1]),
     WHOLE[0, 256:512, 512:], (2, 2)),
    (lambda t: nl.tiles(nl.blocks(t, tile_shape=TILE, block_shape=BLOCK)[0, 1, 1])[1, 0],
     WHOLE[0, 384:512, 512:768], ()),
    (lambda t: nl.tiles(nl.tiles(t, tile_shape=TILE)[0, 1:3], tile_shape=(64, 100))[1, 9],
     WHOLE[0, 192:256, 900:], ()),
    (lambda t: nl.blocks(nl.tiles(t, tile_shape=TILE), block_shape=(1, 4))[2, 4, 0],
     WHOLE[2, 512:], ())]


@pytest.mark.parametrize("index", range(len(SELECTIONS)))
def test_a_grid_selects_what_slices_of_its_cells_select(index: int) -> None:
    make, wanted, shape = SELECTIONS[index]
    grid = in_kernel(make, 3, 600, 1000)
    assert grid.shape == shape
    assert grid.element_shape == wanted.shape
    assert grid.is_data_representable
    assert numpy.array_equal(elements(grid.data), wanted)


FEET = numpy.concatenate([WHOLE[0, 0:128], WHOLE[0, 256:384], WHOLE[0, 512:]])
"""Every other row of tiles."""
STEPS: list[tuple[Callable[[Any], Any], Any, tuple[int, ...], tuple[int, ...]]] = [
    (lambda t: nl.tiles(t, tile_shape=TILE)[0, ::2], FEET, (3, 4), (256, 256)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[0, 0:4:2][:, 1:3], FEET[:256, 256:768], (2, 2),
     (256, 256)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[0, ::2, ::3], numpy.hstack(
        [FEET[:, :256], FEET[:, 768:]]), (3, 2), (256, 768)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[0, ::2][::2], numpy.concatenate(
        [FEET[:128], FEET[256:]]), (2, 4), (512, 256)),
    (lambda t: nl.blocks(t, tile_shape=TILE, block_shape=BLOCK)[0, ::2], numpy.concatenate(
        [WHOLE[0, :256], WHOLE[0, 512:]]), (2, 2), (512, 512)),
    (lambda t: nl.tiles(nl.blocks(t, tile_shape=TILE, block_shape=BLOCK)[0, ::2]),
     numpy.concatenate([WHOLE[0, :256], WHOLE[0, 512:]]), (3, 4), (128, 256)),
    (lambda t: nl.tiles(t, tile_shape=TILE)[::2, ::2], numpy.concatenate(
        [WHOLE[::2, 0:128], WHOLE[::2, 256:384], WHOLE[::2, 512:]], axis=1), (2, 3, 4),
     (2, 256, 256))]


def assembled(grid: Any) -> Any:
    """The elements of all cells, each by itself."""
    if not grid.shape:
        return elements(grid.data)
    cells = [assembled(grid[cell]) for cell in range(grid.shape[0])]
    is_tiled = len(grid.element_shape) == len(grid.tile_shape)
    return numpy.concatenate(cells, axis=grid.dimensions[0]) if is_tiled else numpy.stack(cells)


@pytest.mark.parametrize("index", range(len(STEPS)))
def test_a_step_selects_the_cells_that_python_would(index: int) -> None:
    make, wanted, shape, steps = STEPS[index]

    def facts(t: Any) -> Any:
        grid = make(t)
        return (grid.shape, grid.element_shape, grid.index_step_elements,
                grid.is_data_representable, assembled(grid))
    *facts_found, cells = in_kernel(facts, 3, 600, 1000)
    assert facts_found == [shape, wanted.shape, steps, False]
    assert numpy.array_equal(cells, wanted)


def test_single_elements_at_equal_distances_are_an_operand() -> None:
    def found(t: Any) -> Any:
        rows = nl.tiles(t, tile_shape=(1, 256))
        assert not rows[::2, ::3].is_data_representable
        pairs = nl.tiles(nl.blocks(t, tile_shape=(1, 256), block_shape=(2, 4))[::2])
        assert not pairs.is_data_representable  # Rows 0, 1, 4, 5, ...
        assert not pairs[::3].is_data_representable  # Rows 0, 5, 8, ...
        assert rows[1::2][0, 3].data.shape == (1, 232)
        return elements(rows[1::2].data), elements(nl.tiles(t, tile_shape=TILE)[0:1:2, 3].data)
    every_other, one = in_kernel(found)
    assert numpy.array_equal(every_other, WHOLE[0, 1::2])
    assert numpy.array_equal(one, WHOLE[0, :128, 768:])


def test_a_step_over_tiles_on_chip_keeps_their_columns() -> None:
    def found(_: Any) -> Any:
        grid = nl.alloc_tiles(tile_shape=(128, 100), element_shape=(300, 250), buffer=nl.sbuf,
                              dtype=nl.float32)
        assert not grid[::2].is_data_representable
        assert grid[::2][1].data.shape == (44, 250)
        return elements(grid[::2, ::2][1, 1].data), elements(grid[2, 2].data)
    assert numpy.array_equal(*in_kernel(found))


LIKE: list[tuple[Callable[[Any], Any], tuple[int, ...], tuple[int, ...]]] = [
    (lambda h: nl.tiles(h, tile_shape=TILE), (5, 4), (128, 5 * 4 * 256)),
    (lambda h: nl.tiles(h, tile_shape=TILE)[::2, 1:3], (3, 2), (128, 3 * 2 * 256)),
    (lambda h: nl.tiles(h, tile_shape=TILE)[-1, -1], (), (128, 256)),
    (lambda h: nl.tiles(h, tile_shape=TILE)[:, 3], (5,), (128, 5 * 256)),
    (lambda h: nl.blocks(h, tile_shape=TILE, block_shape=BLOCK)[::2], (2, 2), (128, 3 * 4 * 256))]


@pytest.mark.parametrize("index", range(len(LIKE)))
def test_a_grid_like_another_has_its_cells_and_no_gaps(index: int) -> None:
    make, shape, room = LIKE[index]

    def facts(h: Any) -> Any:
        source = make(h)
        grid = nl.empty_like(source, nl.bfloat16, nl.sbuf, "copy")
        assert type(grid) is type(source) and grid.tile_shape == source.tile_shape
        assert (grid.shape, grid.element_shape) == (source.shape, source.element_shape)
        assert getattr(grid, "block_shape", None) == getattr(source, "block_shape", None)
        assert (grid.dtype, grid.buffer) == (nl.bfloat16, nl.sbuf)
        in_hbm = nl.empty_like(source)
        assert in_hbm.data.shape == source.element_shape and in_hbm.dtype == nl.float32
        return grid.shape, grid.region.tensor.shape
    assert in_kernel(facts) == (shape, room)


def test_what_a_transpose_writes_has_its_dimensions_in_another_order() -> None:
    def found(h: Any) -> Any:
        column = nl.tiles(h, tile_shape=(64, 100))[:, 2]
        grid = nl.empty_like(column, buffer=nl.sbuf, transpose_axes=(1, 0))
        assert (grid.shape, grid.tile_shape, grid.element_shape) == ((10,), (100, 64), (100, 600))
        blocks = nl.empty_like(nl.blocks(h, tile_shape=(64, 100), block_shape=(2, 3)),
                               buffer=nl.sbuf, transpose_axes=(1, 0))
        assert (blocks.shape, blocks.block_shape) == ((4, 5), (3, 2))
        return nl.empty_like(nl.ndarray((4, 8, 16), nl.float32, nl.shared_hbm), buffer=nl.sbuf,
                             transpose_axes=(2, 1, 0), address=(0, 512))
    tensor_like = in_kernel(found)
    assert tensor_like.shape == (16, 8, 4) and tensor_like.address == (0, 512)


def test_a_grid_says_what_it_is_of() -> None:
    def facts(h: Any) -> Any:
        grid = nl.blocks(h, tile_shape=TILE, block_shape=BLOCK)
        assert isinstance(grid, nl.NkiGrid) and isinstance(grid, nl.NkiBlockGrid)
        assert isinstance(nl.tiles(grid), nl.NkiTileGrid)
        return (grid.tile_shape, grid.block_shape, grid.index_step_elements, grid.is_remainder,
                grid[0, 0].is_remainder, grid[0].index_step_elements, grid.dtype == nl.float32,
                grid.buffer, h.data is h)
    assert in_kernel(facts) == (TILE, BLOCK, (256, 512), True, False, (512,), True, nl.hbm, True)


def test_tiles_that_are_allocated_on_chip_have_columns_of_their_own() -> None:
    def found(_: Any) -> Any:
        grid = nl.alloc_tiles(tile_shape=(128, 100), element_shape=(300, 250), buffer=nl.sbuf,
                              dtype=nl.float32)
        assert grid.shape == (3, 3) and grid.element_shape == (300, 250)
        assert not grid.is_data_representable
        assert numpy.array_equal(elements(grid[1, 2].data),
                                 elements(grid.region.tensor[:, 500:550]))
        assert numpy.array_equal(elements(grid[2].data), elements(grid.region.tensor[:44, 600:850]))
        blocks = nl.alloc_blocks(tile_shape=(128, 100), block_shape=(2, 1), buffer=nl.psum,
                                 element_shape=(512, 200), dtype=nl.float32, address=(0, 0))
        assert blocks.shape == (2, 2) and blocks.data.shape == (128, 800)
        assert blocks.data.address == (0, 0)
        return nl.tiles(blocks[1, 0])[1, 0].data.offset
    assert in_kernel(found) == 600


def test_a_kernel_copies_by_grids_what_it_copies_by_slices() -> None:
    def by_grids(src: Any) -> Any:
        dst = nl.ndarray(src.shape, dtype=src.dtype, buffer=nl.shared_hbm)
        inputs, outputs = (nl.tiles(one, tile_shape=TILE) for one in (src, dst))
        for i in nl.affine_range(inputs.shape[0]):
            for j in nl.affine_range(inputs.shape[1]):
                tile = nl.ndarray(inputs[i, j].element_shape, dtype=src.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=tile.data, src=inputs[i, j].data)
                nisa.dma_copy(dst=outputs[i, j].data, src=tile.data)
        return dst

    def by_slices(src: Any) -> Any:
        dst = nl.ndarray(src.shape, dtype=src.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            for j in nl.affine_range(4):
                tile = nl.ndarray(TILE, dtype=src.dtype, buffer=nl.sbuf)
                rows, columns = nl.ds(i * 128, 128), nl.ds(j * 256, 256)
                nisa.dma_copy(dst=tile, src=src[rows, columns])
                nisa.dma_copy(dst=dst[rows, columns], src=tile)
        return dst

    argument = tensor("float32", 512, 1024)
    assert [(one.op, one.places) for one in traced(by_grids, argument)] == [
        (one.op, one.places) for one in traced(by_slices, argument)]
    assert len(program(nki.jit(by_grids), argument).lines()) == len(
        program(nki.jit(by_slices), argument).lines())


def test_a_loop_goes_over_the_cells_that_a_step_selects() -> None:
    def kernel(src: Any) -> Any:
        dst = nl.ndarray((512, 512), dtype=src.dtype, buffer=nl.shared_hbm)
        inputs, outputs = nl.tiles(src, tile_shape=TILE)[::2], nl.tiles(dst, tile_shape=TILE)
        for i in nl.affine_range(inputs.shape[0]):
            for j in nl.affine_range(inputs.shape[1]):
                tile = nl.empty_like(inputs[i, j], buffer=nl.sbuf)
                nisa.dma_copy(dst=tile.data, src=inputs[i, j].data)
                nisa.dma_copy(dst=outputs[i, j].data, src=tile.data)
        return dst
    given = numpy.arange(1024 * 512, dtype=numpy.float32).reshape(1024, 512)
    wanted = given.reshape(8, 128, 512)[::2].reshape(512, 512)
    assert numpy.array_equal(run_kernel(kernel, given, api="nki"), wanted)


def test_a_ragged_tensor_is_copied_tile_by_tile() -> None:
    def kernel(src: Any) -> Any:
        dst = nl.ndarray(src.shape, dtype=src.dtype, buffer=nl.shared_hbm)
        staged = nl.alloc_tiles(tile_shape=TILE, element_shape=src.shape, buffer=nl.sbuf,
                                dtype=src.dtype)
        inputs, outputs = (nl.tiles(one, tile_shape=TILE) for one in (src, dst))
        for i in nl.affine_range(inputs.shape[0]):
            for j in nl.affine_range(inputs.shape[1]):
                nisa.dma_copy(dst=staged[i, j].data, src=inputs[i, j].data)
        for i in range(inputs.shape[0]):
            nisa.dma_copy(dst=outputs[i].data, src=staged[i].data)
        return dst
    given = numpy.arange(300 * 700, dtype=numpy.float32).reshape(300, 700)
    assert numpy.array_equal(run_kernel(kernel, given, api="nki"), given)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nl.tiles(h), "nl.tiles: a tensor has no tiles yet; give tile_shape"),
    (lambda h: nl.tiles(3, tile_shape=TILE), "nl.tiles: the source is 3, but must be a tensor or"),
    (lambda h: nl.tiles(h, tile_shape=[128, 256]), r"tile_shape is \[128, 256\], but must be a "
                                                   "tuple of positive integers"),
    (lambda h: nl.tiles(h, tile_shape=(0, 256)), r"tile_shape is \(0, 256\), but must be a tuple"),
    (lambda h: nl.tiles(h, tile_shape=(128,)), r"tile_shape \[128\] of a tensor of shape "
                                               r"\[600, 1000\]: tiles have 2 dimensions or more"),
    (lambda h: nl.tiles(h, tile_shape=(1, 1, 1)), "2 dimensions or more, no more than the tensor"),
    (lambda h: nl.tiles(nl.ndarray((128, 4, 8), nl.float32), tile_shape=(4, 8)),
     "tiles have as many dimensions as the tensor"),
    (lambda h: nl.blocks(h, tile_shape=TILE, block_shape=(2,)),
     r"block_shape \[2\] and tile_shape \[128, 256\] have different numbers of dimensions"),
    (lambda h: nl.tiles(h, tile_shape=TILE)[5, 0], "a grid of tiles is indexed with 5 where it has "
                                                   "5 cells"),
    (lambda h: nl.tiles(h, tile_shape=TILE)[0, 0, 0], "indexed with 3 items, but has 2 coordinates"),
    (lambda h: nl.tiles(h, tile_shape=TILE)[0, 0][0], "indexed with 1 items, but has 0 coordinates"),
    (lambda h: nl.tiles(h, tile_shape=TILE)[::2].data, "that do not lie behind one another; select "
                                                       "a row, or without a step"),
    (lambda h: nl.empty_like(3), "nl.empty_like: x is 3, but must be a tensor or a grid"),
    (lambda h: nl.empty_like(h, buffer=nl.sbuf, transpose_axes=(0, 1)),
     r"transpose_axes is \(0, 1\) for \[600, 1000\], but must be \(1, 0\), \(2, 1, 0\), \(3, 1"),
    (lambda h: nl.empty_like(h, transpose_axes=(1, 0)), "transpose_axes is for what dma_transpose "
                                                        "writes, which lies in SBUF"),
    (lambda h: nl.empty_like(h, buffer=nl.sbuf, transpose_axes=(1, 0)), "takes 1000 partitions"),
    (lambda h: nl.tiles(h, tile_shape=TILE)[::-1], "is sliced 0:5:-1 where it has 5 cells; select "
                                                  "some of them, in their order"),
    (lambda h: nl.tiles(h, tile_shape=TILE)[3:9], "is sliced 3:9 where it has 5 cells"),
    (lambda h: nl.tiles(h, tile_shape=TILE)["a"], "indexed with 'a', but takes integers, slices"),
    (lambda h: nl.alloc_tiles(tile_shape=TILE, element_shape=(256, 512), buffer=nl.sbuf,
                              dtype=nl.float32)[:, 0].data,
     r"a grid of tiles of shape \[2\] selects tiles of '.*' that do not lie behind one another; "
     "select a row"),
    (lambda h: nl.tiles(nl.alloc_tiles(tile_shape=TILE, element_shape=(256, 512), buffer=nl.sbuf,
                                       dtype=nl.float32), tile_shape=(64, 64)),
     r"tile_shape is \(64, 64\), but the tiles of this grid on chip were allocated as \[128, 256\]"),
    (lambda h: nisa.memset(nl.tiles(h, tile_shape=TILE)[0, 0], 0.0),
     "dst is a grid of tiles, .* must be a tensor; pass its data"),
])
def test_an_impossible_grid_is_an_error(body: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(IllegalInstruction, match=message):
        in_kernel(body)


def test_what_nothing_is_published_of_is_named() -> None:
    with pytest.raises(UnsupportedFeature, match="nl.alloc_tiles of 3 dimensions on chip"):
        in_kernel(lambda h: nl.alloc_tiles(tile_shape=(64, 4, 8), element_shape=(64, 8, 8),
                                           buffer=nl.sbuf, dtype=nl.float32))
