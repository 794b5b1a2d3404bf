# SPDX-License-Identifier: Apache-2.0
# Tests of what is said to whom writes a kernel as Python, numpy or the other API would have it.
"""Names that an API does not have, operators on tensors, functions that are no kernels."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from helpers import tensor
from kernels import nisa, nl
from trnsim.frontend import FrontendError, ProgramError, UserError, trace
from kernel_files import find_kernel
from trnsim.frontend.nki import collectives

X = tensor("float32", 128, 64)


def refusal(body: Any) -> str:
    """What is said of a kernel that loads a tile and calls body with it."""
    def kernel(x: Any) -> None:
        body(nl.load(x))
    with pytest.raises(FrontendError) as found:
        trace(kernel, [X])
    return str(found.value)


def tile(dtype: Any = nl.float32) -> Any:
    """One in SBUF."""
    return nl.ndarray((128, 64), dtype, nl.sbuf)


def psum() -> Any:
    """A bank's worth of PSUM."""
    return nl.ndarray((64, 64), nl.float32, nl.psum)


@pytest.mark.parametrize(("body", "symbol", "function"), [
    (lambda t: t + 1, "+", "add"),
    (lambda t: 1 - t, "-", "subtract"),
    (lambda t: t * t, "*", "multiply"),
    (lambda t: 2.0 / t, "/", "divide"),
    (lambda t: t ** 2, "**", "power"),
    (lambda t: t @ t, "@", "matmul"),
    (lambda t: t & 1, "&", "bitwise_and"),
    (lambda t: t << 1, "<<", "left_shift"),
    (lambda t: t < 1, "<", "less"),
    (lambda t: 1 <= t, ">=", "greater_equal"),
    (lambda t: -t, "-", "negative"),
    (lambda t: ~t, "~", "invert"),
    (lambda t: abs(t), "abs()", "abs"),
    (lambda t: t.__iadd__(1), "+", "add"),
    (lambda t: sum([t, t]), "+", "add"),
])
def test_an_operator_is_answered_with_the_function(body: Any, symbol: str, function: str) -> None:
    said = refusal(body)
    assert "test_advice.py:" in said
    assert said.endswith(f"tensors of nki have no operator {symbol}; call nki.language.{function}")
    assert hasattr(nl, function)


@pytest.mark.parametrize(("body", "name"), [
    (numpy.exp, "exp"), (lambda t: numpy.add(t, 1), "add"), (numpy.max, "max"),
    (lambda t: numpy.float32(2) * t, "multiply"), (lambda t: numpy.concatenate([t, t]),
                                                   "concatenate")])
def test_a_function_of_numpy_on_a_tensor_is_named(body: Any, name: str) -> None:
    said = refusal(body)
    assert "test_advice.py:" in said
    assert f"numpy.{name} is called with a tensor" in said


@pytest.mark.parametrize("body", [float, int, numpy.asarray])
def test_elements_are_not_known_while_tracing(body: Any) -> None:
    assert "load one into a register with nki.isa.register_load" in refusal(body)


@pytest.mark.parametrize(("body", "advice"), [
    (lambda t: nisa.tensor_scaler(t),
     "module 'nki.isa' has no attribute 'tensor_scaler'; did you mean tensor_scalar?"),
    (lambda t: nl.arange(3), "module 'nki.language' has no attribute 'arange', but "
                             "neuronxcc.nki.language does: that is the other API"),
    (lambda t: nl.xyzzy, "module 'nki.language' has no attribute 'xyzzy'"),
    (lambda t: collectives.all_gather_w(t), "module 'nki.collectives' has no attribute "
     "'all_gather_w'; did you mean all_gather_v?"),
])
def test_a_name_that_the_api_does_not_have_is_answered(body: Any, advice: str) -> None:
    assert refusal(body).endswith(advice)


