# SPDX-License-Identifier: Apache-2.0
# The ways to ask for values.
"""run_kernel, trace(values=True), the command, and what a script's kernels return."""

from __future__ import annotations

import copy
import gc
import tracemalloc
import weakref
from collections import OrderedDict, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from trnsim.errors import FrontendError, UserError
from trnsim.frontend import TensorArgument, dtype, run_kernel, run_ranks, trace, trace_script
from trnsim.frontend.__main__ import main
from trnsim.frontend.arguments import as_tensor, describe
from trnsim.frontend.host.launch_result import UnknownTensor, unknown_results
from trnsim.frontend.leaves import with_items
from trnsim.frontend.values.casting import random_array
from trnsim.frontend.values.memory import memory_of
from trnsim.frontend.values.microscaling import unpacked
from trnsim.testing import assert_allclose
from values_helpers import loaded, nisa, nl, normal, stored, tile

KERNEL = '''import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x, factor=2.0):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, x)
    nisa.tensor_scalar(tile, tile, nl.multiply, factor)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out
'''
SCRIPT = KERNEL + '''

import numpy as np
a = np.ones((64, 32), np.float32)
np.testing.assert_array_equal(double(double(a)), 4 * a)
'''


def test_values_that_no_memory_holds_are_an_error() -> None:
    def kernel(x: Any) -> Any:
        huge = nl.ndarray((1 << 48,), nl.uint8, buffer=nl.shared_hbm)
        nisa.dma_copy(huge[0:16], x)
        return huge

    small = np.zeros(16, np.uint8)
    with pytest.raises(UserError, match=r"test_values_running.py:\d+: the values of 'huge' take "
                                        "281,474,976,710,656 bytes, more memory than there is"):
        run_kernel(kernel, small)
    with pytest.raises(UserError, match="the values of 'x' take 281,474,976,710,656 bytes"):
        trace(kernel, [TensorArgument(dtype("uint8"), (1 << 48,))], values=True)


def test_tiles_may_begin_at_any_byte_of_a_partition() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in range(3):
            bytes_ = nl.ndarray((128, 65), nl.uint8, address=(0, 425 + 67 * i))
            words = nl.ndarray((128, 65), nl.float32, address=(0, 1001 + 301 * i))
            nisa.dma_copy(bytes_, x[i * 128:(i + 1) * 128, :])
            nisa.tensor_copy(words, bytes_)
            nisa.tensor_scalar(bytes_, words, nl.add, 1.0)
            nisa.dma_copy(out[i * 128:(i + 1) * 128, :], bytes_)
        return out

    x = (np.arange(384 * 65) % 251).astype(np.uint8).reshape(384, 65)
    np.testing.assert_array_equal(run_kernel(kernel, x), x + 1)


@pytest.mark.parametrize("is_read_before_it_is_written", [False, True])
def test_arrays_live_no_longer_than_who_uses_them(is_read_before_it_is_written: bool) -> None:
    contents: list[weakref.ref[Any]] = []

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, dtype=x.dtype)
        if not is_read_before_it_is_written:
            nisa.dma_copy(tile, x)
        contents.extend(weakref.ref(memory_of(one.storage).raw) for one in (x, tile))
        nisa.dma_copy(out, tile)
        return out

    gc.collect()
    gc.disable()
    try:
        with suppress(FrontendError):
            run_kernel(kernel, np.ones((128, 64), np.float32))
        assert [one() for one in contents] == [None, None]
    finally:
        gc.enable()


def doubled(x: Any) -> Any:
    data = loaded(x)
    nisa.tensor_scalar(data, data, nl.multiply, 2.0)
    return {"twice": stored(data), "name": "doubled"}


def test_the_result_keeps_its_structure() -> None:
    data = normal(64, 32)
    found = run_kernel(doubled, data, api="nki")
    assert found["name"] == "doubled"
    assert_allclose(found["twice"], 2 * data, rtol=0)


class Pair(NamedTuple):
    tensor: Any
    factor: float


class Settings:
    """No @dataclass: only its dictionary counts."""

    def __init__(self, tensor: Any, factor: float) -> None:
        self.tensor = tensor
        self.factor = factor


