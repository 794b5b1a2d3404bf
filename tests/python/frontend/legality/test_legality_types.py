# SPDX-License-Identifier: Apache-2.0
# Tests of the types, operators and dimensions that single instructions take.
"""Types of vectors, indices and results, operators of two operands, and what a reduction loads."""

from __future__ import annotations

from typing import Any

import pytest
from kernels import nisa, nl
from legality_helpers import Body, accepts, rejects, sbuf

COMMANDS = nisa.reduce_cmd


def combined(op: Any, dtype: Any = nl.float32) -> Body:
    return lambda h: nisa.tensor_tensor(sbuf(64, 32, dtype=dtype), sbuf(64, 32, dtype=dtype),
                                        sbuf(64, 32, dtype=dtype), op)


@pytest.mark.parametrize("op", [nl.abs, nl.square, nl.relu, nl.rsqrt, nl.reciprocal])
def test_two_tensors_are_not_combined_by_an_operator_of_one(op: Any) -> None:
    rejects(combined(op), f"tensor_tensor: op is {op.operator_name}, but must be an operator of "
                          "two operands; use tensor_scalar or activation for one")


def test_two_tensors_are_not_combined_by_inverting_one() -> None:
    rejects(combined(nl.invert, nl.int32), "tensor_tensor: op is invert, but must be an operator")


@pytest.mark.parametrize(("op", "instead"), [
    (nl.divide, "divide is not a math operator of NKI; multiply by what nisa.reciprocal returns"),
    (nl.logical_not, "logical_not is not a math operator of NKI; compare with 0 by equal"),
    (nl.negative, "negative is not a math operator of NKI; multiply by -1"),
    (nl.sqrt, "sqrt is not a math operator of NKI; use nisa.activation"),
    (nl.sign, "sign is not a math operator of NKI; use nisa.activation"),
    (nl.mod, "mod is not a math operator of NKI; use one of abs, abs_max, abs_min, add, bitwise_"),
    (nl.fmod, "fmod is not a math operator of NKI; use one of abs,"),
    (nl.average, "op='average' is not a math operator of NKI; use one of abs,"),
    (nl.bypass, "op='bypass' is not a math operator of NKI; use one of abs,")])
def test_operators_that_the_table_does_not_have_are_refused(op: Any, instead: str) -> None:
    rejects(combined(op), instead)
    rejects(scaled(op, nl.float32), instead.removeprefix("op="))


def test_average_is_for_reducing_partitions() -> None:
    assert accepts(lambda h: nisa.tensor_partition_reduce(
        sbuf(1, 32), nl.average, sbuf(64, 32))) == ["tensor_partition_reduce"]


@pytest.mark.parametrize("op", [nl.add, nl.power, nl.equal, nl.logical_xor])
def test_two_tensors_are_combined_by_operators_of_two(op: Any) -> None:
    assert accepts(combined(op)) == ["tensor_tensor"]


@pytest.mark.parametrize("op", [nl.bitwise_and, nl.bitwise_xor, nl.left_shift, nl.right_shift])
def test_the_bits_of_two_tensors_are_combined(op: Any) -> None:
    assert accepts(combined(op, nl.int32)) == ["tensor_tensor"]


def scaled(op0: Any, operand0: Any, dtype: Any = nl.float32, **more: Any) -> Body:
    """A tensor_scalar of one type, by a column of another."""
    def body(h: Any) -> None:
        given = {name: sbuf(64, 1, dtype=one) for name, one in more.items() if name == "operand1"}
        nisa.tensor_scalar(sbuf(64, 32, dtype=dtype), sbuf(64, 32, dtype=dtype), op0,
                           sbuf(64, 1, dtype=operand0), **{**more, **given})
    return body