@pytest.mark.parametrize(("body", "advice"), [
    (lambda t: t.T, "a tensor has no attribute 'T'; transpose it with nki.isa.nc_transpose"),
    (lambda t: t.astype(nl.bfloat16), "a tensor has no attribute 'astype'; copy it into a tile of another type with "
                                      "nki.isa.tensor_copy"),
    (lambda t: t.item(), "a tensor has no attribute 'item'; its elements are only known when the kernel runs"),
    (lambda t: t.mean(), "a tensor has no attribute 'mean'; reduce it with nki.isa.tensor_reduce"),
    (lambda t: t.reshap, "a tensor has no attribute 'reshap'; did you mean reshape?"),
    (lambda t: t.xyzzy, "a tensor has no attribute 'xyzzy'"),
    (lambda t: f"{t:.2f}", "unsupported format string passed to a tensor.__format__"),
    (lambda t: nl.ndarray(128, nl.float32), "the shape is 128, but must be a tuple of sizes"),
    (lambda t: nl.ndarray((128, 0.5), nl.float32), "a size of the shape is 0.5, but must be an integer"),
    (lambda t: t.reshape((128, "a")), "a size of the shape is 'a', but must be an integer"),
    (lambda t: nl.affine_range(0.5), "a bound of the range is 0.5, but must be an integer; divide with //"),
    (lambda t: nl.static_range(0, "4"), "a bound of the range is '4', but must be an integer; pass a number"),
    (nl.sequential_range, "a bound of the range is float32[128,64], but must be an integer; load it into a register, "
                          "and loop with nl.dynamic_range"),
    (lambda t: nl.store(t, 3), "the value is 3, but must be a tensor; fill a tile with nisa.memset and store that"),
    (lambda t: nisa.dma_copy(t, numpy.zeros((128, 64), numpy.float32)),
     "dma_copy: src is an array, float32[128,64], but must be a tensor; make it an argument of the kernel"),
    (lambda t: nisa.dma_copy(t, 3.0),
     "dma_copy: src is 3.0, but must be a tensor; pass one made by nl.ndarray or an argument of the kernel"),
    (lambda t: nl.device_print("t is", 3.0),
     "device_print: tensor is 3.0, but must be a tensor; pass one made by nl.ndarray or an argument of the kernel"),
    (lambda t: nl.shared_constant([1.0, 2.0]),
     "shared_constant: the constant is [1.0, 2.0], but must be a numpy array or the name of a .npy file"),
    (lambda t: nl.load_transpose2d(nl.ndarray((2, 4, 8), nl.float32, nl.shared_hbm)),
     "load_transpose2d: src has shape [2, 4, 8], but must have 2 dimensions; slice or reshape it"),
    (lambda t: nl.gather_flattened(t, tile(nl.uint32), axis=1),
     "gather_flattened: axis is 1, but the free dimensions are looked up as one; leave it 0"),
    (lambda t: numpy.reshape([1, 2], (3, 5)), "cannot reshape array of size 2 into shape (3,5)"),
])
def test_a_mistake_is_told_at_its_line_in_the_words_of_nki(body: Any, advice: str) -> None:
    said = refusal(body)
    assert "test_advice.py:" in said
    assert said.endswith(advice)


@pytest.mark.parametrize(("body", "what"), [
    (lambda t: nl.broadcast_to(tile(), (128, 4.5)), "a size of the shape is 4.5"),
    (lambda t: nl.rand((128.5, 4), nl.float32), "a size of the shape is 128.5"),
    (lambda t: nl.random_seed(3.5), "the seed is 3.5"),
    (lambda t: nl.ndarray((128, 4), nl.float32, nl.sbuf, address=(0, 2.5)), "an element of address is 2.5"),
    (lambda t: nisa.iota(tile(), [[1, 4.5]]), "a count of pattern is 4.5"),
    (lambda t: nisa.local_gather(tile(), tile(), tile(nl.uint16), 1.5), "num_elem_per_idx is 1.5"),
    (lambda t: nisa.local_gather(tile(), tile(), tile(nl.uint16), 1, 64.5), "num_valid_indices is 64.5"),
    (lambda t: nisa.topk(tile(), tile(nl.uint32), tile(), 8.5), "n of topk is 8.5"),
    (lambda t: nisa.nc_stream_shuffle(tile(), tile(), [1.5] * 32), "an element of shuffle_mask is 1.5"),
    (lambda t: nisa.nc_matmul(psum(), tile(), tile(), tile_position=(0, 0.5), tile_size=(128, 64)),
     "an element of tile_position is 0.5"),
    (lambda t: nisa.nc_matmul(psum(), tile(), tile(), tile_position=(0, 64), tile_size=(128, 64.5)),
     "an element of tile_size is 64.5"),
    (lambda t: collectives.all_reduce([t], [t], [[0, 1.5]], nl.add), "an element of a group of ranks is 1.5"),
    (lambda t: collectives.collective_permute([t], [t], [(0, 1.5)]), "an element of a pair of ranks is 1.5"),
    (lambda t: collectives.all_gather([t], [t], [[0, 1]], 0.5), "all_gather: collective_dim is 0.5"),
    (lambda t: collectives.collective_permute_implicit_current_processing_rank_id(0.5, [[0, 1]]), "iteration_id is 0.5"),
])
def test_a_fraction_is_not_cut_off(body: Any, what: str) -> None:
    assert f"{what}, but must be an integer" in refusal(body)


