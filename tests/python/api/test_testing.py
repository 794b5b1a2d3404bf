# SPDX-License-Identifier: Apache-2.0
# Tests of trnsim.testing and of the pytest plugin.
"""What assertions say when they fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trnsim
from api_kernels import double
from trnsim.testing import assert_allclose, assert_bound_by, assert_latency

ROOT = Path(__file__).resolve().parents[3]
X = "float32[512,256]"


def test_a_kernel_that_is_fast_enough_passes() -> None:
    assert assert_latency(double, [X], max_us=1000).latency_us < 1000
    assert assert_latency(double, {"x": X, "times": 2}, chip="trn3", max_us=1000).chip == (
        "trainium3")
    assert_bound_by(double, [X], "latency")


def test_a_failure_shows_latency_bound_and_three_stalls() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_latency(double, [X], "trn2", max_us=20)
    lines = str(failure.value).splitlines()
    assert re.fullmatch(r"double\(float32\[512,256\]\) on trainium2: 2\d\.\d\d us, "
                        r"allowed are 20 us", lines[0])
    assert re.fullmatch(r"  bound by latency: \d+\.\d % of the time", lines[1])
    assert lines[2] == "  longest stalls:" and len(lines) == 6
    assert re.search(r"us  .*api_kernels\.py:\d+ \w+ \(\w+\) for .*api_kernels\.py:\d+", lines[3])


def test_another_bound_is_told_with_what_the_expected_one_needs() -> None:
    with pytest.raises(AssertionError, match="expected is bound by dma, which needs"):
        assert_bound_by(double, [X], "dma")
    with pytest.raises(AssertionError, match="expected are 100 % at least"):
        assert_bound_by(double, [X], "latency", min_percent=100)
    with pytest.raises(AssertionError, match="expected are at least 1000 us"):
        assert_latency(double, [X], max_us=2000, min_us=1000)


def test_the_assertions_are_there_without_another_import() -> None:
    code = "import trnsim; print(trnsim.testing.assert_latency.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools" / "python")})
    assert done.stdout == "assert_latency\n"


def test_mistakes_in_an_assertion_are_the_users() -> None:
    with pytest.raises(trnsim.UserError, match="'gpu' is not one of tensor, vector"):
        assert_bound_by(double, [X], "gpu")
    with pytest.raises(trnsim.UserError, match="a list with one entry per parameter"):
        assert_latency(double, X, max_us=1)


@pytest.mark.parametrize("limit", [float("nan"), float("inf"), "50", None, True])
@pytest.mark.parametrize("name", ["max_us", "min_us"])
def test_a_limit_is_a_finite_number(name: str, limit: object) -> None:
    limits: dict[str, Any] = {"max_us": 50, name: limit}
    with pytest.raises(trnsim.UserError) as found:
        assert_latency(double, [X], **limits)
    assert str(found.value) == (f"{name} is {limit!r}, but a finite number of microseconds is "
                                "needed; give one")


@pytest.mark.parametrize(("most", "least"), [(-1, 0), (0, 0), (50, 60), (50, -1)])
def test_limits_that_no_latency_is_between_are_refused(most: float, least: float) -> None:
    with pytest.raises(trnsim.UserError) as found:
        assert_latency(double, [X], max_us=most, min_us=least)
    assert str(found.value) == (
        f"max_us is {most} and min_us is {least}, but a latency is above 0 and between them; "
        "give a max_us above 0 and a min_us from 0 to max_us")


@pytest.mark.parametrize("percent", [float("nan"), -1, 101, "50", None])
def test_a_share_of_the_time_is_a_percentage(percent: Any) -> None:
    with pytest.raises(trnsim.UserError) as found:
        assert_bound_by(double, [X], "latency", min_percent=percent)
    assert str(found.value) == (f"min_percent is {percent!r}, but a number from 0 to 100 is "
                                "needed; give one")


def test_the_message_tells_how_far_large_integers_are_apart() -> None:
    with pytest.raises(AssertionError, match=r"\(difference 1, allowed 0 with"):
        assert_allclose(np.array([2**60]), np.array([2**60 + 1]))


def test_dicts_are_compared_by_their_keys() -> None:
    one = np.ones(3)
    assert_allclose({"a": one, "b": [one, one]}, {"b": (one, one), "a": one})
    with pytest.raises(AssertionError, match=r"the result\['a'\]: 3 of 3 float64 elements differ"):
        assert_allclose({"a": one}, {"a": 2 * one})
    with pytest.raises(AssertionError, match=r"the result: has \['a'\], expected are \['b'\]"):
        assert_allclose({"a": one}, {"b": one})


@pytest.mark.parametrize(("expected", "what"), [
    (1j * np.ones(3), "an array of complex128"), ("abc", "an array of <U3"), (None, "NoneType"),
    ({"a": 1}, "dict"), (np.array([None]), "ndarray"),
    (np.zeros(3, "f4,f4"), "an array of [('f0', '<f4'), ('f1', '<f4')]")])
def test_what_is_no_real_numbers_is_compared_with_nothing(expected: Any, what: str) -> None:
    with pytest.raises(trnsim.UserError) as found:
        assert_allclose(np.ones(3), expected)
    assert str(found.value) == (f"what is expected of the result is {what}, which is no array of "
                                "real numbers; give one")
    with pytest.raises(trnsim.UserError, match="the result is .*, which is no array of real num"):
        assert_allclose(expected, np.ones(3))
    for number, shown in ((3, "3"), (np.array(3), r"array\(3\)")):
        with pytest.raises(trnsim.UserError, match=f"is {shown}, but 2 tensors are needed; give"):
            assert_allclose([np.ones(3)] * 2, number)
    assert_allclose([np.ones(3), np.ones((2, 2))], (np.ones(3), np.ones((2, 2))))
    with pytest.raises(trnsim.UserError, match="is list, which is no array of real numbers"):
        assert_allclose(np.ones(3), [[1, 2], [3]])


TEST_FILE = """\
import api_kernels

def test_fast(trnsim):
    trnsim.assert_latency(api_kernels.double, ["float32[512,256]"], chip="trn2", max_us=1000)
    trnsim.assert_bound_by(api_kernels.double, ["float32[512,256]"], "latency")
    assert len(trnsim.compare(api_kernels.double, "int8[128,4]", chips=["trn1", "trn2"])) == 2

def test_slow(trnsim):
    trnsim.assert_latency(api_kernels.double, ["float32[512,256]"], max_us=1)
"""


def test_the_fixture_asserts_in_a_users_test(tmp_path: Path) -> None:
    (tmp_path / "test_speed.py").write_text(TEST_FILE)
    path = os.pathsep.join([str(ROOT / "tools" / "python"), str(Path(__file__).parent)])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "pytest_trnsim", "-p", "no:cacheprovider",
         "test_speed.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path})
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "allowed are 1 us" in done.stdout and "longest stalls:" in done.stdout
