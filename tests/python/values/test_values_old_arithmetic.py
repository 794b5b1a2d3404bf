# SPDX-License-Identifier: Apache-2.0
# Types and shapes of the 0.1 dialect's arithmetic, and what it refuses.
"""Theorem: results have the types that AWS documents, and what it calls an error is one.

[NKI-SHARED-2.26, NKI-LANGUAGE-2.26, NKI-ISA-2.26, NKI-ERRORS-2.26]
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from values_helpers import BF16, evaluate_old, integers, normal, run_kernel

from trnsim.errors import FrontendError
from trnsim.frontend import trace

nki: Any = importlib.import_module("neuronxcc.nki")
nl: Any = importlib.import_module("neuronxcc.nki.language")
nisa: Any = importlib.import_module("neuronxcc.nki.isa")

DATA = normal(64, 40)


@pytest.mark.parametrize(("left", "right", "expected"), [
    ("int32", "float16", "float16"), ("float32", "bfloat16", "float32"),
    ("float16", "bfloat16", "float32"), ("float8_e4m3", "float16", "float16"),
    ("float8_e4m3", "bfloat16", "bfloat16"), ("float8_e4m3", "float8_e5m2", "bfloat16"),
    ("int16", "int32", "int32"), ("uint8", "uint16", "uint16"), ("uint16", "int32", "int32"),
    ("int8", "uint8", "int16"), ("int8", "uint16", "int32"), ("int32", "uint32", "float32"),
    ("int8", "int8", "int8")])
def test_types_are_promoted_to_what_holds_both(left: str, right: str, expected: str) -> None:
    """AWS's table, with the operands in either order."""
    def body(tile: Any) -> Any:
        a, b = (nl.copy(tile, dtype=getattr(nl, one)) for one in (left, right))
        assert nl.add(a, b).dtype == nl.multiply(b, a).dtype == getattr(nl, expected)
        assert nisa.tensor_tensor(a, b, nl.add).dtype == getattr(nl, expected)
        return tile
    evaluate_old(body, DATA)


@pytest.mark.parametrize(("kind", "number", "expected"), [
    ("int8", 2, "int32"), ("float16", 1.2, "float32"), ("float16", np.float16(2), "float16"),
    ("int32", 2.5, "float32"), ("bfloat16", 2, "bfloat16"), ("float32", np.float64(2), "float32"),
    ("uint8", True, "uint8"), ("int32", np.asarray(0.5), "float32"),
    ("int8", np.int64(3), "int32")], ids=str)
def test_numbers_without_a_type_are_the_widest_of_their_kind(kind: str, number: Any,
                                                             expected: str) -> None:
    """Numbers of numpy have the type that they have."""
    def body(tile: Any) -> Any:
        a = nl.copy(tile, dtype=getattr(nl, kind))
        assert nl.add(a, number).dtype == (number * a).dtype == getattr(nl, expected)
        fraction = expected if "float" in expected else "float32"
        assert nl.divide(number, a).dtype == getattr(nl, fraction)
        assert nisa.tensor_scalar(a, nl.add, number).dtype == getattr(nl, kind)
        return tile
    evaluate_old(body, DATA)


def test_one_divided_by_a_tile_has_the_type_of_other_quotients() -> None:
    def body(tile: Any) -> Any:
        a = nl.copy(tile, dtype=nl.bfloat16)
        assert nl.divide(1.0, a).dtype == nl.divide(2.5, a).dtype == nl.float32
        assert nl.divide(1, a).dtype == nl.divide(2, a).dtype == nl.bfloat16
        return tile
    evaluate_old(body, DATA)


def test_negatives_keep_their_type() -> None:
    """The constant of an operator with one operand has no say."""
    assert evaluate_old(lambda t: -t, DATA.astype(BF16)).dtype == BF16


