# SPDX-License-Identifier: Apache-2.0
# nki.language of the 0.1 dialect: which instructions each function is.
"""The lowering of nl functions and Python operators."""

from __future__ import annotations

import functools
import importlib
import json
from typing import Any

import numpy as np
import pytest
from legacy_helpers import (F32, attribute, nisa, nki, nl, ops, pattern, program, tensor, traced,
                            where)
from trace_expander import parse
from trnsim.frontend import IllegalInstruction, ProgramError, UnsupportedFeature, UserError, run_kernel, trace

HALF = tensor("bfloat16", 128, 512)


def after_load(body: Any, argument: Any = F32, chip: str = "trn2") -> Any:
    """What a function of one loaded tile records after the load."""
    def kernel(x: Any) -> None:
        body(nl.load(x))

    return traced(kernel, argument, chip=chip)[1:]


@pytest.mark.parametrize(("body", "expected"), [
    (lambda t: t + t, ["tensor_tensor"]), (lambda t: t + 1, ["tensor_scalar"]),
    (lambda t: 2.0 * t, ["tensor_scalar"]), (lambda t: np.float32(3) - t, ["tensor_scalar"]),
    (lambda t: t * t[:, 0:1], ["tensor_scalar"]), (lambda t: t[:, 4] - t, ["tensor_scalar"]),
    (lambda t: t / 8, ["tensor_scalar"]), (lambda t: t / t, ["tensor_tensor"]),
    (lambda t: 1.0 / t, ["reciprocal"]), (lambda t: 3.0 / t, ["reciprocal", "tensor_scalar"]),
    (lambda t: -t, ["tensor_scalar"]), (lambda t: t > 0, ["tensor_scalar"]),
    (lambda t: t == t, ["tensor_tensor"]), (lambda t: t ** 2, ["tensor_scalar"]),
    (lambda t: nl.maximum(t, t), ["tensor_tensor"]), (lambda t: nl.exp(t), ["activation"]),
    (lambda t: nl.add(t, t[0:1, :]), ["memset", "nc_matmul", "tensor_copy", "tensor_tensor"]),
    (lambda t: nl.add(t[:, 0:1], t[0:1, :]), ["memset", "nc_matmul", "tensor_copy",
                                              "tensor_scalar"]),
    (lambda t: nl.reciprocal(t), ["reciprocal"]), (lambda t: nl.copy(t), ["tensor_copy"]),
    (lambda t: t.astype(nl.bfloat16), ["tensor_copy"]),
    (lambda t: nl.static_cast(t, nl.bfloat16), ["tensor_copy"]),
    (lambda t: nl.cos(t), ["tensor_scalar", "activation"]),
    (lambda t: nl.tan(t), ["tensor_scalar", "activation", "reciprocal", "activation",
                           "tensor_tensor"]),
    (lambda t: nl.floor(t), ["scalar_tensor_tensor"]),
    (lambda t: nl.sum(t, axis=1), ["tensor_reduce"]),
    (lambda t: nl.mean(t, axis=[1]), ["tensor_reduce", "tensor_scalar"]),
    (lambda t: nl.var(t, axis=1), ["bn_stats", "bn_aggr"]),
    (lambda t: nl.softmax(t, axis=[1]), ["tensor_reduce", "activation_reduce", "reciprocal",
                                         "tensor_scalar"]),
    (lambda t: nl.rms_norm(t, t, 1, 512), ["activation_reduce", "tensor_scalar", "activation",
                                           "tensor_scalar", "tensor_tensor"]),
    (lambda t: nl.transpose(t[:, 0:64]), ["nc_transpose", "tensor_copy"]),
    (lambda t: nl.matmul(t[:, 0:128], t, transpose_x=True), ["nc_matmul"]),
    (lambda t: nl.matmul(t[:, 0:128], t), ["nc_transpose", "tensor_copy", "nc_matmul"]),
    (lambda t: nl.where(t > 0, t, 0.0), ["tensor_scalar", "memset", "tensor_copy_predicated"]),
    (lambda t: nl.where(t > 0, 1.0, t), ["tensor_scalar", "tensor_copy",
                                         "tensor_copy_predicated"]),
    (lambda t: nl.where(t, t, t), ["tensor_scalar", "tensor_copy", "tensor_copy_predicated"]),
    (lambda t: nl.where(nl.arange(128)[:, None] >= nl.arange(512)[None, :], t, 0.0),
     ["affine_select"]),
    (lambda t: nl.where(nl.arange(512)[None, :] < 300, t, 0.0), ["memset", "tensor_copy"]),
    (lambda t: nl.where(nl.arange(128)[:, None] >= 64, t, t), ["tensor_copy", "tensor_copy"]),
    (lambda t: nl.broadcast_to(t[0:1, :], shape=(128, 512)), ["memset", "nc_matmul",
                                                              "tensor_copy"]),
    (lambda t: t[:, 0:1].broadcast_to((128, 512)), []),
    (lambda t: nl.dropout(t, 0.5), ["dropout"]),
    (lambda t: nl.dropout(t, t[0:1, 0:1]), ["memset", "nc_matmul", "tensor_copy", "dropout"]),
    (lambda t: nl.rand((128, 4)), ["rng", "tensor_scalar"]),
    (lambda t: nl.random_seed(7), ["memset", "set_rng_seed"]),
    (lambda t: nl.device_print("t", t), [])])
