# SPDX-License-Identifier: Apache-2.0
# Indexing, assignment and accumulation of the 0.1 dialect.
"""What `t[...]`, `t[...] = x` and `t[...] += x` record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from legacy_helpers import (F32, attribute, count, nisa, nl, ops, pattern, program, tensor, traced,
                            where)
from trace_expander import expand, parse
from trnsim.frontend import IllegalInstruction, ProgramError
from trnsim.frontend.chip import load_chip

P = nl.arange(128)[:, None]
F = nl.arange(512)[None, :]


# Indexing -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("key", "shape", "expected", "offset"), [
    (np.s_[:, 0:64], (128, 64), ((1, 64),), (0, 0)),
    (np.s_[0:64, 64:512:4], (64, 112), ((4, 112),), (64, 0)),
    (np.s_[64:128, nl.ds(32, 16)], (64, 16), ((1, 16),), (32, 64)),
    (np.s_[32, :], (1, 512), ((1, 512),), (0, 32)),
    (nl.ds(32, 16), (16, 512), ((1, 512),), (0, 32)),
    (np.s_[:, 7], (128, 1), (), (7, 0)),
    (np.s_[..., 500:], (128, 12), ((1, 12),), (500, 0)),
    ((P, 2 * nl.arange(256)[None, :] + 1), (128, 256), ((2, 256),), (1, 0)),
    ((P, 511 - F), (128, 512), ((-1, 512),), (511, 0)),
    ((nl.arange(32)[:, None] + 96, 3), (32, 1), (), (3, 96)),
    ((P, nl.arange(4)[None, :] // 2), (128, 4), ((1, 2), (0, 2)), (0, 0)),
    ((P, (nl.arange(8)[None, :] % 4) * 2 + 1), (128, 8), ((0, 2), (2, 4)), (1, 0)),
    ((P, nl.arange(4)[None, :] >= 2), (128, 4), ((1, 2), (0, 2)), (0, 0))])
def test_an_index_becomes_an_access_pattern(key: Any, shape: Any, expected: Any,
                                            offset: Any) -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        part = nl.copy(tile[key])
        assert part.shape == shape

    one = traced(kernel, F32)[1]
    assert pattern(one, "data") == expected and where(one, "data") == offset


def test_parts_of_a_view_with_a_stride_lie_at_its_steps() -> None:
    """Whether a part of that form is new or has been selected before."""
    def kernel(x: Any) -> None:
        every_second = nl.load(x)[:, 0:512:2]
        for start in (0, 8, 16):
            nl.copy(every_second[P, nl.arange(4)[None, :] + start])

    copies = traced(kernel, F32)[1:]
    assert [pattern(one, "data") for one in copies] == [((2, 4),)] * 3
    assert [where(one, "data") for one in copies] == [(0, 0), (16, 0), (32, 0)]


def test_elements_of_another_type_begin_where_the_tile_does() -> None:
    one = traced(lambda x: nl.copy(nl.load(x)[64:128, 8:16].view(nl.bfloat16)), F32)[1]
    assert pattern(one, "data") == ((1, 16),) and where(one, "data") == (16, 64)


def test_a_mesh_has_steps() -> None:
    def kernel(x: Any) -> None:
        p, f = nl.mgrid[0:128, 4:64:4]
        assert nl.copy(nl.load(x)[p, f]).shape == (128, 15)

    one = traced(kernel, F32)[1]
    assert pattern(one, "data") == ((4, 15),) and where(one, "data") == (4, 0)


def test_axes_of_one_index_walk_a_tile_in_any_order() -> None:
    def kernel(x: Any) -> None:
        p, a, b = nl.mgrid[0:128, 0:16, 0:32]
        tile = nl.load(x)
        turned = nl.ndarray((128, 512), dtype=x.dtype)
        turned[p, b * 16 + a] = nl.copy(tile[p, a * 32 + b])

    one = traced(kernel, F32)[1]
    assert pattern(one, "data") == ((1, 512),)
    assert pattern(one, "dst") == ((1, 16), (16, 32))


def test_an_hbm_index_may_overlap_and_skip() -> None:
    def kernel(x: Any) -> None:
        p, k, w = nl.mgrid[0:16, 0:3, 0:8]
        assert nl.load(x[p * 2 + k, w]).shape == (16, 3, 8)

    assert pattern(traced(kernel, F32)[0], "src") == ((1024, 16), (512, 3), (1, 8))


def test_missing_dimensions_are_taken_whole_and_integers_are_dropped_in_hbm() -> None:
    def kernel(x: Any) -> None:
        assert nl.load(x[1]).shape == (64, 32)
        assert nl.load(x[1, 3:35, 4]).shape == (32, 1)
        assert x[2].shape == (64, 32) and x[2, 1].shape == (32,)

    first, second = traced(kernel, tensor("float32", 4, 64, 32))
    assert where(first, "src") == (2048, 0)
    assert pattern(second, "src") == ((32, 32),) and where(second, "src") == (2148, 0)


def test_a_tensor_as_index_gathers_rows() -> None:
    def kernel(table: Any, rows: Any) -> None:
        p, f = nl.arange(64)[:, None], nl.arange(32)[None, :]
        index = nl.load(rows[p, 0])
        tile = nl.load(table[index[p, 0], f])
        nl.store(table[index.as_tile(), f], tile)

    _, gather, scatter = traced(kernel, tensor("float32", 1000, 32), tensor("int32", 64, 1))
    assert [one[0] for one in gather.operands] == ["dst", "src", "index"]
    assert pattern(gather, "src") == ((0, 64), (1, 32)) == pattern(scatter, "dst")


def test_views_reshape_broadcast_and_reinterpret_without_instructions() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        assert tile.reshape((128, 4, 128))[:, 1, :].shape == (128, 128)
        assert tile.expand_dims(2).shape == (128, 512, 1)
        assert tile[:, 0:1].broadcast_to((128, 512)).shape == (128, 512)
        assert tile.view(nl.bfloat16).shape == (128, 1024)
        assert nl.expand_dims(tile, 1).shape == (128, 1, 512)
        assert x.reshape((64, 2, 512)).shape == (64, 2, 512)
        assert (tile.ndim, tile.itemsize, tile.dtype) == (2, 4, np.float32)
        tile.assert_shape((128, 512))

    assert ops(traced(kernel, F32)) == ["dma_copy"]


@pytest.mark.parametrize(("key", "message"), [
    (np.s_[:, 0:600], r"index of dimension 1 of 'tile' runs from 0 to 599, but its size is 512"),
    (np.s_[100:140, :], r"dimension 0 of 'tile' runs from 100 to 139, but its size is 128"),
    ((P, F + 1), r"runs from 1 to 512, but its size is 512; shrink the access or pass mask="),
    (np.s_[:, -1], r"runs from -1 to -1"),
    ((P, slice(0, 4)), "slices and nl.arange expressions are mixed"),
    ((nl.arange(128), 0), "one-dimensional nl.arange"),
    ((P, 0, 0), "3 indices for a tensor of shape"),
    ((2 * nl.arange(64)[:, None], F), "other than one after the other along its first axis"),
    ((F, nl.arange(1)[None, :]), "other than one after the other|does not move along"),
    ((nl.arange(4)[:, None] * 0, F), "does not move along the partitions"),
    ((P, F * F), r"index of shape \[1, 512\] is not affine \(values \[0, 1, 4, 9\]"),
    (np.s_[:, 4:4], "the slice 4:4:1 is empty"),
    ("x", "a tensor is indexed with str")])
def test_an_index_that_no_access_pattern_walks_is_refused(key: Any, message: str) -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nl.copy(tile[key])

    with pytest.raises(Exception, match=message) as caught:
        program(kernel, F32)
    assert str(caught.value).startswith(f"{__file__}:{kernel.__code__.co_firstlineno + 2}: ")


# Assignment -----------------------------------------------------------------------------------

def test_an_assignment_moves_the_destination_of_the_instruction() -> None:
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 2, 512), dtype=x.dtype)
        tile[:, 0, :] = nl.load(x)
        tile[:, 1, :] = nisa.activation(op=nl.exp, data=tile[:, 0, :])
        tile[:, 1, :] = nl.add(tile[:, 0, :], tile[:, 1, :])

    executed = traced(kernel, F32)
    assert ops(executed) == ["dma_copy", "activation", "tensor_tensor"]
    assert all(one.operand("dst")[2] == "tile" for one in executed)
    assert [where(one, "dst")[0] for one in executed] == [0, 512, 512]


def test_only_the_last_instruction_of_an_expression_is_moved() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        out = nl.ndarray((128, 512), dtype=x.dtype)
        out[...] = nl.multiply(nl.exp(tile), nl.sqrt(tile))

    executed = traced(kernel, F32)
    assert ops(executed) == ["dma_copy", "activation", "activation", "tensor_tensor"]
    assert [one.operand("dst")[2] == "out" for one in executed] == [False, False, False, True]


def test_a_value_that_is_not_fresh_is_copied() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        other = nl.exp(tile)
        out = nl.ndarray((128, 512), dtype=x.dtype)
        out[...] = tile
        out[:, 0:256] = other[:, 0:256]
        out[...] = tile[:, 0:1]

    assert ops(traced(kernel, F32))[2:] == ["tensor_copy"] * 3


def test_a_result_that_was_moved_is_read_where_it_was_moved_to() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        out = nl.ndarray((128, 1024), dtype=x.dtype)
        result = nl.exp(tile)
        out[:, 512:1024] = result
        nl.store(x, result)

    load, exp, store = traced(kernel, F32)
    assert ops([load, exp, store]) == ["dma_copy", "activation", "dma_copy"]
    assert store.operand("src")[2] == "out" and where(store, "src") == (512, 0)


def test_numbers_and_indices_fill_a_tile() -> None:
    def kernel() -> None:
        tile = nl.ndarray((128, 512), dtype=nl.float32)
        tile[...] = 0.5
        tile[:, 0:8] = nl.arange(8)[None, :] + 4

    fill, ramp = traced(kernel)
    assert (fill.op, attribute(fill, "value"), ramp.op) == ("memset", 0.5, "iota")


def test_a_matmul_result_goes_to_sbuf_by_a_copy_and_a_load_to_psum_too() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        out = nl.ndarray((128, 512), dtype=nl.float32)
        out[...] = nisa.nc_matmul(tile[:, 0:128], tile)
        bank = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
        bank[...] = nl.load(x)
        bank[...] = nisa.nc_matmul(tile[:, 0:128], tile)

    assert ops(traced(kernel, F32)) == ["dma_copy", "nc_matmul", "tensor_copy", "dma_copy",
                                        "tensor_copy", "nc_matmul"]


def test_a_store_from_psum_goes_through_sbuf() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nl.store(x, nisa.nc_matmul(tile[:, 0:128], tile))

    assert ops(traced(kernel, F32)) == ["dma_copy", "nc_matmul", "tensor_copy", "dma_copy"]


@pytest.mark.parametrize(("body", "message"), [
    (lambda x, t: t.__setitem__(np.s_[:, 0:64], t), r"the value has the shape \[128, 512\], but "
                                                    r"the destination \[128, 64\]|broadcast"),
    (lambda x, t: x.__setitem__(np.s_[...], t), "is in hbm, which an assignment does not reach"),
    (lambda x, t: t.__setitem__(np.s_[...], x), "must be in sbuf or psum; load it with nl.load first"),
    (lambda x, t: t.__setitem__(np.s_[...], "one"), "str is assigned to a tile"),
    (lambda x, t: nl.store(x, t[0:64, :]), r"value has the shape \[64, 512\], but the destination"),
    (lambda x, t: nl.store(t, t), "dst of nl.store is 'tile' in sbuf, but must be in hbm"),
    (lambda x, t: nl.load(t), "src of nl.load is 'tile' in sbuf, but must be in hbm"),
    (lambda x, t: nl.exp(x), "x of nl.exp is 'x' in hbm, but must be in sbuf or psum"),
    (lambda x, t: nl.exp(3.0), "x of nl.exp is float, but must be a tensor"),
    (lambda x, t: bool(t), "truth of tensor 'tile' is asked while tracing"),
    (lambda x, t: t.reshape((64, 1024)), "the elements, and the partitions on chip, must be equal"),
    (lambda x, t: t[:, 0:10].reshape((128, 3, 4)), "must be equal"),
    (lambda x, t: t.assert_shape((128, 4)), r"has the shape \[128, 512\], expected is \[128, 4\]"),
    (lambda x, t: t.expand_dims(0), "expand_dims at axis 0"),
    (lambda x, t: t[0:64, :].broadcast_to((128, 512)), "does not broadcast to")])
def test_a_wrong_use_of_a_tile_is_refused_with_its_line(body: Any, message: str) -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        body(x, tile)

    with pytest.raises(Exception, match=message) as caught:
        program(kernel, F32)
    assert str(caught.value).startswith(f"{__file__}:{body.__code__.co_firstlineno}: ")


# Accumulation ---------------------------------------------------------------------------------

def starts(executed: Any) -> list[bool]:
    return [attribute(one, "start") for one in executed if one.op == "nc_matmul"]


def test_the_first_matmul_of_a_group_overwrites_and_zeros_are_never_written() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        for _ in nl.affine_range(4):
            bank += nisa.nc_matmul(tile[:, 0:128], tile)
        for _ in nl.affine_range(2):
            bank[...] += nl.matmul(tile[:, 0:128], tile, transpose_x=True)
        nl.store(x, bank)

    executed = traced(kernel, F32)
    assert starts(executed) == [True] + [False] * 5
    assert count(executed)["memset"] == 0
    accesses = [one.operand("dst")[1] for one in executed if one.op == "nc_matmul"]
    assert accesses == ["write"] + ["accumulate"] * 5


def test_what_is_added_to_an_ellipsis_is_not_copied_to_where_it_is() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        blocks = nl.zeros((2, nl.par_dim(128), 512), nl.float32, buffer=nl.psum)
        bank[...] += nisa.nc_matmul(tile[:, 0:128], tile)
        first = blocks[0]
        first[...] += nisa.nc_matmul(tile[:, 0:128], tile)
        tile[...] += bank
        tile[...] -= first
        tile[...] *= 2.0
        nl.store(x, tile)

    assert ops(traced(kernel, F32)) == ["dma_copy", "nc_matmul", "nc_matmul", "tensor_tensor",
                                        "tensor_tensor", "tensor_scalar", "dma_copy"]


def test_every_region_and_every_instance_has_a_group_of_its_own() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        for _ in nl.affine_range(2):
            bank = nl.zeros((128, 4, 128), nl.float32, buffer=nl.psum)
            for n in nl.affine_range(4):
                for _ in nl.affine_range(3):
                    bank[:, n, :] += nisa.nc_matmul(tile[:, 0:128], tile[:, 0:128])

    assert starts(traced(kernel, F32)) == [True, False, False] * 8


def test_a_plain_assignment_starts_a_new_group() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.ndarray((128, 512), nl.float32, buffer=nl.psum)
        for _ in nl.affine_range(3):
            bank[...] = nisa.nc_matmul(tile[:, 0:128], tile)
            bank[...] += nisa.nc_matmul(tile[:, 0:128], tile)

    assert starts(traced(kernel, F32)) == [True, False] * 3


@pytest.mark.parametrize(("fill", "memsets"), [(0.0, 0), (1.0, 1)])
def test_what_another_engine_wrote_is_added_to(fill: float, memsets: int) -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.full((128, 512), fill, nl.float32, buffer=nl.psum)
        if fill == 0.0:
            bank[...] = nl.copy(tile)
        bank += nisa.nc_matmul(tile[:, 0:128], tile)

    executed = traced(kernel, F32)
    assert starts(executed) == [False] and count(executed)["memset"] == memsets


def test_zeros_in_psum_are_written_if_something_else_than_a_matmul_reads_them() -> None:
    def kernel(x: Any) -> None:
        bank = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        nl.store(x, nl.exp(bank))

    assert ops(traced(kernel, F32)) == ["memset", "activation", "dma_copy"]


def test_a_matmul_result_that_was_used_before_is_added_by_the_vector_engine() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        bank += nisa.nc_matmul(tile[:, 0:128], tile)
        extra = nisa.nc_matmul(tile[:, 0:128], tile)
        nl.store(x, extra)
        bank += extra

    executed = traced(kernel, F32)
    assert ops(executed)[-2:] == ["tensor_copy", "tensor_tensor"]


def test_sbuf_accumulates_on_the_vector_engine_in_place() -> None:
    def kernel(x: Any) -> None:
        total = nl.zeros((128, 512), nl.float32)
        for _ in nl.affine_range(3):
            total += nl.load(x)
        total[:, 0:4] *= 2.0
        total -= total
        total /= 4.0

    executed = traced(kernel, F32)
    assert count(executed) == {"memset": 1, "dma_copy": 3, "tensor_tensor": 4, "tensor_scalar": 2}
    added = [one for one in executed if attribute(one, "op") == "add"]
    assert all(one.operand("dst")[2:] == one.operand("data1")[2:] for one in added)


def test_a_group_that_covers_half_a_written_region_is_refused() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
        bank[:, 0:128] += nisa.nc_matmul(tile[:, 0:128], tile[:, 0:128])
        bank += nisa.nc_matmul(tile[:, 0:128], tile)

    with pytest.raises(IllegalInstruction, match="part of 'bank' has been written and part has"):
        program(kernel, F32)


def test_a_matmul_must_not_cross_a_bank() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        bank = nl.ndarray((128, 1024), nl.float32, buffer=nl.psum)
        bank[:, 256:768] = nisa.nc_matmul(tile[:, 0:128], tile)

    with pytest.raises(IllegalInstruction, match="reaches from psum bank 0 to 1 of 'bank'"):
        program(kernel, F32)


# Blocks ---------------------------------------------------------------------------------------

def test_each_block_is_an_instance_that_comes_into_being_when_it_is_first_used() -> None:
    def kernel(x: Any) -> None:
        tiles = nl.ndarray((3, 2, nl.par_dim(128), 512), dtype=x.dtype)
        assert tiles.shape == (3, 2, 128, 512) and tiles[1].shape == (2, 128, 512)
        for i in nl.affine_range(2):
            for j in nl.affine_range(3):
                tiles[j, i] = nl.load(x)
        for i in nl.affine_range(2):
            for j in nl.affine_range(3):
                nl.store(x, tiles[j][i])

    executed = traced(kernel, F32)
    assert [one.operand("dst")[5] for one in executed[:6]] == [0, 1, 2, 3, 4, 5]
    assert [one.operand("src")[5] for one in executed[6:]] == [0, 1, 2, 3, 4, 5]


def test_a_block_is_the_same_however_its_number_is_written() -> None:
    def kernel(x: Any) -> None:
        tiles = nl.ndarray((3, 2, nl.par_dim(128), 512), dtype=x.dtype)
        rows, columns = nl.arange(128)[:, None], nl.arange(512)[None, :]
        tiles[1, 0] = nl.load(x)
        tiles[2, 1] = nl.load(x)
        for key in ((1, 0), (np.int64(1), 0), (True, False), (1.0, 0)):
            nl.store(x, tiles[key])
            nl.store(x, tiles[(*key, rows, columns)])
            nl.store(x, tiles[(*key, slice(None), slice(0, 512))])
        for _ in range(2):
            nl.store(x, tiles[1][0])
        for i in nl.sequential_range(5):
            nl.store(x, tiles[i // 4 + 1, i // 4])

    executed = traced(kernel, F32)[2:]
    assert [one.operand("src")[5] for one in executed] == [0] * 14 + [0] * 4 + [1]


def test_an_accumulation_into_a_block_is_not_assigned_again() -> None:
    def kernel(x: Any) -> None:
        tiles = nl.ndarray((2, nl.par_dim(128), 512), dtype=x.dtype)
        tiles[0] = nl.load(x)
        tiles[1] = nl.load(x)
        for _ in range(2):
            tiles[0, :, 0:64] += tiles[1, :, 0:64]
        part = tiles[0, :, 0:64]
        part += tiles[1, :, 0:64]
        tiles[0, :, 64:128] = part

    assert ops(traced(kernel, F32)) == ["dma_copy"] * 2 + ["tensor_tensor"] * 3 + ["tensor_copy"]


def test_a_slice_and_an_index_that_select_the_same_make_the_same_instruction() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        rows, columns = nl.arange(128)[:, None], nl.arange(64)[None, :]
        for start in (0, 64):
            nl.store(x[rows, columns + start], tile[rows, columns + start])
            nl.store(x[0:128, start:start + 64], tile[:, start:start + 64])
            nl.store(x[0:128, nl.ds(start, 64)], tile[0:128, nl.ds(start, 64)])

    executed = traced(kernel, F32)[1:]
    assert len(executed) == 6
    assert len({one.operands for one in executed[:3]}) == 1
    assert len({one.operands for one in executed[3:]}) == 1


def test_blocks_are_filled_when_they_are_first_used_and_only_if_it_matters() -> None:
    def kernel(x: Any) -> None:
        totals = nl.zeros((4, nl.par_dim(128), 512), dtype=x.dtype)
        for i in nl.affine_range(2):
            totals[i] += nl.load(x)
        totals[2] = nl.load(x)

    assert ops(traced(kernel, F32)) == ["dma_copy", "memset", "tensor_tensor"] * 2 + ["dma_copy"]


@pytest.mark.parametrize(("body", "message"), [
    (lambda t: nl.exp(t), "which has 2 block dimensions before its partitions"),
    (lambda t: nl.exp(t[0]), "which has 1 block dimensions before its partitions"),
    (lambda t: t[3, 0], "index of block dimension 0 of 't' is 3, but its size is 3"),
    (lambda t: t[0, -1], "index of block dimension 1 of 't' is -1, but its size is 2"),
    (lambda t: t[0:2, 0], "is indexed with slice, but blocks are separate tiles"),
    (lambda t: t[nl.arange(2)[:, None], 0], "is indexed with Index, but blocks are separate")])
def test_a_wrong_use_of_blocks_is_refused(body: Any, message: str) -> None:
    def kernel() -> None:
        body(nl.ndarray((3, 2, nl.par_dim(128), 512), dtype=nl.float32, name="t"))

    with pytest.raises(ProgramError, match=message):
        program(kernel)


def test_addresses_that_the_program_fixes_are_in_the_trace() -> None:
    def kernel(x: Any) -> None:
        import neuronxcc.nki.compiler as ncc

        tiles = nl.ndarray((4, nl.par_dim(128), 512), dtype=x.dtype,
                           buffer=ncc.sbuf.mod_alloc(base_addr=1024, num_free_tiles=(2,)))
        bank = nl.ndarray((2, nl.par_dim(128), 512), dtype=nl.float32, buffer=ncc.psum.alloc(
            lambda block, partitions, size: (block[0] + 5, 0, 0)))
        for i in nl.affine_range(4):
            tiles[i] = nl.load(x)
        for i in nl.affine_range(2):
            bank[i] = nisa.nc_matmul(tiles[i][:, 0:128], tiles[i])

    lines = program(kernel, F32).lines()
    placed = [one for one in parse(lines).buffers.values() if "address" in one]
    assert [(one["address"], one["shape"]) for one in placed] == [
        ([0, 1024], [128, 1024]), ([0, 10240], [128, 1024])]
    written = [one.places[0][:2] for one in expand(lines)]
    assert written == [("sbuf", 1024), ("sbuf", 3072)] * 2 + [("psum", 10240), ("psum", 12288)]


@pytest.mark.parametrize("loop", [nl.affine_range, nl.sequential_range, nl.static_range])
def test_a_place_that_only_the_last_iterations_reach_is_part_of_the_memory(loop: Any) -> None:
    def kernel(x: Any) -> None:
        import neuronxcc.nki.compiler as ncc

        tiles = nl.ndarray((3, 5, nl.par_dim(128), 8), dtype=nl.float32, buffer=ncc.sbuf.mod_alloc(
            base_addr=64, num_free_tiles=(3, 5)))
        for i in loop(3):
            for j in loop(5):
                tiles[i, j] = nl.load(x[:, 0:8])

    lines = program(kernel, F32).lines()
    (placed,) = [one for one in parse(lines).buffers.values() if "address" in one]
    assert (placed["address"], placed["shape"]) == ([0, 64], [128, 3 * 5 * 8])
    assert [one.places[0][1] for one in expand(lines)] == [64 + 32 * at for at in range(15)]


@pytest.mark.parametrize("make", [
    lambda kind: nl.ndarray((128,), kind),
    lambda kind: nl.zeros((nl.par_dim(128),), kind, buffer=nl.sbuf),
    lambda kind: nl.ndarray((2, nl.par_dim(128)), kind, buffer=nl.sbuf)[1]])
def test_a_tile_of_partitions_only_is_a_column_as_a_loaded_vector_is(make: Any) -> None:
    def kernel(x: Any, vector: Any) -> None:
        bias = make(vector.dtype)
        assert bias.shape == (128, 1)
        bias[...] = nl.load(vector)
        nisa.tensor_scalar(nl.load(x), np.add, bias)

    assert ops(traced(kernel, F32, tensor("float32", 128)))[-1] == "tensor_scalar"


SBUF_BYTES = load_chip("trn2").sbuf_usable_bytes


def test_a_tile_may_end_where_the_memory_of_kernels_does() -> None:
    made = []
    program(lambda: made.append(nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf.mod_alloc(
        base_addr=SBUF_BYTES - 2048)).shape))
    assert made == [(128, 512)]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: nl.ndarray((256, 4), nl.float32), "takes 256 partitions, but sbuf has 128"),
    (lambda: nl.ndarray((128, 0), nl.float32), "every size must be at least 1"),
    (lambda: nl.ndarray((128, 5000), nl.float32, buffer=nl.psum), "a psum partition has 16384"),
    (lambda: nl.zeros((4, 4), nl.float32, buffer=nl.shared_hbm), "nothing can initialise"),
    (lambda: nl.ndarray((4, 4), nl.float32, buffer="l2"), "buffer='l2' is not a memory of NKI"),
    (lambda: nl.ndarray((4, 4), "complex64"), "is not one of NKI's"),
    (lambda: nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf.mod_alloc(base_addr=1 << 20)),
     "is placed at byte 1048576"),
    (lambda: nl.ndarray((128, 1), nl.float32, buffer=nl.sbuf.mod_alloc(base_addr=SBUF_BYTES)),
     f"of 128 partitions and 4 bytes each is placed at byte {SBUF_BYTES} of partition 0")])
def test_a_tensor_that_no_memory_holds_is_refused(make: Any, message: str) -> None:
    with pytest.raises(Exception, match=message):
        program(lambda: make() and None)
