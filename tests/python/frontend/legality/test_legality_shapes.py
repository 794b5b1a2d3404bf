# SPDX-License-Identifier: Apache-2.0
# Shapes, types and kinds of operands that an operation does not take.
"""Each rule about operands is broken once, and its message is read."""

from __future__ import annotations

from typing import Any

import pytest
from kernels import nisa, nl
from legality_helpers import Body, accepts, psum, rejects, sbuf

BF16, F16, U8, U16, U32, I32 = (nl.bfloat16, nl.float16, nl.uint8, nl.uint16, nl.uint32, nl.int32)
FP8 = nl.float8_e4m3fn_x4


def column(dtype: Any = nl.float32) -> Any:
    return sbuf(128, 1, dtype=dtype)


def product(dst: tuple[int, ...], stationary: tuple[int, ...], moving: tuple[int, ...],
            kind: Any = FP8) -> Body:
    """An nc_matmul_mx with scales that fit."""
    return lambda h: nisa.nc_matmul_mx(
        psum(*dst), sbuf(*stationary, dtype=kind), sbuf(*moving, dtype=FP8),
        sbuf(*stationary, dtype=U8), sbuf(*moving, dtype=U8))


def quantized(dst: tuple[int, ...], src: tuple[int, ...], kind: Any = BF16) -> Body:
    return lambda h: nisa.quantize_mx(sbuf(*dst, dtype=FP8), sbuf(*src, dtype=kind),
                                      sbuf(*dst, dtype=U8))


@pytest.mark.parametrize(("body", "message"), [
    (product((8, 16), (32, 8), (32, 16), BF16),
     "stationary is bfloat16, but must be a packed _x4 type; quantize it"),
    (product((8, 16), (48, 8), (48, 16)), "stationary has 48 partitions, but must have a multiple "
                                          "of 32 up to 128; split or pad it"),
    (product((8, 16), (32, 8), (64, 16)),
     "stationary has 32 partitions and moving 64, but both hold the contraction; make them equal"),
    (product((7, 16), (32, 7), (32, 16)),
     "stationary has 7 columns, but must have an even number up to 128; split or pad it"),
    (product((128, 16), (32, 130), (32, 16)), "stationary has 130 columns"),
    (product((8, 8), (32, 8), (32, 16)), r"dst is .*\[8, 8\], but must be \[8, 16\]"),
    (quantized((32, 8), (32, 32), nl.float32),
     "src is float32, but bfloat16 or float16 is quantized; convert it"),
    (quantized((48, 8), (48, 32)), "must have a multiple of 32 partitions and of 4 elements; pad"),
    (quantized((32, 8), (32, 30)), "must have a multiple of 32 partitions and of 4 elements"),
    (quantized((32, 9), (32, 32)), r"but must be \[32, 8\]: four values are one packed element"),
    (quantized((64, 8), (32, 32)), r"but must be \[32, 8\]"),
])
def test_what_is_packed_has_whole_groups(body: Body, message: str) -> None:
    rejects(body, message, "trn3")


