# SPDX-License-Identifier: Apache-2.0
# Tests of the rules of the hardware: each is broken once, and its message is read.
"""What a chip would not execute does not trace, and the message names the line and the rule."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import traced
from kernels import nisa, nl
from legality_helpers import HBM, Body, accepts, kernel_of, psum, rejects, sbuf
from trace_expander import parse
from trnsim.frontend import trace

def matmul(dst: tuple[int, ...], stationary: tuple[int, ...], moving: tuple[int, ...],
           dtype: Any = nl.bfloat16, out: Any = nl.float32, **options: Any) -> Body:
    return lambda h: nisa.nc_matmul(psum(*dst, dtype=out), sbuf(*stationary, dtype=dtype),
                                    sbuf(*moving, dtype=dtype), **options)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: sbuf(129, 4), "takes 129 partitions, but sbuf has 128; split it"),
    (lambda h: sbuf(128, 57345), "takes 229380 bytes .* but a sbuf partition has 229376"),
    (lambda h: psum(128, 4097), "takes 16388 bytes .* but a psum partition has 16384"),
    (lambda h: sbuf(128), "have a partition and at least one free dimension; write \\[128, 1\\]"),
    (lambda h: sbuf(128, 0), "every size must be at least 1"),
    (lambda h: nl.ndarray((2**40, 2**9), nl.float32, buffer=nl.shared_hbm),
     r"an hbm tensor of shape \[1099511627776, 512\] has 562949953421312 elements, but at most "
     "281474976710656 are possible; make it smaller"),
    (matmul((128, 512), (128, 128), (64, 512)), "stationary has 128 partitions and moving 64"),
    (matmul((128, 512), (128, 129), (128, 512)), "stationary has 129 columns"),
    (matmul((128, 513), (128, 128), (128, 513)), "streams at most 512 into a float32 dst"),
    (matmul((128, 256), (128, 128), (128, 512)), r"dst must be \[128, 512\]"),
    (matmul((64, 512), (128, 128), (128, 512)), r"dst must be \[128, 512\]"),
    (matmul((128, 512), (128, 128), (128, 512), out=nl.bfloat16), "dst is bfloat16, but"),
    (matmul((128, 512), (128, 128), (128, 512), dtype=nl.int32), "does not multiply"),
    (matmul((128, 512), (128, 128), (128, 512), dtype=nl.float8_e4m3fn), "does not multiply"),
    (matmul((128, 512), (128, 128), (128, 512), dtype=nl.float8_e5m2_x4), "call nc_matmul_mx"),
    (matmul((128, 512), (128, 128), (128, 512), perf_mode="double_row"), "takes float8 operands"),
    (matmul((128, 512), (128, 128), (128, 512), tile_size=(64, 128)), "give both or neither"),
    (matmul((128, 512), (32, 128), (32, 512), tile_size=(48, 128), tile_position=(0, 0)),
     "row size 48 of tile_size"),
    (matmul((128, 512), (32, 128), (32, 512), tile_size=(32, 128), tile_position=(16, 0)),
     "row 16 of tile_position"),
    (lambda h: nisa.nc_matmul(psum(128, 64), sbuf(128, 128, dtype=nl.bfloat16), sbuf(128, 64)),
     "a 32-bit operand takes a 32-bit partner"),
    (lambda h: nisa.nc_matmul(sbuf(128, 64), sbuf(128, 128), sbuf(128, 64)),
     "dst is 'sbuf_0' in sbuf, but must be in psum"),
    (lambda h: nisa.nc_matmul(psum(128, 64), h[0:128, 0:64], sbuf(128, 64)),
     "stationary is 'h' in hbm, but must be in sbuf"),
    (lambda h: nisa.nc_matmul(psum(128, 1024)[0:128, 256:768], sbuf(128, 128), sbuf(128, 512)),
     "dst reaches from psum bank 0 to 1"),
    (lambda h: nisa.nc_transpose(psum(128, 1024)[0:128, 450:578], sbuf(128, 128)),
     "nc_transpose: dst reaches from psum bank 0 to 1"),
    (lambda h: nisa.nc_transpose(psum(32, 1024)[0:32, 500:532], sbuf(32, 32),
                                 engine=nisa.engine.tensor),
     "nc_transpose: dst reaches from psum bank 0 to 1"),
    (lambda h: nisa.dma_copy(sbuf(128, 64), h[0:128, 0:64], oob_mode="banana"),
     "oob_mode='banana' is not a member of nki.isa.oob_mode; use error or skip"),
    (lambda h: nisa.dma_copy(sbuf(128, 64), h[0:128, 0:64], oob_mode=1),
     "oob_mode=1 is not a member"),
    (lambda h: nisa.dma_transpose(sbuf(64, 128), h[0:128, 0:64], oob_mode=None),
     "dma_transpose: oob_mode=None is not a member"),
    (lambda h: nisa.dma_compute(sbuf(128, 64), [h[0:128, 0:64]], nl.add, oob_mode="skip"),
     "dma_compute: oob_mode='skip' is not a member"),
    (lambda h: nisa.nc_matmul(psum(128, 64), sbuf(128, 128), sbuf(128, 64), accumulate=True),
     "does not hold the result of a matmul"),
    (lambda h: nisa.tensor_copy(sbuf(128, 64), sbuf(128, 32)), "both must be equal"),
    (lambda h: nisa.tensor_copy(sbuf(64, 64), sbuf(128, 64)), "both must be equal"),
    (lambda h: nisa.tensor_copy(sbuf(128, 64), h[0:128]), "src is 'h' in hbm"),
    (lambda h: nisa.tensor_copy(sbuf(128, 64)[16:48], sbuf(32, 64)),
     "dst takes 32 partitions from partition 16 .* starts at a multiple of 32"),
    (lambda h: nisa.tensor_copy(sbuf(128, 64)[32:96], sbuf(64, 64)), "starts at a multiple of 64"),
    (lambda h: nisa.tensor_copy(sbuf(128, 64)[32:128], sbuf(96, 64)), "starts at 0"),
    (lambda h: nisa.tensor_copy(psum(128, 64), sbuf(128, 64), engine=nisa.engine.gpsimd),
     "does not run on the gpsimd engine"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.exp, sbuf(128, 64), engine=nisa.engine.vector),
     "does not run on the vector engine"),
    (lambda h: nisa.tensor_tensor(sbuf(128, 64), psum(128, 64), psum(128, 64), op=nl.add),
     "data1 and data2 are both in psum"),
    (lambda h: nisa.tensor_tensor(sbuf(128, 64), sbuf(128, 64), 3.0, op=nl.add),
     "data2 is 3.0, but must be a tensor"),
    (lambda h: nisa.tensor_tensor(sbuf(128, 64), sbuf(128, 64), sbuf(128, 64), op=nl.bitwise_and),
     "bitwise_and takes integers"),
    (lambda h: nisa.tensor_tensor(sbuf(128, 64), sbuf(128, 64), sbuf(128, 64), op="plus"),
     "op='plus' is not a math operator"),
    (lambda h: nisa.tensor_scalar(sbuf(128, 64), sbuf(128, 64), nl.add, sbuf(128, 2)),
     "operand0 is .* but must hold one value per partition"),
    (lambda h: nisa.tensor_reduce(sbuf(128, 64), nl.add, sbuf(128, 64), axis=0),
     "only the last dimensions are reduced"),
    (lambda h: nisa.tensor_reduce(sbuf(128, 2), nl.add, sbuf(128, 64), axis=1),
     "has 128 partitions of 1 elements"),
    (lambda h: nisa.tensor_reduce(sbuf(128, 1), nl.equal, sbuf(128, 64), axis=1),
     "op equal does not reduce"),
    (lambda h: nisa.tensor_reduce(sbuf(128, 1, dtype=nl.int32), nl.bitwise_or,
                                  sbuf(128, 64, dtype=nl.int32), axis=1, negate=True),
     "negate is True, but bitwise_or works on bits"),
    (lambda h: nisa.tensor_reduce(sbuf(128, 1), nl.bitwise_or, sbuf(128, 64), axis=1),
     "dst is float32, but bitwise_or takes integers"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.add, sbuf(128, 64)),
     "op=add is not an activation function"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.tan, sbuf(128, 64)),
     "op=tan is not an activation function of NKI; use one of abs, arctan, copy, erf, "),
    (lambda h: nisa.tensor_scalar(sbuf(128, 64), sbuf(128, 64), nl.exp, 0.0),
     "op0=exp is not a math operator"),
    (lambda h: nisa.dropout(sbuf(128, 64), sbuf(128, 64), 1.5),
     "dropout: prob is 1.5, but a probability is 0 to 1"),
    (lambda h: nl.dropout(sbuf(128, 64), -0.5), "prob is -0.5, but a probability is 0 to 1"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.exp, sbuf(128, 64), bias=sbuf(128, 64)),
     "bias is .* but must hold one value per partition"),
    (lambda h: nisa.nc_transpose(psum(64, 128), sbuf(128, 32)), r"dst must be \[32, 128\]"),
    (lambda h: nisa.nc_transpose(sbuf(64, 128), sbuf(128, 64)), "transposes at most 32 x 32"),
    (lambda h: nisa.bn_stats(sbuf(128, 6), sbuf(128, 513)), "at most 512 are allowed"),
    (lambda h: nisa.max8(sbuf(128, 8), sbuf(128, 4)), "8 to 16384 are allowed"),
    (lambda h: nisa.iota(sbuf(128, 64, dtype=nl.int32), [[1, 32]]), "has 32 elements"),
    (lambda h: nisa.dma_copy(sbuf(128, 64), h), "8192 elements; both must be equal"),
    (lambda h: nisa.dma_copy(psum(128, 64), h[0:128]), "dst is 'psum_0' in psum"),
    (lambda h: nisa.dma_copy(sbuf(128, 64, dtype=nl.bfloat16), h[0:128],
                             dge_mode=nisa.dge_mode.hwdge), "moves elements unchanged"),
    (lambda h: nisa.dma_copy(sbuf(128, 64, dtype=nl.bfloat16), h[0:128],
                             dge_mode=nisa.dge_mode.hwdge.value), "moves elements unchanged"),
    (lambda h: nisa.dma_copy(sbuf(128, 64), h[0:128], priority=1), "needs NeuronCore-v4"),
    (lambda h: nisa.dma_transpose(sbuf(128, 64), h[0:128]), "transposed has"),
    (lambda h: nisa.nc_stream_shuffle(sbuf(32, 4), sbuf(32, 4), [0, 1]), "mask has 2 entries"),
    (lambda h: nisa.exponential(sbuf(128, 64), sbuf(128, 64)), "needs NeuronCore-v4, but trn2"),
    (lambda h: nisa.memset(3, value=0), "dst is 3, but must be a tensor"),
    (lambda h: nisa.tensor_scalar(sbuf(128, 64), sbuf(128, 64), nl.add,
                                  sbuf(128, 1, dtype=nl.bfloat16)), "operand0 is bfloat16, but"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.exp, sbuf(128, 64),
                               scale=sbuf(128, 1, dtype=nl.float16)), "scale is float16, but"),
    (lambda h: nisa.rng(sbuf(128, 64)), "random bits are integers"),
    (lambda h: nisa.select_reduce(sbuf(128, 64), sbuf(128, 64), sbuf(128, 64), 0.0),
     "predicate is float32, but must be an integer of 8 or 16 bits"),
    (lambda h: nisa.tensor_copy_predicated(sbuf(128, 64), sbuf(128, 64), sbuf(128, 64)),
     "predicate is float32, but must be uint8 or"),
    (lambda h: nisa.range_select(sbuf(128, 64), sbuf(128, 64), nl.less, nl.less,
                                 sbuf(128, 1, dtype=nl.int32), sbuf(128, 1)), "bound0 is int32"),
    (lambda h: nisa.tensor_scalar_cumulative(sbuf(128, 64, dtype=nl.int32), sbuf(128, 64), nl.add,
                                             nl.add, 1.0), "32-bit integers do not accumulate"),
    (lambda h: nisa.local_gather(sbuf(128, 64), sbuf(128, 64), sbuf(128, 4)),
     "index is float32, but must be uint16"),
    (lambda h: nisa.nc_n_gather(sbuf(128, 64), sbuf(128, 64), sbuf(128, 64)),
     "indices is float32, but must be uint32"),
    (lambda h: nisa.local_gather(sbuf(128, 64, dtype=nl.bfloat16), sbuf(128, 64),
                                 sbuf(128, 4, dtype=nl.uint16)),
     "local_gather: dst is bfloat16 and src_buffer is float32, but elements are moved as they are"),
    (lambda h: nisa.nc_n_gather(sbuf(128, 64, dtype=nl.bfloat16), sbuf(128, 64),
                                sbuf(128, 64, dtype=nl.uint32)),
     "nc_n_gather: data is float32 and dst is bfloat16, but both must have the same type"),
    (lambda h: nisa.nc_stream_shuffle(sbuf(32, 4, dtype=nl.bfloat16), sbuf(32, 4), range(32)),
     "nc_stream_shuffle: dst is bfloat16 and src is float32, but elements are moved as they are"),
    (lambda h: nisa.nc_find_index8(sbuf(128, 8, dtype=nl.int32), sbuf(128, 64), sbuf(128, 8)),
     "dst is int32, but indices are uint16 or uint32; declare it so"),
    (lambda h: nisa.dropout(sbuf(128, 64, dtype=nl.bfloat16), sbuf(128, 64), 0.5),
     "dropout: data is float32 and dst is bfloat16, but both must have the same type"),
    (lambda h: nisa.dropout(sbuf(128, 64), sbuf(128, 64), sbuf(128, 1, dtype=nl.int32)),
     "prob is int32, but a probability is a float; convert it"),
    *((lambda h, shape=shape: nisa.nc_matmul(psum(64, 64), sbuf(*shape, dtype=nl.float8_e4m3),
                                             sbuf(128, 2, 64, dtype=nl.float8_e4m3), perf_mode="double_row"),
       rf"stationary has shape \[{', '.join(map(str, shape))}\], but perf_mode double_row takes two rows")
      for shape in ((128, 2), (128, 128), (128, 3, 64))),
    *((lambda h, left=left, right=right: nisa.nc_matmul(psum(64, 64), sbuf(128, 2, 64, dtype=left),
                                                        sbuf(128, 2, 64, dtype=right), perf_mode="double_row"),
       f"perf_mode double_row with {left} and {right}, but it takes float8 operands")
      for left, right in ((nl.bfloat16, nl.float8_e5m2), (nl.float8_e5m2, nl.bfloat16))),
    *((lambda h, kind=kind: nisa.select_reduce(sbuf(128, 64), sbuf(128, 64, dtype=kind), sbuf(128, 64), 0.0),
       f"predicate is {kind}, but must be an integer of 8 or 16 bits") for kind in (nl.int32, nl.float16)),
    (lambda h: nisa.dropout(sbuf(128, 64, dtype=nl.int32), sbuf(128, 64, dtype=nl.int32),
                            sbuf(128, 1, dtype=nl.bfloat16)),
     "prob is bfloat16, but data is int32, and integers take a float32 probability"),
    (lambda h: nisa.memset(sbuf(128, 64, dtype=nl.int32), value=2.0),
     "memset: value is 2.0, but dst is int32, which is filled with an integer; write one"),
    (lambda h: nisa.nc_matmul(psum(64, 64), sbuf(128, 2, 64, dtype=nl.float8_e4m3),
                              sbuf(128, 2, 64, dtype=nl.float8_e5m2), perf_mode="double_row",
                              tile_position=(0, 0), tile_size=(128, 64)),
     "perf_mode double_row in a tile of 64 columns, but it takes all 128"),
])
def test_a_broken_rule_is_an_error(body: Body, message: str) -> None:
    rejects(body, message)


def scaled(op0: Any, operand0: Any, **more: Any) -> Body:
    return lambda h: nisa.tensor_scalar(sbuf(128, 64), sbuf(128, 64), op0, operand0, **more)


@pytest.mark.parametrize(("body", "message"), [
    (scaled(nl.add, 1.0, op1=nl.multiply), "op1 is multiply, but operand1 is not given"),
    (scaled(nl.add, 1.0, operand1=2.0), "operand1 is given, but op1 is not"),
    (scaled(nl.abs, 3.0), "operand0 is 3.0, but abs takes one operand"),
    (lambda h: scaled(nl.rsqrt, sbuf(128, 1))(h), "operand0 is a tensor, but rsqrt takes one"),
    (lambda h: nisa.tensor_scalar_reduce(sbuf(128, 64), sbuf(128, 64), nl.abs, 3.0, nl.add,
                                         sbuf(128, 1)), "operand0 is 3.0, but abs takes one"),
])
def test_every_operator_has_its_operand(body: Body, message: str) -> None:
    rejects(body, message)


def ranged(compare0: Any = nl.greater, compare1: Any = nl.less, **more: Any) -> Body:
    return lambda h: nisa.range_select(sbuf(128, 64), sbuf(128, 64), compare0, compare1,
                                       sbuf(128, 1), sbuf(128, 1), reduce_res=sbuf(128, 1), **more)


@pytest.mark.parametrize(("body", "message"), [
    (ranged(nl.not_equal), "comp_op0 is not_equal, but must be one of equal, less"),
    (ranged(compare1=nl.add), "comp_op1 is add, but must be one of equal, less"),
    (ranged(reduce_op=nl.add), "reduce_op is add, but only the maximum"),
    (ranged(on_false_value=0.0), "on_false_value is 0.0, but must be the least float32"),
    (ranged(on_false_value=float("-inf")), "on_false_value is -inf, but must be"),
    (ranged(on_false_value=float("nan")), "on_false_value is nan, but must be"),
    (lambda h: ranged(on_false_value=sbuf(128, 64))(h), "on_false_value is a tensor, but must be"),
])
def test_a_range_select_compares_fills_and_reduces_in_its_own_way(body: Body,
                                                                  message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize("least", [-3.4028235e38, -3.4028234663852886e38, None, ...])
@pytest.mark.parametrize("reduce_op", [nl.max, None])
def test_a_range_select_fills_with_the_least_number(least: Any, reduce_op: Any) -> None:
    assert accepts(ranged(on_false_value=least, reduce_op=reduce_op)) == ["range_select"]


def selected(**more: Any) -> Body:
    return lambda h: nisa.select_reduce(sbuf(128, 64), sbuf(128, 64, dtype=nl.uint8), sbuf(128, 64),
                                        0.0, sbuf(128, 1), **more)


def activated(**more: Any) -> Body:
    return lambda h: nisa.activation(sbuf(128, 64), nl.exp, sbuf(128, 64), reduce_op=nl.add,
                                     reduce_res=sbuf(128, 1), **more)


def reduced(op0: Any = nl.add, reduce_op: Any = nl.add, **more: Any) -> Body:
    return lambda h: nisa.tensor_scalar_reduce(sbuf(128, 64), sbuf(128, 64), op0, 1.0, reduce_op,
                                               reduce_res=sbuf(128, 1), **more)


def cumulated(op0: Any = nl.add, op1: Any = nl.add, **more: Any) -> Body:
    return lambda h: nisa.tensor_scalar_cumulative(sbuf(128, 64), sbuf(128, 64), op0, op1, 1.0,
                                                   **more)


def exponentiated(**more: Any) -> Body:
    return lambda h: nisa.exponential(sbuf(128, 64), sbuf(128, 64), reduce_res=sbuf(128, 1), **more)


COMMANDS = nisa.reduce_cmd


@pytest.mark.parametrize(("call", "allowed"), [
    (activated, "idle reset reduce reset_reduce"), (selected, "idle reduce reset_reduce"),
    (ranged, "idle reset reduce reset_reduce"), (reduced, "reduce reset_reduce"),
    (cumulated, "reduce reset_reduce"),
    (exponentiated, "idle reduce reset_reduce load_reduce")])
def test_an_instruction_takes_the_commands_that_it_can_follow(call: Any, allowed: str) -> None:
    for command in COMMANDS:
        if command.name in allowed.split():
            assert len(accepts(call(reduce_cmd=command), "trn3")) == 1
        else:
            rejects(call(reduce_cmd=command), f"reduce_cmd is {command.name}, but", "trn3")


@pytest.mark.parametrize(("body", "message"), [
    (exponentiated(reduce_init=1.0), "reduce_init is 1.0, but reduce_cmd is idle"),
    (lambda h: exponentiated(reduce_init=sbuf(128, 1), reduce_cmd=COMMANDS.reduce)(h),
     "reduce_init is a tensor, but reduce_cmd is reduce, and only load_reduce loads it"),
])
def test_an_exponential_begins_with_a_value_only_if_it_loads_it(body: Body, message: str) -> None:
    rejects(body, message, "trn3")
    accepts(exponentiated(reduce_init=1.0, reduce_cmd=COMMANDS.load_reduce), "trn3")


def activated2(op0: Any, op1: Any, imm0: Any = 1.0, imm1: Any = 1.0, **more: Any) -> Body:
    def body(h: Any) -> None:
        given = [sbuf(128, 1, dtype=one) if one in (nl.float32, nl.bfloat16) else one
                 for one in (imm0, imm1)]
        nisa.activate2(sbuf(128, 64), nl.exp, sbuf(128, 64), *given, op0, op1, **more)
    return body


@pytest.mark.parametrize("pair", [
    (nl.multiply, nl.add), (nl.multiply, nl.subtract), (nl.multiply, nl.bypass),
    (nl.add, nl.bypass), (nl.subtract, nl.bypass), (nl.bypass, nl.bypass), (nl.multiply, None),
    (None, None)])
def test_activate2_has_six_pairs_of_operators(pair: Any) -> None:
    assert accepts(activated2(*pair), "trn3") == ["activate2"]


@pytest.mark.parametrize("body", [
    activated2(nl.multiply, nl.subtract, reverse1=True), activated2(nl.subtract, nl.bypass, reverse0=True),
    activated2(nl.multiply, nl.add, nl.float32, 2.0), activated2(nl.multiply, nl.add, 2.0, nl.bfloat16)])
def test_activate2_takes_reversed_operators_and_one_tensor(body: Body) -> None:
    assert accepts(body, "trn3") == ["activate2"]


@pytest.mark.parametrize(("body", "message"), [
    (activated2(nl.add, nl.multiply), "op0 and op1 are add and multiply, but must be one of mult"),
    (activated2(nl.maximum, nl.bypass), "op0 and op1 are maximum and bypass, but"),
    (activated2(None, nl.add), "op0 and op1 are none and add, but"),
    (activated2(nl.multiply, None, reverse1=True), "reverse1 is True, but op1 is not given"),
    (activated2(nl.multiply, nl.add, nl.float32, nl.bfloat16),
     "imm0 is float32 and imm1 is bfloat16, but both must have the same type"),
])
def test_activate2_has_no_other_operators(body: Body, message: str) -> None:
    rejects(body, message, "trn3")


@pytest.mark.parametrize(("body", "message"), [
    (reduced(reduce_cmd=COMMANDS.load_reduce), "reduce_init is not given"),
    (cumulated(reduce_cmd=COMMANDS.load_reduce), "imm1 is not given"),
    (selected(reduce_op=nl.add), "reduce_op is add, but only the maximum"),
    (reduced(reduce_op=nl.subtract), "reduce_op is subtract, but must be one of add, multiply"),
    (reduced(nl.bitwise_and), "op0 is bitwise_and, but must be an arithmetic"),
    (cumulated(op1=nl.logical_and), "op1 is logical_and, but must be one of add, subtract"),
    (cumulated(nl.left_shift), "op0 is left_shift, but must be an arithmetic"),
])
def test_accumulators_take_few_operators_and_load_what_is_given(body: Body, message: str) -> None:
    rejects(body, message)


def test_accumulators_load_a_number() -> None:
    assert accepts(reduced(reduce_cmd=COMMANDS.load_reduce, reduce_init=0.0)) == [
        "tensor_scalar_reduce"]
    assert accepts(cumulated(reduce_cmd=COMMANDS.load_reduce, imm1=0.0)) == [
        "tensor_scalar_cumulative"]


@pytest.mark.parametrize("body", [
    scaled(nl.abs, None), scaled(nl.abs, 0.0), scaled(nl.add, 1.0, op1=nl.rsqrt),
    scaled(nl.add, 1.0, op1=nl.rsqrt, operand1=0.0), scaled(nl.add, 1.0, op1=nl.add, operand1=0)])
def test_a_unary_operator_has_none(body: Body) -> None:
    assert accepts(body) == ["tensor_scalar"]


@pytest.mark.parametrize(("body", "chip", "message"), [
    (lambda h: nisa.range_select(sbuf(128, 64), sbuf(128, 64), nl.less, nl.greater, sbuf(128, 1),
                                 sbuf(128, 1)), "trn1", "needs NeuronCore-v3, but trn1"),
    (lambda h: nisa.tensor_scalar(sbuf(128, 64), sbuf(128, 64), nl.multiply, 2.0,
                                  engine=nisa.engine.scalar), "trn1",
     "does not run on the scalar engine"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.exp, sbuf(128, 64), bias=1.0), "trn1",
     "bias is the number 1.0"),
    (lambda h: nisa.activation_reduce(sbuf(128, 64), nl.exp, sbuf(128, 64), nl.add, sbuf(128, 1),
                                      bias=1.0), "inf2", "bias is the number 1.0"),
    (lambda h: nisa.activation(sbuf(128, 64), nl.copy, sbuf(128, 64), bias=sbuf(128, 1)), "trn1",
     "bias is a tensor, but a copy by the Scalar Engine of NeuronCore-v2 takes a number"),
    (lambda h: nisa.nc_match_replace8(sbuf(128, 64), sbuf(128, 64), sbuf(128, 8), 0.0,
                                      sbuf(128, 8, dtype=nl.uint32)), "trn1",
     "dst_idx needs NeuronCore-v3, but trn1 has NeuronCore-v2"),
    (lambda h: nisa.dma_copy(sbuf(128, 64), h[0:128], dge_mode=nisa.dge_mode.hwdge), "trn1",
     "hwdge needs NeuronCore-v3"),
    (matmul((128, 512), (32, 128), (32, 512), tile_size=(32, 128), tile_position=(0, 0)), "trn1",
     "has tiles of 64 to 128"),
    (lambda h: sbuf(128, 50000), "trn1", "but a sbuf partition has 196608"),
])
def test_older_generations_have_fewer_instructions(body: Body, chip: str, message: str) -> None:
    rejects(body, message, chip)
    accepts(body, "trn2")


@pytest.mark.parametrize("bias", [None, 0.0, 1.0])
def test_a_copy_adds_a_number_on_all_generations(bias: Any) -> None:
    def body(h: Any) -> None:
        nisa.activation(sbuf(128, 64), nl.copy, sbuf(128, 64), scale=-1.0, bias=bias)

    for chip in ("trn1", "trn2", "trn3"):
        assert accepts(body, chip) == ["activation"]


@pytest.mark.parametrize("chip", ["trn1", "trn2"])
@pytest.mark.parametrize("op", [nl.abs_max, nl.abs_min])
def test_magnitudes_are_compared_from_the_fourth_generation_on(op: Any, chip: str) -> None:
    for body, role in ((lambda h: nisa.tensor_tensor(sbuf(128, 64), sbuf(128, 64), sbuf(128, 64),
                                                     op), "op"),
                       (scaled(op, 1.0), "op0"),
                       (scaled(nl.add, 1.0, op1=op, operand1=1.0), "op1"),
                       (lambda h: op(sbuf(128, 64), sbuf(128, 64)), "op")):
        rejects(body, rf"{role} is abs_m.., which needs NeuronCore-v4, but {chip}", chip)
        accepts(body, "trn3")


@pytest.mark.parametrize("fill", [
    lambda h: nisa.memset(sbuf(128, 64, dtype=nl.int32), value=2),
    lambda h: nisa.memset(sbuf(128, 64, dtype=nl.uint32), value=0.0),
    lambda h: nisa.memset(sbuf(128, 64), value=2)])
def test_integers_are_filled_with_integers_or_a_zero(fill: Body) -> None:
    assert accepts(fill) == ["memset"]


def test_the_two_kinds_of_float8_e4m3_are_not_multiplied_with_each_other() -> None:
    def multiplied(kind: Any) -> Body:
        return lambda h: nisa.nc_matmul(psum(128, 64), sbuf(128, 128, dtype=nl.float8_e4m3fn),
                                        sbuf(128, 64, dtype=kind))
    rejects(multiplied(nl.float8_e4m3), "stationary is float8_e4m3fn and moving is float8_e4m3, "
                                        "but the two kinds", "trn3")
    accepts(multiplied(nl.float8_e5m2), "trn3")


def scaled_matmul(rows: int = 32, **tile: Any) -> Body:
    def body(h: Any) -> None:
        kind = nl.float8_e5m2_x4
        nisa.nc_matmul_mx(psum(64, 128), sbuf(rows, 64, dtype=kind), sbuf(rows, 128, dtype=kind),
                          sbuf(rows, 64, dtype=nl.uint8), sbuf(rows, 128, dtype=nl.uint8), **tile)
    return body


@pytest.mark.parametrize(("body", "message"), [
    (scaled_matmul(tile_size=(32, 128)), "nc_matmul_mx: .* give both or neither"),
    (scaled_matmul(tile_size=(32, 64), tile_position=(0, 0)), "it is tiled by rows only"),
    (scaled_matmul(tile_size=(32, 128), tile_position=(0, 64)), "it is tiled by rows only"),
    (scaled_matmul(tile_size=(48, 128), tile_position=(0, 0)), "row size 48 of tile_size"),
    (scaled_matmul(tile_size=(32, 128), tile_position=(16, 0)), "row 16 of tile_position"),
    (scaled_matmul(64, tile_size=(32, 128), tile_position=(0, 0)), "the contraction takes 64 rows"),
])
def test_a_scaled_matmul_takes_tiles_of_rows(body: Body, message: str) -> None:
    rejects(body, message, "trn3")


def test_the_tile_of_a_scaled_matmul_is_in_the_trace() -> None:
    tiled = kernel_of(scaled_matmul(tile_size=(32, 128), tile_position=(96, 0)))
    program = parse(trace(tiled, [HBM], "trn3").lines())
    attributes = next(one for one in program.templates.values()
                      if one["op"] == "nc_matmul_mx")["attributes"]
    assert (attributes["tile_size"], attributes["tile_position"]) == ([32, 128], [96, 0])


def found(values: Any = nl.bfloat16, indices: Any = nl.uint32, data: Any = nl.bfloat16,
          k: int = 8) -> Body:
    return lambda h: nisa.topk(sbuf(16, k, dtype=values), sbuf(16, k, dtype=indices),
                               sbuf(16, 4096, dtype=data), n=40000)


@pytest.mark.parametrize(("body", "message"), [
    (found(data=nl.float32), "topk: src is float32, but must be bfloat16"),
    (found(values=nl.float32), "topk: val_dst is float32, but must be bfloat16"),
    (found(indices=nl.int32), "topk: idx_dst is int32, but must be uint32"),
    (found(k=32768), "dst has 32768 elements per partition, but at most 32767 are found"),
])
def test_topk_finds_bfloat16_and_its_indices(body: Body, message: str) -> None:
    rejects(body, message)
    accepts(found(k=100))


def quantized(start: int) -> None:
    """Quantizes with the scales at a partition of each quadrant."""
    scales = sbuf(128, 64, dtype=nl.uint8)
    nisa.quantize_mx(dst=sbuf(128, 64, dtype=nl.float8_e5m2_x4),
                     src=sbuf(128, 256, dtype=nl.bfloat16), dst_scale=scales[start:, :])


def test_a_state_is_stored_in_sbuf_before_v4() -> None:
    def body(h: Any) -> None:
        nisa.rand_get_state(psum(128, 24, dtype=nl.uint32), nisa.engine.vector)
    assert accepts(body, "trn3") == ["rand_get_state"]
    rejects(lambda h: nisa.rand_get_state(psum(128, 6, dtype=nl.uint32)),
            "dst is 'psum_0' in psum, but NeuronCore-v3 stores its state in sbuf; write it to a tile")


def test_gpsimd_stores_no_state_in_psum() -> None:
    rejects(lambda h: nisa.rand_get_state(psum(128, 24, dtype=nl.uint32), nisa.engine.gpsimd),
            "does not run on the gpsimd engine .* on NeuronCore-v4, but on: vector; change", "trn3")


@pytest.mark.parametrize("engine", [nisa.engine.vector, nisa.engine.scalar])
def test_only_gpsimd_has_the_root_of_a_sum(engine: Any) -> None:
    def body(h: Any, dst: Any, **options: Any) -> None:
        nisa.tensor_scalar(dst, sbuf(128, 64), nl.rsqrt, 0.0, **options)
    assert accepts(lambda h: body(h, sbuf(128, 64))) == ["tensor_scalar"]
    rejects(lambda h: body(h, sbuf(128, 64), engine=engine),
            f"does not run on the {engine.name} engine .*, but on: gpsimd; change `engine=`")
    rejects(lambda h: body(h, psum(128, 64)),
            "runs on no engine with these operands on NeuronCore-v3; move those in PSUM to SBUF")


@pytest.mark.parametrize("start", [2, 16])
def test_the_scales_of_four_tensors_are_packed(start: int) -> None:
    rejects(lambda h: quantized(start), f"dst_scale starts at partition {start} of 'sbuf_0', but "
                                        "scales start at 0, 4, 8, 12; move them there", "trn3")


@pytest.mark.parametrize("body", [
    matmul((128, 4096), (128, 128), (128, 4096)),
    matmul((128, 512), (128, 128), (128, 512), out=nl.bfloat16),
    matmul((128, 512), (128, 128), (128, 512), dtype=nl.float8_e4m3fn),
    lambda h: nisa.exponential(sbuf(128, 64), sbuf(128, 64)),
    lambda h: nisa.dma_copy(sbuf(128, 64), h[0:128], priority=1),
    lambda h: quantized(4),
])
def test_the_newest_generation_has_more(body: Body) -> None:
    accepts(body, "trn3")


def test_a_double_row_matmul_contracts_two_rows() -> None:
    assert accepts(lambda h: nisa.nc_matmul(
        psum(64, 512), sbuf(128, 2, 64, dtype=nl.float8_e4m3),
        sbuf(128, 2, 512, dtype=nl.float8_e5m2),
        perf_mode=nisa.matmul_perf_mode.double_row)) == ["nc_matmul"]


def test_a_rule_that_depends_on_the_position_is_checked_every_time() -> None:
    def body(h: Any) -> None:
        bank, a, b = psum(128, 1024), sbuf(128, 128), sbuf(128, 512)
        for start in (0, 512, 256):
            nisa.nc_matmul(bank[0:128, start:start + 512], a, b, accumulate=False)
    rejects(body, "dst reaches from psum bank 0 to 1")


def test_the_vector_engine_transposes_into_two_banks() -> None:
    for engine in (nisa.engine.vector, nisa.engine.unknown):
        (executed,) = traced(kernel_of(lambda h, chosen=engine: nisa.nc_transpose(
            psum(32, 1024)[0:32, 500:532], sbuf(32, 32), engine=chosen)), HBM)
        assert executed.engines == ("vector",)


def test_a_matmul_takes_numbers_as_truth_values() -> None:
    def twice(accumulate: Any) -> list[str]:
        def body(h: Any) -> None:
            sums, a, b = psum(128, 64), sbuf(128, 128), sbuf(128, 64)
            for last in (None, accumulate):
                nisa.nc_matmul(sums, a, b, accumulate=last)
        return [str(one.operands[0][1]) for one in traced(kernel_of(body), HBM)]
    assert twice(0) == twice(False) == ["write"] * 2
    assert twice(1) == twice(True) == ["write", "accumulate"]


def test_a_start_partition_is_checked_every_time() -> None:
    def body(h: Any) -> None:
        tile = sbuf(128, 64)
        for start in (0, 32, 48):
            nisa.memset(tile[start:start + 32], value=0)
    rejects(body, "from partition 48")


def test_a_dma_starts_at_any_partition() -> None:
    assert accepts(lambda h: nisa.dma_copy(sbuf(128, 64)[3:10], h[0:7])) == ["dma_copy"]


@pytest.mark.parametrize(("op", "dtype", "space", "engines"), [
    (nl.add, nl.float32, "sbuf", ("vector",)), (nl.power, nl.float32, "sbuf", ("gpsimd",)),
    (nl.add, nl.int32, "sbuf", ("gpsimd",)), (nl.add, nl.int32, "psum", ("vector",)),
    (nl.bitwise_and, nl.int32, "sbuf", ("vector",)), (nl.left_shift, nl.uint32, "sbuf", ("vector",)),
])
def test_integer_arithmetic_and_power_run_on_gpsimd_unless_in_psum(
        op: Any, dtype: Any, space: str, engines: tuple[str, ...]) -> None:
    def body(h: Any) -> None:
        result = nl.ndarray((128, 64), dtype=dtype, buffer=space)
        nisa.tensor_tensor(result, sbuf(128, 64, dtype=dtype), sbuf(128, 64, dtype=dtype), op=op)
    (executed,) = traced(kernel_of(body), HBM)
    assert executed.engines == engines


@pytest.mark.parametrize(("chip", "engines"), [
    ("trn1", ("vector", "gpsimd", "scalar")), ("trn2", ("vector", "scalar", "gpsimd")),
])
def test_a_copy_may_run_on_every_engine_that_the_chip_allows(chip: str, engines: Any) -> None:
    kernel = kernel_of(lambda h: nisa.tensor_copy(sbuf(128, 64), sbuf(128, 64)))
    (executed,) = traced(kernel, HBM, chip=chip)
    assert executed.engines == engines


@pytest.mark.parametrize("chip", ["inf2", "trn1", "trn2", "trn3"])
@pytest.mark.parametrize("engine", ["vector", "scalar", "gpsimd"])
def test_a_copy_runs_on_the_engine_that_is_named(chip: str, engine: str) -> None:
    kernel = kernel_of(lambda h: nisa.tensor_copy(sbuf(128, 64), sbuf(128, 64),
                                                  engine=getattr(nisa.engine, engine)))
    (executed,) = traced(kernel, HBM, chip=chip)
    assert executed.engines == (engine,)


@pytest.mark.parametrize(("op", "engines"), [
    (nl.multiply, ("vector", "scalar")), (nl.add, ("vector", "scalar")), (nl.maximum, ("vector",)),
])
def test_on_trn1_the_compiler_may_let_activate_scale_and_add(op: Any, engines: Any) -> None:
    kernel = kernel_of(lambda h: nisa.tensor_scalar(sbuf(128, 64), sbuf(128, 64), op, 2.0))
    (executed,) = traced(kernel, HBM, chip="trn1")
    assert executed.engines == engines


@pytest.mark.parametrize("more", [
    {}, {"engine": nisa.engine.scalar}, {"engine": nisa.engine.unknown}])
def test_activations_are_the_scalar_engines(more: Any) -> None:
    (executed,) = traced(kernel_of(
        lambda h: nisa.activation(sbuf(128, 64), nl.exp, sbuf(128, 64), **more)), HBM)
    assert executed.engines == ("scalar",)


def test_a_transpose_between_sbuf_and_psum_prefers_the_tensor_engine() -> None:
    kernel = kernel_of(lambda h: nisa.nc_transpose(psum(32, 32), sbuf(32, 32)))
    assert traced(kernel, HBM)[0].engines == ("tensor", "vector")
    kernel = kernel_of(lambda h: nisa.nc_transpose(sbuf(32, 32), sbuf(32, 32)))
    assert traced(kernel, HBM)[0].engines == ("vector",)


def test_more_dimensions_than_an_access_pattern_has_are_an_error() -> None:
    def body(h: Any) -> None:
        tile = sbuf(128, 3, 3, 3, 3, 4)
        nisa.memset(tile[:, 0:2, 0:2, 0:2, 0:2, 0:2], value=0)
    rejects(body, "a view of 'sbuf_0' with 5 strides, but an access in sbuf has at most 4")
