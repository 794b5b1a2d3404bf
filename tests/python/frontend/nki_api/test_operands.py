# SPDX-License-Identifier: Apache-2.0
# Tensors that an instruction reads are operands of the trace, so that something waits for them.
"""[P, 1] tensors in the places of numbers."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import tensor, traced
from trnsim.frontend import IllegalInstruction, trace
from trnsim.frontend.legality.parameter_names import called
from trnsim.frontend.nki import isa as nisa
from trnsim.frontend.nki import language as nl

def sbuf(*shape: int) -> Any:
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)


LOAD = nisa.reduce_cmd.load_reduce
CASES = [
    ("dropout", "operand0", "trn2", lambda t, one, p: nisa.dropout(t, t, p)),
    ("rand2", "operand0", "trn3", lambda t, one, p: nisa.rand2(t, p, 1.0)),
    ("rand2", "operand1", "trn3", lambda t, one, p: nisa.rand2(t, 0.0, p)),
    ("tensor_scalar_reduce", "initial", "trn2", lambda t, one, p: nisa.tensor_scalar_reduce(
        t, t, nl.add, 1.0, nl.add, one, reduce_cmd=LOAD, reduce_init=p)),
    ("tensor_scalar", "initial", "trn2", lambda t, one, p: nisa.tensor_scalar_reduce(
        t, t, nl.add, 1.0, nl.add, None, reduce_cmd=LOAD, reduce_init=p)),
    ("exponential", "initial", "trn3", lambda t, one, p: nisa.exponential(
        t, t, 0.0, one, LOAD, p)),
    ("activate2", "relu_param", "trn3", lambda t, one, p: nisa.activate2(
        t, nl.prelu, t, 1.0, 0.0, nl.multiply, nl.add, relu_param=p))]


@pytest.mark.parametrize(("op", "role", "chip", "call"), CASES)
def test_a_tensor_in_the_place_of_a_number_is_an_operand(op: str, role: str, chip: str,
                                                         call: Any) -> None:
    def kernel(x: Any) -> None:
        tile, parameter = sbuf(64, 32), sbuf(64, 1)
        nisa.dma_copy(parameter, x)
        nisa.memset(tile, 1.0)
        call(tile, sbuf(64, 1), parameter)
    (one,) = [each for each in traced(kernel, tensor("float32", 64, 1), chip=chip) if each.op == op]
    assert one.operand(role)[1] == "read"


@pytest.mark.parametrize("kind", [nl.int32, nl.uint8, nl.bfloat16])
def test_a_scale_is_a_float32(kind: Any) -> None:
    def kernel(x: Any) -> None:
        scale = nl.ndarray((64, 1), dtype=kind, buffer=nl.sbuf)
        nisa.activation(sbuf(64, 32), nl.copy, sbuf(64, 32), scale=scale)
    with pytest.raises(IllegalInstruction, match=rf": activation: scale is {kind}, but one value "
                       "per partition is a float32; convert it"):
        trace(kernel, [tensor("float32", 64, 1)], "trn2", api="nki")


def test_a_reciprocal_of_the_second_generation_has_no_bias() -> None:
    def kernel(x: Any) -> None:
        nisa.activation(sbuf(64, 32), nl.reciprocal, sbuf(64, 32), bias=sbuf(64, 1))
    with pytest.raises(IllegalInstruction, match="activation: bias is a tensor, but the Scalar "
                       "Engine of NeuronCore-v2 takes none"):
        trace(kernel, [tensor("float32", 64, 1)], "trn1", api="nki")
    trace(kernel, [tensor("float32", 64, 1)], "trn2", api="nki")


def test_random_numbers_lie_between_different_bounds() -> None:
    with pytest.raises(IllegalInstruction, match="rand2: min is 1.0 and max is 0.0"):
        trace(lambda x: nisa.rand2(sbuf(64, 32), 1.0, 0.0), [tensor("float32", 64, 1)], "trn3",
              api="nki")


def test_the_offset_of_iota_is_an_int32() -> None:
    def kernel(x: Any) -> None:
        nisa.iota(nl.ndarray((64, 4), dtype=nl.int32, buffer=nl.sbuf), [[1, 4]], offset=2**31)
    with pytest.raises(IllegalInstruction, match="iota: offset is 2147483648, but it is an int32"):
        trace(kernel, [tensor("float32", 64, 1)], "trn2", api="nki")


@pytest.mark.parametrize(("kind", "how", "message"), [
    (nl.float32, {"vector_offset": True, "indirect_dim": 0}, "but an index is an integer"),
    (nl.float32, {"scalar_offset": True, "indirect_dim": 0}, "but an index is an integer"),
    (nl.int32, {"vector_offset": True, "indirect_dim": 1},
     "one index per partition counts along dimension 0")])
def test_what_selects_rows_is_an_integer_and_counts_rows(kind: Any, how: Any,
                                                         message: str) -> None:
    def kernel(x: Any) -> None:
        index = nl.ndarray((64, 1), dtype=kind, buffer=nl.sbuf)
        words = {key: index if value is True else value for key, value in how.items()}
        nisa.dma_copy(sbuf(64, 64), x.ap([[64, 64], [1, 64]], **words))
    with pytest.raises(IllegalInstruction, match=message):
        trace(kernel, [tensor("float32", 128, 64)], "trn2", api="nki")


@pytest.mark.parametrize(("op", "role", "chip", "call"), CASES)
def test_it_has_one_value_per_partition(op: str, role: str, chip: str, call: Any) -> None:
    with pytest.raises(IllegalInstruction, match=rf"test_operands.py:\d+: {op}: {called(op, role)} "):
        trace(lambda x: call(sbuf(64, 32), sbuf(64, 1), x), [tensor("float32", 64, 1)], chip,
              api="nki")
