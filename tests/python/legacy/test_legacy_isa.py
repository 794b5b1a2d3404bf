# SPDX-License-Identifier: Apache-2.0
# nki.isa of the 0.1 dialect.
"""Instructions that return their result: operands, attributes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from legacy_helpers import F32, attribute, nisa, nl, ops, pattern, program, tensor, traced, where
from trnsim.frontend import IllegalInstruction, ProgramError, UnsupportedFeature


def with_tile(body: Any, argument: Any = F32, chip: str = "trn2") -> Any:
    """What a function of one loaded tile records after the load."""
    def kernel(x: Any) -> None:
        body(nl.load(x))

    return traced(kernel, argument, chip=chip)[1:]


def column(tile: Any, dtype: Any = nl.float32) -> Any:
    """One value per partition."""
    return nl.copy(tile[:, 0:1], dtype=dtype)


@pytest.mark.parametrize(("body", "trn1", "trn2"), [
    (lambda t: nl.copy(t), ("scalar",), ("vector", "scalar", "gpsimd")),
    (lambda t: nisa.tensor_copy(t, engine=nisa.vector_engine), ("vector",), ("vector",)),
    (lambda t: nisa.tensor_scalar(t, nl.multiply, 2.0), ("scalar",), ("vector", "scalar")),
    (lambda t: nisa.tensor_scalar(t, nl.maximum, 2.0), ("vector",), ("vector",)),
    (lambda t: nisa.tensor_scalar(t, nl.add, 2.0), ("scalar",), ("vector",)),
    (lambda t: nisa.tensor_scalar(t, nl.multiply, 2.0, op1=nl.add, operand1=1.0), ("scalar",),
     ("vector",)),
    (lambda t: nisa.tensor_scalar(t, nl.multiply, 2.0, op1=nl.add, operand1=t[:, 0]), ("scalar",),
     ("vector", "scalar")),
    (lambda t: nisa.tensor_scalar(t, nl.add, t[:, 0]), ("scalar",), ("vector", "scalar")),
    (lambda t: nisa.reciprocal(t), ("vector", "scalar"), ("vector",))])
def test_what_activate_can_do_is_left_to_the_scalar_engine_on_trn1_and_shared_on_trn2(body: Any, trn1: Any,
                                                                   trn2: Any) -> None:
    assert with_tile(body, chip="trn1")[0].engines == trn1
    assert with_tile(body, chip="inf2")[0].engines == trn1
    assert with_tile(body, chip="trn2")[0].engines == trn2


@pytest.mark.parametrize(("body", "op", "roles", "attributes"), [
    (lambda t: nisa.tensor_tensor(t, t, op=np.add), "tensor_tensor", "data1 data2", {"op": "add"}),
    (lambda t: nisa.tensor_tensor(t, t[:, 0:1], nl.multiply), "tensor_tensor", "data1 data2",
     {"op": "multiply"}),
    (lambda t: nisa.tensor_scalar(t, op0=nl.multiply, operand0=np.float32(2), reverse0=True),
     "tensor_scalar", "data", {"op0": "multiply"}),
    (lambda t: nisa.tensor_scalar(t, nl.subtract, t[:, 3], op1=np.max, operand1=1.0,
                                  engine=nisa.vector_engine),
     "tensor_scalar", "data operand0", {"op0": "subtract", "op1": "maximum"}),
    (lambda t: nisa.scalar_tensor_tensor(data=t, op0=np.subtract, operand0=t[:, 0], op1=nl.add,
                                         operand1=t),
     "scalar_tensor_tensor", "data operand0 operand1", {"op0": "subtract", "op1": "add"}),
    (lambda t: nisa.tensor_tensor_scan(t, t, initial=t[:, 5], op0=np.multiply, op1=np.add),
     "tensor_tensor_scan", "data1 data2 initial", {"op0": "multiply", "op1": "add"}),
    (lambda t: nisa.tensor_tensor_scan(t, t, 0, np.multiply, np.add),
     "tensor_tensor_scan", "data1 data2", {"op0": "multiply"}),
    (lambda t: nisa.tensor_reduce(np.amax, t, axis=(1,), negate=True), "tensor_reduce", "data",
     {"op": "maximum", "negate": True}),
    (lambda t: nisa.tensor_copy(t, dtype=nl.bfloat16), "tensor_copy", "data", {}),
    (lambda t: nisa.reciprocal(t), "reciprocal", "data", {}),
    (lambda t: nisa.memset((128, 4), 1.5, nl.float32), "memset", "", {"value": 1.5}),
    (lambda t: nisa.iota(nl.arange(8)[None, :] * 2 + 1, nl.int32), "iota", "", {}),
    (lambda t: nisa.affine_select(nl.arange(128)[:, None] > nl.arange(512)[None, :], t, -1.0),
     "affine_select", "data", {}),
    (lambda t: nisa.bn_stats(t), "bn_stats", "data", {}),
    (lambda t: nisa.max8(src=t), "max8", "data", {}),
    (lambda t: nisa.nc_find_index8(data=t, vals=t[:, 0:8]), "nc_find_index8", "data values", {}),
    (lambda t: nisa.nc_match_replace8(data=t, vals=t[:, 0:8], imm=0.0), "nc_match_replace8",
     "data values", {}),
    (lambda t: nisa.dropout(t, prob=t[:, 0]), "dropout", "data operand0", {}),
    (lambda t: nisa.tensor_partition_reduce(np.add, t), "tensor_partition_reduce", "data",
     {"op": "add"}),
    (lambda t: nisa.nc_transpose(t[:, 0:128]), "nc_transpose", "data", {}),
    (lambda t: nisa.dma_transpose(t[0:16, 0:128]), "dma_transpose", "src", {}),
    (lambda t: nisa.dma_transpose(t[0:16, 0:128], dge_mode=nisa.dge_mode.swdge), "dma_transpose",
     "src", {"dge": "software"})])
def test_an_instruction_has_these_operands_and_attributes(body: Any, op: str, roles: str,
                                                          attributes: Any) -> None:
    (one,) = with_tile(body)
    assert one.op == op
    assert [operand[0] for operand in one.operands] == ["dst", *roles.split()]
    assert {name: attribute(one, name) for name in attributes} == attributes


@pytest.mark.parametrize(("body", "shape", "dtype"), [
    (lambda t: nisa.bn_aggr(nisa.bn_stats(t)), (128, 2), "float32"),
    (lambda t: nisa.max8(src=t), (128, 8), "float32"),
    (lambda t: nisa.nc_find_index8(data=t, vals=t[:, 0:8]), (128, 8), "uint32"),
    (lambda t: nisa.nc_matmul(t[:, 0:64], t), (64, 512), "float32"),
    (lambda t: nisa.nc_transpose(t[0:32, 0:128]), (128, 32), "float32"),
    (lambda t: nisa.nc_transpose(t[0:32, 0:16], dtype=nl.bfloat16), (16, 32), "bfloat16"),
    (lambda t: nisa.iota(nl.arange(8)[None, :], nl.int32), (1, 8), "int32"),
    (lambda t: nisa.iota(nl.arange(128)[:, None] + nl.arange(4)[None, :], nl.int32), (128, 4),
     "int32"),
    (lambda t: nisa.tensor_partition_reduce(np.add, t), (1, 512), "float32"),
    (lambda t: nisa.sequence_bounds(segment_ids=t[0:1, :]), (1, 2, 512), "float32"),
    (lambda t: nisa.local_gather(t, t.view(nl.uint16)[:, 0:4], 4, 64), (128, 4, 16, 4), "float32"),
    (lambda t: nisa.dma_transpose(t.reshape((128, 4, 128))[0:16]), (128, 4, 16), "float32")])
def test_a_result_has_this_shape_and_type(body: Any, shape: Any, dtype: str) -> None:
    def kernel(x: Any) -> None:
        result = body(nl.load(x))
        assert result.shape == shape and result.dtype == dtype

    program(kernel, F32)


def test_an_activation_takes_vectors_and_adds_up() -> None:
    def body(tile: Any) -> None:
        total = nl.ndarray((128, 4), dtype=nl.float32)
        nisa.activation(op=nl.exp, data=tile, bias=column(tile), scale=column(tile),
                        reduce_op=nl.add, reduce_res=total[:, 2],
                        reduce_cmd=nisa.reduce_cmd.reset_reduce)
        nisa.activation_reduce(np.exp, tile, reduce_op=np.add, reduce_res=total[:, 3:4])
        nisa.tensor_scalar_reduce(data=tile, op0=nl.multiply, operand0=1.0, reduce_op=nl.max,
                                  reduce_res=total[:, 0:1])

    exp, reduced, scaled = with_tile(body)[2:]
    assert [operand[0] for operand in exp.operands] == ["dst", "data", "bias", "scale",
                                                        "reduce_result"]
    assert where(exp, "reduce_result") == (2, 0) and attribute(exp, "reduce_op") == "add"
    assert (reduced.op, attribute(reduced, "function")) == ("activation_reduce", "exp")
    assert (scaled.op, attribute(scaled, "reduce_op")) == ("tensor_scalar_reduce", "maximum")


def test_an_instruction_with_a_given_destination_writes_it() -> None:
    def body(tile: Any) -> None:
        out = nl.ndarray((128, 512), dtype=tile.dtype)
        test = nl.copy(tile, dtype=nl.uint8)
        nisa.select_reduce(dst=out, predicate=test, on_true=tile, on_false=nl.fp32.min)
        nisa.tensor_copy_predicated(src=tile, dst=out, predicate=tile > 0)
        nisa.nc_stream_shuffle(src=tile, dst=out, shuffle_mask=[(i - 1) % 32 for i in range(32)])
        nisa.tensor_copy_dynamic_dst(dst=out[:, 3:4], src=tile[:, 0:1])
        nisa.dma_copy(dst=out, src=tile)

    executed = with_tile(body)[1:]
    assert ops(executed) == ["select_reduce", "tensor_scalar", "tensor_copy_predicated",
                             "nc_stream_shuffle", "tensor_copy", "dma_copy"]
    assert all(one.operand("dst")[2] == "out" for one in executed if one.op != "tensor_scalar")


def test_a_match_and_replace_may_also_write_indices() -> None:
    def body(tile: Any) -> None:
        found = nl.ndarray((128, 8), dtype=nl.uint32)
        nisa.nc_match_replace8(data=tile, vals=tile[:, 0:8], imm=0.0, dst_idx=found)

    (one,) = with_tile(body)
    assert [operand[0] for operand in one.operands] == ["dst", "data", "values", "dst_index"]


def test_a_range_select_bounds_columns() -> None:
    (_, _, one) = with_tile(lambda t: nisa.range_select(
        on_true_tile=t, comp_op0=np.greater_equal, comp_op1=np.less, bound0=column(t),
        bound1=column(t), reduce_res=None))
    assert [operand[0] for operand in one.operands] == ["dst", "data", "bound0", "bound1"]


def test_a_matmul_says_what_it_is() -> None:
    def body(tile: Any) -> None:
        nisa.nc_matmul(tile[:, 0:128], tile[:, 0:128], is_transpose=True, is_moving_onezero=True)
        nisa.nc_matmul(tile[0:64, 0:64], tile[0:64, :], tile_position=(64, 0), tile_size=(64, 64))

    turned, placed = with_tile(body)
    assert attribute(turned, "is_transpose") and attribute(turned, "onezero") == "moving"
    assert attribute(placed, "tile_position") == [64, 0]


def test_a_double_row_matmul_contracts_two_rows_at_a_time() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        result = nisa.nc_matmul(tile[:, :, 0:64], tile, perf_mode="double_row_gen3")
        assert result.shape == (64, 256)

    one = traced(kernel, tensor("float8_e5m2", 128, 2, 256))[1]
    assert attribute(one, "perf_mode") == "double_row"


def test_a_large_transpose_on_the_vector_engine_goes_by_blocks() -> None:
    def body(tile: Any) -> None:
        out = nl.ndarray((64, 96), dtype=tile.dtype)
        out[...] = nisa.nc_transpose(tile[0:96, 0:64], engine=nisa.vector_engine)

    executed = with_tile(body)
    assert ops(executed) == ["nc_transpose"] * 6
    assert [(where(one, "data"), where(one, "dst")) for one in executed[:3]] == [
        ((0, 0), (0, 0)), ((32, 0), (0, 32)), ((0, 32), (32, 0))]


def test_a_dynamic_offset_is_noted() -> None:
    def kernel(x: Any, at: Any) -> None:
        tile = nl.load(x)
        offset = nl.load(at)
        p, f = nl.mgrid[0:128, 0:4]
        nisa.tensor_copy_dynamic_src(tile[p, offset[0, 3] + f])
        nl.copy(tile[:, 0:1])

    found = program(kernel, F32, tensor("uint32", 1, 8))
    assert "the run-time offset into 'tile' is taken as 0" in found.notes[0]
    assert found.instructions == 4


def test_a_scatter_that_adds_is_a_dma_compute() -> None:
    def kernel(x: Any, rows: Any) -> None:
        tile, index = nl.load(x), nl.load(rows)
        nisa.dma_copy(dst=x[index, nl.arange(512)[None, :]], src=tile, dst_rmw_op=np.add)
        nisa.dma_copy(dst=x, src=tile, dge_mode=nisa.dge_mode.hwdge)

    executed = traced(kernel, F32, tensor("int32", 128, 1))
    assert ops(executed)[2:] == ["dma_compute", "dma_copy"]
    assert attribute(executed[3], "dge") == "hardware"


def test_engines_are_named_or_left_to_the_compiler() -> None:
    def body(tile: Any) -> None:
        nisa.tensor_copy(tile, engine=nisa.scalar_engine)
        nisa.tensor_copy(tile, engine=nisa.engine.unknown)
        nisa.memset((128, 4), 0, nl.float32, engine=nisa.gpsimd_engine)

    executed = with_tile(body)
    assert [one.engines for one in executed] == [("scalar",), ("vector", "scalar", "gpsimd"),
                                                 ("gpsimd",)]


@pytest.mark.parametrize(("chip", "generation"), [("trn1", "gen2"), ("trn2", "gen3")])
def test_the_generation_is_that_of_the_chip(chip: str, generation: str) -> None:
    def kernel() -> None:
        assert nisa.get_nc_version() is getattr(nisa.nc_version, generation)
        assert nisa.get_nc_version() >= nisa.nc_version.gen2

    program(kernel, chip=chip)


@pytest.mark.parametrize(("body", "message"), [
    (lambda t: nisa.tensor_tensor(t, t[0:64, :], nl.add), "128 and 64 partitions .* use"),
    (lambda t: nisa.tensor_tensor(t, t[:, 0:99], nl.add), r"a tile of shape \[128, 99\] does not"),
    (lambda t: nisa.tensor_tensor(t, t, op="plus"), "op='plus' is not a math operator of NKI"),
    (lambda t: nisa.tensor_tensor(t, t, nl.rsqrt), "op is rsqrt, but must be an operator of two"),
    (lambda t: nisa.tensor_scalar_reduce(data=t, op0=nl.subtract, operand0=1.0, reduce_op=nl.add,
                                         reduce_res=column(t), reverse0=True), "reverse0 is True"),
    (lambda t: nisa.sequence_bounds(segment_ids=nl.copy(t[0:1], dtype=nl.bfloat16)),
     "data is bfloat16, but must be float32 or int32|dst is bfloat16, but must be"),
    (lambda t: nisa.select_reduce(dst=t, predicate=nl.copy(t, dtype=nl.uint8), on_true=t,
                                  on_false=0.0, reduce_res=column(t, nl.int32)),
     "reduce_res is int32, but the maximum is a float"),
    (lambda t: nisa.tensor_scalar(t, nl.add, t), r"operand0 has the shape \[128, 512\], but must "
                                                 r"hold one value per partition, \[128, 1\]"),
    (lambda t: nisa.tensor_scalar(t, nl.add, t[0:64, 0:1]), "must hold one value per partition"),
    (lambda t: nisa.tensor_reduce(nl.add, t, axis=0), r"axis \[0\] of a tile with 2 axes"),
    (lambda t: nisa.activation(nl.add, t), "op=add is not an activation function of NKI"),
    (lambda t: nisa.dropout(t, prob=2), "prob is 2, but a probability is 0 to 1"),
    (lambda t: nisa.activation(nl.exp, t, bias=column(t, nl.int32)), "bias is int32, but must be"),
    (lambda t: nisa.activation(nl.exp, t, scale=column(t, nl.bfloat16)), "scale is bfloat16, but"),
    (lambda t: nisa.activation_reduce(nl.exp, t, reduce_op=nl.max, reduce_res=t[:, 0:1]),
     "reduce_op is maximum, but the scalar engine only adds"),
    (lambda t: nisa.nc_matmul(t, t), r"stationary|takes 512 partitions"),
    (lambda t: nisa.nc_matmul(t[:, 0:128], t[0:64, :]), "64|contract"),
    (lambda t: nisa.nc_matmul(t[:, 0:128], t, perf_mode="triple"), "perf_mode is 'triple'"),
    (lambda t: nisa.nc_matmul(t[:, 0:128], t, perf_mode="double_row"), r"both must be \[K, 2, N\]"),
    (lambda t: nisa.nc_matmul(nl.copy(t[:, 0:128], dtype=nl.bfloat16), t),
     "stationary is bfloat16 and moving is float32"),
    (lambda t: nisa.affine_select((nl.arange(128)[:, None] > 4) & (nl.arange(512)[None, :] > 2), t,
                                  0.0), "pred is not one comparison by"),
    (lambda t: nisa.iota(t, nl.int32), "iota of Tensor, but the generator takes an affine"),
    (lambda t: nisa.bn_stats(t.view(nl.bfloat16)), "1024 elements per partition"),
    (lambda t: nisa.dma_transpose(t, axes=(0, 1)), r"dma_transpose with axes \(0, 1\)"),
    (lambda t: nisa.dma_copy(dst=t[:, 0:4], src=t), "the value has the shape|does not broadcast"),
    (lambda t: nisa.dma_copy(dst=t, src=t, dge_mode="warp"), "dge_mode='warp' is not a member"),
    (lambda t: nisa.nc_transpose(t[:, 0:128], engine=nisa.scalar_engine), "does not run on"),
    (lambda t: nisa.tensor_copy(t, engine="fast"), "engine='fast' is not a member of"),
    (lambda t: nisa.tensor_tensor(t, 3.0, nl.add), "second of tensor_tensor is float, but must")])
def test_what_the_hardware_does_not_do_is_refused_with_its_line(body: Any, message: str) -> None:
    with pytest.raises((ProgramError, IllegalInstruction), match=message) as caught:
        with_tile(body)
    first = body.__code__.co_firstlineno
    assert any(str(caught.value).startswith(f"{__file__}:{line}: ")
               for line in range(first, first + 3))


def test_an_unsupported_instruction_is_named() -> None:
    with pytest.raises(UnsupportedFeature, match=r"neuronxcc\.nki\.isa\.builtin_custom_op"):
        with_tile(lambda t: nisa.builtin_custom_op("f"))


def test_hardware_descriptors_and_range_select_need_a_third_generation() -> None:
    for body in (lambda t: nisa.dma_copy(dst=t, src=t, dge_mode=nisa.dge_mode.hwdge),
                 lambda t: nisa.range_select(on_true_tile=t, comp_op0=np.less, comp_op1=np.less,
                                             bound0=t[:, 0], bound1=t[:, 1])):
        with pytest.raises(IllegalInstruction, match="needs NeuronCore-v3"):
            with_tile(body, chip="trn1")


def test_an_operand_is_repeated_along_free_axes_by_its_pattern() -> None:
    (one,) = with_tile(lambda t: nisa.tensor_tensor(t.reshape((128, 4, 128)),
                                                    t[:, 0:4].reshape((128, 4, 1)), nl.add))
    assert pattern(one, "data2") == ((1, 4), (0, 128))