def scaled(x: Any, factor: float) -> Any:
    data = loaded(x)
    nisa.tensor_scalar(data, data, nl.multiply, factor)
    return stored(data)


def test_named_tuples_and_objects_are_arguments_and_results() -> None:
    data = normal(64, 32)

    def kernel(what: Any, pair: Any) -> Any:
        return Pair(scaled(what.tensor, what.factor), pair.factor)

    for what in (Pair(data, 2.0), Settings(data, 2.0)):
        found = run_kernel(kernel, what, Pair([1, 2], 3.0), api="nki")
        assert type(found) is Pair and found.factor == 3.0
        assert_allclose(found.tensor, 2 * data, rtol=0)
        assert what.tensor is data


def test_dicts_keep_their_class() -> None:
    data = normal(64, 32)

    def kernel(tensors: Any) -> Any:
        return OrderedDict(sum=scaled(tensors["x"], tensors["missing"]))

    found = run_kernel(kernel, defaultdict(lambda: 4.0, x=data), api="nki")
    assert type(found) is OrderedDict
    assert_allclose(found["sum"], 4 * data, rtol=0)


class Sizes(list[int]):
    pass


class Numbers(tuple[int, ...]):
    pass


@pytest.mark.parametrize("value", [[1], (1,), Sizes([1]), Numbers([1]), Pair(1, 2.0),
                                   {"a": 1}, OrderedDict(a=1)])
def test_others_in_their_place_leave_the_class_and_the_first_as_it_is(value: Any) -> None:
    before = copy.deepcopy(value)
    items = [7] * len(value)
    found = with_items(value, iter(items))
    assert type(found) is type(value) and value == before
    assert list(found.values() if isinstance(found, dict) else found) == items


def test_arguments_are_described_by_their_fields() -> None:
    data = np.zeros((64, 32), np.float32)
    assert describe(Pair(data, 2.0)) == "Pair(tensor=float32[64,32], factor=2.0)"
    assert describe(Settings(data, 2.0)) == "Settings(tensor=float32[64,32], factor=2.0)"

    class Speechless:
        def __repr__(self) -> str:
            raise AttributeError("no name yet")
    assert describe(Speechless()).endswith("Speechless object>")


def test_results_without_values_keep_their_structure_too() -> None:
    found: list[Any] = []

    def kernel(x: Any) -> Any:
        found.append(doubled(x))
        return found[0]

    trace(kernel, [TensorArgument(dtype("float32"), (64, 32))], api="nki")
    shown = unknown_results(found[0], "kernel", lambda text: None)
    assert isinstance(shown["twice"], UnknownTensor) and shown["name"] == "doubled"


def test_an_array_without_dimensions_is_a_number() -> None:
    def kernel(x: Any) -> Any:
        filled = tile((64, 32))
        nisa.memset(filled, np.array(2.0))
        return stored(filled)

    assert_allclose(run_kernel(kernel, normal(64, 32), api="nki"), np.full((64, 32), 2.0))


def test_tiles_of_a_loop_have_the_names_that_they_were_given() -> None:
    data = normal(64, 24)

    def kernel(x: Any) -> Any:
        tiles: dict[str, Any] = {}
        for i in (0, 1, 2, 0, 1, 2):
            part = nl.ndarray((64, 8), nl.float32, buffer=nl.sbuf, name=f"t_{i}")
            nisa.dma_copy(part, x[:, i * 8:i * 8 + 8])
            tiles[part.name] = part
        assert list(tiles) == ["t_0", "t_1", "t_2"]
        assert [one[:, 0:4].name for one in tiles.values()] == ["t_0", "t_1", "t_2"]
        result = tile((64, 8))
        nisa.tensor_tensor(result, tiles["t_0"], tiles["t_1"], nl.add)
        nisa.tensor_tensor(result, result, tiles["t_2"], nl.add)
        return stored(result)

    assert_allclose(run_kernel(kernel, data, api="nki"), data.reshape(64, 3, 8).sum(axis=1))


def test_values_leave_the_trace_as_it_is() -> None:
    arguments = [TensorArgument(dtype("float32"), (64, 32))]
    plain, valued = (trace(doubled, arguments, api="nki", values=one) for one in (False, True))
    assert plain.lines() == valued.lines()
    assert plain.outputs is None and valued.outputs is not None