def test_whole_groups_are_multiplied_and_quantized() -> None:
    assert accepts(product((8, 16), (32, 8), (32, 16)), "trn3") == ["nc_matmul_mx"]
    assert accepts(quantized((32, 8), (32, 32), F16), "trn3") == ["quantize_mx"]


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.local_gather(sbuf(24, 32), sbuf(24, 64), sbuf(24, 2, dtype=U16)),
     "src_buffer has 24 partitions, but must have a multiple of 16"),
    (lambda h: nisa.nc_n_gather(sbuf(128, 32), sbuf(128, 64), sbuf(128, 16, dtype=U32)),
     "dst is .* but indices is .*; there is one index for each element"),
    (lambda h: nisa.sequence_bounds(sbuf(1, 64), sbuf(1, 64)),
     "segment_ids has one partition, and dst two elements for each of its"),
    (lambda h: nisa.sequence_bounds(sbuf(2, 128), sbuf(2, 64)), "segment_ids has one partition"),
    (lambda h: nisa.sequence_bounds(sbuf(1, 128), sbuf(1, 64, dtype=BF16)),
     "segment_ids is bfloat16, but must be float32 or int32; convert or declare it so"),
    (lambda h: nisa.nonzero_with_count(sbuf(128, 64, dtype=I32), sbuf(128, 64)),
     r"dst is .*\[128, 64\], but must be \[128, 65\]: the indices and their number"),
    (lambda h: nisa.tensor_partition_reduce(sbuf(1, 32), nl.add, sbuf(128, 64)),
     r"dst is .*\[1, 32\], but must be \[1, 64\]"),
    (lambda h: nisa.tensor_partition_reduce(sbuf(2, 64), nl.add, sbuf(128, 64)),
     r"must be \[1, 64\]"),
    (lambda h: nisa.topk(sbuf(16, 40000, dtype=BF16), sbuf(16, 40000, dtype=U32),
                         sbuf(16, 4000, dtype=BF16), 40000),
     "val_dst has 40000 elements per partition, but at most 32767 are found; split it"),
    (lambda h: nisa.topk(sbuf(16, 8, dtype=BF16), 3, sbuf(16, 4, dtype=BF16), 64),
     "topk: idx_dst is 3, but must be a tensor"),
    (lambda h: nisa.topk(sbuf(16, 8, dtype=BF16), sbuf(16, 8, dtype=U32),
                         sbuf(16, 4, dtype=BF16), 7), "topk: 8 of n = 7 elements, but n is 8 to"),
    (lambda h: nisa.topk(sbuf(16, 8, dtype=BF16), sbuf(16, 8, dtype=U32),
                         sbuf(16, 4, dtype=BF16), 65), "and src holds 64"),
])
def test_gathers_and_searches_know_their_sizes(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.tensor_reduce(sbuf(64, 1), nl.add, sbuf(128, 64), axis=1),
     r"reduced over dimensions \[1\] has 128 partitions of 1 elements; declare dst so"),
    (lambda h: nisa.select_reduce(sbuf(128, 64), sbuf(128, 64, dtype=U8), sbuf(128, 64, dtype=U32),
                                  0.0), "on_true is uint32, which is not selected; convert or view"),
    (lambda h: nisa.range_select(sbuf(128, 64), sbuf(128, 64, dtype=I32), nl.greater, nl.less,
                                 column(), column()),
     "on_true_tile is int32, but must be floating; convert it"),
    (lambda h: nisa.bn_stats(sbuf(128, 5), sbuf(128, 64)), r"must be \[128, 6\]"),
    (lambda h: nisa.bn_stats(sbuf(64, 6), sbuf(128, 64)), r"must be \[128, 6\]"),
    (lambda h: nisa.bn_aggr(sbuf(128, 2), sbuf(128, 8)),
     "data has 8 elements per partition, but must have a multiple of 3; pass the output of bn_stats"),
    (lambda h: nisa.bn_aggr(sbuf(128, 6), sbuf(128, 6)), r"must be \[128, 2\]"),
    (lambda h: nisa.max8(sbuf(128, 7), sbuf(128, 64)), r"dst is .*but must be \[128, 8\]"),
    (lambda h: nisa.nc_find_index8(sbuf(128, 8, dtype=U32), sbuf(128, 64), sbuf(64, 8)),
     r"vals is .*but must be \[128, 8\]"),
    (lambda h: nisa.nc_stream_shuffle(sbuf(32, 4), sbuf(32, 8), range(32)),
     "both must have the same elements per partition"),
    (lambda h: nisa.nc_stream_shuffle(sbuf(32, 4), sbuf(32, 4), [32] * 32),
     "each a partition 0 to 31 or 255 to keep"),
    (lambda h: nisa.tensor_scalar(sbuf(128, 64, dtype=I32), sbuf(128, 64, dtype=I32),
                                  nl.bitwise_and, 3, op1=nl.add, operand1=1),
     "bitwise_and and add are of different kinds, but bit operations are not mixed"),
    (lambda h: nisa.memset(sbuf(128, 64), sbuf(128, 64)),
     "memset: value is a tensor, but must be a number; use tensor_copy"),
    (lambda h: nisa.tensor_reduce(3, nl.add, sbuf(128, 64), axis=1),
     "tensor_reduce: dst is 3, but must be a tensor"),
    (lambda h: nisa.tensor_reduce(column(), nl.add, 3, axis=1),
     "tensor_reduce: data is 3, but must be a tensor"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.exp, sbuf(128, 64), reduce_op=nl.maximum,
                               reduce_res=column()),
     "activation: reduce_op is maximum, but the scalar engine only adds; use tensor_reduce"),
])
def test_the_vector_engine_takes_what_fits(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.nc_matmul(psum(64, 64), sbuf(64, 64, dtype=BF16), sbuf(64, 64, dtype=BF16),
                              tile_position=(0, 0), tile_size=(32, 64)),
     "the contraction takes 64 rows, but the tile of the PE array has 32; split it"),
    (lambda h: nisa.nc_matmul(psum(64, 64), 3, sbuf(64, 64)),
     "nc_matmul: stationary is 3, but must be a tensor"),
    (lambda h: nisa.nc_matmul(psum(64, 64), sbuf(64, 64), "m"),
     "nc_matmul: moving is 'm', but must be a tensor"),
    (lambda h: nisa.nc_matmul(psum(64, 64), sbuf(64, 64), sbuf(64, 64), perf_mode="triple_row"),
     "perf_mode is 'triple_row', but none and double_row exist; use a nki.isa.matmul_perf_mode"),
    (lambda h: nisa.nc_transpose(psum(130, 128), sbuf(128, 130)), "takes 130 partitions"),
])
def test_the_tensor_engine_takes_what_fits(body: Body, message: str) -> None:
    rejects(body, message)


