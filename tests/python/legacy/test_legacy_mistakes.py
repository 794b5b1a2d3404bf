# SPDX-License-Identifier: Apache-2.0
# Calls of the 0.1 dialect that are not what their author meant.
"""Theorem: what AWS's compiler refuses or ignores is refused here, or warned of."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from legacy_helpers import F32, nki, nl, nisa, program, tensor

from trnsim.errors import FrontendError

ncc: Any = importlib.import_module("neuronxcc.nki.compiler")

ROWS = tensor("float32", 4, 128, 64)


def tracing(body: Callable[[Any], Any]) -> list[str]:
    """The notes on a kernel whose body gets a tile."""
    def kernel(x: Any) -> Any:
        body(nl.load(x))
        return x
    return program(kernel, F32).notes


@pytest.mark.parametrize(("body", "warning"), [
    (lambda t: nl.sum(t, axis=1, keepdim=True), "sum has no argument 'keepdim' and ignores it"),
    (lambda t: nl.exp(t, maks=nl.arange(128)[:, None] < 20), "exp has no argument 'maks'"),
    (lambda t: nl.add(t, t, a=1, b=2), "add has no argument 'a' or 'b'"),
    (lambda t: nisa.tensor_copy(t, to=1), "tensor_copy has no argument 'to'"),
    (lambda t: nl.broadcast_to(t[:, 0:1], shape=(128, 4), axes=0), "broadcast_to has no argument"),
], ids=["reduction", "function", "two", "instruction", "broadcast"])
def test_a_keyword_that_a_function_does_not_have_is_warned_of(body: Callable[[Any], Any],
                                                              warning: str) -> None:
    """AWS's functions take any, so that a misspelt mask is none."""
    assert any(warning in note for note in tracing(body))


@pytest.mark.parametrize("body", [
    lambda t: nl.exp(t, name="power"), lambda t: nl.exp(x=t),
    lambda t: nl.zeros((128, 4), nl.float32, lazy_initialization=True)])
def test_a_name_and_a_hint_are_taken_without_a_word(body: Callable[[Any], Any]) -> None:
    """They change no result; the operand of a function may be named."""
    assert tracing(body) == []


@pytest.mark.parametrize(("body", "message"), [
    (lambda t: nl.program_id(-1), "axis of nl.program_id is -1, but axes of a launch grid are counted from 0"),
    (lambda t: nl.num_programs(-2), "an axis of nl.num_programs is -2, but axes of a launch grid are counted from 0"),
    (lambda t: nl.num_programs(axes=(0, -1)), "an axis of nl.num_programs is -1, but .* from 0; this one has 0"),
    (lambda t: nl.num_programs("a"), "an axis of nl.num_programs is 'a', but must be an integer")])
