# SPDX-License-Identifier: Apache-2.0
# Tests of what an exception of the user's code is said to be.
"""Its message; of an assert without one, what does not hold."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from trnsim.frontend.__main__ import main
from trnsim.frontend.raised import words_of


def words(statement: str, tmp_path: Path, **names: object) -> str:
    """What is said of an exception in a file (pytest would rewrite an assert that stood here)."""
    path = tmp_path / "raising.py"
    path.write_text(f"def f():\n    {statement}\n")
    function = runpy.run_path(str(path), dict(names))["f"]
    with pytest.raises(Exception) as raised:
        function()
    return words_of(raised.value)


X = SimpleNamespace(shape=(100, 64), ndim=2, rows=lambda: 100)


@pytest.mark.parametrize(("statement", "expected"), [
    ("assert x.shape == (rows, 64)",
     "x.shape == (rows, 64) is false; x.shape is (100, 64), rows 128"),
    ("assert x.shape[0] % rows == 0",
     "x.shape[0] % rows == 0 is false; x.shape[0] is 100, rows 128"),
    ("assert (x.shape[0] ==\n            rows)", "x.shape[0] == rows is false; x.shape[0] is 100, rows 128"),
    ("assert (\n        rows == 1)", "rows == 1 is false; rows is 128"),
    ("assert x.rows() in (rows, max(1, rows))",
     "x.rows() in (rows, max(1, rows)) is false; rows is 128"),
    ("assert not (x.ndim == 2 and 'é'), ''",
     "not (x.ndim == 2 and 'é') is false; x.ndim is 2"),
    ("assert False", "False is false"),
    ("assert not x", "not x is false"),
    ("assert missing.get(0) or rows > 200, 'too few'", "too few"),
    ("assert rows < 200 and x.ndim == 3",
     "rows < 200 and x.ndim == 3 is false; rows is 128, x.ndim 2"),
    ("assert " + " + ".join(["rows"] * 30) + " == 1", "without a message"),
    ("assert rows == 1 and '" + "x" * 50 + "' != name",
     "rows == 1 and '" + "x" * 50 + "' != name is false"),
    ("raise ValueError", "without a message"),
    ("raise AssertionError", "without a message"),
    ("raise KeyError('k')", "'k'"),
])
def test_an_exception_is_said_in_words(statement: str, expected: str, tmp_path: Path) -> None:
    assert words(statement, tmp_path, x=X, rows=128, missing={}, name="y" * 120) == expected


def test_a_condition_that_is_not_to_be_read_is_left_out(tmp_path: Path) -> None:
    code = compile("def f():\n    assert 1 == 2\n", str(tmp_path / "nowhere.py"), "exec")
    names: dict[str, object] = {}
    exec(code, names)
    with pytest.raises(AssertionError) as raised:
        names["f"]()  # type: ignore[operator]
    assert words_of(raised.value) == "without a message"


@pytest.mark.parametrize(("text", "expected"), [
    ("import nki\ndef kernel(x):\n    assert x.shape[0] == 64\n",
     "bare.py:3: the kernel raises AssertionError: x.shape[0] == 64 is false; x.shape[0] is 128"),
    ("ROWS = 3\nassert ROWS == 2\ndef kernel(x):\n    return x\n",
     "bare.py raises AssertionError: ROWS == 2 is false; ROWS is 3"),
])
def test_a_condition_of_a_kernel_is_said(text: str, expected: str, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bare.py"
    path.write_text(text)
    out = tmp_path / "x.nkt"
    assert main([f"{path}::kernel", "--arg", "float32[128,4]", "-o", str(out)]) == 2
    assert expected in capsys.readouterr().err