def test_two_rows_at_once_need_a_chip_that_has_them() -> None:
    kind = nl.float8_e4m3
    rejects(lambda h: nisa.nc_matmul(psum(16, 16), sbuf(64, 2, 16, dtype=kind),
                                     sbuf(64, 2, 16, dtype=kind), perf_mode="double_row"),
            "perf_mode double_row needs NeuronCore-v3, but trn1 has NeuronCore-v2; leave it out",
            "trn1")


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.dma_copy(3, h), "dma_copy: dst is 3, but must be a tensor"),
    (lambda h: nisa.dma_copy(sbuf(128, 64), 3), "dma_copy: src is 3, but must be a tensor"),
    (lambda h: nisa.dma_transpose(sbuf(128, 64), 3), "dma_transpose: an operand is 3, but"),
    (lambda h: nisa.dma_transpose(3, h), "dma_transpose: an operand is 3, but must be a tensor"),
    (lambda h: nisa.dma_transpose(sbuf(64, 128), h[0:128], axes=(0, 1)),
     r"dma_transpose: axes \(0, 1\) of a tensor with 2 dimensions, but .* are possible"),
    (lambda h: nisa.dma_compute(sbuf(128, 64), [], nl.add),
     "dma_compute: 0 sources, but 1 to 16 are added; split it"),
    (lambda h: nisa.affine_select(3, [[1, 64]], 1, sbuf(128, 64), 0.0),
     "affine_select: dst is 3, but must be a tensor"),
    (lambda h: nisa.affine_select(sbuf(128, 64), [[1, 64]], 1, sbuf(128, 64), 0.0, cmp_op=nl.add),
     "affine_select: cmp_op add does not compare; use one of "),
    (lambda h: nisa.local_gather(sbuf(128, 64), sbuf(128, 64), 3),
     "local_gather: index is 3, but must be a tensor"),
    (lambda h: nisa.nc_n_gather(3, sbuf(128, 64), sbuf(128, 64, dtype=U32)),
     "nc_n_gather: dst is 3, but must be a tensor"),
    (lambda h: nl.ndarray((128, 64), nl.float32, buffer=nl.shared_hbm, address=(0, 0)),
     r"address=\(0, 0\) of a tensor in hbm, but only on-chip tensors are placed; leave it out"),
    (lambda h: nl.ndarray((128, 64), nl.float32, buffer="dram"),
     "buffer='dram' is not a memory of NKI; use nl.sbuf, nl.psum, nl.shared_hbm or nl.private_hbm"),
    (lambda h: nl.gather_flattened(sbuf(64, 32), sbuf(32, 4, dtype=U32)),
     "data has 64 partitions and indices 32, but each partition is looked up in itself; slice one"),
    (lambda h: nl.broadcast_to(sbuf(64, 2), (64, 4)),
     r"broadcast_to: \[64, 2\] does not broadcast to \[64, 4\]; equal ranks and sizes 1 do"),
    (lambda h: nl.where(sbuf(128, 64), sbuf(128, 64), sbuf(128, 32)),
     r"where: shapes \[128, 64\], \[128, 64\] and \[128, 32\] do not broadcast; equal ranks and"),
    (lambda h: nl.where(sbuf(128, 64), 1.0, sbuf(128, 8, 8)),
     r"where: shapes \[128, 64\] and \[128, 8, 8\] do not broadcast; equal ranks and sizes"),
    (lambda h: nl.where(sbuf(128, 8), sbuf(128, 8, 1), 1.0),
     r"where: shapes \[128, 8\] and \[128, 8, 1\] do not broadcast; equal ranks and sizes"),
    (lambda h: nl.where(sbuf(128, 64), sbuf(64, 64), 1.0), "do not broadcast; equal ranks and sizes"),
    (lambda h: nl.add(sbuf(128, 64), sbuf(128, 32)),
     r"add: shapes \[128, 64\] and \[128, 32\] do not broadcast; equal ranks and sizes"),
    (lambda h: sbuf(128, 64).__setitem__((slice(0, 128), slice(0, 32)), sbuf(128, 64)),
     "is assigned to .* but both must have the same shape; slice or reshape one"),
])
def test_operands_of_other_kinds_are_named(body: Body, message: str) -> None:
    rejects(body, message)