def test_an_axis_of_the_grid_is_counted_from_its_first(body: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        tracing(body)


def stored(value: Any) -> list[str]:
    """The notes on a kernel that stores something."""
    def kernel(x: Any) -> Any:
        nl.store(x, value)
        return x
    return program(kernel, F32).notes


@pytest.mark.parametrize("value", [None, "2", [1, 2], {}, np.ones((2, 2))])
def test_what_is_stored_is_a_tile_or_a_number(value: Any) -> None:
    with pytest.raises(FrontendError, match=f"value of nl.store is {type(value).__name__}, but must be a tile or a"):
        stored(value)


@pytest.mark.parametrize("value", [2, 2.5, True, np.float32(2)])
def test_a_number_is_stored_everywhere(value: Any) -> None:
    assert stored(value) == []


@pytest.mark.parametrize("value", [None, "2", [1, 2]])
def test_a_tensor_is_filled_with_a_number(value: Any) -> None:
    with pytest.raises(FrontendError, match=f"fill_value of nl.full is {type(value).__name__}, but must be a number"):
        tracing(lambda t: nl.full((128, 4), value, nl.float32))


@pytest.mark.parametrize(("n", "message"), [
    (0, "n of nl.rms_norm is 0, but must be the number of elements that a mean is of, which is 1 or more"),
    (-3, "n of nl.rms_norm is -3, but must be the number of elements"),
    (None, "n of nl.rms_norm is NoneType, but must be a number")])
def test_a_root_mean_square_is_one_of_some_elements(n: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        tracing(lambda t: nl.rms_norm(t, t[0:1, :], axis=1, n=n))


@pytest.mark.parametrize("constant", [5, 2.5, [1, 2], None, nl.float32])
def test_a_constant_in_hbm_is_an_array(constant: Any) -> None:
    with pytest.raises(FrontendError, match=f"the constant of nl.shared_constant is {type(constant).__name__}, but must "
                                            "be a numpy array; for one number, use nl.full"):
        tracing(lambda t: nl.shared_constant(constant))
    with pytest.raises(FrontendError, match="the constant of nl.shared_constant is Tensor, but must be a numpy array"):
        tracing(nl.shared_constant)


def test_outside_of_a_kernel_nothing_is_warned_of() -> None:
    """The function says what it says there."""
    with pytest.raises(FrontendError, match="outside"):
        nl.zeros((128, 4), nl.float32, colour=1)


def test_keywords_that_are_ignored_are_no_parameters() -> None:
    """Where a call does not fit, those are named that count."""
    with pytest.raises(FrontendError, match=r"nc_transpose\(data, \*, mask, dtype, engine\)"):
        tracing(lambda t: nisa.nc_transpose(t, t))


@pytest.mark.parametrize(("body", "message"), [
    (lambda t: nl.sum(t, axis=None), "axis is None, but must be the number of a free axis"),
    (lambda t: nl.mgrid[0:, 0:4], "nl.mgrid takes a slice with an end for each axis"),
    (lambda t: nl.mgrid[128, 512], "nl.mgrid takes a slice with an end for each axis"),
    (lambda t: nl.exp(), r"exp\(\) missing 1 required positional argument: 'x'"),
    (lambda t: t[:, nl.ds(0, 2.5)], "size of nl.ds is 2.5, but must be an integer"),
    (lambda t: nl.affine_range(2.5), "a bound of the range is 2.5, but must be an integer"),
    (lambda t: nl.static_range("4"), "a bound of the range is '4', but must be an integer"),
    (lambda t: nl.zeros((128, 0.5), nl.float32), "a size of the shape is 0.5"),
    (lambda t: nl.zeros((nl.par_dim(128), nl.par_dim(4)), nl.float32), "several nl.par_dim"),
    (lambda t: nl.zeros(128, nl.float32), "the shape is 128, but must be a tuple of sizes"),
    (lambda t: nl.par_dim("a"), "a size of the shape is 'a', but must be an integer"),
    (lambda t: t.reshape((128, "a")), "a size of the shape is 'a', but must be an integer"),
    (lambda t: t.broadcast_to((128, 0.5)), "a size of the shape is 0.5, but must be an integer"),
    (lambda t: nl.program_id("a"), "axis of nl.program_id is 'a', but must be an integer"),
    (lambda t: nl.mgrid[0:4, 0:5].z, "nl.mgrid has 2 axes here, but axis 3 is asked for; subscript it"),
    (lambda t: nl.arange(4) * 0.5, r"unsupported operand type\(s\) for \*: an expression of nl.arange and 'float'"),
    (lambda t: t.astyp, "a tensor has no attribute 'astyp'; did you mean astype"),
    (lambda t: t.T, "a tensor has no attribute 'T'; transpose it with nki.isa.nc_transpose"),
    (lambda t: nisa.tensor_scalar(t, nl.add, None), "operand0 is None, but add takes two"),
    (lambda t: nisa.scalar_tensor_tensor(data=t, op0=np.add, operand0=None, op1=np.add,
                                         operand1=t), "operand0 is None"),
    (lambda t: nisa.tensor_scalar_reduce(data=t, op0=np.add, operand0=None, reduce_op=np.add,
                                         reduce_res=t[:, 0:1]), "operand0 is None"),
    (lambda t: nisa.activation(nl.exp, t, scale="2"),
     r"scale is '2', but must be a number or a tile with one value per partition, \[128, 1\]"),
    (lambda t: nisa.activation_reduce(nl.exp, t, reduce_op=np.add, reduce_res=1.0),
     "reduce_result is 1.0, but must be a tile with one value per partition"),
    (lambda t: nl.exp(t[:, -1]), "runs from -1 to -1, .*; negative indices do not count from the end"),
    (lambda t: nl.exp(t[nl.arange(128)[:, None], t[0, 0] + nl.arange(4)[None, :]]),
     "activation: data is 'sbuf.*' indexed by a tile, but only DMAs gather and scatter"),
    (lambda t: nl.exp(t[nl.arange(128)[:, None], t[0, 0] + nl.arange(4)[None, :]],
                      mask=nl.arange(128)[:, None] < 20), "activation: data is .* indexed by a tile"),
], ids=["axis", "open", "mgrid", "argument", "ds", "range", "static_range", "size", "par_dim", "no shape", "size of par_dim",
        "reshape", "broadcast", "program", "axis of mgrid", "fraction", "attribute", "transpose", "operand0",
        "first of three", "operand0 reduced", "text", "result", "negative", "gather", "masked gather"])
def test_errors(body: Callable[[Any], Any], message: str) -> None:
    """They say what is wrong, at the line that is."""
    with pytest.raises(FrontendError, match=message):
        tracing(body)


VECTORS: list[Callable[[Any, Any], Any]] = [
    lambda t, v: nisa.tensor_scalar(t, nl.add, v), lambda t, v: nisa.tensor_scalar(t, nl.add, 1.0, op1=nl.add, operand1=v),
    lambda t, v: nisa.activation(nl.exp, t, bias=v), lambda t, v: nisa.activation(nl.exp, t, scale=v),
    lambda t, v: nisa.tensor_tensor_scan(t, t, initial=v, op0=nl.multiply, op1=nl.add), lambda t, v: nisa.dropout(t, prob=v)]


@pytest.mark.parametrize("body", VECTORS)
@pytest.mark.parametrize(("value", "what"), [
    (np.ones((128, 1)), r"a numpy array of shape \[128, 1\], .*, \[128, 1\]; give the array to the kernel and load it"),
    (nl.arange(128)[:, None], "an expression of nl.arange, .*; nisa.iota makes one"),
    (nl.arange(128), "an expression of nl.arange, .*; nisa.iota makes one")])
def test_one_value_per_partition_is_a_tile(body: Callable[[Any, Any], Any], value: Any, what: str) -> None:
    with pytest.raises(FrontendError, match=f" is {what}"):
        tracing(lambda t: body(t, value))


@pytest.mark.parametrize("body", VECTORS)
@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.5), np.ones((1, 1)), np.asarray(0.5)])
def test_or_it_is_a_number(body: Callable[[Any, Any], Any], value: Any) -> None:
    assert tracing(lambda t: body(t, value)) == []