def test_a_function_is_these_instructions(body: Any, expected: list[str]) -> None:
    assert ops(after_load(body)) == expected


def test_a_choice_by_indices_copies_no_further_than_they_and_the_mask_reach() -> None:
    row, column = nl.arange(128)[:, None], nl.arange(512)[None, :]
    memset, copy = after_load(lambda t: nl.where(column < 300, t, 0.0, mask=row < 64))
    assert (memset.operand("dst")[3], pattern(memset, "dst")) == (64, ((1, 512),))
    assert (copy.operand("dst")[3], pattern(copy, "dst")) == (64, ((1, 300),))


def test_what_is_in_psum_is_copied_before_it_is_rounded() -> None:
    product = after_load(lambda t: nl.floor(nl.matmul(t[:, 0:128], t, transpose_x=True)))
    assert ops(product) == ["nc_matmul", "tensor_copy", "scalar_tensor_tensor"]


@pytest.mark.parametrize(("body", "role", "name"), [
    (lambda t: nl.gelu(t), "function", "gelu"), (lambda t: nl.rsqrt(t), "function", "rsqrt"),
    (lambda t: nl.abs(t), "function", "abs"), (lambda t: t < 3, "op0", "less"),
    (lambda t: 3 < t, "op0", "greater"), (lambda t: nl.less(2, t), "op0", "greater"),
    (lambda t: t[:, 0:1] >= t, "op0", "less_equal"), (lambda t: ~t.view(nl.int32), "op0",
                                                      "bitwise_xor"),
    (lambda t: t.view(nl.int32) << 2, "op0", "left_shift"),
    (lambda t: nl.max(t, axis=1), "op", "maximum"), (lambda t: nl.prod(t, 1), "op", "multiply"),
    (lambda t: nl.all(t, 1), "op", "logical_and"), (lambda t: nl.divide(t, t), "op", "divide")])
def test_operators_keep_their_names(body: Any, role: str, name: str) -> None:
    assert attribute(after_load(body)[0], role) == name


@pytest.mark.parametrize(("body", "expected"), [
    (lambda t: nl.exp(t), "bfloat16"), (lambda t: nl.exp(t, dtype=nl.float32), "float32"),
    (lambda t: t + t, "bfloat16"), (lambda t: t > t, "bool"),
    (lambda t: nl.add(t, nl.copy(t, dtype=nl.float32)), "float32"),
    (lambda t: nl.sum(t, axis=1, dtype=np.float32), "float32"),
    (lambda t: nl.add(t, nl.copy(t, dtype=nl.int32)), "bfloat16")])
