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
