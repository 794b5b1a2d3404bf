# SPDX-License-Identifier: Apache-2.0
# Views that a tensor does not have.
"""Each way of making a view is given what it does not take, and its message is read."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import tensor
from kernels import nisa, nki, nl
from legality_helpers import Body, rejects, sbuf
from trnsim.frontend import IllegalInstruction, UserError, trace


def index(*shape: int) -> Any:
    return sbuf(*shape, dtype=nl.uint32)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: sbuf(128, 64).select(2, 0), "has 2 dimensions, but dimension 2 is named"),
    (lambda h: sbuf(128, 64).select(0, index(1, 1)),
     "is selected dynamically in its partitions, which is not possible"),
    (lambda h: sbuf(128, 64).ap([[64, 128], [1, 64]], scalar_offset=nisa.register_alloc(1),
                                indirect_dim=0),
     "is selected dynamically in its partitions, which is not possible"),
    (lambda h: h.vector_select(1, index(128, 1)),
     "is selected by a vector, which takes dimension 0 of a tensor in hbm"),
    (lambda h: sbuf(128, 64).vector_select(0, index(128, 1)), "takes dimension 0 of a tensor in"),
    (lambda h: h.vector_select(0, index(128, 1)).vector_select(0, index(128, 1)),
     "is selected dynamically twice, which is not possible; flatten the dimensions and select"),
    (lambda h: sbuf(128, 8, 8).permute((1, 0, 2)),
     r"is permuted by \(1, 0, 2\), which must be a permutation of its 3 dimensions that leaves"),
    (lambda h: sbuf(128, 8, 8).permute((0, 1, 1)), r"is permuted by \(0, 1, 1\), which must be"),
    (lambda h: sbuf(128, 8, 8).broadcast(1, 4),
     "is broadcast in dimension 1, which has size 8, not 1"),
    (lambda h: sbuf(1, 8).broadcast(0, 4), "is broadcast in dimension 0, the partitions"),
    (lambda h: sbuf(128, 2).broadcast_to((128, 4)),
     r"has shape \[128, 2\], which does not broadcast to \[128, 4\]; equal ranks and sizes 1 do"),
    (lambda h: sbuf(128, 1).broadcast_to((128, 4, 4)), "equal ranks and sizes 1 do"),
    (lambda h: sbuf(1, 4).broadcast_to((128, 4)),
     "is broadcast over partitions, which takes an instruction; use nl.broadcast_to"),
    (lambda h: sbuf(128, 4).expand_dim(0), "is expanded at dimension 0, which is not possible"),
    (lambda h: sbuf(128, 4).expand_dim(3), "is expanded at dimension 3, which is not possible"),
    (lambda h: sbuf(128, 4).squeeze_dim(1), "is squeezed in dimension 1, which has size 4, not 1"),
    (lambda h: sbuf(1, 4).squeeze_dim(0), "is squeezed in dimension 0, the partitions"),
    (lambda h: sbuf(128, 64).rearrange(("p", "a", "b"), ("p", ("a", "b"))),
     "has 2 dimensions, but the pattern names 3"),
    (lambda h: sbuf(128, 64).rearrange(("p", ("a", "b")), ("p", "a"), {"a": 8}),
     r"is rearranged from \['p', 'a', 'b'\] to \['p', 'a'\], which must be the same names"),
    (lambda h: h.ap([[64, 128], [1, 64]], scalar_offset=index(1, 1), vector_offset=index(128, 1)),
     "has both a scalar_offset and a vector_offset; use one of them"),
    (lambda h: h.ap([[64, 128], [1, 64]], vector_offset=3),
     "is indexed by 3, but takes a tensor or a register"),
    (lambda h: h.ap([[64, 128], [1, 64]], vector_offset=sbuf(128, 1)),
     "float32, but an index is an integer; copy it into an int32 or uint32"),
])
def test_a_view_that_a_tensor_does_not_have_is_an_error(body: Body, message: str) -> None:
    rejects(body, message)


@pytest.mark.parametrize(("body", "message"), [
    (lambda h: sbuf(128, 8, 8).indirect(index(128, 2)),
     "is accessed indirectly, but only tensors in sbuf or psum with one free dimension are"),
    (lambda h: h.indirect(index(128, 2)), "but only tensors in sbuf or psum with one free"),
    (lambda h: sbuf(128, 64).indirect(index(64, 2)), "the index has as many partitions"),
    (lambda h: sbuf(128, 64).indirect(3), "is accessed by 3, but the index has as many partitions"),
    (lambda h: sbuf(128, 64).indirect(index(128, 2), 300), "is accessed by 300 of 256 indices"),
])
def test_columns_by_index_are_those_of_a_plain_tile(body: Body, message: str) -> None:
    rejects(body, message, "trn3")


def test_a_launch_grid_is_of_integers() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        nl.load(x[0:128])
    with pytest.raises(UserError, match="a launch grid contains 'two', but takes integers"):
        kernel["two"]


def test_cores_meet_over_a_tensor() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        nisa.core_barrier(3, (0, 1))
    with pytest.raises(IllegalInstruction, match="core_barrier: data is 3, but must be a tensor"):
        trace(kernel[2], [tensor("float32", 128, 4)])