@pytest.mark.parametrize(("body", "what"), [
    (lambda t: collectives.all_reduce([t], [t], [0, 1], nl.add), "a group of ranks is 0, but must be a list of integers"),
    (lambda t: nl.ndarray((128, 4), nl.float32, nl.sbuf, address=64), "address is 64, but must be a list of integers"),
    (lambda t: nl.ndarray((128, 4), nl.float32, nl.sbuf, address=(0, 64, 1)),
     "address is (0, 64, 1), but must be a partition and a byte of each partition"),
])
def test_numbers_come_as_a_list(body: Any, what: str) -> None:
    assert refusal(body).endswith(what)


@pytest.mark.parametrize("size", [4, 4.0, numpy.int64(4), nl.tile_size.pmax // 32])
def test_a_size_may_be_any_whole_number(size: Any) -> None:
    shapes = []
    trace(lambda x: shapes.append(nl.ndarray((128, size), nl.float32).shape), [X], api="nki")
    assert shapes == [(128, 4)] and type(shapes[0][1]) is int


def test_the_old_api_answers_with_the_new_ones_names() -> None:
    from neuronxcc.nki import isa, language
    with pytest.raises(AttributeError, match="'neuronxcc.nki.isa' .* but nki.isa does"):
        isa.register_alloc()
    with pytest.raises(AttributeError, match="'neuronxcc.nki.language' .* did you mean arange?"):
        language.arrange()
    assert not hasattr(language, "__wrapped__") and not hasattr(nl, "no_such_name")


def test_an_unknown_type_is_told_with_its_line() -> None:
    said = refusal(lambda t: nl.ndarray((128, 4), dtype="float99", buffer=nl.sbuf))
    assert "test_advice.py:" in said and "data type 'float99' is not one of NKI's" in said


def test_an_argument_of_an_unknown_type_is_named() -> None:
    with pytest.raises(UserError, match=r"argument x_1 has the data type float64, .*; convert it"):
        trace(lambda x: x[0], [[numpy.zeros((4, 4), "float32"), numpy.zeros((4, 4))]], api="nki")


def remarks(kernel: Any) -> list[str]:
    """The warnings in the trace of a kernel."""
    program = trace(kernel, [X], api="nki")
    lines = [json.loads(line) for line in program.lines()]
    assert all(line["kind"] == "warning" for line in lines if line["record"] == "note")
    return program.notes


def test_a_result_that_is_not_in_hbm_is_a_warning() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        return tile
    assert [text.partition(" is ")[2] for text in remarks(kernel)] == [
        "returned in sbuf, but a kernel's results are in HBM: storing it is not in the time"]
    assert not remarks(lambda x: nl.load(x) and x)


@pytest.mark.parametrize("command", [{}, {"reduce_cmd": nisa.reduce_cmd.idle},
                                     {"reduce_cmd": nisa.reduce_cmd.reset_reduce}])
def test_a_reduction_that_no_command_asks_for_is_a_warning(command: Any) -> None:
    def kernel(x: Any) -> Any:
        tile, total = nl.load(x), nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(tile, nl.exp, tile, reduce_op=nl.add, reduce_res=total, **command)
        nisa.dma_copy(x[:, 0:1], total)
        return x
    warning = ("activation: reduce_res gets what the accumulators held before, as reduce_cmd is "
               "idle; pass nisa.reduce_cmd.reset_reduce to reduce this result")
    is_asked = command.get("reduce_cmd") is nisa.reduce_cmd.reset_reduce
    assert [text.partition(": ")[2] for text in remarks(kernel)] == [warning] * (not is_asked)


@pytest.mark.parametrize(("dtype", "value", "bounds"), [
    (nl.uint8, 300, "0 to 255"), (nl.uint32, -1, "0 to 4294967295"), (nl.int8, 128, "-128 to 127"),
    (nl.uint8, 255, ""), (nl.int32, -2**31, ""), (nl.bool_, 1, ""), (nl.bfloat16, 300, "")])
def test_filling_with_what_the_type_does_not_hold_is_a_warning(dtype: Any, value: int,
                                                               bounds: str) -> None:
    def kernel(x: Any) -> Any:
        nisa.memset(tile(dtype), value)
        return x
    found = [text.partition(": ")[2] for text in remarks(kernel)]
    assert found == [f"memset: value is {value}, but dst is {dtype}, which holds {bounds}; write "
                     "one of those"] * bool(bounds)


def test_a_tile_that_is_read_and_never_written_is_a_warning() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        found = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(found, tile)
        nisa.dma_copy(x, found)
        return x
    line = kernel.__code__.co_firstlineno + 1
    assert remarks(kernel) == [
        f"test_advice.py:{line}: tile 'tile' is read, but nothing in the kernel writes it"]


def test_a_tile_that_nothing_reads_need_not_be_written() -> None:
    def kernel(x: Any) -> Any:
        nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        found = nl.load(x)
        nisa.dma_copy(x, found)
        return x
    assert remarks(kernel) == []


def test_matmuls_that_accumulate_write_their_tile() -> None:
    def kernel(x: Any) -> Any:
        total = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
        data = nl.load(x)
        nisa.nc_matmul(total, data, data)
        nisa.tensor_copy(data[0:64, :], total)
        nisa.dma_copy(x, data)
        return x
    assert not remarks(kernel)


@pytest.mark.parametrize(("role", "body", "advice"), [
    ("src", lambda t, x: nisa.tensor_copy(t, x), "load it into a tile first, with nisa.dma_copy"),
    ("dst", lambda t, x: nisa.nc_matmul(t[0:64, :], t, t), "write to a tile in psum"),
])
def test_an_operand_in_the_wrong_memory_is_told_the_way(role: str, body: Any, advice: str) -> None:
    def kernel(x: Any) -> None:
        body(nl.load(x), x)
    with pytest.raises(ProgramError, match=rf"test_advice.py:\d+: \w+: {role} .*; {advice}"):
        trace(kernel, [X], api="nki")


def test_a_value_per_partition_is_an_operand_of_tensor_scalar() -> None:
    def kernel(x: Any) -> None:
        tile = nl.load(x)
        nisa.tensor_tensor(tile, tile, tile[:, 0:1], op=nl.multiply)
    with pytest.raises(ProgramError, match="data2 .*: nisa.tensor_scalar takes one value per part"):
        trace(kernel, [X], api="nki")


def test_a_kernel_without_instructions_is_a_warning() -> None:
    assert remarks(lambda x: x) == [
        "the kernel has no instruction: its time is that of the launch"]


def test_a_kernel_whose_results_are_lost_is_a_warning() -> None:
    def kernel(x: Any) -> None:
        out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, nl.load(x))
    line = kernel.__code__.co_firstlineno
    assert remarks(kernel) == [
        f"test_advice.py:{line}: kernel returns no tensor and writes to no argument, so that "
        f"nothing it computes is kept; return 'out' of test_advice.py:{line + 1}, which it writes"]


@pytest.mark.parametrize("result", [[3, None], lambda tile: nisa.tensor_copy(tile, tile)])
def test_a_kernel_that_keeps_its_results_on_chip_is_a_warning(result: Any) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        return result(tile) if callable(result) else result
    (remark,) = remarks(kernel)
    assert remark.endswith("nothing it computes is kept; return a tensor in HBM, or write to an "
                           "argument")


@pytest.mark.parametrize("kernel", [
    lambda x: nisa.dma_copy(x, nl.load(x)) and None, lambda x: {"data": [nl.load(x) and x]},
    lambda x: nl.load(x) and SimpleNamespace(data=x)])
def test_what_a_kernel_writes_to_an_argument_or_returns_is_kept(kernel: Any) -> None:
    assert remarks(kernel) == []


def test_a_call_that_does_not_fit_is_told_the_parameters() -> None:
    def kernel(x: Any) -> None:
        nisa.reciprocal(data=nl.load(x))
    with pytest.raises(UserError, match=r"test_advice.py:\d+: .* missing 1 required .*'dst'; it is "
                                        r"called as reciprocal\(dst, data, "):
        trace(kernel, [X], api="nki")


def test_a_call_is_told_the_parameters_of_the_function_that_the_message_fits() -> None:
    """nl and nisa have functions of one name with other parameters."""
    def missing(x: Any) -> None:
        nisa.dropout(x)

    def too_many(x: Any) -> None:
        nl.dropout(x, x, x, x)

    def unknown(x: Any) -> None:
        nisa.dropout(x, x, 0.5, nonsense=1)
    for kernel, message in ((missing, r"it is called as dropout\(dst, data, prob, name\)$"),
                            (too_many, r"it is called as dropout\(x, rate, dtype\)$"),
                            (unknown, r"unexpected keyword argument 'nonsense'$")):
        with pytest.raises(UserError, match=message):
            trace(kernel, [X], api="nki")


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: nl.load(x, mask=x), r"got an unexpected .*; it is called as load\(src, dtype\)$"),
    (lambda x: nl.full(fill=x), r"'fill'; it is called as full\(shape, fill_value, "),
    (lambda x: nl.sum(x), r"sum\(\) missing .*; it is called as sum\(x, axis, "),
    (lambda x: nl.var(x), r"var\(\) missing .*; it is called as var\(x, axis, ")])