@pytest.mark.parametrize("value", [None, "2", np.ones((3, 3)), nl.arange(4)])
@pytest.mark.parametrize("body", [
    lambda t, v: nisa.nc_match_replace8(data=t, vals=t[:, 0:8], imm=v),
    lambda t, v: nisa.tensor_copy_predicated(src=v, dst=t, predicate=nl.copy(t, dtype=nl.uint8)),
    lambda t, v: nisa.range_select(on_true_tile=t, comp_op0=np.less, comp_op1=np.less, bound0=t[:, 0:1],
                                   bound1=t[:, 0:1], range_start=v)])
def test_a_constant_of_an_instruction_is_a_number(body: Callable[[Any, Any], Any], value: Any) -> None:
    with pytest.raises(FrontendError, match=f" is {type(value).__name__}, but must be a"):
        tracing(lambda t: body(t, value))


@pytest.mark.parametrize(("body", "message"), [
    (lambda t: nisa.tensor_tensor_scan(t, t, initial=None, op0=nl.multiply, op1=nl.add), "initial is None, but must be"),
    (lambda t: nisa.dma_transpose(t, axes=1), "dma_transpose with axes 1 of a tensor with 2 axes"),
    (lambda t: nisa.memset((128, 4), 0.0, None), "data type 'None' is not one of NKI's"),
    (lambda t: nl.broadcast_to(t, shape=()), r"does not broadcast to \[\]")])