def test_contents_of_shapes_come_from_the_seed() -> None:
    argument = TensorArgument(dtype("bfloat16"), (64, 32))
    one, same, other = (run_kernel(doubled, argument, api="nki", seed=seed)["twice"]
                        for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


@pytest.mark.parametrize(("kind", "least", "most"), [
    ("bool", 0, 1), ("uint8", 0, 63), ("int32", 0, 63), ("float8_e8m0", 2.0 ** -7, 2.0 ** 4),
    ("float8_e4m3", -5, 5), ("float32", -5, 5)])
def test_random_contents_are_small_numbers(kind: str, least: float, most: float) -> None:
    found = random_array(dtype(kind), (64, 64), np.random.default_rng(1))
    if kind == "float8_e8m0":
        found = found.view(dtype(kind).dtype)
    numbers = found.astype(np.float64)
    assert found.shape == (64, 64) and numbers.min() >= least and numbers.max() <= most
    assert len(np.unique(numbers)) > 8 or kind == "bool"


@pytest.mark.parametrize(("name", "values"), [
    ("float4_e2m1fn_x4", 15), ("float8_e5m2_x4", 100), ("float8_e4m3fn_x4", 100)])
def test_random_contents_of_packed_types_are_finite_and_of_all_elements(name: str, values: int) -> None:
    numbers = unpacked(random_array(dtype(name), (64, 64), np.random.default_rng(1)), dtype(name))
    assert np.isfinite(numbers).all()
    assert all(len(np.unique(numbers[..., at])) >= min(values, 32) for at in range(4))


def test_written_arguments_are_updated() -> None:
    def kernel(x: Any, out: Any) -> None:
        nisa.dma_copy(out, loaded(x))
    data, out = normal(64, 32), np.zeros((64, 32), np.float32)
    found = run_kernel(kernel, data, out, api="nki")
    assert np.array_equal(out, data) and np.array_equal(found, data)


def test_no_result_shares_its_elements_with_another_or_with_an_argument() -> None:
    def kernel(x: Any) -> Any:
        out = stored(loaded(x))
        nisa.dma_copy(x, loaded(out))
        return out, out, out[0:2], x, x
    data = normal(4, 8)
    results = [*run_kernel(kernel, data), data]
    for at, one in enumerate(results):
        assert_allclose(one, data[:len(one)], rtol=0)
        assert not any(np.shares_memory(one, other) for other in results[:at])


def test_an_argument_that_is_written_and_returned_is_copied_once() -> None:
    def kernel(x: Any) -> Any:
        nisa.dma_copy(x[0:1, 0:4096], loaded(x[1:2, 0:4096]))
        return x
    data = np.zeros((64, 1 << 18), np.float32)
    tracemalloc.start()
    run_kernel(kernel, data)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.5 * data.nbytes


def test_the_command_saves_values(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    saved = tmp_path / "values.npz"
    status = main([f"{file}::double", "--arg", "float32[64,32]", "--arg", "factor=0.0",
                   "--save-values", str(saved), "-o", str(tmp_path / "k.nkt")])
    assert status == 0 and (tmp_path / "k.nkt").is_file()
    assert not np.load(saved)["result_0"].any()


def test_the_command_finds_what_is_unwritten(tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL.replace("    nisa.dma_copy(tile, x)\n", ""))
    arguments = [f"{file}::double", "--arg", "float32[64,32]", "-o", str(tmp_path / "k.nkt")]
    assert main(arguments) == 0
    assert main([*arguments, "--values"]) == 3
    assert "kernel.py:9: element [0, 0] of 'tile'" in capsys.readouterr().err


def test_a_script_gets_arrays(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    assert len(trace_script(file, values=True)) == 2


def test_assert_allclose_names_the_worst_element() -> None:
    wanted = np.ones((4, 5), np.float32)
    found = wanted.copy()
    found[1, 2], found[3, 4] = 1.5, 3.0
    with pytest.raises(AssertionError, match=r"2 of 20 float32 elements differ; the worst is "
                       r"\[3, 4\]: 3.0, expected is 1.0 \(difference 2, allowed"):
        assert_allclose(found, wanted)
    with pytest.raises(AssertionError, match=r"shape \[4, 5\], expected is \[5, 4\]"):
        assert_allclose(found, wanted.T)
    assert_allclose([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])])


def test_a_register_is_told_a_value_only_when_there_is_one() -> None:
    from trnsim.frontend import recorder
    seen = []

    def kernel(x: Any) -> None:
        seen.append(recorder.required().value_of(loaded(x)[1:2, 2:3]))
        tile((1, 1))
    data = normal(64, 32)
    trace(kernel, [data], api="nki")
    trace(kernel, [data], api="nki", values=True)
    assert seen == [None, data[1, 2]]


def test_registers_are_loaded_from_and_stored_to_tensors_of_one_dimension() -> None:
    def kernel() -> Any:
        register = nisa.register_alloc()
        nisa.register_load(register, nl.full([1], 41, dtype=nl.int32))
        place = nl.ndarray([1], dtype=nl.int32, buffer=nl.sbuf)
        nisa.register_store(place, register + 1)
        out = nl.ndarray([1], dtype=nl.int32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, place)
        return out
    assert run_kernel(kernel, api="nki").tolist() == [42]


def test_a_tensor_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def kernel(x: Any) -> None:
        nl.device_print("here:", loaded(x))
    data = np.array([[1.5, 2.5]], np.float32)
    trace(kernel, [data], api="nki")
    assert "here:" not in capsys.readouterr().out
    trace(kernel, [data], api="nki", values=True)
    assert "here: tile sbuf float32[1, 2]" in capsys.readouterr().out.replace("sbuf_0", "tile")


@pytest.mark.parametrize("kernel", [3, "file.py::kernel"])
def test_what_is_no_function_is_not_run(kernel: Any) -> None:
    with pytest.raises(UserError, match="a kernel is a function, but this is .*; pass one"):
        run_kernel(kernel)
    with pytest.raises(UserError, match="a kernel is a function, but this is .*; pass one"):
        run_ranks(kernel, [{}])


@pytest.mark.parametrize("ranks", [[], [3], 3])
def test_ranks_have_arguments_by_name(ranks: Any) -> None:
    with pytest.raises(UserError, match="but the arguments of each rank by name are needed, of one"):
        run_ranks(doubled, ranks)


def test_texts_in_named_tuples_and_objects_are_tensors() -> None:
    text = "float32[64,32]"
    for given in (Pair(text, 2.0), Settings(text, 2.0), [text], {"x": (text,)}):
        found = as_tensor(given)
        assert type(found) is type(given)
        assert text in describe(found) and repr(text) not in describe(found)
    with pytest.raises(UserError, match="there is no data type 'floot32'; did you mean float32"):
        as_tensor(Settings("floot32[64,32]", 2.0))


def test_objects_that_hold_themselves_or_the_same_object_twice_stay_so() -> None:
    inner = Settings(normal(64, 32), 2.0)
    inner.me = inner  # type: ignore[attr-defined]
    outer = ([inner, inner], 3.0)

    def kernel(given: Any) -> Any:
        first, second = given[0]
        assert first is second and first is not inner and first.me is inner
        return Settings([stored(loaded(first.tensor))] * 2, given[1])

    found = run_kernel(kernel, outer, api="nki")
    assert type(found) is Settings and found.factor == 3.0
    assert_allclose(found.tensor, [inner.tensor, inner.tensor])


class Strict(dict[str, Any]):
    """Does not want to be changed."""

    def __setitem__(self, key: str, value: Any) -> None:
        raise TypeError("read only")


class Attributes(dict[str, Any]):
    """Has every attribute, like `shape`: None."""

    __getattr__ = dict.get


@pytest.mark.parametrize("kind", [Strict, Attributes])
def test_dicts_of_odd_classes_are_arguments(kind: type[dict[str, Any]]) -> None:
    data = normal(64, 32)

    def kernel(given: Any) -> Any:
        assert type(given) is kind and given["x"] is not data
        return stored(loaded(given["x"]))

    assert_allclose(run_kernel(kernel, kind(x=data), api="nki"), data)
