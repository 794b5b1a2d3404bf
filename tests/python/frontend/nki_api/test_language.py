# SPDX-License-Identifier: Apache-2.0
# Tests of nki.language: what each function comes to.
"""Functions of nki.language are recorded as the instructions that compute them."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
from helpers import ops, program, tensor, traced
from kernels import nisa, nki, nl
from trace_expander import parse
from trnsim.frontend import IllegalInstruction, UnsupportedFeature, trace
from trnsim.frontend.nki.stubs import unsupported

X = tensor("float32", 128, 64)


def lowering(body: Any, chip: str = "trn2") -> list[str]:
    """The operations that body(tile, vector, another tile) records."""
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        vector = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        body(tile, vector, nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf))
    return ops(traced(kernel, X, chip=chip))


@pytest.mark.parametrize(("body", "expected"), [
    (lambda t, v, u: nl.add(t, u), ["tensor_tensor"]),
    (lambda t, v, u: nl.add(t, 1.0), ["tensor_scalar"]),
    (lambda t, v, u: nl.subtract(1.0, t), ["tensor_scalar"]),
    (lambda t, v, u: nl.multiply(t, v), ["tensor_scalar"]),
    (lambda t, v, u: nl.multiply(v, t), ["tensor_scalar"]),
    (lambda t, v, u: nl.add(t, t[:, 0:1]), ["tensor_scalar"]),
    (lambda t, v, u: nl.exp(t), ["activation"]),
    (lambda t, v, u: nl.rsqrt(t), ["tensor_scalar"]),
    (lambda t, v, u: nl.reciprocal(t), ["reciprocal"]),
    (lambda t, v, u: nl.copy(t, nl.bfloat16), ["tensor_copy"]),
    (lambda t, v, u: nl.negative(t), ["tensor_scalar"]),
    (lambda t, v, u: nl.abs(t), ["tensor_scalar"]),
    (lambda t, v, u: nl.sin(t), ["tensor_scalar", "activation"]),
    (lambda t, v, u: nl.cos(t), ["tensor_scalar", "activation"]),
    (lambda t, v, u: nl.floor(t), ["scalar_tensor_tensor"]),
    (lambda t, v, u: nl.sum(t, axis=1), ["tensor_reduce"]),
    (lambda t, v, u: nl.max(t, axis=[1]), ["tensor_reduce"]),
    (lambda t, v, u: nl.mean(t, axis=1), ["tensor_reduce", "tensor_scalar"]),
    (lambda t, v, u: nl.var(t, axis=1), ["bn_stats", "bn_aggr", "tensor_copy"]),
    (lambda t, v, u: nl.softmax(t), ["tensor_reduce", "activation_reduce", "reciprocal",
                                     "tensor_scalar"]),
    (lambda t, v, u: nl.rms_norm(t, u, axis=1, n=64),
     ["activation_reduce", "tensor_scalar", "activation", "tensor_scalar", "tensor_tensor"]),
    (lambda t, v, u: nl.transpose(t), ["nc_transpose"]),
    (lambda t, v, u: nl.matmul(u, u, transpose_x=True), ["nc_matmul"]),
    (lambda t, v, u: nl.matmul(t[0:64], nl.zeros((64, 512), nl.float32)),
     ["memset", "nc_transpose", "tensor_copy", "nc_matmul"]),
    (lambda t, v, u: nl.where(nl.greater(t, 0.0), t, 0.0),
     ["tensor_scalar", "tensor_copy", "memset", "tensor_copy_predicated"]),
    (lambda t, v, u: nl.broadcast_to(v, (128, 64)), ["tensor_copy"]),
    (lambda t, v, u: nl.broadcast_to(t[0:1], (128, 64)), ["memset", "nc_matmul", "tensor_copy"]),
    (lambda t, v, u: nl.add(t, t[0:1]), ["memset", "nc_matmul", "tensor_copy", "tensor_tensor"]),
    (lambda t, v, u: nl.add(v, t[0:1, 0:1]),
     ["memset", "nc_matmul", "tensor_copy", "tensor_tensor"]),
    (lambda t, v, u: nl.zeros((128, 4), nl.float32, buffer=nl.sbuf), ["memset"]),
    (lambda t, v, u: nl.ones((256, 64), nl.float32, buffer=nl.shared_hbm),
     ["memset", "dma_copy", "dma_copy"]),
    (lambda t, v, u: nl.shared_identity_matrix(128, nl.float32), ["dma_copy"]),
    (lambda t, v, u: nl.dropout(t, 0.5), ["dropout"]),
    (lambda t, v, u: nl.expand_dims(t, 1), []),
    (lambda t, v, u: nl.ndarray((128, 4), nl.float32).__setitem__((slice(None), 0), 1.0),
     ["memset"]),
])
def test_a_function_is_recorded_as(body: Any, expected: list[str]) -> None:
    assert lowering(body) == expected


def test_rsqrt_is_exact_and_slow_on_gpsimd_which_cannot_read_psum() -> None:
    def kernel(x: Any) -> None:
        nl.rsqrt(nl.load(x), nl.bfloat16)
    last = traced(nki.jit(kernel), X)[-1]
    assert last.op == "tensor_scalar" and last.engines == ("gpsimd",)

    with pytest.raises(IllegalInstruction, match="rsqrt: psum float32.* use nisa.activation"):
        lowering(lambda t, v, u: nl.rsqrt(nl.zeros((128, 64), nl.float32, buffer=nl.psum)))


def test_a_copy_is_the_scalar_engines_which_activates_on_trn1() -> None:
    def kernel(x: Any) -> None:
        nl.copy(nl.load(x), nl.bfloat16)
    last = traced(nki.jit(kernel), X)[-1]
    assert last.op == "tensor_copy" and last.engines == ("scalar",)
    assert lowering(lambda t, v, u: nl.copy(t), "trn1") == ["activation"]


def test_a_variance_over_a_long_row_takes_several_statistics() -> None:
    def kernel(x: Any) -> None:
        nl.var(nl.load(x), axis=1)
        nl.var(nl.load(x.reshape((128, 2, 600))), axis=[1, 2])
    executed = [one for one in traced(nki.jit(kernel), tensor("float32", 128, 1200))
                if one.op != "dma_copy"]
    assert ops(executed) == 2 * ["bn_stats", "bn_stats", "bn_stats", "bn_aggr", "tensor_copy"]


def test_broadcasts_over_partitions_share_a_row_of_ones_that_no_loop_writes() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        for i in nl.affine_range(6):
            row = nl.load(x[i:i + 1, :])
            nl.broadcast_to(row, (128, 64))
            nl.broadcast_to(row, (64, 64))
            nl.broadcast_to(nl.copy(row, nl.bfloat16), (128, 64))
    executed = traced(kernel, X)
    assert ops(executed)[:3] == 3 * ["memset"], "128 and 64 of float32, 128 of bfloat16"
    assert ops(executed).count("memset") == 3
    products = [one for one in executed if one.op == "nc_matmul"]
    assert len(products) == 18
    assert {json.loads(dict(one.attributes)["onezero"]) for one in products} == {"stationary"}


def test_two_operands_in_psum_are_not_read_at_once() -> None:
    def body(t: Any, v: Any, u: Any) -> None:
        one = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
        nl.add(one, one)
        nl.floor(one)
    assert lowering(body) == ["tensor_copy", "tensor_tensor", "tensor_copy", "scalar_tensor_tensor"]


def test_a_choice_has_the_type_of_what_is_chosen() -> None:
    def body(t: Any, v: Any, u: Any) -> None:
        half, full = nl.copy(u, nl.bfloat16), nl.copy(u, nl.float32)
        assert nl.where(nl.greater(full, 0.0), half, half).dtype is nl.bfloat16
        assert nl.where(nl.greater(half, 0.0), full, half).dtype is nl.float32
        assert nl.where(nl.greater(half, 0.0), 1.0, 0.0).dtype is nl.bfloat16, "there is no other"
    lowering(body)


def test_what_leaves_psum_is_cast_by_the_copy() -> None:
    """The tile on the way has the type of the destination."""
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros(x.shape, nl.float32, buffer=nl.psum))
        return out
    found = parse(trace(kernel, [X], api="nki").lines())
    assert [one["dtype"] for one in found.buffers.values() if one["name"] == "evicted"] == ["bfloat16"]


def test_a_store_from_psum_goes_through_sbuf() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        bank = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.psum)
        nl.store(out, bank)
        return out
    assert ops(traced(kernel, X)) == ["tensor_copy", "dma_copy"]


def test_a_load_has_the_shape_and_type_asked_for() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        assert nl.load(x[0:64, 0:8], dtype=nl.bfloat16).shape == (64, 8)
        assert nl.load(x[0:64, 0:8], dtype=nl.bfloat16).dtype == nl.bfloat16
        assert nl.load(x[0]).shape == (64, 1)
    assert ops(traced(kernel, X)) == ["dma_copy"] * 3


def test_result_types_are_the_widest_of_the_operands() -> None:
    def body(t: Any, v: Any, u: Any) -> None:
        half = nl.copy(u, nl.float16)
        assert nl.add(t, u).dtype == nl.float32
        assert nl.add(u, u).dtype == nl.bfloat16
        assert nl.add(u, half).dtype == nl.float32
        assert nl.add(u, nl.copy(u, nl.int32)).dtype == nl.bfloat16
        assert nl.add(t, u, dtype=nl.float16).dtype == nl.float16
        columns = [nl.copy(one[:, 0:1]) for one in (t, u)]
        for wide, narrow in ((t, columns[1]), (u, columns[0]), (u, columns[1])):
            expected = nl.bfloat16 if narrow is columns[1] and wide is u else nl.float32
            assert nl.add(wide, narrow).dtype == nl.add(narrow, wide).dtype == expected
        assert nl.add(u, columns[0], dtype=nl.bfloat16).dtype == nl.add(u, 2.0).dtype == nl.bfloat16
    lowering(body)


def test_shapes_that_do_not_broadcast_are_an_error() -> None:
    with pytest.raises(IllegalInstruction, match=r"add: shapes \[128, 64\] and \[128, 32\] do not"):
        lowering(lambda t, v, u: nl.add(t, u[:, 0:32]))
    with pytest.raises(IllegalInstruction, match="must be a tile in sbuf or psum; load it first"):
        trace(nki.jit(lambda x: nl.exp(x)), [X])
    with pytest.raises(IllegalInstruction, match=r"an operand is 2.0, .*; compute with numbers in"):
        trace(nki.jit(lambda _x: nl.sqrt(2.0)), [X])


def test_tile_sizes_are_those_of_the_chip() -> None:
    def body(t: Any, v: Any, u: Any) -> None:
        size = nl.tile_size
        assert (size.pmax, size.gemm_stationary_fmax, size.gemm_moving_fmax) == (128, 128, 512)
        assert (size.psum_fmax, size.psum_num_banks, size.psum_bank_fmax_bytes) == (512, 8, 2048)
        assert size.sbuf_fmax == size.sbuf_fmax_bytes // 4
        assert (size.sbuf_min_align, size.psum_min_align) == (1, 4)
        found.append(size.sbuf_fmax_bytes // 1024)
        assert size.total_available_sbuf_size == size.sbuf_fmax_bytes
        found.append(size.sbuf_size_bytes // 128 // 1024)
        found.append(nisa.get_nc_version().value)
        assert nisa.get_nc_version() >= nisa.nc_version.gen2
    found: list[int] = []
    for chip in ("trn1", "trn2", "trn3"):
        lowering(body, chip)
    assert found == [176, 192, 2, 208, 224, 3, 240, 256, 4]


def test_regions_are_told_apart() -> None:
    def body(t: Any, v: Any, u: Any) -> None:
        assert t.buffer == nl.sbuf and nl.is_sbuf(t.buffer) and nl.is_on_chip(t.buffer)
        assert nl.hbm is nl.private_hbm and nl.is_hbm(nl.hbm)
        assert nl.is_hbm(nl.shared_hbm) and nl.is_hbm("private_hbm") and not nl.is_psum(nl.sbuf)
    lowering(body)


def test_ranges_are_ranges_outside_of_a_trace() -> None:
    numbers = nl.affine_range(2, 10, 3)
    assert list(numbers) == [2, 5, 8] and len(numbers) == 3 and numbers[1] == 5
    assert 5 in numbers and numbers == range(2, 10, 3) and isinstance(range(3), type(numbers))
    assert list(reversed(nl.static_range(4))) == [3, 2, 1, 0]


def test_an_object_gets_an_initializer_from_its_fields() -> None:
    class Config(nl.NKIObject):
        rows: int
        columns = 4

        def __post_init__(self) -> None:
            self.size = self.rows * self.columns
    assert Config(3).size == 12 and Config(rows=2, columns=5).size == 10
    assert Config(3) == Config(3) and Config(3) != Config(4)
    with pytest.raises(TypeError, match="has no field depth"):
        Config(depth=1)


def test_a_constant_is_a_buffer_of_its_own_kind() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        nl.load(nl.shared_constant(numpy.ones((128, 4), dtype=numpy.float32)))
    buffers = parse(program(kernel, X).lines()).buffers
    assert [one.get("kind") for one in buffers.values()] == ["input", None, "constant"]


def test_no_reorder_is_a_loop_of_one_iteration_that_keeps_its_order() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        with nl.no_reorder():
            nl.exp(tile)
            for _ in nl.affine_range(3):
                nl.sqrt(tile)
        nl.exp(tile)
        return x
    lines = [json.loads(line) for line in program(nki.jit(kernel), X).lines()]
    steps = [line for line in lines if line["record"] in ("loop", "end", "run")]
    assert [step["record"] for step in steps] == ["run", "loop", "run", "loop", "run", "end",
                                                  "end", "run"]
    assert [(step["count"], step.get("in_order", False))
            for step in steps if step["record"] == "loop"] == [(1, True), (3, False)]
    assert not parse(program(nki.jit(kernel), X).lines()).notes


def test_an_unsupported_function_is_named() -> None:
    function = unsupported("nki.language.yet_to_come")
    with pytest.raises(UnsupportedFeature, match="nki.language.yet_to_come is not part"):
        lowering(lambda t, v, u: function(t))


def test_par_dim_names_the_first_dimension_and_blocks_before_it_are_refused() -> None:
    lowering(lambda t, v, u: nl.ndarray((nl.par_dim(128), 4), dtype=nl.float32, buffer=nl.sbuf))
    with pytest.raises(IllegalInstruction, match=r"\[2, 128, 4\] has block dimensions before "
                                                 "nl.par_dim"):
        lowering(lambda t, v, u: nl.ndarray((2, nl.par_dim(128), 4), dtype=nl.float32,
                                            buffer=nl.sbuf))
