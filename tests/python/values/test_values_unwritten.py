# SPDX-License-Identifier: Apache-2.0
# What is read before anything has written it.
"""Reading an unwritten element is an error that names line, tensor and element."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from trnsim.frontend import ProgramError, run_kernel, trace
from values_helpers import loaded, nisa, nl, normal, stored, tile

old: Any = importlib.import_module("neuronxcc.nki.language")


def half_written(x: Any) -> Any:
    data = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(data[:, 0:16], x[:, 0:16])
    result = tile((64, 32))
    nisa.tensor_copy(result, data)
    return stored(result)


def test_the_message_names_line_tensor_and_element() -> None:
    line = half_written.__code__.co_firstlineno + 4
    with pytest.raises(ProgramError) as caught:
        run_kernel(half_written, normal(64, 32), api="nki")
    message = str(caught.value)
    assert f"test_values_unwritten.py:{line}: element [0, 16] of 'data' (sbuf float32[64, 32])" in message
    assert "is read, but nothing has written it, and element [0, 16] of 'out', stored at" in message
    assert "values_helpers.py:49, comes from it; write it first" in message


def test_without_values_nothing_is_checked() -> None:
    assert trace(half_written, [normal(64, 32)], api="nki").instructions == 3


def test_unwritten_elements_may_be_read_as_nan() -> None:
    found = run_kernel(half_written, normal(64, 32), api="nki", reads_unwritten=True)
    assert np.isnan(found[:, 16:]).all() and not np.isnan(found[:, :16]).any()


def test_what_a_kernel_leaves_of_its_result_is_nan() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out[0:32, :], loaded(x)[0:32, :])
        return out
    program = trace(kernel, [normal(64, 32)], api="nki", values=True)
    assert np.isnan(program.outputs[32:]).all() and not np.isnan(program.outputs[:32]).any()
    assert any("'out' are not written" in note for note in program.notes)


def test_bytes_count_not_elements() -> None:
    def kernel(x: Any) -> Any:
        data = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        halves = data.view(nl.uint16)
        source = loaded(x).view(nl.uint16)
        nisa.tensor_copy(halves[:, 0:64:2], source[:, 0:64:2])
        return stored(data)
    with pytest.raises(ProgramError, match=r"element .0, 0. of 'data'"):
        run_kernel(kernel, normal(64, 32), api="nki")


def test_accumulation_onto_nothing_is_an_error() -> None:
    def kernel(x: Any) -> Any:
        psum = tile((32, 32), buffer=nl.psum)
        nisa.nc_matmul(psum, loaded(x), loaded(x), accumulate=True)
        return stored(psum)
    with pytest.raises(ProgramError, match="does not hold the result of a matmul"):
        run_kernel(kernel, normal(64, 32), api="nki")


def masked(x: Any, rows: int) -> Any:
    """Loads and stores with a mask, and computes in between without one."""
    out = old.ndarray((rows, 32), dtype=x.dtype, buffer=old.shared_hbm)
    p, f = old.mgrid[0:128, 0:32]
    data = old.load(x[p, f], mask=p < x.shape[0])
    scaled = old.multiply(data, old.max(data, axis=1, keepdims=True))
    old.store(out[p, f], value=scaled, mask=p < rows)
    return out


def loaded_in_part(x: Any, rows: int) -> Any:
    """Loads some rows, computes with all of them, stores some."""
    out = nl.ndarray((rows, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    data = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(data[0:x.shape[0], :], x)
    most = tile((128, 1))
    nisa.tensor_reduce(most, nl.maximum, data, axis=1)
    scaled = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(scaled, data, nl.multiply, most)
    nisa.dma_copy(out, scaled[0:rows, :])
    return out


@pytest.mark.parametrize(("kernel", "api"), [(masked, "neuronxcc.nki"), (loaded_in_part, "nki")])
def test_rows_of_garbage_may_be_computed_with(kernel: Any, api: str) -> None:
    data = normal(100, 32)
    found = run_kernel(kernel, data, 100, api=api)
    assert np.array_equal(found, data * data.max(axis=1, keepdims=True))


@pytest.mark.parametrize(("kernel", "api"), [(masked, "neuronxcc.nki"), (loaded_in_part, "nki")])
def test_rows_of_garbage_may_not_be_stored(kernel: Any, api: str) -> None:
    with pytest.raises(ProgramError, match=r"element .100, 0. of 'data' .* is read, but nothing has "
                                           r"written it, and element .100, 0. of 'out', stored at"):
        run_kernel(kernel, normal(100, 32), 120, api=api)


def partly(x: Any, rows: int, columns: int) -> Any:
    """A tile of 64 x 64 of which x is written."""
    data = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(data[0:rows, 0:columns], x)
    return data


def multiplied(x: Any, other: Any) -> Any:
    psum = tile((64, 64), buffer=nl.psum)
    nisa.nc_matmul(psum, partly(x, 64, 32), partly(other, 64, 16))
    return psum


def added(x: Any, other: Any) -> Any:
    psum = multiplied(x, other)
    nisa.nc_matmul(psum, partly(x, 64, 32), partly(other, 64, 16), accumulate=True)
    return psum


def added_to_whole(x: Any, other: Any) -> Any:
    psum, zeros = tile((64, 64), buffer=nl.psum), tile((64, 64))
    nisa.memset(zeros, 0.0)
    nisa.nc_matmul(psum, zeros, zeros)
    nisa.nc_matmul(psum, partly(x, 64, 32), partly(other, 64, 16), accumulate=True)
    return psum


def transposed(x: Any, other: Any) -> Any:
    psum = tile((64, 64), buffer=nl.psum)
    nisa.nc_transpose(psum, partly(x, 64, 32))
    return psum


def turned(x: Any, other: Any) -> Any:
    psum = tile((64, 64), buffer=nl.psum)
    nisa.nc_matmul(psum, partly(x, 64, 32), nl.shared_identity_matrix(64, dtype=nl.float32),
                   is_transpose=True)
    return psum


@pytest.mark.parametrize(("product", "columns", "expected"), [
    (multiplied, 16, lambda x, y: x.T @ y), (added, 16, lambda x, y: 2 * (x.T @ y)),
    (added_to_whole, 16, lambda x, y: x.T @ y),
    (transposed, 64, lambda x, y: x.T), (turned, 64, lambda x, y: x.T)])
def test_products_have_garbage_where_they_depend_on_it(product: Any, columns: int,
                                                       expected: Any) -> None:
    def kernel(x: Any, other: Any, rows: int, columns: int) -> Any:
        whole = loaded_from(product(x, other))
        return stored(whole[0:rows, 0:columns])

    x, other = normal(64, 32), normal(64, 16)
    found = run_kernel(kernel, x, other, 32, columns, api="nki")
    np.testing.assert_allclose(found, expected(x, other), rtol=1e-5, atol=1e-5)
    with pytest.raises(ProgramError, match=r"element .0, 32. of .* nothing has written it, and "
                                           r"element .32, 0. of .* comes from it"):
        run_kernel(kernel, x, other, 33, columns, api="nki")
    if columns < 64:
        with pytest.raises(ProgramError, match=r"and element .0, 16. of .* comes from it"):
            run_kernel(kernel, x, other, 32, 17, api="nki")


def loaded_from(psum: Any) -> Any:
    whole = tile(psum.shape)
    nisa.tensor_copy(whole, psum)
    return whole


def test_a_transpose_of_some_rows_has_garbage_in_the_columns_of_the_others() -> None:
    def kernel(x: Any, columns: int) -> Any:
        psum = tile((64, 64), buffer=nl.psum)
        nisa.nc_transpose(psum, partly(x, 32, 64))
        return stored(loaded_from(psum)[:, 0:columns])

    x = normal(32, 64)
    np.testing.assert_array_equal(run_kernel(kernel, x, 32, api="nki"), x.T)
    for chip, columns, first in (("trn2", 33, 32), ("trn1", 32, 0)):
        with pytest.raises(ProgramError, match=rf"element .0, {first}. of .* comes from it"):
            run_kernel(kernel, x, columns, api="nki", chip=chip)


def test_the_vector_engine_transposes_garbage_exactly_on_every_chip() -> None:
    def kernel(x: Any, columns: int) -> Any:
        data, turned_ = nl.ndarray((32, 32), dtype=x.dtype, buffer=nl.sbuf), tile((32, 32))
        nisa.dma_copy(data[0:16, :], x)
        nisa.nc_transpose(turned_, data, engine=nisa.engine.vector)
        return stored(turned_[:, 0:columns])

    x = normal(16, 32)
    np.testing.assert_array_equal(run_kernel(kernel, x, 16, api="nki", chip="trn1"), x.T)
    with pytest.raises(ProgramError, match=r"element .0, 16. of .* comes from it"):
        run_kernel(kernel, x, 17, api="nki", chip="trn1")


@pytest.mark.parametrize("half", [0, 1])
def test_garbage_in_either_half_of_a_folded_contraction_counts(half: int) -> None:
    def kernel(x: Any, rows: int) -> Any:
        left, right = [tile((64, 2, 64), nl.float8_e4m3) for _ in range(2)]
        nisa.tensor_copy(right, loaded(x).reshape((64, 2, 64)))
        nisa.tensor_copy(left[:, 1 - half, :], right[:, 1 - half, :])
        nisa.tensor_copy(left[:, half, 0:32], right[:, half, 0:32])
        psum = tile((64, 64), buffer=nl.psum)
        nisa.nc_matmul(psum, left, right, perf_mode=nisa.matmul_perf_mode.double_row)
        return stored(loaded_from(psum)[0:rows, :])

    x = np.ones((64, 128), np.float32)
    np.testing.assert_array_equal(run_kernel(kernel, x, 32, api="nki"), np.full((32, 64), 128.0))
    with pytest.raises(ProgramError, match=r"and element .32, 0. of .* comes from it"):
        run_kernel(kernel, x, 33, api="nki")


def test_garbage_in_all_columns_spoils_a_product() -> None:
    def kernel(x: Any) -> Any:
        data = nl.ndarray((64, 32), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(data[0:32, :], x)
        nisa.tensor_scalar(data, data, nl.multiply, 2.0)
        psum = tile((32, 32), buffer=nl.psum)
        nisa.nc_matmul(psum, data, data)
        return stored(loaded_from(psum))
    with pytest.raises(ProgramError, match=r"element .32, 0. of 'data'"):
        run_kernel(kernel, normal(32, 32), api="nki")


def test_a_shuffle_moves_garbage_and_reads_only_what_it_moves() -> None:
    def kernel(x: Any, rows: int) -> Any:
        data = partly(x, 32, 64)
        nisa.nc_stream_shuffle(data, data, [31, 255, *range(2, 31), 0])
        nisa.nc_stream_shuffle(data[32:64, :], data[0:32, :], [*range(31), 255])
        return stored(data[0:rows, :])

    x = normal(32, 64)
    found = run_kernel(kernel, x, 63, api="nki")
    moved = x[[31, *range(1, 31), 0]]
    np.testing.assert_array_equal(found, np.concatenate([moved, moved[0:31]]))
    with pytest.raises(ProgramError, match=r"element .63, 0. of 'out', stored at"):
        run_kernel(kernel, x, 64, api="nki")

    def spread(x: Any, rows: int) -> Any:
        data = partly(x, 16, 64)
        nisa.nc_stream_shuffle(data[0:32, :], data[0:32, :], [*range(15), 16, 15, *[255] * 15])
        return stored(data[0:rows, :])
    np.testing.assert_array_equal(run_kernel(spread, x[0:16], 15, api="nki"), x[0:15])
    with pytest.raises(ProgramError, match=r"element .16, 0. of .* and element .15, 0. of "):
        run_kernel(spread, x[0:16], 16, api="nki")


def gathered(data: Any, index: Any) -> Any:
    found = tile((64, 32))
    nisa.nc_n_gather(found, data, index)
    return found


def gathered_by_groups(data: Any, index: Any) -> Any:
    found, few = tile((64, 32)), tile((64, 2), nl.uint16)
    nisa.tensor_copy(few, index[:, 0:2])
    nisa.local_gather(found, data, few, num_elem_per_idx=1, num_valid_indices=32)
    return found


@pytest.mark.parametrize(("gather", "kind"), [
    (gathered, nl.uint32), (gathered_by_groups, nl.uint16)])
def test_a_gather_takes_garbage_along(gather: Any, kind: Any) -> None:
    def kernel(x: Any, at: int, rows: int, written: int) -> Any:
        data, index = partly(x, 32, 64), tile((64, 32), kind)
        nisa.memset(index[0:written, :], at)
        return stored(gather(data, index)[0:rows, :])

    x = normal(32, 64)
    found = run_kernel(kernel, x, 7, 32, 64, api="nki")
    np.testing.assert_array_equal(found, np.repeat(x[:, 7:8], 32, axis=1))
    with pytest.raises(ProgramError, match=r"element .32, 0. of .* comes from it"):
        run_kernel(kernel, x, 7, 33, 64, api="nki")
    with pytest.raises(ProgramError, match=r"element .32, 0. of 'sbuf_\d' .* nothing has written"):
        run_kernel(kernel, x, 7, 32, 32, api="nki")


def test_garbage_between_the_partitions_that_are_counted_in_does_not_matter() -> None:
    def kernel(x: Any) -> Any:
        data = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(data[0:1, :], x)
        found = tile((128, 33), nl.int32)
        nisa.nonzero_with_count(dst=found, src=data)
        out = nl.ndarray((1, 33), dtype=nl.int32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, found[0:1, :])
        return out

    x = np.zeros((1, 32), np.float32)
    x[0, [3, 8]] = 1.0
    assert run_kernel(kernel, x, api="nki").tolist() == [[3, 8] + [-1] * 30 + [2]]


def copied(data: Any, result: Any) -> None:
    flags = tile((64, 32), nl.uint8)
    nisa.memset(flags, 0)
    nisa.memset(flags[:, 0:16], 1)
    nisa.memset(result, -1.0)
    nisa.tensor_copy_predicated(src=data, dst=result, predicate=flags)


def selected(data: Any, result: Any) -> None:
    nisa.affine_select(dst=result, pattern=[[-1, 32]], offset=15, channel_multiplier=0,
                       on_true_tile=data, on_false_value=-1.0, cmp_op=nl.greater_equal)


def in_range(data: Any, result: Any) -> None:
    low, high, most = tile((64, 1)), tile((64, 1)), tile((64, 1))
    nisa.memset(low, 0.0)
    nisa.memset(high, 16.0)
    nisa.range_select(dst=result, on_true_tile=data, comp_op0=nl.greater_equal, comp_op1=nl.less,
                      bound0=low, bound1=high, reduce_cmd=nisa.reduce_cmd.reset_reduce,
                      reduce_res=most, reduce_op=nl.maximum, range_start=0)
    nisa.tensor_scalar(result, result, nl.maximum, -1000.0)


def reduced(data: Any, result: Any) -> None:
    flags = tile((64, 32), nl.uint8)
    nisa.memset(flags, 0)
    nisa.memset(flags[:, 0:16], 1)
    nisa.select_reduce(dst=result, predicate=flags, on_true=data, on_false=-1000.0)


@pytest.mark.parametrize("choose", [copied, selected, in_range, reduced])
@pytest.mark.parametrize("written", [16, 15])
def test_garbage_that_is_not_chosen_does_not_matter(choose: Any, written: int) -> None:
    def kernel(x: Any) -> Any:
        data = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(data[:, 0:written], x[:, 0:written])
        result = tile((64, 32))
        choose(data, result)
        return stored(result)
    x = normal(64, 32)
    if written == 16:
        found = run_kernel(kernel, x, api="nki")
        assert np.array_equal(found[:, :16], x[:, :16]) and (found[:, 16:] == found[0, 16]).all()
        return
    with pytest.raises(ProgramError, match=r"element .0, 15. of 'data' .* is read, but nothing has"):
        run_kernel(kernel, x, api="nki")


def test_the_message_names_what_was_read_first() -> None:
    def kernel(x: Any) -> Any:
        data = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(data[0:32, :], x[0:32, :])
        between = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(between, data)
        last = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(last, between)
        return stored(last)
    with pytest.raises(ProgramError, match=r"element .32, 0. of 'data' .*, and element .32, 0. of "
                                           "'out', stored at"):
        run_kernel(kernel, normal(64, 32), api="nki")


def test_the_message_forgets_what_has_been_overwritten() -> None:
    def kernel(x: Any) -> Any:
        first = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        second = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        for source in (first, second):
            nisa.dma_copy(source[0:32, :], x[0:32, :])
        data = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(data, first)
        nisa.memset(data, 0.0)
        nisa.tensor_copy(data, second)
        return stored(data)
    with pytest.raises(ProgramError, match=r"element .32, 0. of 'second' .* of 'out', stored at"):
        run_kernel(kernel, normal(64, 32), api="nki")


@pytest.mark.parametrize("first", [16, 15])
def test_what_a_mask_keeps_of_a_row_of_garbage_stays(first: int) -> None:
    def kernel(x: Any) -> Any:
        out = old.ndarray((64, 32), dtype=x.dtype, buffer=old.shared_hbm)
        p, f = old.mgrid[0:64, 0:32]
        column = old.load(x[p, old.arange(1)[None, :]], mask=p < 32)
        data = old.load(x)
        data[p, f] = old.add(data, column, mask=f < 16)
        old.store(out[p, f], value=data, mask=f >= first)
        return out
    x = normal(64, 32)
    if first == 16:
        assert np.array_equal(run_kernel(kernel, x, api="neuronxcc.nki")[:, 16:], x[:, 16:])
        return
    with pytest.raises(ProgramError, match=r"element .32, 0. of 'column'"):
        run_kernel(kernel, x, api="neuronxcc.nki")


@pytest.mark.parametrize("choose", ["copy", "reduce"])
def test_garbage_that_chooses_matters(choose: str) -> None:
    def kernel(x: Any) -> Any:
        data, result = loaded(x), tile((64, 32))
        flags = nl.ndarray((64, 32), dtype=nl.uint8, buffer=nl.sbuf)
        nisa.memset(flags[:, 0:16], 1)
        nisa.memset(result, 0.0)
        if choose == "copy":
            nisa.tensor_copy_predicated(src=data, dst=result, predicate=flags)
        else:
            nisa.select_reduce(dst=result, predicate=flags, on_true=data, on_false=0.0)
        return stored(result)
    with pytest.raises(ProgramError, match=r"element .0, 16. of 'flags' .* is read, but nothing has"):
        run_kernel(kernel, normal(64, 32), api="nki")