def test_what_is_left_out_is_told(body: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        tracing(body)


@pytest.mark.parametrize(("body", "which"), [
    (lambda t: t[:, nl.ds(0, 0)], r"nl.ds\(0, 0\)"), (lambda t: t[:, nl.ds(3, -2)], r"nl.ds\(3, -2\)"),
    (lambda t: [t[:, nl.ds(i + 5, i)] for i in nl.affine_range(4)], r"nl.ds\(5, 0\)"),
    (lambda t: t[:, nl.ds(t[0, 0], 0)], "nl.ds"), (lambda t: t[:, 3:3], "3:3:1"), (lambda t: t[:, 3:1], "3:1:1")])
def test_a_slice_has_an_element(body: Callable[[Any], Any], which: str) -> None:
    with pytest.raises(FrontendError, match=f"the slice {which}.* is empty or runs backwards; a tile has at least one"):
        tracing(body)


@pytest.mark.parametrize(("body", "what"), [
    (lambda t: nl.rand((128, 4.5)), "a size of the shape is 4.5"),
    (lambda t: nisa.memset((128, 4.5), 0.0, nl.float32), "a size of the shape is 4.5"),
    (lambda t: nisa.nc_stream_shuffle(t, t, [0.5] * 32), "an element of shuffle_mask is 0.5"),
    (lambda t: nisa.local_gather(t, nl.zeros((128, 4), nl.uint16), 1.5), "num_elem_per_idx is 1.5"),
    (lambda t: nisa.local_gather(t, nl.zeros((128, 4), nl.uint16), 1, 64.5), "num_valid_indices is 64.5"),
    (lambda t: nisa.nc_matmul(t, t, tile_position=(0, 0.5), tile_size=(128, 64)), "an element of tile_position is 0.5"),
    (lambda t: nisa.nc_matmul(t, t, tile_position=(0, 0), tile_size=(128, 64.5)), "an element of tile_size is 64.5"),
    (lambda t: nl.nc(2) * 1.5, "a number of programs is 1.5"),
    (lambda t: 1.5 * nl.nc(2), "a number of programs is 1.5"),
    (lambda t: nl.spmd_dim(1.5, nl.nc(2)), "a number of programs is 1.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, buffer=ncc.sbuf.alloc(lambda *_: (0, 2.5))), "a byte is 2.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, buffer=ncc.sbuf.alloc(lambda *_: (0.5, 0))), "a partition is 0.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, buffer=ncc.sbuf.mod_alloc(base_addr=2.5)), "base_addr is 2.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, buffer=ncc.psum.alloc(lambda *_: (0.5, 0, 0))), "a bank is 0.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, buffer=ncc.psum.alloc(lambda *_: (0, 0, 2.5))), "a byte is 2.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, buffer=ncc.psum.mod_alloc(base_bank=0.5)), "base_bank is 0.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, buffer=ncc.psum.mod_alloc(base_addr=2.5)), "base_addr is 2.5"),
])
def test_a_fraction_is_not_cut_off(body: Callable[[Any], Any], what: str) -> None:
    with pytest.raises(FrontendError, match=f"{what}, but must be an integer"):
        tracing(body)


@pytest.mark.parametrize(("rows", "partition", "byte"), [(128, 0, -4), (128, 0, 212980), (64, -1, 0), (64, 65, 0)])
def test_a_tile_at_an_address_stays_inside_of_its_memory(rows: int, partition: int, byte: int) -> None:
    with pytest.raises(FrontendError, match=f"is placed at byte {byte} of partition {partition}, but kernels have 128"):
        tracing(lambda t: nl.ndarray((rows, 4), nl.float32, buffer=ncc.sbuf.alloc(lambda *_: (partition, byte))))


@pytest.mark.parametrize(("rows", "partition", "step"), [
    (128, 0, 128), (100, 0, 128), (64, 0, 64), (64, 64, 64), (33, 64, 64), (32, 96, 32), (1, 32, 32)])
def test_tiles_begin_at_partitions_of_their_size(rows: int, partition: int, step: int) -> None:
    """As AWS's documentation of nki.compiler.sbuf.alloc has it."""
    def placed(at: int) -> Any:
        return tracing(lambda t: nl.ndarray((rows, 4), nl.float32, buffer=ncc.sbuf.alloc(lambda *_: (at, 0))))
    placed(partition)
    if rows <= 64:
        with pytest.raises(FrontendError, match=f"is placed at partition 16, but tiles of .* to {step} partitions "
                                                f"begin at a multiple of {step}; choose another"):
            placed(16)