def test_a_result_has_the_type_asked_for_or_the_widest_of_the_operands(body: Any,
                                                                      expected: str) -> None:
    def kernel(x: Any) -> None:
        assert body(nl.load(x)).dtype == expected

    program(kernel, HALF)


@pytest.mark.parametrize(("axis", "keepdims", "shape", "walk"), [
    ([2, 4], False, (128, 4, 8), ((64, 4), (4, 8), (32, 2), (1, 4))),
    ([3], False, (128, 4, 2, 4), ((32, 8), (1, 4), (4, 8))),
    ([1, 2, 3, 4], False, (128, 1), ((1, 256),)),
    ([2, 4], True, (128, 4, 1, 8, 1), ((64, 4), (4, 8), (32, 2), (1, 4))),
    (-1, False, (128, 4, 2, 8), ((1, 256),))])
def test_reduced_axes_are_walked_last(axis: Any, keepdims: bool, shape: Any, walk: Any) -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        assert nl.sum(tile, axis=axis, keepdims=keepdims).shape == shape

    assert pattern(traced(kernel, tensor("float32", 128, 4, 2, 8, 4))[1], "data") == walk


def test_a_wide_broadcast_over_partitions_takes_a_matmul_per_bank() -> None:
    executed = after_load(lambda t: t[0:1, :].broadcast_to((128, 1300)), tensor("float32", 1, 1300))
    assert ops(executed) == ["memset"] + ["nc_matmul", "tensor_copy"] * 3
    assert [pattern(one, "moving") for one in executed if one.op == "nc_matmul"] == [
        ((1, 512),), ((1, 512),), ((1, 276),)]
    assert attribute(executed[1], "onezero") == "stationary"


def test_the_ones_of_broadcasts_are_written_once_before_the_loops() -> None:
    def kernel(x: Any) -> None:
        for i in nl.affine_range(20):
            row = nl.load(x[i:i + 1, :])
            nl.store(x, row.broadcast_to((128, 512)))

    executed = traced(kernel, F32)
    assert ops(executed)[:3] == ["memset", "dma_copy", "nc_matmul"]
    assert ops(executed).count("memset") == 1


def test_the_ones_of_a_broadcast_are_no_row_of_the_tile_that_it_broadcasts() -> None:
    """Of 64 integers of 32 bits, 128 halves are broadcast: a row like that of the ones."""
    def kernel(x: Any) -> Any:
        out = nl.ndarray((3 * 128, 64), dtype=nl.int32, buffer=nl.shared_hbm)
        row = nl.load(x[0:1, :])
        for i in nl.sequential_range(3):
            nl.store(out[i * 128:(i + 1) * 128, :], row.broadcast_to((128, 64)))
        return out

    assert ops(traced(kernel, tensor("int32", 1, 64))) == [
        "dma_copy", "memset", *["tensor_copy", "nc_matmul", "tensor_copy", "dma_copy"] * 3]
    buffers = parse(trace(kernel, [tensor("int32", 1, 64)]).lines()).buffers.values()
    assert len([one for one in buffers if one["shape"] == [1, 128]]) == 2
    numbers = np.arange(-30, 34, dtype=np.int32).reshape(1, 64) * 60_000
    assert (run_kernel(kernel, numbers, api="neuronxcc.nki") == numbers).all()


def test_zeros_of_blocks_are_written_before_a_matmul_reads_them() -> None:
    def kernel(x: Any) -> None:
        zeros = nl.zeros((2, nl.par_dim(128), 512), x.dtype)
        nl.matmul(nl.load(x[:, 0:128]), zeros[1], transpose_x=True)
        nisa.nc_matmul(zeros[0][:, 0:128], zeros[1])

    assert ops(traced(kernel, F32)) == ["dma_copy", *["memset"] * 2, *["nc_matmul"] * 2]


