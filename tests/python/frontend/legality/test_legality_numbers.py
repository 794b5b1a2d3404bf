# SPDX-License-Identifier: Apache-2.0
# What stands in the place of a number or of a tensor with one value per partition.
"""Neither a number nor a tensor is refused by every instruction, and None where it is no default."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels import nisa, nl
from legality_helpers import Body, accepts, rejects, sbuf

EITHER = "but must be a number or a tensor with one value per partition"


def tile(kind: Any = nl.float32) -> Any:
    return sbuf(64, 32, dtype=kind)


def column() -> Any:
    return sbuf(64, 1)


def activated(**more: Any) -> Any:
    return nisa.activation(tile(), nl.exp, tile(), **more)


def scanned(initial: Any) -> Any:
    return nisa.tensor_tensor_scan(tile(), tile(), tile(), initial, nl.multiply, nl.add)


def second(imm0: Any, imm1: Any, op0: Any = nl.multiply, op1: Any = nl.add, **more: Any) -> Any:
    return nisa.activate2(tile(), nl.exp, tile(), imm0, imm1, op0, op1, **more)


def accumulated(imm0: Any, imm1: Any = None) -> Any:
    return nisa.tensor_scalar_cumulative(tile(), tile(), nl.add, nl.add, imm0, imm1)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: activated(scale=np.ones(64)),
     rf"activation: scale is an array of shape \[64\], {EITHER}; make it an argument of the kernel"),
    (lambda h: activated(scale=None), f"activation: scale is None, {EITHER}"),
    (lambda h: activated(bias="two"), f"activation: bias is 'two', {EITHER}"),
    (lambda h: activated(reduce_res=1.0), "reduce_res is 1.0, but must be a tensor"),
    (lambda h: nisa.activation_reduce(tile(), nl.exp, tile(), nl.add, None, np.ones((64, 1))),
     rf"activation_reduce: bias is an array of shape \[64, 1\], {EITHER}"),
    (lambda h: nisa.activation_reduce(tile(), nl.exp, tile(), nl.add, column(), scale="2"),
     f"activation_reduce: scale is '2', {EITHER}"),
    (lambda h: scanned(None), f"tensor_tensor_scan: initial is None, {EITHER}"),
    (lambda h: scanned([0.0]), rf"tensor_tensor_scan: initial is \[0.0\], {EITHER}"),
    (lambda h: nisa.select_reduce(tile(), tile(nl.uint8), tile(), None),
     f"select_reduce: on_false is None, {EITHER}"),
    (lambda h: nisa.tensor_copy_predicated(tile(), None, tile(nl.uint8)),
     f"tensor_copy_predicated: src is None, {EITHER}"),
    (lambda h: accumulated("1"), f"tensor_scalar_cumulative: imm0 is '1', {EITHER}"),
    (lambda h: accumulated(None), "imm0 is None, but add takes two operands; give a number"),
    (lambda h: accumulated(1.0, "1"), f"tensor_scalar_cumulative: imm1 is '1', {EITHER}"),
    (lambda h: nisa.tensor_scalar_reduce(tile(), tile(), nl.add, 1.0, nl.add, column(),
                                         reduce_cmd=nisa.reduce_cmd.load_reduce, reduce_init="0"),
     f"tensor_scalar_reduce: reduce_init is '0', {EITHER}"),
    (lambda h: nisa.dropout(tile(), tile(), None), f"dropout: prob is None, {EITHER}"),
    (lambda h: nl.dropout(tile(), "half"), f"dropout: prob is 'half', {EITHER}"),
])
def test_an_operand_is_a_number_or_a_tensor(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.exponential(tile(), tile(), "a"), f"exponential: max_value is 'a', {EITHER}"),
    (lambda h: nisa.exponential(tile(), tile(), reduce_init=None),
     f"exponential: reduce_init is None, {EITHER}"),
    (lambda h: nisa.rand2(tile(), None, 1.0), f"rand2: min is None, {EITHER}"),
    (lambda h: nisa.rand2(tile(), 0.0, "1"), f"rand2: max is '1', {EITHER}"),
    (lambda h: second("1", 1.0), f"activate2: imm0 is '1', {EITHER}"),
    (lambda h: second(1.0, None), "activate2: imm1 is None, but add takes two operands"),
    (lambda h: second(1.0, 1.0, relu_param=None), f"activate2: relu_param is None, {EITHER}"),
])
def test_so_is_one_of_the_newest_instructions(body: Body, message: str) -> None:
    rejects(body, message, "trn3")


@pytest.mark.parametrize("body", [
    lambda h: activated(bias=None, scale=2), lambda h: activated(scale=np.float32(2.0)),
    lambda h: activated(bias=True), lambda h: activated(bias=column(), scale=column()),
    lambda h: scanned(0), lambda h: scanned(column()),
    lambda h: accumulated(1.0, None), lambda h: accumulated(np.ones(())),
])
def test_numbers_are_those_of_python_and_of_numpy(body: Body) -> None:
    assert accepts(body)


@pytest.mark.parametrize("body", [
    lambda h: second(None, None, None, None), lambda h: second(1.0, None, nl.multiply, None),
    lambda h: nisa.exponential(tile(), tile(), 0),
])
def test_an_operator_that_is_not_given_takes_no_number(body: Body) -> None:
    assert accepts(body, "trn3")


def bits(operand0: Any, op0: Any = nl.bitwise_and, op1: Any = None, operand1: Any = None) -> Any:
    return nisa.tensor_scalar(tile(nl.int32), tile(nl.int32), op0, operand0, False, op1, operand1)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: bits(3.5), "tensor_scalar: operand0 is 3.5, but bitwise_and works on the bits of "
                          "integers; write an integer"),
    (lambda h: bits(np.float32(2.0), nl.left_shift), "operand0 is .*2.0.*, but left_shift works on"),
    (lambda h: bits(1, nl.left_shift, nl.bitwise_or, 0.5), "operand1 is 0.5, but bitwise_or works"),
    (lambda h: nl.bitwise_xor(tile(nl.int32), 1.5), "bitwise_xor: an operand is 1.5, but bitwise_x"),
])
def test_bits_are_combined_with_integers(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize("body", [
    lambda h: bits(3), lambda h: bits(np.int32(3)), lambda h: bits(None, nl.invert),
    lambda h: bits(True), lambda h: bits(1, nl.left_shift, nl.bitwise_or, 7)])
def test_integers_are_combined_bit_by_bit(body: Body) -> None:
    assert accepts(body) == ["tensor_scalar"]


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: nisa.tensor_scalar(tile(nl.int32), tile(nl.uint8), nl.bitwise_and, 1),
     "data is uint8 and dst is int32, but bitwise_and converts nothing and takes integers of one "
     "size; convert it with nisa.tensor_copy"),
    (lambda h: nisa.tensor_tensor(tile(nl.int16), tile(nl.int16), tile(nl.int32), nl.bitwise_or),
     "data2 is int32 and dst is int16, but bitwise_or converts nothing"),
    (lambda h: nisa.tensor_reduce(sbuf(64, 1, dtype=nl.int32), nl.bitwise_or, tile(nl.int8), 1),
     "data is int8 and dst is int32, but bitwise_or converts nothing"),
])
def test_the_bits_of_integers_of_different_sizes_are_not_combined(body: Body,
                                                                 message: str) -> None:
    rejects(body, message)


def test_a_sign_does_not_matter_to_bits() -> None:
    assert accepts(lambda h: nisa.tensor_tensor(tile(nl.uint32), tile(nl.int32), tile(nl.uint32),
                                                nl.bitwise_or)) == ["tensor_tensor"]