@pytest.mark.parametrize(("body", "message"), [
    (scaled(nl.add, nl.int32), "operand0 is int32, but one value per partition is a float32"),
    (scaled(nl.multiply, nl.uint8, nl.bfloat16), "operand0 is uint8, but one value"),
    (scaled(nl.add, nl.int16, nl.int16), "operand0 is int16, but one value"),
    (scaled(nl.multiply, nl.int32, nl.int32),
     "operand0 is int32, but one value per partition is a float32, unless int32 and uint32 alone are "
     "added or subtracted; convert it"),
    (scaled(nl.less, nl.uint32, nl.int32), "operand0 is uint32, but one value per partition is a"),
    (scaled(nl.add, nl.int32, nl.int32, op1=nl.maximum, operand1=nl.float32), "operand0 is int32, but"),
    (scaled(nl.bitwise_and, nl.bfloat16, nl.int32), "operand0 is bfloat16, but one value"),
    (scaled(nl.add, nl.float32, op1=nl.multiply, operand1=nl.uint32), "operand1 is uint32, but"),
    (lambda h: nisa.tensor_scalar_reduce(
        sbuf(64, 32), sbuf(64, 32), nl.add, sbuf(64, 1, dtype=nl.int32), nl.add, sbuf(64, 1)),
     "operand0 is int32, but one value per partition is a float32"),
    (lambda h: nisa.tensor_scalar_cumulative(sbuf(64, 32), sbuf(64, 32), nl.add, nl.add,
                                             sbuf(64, 1, dtype=nl.int32)),
     "tensor_scalar_cumulative: imm0 is int32, but one value per partition is a float32"),
])
def test_arithmetic_takes_a_float32_per_partition(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize("body", [
    scaled(nl.add, nl.float32, nl.int32), scaled(nl.bitwise_and, nl.int32, nl.int32),
    scaled(nl.left_shift, nl.uint8, nl.uint8), scaled(nl.add, nl.int32, nl.int32),
    scaled(nl.subtract, nl.uint32, nl.int32),
    scaled(nl.add, nl.int32, nl.int32, op1=nl.subtract, operand1=nl.int32)])
def test_bits_and_addresses_take_an_integer_per_partition(body: Body) -> None:
    assert accepts(body) == ["tensor_scalar"]


def reduced(**more: Any) -> Body:
    return lambda h: nisa.tensor_scalar_reduce(sbuf(64, 32), sbuf(64, 32), nl.subtract, 1.0, nl.add,
                                               **{"reduce_res": sbuf(64, 1), **more})


@pytest.mark.parametrize(("body", "message"), [
    (reduced(reverse0=True), "reverse0 is True, which NKI does not support yet; use tensor_scalar"),
    (reduced(reverse0=True, reduce_res=None), "tensor_scalar_reduce: reverse0 is True"),
    (reduced(reduce_init=1.0),
     "reduce_init is 1.0, but reduce_cmd is reset_reduce, and only load_reduce loads it"),
    (reduced(reduce_init=0.0, reduce_cmd=COMMANDS.reduce), "reduce_init is 0.0, but reduce_cmd is"),
    (lambda h: reduced(reduce_init=sbuf(64, 1))(h), "reduce_init is 'sbuf_0', but reduce_cmd is"),
    (lambda h: reduced(reduce_init=sbuf(64, 1, dtype=nl.bfloat16),
                       reduce_cmd=COMMANDS.load_reduce)(h), "reduce_init is bfloat16, but must be"),
])
def test_a_reduction_of_a_tensor_scalar_is_refused(body: Body, message: str) -> None:
    rejects(body, message)


def test_a_reduction_of_a_tensor_scalar_begins_with_a_float32() -> None:
    def body(h: Any) -> None:
        reduced(reduce_init=sbuf(64, 1), reduce_cmd=COMMANDS.load_reduce)(h)
    assert accepts(body) == ["tensor_scalar_reduce"]


def counted(dst: Any = nl.int32, src: Any = nl.float32, **more: Any) -> Body:
    return lambda h: nisa.nonzero_with_count(sbuf(64, 33, dtype=dst), sbuf(64, 32, dtype=src),
                                             **more)


def bounded(dst: Any = nl.int32, ids: Any = nl.int32) -> Body:
    return lambda h: nisa.sequence_bounds(sbuf(1, 2, 32, dtype=dst), sbuf(1, 32, dtype=ids))


@pytest.mark.parametrize(("body", "message"), [
    (counted(nl.uint32), "nonzero_with_count: dst is uint32, but indices and their number are int"),
    (counted(nl.float32), "dst is float32, but indices"),
    (counted(src=nl.bfloat16), "src is bfloat16, but must be float32 or int32; convert"),
    (counted(src=nl.uint8), "src is uint8, but must be"),
    (counted(index_offset=1.5), "index_offset is 1.5, but it is an int32; write an integer"),
    (counted(padding_val=2**31), "padding_val is 2147483648, but it is an int32; take one from"),
    (bounded(nl.bfloat16), "sequence_bounds: dst is bfloat16, but must be float32 or int32"),
    (bounded(ids=nl.uint32), "segment_ids is uint32, but must be float32 or int32"),
])
def test_what_gpsimd_searches_and_finds_has_32_bits_and_a_sign(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize("body", [
    counted(), counted(src=nl.int32, index_offset=2**31 - 1, padding_val=-2**31), bounded(),
    bounded(nl.float32), bounded(nl.float32, nl.float32)])
def test_what_gpsimd_searches_and_finds_is_taken(body: Body) -> None:
    assert len(accepts(body)) == 1


def largest(dst: tuple[int, ...], src: tuple[int, ...]) -> Body:
    return lambda h: nisa.max8(sbuf(*dst), sbuf(*src))


def test_the_eight_largest_are_of_at_most_four_free_dimensions() -> None:
    accepts(largest((64, 8), (64, 2, 2, 2, 4)))
    accepts(largest((64, 2, 4), (64, 2, 16)))
    rejects(largest((64, 8), (64, 2, 2, 2, 2, 4)),
            r"max8: src has shape \[64, 2, 2, 2, 2, 4\], 6 dimensions, but at most 5 are allowed")
    rejects(largest((64, 2, 2, 2), (64, 32)), r"max8: dst has shape \[64, 2, 2, 2\], 4 dimensions")


def selected(result: Any) -> Body:
    return lambda h: nisa.select_reduce(sbuf(64, 32), sbuf(64, 32, dtype=nl.uint8), sbuf(64, 32),
                                        0.0, sbuf(64, 1, dtype=result))


def test_the_maximum_of_what_is_selected_is_a_float() -> None:
    for kind in (nl.float32, nl.bfloat16):
        accepts(selected(kind))
    rejects(selected(nl.int32), "reduce_res is int32, but the maximum is a float; declare it so")


def exponentiated(dst: Any = nl.float32, src: Any = nl.float32, **more: Any) -> Body:
    def body(h: Any) -> None:
        given = {name: sbuf(64, 1, dtype=kind) for name, kind in more.items()}
        command = COMMANDS.load_reduce if "reduce_init" in more else COMMANDS.reset_reduce
        nisa.exponential(sbuf(64, 32, dtype=dst), sbuf(64, 32, dtype=src), reduce_cmd=command,
                         **given)
    return body


@pytest.mark.parametrize(("body", "message"), [
    (exponentiated(nl.uint32), "dst is uint32, but must be one of float32, bfloat16, float16"),
    (exponentiated(src=nl.tfloat32), "src is tfloat32, but must be one of"),
    (exponentiated(nl.float8_e4m3fn), "dst is float8_e4m3fn, but must be one of"),
    (exponentiated(max_value=nl.bfloat16), "max_value is bfloat16, but must be one of float32"),
    (exponentiated(reduce_init=nl.int32), "reduce_init is int32, but must be one of float32"),
    (exponentiated(reduce_res=nl.int32), "reduce_res is int32, but must be one of"),
])
def test_an_exponential_has_documented_types(body: Body, message: str) -> None:
    rejects(body, f"exponential: {message}", "trn3")


@pytest.mark.parametrize("body", [
    exponentiated(nl.tfloat32, nl.uint32), exponentiated(nl.uint8, nl.float8_e5m2),
    exponentiated(max_value=nl.float32, reduce_init=nl.float32, reduce_res=nl.bfloat16)])
def test_an_exponential_is_taken(body: Body) -> None:
    assert accepts(body, "trn3") == ["exponential"]
