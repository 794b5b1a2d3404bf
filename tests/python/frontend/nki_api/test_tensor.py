# SPDX-License-Identifier: Apache-2.0
# Tests of NkiTensor: shapes, strides and messages of every view.
"""Views of the `nki` API compute the same shapes and elements as numpy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from helpers import elements, program, tensor, traced
from kernels import nisa, nki, nl
from trnsim.frontend import IllegalInstruction, ProgramError

SBUF, HBM = (128, 8, 6), (4, 8, 6)


def in_kernel(body: Callable[[Any, Any], Any]) -> Any:
    """Calls body(on-chip tensor, HBM tensor) in a trace and returns what it returns."""
    found: list[Any] = []

    @nki.jit
    def kernel(h: Any) -> None:
        found.append(body(nl.ndarray(SBUF, dtype=nl.float32, buffer=nl.sbuf), h))
    program(kernel, tensor("float32", *HBM))
    return found[0]


WHOLE_SBUF = numpy.arange(128 * 48).reshape(SBUF)
WHOLE_HBM = numpy.arange(4 * 48).reshape(HBM)

HBM_VIEWS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda t: t[1], WHOLE_HBM[1]), (lambda t: t[-1], WHOLE_HBM[-1]),
    (lambda t: t[1, 2], WHOLE_HBM[1, 2]), (lambda t: t[..., 3], WHOLE_HBM[..., 3]),
    (lambda t: t[0:2, 1:7:2], WHOLE_HBM[0:2, 1:7:2]), (lambda t: t[:, nl.ds(2, 3), 5],
                                                       WHOLE_HBM[:, 2:5, 5]),
    (lambda t: t[1:3, 2:4, 0:6], WHOLE_HBM[1:3, 2:4]), (lambda t: t[2, 2:4, 0:6],
                                                        WHOLE_HBM[2, 2:4]),
    (lambda t: t[1, 2, 3], WHOLE_HBM[1, 2, 3:4]),
    (lambda t: t[1, -2], WHOLE_HBM[1, -2]), (lambda t: t[..., -1], WHOLE_HBM[..., -1]),
    (lambda t: t[-1, 1:-2, 0:6], WHOLE_HBM[-1, 1:-2]),
    (lambda t: t.permute((2, 0, 1)), WHOLE_HBM.transpose(2, 0, 1)),
    (lambda t: t.reshape((32, 6)), WHOLE_HBM.reshape(32, 6)),
    (lambda t: t.reshape((-1,)), WHOLE_HBM.reshape(-1)),
    (lambda t: t.reshape((4, 2, 4, 6)), WHOLE_HBM.reshape(4, 2, 4, 6)),
    (lambda t: t[0:4, 0:4, 0:6].reshape((4, 24)), WHOLE_HBM[:, 0:4].reshape(4, 24)),
    (lambda t: t.slice(1, 2, 8, 3), WHOLE_HBM[:, 2:8:3]), (lambda t: t.select(2, 1),
                                                           WHOLE_HBM[:, :, 1]),
    (lambda t: t.expand_dim(0), WHOLE_HBM[None]), (lambda t: t.expand_dim(-1),
                                                   WHOLE_HBM[..., None]),
    (lambda t: t.reshape_dim(1, (2, -1)), WHOLE_HBM.reshape(4, 2, 4, 6)),
    (lambda t: t.flatten_dims(0, 1), WHOLE_HBM.reshape(32, 6)),
    (lambda t: t.rearrange(("a", ("b", "c"), "d"), ("b", "c", ("a",), "d"), {"b": 2}),
     WHOLE_HBM.reshape(4, 2, 4, 6).transpose(1, 2, 0, 3)),
    (lambda t: t[0:4, 0:1, 0:6].broadcast(1, 5), numpy.broadcast_to(WHOLE_HBM[:, 0:1], (4, 5, 6))),
    (lambda t: t[0:1].squeeze_dim(0), WHOLE_HBM[0]),
    (lambda t: t[nl.affine_range(4), nl.affine_range(1, 8, 2)], WHOLE_HBM[:, 1::2]),
    (lambda t: t.ap([[6, 3], [1, 2]], offset=48),
     48 + 6 * numpy.arange(3)[:, None] + numpy.arange(2)),
]


@pytest.mark.parametrize("index", range(len(HBM_VIEWS)))
def test_views_of_hbm_tensors_are_those_of_numpy(index: int) -> None:
    make, expected = HBM_VIEWS[index]
    view = in_kernel(lambda _, h: make(h))
    assert numpy.array_equal(elements(view), expected)


def test_rearranging_across_unmergeable_dimensions_is_an_error() -> None:
    with pytest.raises(IllegalInstruction, match="do not allow the shape .* without a copy"):
        in_kernel(lambda _, h: h.rearrange(("a", ("b", "c"), "d"), ("c", ("b", "a"), "d"),
                                           {"b": 2}))


SBUF_VIEWS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda t: t[0], WHOLE_SBUF[0:1]), (lambda t: t[32:64], WHOLE_SBUF[32:64]),
    (lambda t: t[:, 0], WHOLE_SBUF[:, 0]), (lambda t: t[:, 0, 5], WHOLE_SBUF[:, 0, 5:6]),
    (lambda t: t[0, 0, 5], WHOLE_SBUF[0:1, 0, 5:6]), (lambda t: t[0:64, 3, 0:6],
                                                      WHOLE_SBUF[0:64, 3]),
    (lambda t: t[0:64, 3:5, 1:6], WHOLE_SBUF[0:64, 3:5, 1:6]), (lambda t: t[:, :, ::2],
                                                                WHOLE_SBUF[:, :, ::2]),
    (lambda t: t[64:96][0:32, 1:2], WHOLE_SBUF[64:96, 1:2]),
    (lambda t: t.reshape((128, 48)), WHOLE_SBUF.reshape(128, 48)),
    (lambda t: t.reshape((128, 48))[0:128, 6:12], WHOLE_SBUF.reshape(128, 48)[:, 6:12]),
    (lambda t: t.permute((0, 2, 1)), WHOLE_SBUF.transpose(0, 2, 1)),
    (lambda t: t[:, 0:1].broadcast(1, 8), numpy.broadcast_to(WHOLE_SBUF[:, 0:1], SBUF)),
    (lambda t: t.rearrange(("p", "a", "b"), ("p", "b", "a")), WHOLE_SBUF.transpose(0, 2, 1)),
    (lambda t: t.ap([[48, 64], [6, 2], [1, 3]], offset=48 * 32 + 7),
     (WHOLE_SBUF[32:96].reshape(64, 48)[:, [[7, 8, 9], [13, 14, 15]]])),
    (lambda t: t.ap([[48, 128], [1, 48]]), WHOLE_SBUF.reshape(128, 48)),
]


@pytest.mark.parametrize("index", range(len(SBUF_VIEWS)))
def test_views_of_tiles_are_those_of_numpy(index: int) -> None:
    make, expected = SBUF_VIEWS[index]
    view = in_kernel(lambda t, _: make(t))
    assert numpy.array_equal(elements(view), expected)


def test_equal_views_have_the_same_form() -> None:
    def body(t: Any, _: Any) -> None:
        assert t[0:64, 1, 0:6].form is t[0:64, 2, 0:6].form
        assert t[0:64, 1, 0:6].form is not t[64:128, 1, 0:6].form
        assert t[0:64, 1, 0:6].position != t[0:64, 2, 0:6].position
    in_kernel(body)


def test_another_data_type_rescales_the_last_dimension() -> None:
    def body(t: Any, h: Any) -> None:
        assert t.view(nl.uint8).shape == (128, 8, 24)
        assert t.view(nl.int32).shape == SBUF
        assert h.view(nl.bfloat16)[1].offset == 96
        assert t[:, 2].view(nl.bfloat16).element_offset == 24
        assert t.ap([[96, 128], [1, 96]], dtype=nl.bfloat16).dtype == nl.bfloat16
    in_kernel(body)


@pytest.mark.parametrize(("body", "message"), [
    (lambda t, h: t[0:129], r"sliced 0:129 in dimension 0, but that dimension has 128"),
    (lambda t, h: h[0:4, 0:9], r"hbm tensor 'h' of shape \[4, 8, 6\] is sliced 0:9 in dimension 1, "
                               "but that dimension has 8 elements"),
    (lambda t, h: h[0:4, -9:], "is sliced -9: in dimension 1, but that dimension has 8 elements"),
    (lambda t, h: h[0:4, 3:3], "is sliced 3:3 in dimension 1, but a slice has at least one"),
    (lambda t, h: h[0:4, 3:8:0], "is sliced 3:8:0 in dimension 1, but steps are at least 1"),
    (lambda t, h: h[:, None, :, :], "is indexed with 4 items, but has 3 dimensions, and None adds "
                                    "none; use expand_dim"),
    (lambda t, h: h[4], r"indexed with 4 in dimension 0, but that dimension has 4 elements"),
    (lambda t, h: t[::2], "slices the partitions with step 2"),
    (lambda t, h: h[0, 0, 0, 0], "indexed with 4 items, but has 3 dimensions"),
    (lambda t, h: h["a"], "indexed with 'a' in dimension 0, but takes integers"),
    (lambda t, h: h[2:2], "sliced 2:2 in dimension 0, but a slice has at least one"),
    (lambda t, h: t.permute((1, 0, 2)), "leaves the partitions first"),
    (lambda t, h: t.reshape((64, 96)), "the first dimension stays"),
    (lambda t, h: t.reshape((128, 50)), "has 6144 elements, which do not reshape"),
    (lambda t, h: h.broadcast(1, 3), "broadcast in dimension 1, which has size 8, not 1"),
    (lambda t, h: t.ap([[1, 128], [1, 8]]), r"partition stride \(1,\)"),
    (lambda t, h: h.reshape_dim(1, (3, 3)), r"do not split into \[3, 3\]"),
    (lambda t, h: t[:, :, ::2].view(nl.uint8), "does not view as uint8"),
])
def test_an_impossible_view_is_an_error(body: Callable[[Any, Any], Any], message: str) -> None:
    with pytest.raises(IllegalInstruction, match=message) as error:
        in_kernel(body)
    assert "test_tensor.py:" in str(error.value)


def test_an_access_pattern_that_leaves_its_tensor_is_an_error() -> None:
    with pytest.raises(ProgramError, match="reaches elements 0 to 199, but 'h' has 192"):
        in_kernel(lambda t, h: h.ap([[1, 200]])[0:8])
    with pytest.raises(ProgramError, match="reaches partitions 64 to 191"):
        in_kernel(lambda t, h: t.ap([[48, 128], [1, 8]], offset=48 * 64)[0:32])
    with pytest.raises(ProgramError, match="reaches elements 0 to 59, but each") as error:
        in_kernel(lambda t, h: nisa.memset(t.ap([[48, 128], [1, 60]]), 0))
    assert str(error.value).count("test_tensor.py:") == 1


def test_an_access_pattern_that_leaves_its_tensor_and_is_not_used_is_none() -> None:
    in_kernel(lambda t, h: h.ap([[1, 200]]).shape == (200,) or 1 / 0)
    in_kernel(lambda t, h: [nisa.memset(t.ap([[48, 128], [1, 8]], offset=48 * 64), 0)
                            for _ in range(0)])


def test_a_tensor_is_true_but_the_result_of_an_operation_is_not_asked() -> None:
    in_kernel(lambda t, h: None if h else 1 / 0)
    with pytest.raises(ProgramError, match="only known when the kernel runs.*--values"):
        in_kernel(lambda t, h: not nl.less(t, 3))


def test_an_index_that_is_a_tensor_names_select() -> None:
    with pytest.raises(IllegalInstruction, match=r"tensor '.*' in dimension 0; .* \.select\(0, "):
        in_kernel(lambda t, h: h[t])


def test_a_gather_names_the_operand_with_its_indices() -> None:
    @nki.jit
    def kernel(table: Any, rows: Any) -> None:
        index = nl.ndarray((128, 1), dtype=nl.uint32, buffer=nl.sbuf)
        nisa.dma_copy(index, rows)
        tile = nl.ndarray((128, 64), dtype=table.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, table.ap([[64, 128], [1, 64]], vector_offset=index, indirect_dim=0))
    executed = traced(kernel, tensor("float32", 1000, 64), tensor("uint32", 128, 1))
    assert [one[0] for one in executed[1].operands] == ["dst", "src", "index"]
    lines = program(kernel, tensor("float32", 1000, 64), tensor("uint32", 128, 1)).lines()
    assert any('"indirect":"index"' in line for line in lines)


def test_a_placed_tensor_and_its_views_have_its_address_and_others_have_none() -> None:
    def addresses(free: Any, _: Any) -> Any:
        tile = nl.ndarray((32, 64), dtype=nl.float32, buffer=nl.sbuf, address=(64, 1024))
        return tile.address, tile[0:8, 4:8].address, tile[0].address, free.address
    assert in_kernel(addresses) == ((64, 1024), (64, 1024), (64, 1024), None)


def test_a_shape_is_given_in_every_form() -> None:
    @nki.jit
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 4, 6), dtype=nl.float32, buffer=nl.sbuf)
        assert (tile.reshape(shape=(128, 24)).shape == tile.reshape((128, 24)).shape
                == tile.reshape(128, 24).shape == tile.reshape([128, -1]).shape == (128, 24))
    program(kernel, tensor("float32", 128, 64))
    assert nki.simulate(kernel=kernel) is kernel


@pytest.mark.parametrize("columns, pattern, offset, first", [
    (slice(3, 4), [[1, 128], [1, 1]], 0, (0, 3)), (slice(3, 4), [[64, 128], [1, 1]], 0, (0, 3)),
    (slice(8, 12), [[4, 128], [1, 4]], 0, (0, 8)), (slice(8, 12), [[4, 128], [1, 2]], 2, (0, 10)),
    (slice(8, 12), [[4, 64], [1, 2]], 64 * 4 + 1, (64, 9))])
def test_an_access_pattern_of_columns_may_take_them_for_a_whole_tile(
        columns: slice, pattern: list[list[int]], offset: int, first: tuple[int, int]) -> None:
    def kernel(x: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.memset(tile[0:128, columns].ap(pattern, offset=offset), value=0.0)

    ((executed,),) = [traced(kernel, tensor("float32", 128, 64))]
    (_, partitions), (_, width) = pattern
    partition, column = first
    assert executed.operand("dst")[3:] == (partitions, ((1, width),) if width > 1 else (),
                                           0, column, partition)