@pytest.mark.parametrize(("buffer", "message"), [
    (lambda: ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=2), "num_free_tiles is 2, but one number for each block"),
    (lambda: ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(0,)), "every dimension has a place at least"),
    (lambda: ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(1.5,)), "a number of num_free_tiles is 1.5"),
    (lambda: ncc.sbuf.mod_alloc(base_addr=0, base_partition="a"), "base_partition is 'a', but must be an integer"),
    (lambda: ncc.sbuf.alloc(lambda *_: None), r"returns None, but \(partition, byte\) is needed"),
    (lambda: ncc.psum.alloc(lambda *_: (0, 0)), r"returns \(0, 0\), but \(bank, partition, byte\) is needed"),
    (lambda: ncc.psum.alloc(lambda *_: (0, 0, 512)), "at partition 0 and byte 512 of a bank, but both must be 0"),
    (lambda: ncc.psum.mod_alloc(base_bank=0, base_addr=4096), "byte 4096 of a bank, but both must be 0; choose a bank"),
    (lambda: ncc.psum.mod_alloc(base_bank=0, base_partition=32), "partition 32 and byte 0 of a bank"),
    (lambda: ncc.psum.mod_alloc(base_bank=0, num_free_tiles=(4,)), "tiles of PSUM take turns in banks; use")])
