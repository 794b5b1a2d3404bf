# SPDX-License-Identifier: Apache-2.0
# Tests of what is said to whom writes a 0.1 kernel as if its tiles were arrays.
"""Functions of numpy and Python on tiles, arrays as operands, and what works all the same."""

from __future__ import annotations

import ast
import importlib
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from legacy_helpers import F32, nisa, nki, nl, ops, program, tensor, traced
from trnsim.frontend import FrontendError, trace
from trnsim.frontend.legacy import scopes


def refusal(body: Any) -> str:
    """What is said of a kernel that calls body with a loaded tile and its tensor."""
    def kernel(x: Any) -> None:
        body(nl.load(x), x)
    with pytest.raises(FrontendError) as found:
        traced(kernel, F32)
    return str(found.value)


@pytest.mark.parametrize(("body", "name", "advice"), [
    (lambda t, x: np.exp(t), "exp", "neuronxcc.nki.language.exp"),
    (lambda t, x: np.exp(x), "exp", "neuronxcc.nki.language.exp"),
    (lambda t, x: np.maximum(t, 0), "maximum", "neuronxcc.nki.language.maximum"),
    (lambda t, x: np.add(t, t), "add", "neuronxcc.nki.language.add"),
    (lambda t, x: np.sum(t, axis=1), "sum", "neuronxcc.nki.language.sum"),
    (lambda t, x: np.vstack([t, t]), "vstack",
     "a function of neuronxcc.nki.language or neuronxcc.nki.isa"),
    (lambda t, x: np.float32(2) ** t, "power", "neuronxcc.nki.language.power"),
])
def test_a_function_of_numpy_on_a_tile_is_answered_with_the_api_s(body: Any, name: str,
                                                                  advice: str) -> None:
    said = refusal(body)
    assert "test_legacy_advice.py:" in said
    assert f"numpy.{name} is called with a tensor" in said and said.endswith(f"call {advice}")


def test_a_function_of_torch_on_a_tile_is_answered_with_the_api_s() -> None:
    def exp(tile: Any) -> Any:  # As torch.exp dispatches.
        kind = type(tile)
        return kind.__torch_function__(SimpleNamespace(__name__="exp"), (kind,), (tile,))
    assert refusal(lambda t, x: exp(t)).endswith("call neuronxcc.nki.language.exp")


def warnings(kernel: Any) -> list[str]:
    """The warnings in the trace of a kernel of [512,512]."""
    return program(kernel, tensor("float32", 512, 512)).notes


def test_a_tile_that_a_branch_on_a_loop_index_makes_ends_with_it() -> None:
    def kernel(x: Any) -> Any:
        for i in nl.affine_range(4):
            t = nl.load(x[nl.ds(i * 128, 128)])
            if i == 0:
                t = nl.exp(t)
            nl.store(x[nl.ds(i * 128, 128)], t)
        return x
    first = kernel.__code__.co_firstlineno
    assert warnings(kernel) == [
        f"test_legacy_advice.py:{first + 4}: 't' is made in the 'if' of line {first + 3} and used "
        f"behind it, in line {first + 5}, but neuronx-cc ends a tile with its block; make it before "
        f"line {first + 3} and write t[...] = in the block"]


def test_a_tile_that_a_loop_makes_ends_with_it() -> None:
    def kernel(x: Any) -> Any:
        total = nl.zeros((128, 512), dtype=nl.float32)
        for i in nl.sequential_range(4):
            total = total + nl.load(x[nl.ds(i * 128, 128)])
        nl.store(x[0:128], total)
        return x
    first = kernel.__code__.co_firstlineno
    (said,) = warnings(kernel)
    assert f"'total' is made in the 'for' of line {first + 2} and used behind it, in line " in said
    assert said.endswith("write total[...] = in the block")


def last_of(x: Any) -> Any:
    for i in nl.affine_range(4):
        last = nl.load(x[nl.ds(i * 128, 128)])
    return last


def also_last_of(x: Any) -> Any:
    return last_of(x) if x.shape else also_last_of(x)