def shuffled(dst: tuple[int, int], src: tuple[int, int]) -> Body:
    """A shuffle between (first partition, partitions) of two tiles."""
    def part(where: tuple[int, int]) -> Any:
        return sbuf(128, 4)[where[0]:where[0] + where[1], :]
    return lambda h: nisa.nc_stream_shuffle(part(dst), part(src), [0] * 32)


@pytest.mark.parametrize(("dst", "src", "message"), [
    ((0, 64), (32, 1), "src starts at partition 32, but the larger of src and dst has 64 in whole "
                       "quadrants, and both start at a multiple of 64 then; move it with a DMA"),
    ((32, 32), (0, 33), "dst starts at partition 32, but the larger of src and dst has 64"),
    ((0, 65), (32, 32), "src starts at partition 32, but the larger of src and dst has 96 in whole "
                        "quadrants, and both start at 0 then"),
    ((0, 128), (64, 64), "src starts at partition 64, but the larger of src and dst has 128"),
])
def test_a_shuffle_starts_where_the_larger_of_its_tiles_may(
        dst: tuple[int, int], src: tuple[int, int], message: str) -> None:
    rejects(shuffled(dst, src), f"nc_stream_shuffle: {message}")


@pytest.mark.parametrize(("dst", "src"), [
    ((96, 32), (32, 1)), ((64, 64), (0, 1)), ((0, 128), (0, 32)), ((32, 1), (64, 32))])
def test_a_shuffle_goes_from_one_place_to_another(dst: tuple[int, int],
                                                  src: tuple[int, int]) -> None:
    assert accepts(shuffled(dst, src)) == ["nc_stream_shuffle"]
