# SPDX-License-Identifier: Apache-2.0
# Tensors that an instruction reads are operands of the trace, so that something waits for them.
"""[P, 1] tensors in the places of numbers."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import tensor, traced
from trnsim.frontend import IllegalInstruction, trace
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


@pytest.mark.parametrize(("op", "role", "chip", "call"), CASES)
def test_it_has_one_value_per_partition(op: str, role: str, chip: str, call: Any) -> None:
    with pytest.raises(IllegalInstruction, match=rf"test_operands.py:\d+: {op}: {role} "):
        trace(lambda x: call(sbuf(64, 32), sbuf(64, 1), x), [tensor("float32", 64, 1)], chip,
              api="nki")