def test_a_tile_that_a_loop_of_a_function_makes_ends_with_it() -> None:
    """Also where another function or a kernel calls it."""
    def kernel(x: Any) -> Any:
        nl.store(x[0:128], also_last_of(x))
        return x
    first = last_of.__code__.co_firstlineno
    for traced_kernel in (kernel, nki.jit(kernel)):
        (said,) = warnings(traced_kernel)
        assert said.startswith(f"test_legacy_advice.py:{first + 2}: 'last' is made in the 'for' of line {first + 1} and "
                               f"used behind it, in line {first + 3}, but")


def test_a_branch_on_a_loop_index_may_write_to_a_tile() -> None:
    def kernel(x: Any, is_exp: bool = True) -> Any:
        total = nl.zeros((128, 512), dtype=nl.float32)
        for i in nl.affine_range(4):
            t = nl.load(x[nl.ds(i * 128, 128)])
            start = i * 128
            if is_exp:
                t = nl.exp(t)
            if start > 128:
                t[...] = nl.exp(t)
                kept = nl.exp(t)
                total += kept
            kept = nl.copy(t)
            nl.store(x[nl.ds(start, 128)], kept)
        t = nl.copy(total)
        nl.store(x[0:128], t)
        return x
    assert warnings(kernel) == []


def test_another_variable_of_the_name_of_a_tile_is_not_the_tile() -> None:
    def kernel(x: Any) -> Any:
        for i in nl.affine_range(4):
            t = nl.load(x[nl.ds(i * 128, 128)])
            u = nl.exp(t)
            nl.store(x[nl.ds(i * 128, 128)], u)
        sizes = [t for t in (1, 2) if t]
        pairs = {t: u for t, u in zip(sizes, sizes, strict=True)}

        def same(u: Any, *t: Any) -> Any:
            return u, t

        def local() -> Any:
            t = same(pairs)
            return t
        assert local() and (lambda t: t)(sizes) and any(t for t in sizes for u in sizes if u)
        return x
    assert warnings(kernel) == []


def test_a_function_that_uses_a_tile_of_a_loop_uses_it_behind_the_loop() -> None:
    def kernel(x: Any) -> Any:
        for i in nl.affine_range(4):
            t = nl.load(x[nl.ds(i * 128, 128)])
            nl.store(x[nl.ds(i * 128, 128)], t)

        def last(u: Any = 0) -> Any:
            return t.shape, u
        assert last()
        return x
    first = kernel.__code__.co_firstlineno
    (said,) = warnings(kernel)
    assert f"used behind it, in line {first + 6}, but" in said


def test_what_is_no_tile_may_leave_its_block() -> None:
    def kernel(x: Any) -> Any:
        for i in nl.affine_range(4):
            version = nisa.get_nc_version()
            limits = nl.finfo(nl.float32)
            width = nl.constants.sizeinbytes(nl.float32)
            size = nl.sizeinbytes(nl.float32)
            grid = nl.gemm_grid()
            stationary = nl.gemm_stationary_grid()
            cores = nl.spmd_dim(nl.nc(2), 2)
            queue = nisa.engine(1)
            nl.store(x[nl.ds(i * 128, 128)], nl.load(x[nl.ds(i * 128, 128)]))
        assert all((version, limits, width, size, grid, stationary, cores, queue))
        return x
    assert warnings(kernel) == []


def test_every_function_that_makes_tiles_is_one_of_the_api() -> None:
    for name in scopes.MAKERS:
        assert name in vars(nl) or name in vars(nisa), name


def test_a_kernel_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(x: Any) -> Any:
        for i in nl.affine_range(4):
            nl.store(x[nl.ds(i * 128, 128)], nl.load(x[nl.ds(i * 128, 128)]))
        return x
    parsed: list[Any] = []
    parse = scopes.ast.parse
    monkeypatch.setattr(scopes.ast, "parse",
                        lambda *words, **options: parsed.append(1) or parse(*words, **options))
    assert warnings(kernel) == warnings(kernel) == []
    assert len(parsed) == 1


