# SPDX-License-Identifier: Apache-2.0
# --values and --check: what a kernel computes beside how long it takes.
"""Tests of values on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import CommandLine

ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = (str(ROOT / "examples/kernels/softmax.py::softmax"), "--arg", "float32[300,1024]")
REFERENCE = str(ROOT / "examples/references/softmax.py::softmax")

KERNELS = '''
import nki
import nki.isa as nisa
import nki.language as nl


def copied(x, factor=1.0):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def scale(x, factor=2.0):
    return copied(x, factor)


@nki.jit
def two(x):
    return copied(x), copied(x, 3.0)


@nki.jit
def in_place(x):
    nisa.dma_copy(dst=x, src=copied(x, 2.0))


@nki.jit
def unwritten(x):
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def nothing(x):
    copied(x)
'''

REFERENCES = '''
from textwrap import dedent

import numpy as np


def scale(x, factor=2.0):
    return x * np.float32(factor)


def wrong(x, factor=2.0):
    expected = x * np.float32(factor)
    expected[3, 5:7] += 1
    return expected


def two(x):
    return [x, 3 * x]


def in_place(x):
    x *= 2


def no_result(x):
    pass


def another_shape(x):
    return x[:64]


def words(x):
    return "seven"


def an_object(x):
    return object()


def complex_numbers(x):
    return x * (2 + 5j)


def durations(x):
    return (x * 0).astype("timedelta64[s]")


def raising(x):
    raise ValueError("no such softmax")


def other_parameters():
    return 1


def ending(x):
    raise SystemExit(0)
'''
X = ("--arg", "float32[128,64]")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNELS)
    (tmp_path / "ref.py").write_text(REFERENCES)


def test_a_check_that_passes_is_told_beside_the_latency(trnsim: CommandLine) -> None:
    outcome = trnsim("run", *EXAMPLE, "--check", REFERENCE)
    assert outcome.status == 0 and outcome.error == ""
    assert "latency     " in outcome.output
    assert f"values of seed 0, compared with {REFERENCE}: they agree"[:96] in outcome.output
    assert "result float32[300,1024]: all 307,200 elements agree, max error " in outcome.output


def test_a_check_that_fails_is_an_exit_status_of_its_own(trnsim: CommandLine) -> None:
    outcome = trnsim("run", "k.py::scale", *X, "--check", "ref.py::wrong", "--json", "r.json")
    assert outcome.status == 4
    assert "latency     " in outcome.output and "they differ" in outcome.output
    assert outcome.error.startswith("k.py::scale: result is not what ref.py::wrong computes: "
                                    "2 of 8,192 elements differ, max error 1 (rtol=1e-05, atol=")
    assert "), first [3, 5]: " in outcome.error
    result = json.loads((trnsim.folder / "r.json").read_text())
    values = result["values"]
    assert (values["reference"], values["passes"]) == ("ref.py::wrong", False)
    check = values["outputs"][0]["check"]
    assert check["differing_count"] == 2 and check["element_count"] == 128 * 64
    assert check["first"]["index"] == [3, 5]
    assert check["first"]["expected"] == pytest.approx(check["first"]["actual"] + 1)
    assert result["summary"]["latency_us"] > 0


def test_a_reference_that_ends_python_is_located(trnsim: CommandLine) -> None:
    line = REFERENCES.splitlines().index("def ending(x):") + 2
    words = ("run", "k.py::two", *X, "--check")
    assert trnsim.fails(2, *words, "ref.py::ending") == (
        f"ref.py:{line}: the reference ends Python (status 0); let it return\n")
    (trnsim.folder / "script.py").write_text("import sys\nsys.exit(3)\n")
    assert trnsim.fails(2, *words, "script.py::f") == (
        "script.py:2: importing script.py ends Python (status 3); put what runs there behind "
        "`if __name__ == '__main__':`\n")


def test_tolerances_decide(trnsim: CommandLine) -> None:
    words = ("run", "k.py::scale", *X, "--check", "ref.py::wrong", "--quiet")
    assert trnsim(*words, "--atol", "1.1").status == 0
    assert trnsim(*words, "--atol", "0.9").status == 4
    assert trnsim(*words, "--rtol", "1000").status == 0


def test_values_do_not_change_the_result(trnsim: CommandLine) -> None:
    plain = trnsim.result("k.py::scale", *X)
    with_values = trnsim.result("k.py::scale", *X, "--values")
    assert plain.pop("values") is None
    assert with_values.pop("values")["outputs"][0]["shape"] == [128, 64]
    assert plain == with_values


def test_a_seed_makes_the_contents_of_arguments(trnsim: CommandLine) -> None:
    words = ("k.py::scale", *X, "--values", "--seed")
    one, again, other = (trnsim.result(*words, seed)["values"]["outputs"] for seed in "112")
    assert one == again != other


def test_every_output_is_compared(trnsim: CommandLine) -> None:
    values = trnsim.result("k.py::two", *X, "--check", "ref.py::two")["values"]
    assert [one["name"] for one in values["outputs"]] == ["result[0]", "result[1]"]
    assert all(one["check"]["differing_count"] == 0 for one in values["outputs"])


def test_a_reference_may_write_its_argument_as_the_kernel_does(trnsim: CommandLine) -> None:
    values = trnsim.result("k.py::in_place", *X, "--check", "ref.py::in_place")["values"]
    assert [one["name"] for one in values["outputs"]] == ["x"] and values["passes"]


def test_a_kernel_without_outputs_says_so(trnsim: CommandLine) -> None:
    outcome = trnsim("run", "k.py::nothing", *X, "--values")
    assert "the kernel returns no tensor and writes no argument" in outcome.output


def test_reading_what_nothing_has_written_is_located(trnsim: CommandLine) -> None:
    line = KERNELS.splitlines().index("def unwritten(x):") + 4
    message = trnsim.fails(3, "run", "k.py::unwritten", *X, "--values")
    assert f"/k.py:{line}: element [0, 0] of 'tile' (sbuf float32[128, 64]" in message
    assert "nothing has written it" in message
    assert trnsim("run", "k.py::unwritten", *X, "--quiet").status == 0
    assert trnsim.fails(3, "trace", "k.py::unwritten", *X, "--values", "-o", "x.nkt") == message
    values = trnsim.result("k.py::unwritten", *X, "--values", "--reads-unwritten")["values"]
    assert values["outputs"][0]["nan_count"] == 128 * 64


def test_a_trace_with_values_is_the_same_trace(trnsim: CommandLine) -> None:
    for name, words in (("plain.nkt", ()), ("values.nkt", ("--values", "--seed", "3"))):
        assert trnsim("trace", "k.py::scale", *X, *words, "-o", name).status == 0
    assert (trnsim.folder / "plain.nkt").read_bytes() == (trnsim.folder / "values.nkt").read_bytes()


@pytest.mark.parametrize("kernel, reference, expected", [
    ("scale", "missing.py::scale",
     "--check missing.py::scale: there is no file missing.py; name the reference as "
     "file.py::function"),
    ("scale", "ref.py", "--check ref.py: does not name a reference; write file.py::function"),
    ("scale", "ref.py::scael",
     "--check ref.py::scael: ref.py has no function 'scael'; its functions are: scale, wrong, "),
    ("scale", "ref.py::other_parameters",
     "--check ref.py::other_parameters: other_parameters() is called with the kernel's arguments, "
     "but: too many positional arguments; give it the kernel's parameters"),
    ("two", "ref.py::scale",
     "--check ref.py::scale: the reference returns 1 tensor, but the kernel returns 2 tensors "
     "(result[0], result[1]); return as many in the same order"),
    ("scale", "ref.py::no_result",
     "--check ref.py::no_result: the reference returns nothing, but the kernel returns 1 tensor "
     "(result); return as many in the same order"),
    ("scale", "ref.py::another_shape",
     "--check ref.py::another_shape: what the reference returns for result has shape [64, 64], the "
     "kernel's is [128, 64]; return the same shape"),
    ("scale", "ref.py::words",
     "--check ref.py::words: what the reference returns for result is a array of <U"),
    ("scale", "ref.py::an_object",
     "--check ref.py::an_object: what the reference returns for result is a object, which is no "
     "array of real numbers; return one"),
    ("scale", "ref.py::complex_numbers",
     "--check ref.py::complex_numbers: what the reference returns for result is a array of "
     "complex64, which is no array of real numbers; return one"),
    ("scale", "ref.py::durations",
     "--check ref.py::durations: what the reference returns for result is a array of "
     "timedelta64[s], which is no array of real numbers; return one"),
    ("scale", "ref.py::raising",
     f"ref.py:{REFERENCES.splitlines().index('def raising(x):') + 2}: the reference raises "
     "ValueError: no such softmax"),
    ("scale", "broken.py::f", "broken.py:1: importing broken.py raises SyntaxError: "),
    ("scale", "asserting.py::f", "asserting.py:2: the reference raises AssertionError: "
     "len(x.shape) == 3 is false; x.shape is (128, 64)"),
    ("scale", "unready.py::f", "unready.py:2: importing unready.py raises AssertionError: READY is "
     "false; READY is 0"),
    ("nothing", "ref.py::scale",
     "--check ref.py::scale: the kernel returns no tensor and writes no argument, so there is "
     "nothing to compare; leave --check out"),
])
def test_a_reference_that_does_not_fit_is_the_users_error(
        trnsim: CommandLine, kernel: str, reference: str, expected: str) -> None:
    (trnsim.folder / "broken.py").write_text("def f(:\n")
    (trnsim.folder / "asserting.py").write_text("def f(x):\n    assert len(x.shape) == 3\n")
    (trnsim.folder / "unready.py").write_text("READY = 0\nassert READY\n")
    message = trnsim.fails(2, "run", f"k.py::{kernel}", *X, "--check", reference)
    assert message.startswith(expected)


@pytest.mark.parametrize("words, expected", [
    (["k.py::scale", *X, "--rtol", "1e-3"],
     "--rtol: is the tolerance of --check, which is not given; add --check file.py::function"),
    (["k.py::scale", *X, "--seed", "3"],
     "--seed 3: is that of the values, which are not computed; add --values"),
    (["k.py::scale", *X, "--reads-unwritten"],
     "--reads-unwritten: is about values, which are not computed; add --values"),
    (["k.nkt", "--values"],
     "--values: k.nkt is a trace, which has no values; leave it out, or name the kernel as "
     "file.py::function"),
    (["k.nkt", "--check", "ref.py::scale"], "--check ref.py::scale: k.nkt is a trace, "),
    (["k.py", "--values"],
     "--values: k.py is a script, whose kernels return their values as it is; leave it out, or "
     "name one kernel as k.py::function"),
    (["k.py", "--atol", "1"], "--atol: is the tolerance of --check, "),
    (["k.py::scale", *X, "--check", "ref.py::scale", "--rtol", "-1"], "trnsim run: --rtol"),
])
def test_an_option_that_does_not_fit_is_the_users_error(
        trnsim: CommandLine, words: list[str], expected: str) -> None:
    (trnsim.folder / "k.nkt").touch()
    assert trnsim.fails(2, "run", *words).startswith(expected)


@pytest.mark.parametrize("imported", ["consts", ".consts"])
def test_a_reference_imports_what_is_beside_it(trnsim: CommandLine, imported: str) -> None:
    for folder, factor in (("kernels", 3.0), ("refs", 2.0), ("right", 3.0)):
        (trnsim.folder / folder).mkdir()
        (trnsim.folder / folder / "consts.py").write_text(f"FACTOR = {factor}\n")
        (trnsim.folder / folder / "scale.py").write_text(
            f"from {imported} import FACTOR\n\n\ndef scale(x):\n    return x * FACTOR\n")
    (trnsim.folder / "kernels" / "scale.py").write_text(
        KERNELS.replace("\n@nki.jit", f"\nfrom {imported} import FACTOR\n\n@nki.jit", 1)
        + "\n\n@nki.jit\ndef by_constant(x):\n    return copied(x, FACTOR)\n")
    kernel = ("run", "kernels/scale.py::by_constant", *X, "-q", "--check")
    assert trnsim(*kernel, "refs/scale.py::scale").status == 4
    outcome = trnsim(*kernel, "right/scale.py::scale")
    assert outcome.status == 0, outcome.error