@pytest.mark.parametrize(("limit", "expected"), [
    ("f < 9", ["dma_copy", "memset", "activation"]), ("p + f < 9", ["dma_copy", "memset", "activation"]),
    ("f < 512", ["dma_copy", "activation"]), ("p + f < 2000", ["dma_copy", "activation"])])
def test_zeros_of_blocks_are_written_if_a_mask_keeps_some(limit: str, expected: list[str]) -> None:
    """Also one that couples axes, which is no access pattern."""
    def kernel(x: Any) -> None:
        p, f = nl.mgrid[0:128, 0:512]
        zeros = nl.zeros((2, nl.par_dim(128), 512), x.dtype)
        zeros[0, p, f] = nl.exp(nl.load(x), mask=eval(limit, {"p": p, "f": f}))

    assert ops(traced(kernel, F32)) == expected


@pytest.mark.parametrize(("limit", "expected"), [
    ("p + f < 9", ["memset", "dma_copy"]), ("p + f < 2000", ["dma_copy"])])
def test_zeros_of_blocks_are_written_if_the_mask_of_a_copy_keeps_some(limit: str,
                                                                      expected: list[str]) -> None:
    def kernel(x: Any) -> None:
        p, f = nl.mgrid[0:128, 0:512]
        zeros = nl.zeros((2, nl.par_dim(128), 512), x.dtype)
        nisa.dma_copy(dst=zeros[0, p, f], src=x[p, f], mask=eval(limit, {"p": p, "f": f}))

    assert ops(traced(kernel, F32)) == expected


def test_numbers_in_psum_are_written_if_the_mask_of_a_matmul_keeps_some() -> None:
    def kernel(x: Any) -> None:
        p, f = nl.mgrid[0:128, 0:512]
        ones = nl.full((2, nl.par_dim(128), 512), 1.0, nl.float32, buffer=nl.psum)
        tile = nl.load(x)
        ones[0, p, f] = nisa.nc_matmul(tile[:, 0:128], tile, mask=f < 9)
        ones[1, p, f] = nisa.nc_matmul(tile[:, 0:128], tile)

    assert ops(traced(kernel, F32)) == ["dma_copy", "memset", "nc_matmul", "nc_matmul"]


def test_a_mask_is_that_of_one_instruction() -> None:
    def kernel(x: Any) -> None:
        p, f = nl.mgrid[0:128, 0:512]
        zeros = nl.zeros((2, nl.par_dim(128), 512), x.dtype)
        tile = nl.load(x)
        nl.store(x[p, f], tile[p, f], mask=p + f < 9)
        zeros[0, p, f] = nl.exp(tile)

    assert ops(traced(kernel, F32)) == ["dma_copy", "dma_copy", "activation"]


def test_a_variance_over_a_long_row_takes_several_statistics() -> None:
    executed = after_load(lambda t: nl.var(t, axis=1), tensor("float32", 128, 1200))
    assert ops(executed) == ["bn_stats"] * 3 + ["bn_aggr"]
    assert pattern(executed[-1], "data") == ((1, 18),)


def test_a_matmul_of_mixed_widths_converts_the_wide_operand() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nl.matmul(nl.exp(tile[:, 0:128], dtype=nl.float32), tile)

    found = program(kernel, HALF)
    assert found.instructions == 5 and "is converted to the type of the other" in found.notes[0]


@pytest.mark.parametrize(("product", "wide"), [
    (lambda t, wide: nl.matmul(wide[:, 0:128], t, transpose_x=True), "stationary"),
    (lambda t, wide: nl.matmul(t[:, 0:128], wide, transpose_x=True), "moving")])
def test_the_wide_operand_of_a_matmul_is_copied_whichever_it_is(product: Any, wide: str) -> None:
    executed = after_load(lambda t: product(t, nl.exp(t, dtype=nl.float32)), HALF)
    assert ops(executed) == ["activation", "tensor_copy", "nc_matmul"]
    assert executed[-1].operand(wide)[2] == executed[-2].operand("dst")[2]