def test_numbers_may_come_first() -> None:
    """Operators mean the same with the tile on either side."""
    data = integers(0, 1000, 8, 40)
    for body in (lambda t: 15 & t, lambda t: 5 | t, lambda t: 9 ^ t, lambda t: 3 << (t & 7),
                 lambda t: (1 << 20) >> (t & 7)):
        np.testing.assert_array_equal(evaluate_old(body, data), body(data))
    np.testing.assert_allclose(evaluate_old(lambda t: 2.0 ** t, DATA), 2.0 ** DATA, rtol=1e-5)


@pytest.mark.parametrize("operation", [
    lambda x: x + 2, lambda x: 2 + x, lambda x: x - 2, lambda x: 2 - x, lambda x: x * 3,
    lambda x: 3 * x, lambda x: x / 2, lambda x: 2 / x, lambda x: x % 3, lambda x: -x,
    lambda x: x ** 2, lambda x: x < 3, lambda x: x <= 3, lambda x: x > 3, lambda x: x >= 3,
    lambda x: x == 3, lambda x: x != 3])
def test_operators_of_tiles_are_those_of_numbers(operation: Callable[[Any], Any]) -> None:
    x = integers(1, 6, 32, 8).astype(np.float32)
    np.testing.assert_allclose(evaluate_old(operation, x), operation(x), rtol=1e-6)


@pytest.mark.parametrize("operation", [
    lambda x: x & 6, lambda x: 6 & x, lambda x: x | 6, lambda x: 6 | x, lambda x: x ^ 6,
    lambda x: 6 ^ x, lambda x: x << 2, lambda x: x >> 2, lambda x: ~x, lambda x: 2 << x,
    lambda x: 4096 >> x])
def test_operators_of_bits_are_those_of_integers(operation: Callable[[Any], Any]) -> None:
    x = integers(0, 9, 32, 8)
    np.testing.assert_array_equal(evaluate_old(operation, x), operation(x))


@pytest.mark.parametrize(("op", "reference"), [
    (np.logical_not, lambda x: (x == 0).astype(np.float32)), (nl.abs, np.abs), (np.negative, np.negative),
    (np.square, np.square), (nl.sign, np.sign), (nl.relu, lambda x: np.maximum(x, 0))])
def test_operators_of_one_operand(op: Any, reference: Callable[[Any], Any]) -> None:
    data = np.round(2 * DATA)
    np.testing.assert_array_equal(evaluate_old(lambda t: nisa.tensor_scalar(t, op, None), data), reference(data))


def test_bits_of_truth_values_are_flipped_with_a_warning() -> None:
    """A known issue of NKI, which its error page overlooks."""
    def kernel(data: Any) -> Any:
        found = nl.copy(~(nl.load(data) > 0), dtype=nl.float32)
        output = nl.ndarray(found.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(output, found)
        return output
    (note,) = trace(kernel, [DATA], api="neuronxcc.nki").notes
    assert note.endswith("as NKI's known issues say; use nl.logical_not")
    np.testing.assert_array_equal(evaluate_old(lambda t: ~t, integers(0, 9, 8, 8)),
                                  ~integers(0, 9, 8, 8))


def test_versions_compare_with_numbers() -> None:
    """As AWS's IntEnum does."""
    def body(tile: Any) -> Any:
        version = nisa.get_nc_version()
        assert version >= 3 and version == nisa.nc_version.gen3 < nisa.nc_version.gen4
        return tile
    evaluate_old(body, DATA)


def test_means_of_integers_are_numbers_with_fractions() -> None:
    """Nor does the sum saturate."""
    data = np.full((32, 40), 100, dtype=np.int8)
    data[:, 0] = 101
    found = evaluate_old(lambda t: nl.mean(t, axis=1), data)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.full((32, 1), 100.025), rtol=1e-6)