def test_placements_are_those_that_aws_documents(buffer: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        tracing(lambda t: nl.ndarray((4, nl.par_dim(128), 4), nl.float32, buffer=buffer()))


@pytest.mark.parametrize("counts", [(), (1,), (32,), (2, 3)])
def test_places_of_dimensions_that_a_tensor_has_not_do_not_matter(counts: tuple[int, ...]) -> None:
    """As in attn_fwd_v9 of nki-samples."""
    assert tracing(lambda t: nl.ndarray((nl.par_dim(128), 4), nl.float32, buffer=ncc.sbuf.mod_alloc(
        base_addr=0, num_free_tiles=counts))) == []


@pytest.mark.parametrize("shape", [(128, 2, 4), (128, 8), (128, 4, 2), (64, 4)])
def test_a_tile_is_assigned_to_one_that_differs_by_axes_of_size_1_only(shape: tuple[int, ...]) -> None:
    def assigning(fresh: tuple[int, ...]) -> Callable[[Any], Any]:
        return lambda t: nl.zeros((128, 1, 4), nl.float32).__setitem__(Ellipsis, nl.exp(nl.zeros(fresh, nl.float32)))
    assert tracing(assigning((128, 4))) == []
    with pytest.raises(FrontendError, match="the value has the shape|broadcast"):
        tracing(assigning(shape))


def test_a_unary_operator_takes_no_operand() -> None:
    """None is right for it."""
    assert tracing(lambda t: nisa.tensor_scalar(t, nl.logical_not, None)) == []


def copies(at: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A kernel that copies four tiles into a result, at a place made from the loop's index."""
    def kernel(x: Any) -> Any:
        result = nl.ndarray((4, 128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            nl.store(result[at(i)], nl.load(x[i]))
        return result
    return kernel


def test_independent_iterations_that_write_to_one_place_are_warned_of() -> None:
    """AWS's compiler refuses them."""
    warning = "all iterations of nl.affine_range ('i') write to one place in 'result'"
    assert any(warning in note for note in program(copies(lambda i: 0), ROWS).notes)
    assert program(copies(lambda i: i), ROWS).notes == []


def test_places_that_values_or_addresses_choose_are_not_known_to_be_one() -> None:
    """Scatters, and tiles of an iteration that the program puts at one address."""
    def kernel(x: Any, places: Any) -> Any:
        result = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        index = nl.load(places)
        rows, columns = nl.arange(128)[:, None], nl.arange(64)[None, :]
        for i in nl.affine_range(4):
            tile = nl.ndarray((nl.par_dim(128), 64), dtype=nl.float32,
                              buffer=ncc.sbuf.mod_alloc(base_addr=4096))
            tile[...] = nl.load(x[i])
            nl.store(result[index[rows, 0], columns], tile)
        return result

    assert program(kernel, ROWS, tensor("int32", 128, 1)).notes == []


def test_programs_of_a_grid_that_write_to_one_place_are_warned_of() -> None:
    """They are independent, too."""
    def kernel(x: Any) -> Any:
        result = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(result, nl.load(x[nl.program_id(0)]))
        return result

    notes = program(nki.jit(kernel)[4], ROWS).notes
    assert any("all programs along axis 0 of the grid write to one place" in one for one in notes)


def test_sums_tiles_of_an_iteration_and_loops_in_order_may_write_to_one_place() -> None:
    """Accumulation is no output dependency, and tiles that an iteration makes are its own."""
    def kernel(x: Any) -> Any:
        result = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        total = nl.zeros((128, 64), nl.float32, buffer=nl.sbuf)
        product = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        for i in nl.affine_range(4):
            own = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
            own[...] = nl.load(x[i])
            total += own
            product += nisa.nc_matmul(own, own)
        for _ in nl.sequential_range(4):
            nl.store(result, total)
        return result

    assert program(kernel, ROWS).notes == []


@pytest.mark.parametrize("grid", [(2.5,), ("a",), (2, None)])
def test_a_grid_is_of_integers(grid: Any) -> None:
    """Or of what says how cores share them."""
    with pytest.raises(FrontendError, match="a launch grid has .*, but takes integers"):
        nki.jit(copies(lambda i: i))[grid]


@pytest.mark.parametrize("grid", [0, None])
def test_no_grid_is_one_program(grid: Any) -> None:
    """As a call without one."""
    kernel = nki.jit(copies(lambda i: i))
    assert program(kernel[grid], ROWS).instructions == program(kernel, ROWS).instructions


def test_a_mode_is_one_of_nki_s() -> None:
    """Which of them does not matter."""
    with pytest.raises(FrontendError, match="nki.jit: mode is 'fast', but must be one of auto"):
        nki.jit(copies(lambda i: i), mode="fast")
    nki.jit(mode="simulation")(copies(lambda i: i))


def test_a_scalar_of_the_run_time_is_not_here() -> None:
    """Its annotation is."""
    with pytest.raises(FrontendError, match="neuronxcc.nki.typing.scalar is not part of"):
        tracing(lambda t: nki.typing.scalar(True))


def test_a_number_has_another_type_after_a_static_cast() -> None:
    """As a tile has."""
    assert nl.static_cast(2.7, nl.int32) == 2


def uneven(t: Any) -> Any:
    """Columns 0, 1, 4, 5, 8, 9, … of a tile."""
    i = nl.arange(32)
    return t[nl.arange(128)[:, None], (i // 2 * 4 + i % 2)[None, :]]


@pytest.mark.parametrize(("body", "message"), [
    (lambda t: nl.broadcast_to(t, shape=(128,)),
     r"a tile of shape \[128, 512\] does not broadcast to \[128\]; sizes must be equal or 1"),
    (lambda t: nl.broadcast_to(t, shape=(128, 2, 512)), r"not broadcast to \[128, 2, 512\]"),
    (lambda t: nl.broadcast_to(t, shape=(128, 1024)), r"not broadcast to \[128, 1024\]"),
    (lambda t: nl.arange(8)["a"], "an index expression is subscripted with str; use :, None or an"),
    (lambda t: nl.arange(8)[:, :], "an index expression with 1 axes is subscripted with more"),
    (lambda t: (nl.arange(8) < 5)[:, None], "a mask is subscripted, but it has the axes of the indices"),
    (lambda t: t[:, ::2].view(nl.bfloat16),
     r"a view of float32 elements with strides \[0, 2\] cannot be seen as bfloat16; make it cont"),
    (lambda t: uneven(t)[:, 0:4],
     "whose index is not affine is indexed again, which is not possible; copy it first"),
    (lambda t: nl.ndarray((4, nl.par_dim(128), 4), nl.float32, buffer=nl.sbuf) and 1, "the truth of"),
])
def test_what_indices_and_views_do_not_do_is_told(body: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        tracing(body)