def test_a_tangent_has_the_type_of_its_argument() -> None:
    found = []
    after_load(lambda t: found.append(nl.tan(t).dtype), HALF)
    after_load(lambda t: found.append(nl.tan(t, dtype=nl.float32).dtype), HALF)
    assert found == [nl.bfloat16, nl.float32]


def test_data_moves_by_dma() -> None:
    def kernel(x: Any, out: Any) -> None:
        turned = nl.load_transpose2d(x[0:16, 0:128])
        assert turned.shape == (128, 16)
        half = nl.load(x, dtype=nl.bfloat16)
        assert half.dtype == nl.bfloat16
        nl.store(out, half)
        nl.store(out[:, 0], half[:, 3])
        nl.store(out[0:64, 0:8], value=0)
        nl.atomic_rmw(out, half, op=np.add)

    assert ops(traced(kernel, HALF, F32)) == ["dma_transpose", "dma_copy", "dma_copy", "dma_copy",
                                              "memset", "dma_copy", "dma_compute"]


def test_a_matrix_of_four_bytes_is_transposed_by_the_tensor_engine() -> None:
    def loaded(rows: int) -> Any:
        def kernel(x: Any, out: Any) -> None:
            turned = nl.load_transpose2d(x[0:rows, 0:64])
            assert turned.shape == (64, rows) and turned.dtype == nl.float32
            nl.store(out[0:64, 0:rows], turned)
        return kernel

    block = ["dma_copy", "nc_transpose", "tensor_copy"]
    x, out = tensor("float32", 512, 64), tensor("float32", 64, 512)
    assert ops(traced(loaded(96), x, out)) == [*block, "dma_copy"]
    executed = traced(loaded(300), x, out)
    assert ops(executed) == [*block * 3, "dma_copy"]
    copies = [one for one in executed if one.op == "tensor_copy"]
    assert [pattern(one, "dst")[-1] for one in copies] == [(1, 128), (1, 128), (1, 44)]
    assert [where(one, "dst")[0] for one in copies] == [0, 128, 256]


def test_a_masked_transposing_load_is_a_dma() -> None:
    def kernel(x: Any) -> None:
        rows = nl.arange(128)[:, None]
        nl.load_transpose2d(x[rows, nl.arange(128)[None, :]], mask=rows < 128)

    assert ops(traced(kernel, tensor("float32", 128, 128))) == ["dma_transpose"]


def test_constants_are_buffers_of_hbm_that_hold_a_value() -> None:
    def kernel(x: Any) -> None:
        for _ in nl.affine_range(3):
            nl.load(nl.shared_identity_matrix(128, dtype=nl.bfloat16))
        constant = nl.shared_constant(np.identity(128, dtype=np.int8), dtype=nl.bfloat16)
        nl.load(constant)

    lines = [line for line in program(kernel, F32).lines() if '"kind":"constant"' in line]
    assert len(lines) == 2 and all('"shape":[128,128]' in line for line in lines)


@pytest.mark.parametrize(("kind", "dtype", "expected"), [
    ("int32", None, "float32"), ("int32", np.int32, "int32"), ("bfloat16", None, "bfloat16")])
def test_integers_divided_are_fractions(kind: str, dtype: Any, expected: str) -> None:
    made = []

    def kernel(x: Any) -> None:
        tile = nl.load(x)
        made.extend([nl.divide(tile, 38, dtype=dtype), nl.divide(38, tile, dtype=dtype),
                     nl.divide(tile, tile, dtype=dtype)])
        assert nl.add(tile, 1).dtype == tile.dtype

    traced(kernel, tensor(kind, 128, 4))
    assert [one.dtype.name for one in made] == [expected] * 3