def test_functions_of_numpy_s_of_the_same_name_do_not_matter(call: Any, message: str) -> None:
    def kernel(x: Any) -> None:
        np = numpy  # Who called has numpy among its variables.
        call(np and x)
    with pytest.raises(UserError, match=message):
        trace(kernel, [X], api="nki")


@pytest.mark.parametrize(("use", "message"), [
    (lambda done: done.shape, "an instruction has no attribute 'shape'; .* write to their dst"),
    (lambda done: done[0:64], "an instruction is not subscriptable; .* write to their dst"),
    (lambda done: nisa.memset(done, 0.0), "dst is an instruction, but must be a tensor; pass the")])
def test_what_an_instruction_returns_is_no_tensor(use: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        trace(lambda x: use(nisa.memset(nl.load(x), 0.0)), [X], api="nki")


def test_a_reduction_is_no_operator() -> None:
    assert refusal(lambda t: nisa.tensor_reduce(t[:, 0:1], nl.sum, t, 1)).count("op=sum is not a ")


class Loader:
    """Has a method of the name of a function of NKI's."""

    def load(self, a: Any, src: Any) -> None:
        """Nothing."""


def load_both(src: Any, dst: Any) -> None:
    """The user's own function, which is called by another's name below."""


load_both.__name__ = load_both.__qualname__ = "load"


def test_a_function_of_the_user_s_of_the_name_of_one_of_nki_s_is_not() -> None:
    def method(x: Any) -> None:
        Loader().load(x)  # type: ignore[call-arg]

    def inner(x: Any) -> None:
        def load(src: Any, dst: Any) -> None:
            """Nothing."""
        load(dst=x)  # type: ignore[call-arg]

    def outer(x: Any) -> None:
        load = load_both
        load(dst=x)  # type: ignore[call-arg]
    for kernel in (method, inner, outer):
        with pytest.raises(UserError, match=r"missing 1 required positional argument: 'src'$"):
            trace(kernel, [X], api="nki")


def test_a_call_of_a_function_of_the_user_s_is_not() -> None:
    def kernel(x: Any) -> None:
        refusal()  # type: ignore[call-arg]
    with pytest.raises(UserError, match=r"missing 1 required positional argument: 'body'$"):
        trace(kernel, [X], api="nki")


def test_an_argument_for_no_parameter_is_told_before_the_missing_one() -> None:
    def kernel(a: Any, b: Any) -> None:
        """Nothing."""
    with pytest.raises(UserError, match="got an unexpected keyword argument 'c'"):
        trace(kernel, [], keywords={"a": 1, "c": 2}, api="nki")


async def later(x: Any) -> None:
    """A coroutine."""


def parts(x: Any) -> Any:
    """A generator."""
    yield x


@pytest.mark.parametrize("function", [later, parts])
def test_a_generator_or_coroutine_is_no_kernel(function: Any) -> None:
    with pytest.raises(UserError, match=f"test_advice.py:.*: {function.__name__} is a generator or "
                                        "a coroutine, which does nothing when it is called"):
        trace(function, [X], api="nki")


def test_a_kernel_that_ends_python_is_told() -> None:
    assert "the kernel ends Python (status 3); let it return" in refusal(lambda t: exit(3))


def test_a_file_that_ends_python_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ending_kernel.py"
    path.write_text("import sys\ndef kernel(x): pass\nsys.exit(5)\n")
    with pytest.raises(UserError, match="ends Python with status 5 when it is imported; put what "
                                        "runs there behind `if __name__ == '__main__':`"):
        find_kernel(f"{path}::kernel")


def test_a_class_is_no_kernel(tmp_path: Path) -> None:
    path = tmp_path / "shapes.py"
    path.write_text("class Shape:\n    pass\ndef double(x):\n    return x\n")
    with pytest.raises(UserError, match="shapes.py: 'Shape' is a class; it has no kernel, but "
                                        "functions: double$"):
        find_kernel(f"{path}::Shape")
