# SPDX-License-Identifier: Apache-2.0
# What is illegal is refused where the kernel calls it, whether or not values are computed.
"""Operators, shapes and types that only the values, or only the trace's reader, used to refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import tensor
from kernels import nisa, nki, nl
from trnsim.frontend import IllegalInstruction, run_kernel, trace

Body = Callable[[], Any]


def tile(rows: int = 64, columns: int = 32, kind: Any = nl.float32) -> Any:
    return nl.zeros((rows, columns), dtype=kind)


def column(kind: Any = nl.float32) -> Any:
    return tile(64, 1, kind)


def kernel_of(body: Body) -> Any:
    @nki.jit
    def kernel(x: Any) -> Any:
        body()
        return x
    return kernel


def refuses(body: Body, message: str, cores: int = 1) -> None:
    """Checks that a kernel is refused at its line, in the same words with and without values."""
    kernel = kernel_of(body) if cores == 1 else kernel_of(body)[cores]
    with pytest.raises(IllegalInstruction, match=message) as traced:
        trace(kernel, [tensor("float32", 4, 4)], "trn3")
    with pytest.raises(IllegalInstruction) as computed:
        run_kernel(kernel, np.zeros((4, 4), np.float32), chip="trn3")
    assert str(traced.value) == str(computed.value)
    assert "test_legality_values.py:" in str(traced.value)


def reduced(op0: Any, reduce_op: Any, result: bool = True) -> Any:
    return nisa.tensor_scalar_reduce(tile(), tile(), op0, 1.0, reduce_op,
                                     column() if result else None)


def fused(**reduction: Any) -> Any:
    return nisa.scalar_tensor_tensor(tile(), tile(), nl.add, 1.0, nl.add, tile(), **reduction)


@pytest.mark.parametrize(("body", "message"), [
    (lambda: nisa.tensor_tensor_scan(tile(), tile(), tile(), 0.0, nl.bitwise_and, nl.add),
     "tensor_tensor_scan: op0 is bitwise_and, but must be an arithmetic operator of two operands"),
    (lambda: nisa.tensor_tensor_scan(tile(), tile(), tile(), 0.0, nl.add, nl.abs), "op1 is abs"),
    (lambda: nisa.scalar_tensor_tensor(tile(), tile(), nl.bitwise_and, 1, nl.add, tile()),
     "op0 is bitwise_and, but must be an arithmetic operator; use tensor_scalar or tensor_tensor"),
    (lambda: nisa.scalar_tensor_tensor(tile(), tile(), nl.add, 1, nl.left_shift, tile()),
     "op1 is left_shift, but"),
    (lambda: fused(reduce_op=nl.subtract), "reduce_op is subtract, but must be one of add, "),
    (lambda: fused(reduce_op=nl.add, reduce_cmd=nisa.reduce_cmd.load_reduce),
     "scalar_tensor_tensor: reduce_cmd is load_reduce, but must be one of reduce, reset_reduce"),
    (lambda: fused(reduce_res=column()), "scalar_tensor_tensor: reduce_res without reduce_op; give"),
    (lambda: fused(reduce_op=nl.add, reduce_res=tile()), "reduce_res is .* one value per partition"),
    (lambda: nisa.tensor_scalar_cumulative(tile(), tile(), nl.add, nl.equal, 1.0),
     "op1 is equal, but must be one of add, subtract, multiply, maximum, minimum"),
    (lambda: nisa.tensor_scalar_cumulative(tile(), tile(), nl.invert, nl.add, 1.0),
     "op0 is invert, but must be an arithmetic operator"),
    (lambda: reduced(nl.bitwise_xor, nl.add), "tensor_scalar_reduce: op0 is bitwise_xor, but"),
    (lambda: reduced(nl.add, nl.power), "reduce_op is power, but must be one of add, multiply"),
    (lambda: reduced(nl.add, nl.bitwise_or, False), "reduce_op is bitwise_or, but must be one of"),
    (lambda: reduced(nl.bitwise_or, nl.add, False), "op0 is bitwise_or, but must be an arithmetic"),
    (lambda: nisa.tensor_reduce(column(), nl.bitwise_or, tile(), 1),
     "dst is float32, but bitwise_or takes integers"),
    (lambda: nisa.tensor_partition_reduce(tile(1), nl.bitwise_and, tile()),
     "dst is float32, but bitwise_and takes integers"),
    (lambda: nisa.tensor_partition_reduce(tile(1), nl.minimum, tile()),
     "op is minimum, but must be one of add, average, maximum, bitwise_or, bitwise_and"),
    (lambda: nisa.range_select(tile(), tile(), nl.bitwise_or, nl.less, column(), column()),
     "comp_op0 is bitwise_or, but must be one of equal, less, less_equal, greater, greater_equal"),
    (lambda: nisa.activate2(tile(), nl.exp, tile(), 1.0, 1.0, nl.bitwise_or, nl.add),
     "op0 and op1 are bitwise_or and add, but must be one of multiply/add, multiply/subtract"),
    (lambda: nisa.activate2(tile(), nl.exp, tile(), 1.0, 1.0, nl.multiply, nl.add,
                            reduce_op=nl.power, reduce_res=column()),
     "reduce_op is power, but must be one of add, maximum, minimum, abs_max, abs_min"),
    (lambda: nisa.dma_compute(tile(), [tile(), tile()], nl.bitwise_or),
     "dma_compute: reduce_op is bitwise_or, but must be add"),
])
def test_an_operator_that_an_operation_does_not_take_is_an_error(body: Body, message: str) -> None:
    refuses(body, message)


def range_selected(start: Any, columns: int = 32) -> Any:
    data = tile(64, columns)
    return nisa.range_select(tile(64, columns), data, nl.greater, nl.less, column(), column(),
                             range_start=start)


@pytest.mark.parametrize(("body", "message"), [
    (lambda: nisa.tensor_scalar(tile(), tile(), nl.multiply, None),
     "tensor_scalar: operand0 is None, but multiply takes two operands; give a number or a tensor"),
    (lambda: nisa.tensor_scalar(tile(), tile(), nl.add, "3"),
     "tensor_scalar: operand0 is '3', but must be a number"),
    (lambda: nisa.tensor_scalar(tile(), tile(), nl.add, 3, op1=nl.add, operand1="3"),
     "tensor_scalar: operand1 is '3', but must be a number"),
    (lambda: nisa.scalar_tensor_tensor(tile(), tile(), nl.add, None, nl.add, tile()),
     "scalar_tensor_tensor: operand0 is None, but add takes two operands"),
    (lambda: nisa.tensor_scalar_reduce(tile(), tile(), nl.add, None, nl.add, column()),
     "tensor_scalar_reduce: operand0 is None, but add takes two operands"),
    (lambda: nisa.tensor_scalar_cumulative(tile(), tile(), nl.add, nl.add, None),
     "tensor_scalar_cumulative: imm0 is None, but add takes two operands"),
    (lambda: nisa.affine_select(tile(), [[1, 32]], 1, tile(), column()),
     "affine_select: on_false_value is tensor '.*', but must be a number"),
    (lambda: nisa.nc_match_replace8(tile(), tile(), tile(64, 8), column()),
     "nc_match_replace8: imm is tensor '.*', but must be a number"),
    (lambda: nisa.tensor_reduce(column(), nl.add, tile(), axis=None),
     "tensor_reduce: axis is None, but must be an integer or a tuple of integers"),
    (lambda: nisa.iota(tile(), [1, 32]),
     r"iota: pattern is \[1, 32\], but must be a list of \[step, count\], one for each dimension"),
    (lambda: tile().ap([32, 64]), r"is given the access pattern \[32, 64\], but takes a list of"),
    (lambda: tile().ap([[64, 128, 1], [1, 64]]), "is given the access pattern .* a list of"),
    (lambda: nisa.dma_compute(tile(), [tile(), tile()], [1.0, 1.0], nl.add),
     "dma_compute: scales is <function add>, but must be a list of numbers; reduce_op stands before it"),
    (lambda: range_selected(1.5), "range_select: range_start is 1.5, but must be an integer"),
    (lambda: range_selected(-1), "range_start is -1 for 32 elements, but their indices are 0 to"),
    (lambda: range_selected(2**24 - 31), "for 32 elements, but their indices are 0 to 16777216"),
    (lambda: nisa.range_select(tile(), 1.0, nl.greater, nl.less, column(), column()),
     "range_select: on_true_tile is 1.0, but must be a tensor"),
])
def test_an_argument_of_another_kind_is_named(body: Body, message: str) -> None:
    refuses(body, message)


def test_the_indices_of_a_range_reach_as_far_as_float32_counts() -> None:
    trace(kernel_of(lambda: range_selected(2**24 - 32)), [tensor("float32", 4, 4)], "trn3")


@pytest.mark.parametrize(("body", "message"), [
    (lambda: nisa.tensor_reduce(column(), nl.abs_max, tile(), 1),
     "tensor_reduce: op abs_max does not reduce; use one of add, "),
    (lambda: nisa.activation(tile(), nl.exp, tile(), bias=column(nl.tfloat32)),
     "activation: bias is tfloat32, which it may not be; declare it float32"),
    (lambda: nisa.tensor_tensor(tile(), nl.ndarray((64, 32), nl.float32, buffer=nl.psum), tile(),
                                nl.power),
     "tensor_tensor: op is power, which the gpsimd engine computes, but data1 is in psum, which"),
])
def test_operators_and_types_that_an_engine_does_not_have_are_errors(body: Body,
                                                                     message: str) -> None:
    refuses(body, message)


def quantized(dst: Any, scales: Any) -> Any:
    return nisa.quantize_mx(dst, tile(kind=nl.bfloat16), scales)


FP8, FP4 = nl.float8_e4m3fn_x4, nl.float4_e2m1fn_x4


@pytest.mark.parametrize(("body", "message"), [
    (lambda: quantized(tile(64, 8, FP4), tile(64, 8, nl.uint8)),
     "dst is float4_e2m1fn_x4, but must be float8_e5m2_x4 or float8_e4m3fn_x4"),
    (lambda: quantized(tile(64, 8, FP8), tile(64, 8)),
     "dst_scale is float32, but must be float8_e8m0fnu or uint8"),
    (lambda: quantized(tile(64, 8, FP8), tile(64, 2, nl.uint8)),
     r"dst_scale is .* but must be \[64, 8\], or have 36 partitions"),
    (lambda: quantized(tile(64, 8, FP8), tile(8, 8, nl.uint8)), "or have 36 partitions"),
    (lambda: nisa.nc_matmul_mx(nl.ndarray((8, 8), nl.float32, buffer=nl.psum), tile(32, 8, FP8),
                               tile(32, 8, FP8), tile(4, 4, nl.uint8), tile(4, 8, nl.uint8)),
     r"stationary_scale is .* but must be \[32, 8\], or have 4 partitions"),
])
def test_packed_elements_have_a_type_and_scales_that_fit(body: Body, message: str) -> None:
    refuses(body, message)


def gathered(dst: tuple[int, int], rows: int, count: int | None = None, group: int = 1) -> Any:
    return nisa.local_gather(tile(*dst), tile(), tile(rows, 2, nl.uint16), group, count)


@pytest.mark.parametrize(("body", "message"), [
    (lambda: gathered((64, 33), 64, 33), "takes 33 indices, but 1 to 32 are allowed"),
    (lambda: gathered((64, 32), 64, 0), "takes 0 indices, but 1 to 32 are allowed"),
    (lambda: nisa.local_gather(tile(16, 4112), tile(16), tile(16, 257, nl.uint16)),
     "takes 4112 indices, but 1 to 4096 are allowed"),
    (lambda: gathered((64, 30), 64), r"dst is .*\[64, 30\], but must be \[64, 32\]"),
    (lambda: gathered((64, 32), 64, 30, 2), r"must be \[64, 60\]: 2 for each of 30 indices"),
    (lambda: gathered((64, 32), 32), "index is .* but src_buffer is .* must have the same partitions"),
    (lambda: gathered((64, 96), 64, 32, 3), r"num_elem_per_idx is 3, but must be one of \[1, 2, 4"),
    (lambda: nisa.nc_n_gather(tile(32), tile(), tile(32, 32, nl.uint32)),
     r"indices is .*\[32, 32\], but data is .*\[64, 32\]; both must have the same partitions"),
    (lambda: nisa.topk(tile(24, 8, nl.bfloat16), tile(24, 8, nl.uint32),
                       tile(24, 3, nl.bfloat16), 42), "the same partitions, a multiple of 16"),
    (lambda: nisa.topk(tile(16, 8, nl.bfloat16), tile(16, 8, nl.uint32),
                       tile(32, 3, nl.bfloat16), 42), "the same partitions, a multiple of 16"),
])
def test_gathers_and_searches_have_shapes_that_fit(body: Body, message: str) -> None:
    refuses(body, message)


def double_row(stationary: tuple[int, ...], moving: tuple[int, ...]) -> Any:
    left, right = (nl.zeros((32, *shape), nl.float8_e4m3, buffer=nl.sbuf)
                   for shape in (stationary, moving))
    return nisa.nc_matmul(nl.ndarray((16, 24), nl.float32, buffer=nl.psum), left, right,
                          perf_mode=nisa.matmul_perf_mode.double_row)


VECTOR = nisa.engine.vector


@pytest.mark.parametrize(("body", "message"), [
    (lambda: double_row((3, 11), (2, 24)),
     r"stationary has shape \[32, 3, 11\], but perf_mode double_row takes two rows"),
    (lambda: double_row((2, 16), (48,)),
     r"moving has shape \[32, 48\], but perf_mode double_row .*; reshape it to \[K, 2, N\]"),
    (lambda: nisa.rand_set_state(tile(32, 24, nl.uint32)),
     r"src_seeds is .*\[32, 24\], but the gpsimd engine's state has 6 elements per partition"),
    (lambda: nisa.rand_set_state(tile(32, 6, nl.uint32), VECTOR), "vector engine's state has 24"),
    (lambda: nisa.rand_get_state(tile(32, 7, nl.uint32)), "dst is .* state has 6 elements"),
])
def test_elements_of_a_partition_are_as_many_as_an_operation_takes(body: Body,
                                                                   message: str) -> None:
    refuses(body, message)


@pytest.mark.parametrize(("body", "message"), [
    (lambda: nisa.rand_set_state(tile(32, 6, nl.float32)),
     "src_seeds is float32, but a state is of uint32"),
    (lambda: nisa.rand_get_state(tile(32, 6, nl.int32)), "dst is int32, but a state is of uint32"),
    (lambda: nisa.set_rng_seed(tile(1, 1, nl.uint16)),
     "src_seeds is uint16, but a seed has 32 bits; make it a uint32"),
    (lambda: nisa.iota(tile(), [[0.5, 32]]), "iota: a step of pattern is 0.5, but it is an int32"),
    (lambda: nisa.iota(tile(), [[2**31, 32]]), "a step of pattern is 2147483648, but it is an int32"),
    (lambda: nisa.iota(tile(), [[1, 32]], offset=1.5), "iota: offset is 1.5, but it is an int32"),
    (lambda: nisa.affine_select(tile(), [[1, 32]], 0.5, tile(), 0.0),
     "affine_select: channel_multiplier is 0.5, but it is an int32"),
    (lambda: nisa.memset(tile(), value=np.ones(2)),
     r"memset: value is an array of shape \[2\], but must be a number; make it an argument"),
    (lambda: nisa.memset(tile(), value="1"), "memset: value is '1', but must be a number"),
    (lambda: nl.ndarray((128, 32), nl.float32, buffer=nl.sbuf, name=5), "name is 5, but must be a text"),
    (lambda: nisa.register_alloc(2**31), "the value is 2147483648, but it is an int32"),
    (lambda: nisa.select_reduce(tile(), tile(kind=nl.uint8), tile(), tile()),
     "on_false is .*, but must hold one value per partition"),
])
def test_states_seeds_and_integers_are_of_their_types(body: Body, message: str) -> None:
    refuses(body, message)


def columns(width: int) -> Any:
    """Columns of a tile by index."""
    return tile(64, 80).indirect(tile(64, 2, nl.uint16), width)


@pytest.mark.parametrize(("body", "message"), [
    (lambda: nisa.memset(columns(32), 1.0), "memset: dst is .* with .indirect.., but memset takes"),
    (lambda: nisa.dma_copy(tile(), columns(32)), "dma_copy: src is .* of no operand; gather or"),
    (lambda: nisa.max8(tile(64, 8), columns(32)), "max8: src is .* with .indirect.., but"),
])
def test_columns_are_selected_by_index_where_an_operation_takes_them(body: Body,
                                                                     message: str) -> None:
    refuses(body, message)


def tiled(row: int) -> Any:
    return nisa.nc_matmul(nl.ndarray((32, 32), nl.float32, buffer=nl.psum),
                          tile(32, 32, nl.bfloat16), tile(32, 32, nl.bfloat16),
                          tile_position=(row, 0), tile_size=(32, 32))


@pytest.mark.parametrize(("body", "message"), [
    (lambda: nisa.memset(tile(), 10**400), "memset: value is an integer of more than 64 bits"),
    (lambda: nisa.memset(tile(), 2**63), "memset: value is an integer of more than 64 bits"),
    (lambda: nisa.memset(tile(), "1"), "memset: value is '1', but must be a number"),
    (lambda: nisa.memset(tile(), None), "memset: value is None, but must be a number"),
    (lambda: tiled(-32), "row -32 of tile_position, but tiles of 32 start at its multiples"),
    (lambda: tiled(128), "row 128 of tile_position"),
])
def test_numbers_are_within_their_ranges(body: Body, message: str) -> None:
    refuses(body, message)


def placed(rows: int, partition: int, byte: int = 0) -> Any:
    return nisa.memset(nl.ndarray((rows, 8), nl.float32, address=(partition, byte)), 1.0)


@pytest.mark.parametrize(("body", "message"), [
    (lambda: placed(32, 16), "dst takes 32 partitions from partition 16 of sbuf, where 'sbuf_0' "
                             "begins at 16, but an access of 32 partitions starts at a multiple"),
    (lambda: placed(64, 32), "an access of 64 partitions starts at a multiple of 64"),
    (lambda: placed(32, 0, -4), r"address=\(0, -4\) of a sbuf tensor of shape \[32, 8\], but sbuf"),
    (lambda: nl.ndarray((32, 8), nl.float32, nl.psum, address=(0, 2)),
     r"address=\(0, 2\): bytes in psum are addressed in multiples of 4"),
    (lambda: nl.ndarray((32, 128), nl.float32, nl.psum, address=(0, 1900)),
     r"address=\(0, 1900\): 512 bytes per partition reach from there into the next psum bank; "
     "begin the tile at a multiple of 2048"),
    (lambda: placed(32, -32), r"address=\(-32, 0\) .* has partitions 0 to 127"),
    (lambda: placed(64, 96), r"address=\(96, 0\) of a sbuf tensor of shape \[64, 8\]"),
])
def test_a_tile_is_placed_inside_its_memory_where_engines_start(body: Body, message: str) -> None:
    refuses(body, message)


def test_the_pipe_of_a_sendrecv_is_a_number_from_zero() -> None:
    refuses(lambda: nisa.sendrecv(tile(), tile(), 1 - nl.program_id(0), 1 - nl.program_id(0), -1),
            "sendrecv: pipe_id is -1, but must be a number from 0 to 2147483647", cores=2)


@pytest.mark.parametrize("body", [
    lambda: gathered((64, 32), 64), lambda: gathered((64, 60), 64, 30, 2), lambda: placed(32, 96),
    lambda: nisa.memset(nl.ndarray((64, 8), nl.float32, address=(32, 0))[32:64], 1.0),
    lambda: nisa.memset(nl.ndarray((32, 256), nl.float32, nl.psum, address=(0, 1024)), 1.0),
    lambda: quantized(tile(64, 8, FP8), tile(36, 8, nl.uint8)),
    lambda: nisa.rand_set_state(tile(32, 24, nl.uint32), VECTOR), lambda: double_row((2, 16), (2, 24)),
    lambda: tiled(96), lambda: nisa.nc_stream_shuffle(tile(), tile(), [1.0] * 32),
    lambda: nisa.memset(tile(), float("inf")),
    lambda: nisa.memset(tile(), np.float32(1.5)), lambda: nisa.memset(tile(), True),
    lambda: nisa.memset(tile(), 2**63 - 1),
    lambda: reduced(nl.power, nl.multiply), lambda: reduced(nl.add, nl.maximum, False),
    lambda: nisa.tensor_reduce(column(nl.int32), nl.bitwise_or, tile(kind=nl.int32), 1),
    lambda: nisa.tensor_tensor_scan(tile(), tile(), tile(), 0.0, nl.equal, nl.maximum)])
def test_what_is_legal_is_computed(body: Body) -> None:
    run_kernel(kernel_of(body), np.zeros((4, 4), np.float32), chip="trn3")