def test_an_operation_walked_with_too_many_strides_is_divided() -> None:
    def kernel(x: Any) -> None:
        p, a, b, c, d, e = nl.mgrid[0:128, 0:2, 0:2, 0:2, 0:2, 0:2]
        tile = nl.load(x)
        out = nl.ndarray((128, 512), dtype=x.dtype)
        out[p, a * 200 + b * 90 + c * 40 + d * 17 + e * 3] = nl.exp(
            tile[p, a * 3 + b * 17 + c * 40 + d * 90 + e * 200])

    executed = traced(kernel, F32)
    assert ops(executed) == ["dma_copy", "activation", "activation"]
    assert pattern(executed[1], "dst") == ((90, 2), (40, 2), (17, 2), (3, 2))


def test_a_tile_that_is_filled_in_parts_is_filled_with_one_number() -> None:
    def kernel(x: Any) -> None:
        p, a, b, c, d, e = nl.mgrid[0:128, 0:2, 0:2, 0:2, 0:2, 0:2]
        out = nl.ndarray((128, 512), dtype=x.dtype)
        out[p, a * 200 + b * 90 + c * 40 + d * 17 + e * 3] = 3

    assert [dict(one.attributes) for one in traced(kernel, F32)] == 2 * [{"value": "3.0"}]


def test_tile_sizes_are_those_of_the_chip() -> None:
    def kernel() -> None:
        size = nl.tile_size
        assert (size.pmax, size.psum_fmax, size.gemm_stationary_fmax, size.gemm_moving_fmax) == (
            128, 512, 128, 512)
        assert nl.fp32.min == np.finfo(np.float32).min and nl.finfo(nl.float16).bits == 16

    program(kernel)


@pytest.mark.parametrize(("body", "message"), [
    (lambda t: nl.add(1, 2), "nl.add of two numbers"),
    (lambda t: nl.add(t, t[0:64, :]), r"does not broadcast to|do not broadcast"),
    (lambda t: nl.add(t, t[:, 0:100]), r"a tile of shape \[128, 100\] does not broadcast to"),
    (lambda t: nl.sum(t, axis=0), r"axis \[0\] of a tile with 2 axes, but axes 1 to 1 are reduced"),
    (lambda t: nl.sum(t, axis=2), r"axis \[2\] of a tile with 2 axes"),
    (lambda t: nl.transpose(t.reshape((128, 4, 128))), "nl.transpose of a tile with 3 axes"),
    (lambda t: nl.transpose(t), "the tensor engine transposes at most 128 x 128|takes 512 part"),
    (lambda t: nl.matmul(t, t, transpose_x=True), "stationary|takes 512 partitions"),
    (lambda t: nl.var(t.reshape((128, 4, 128)), axis=1), "but it takes the last ones"),
    (lambda t: nl.matmul(t[0:64, 0:128], t, transpose_x=True), "64 partitions|contract"),
    (lambda t: nl.bitwise_and(t, t), "but bitwise_and takes integers"),
    (lambda t: nl.bitwise_and(nl.copy(t, dtype=nl.int32), 1.5), "an operand is 1.5, but bitwise_and"),
    (lambda t: nisa.tensor_scalar(nl.copy(t, dtype=nl.int32), nl.bitwise_or, 2.5),
     "tensor_scalar: operand0 is 2.5, but bitwise_or works on the bits of integers")])
def test_what_no_instruction_does_is_refused_with_its_line(body: Any, message: str) -> None:
    with pytest.raises((ProgramError, IllegalInstruction), match=message) as caught:
        after_load(body)
    assert f"{__file__}:{body.__code__.co_firstlineno}: " in str(caught.value)


def test_a_name_out_of_scope_is_named_when_it_is_called() -> None:
    with pytest.raises(UnsupportedFeature, match=r"neuronxcc\.nki\.language\.all_reduce is not"):
        after_load(lambda t: nl.all_reduce(t, op=np.add, program_axes=0))