DEFINITIONS = (
    "def kernel(x):\n    return x\n", "def kernel(x): return x\ny = 1",
    "@nki.jit\n@other(\n1)\ndef kernel(x):\n    pass\n# far\n\n\ny = 1",
    "def kernel(x):\n    call(x,\n1,\n)\n    return [\n]\n",
    "def kernel(x):\n    'a'\n    y = \"\"\"\nend\n    \"\"\"\n    return y\ny = 2",
    "def kernel(x):\n    y = 1 + \\\n2\n    return y\ny = 2",
    "def kernel(x):\n    return x\n    z = (\n1)\ny = 1",
    "if True:\n    def kernel(x):\n        return x\nelse:\n    pass",
    "y = 1\n\n\ndef kernel(x):\n    def f():\n        return 1\n    global y\n# margin\n    pass",
    "def kernel(x):\n    return 1\nkernel = kernel")


@pytest.mark.parametrize("text", DEFINITIONS)
@pytest.mark.parametrize("around", ["{}", "import os\n'''text'''\n{}\ndef after():\n    pass\n"])
def test_a_definition_that_is_parsed_alone_is_that_of_its_file(text: str, around: str,
                                                               tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text(around.format(text))
    tree = ast.parse(path.read_text())
    whole = next(node for node in ast.walk(tree)
                 if isinstance(node, ast.FunctionDef) and node.name == "kernel")
    module = compile(tree, str(path), "exec")
    code = next(one for one in module.co_consts if getattr(one, "co_name", "") == "kernel")
    found = scopes._definition(code, str(path))
    assert found is not None
    assert ast.dump(found, include_attributes=True) == ast.dump(whole, include_attributes=True)


def test_a_function_of_the_0_1_api_is_told_from_its_namesake() -> None:
    def of_language(x: Any) -> None:
        nl.sum(nl.load(x))

    def of_isa(x: Any) -> None:
        nisa.reciprocal(dtype=nl.float32)
    for kernel, message in ((of_language, r"'axis'; it is called as sum\(x, axis, "),
                            (of_isa, r"'data'; it is called as reciprocal\(data, ")):
        with pytest.raises(FrontendError, match=message):
            traced(kernel, F32)


@pytest.mark.parametrize("body", [
    lambda x: nl.ndarray((128, 512), nl.float32, buffer=nl.sbuf), nl.load, nl.zeros_like,
    lambda x: nl.exp(importlib.import_module("trnsim.frontend.nki.language").load(x))])
def test_a_function_of_the_0_1_api_in_a_kernel_of_nki_is_told(body: Any) -> None:
    with pytest.raises(FrontendError) as found:
        trace(lambda x: body(x), [F32], api="nki")
    said = str(found.value)
    assert "test_legacy_advice.py:" in said
    assert said.endswith("the kernel is of nki, but this function is of neuronxcc.nki, whose tensors are others; "
                         "import nki.language and nki.isa")


@pytest.mark.parametrize(("body", "argument"), [
    (lambda t, x: nl.store(x, t), "value of nl.store"), (lambda t, x: nl.exp(t), "x of nl.exp")])
def test_a_tensor_of_nki_in_a_kernel_of_the_0_1_api_is_told(body: Any, argument: str) -> None:
    load = importlib.import_module("trnsim.frontend.nki.language").load
    said = refusal(lambda t, x: body(load(x), x))
    assert "test_legacy_advice.py:" in said
    assert said.endswith(f"{argument} is 'sbuf_1' of nki, but must be a tensor of neuronxcc.nki, as the kernel is; "
                         "import that language")


@pytest.mark.parametrize("body", [np.array, math.exp, float, int])
def test_the_elements_of_a_tile_are_not_known_while_tracing(body: Any) -> None:
    said = refusal(lambda t, x: body(t))
    assert "test_legacy_advice.py:" in said and "elements of a tensor are asked for" in said
    assert "register" not in said  # Of the other API.


@pytest.mark.parametrize(("body", "message"), [
    (lambda t, x: t @ t, "no operator @; call neuronxcc.nki.language.matmul"),
    (lambda t, x: nl.load(x.reshape((128 * 512,))[0:512]), "src of nl.load is a tensor of shape [512], one element for "
     "each partition, but sbuf has 128; reshape it to (1, 512) for a row in one partition"),
    (lambda t, x: t[t > 0], "is indexed with truth values, which select no elements of a tensor; choose between values "
     "with nl.where"),
    (lambda t, x: t // 2, "no operator //; call neuronxcc.nki.language.floor with a quotient"),
    (lambda t, x: 2 // t, "no operator //; call neuronxcc.nki.language.floor with a quotient"),
    (lambda t, x: abs(t), "no operator abs(); call neuronxcc.nki.language.abs"),
    (lambda t, x: nl.zeros((2, 128, 64), x.dtype).__setitem__(1, t[:, 0:64]),
     "must be equal: if the partitions are not the destination's first dimension, write nl.par_dim(128) in its shape"),
    (lambda t, x: nl.zeros((2, 128, 64), x.dtype)[1, nl.arange(128)[:, None], nl.arange(64)[None, :]],
     "partitions that are not the first dimension of a tensor are marked with nl.par_dim in its shape"),
    (lambda t, x: t + np.zeros((128, 512)), "y of nl.add is a numpy array, but must be a tensor"),
    (lambda t, x: np.zeros((128, 512)) + t, "is a numpy array, but must be a tensor; pass arrays"),
    (lambda t, x: nl.sqrt(2.0), "float, but must be a tensor; compute with numbers in Python, or "),
    (lambda t, x: nl.exp(x), "'x' in hbm, but must be in sbuf or psum; load it with nl.load first"),
    (lambda t, x: nisa.nc_matmul(t, t), r"stationary is [128, 512], 512 columns, but the PE array "
     "has 128; both operands have the contraction on their partitions"),
])
def test_what_does_not_work_is_told_with_a_way_that_does(body: Any, message: str) -> None:
    assert message in refusal(body)


def wide() -> Any:
    return nl.ndarray((128, 4, 8), dtype=nl.float32, buffer=nl.sbuf)


def spread(t: Any) -> None:
    for e in nl.affine_range(8):
        wide()[:, :, e:e + 1] = t[:, e:e + 1]


def spread_explicitly(t: Any) -> None:
    for e in nl.affine_range(8):
        wide()[:, :, e:e + 1] = t[:, e:e + 1].reshape((128, 1, 1)).broadcast_to((128, 4, 1))


@pytest.mark.parametrize(("body", "message"), [
    (lambda t, x: spread(t), "the value has the shape [128, 1], but the destination [128, 4, 1]; "
     "both must be equal: repeat the value with .reshape((128, 1, 1)).broadcast_to((128, 4, 1))"),
    (lambda t, x: nl.load(x[nl.affine_range(128), nl.affine_range(64)]),
     "a tensor is indexed with AffineRange; loop over it, or write a slice for all of it"),
])
def test_what_other_languages_have_is_told_with_a_way_that_does(body: Any, message: str) -> None:
    assert message in refusal(body)


@pytest.mark.parametrize("body", [
    spread_explicitly, lambda t: nl.store(nl.ndarray(t.shape, t.dtype, buffer=nl.hbm),
                                          nisa.affine_select(nl.arange(128)[:, None] >= nl.arange(
                                              512)[None, :], t, 0.0))])
def test_that_way_works(body: Any) -> None:
    def kernel(x: Any) -> None:
        body(nl.load(x))
    assert len(traced(kernel, F32)) > 1


@pytest.mark.parametrize("body", [
    lambda t: np.float32(2) * t, lambda t: np.float64(2) + t, lambda t: np.int32(2) - t,
    lambda t: np.float32(2) == t, lambda t: np.float32(1) < t, lambda t: t * np.sqrt(2.0),
    lambda t: t + np.array([1.0]),
])
def test_numbers_of_numpy_are_constants(body: Any) -> None:
    def kernel(x: Any) -> None:
        nl.store(x, body(nl.load(x)))
    assert ops(traced(kernel, F32))[1].startswith("tensor_scalar")


@pytest.mark.parametrize("api", ["nki", "neuronxcc.nki"])
def test_device_print_says_when_it_prints_nothing(api: str,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    language = importlib.import_module(f"{api}.language")

    def kernel(x: Any) -> None:
        language.device_print("x is", x)

    def remarks(values: bool) -> list[str]:
        found = trace(kernel, [F32], api=api, values=values)
        lines = [json.loads(line) for line in found.lines()]
        return [line["text"] for line in lines if line["record"] == "note"
                and line["kind"] == "assumption"]
    said = "device_print prints nothing: values are computed only if they are asked for"
    assert remarks(False) == [said] and not capsys.readouterr().out
    assert remarks(True) == [] and "x is x hbm float32" in capsys.readouterr().out