@pytest.mark.parametrize(("body", "wanted"), [
    (lambda x: nl.divide(7.0, x, dtype=nl.int32), lambda x: 7.0 / x),
    (lambda x: nl.mean(x, axis=1, dtype=nl.int32), lambda x: x.mean(1, keepdims=True)),
    (lambda x: nl.rms_norm(x, nl.full((64, 8), 10.0, nl.float32), axis=1, n=8, dtype=nl.int32),
     lambda x: 10 * x / np.sqrt((x * x).mean(1, keepdims=True))),
    (lambda x: nl.softmax(x, axis=1, dtype=nl.int32), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    (lambda x: nl.softmax(x[:, 0:3], axis=1, dtype=nl.int32),
     lambda x: np.exp(x[:, :3]) / np.exp(x[:, :3]).sum(1, keepdims=True)),
    (lambda x: nl.softmax(x.reshape((64, 2, 4)), axis=2, dtype=nl.int32).reshape((64, 8)),
     lambda x: (np.exp(x).reshape(64, 2, 4)
                / np.exp(x).reshape(64, 2, 4).sum(2, keepdims=True)).reshape(64, 8))],
    ids=["divide", "mean", "rms_norm", "softmax", "softmax of three", "softmax of some axes"])
def test_integers_are_rounded_once_at_the_end(body: Callable[[Any], Any],
                                              wanted: Callable[[Any], Any]) -> None:
    x = np.abs(normal(64, 8)) + 0.25
    np.testing.assert_array_equal(evaluate_old(body, x).reshape(64, -1), np.rint(wanted(x)))


def test_all_makes_truth_values() -> None:
    """Of whatever type the operand is."""
    data = integers(0, 2, 64, 3).astype(np.float32)

    def body(tile: Any) -> Any:
        found = nl.all(tile, axis=1)
        assert found.dtype == nl.bool_
        return nl.copy(found, dtype=nl.uint8)
    assert evaluate_old(body, data).reshape(-1).tolist() == data.all(1).tolist()


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int16, np.int8])
def test_conditions_are_true_unless_they_are_zero(kind: Any) -> None:
    """Negative numbers and fractions are true."""
    data = np.array([[-2, -1, 0, 1, 2, 0.25]] * 8).astype(kind)
    found = evaluate_old(lambda t: nl.where(t, nl.copy(t, dtype=nl.float32), 7.0), data)
    np.testing.assert_array_equal(found, np.where(data != 0, data, 7.0))


def test_conditions_have_32_bits_at_most() -> None:
    """As everything that engines read."""
    with pytest.raises(FrontendError, match="engines compute with 32 bits at most"):
        evaluate_old(lambda t: nl.where(t, 1.0, nl.zeros((8, 6), nl.float32)),
                  integers(0, 2, 8, 6).astype(np.int64))


@pytest.mark.parametrize("normalized", [
    lambda t, **types: nl.softmax(t, axis=1, **types),
    lambda t, **types: nl.rms_norm(t, nl.copy(t), axis=1, n=40, **types)],
    ids=["softmax", "rms_norm"])
def test_the_type_of_a_computation_is_that_of_its_result(
        normalized: Callable[..., Any]) -> None:
    """Unless the program says another."""
    assert evaluate_old(lambda t: normalized(t, compute_dtype=nl.bfloat16), DATA).dtype == BF16
    assert evaluate_old(lambda t: normalized(t, compute_dtype=nl.bfloat16, dtype=nl.float32),
                     DATA).dtype == np.float32


@pytest.mark.parametrize("add", [
    lambda target, tile: nisa.dma_copy(dst=target, src=tile, dst_rmw_op=np.add),
    lambda target, tile: nl.atomic_rmw(target, tile, op=np.add)], ids=["dma_copy", "atomic_rmw"])