@pytest.mark.parametrize("is_listed", [False, True])
def test_a_loop_with_no_reorder_keeps_its_order(is_listed: bool) -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        directive = nki.compiler.no_reorder()
        for _ in nl.sequential_range(8, directives=[directive] if is_listed else directive):
            nl.load(x)
        for _ in nl.sequential_range(8, directives=nki.compiler.multi_buffer(2)):
            nl.load(x)
        with nki.compiler.no_reorder():
            nl.load(x)
    lines = [json.loads(line) for line in program(kernel, F32).lines()]
    assert [(line["count"], line.get("in_order", False))
            for line in lines if line["record"] == "loop"] == [(8, True), (8, False), (1, True)]


def test_tiles_are_given_by_the_names_that_the_api_has() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        row = nl.load(src=x[0:1, :])
        assert nl.broadcast_to(src=row, shape=(64, 512)).shape == (64, 512)
        assert nl.expand_dims(data=row, axis=1).shape == (1, 1, 512)
        assert [part.shape for part in nl.gemm_stationary_grid()] == [(128, 1), (1, 128)]
    program(kernel, F32)


def test_a_kernel_without_middle_end_is_traced_as_written() -> None:
    skip = nki.compiler.skip_middle_end_transformations

    def body(x: Any) -> None:
        nl.load(x)

    def api_of(kernel: Any) -> str:
        return str(json.loads(next(iter(program(kernel, F32).lines())))["api"])

    assert api_of(nki.jit(body)) == "neuronxcc.nki"

    @skip
    @nki.jit
    def outside(x: Any) -> None:
        nl.load(x)

    @nki.jit
    @skip(log_level=20)
    def inside(x: Any) -> None:
        nl.load(x)

    @nki.jit
    def caller(x: Any) -> None:
        outside(x)

    assert api_of(outside) == api_of(inside) == "neuronxcc.nki.as_written"
    assert api_of(outside[1]) == api_of(nki.benchmark()(outside)) == "neuronxcc.nki.as_written"
    assert api_of(caller) == "neuronxcc.nki", "the kernel that is launched says how"


def test_what_is_no_operator_does_not_reduce_over_a_loop() -> None:
    def kernel(x: Any) -> None:
        total = nl.ndarray((128, 512), dtype=nl.float32)
        for i in nl.affine_range(2):
            total = nl.loop_reduce(nl.load(x), op=nl.exp, loop_indices=[i])
        nl.store(x, total)
    with pytest.raises(IllegalInstruction, match="op of nl.loop_reduce=.* is not a math operator"):
        traced(kernel, F32)


def reduced_over_a_name(x: Any) -> None:
    for _ in nl.affine_range(2):
        total = nl.loop_reduce(nl.load(x), op=nl.add, loop_indices=["i"])
    nl.store(x, total)


@pytest.mark.parametrize(("kernel", "message"), [
    (reduced_over_a_name, "one of loop_indices is 'i', but must be an integer"),
    (lambda x: nl.store(x, nisa.memset((128, 512), None, nl.float32)),
     "value of memset is NoneType, but must be a number")])