def test_rows_of_equal_indices_are_all_added(add: Callable[[Any, Any], None]) -> None:
    """AWS's compiler puts synchronization between them."""
    places = (np.arange(64, dtype=np.int32) // 4)[:, None]

    def kernel(data: Any, indices: Any) -> Any:
        output = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(output, nl.load(data))
        at, row, column = nl.load(indices), nl.arange(64)[:, None], nl.arange(40)[None, :]
        add(output[at[row, 0], column], nl.load(data))
        return output
    expected = DATA.copy()
    np.add.at(expected, places[:, 0], DATA)
    found = run_kernel(kernel, DATA, places, api="neuronxcc.nki")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_tensors_are_iterated_over_by_their_first_axis() -> None:
    """And end."""
    assert evaluate_old(lambda t: nl.multiply(t, float(len(list(t)))), DATA[:3]).max() == (
        3 * DATA[:3]).max()


def _add_to(shape: tuple[int, int]) -> Callable[[Any], Any]:
    def body(tile: Any) -> Any:
        total = nl.zeros(shape, nl.float32)
        total += tile
        return total
    return body


@nki.trace
def _inner(tile: Any) -> Any:
    return tile


def _atomic(op: Any) -> Callable[[Any], Any]:
    def body(tile: Any) -> Any:
        output = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.atomic_rmw(output, tile, op=op)
        return tile
    return body


def _turned_rows(tile: Any) -> Any:
    table = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(table, tile)
    at = nisa.iota(nl.arange(64)[:, None], dtype=nl.int32)
    row, column = nl.arange(64)[:, None], nl.arange(40)[None, :]
    return nl.load_transpose2d(table[at[row, 0], column])


def _gathered(tile: Any) -> Any:
    at = nl.mgrid[0:64, 0:2]
    indices = nl.copy(tile[0:64, 0:2], dtype=nl.uint16)
    return nisa.local_gather(tile, indices[at.p, at.x], mask=at.p < 16)


def _turned_blocks(tile: Any) -> Any:
    row, block, column = nl.mgrid[0:64, 0:4, 0:10]
    return nisa.nc_transpose(tile.reshape((64, 4, 10))[row, block, column], mask=block < 2)


def _selected(bound: Any, reduce_op: Any) -> Callable[[Any], Any]:
    def body(tile: Any) -> Any:
        limit = nl.zeros((64, 1), nl.float32) if bound is None else bound
        return nisa.range_select(on_true_tile=tile, comp_op0=np.less, comp_op1=np.less,
                                 bound0=limit, bound1=limit, reduce_op=reduce_op)
    return body


@pytest.mark.parametrize(("body", "message"), [
    (_add_to((40, 40)), r"a tile of shape \[64, 40\] does not broadcast to \[40, 40\]"),
    (_atomic(np.maximum), "op of nl.atomic_rmw is maximum, but the DMA engines only add"),
    (_selected(5.0, None), "range_select: bound0 is float, but must be a tile"),
    (_selected(None, np.add), "range_select: reduce_op is add, but must be maximum"),
    (lambda t: nisa.tensor_scalar(t, np.add, 1.0, op1=np.multiply),
     "op1 and operand1 come together, but only op1 is given"),
    (lambda t: nisa.tensor_scalar(t, np.add, 1.0, operand1=2.0),
     "op1 and operand1 come together, but only operand1 is given"),
    (_turned_rows, "nl.load_transpose2d: src is indexed by a tile"),
    (_gathered, "local_gather: the mask leaves out some of the indices"),
    (_turned_blocks, "nc_transpose: the mask clips a tile with 3 axes"),
    (lambda t: nisa.affine_select(pred=t > 0, on_true_tile=t, on_false_value=0.0),
     "affine_select: pred is Tensor, but must compare indices"),
    (lambda t: nisa.affine_select(pred=nl.arange(64)[:, None] > 3, on_true_tile=t,
                                  on_false_value=t),
     "affine_select: on_false_value is Tensor, but must be a number"),
    (lambda t: nisa.affine_select(pred=nl.mgrid[0:64, 0:20].x > 3, on_true_tile=t,
                                  on_false_value=0.0),
     r"affine_select: pred spans \[1, 20\], but on_true_tile is \[64, 40\]"),
    (lambda t: nisa.affine_select(pred=nl.arange(64)[:, None] == 3, on_true_tile=t,
                                  on_false_value=0.0), "pred is not one comparison by <, <=, > or"),
    (lambda t: _inner[4, 4](t), r"_inner is launched on a grid of \[4, 4\] inside of another"),
], ids=["partitions", "maximum in HBM", "bounds", "sum of a selection", "op1", "operand1",
        "indexed transpose", "gather", "blocks", "pred", "on_false_value", "shape",
        "equality", "grid"])
def test_errors(body: Callable[[Any], Any], message: str) -> None:
    """What AWS documents as an error, or as impossible, is refused."""
    with pytest.raises(FrontendError, match=message):
        evaluate_old(body, DATA)


@pytest.mark.parametrize("axis", [2, (2, 3), 1])
def test_softmax_and_rms_norm_over_some_free_axes(axis: Any) -> None:
    """Each row of the axes that stay has a sum of its own."""
    data, factor = normal(32, 4, 3, 10) + 200.0, 0.5  # Beyond what exp takes.
    shifted = np.exp(data - data.max(axis=axis, keepdims=True))
    found = evaluate_old(lambda t: nl.softmax(t, axis=axis), data)
    np.testing.assert_allclose(found, shifted / shifted.sum(axis=axis, keepdims=True), rtol=1e-5)
    count = shifted.size // shifted.sum(axis=axis).size
    mean = np.square(data).mean(axis=axis, keepdims=True)
    found = evaluate_old(lambda t: nl.rms_norm(t, factor, axis=axis, n=count), data)
    np.testing.assert_allclose(found, data / np.sqrt(mean + 1e-6) * factor, rtol=1e-4)


@pytest.mark.parametrize("chip", ["trn1", "trn2"])
def test_the_scalar_engine_copies_by_way_of_float32(chip: str) -> None:
    """On NeuronCore-v2 as well."""
    def kernel(given: Any) -> Any:
        output = nl.ndarray(given.shape, dtype=given.dtype, buffer=nl.shared_hbm)
        nl.store(output, nisa.tensor_copy(nl.load(given), engine=nisa.scalar_engine))
        return output

    ops = trace(kernel, [np.zeros((64, 40), np.int32)], chip, api="neuronxcc.nki").lines()
    assert any('"activation"' in line for line in ops) == (chip == "trn1")
    data = integers(-50, 50, 64, 40)
    np.testing.assert_array_equal(run_kernel(kernel, data, api="neuronxcc.nki", chip=chip), data)


def test_a_number_is_added_in_hbm() -> None:
    """The value of atomic_rmw may be one."""
    rows = np.arange(64, dtype=np.int32)[::-1].reshape(64, 1).copy()

    def kernel(given: Any, places: Any) -> Any:
        output = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(output, nl.load(given))
        index = nl.load(places)
        nl.atomic_rmw(output[index[nl.arange(64)[:, None], 0], nl.arange(40)[None, :]], 2.0,
                      op=np.add)
        return output

    np.testing.assert_allclose(run_kernel(kernel, DATA, rows, api="neuronxcc.nki"), DATA + 2.0)


def test_a_number_is_stored_where_the_mask_leaves() -> None:
    """In rows, too, at which no engine starts."""
    def kernel(given: Any) -> Any:
        output = nl.ndarray((64, 40), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(output, nl.load(given))
        row, column = nl.arange(64)[:, None], nl.arange(40)[None, :]
        nl.store(output[row, column], 7.0, mask=row > 60)
        return output

    expected = DATA.copy()
    expected[61:] = 7.0
    np.testing.assert_allclose(run_kernel(kernel, DATA, api="neuronxcc.nki"), expected)


def test_the_index_of_a_loop_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """In every iteration."""
    def kernel(given: Any) -> Any:
        for i in nl.affine_range(3):
            nl.device_print("i =", i)
        return given

    run_kernel(kernel, DATA, api="neuronxcc.nki")
    assert capsys.readouterr().out == "i = 0\ni = 1\ni = 2\n"