def test_what_is_no_number_is_named(kernel: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        traced(kernel, F32)


def header_api(kernel: Any, *values: Any, api: str | None = None) -> str:
    """`api` in the header of a kernel's trace."""
    made = trace(kernel, values or [F32], api=api)
    return str(json.loads(next(iter(made.lines())))["api"])


AS_WRITTEN = "neuronxcc.nki.as_written"
skip = nki.compiler.skip_middle_end_transformations


def test_the_other_api_has_no_middle_end_to_skip() -> None:
    def body(x: Any) -> Any:
        return x
    new_api = importlib.import_module("nki")
    assert header_api(skip(new_api.jit(body))) == header_api(new_api.jit(skip(body))) == "nki"


def test_a_kernel_without_middle_end_leaves_the_others_of_its_function_alone() -> None:
    def body(x: Any) -> None:
        nl.load(x)
    first = nki.jit(body)
    timed = nki.benchmark()(first)
    second, third = skip(first), skip(timed)
    assert second is not first and third is not timed and type(third) is type(timed)
    assert [header_api(one) for one in (first, timed, nki.jit(body))] == ["neuronxcc.nki"] * 3
    assert [header_api(one) for one in (second, third, second[1], third[1], nki.jit(third),
                                        second.with_schedule([]),
                                        third.with_schedule([]))] == [AS_WRITTEN] * 7
    skip(body)
    assert header_api(first) == "neuronxcc.nki" and header_api(nki.jit(body)) == AS_WRITTEN
    assert header_api(body, api="neuronxcc.nki") == AS_WRITTEN


class Body:
    """A kernel that is an object, or a method."""

    def __call__(self, x: Any) -> None:
        nl.load(x)

    def method(self, x: Any) -> None:
        """The same."""
        nl.load(x)


class MarkedBody(Body):
    """Its method is marked."""

    @skip
    def __call__(self, x: Any) -> None:
        nl.load(x)


class FixedBody:
    """An object without attributes."""

    __slots__ = ()

    def __call__(self, x: Any) -> None:
        nl.load(x)


def test_partial_functions_methods_and_objects_are_traced_as_written() -> None:
    def body(x: Any, times: int = 1) -> None:
        nl.load(x)
    partial = functools.partial(body, times=2)
    assert header_api(nki.jit(partial)) == "neuronxcc.nki"
    assert header_api(nki.jit(skip(partial))) == AS_WRITTEN
    assert header_api(nki.jit(body)) == "neuronxcc.nki"
    skip(body)
    assert header_api(nki.jit(functools.partial(functools.partial(body), times=2))) == AS_WRITTEN
    for kernel in (Body(), Body().method, FixedBody()):
        assert header_api(nki.jit(kernel)) == "neuronxcc.nki"
        assert header_api(skip(nki.jit(kernel))) == AS_WRITTEN
    for kernel in (skip(Body()), skip(Body().method), MarkedBody()):
        assert header_api(nki.jit(kernel)) == AS_WRITTEN
    assert header_api(nki.jit(Body())) == "neuronxcc.nki"


@pytest.mark.parametrize("kernel", [FixedBody(), 3])
def test_what_cannot_be_marked_as_written_is_told(kernel: Any) -> None:
    with pytest.raises(UserError, match="skip_middle_end_transformations cannot mark .*; give it "
                                        "a function, or what nki.jit makes of it"):
        skip(kernel)


def test_decorators_and_directives_are_accepted() -> None:
    compiler = nki.compiler
    assert compiler.force_auto_alloc(func=program) is program

    @compiler.skip_middle_end_transformations
    @compiler.enable_stack_allocator(log_level=10)
    @nki.jit(additional_compile_opt="--some", platform_target="trn2")
    def kernel(x: Any) -> None:
        with compiler.allocation_scope():
            for _ in nl.sequential_range(2, directives=compiler.no_reorder()):
                nl.load(x)
        for _ in nl.affine_range(2, multi_buffer=compiler.multi_buffer(2)):
            nl.load(x)

    assert ops(traced(kernel, F32)) == ["dma_copy"] * 4
    assert nki.benchmark(warmup=5, iters=10)(kernel).inner is kernel
    assert nki.baremetal()(lambda x: None).api == "neuronxcc.nki"


def test_a_grid_of_a_decorator_is_that_of_the_launch() -> None:
    def rows(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        at = nl.arange(128)[:, None], nl.arange(64)[None, :] + 64 * nl.program_id(0)
        nl.store(out[at], nl.load(x[at]))
        return out
    data = [tensor("float32", 128, 256)]
    launched = trace(nki.jit(rows)[4], data).lines()
    for kernel in (nki.jit(grid=4)(rows), nki.jit(rows, grid=[4]), nki.benchmark(grid=4)(rows)):
        assert trace(kernel, data).lines() == launched
    assert trace(nki.jit(rows, grid=4)[2], data).instructions == 4
