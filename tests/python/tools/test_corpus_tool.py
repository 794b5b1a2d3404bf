# SPDX-License-Identifier: Apache-2.0
# tools/corpus: what a table selects, how a kernel is loaded, and the page.
"""The runner of public kernels, with a checkout made here; nki-library where TRNSIM_CORPUS has it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trace_expander import lines_of, parse

TOOLS = Path(__file__).resolve().parents[3] / "tools"
CORPUS = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent"))
LIBRARY = TOOLS / "corpus_cases" / "aws-neuron+nki-library.json"
KERNEL = """
@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * 2)
    return out
"""
HARNESS = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n# SUBSTITUTE HERE\n" \
          "import numpy as np\ndef bench(f):\n    f(np.random.rand(128, 4).astype(np.float32))\n" \
          "def judge(f):\n    return False\nif __name__ == '__main__':\n    assert judge(double)\n"


@pytest.fixture
def corpus() -> Any:
    loader = SourceFileLoader("corpus", str(TOOLS / "corpus"))
    spec = importlib.util.spec_from_loader("corpus", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_pattern_selects_files_with_kernels_that_have_no_entry_of_their_own(
        corpus: Any, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(KERNEL)
    (tmp_path / "c.py").write_text("")
    table = {"cases": [{"path": "*.py", "function": "double", "arguments": []},
                       {"path": "b.py", "function": "double", "arguments": [], "broken": "so"}]}
    found = corpus.cases(tmp_path, "one/two", table)
    assert [(case["path"], "broken" in case) for case in found] == [("a.py", False), ("b.py", True)]


def test_errors_name_no_folder_of_this_machine(corpus: Any, tmp_path: Path) -> None:
    real, shown = tmp_path / "mirrors" / "one+two", tmp_path / "corpora" / "one+two"
    real.mkdir(parents=True)
    shown.parent.mkdir()
    shown.symlink_to(real)
    for folder in (real, shown):
        beside = folder.parent / "three+four" / "b.py"
        assert corpus.short(f"{folder}/a.py:1: in {beside}:2\n  a|b", shown) == (
            "a.py:1: in three+four/b.py:2 a\\|b")


def case_of(checkout: Path, case: dict[str, Any]) -> Any:
    """What corpus_case.py finds out about a case."""
    done = subprocess.run([sys.executable, str(TOOLS / "corpus_case.py"), str(checkout),
                           str(checkout), "trn2"], input=json.dumps(case), text=True,
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def test_a_kernel_without_imports_runs_in_its_harness(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "harness.py").write_text(HARNESS)
    found = case_of(tmp_path, {"path": "kernel.py", "function": "double", "harness": "harness.py",
                               "driver": "bench(double)"})
    assert found["arguments"] == ["float32[128,4]"] and not found["reasons"]
    assert parse(lines_of(tmp_path / "trn2.nkt")).header["kernel"] == "double"


def test_what_does_not_run_has_a_reason_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("x = (\n")
    found = case_of(tmp_path, {"path": "kernel.py", "function": "double", "arguments": []})
    assert "kernel.py:1: is not valid Python: '(' was never closed" in found["reasons"]["trn2"]


def test_the_page_counts_what_ran_and_says_why_not(corpus: Any) -> None:
    row = corpus.Row({"repository": "one/two", "path": "a.py", "function": "double",
                      "arguments": [], "broken": "it is so"}, reasons={"trn2": "a.py:1: no"})
    text = corpus.page([row])
    assert "| one/two | 1 | 0 | 0 | 0 |" in text
    assert "* a.py::double on trn2: a.py:1: no (the kernel: it is so)" in text


def compared(corpus: Any, function: str, right: dict[str, Any], **case: Any) -> Any:
    """A kernel that ran, and what is known of its values."""
    return corpus.Row({"repository": "one/two", "path": "b/a.py", "function": function,
                       "arguments": ["float32[8]"], **case}, reasons={"trn1": "a.py:1: no"},
                      right=right)


def test_a_page_is_remembered_where_nothing_was_compared_again(corpus: Any) -> None:
    known = "the kernel rounds"
    wrong = {"error": None, "reason": "1 of 2 comparisons fail", "kernels": []}
    differs = {"reference": {"differs": known}}
    earlier = corpus.page([
        compared(corpus, "f", {"error": 2.5e-7, "reason": "", "kernels": []}),
        compared(corpus, "g", {"error": None, "reason": "", "kernels": []}),
        compared(corpus, "h", wrong, **differs),
        compared(corpus, "new", {})])
    again = [compared(corpus, name, {}) for name in ("f", "g", "new")]
    again.insert(2, compared(corpus, "h", {}, **differs))
    corpus.remember(again, earlier)
    assert corpus.page(again) == earlier
    fresh = compared(corpus, "f", {"error": 1e-3, "reason": "", "kernels": []})
    other = compared(corpus, "f", {})
    other.arguments = ["float32[16]"]
    corpus.remember([fresh, other], earlier)
    assert fresh.right["error"] == 1e-3 and other.right == {}


def test_kernels_of_one_name_are_remembered_apart(corpus: Any) -> None:
    def wrong(reason: str) -> dict[str, Any]:
        return {"error": None, "reason": reason, "kernels": []}

    values = [{}, {"error": 1e-3, "reason": "", "kernels": []},
              {"error": 2e-3, "reason": "", "kernels": []}, wrong("a.py:1: ValueError: no"),
              wrong("1 of 2 comparisons fail")]
    earlier = corpus.page([compared(corpus, "f", right) for right in values]
                          + [compared(corpus, "f", wrong("so"), repository="three/four"),
                             compared(corpus, "f", wrong("so"), path="c/a.py")])
    again = [compared(corpus, "f", {}) for _ in values]
    again += [compared(corpus, "f", {}, repository="three/four"),
              compared(corpus, "f", {}, path="c/a.py")]
    corpus.remember(again, earlier)
    assert corpus.page(again) == earlier


def test_a_page_without_reasons_is_remembered(corpus: Any) -> None:
    wrong = {"error": None, "reason": "1 of 2 comparisons fail", "kernels": []}
    row = compared(corpus, "f", {})
    corpus.remember([row], corpus.page([compared(corpus, "f", wrong)]).replace("* a.py::f: ", ""))
    assert row.is_right is False


def test_of_a_helper_is_remembered_only_that_it_was_right(corpus: Any) -> None:
    wrong = {"error": None, "reason": "1 of 2 comparisons fail", "kernels": []}
    helpers = [compared(corpus, name, {}, inside="f") for name in ("right", "ran", "wrong")]
    earlier = [corpus.Row(row.case) for row in helpers]
    earlier[0].inside, earlier[1].inside, earlier[2].right = "right", "ran", wrong
    corpus.remember(helpers, corpus.page(earlier))
    assert [row.inside for row in helpers] == ["right", "", ""]
    assert all(not row.right for row in helpers)


# Arguments by name ------------------------------------------------------------------------------

OBJECTS = """
from dataclasses import dataclass
from enum import Enum
import nki, nki.isa as nisa, nki.language as nl

class Mode(Enum):
    TWICE = 2

@dataclass
class Options:
    mode: Mode
    rows: tuple

@nki.jit
def helper(tile):
    nisa.memset(tile, value=0)

@nki.jit
def scale(x, options, name="", dtype=None):
    assert options.mode is Mode.TWICE and options.rows == (1, 2) and name == "a"
    tile = nl.ndarray((128, 64), dtype=dtype, buffer=nl.sbuf)
    helper(tile)

@nki.jit
def broken(x):
    raise ValueError("no such thing")
"""
MODULE = "kernels_of_a_test:"
SCALE: dict[str, Any] = {
    "path": "kernels_of_a_test.py", "function": "scale", "grid": [2], "arguments": {
        "x": "float32[128,64]", "name": {"text": "a"}, "dtype": {"dtype": "bfloat16"},
        "options": {"call": MODULE + "Options", "arguments": {
            "mode": {"enum": MODULE + "Mode.TWICE"}, "rows": {"tuple": [1, 2]}}}}}


def test_arguments_of_every_kind_reach_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernels_of_a_test.py").write_text(OBJECTS)
    found = case_of(tmp_path, SCALE)
    assert not found["reasons"] and found["entered"] == ["helper"]
    assert parse(lines_of(tmp_path / "trn2.nkt")).header["cores"] == 2


def test_an_exception_of_the_kernel_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "kernels_of_a_test.py").write_text(OBJECTS)
    found = case_of(tmp_path, {"path": "kernels_of_a_test.py", "function": "broken",
                               "arguments": {"x": "float32[4]"}})
    assert "kernels_of_a_test.py:26: the kernel raises ValueError: no such thing" in (
        found["reasons"]["trn2"])


def row_of(corpus: Any, function: str, **found: Any) -> Any:
    case = {"repository": "one/two", "path": "a.py", "function": function}
    return corpus.Row(case | found.pop("case", {}), **found)


REPORT = {"trn2": {"summary": {"latency_us": 1, "model_flops": 0, "hbm_read_bytes": 0,
                               "hbm_write_bytes": 0}, "run": {"nisa_call_count": 1}}}


def test_bytes_are_told_with_how_often_they_are_those_of_the_tensors(corpus: Any) -> None:
    summary = REPORT["trn2"]["summary"] | {"hbm_read_bytes": 3 << 20, "hbm_write_bytes": 1 << 19}
    reports = {"trn2": REPORT["trn2"] | {"summary": summary}}
    row = row_of(corpus, "f", reports=reports, tensors={"input": 2 << 20}, run_seconds={"trn2": 0},
                 trace_seconds={"trn2": 0})
    assert "| 3.00 (1.50), 0.50 |" in corpus.line(row)


def test_tensors_that_cores_share_count_once(corpus: Any) -> None:
    import corpus_case  # In the folder that the corpus tool puts on the path.
    def buffer(number: int, kind: str, shared: str = "") -> str:
        return json.dumps({"record": "buffer", "id": number, "kind": kind, "dtype": "bfloat16",
                           "shape": [4, 8]} | ({"shared": shared} if shared else {}))

    lines = ['{"record": "header"}', buffer(0, "input", "x"), buffer(1, "output", "y"),
             buffer(2, "output"), buffer(3, "internal"), buffer(4, "input", "x")]
    assert corpus_case.tensor_bytes(lines) == {"input": 64, "output": 128}


def test_a_helper_has_what_the_kernel_has_that_enters_it(corpus: Any) -> None:
    caller = row_of(corpus, "scale", entered=["helper"], reports=REPORT)
    helper = row_of(corpus, "helper", case={"inside": "scale"})
    other = row_of(corpus, "broken", case={"inside": "scale"})
    corpus.inherit([caller, helper, other])
    assert (helper.ran, helper.is_right, other.ran) == (True, None, False)
    caller.right = {"error": 0.0, "reason": "", "kernels": ["scale", "helper"]}
    corpus.inherit([caller, helper, other])
    assert (helper.is_right, other.is_right) == (True, None)


def test_a_kernel_is_as_expected_if_it_runs_is_right_or_fails_as_told(corpus: Any) -> None:
    fails = {"trn2": "a.py:1: no such thing"}
    assert row_of(corpus, "f", reports=REPORT).is_as_expected
    assert not row_of(corpus, "f", reasons=fails).is_as_expected
    assert row_of(corpus, "f", reasons=fails, case={"expected": "such thing"}).is_as_expected
    assert not row_of(corpus, "f", reasons=fails, case={"expected": "other"}).is_as_expected
    assert not row_of(corpus, "f", reports=REPORT, right={"reason": "1 of 2"}).is_as_expected
    assert row_of(corpus, "f", reports=REPORT, right={"reason": "1 of 2"},
                  case={"reference": {"differs": "so"}}).is_as_expected


def test_a_trace_over_50_kb_is_not_as_expected_and_is_told(corpus: Any) -> None:
    small = row_of(corpus, "f", reports=REPORT, bytes=50_000, text_bytes=400_000)
    large = row_of(corpus, "g", reports=REPORT, bytes=50_001, text_bytes=90_000)
    assert small.is_as_expected and not large.is_as_expected
    assert corpus.summary([small, large], False) == (
        "2 of 2 kernels ran; the largest trace has 50,001 bytes (g), the longest text 400,000 (f); "
        "traces over 50,000 bytes: 1, texts: 2")
    assert corpus.summary([row_of(corpus, "h")], False) == "0 of 1 kernels ran"


def test_the_size_of_a_trace_is_that_of_its_file_and_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "harness.py").write_text(HARNESS)
    found = case_of(tmp_path, {"path": "kernel.py", "function": "double", "harness": "harness.py",
                               "driver": "bench(double)"})
    trace = tmp_path / "trn2.nkt"
    assert found["bytes"] == trace.stat().st_size
    assert found["text_bytes"] == sum(len(line.encode()) + 1 for line in lines_of(trace))


def test_the_rest_is_what_has_no_row_or_is_not_as_expected(corpus: Any) -> None:
    right, wrong = {"error": 0.0, "reason": ""}, {"error": 1.0, "reason": "1 of 2"}
    assert not corpus.is_settled(row_of(corpus, "f"), True)
    assert corpus.is_settled(row_of(corpus, "f", right=right), True)
    assert not corpus.is_settled(row_of(corpus, "f", right=wrong), True)
    assert corpus.is_settled(row_of(corpus, "f", right=wrong,
                                    case={"reference": {"differs": "so"}}), True)
    assert not corpus.is_settled(row_of(corpus, "f", right=right), False)
    assert corpus.is_settled(row_of(corpus, "f", reports=REPORT), False)
    assert not corpus.is_settled(row_of(corpus, "f", reasons={"trn2": "no"}), False)


def test_rows_are_kept_for_later_runs(corpus: Any, tmp_path: Path) -> None:
    row = row_of(corpus, "f", reports=REPORT, trace_seconds={"trn2": 1.0},
                 run_seconds={"trn2": 1.0}, right={"error": 1e-7, "reason": "", "kernels": []})
    compared = row_of(corpus, "h", right=row.right)
    corpus.save(tmp_path / "rows.json",
                {"f": row, "unmeasured": row_of(corpus, "g"), "compared": compared})
    again = corpus.saved(tmp_path / "rows.json")
    assert list(again) == ["f", "compared"]
    assert corpus.line(corpus.Row(row.case, **again["f"])) == corpus.line(row)
    assert "| yes | 1.0e-07 | 1 |" in corpus.line(row)


# Values -----------------------------------------------------------------------------------------

def values_of(checkout: Path, case: dict[str, Any]) -> Any:
    """What corpus_reference.py finds out about a case."""
    done = subprocess.run([sys.executable, str(TOOLS / "corpus_reference.py"), str(checkout),
                           "trn2"], input=json.dumps(case), text=True, capture_output=True,
                          check=True)
    return json.loads(done.stdout)


DOUBLE = {"path": "kernel.py", "function": "double", "harness": "harness.py",
          "arguments": ["float32[128,4]"]}


@pytest.mark.parametrize(("check", "reason"), [
    ("agrees(kernel(*values), 2 * values[0], rtol=0)", ""),
    ("agrees(kernel(*values), 2 * values[0], norm=1e-6)", ""),
    ("assert np.allclose(kernel(*values), 2 * values[0])", ""),
    ("agrees(kernel(*values), 2 * wide[0])\nverdict(True)", ""),
    ("agrees(kernel(*values), 3 * values[0])",
     "1 of 1 comparisons fail, largest error 3.3e-01"),
    ("np.allclose(kernel(*values), 3 * values[0])",
     "1 of 1 comparisons fail, largest error 3.3e-01"),
    ("verdict(main('judge'))", "1 of 1 comparisons fail"),
    ("main('nothing')", "harness.py: calls no nothing in its __main__ block"),
    ("kernel(*values)", "nothing was compared"),
    ("raise ValueError('so')", "<check>:1: ValueError: so")])
def test_values_are_compared_with_a_reference(tmp_path: Path, check: str, reason: str) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "harness.py").write_text(HARNESS)
    found = values_of(tmp_path, {**DOUBLE, "reference": {"check": check}})["reason"]
    assert found == reason or (reason and found.endswith(reason))


def test_a_reference_has_a_name_in_its_table(corpus: Any, tmp_path: Path) -> None:
    table = {"references": {"twice": {"check": "1"}}, "reference": {"check": "2"}, "cases": [
        {"path": "a.py", "function": "f", "reference": "twice"}, {"path": "b.py", "function": "f"}]}
    found = corpus.cases(tmp_path, "one/two", table)
    assert [case["reference"]["check"] for case in found] == ["1", "2"]


def test_a_case_has_the_prelude_of_its_table_unless_it_has_one(corpus: Any, tmp_path: Path) -> None:
    table = {"prelude": "x = 1", "cases": [
        {"path": "a.py", "function": "f", "prelude": "x = 2"}, {"path": "b.py", "function": "f"}]}
    assert [case["prelude"] for case in corpus.cases(tmp_path, "one/two", table)] == ["x = 2", "x = 1"]


def test_a_reference_may_have_arguments_of_its_own_and_few_comparisons(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "harness.py").write_text(HARNESS)
    check = "assert values[0].shape == (64, 2)\nfor _ in range(2):\n" \
            "    agrees(kernel(*values), 2 * values[0], rtol=0)\nassert False"
    found = values_of(tmp_path, {**DOUBLE, "reference": {
        "check": check, "arguments": ["float32[64,2]"], "comparisons": 2}})
    assert (found["reason"], found["error"]) == ("", 0.0)


TESTS = """
import unittest
x = np.ones((128, 4), np.float32)
@nki.jit
def other(x):
    raise ValueError("no such thing")
class TestThem(unittest.TestCase):
    def test_double(self):
        self.assertFalse(np.allclose(double(x), x))
        self.assertTrue(np.allclose(double(x), 2 * x))
    def test_half(self):
        self.assertTrue((double(x) == 3 * x).all())
    def test_other(self):
        other(x)
"""


@pytest.mark.parametrize(("function", "reference", "reason"), [
    ("double", {}, "1 of 2 comparisons fail, largest error 0.0e+00"),
    ("other", {}, "harness.py:16: the kernel raises ValueError: no such thing"),
    ("other", {"error": "no such thing"}, "")])
def test_the_tests_that_launch_a_kernel_are_its_reference(
        tmp_path: Path, function: str, reference: dict[str, str], reason: str) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "harness.py").write_text(HARNESS + TESTS)
    found = values_of(tmp_path, {**DOUBLE, "function": function, "driver": "tests",
                                 "reference": {"driver": True, **reference}})["reason"]
    assert found.rpartition("/")[2] == reason


def test_arrays_are_compared_in_parts_and_what_is_no_number_is_wrong() -> None:
    sys.path.insert(0, str(TOOLS))
    import corpus_library as library
    wanted = np.arange(library.PART + 2, dtype=np.float32)
    found = wanted.copy()
    found[-1] += 2
    known = library.difference(found, wanted)
    assert (known.largest, known.magnitude, known.norm) == (2, library.PART + 1, 2)
    assert library.difference([np.nan], [1.0]).relative == np.inf
    assert library.difference(np.ones((3, 1)), np.ones(3)).largest == 0
    assert library.difference(np.ones((3, 2)), [[2.0, 1.0]]).largest == 1
    assert library.difference([np.nan, 2.0], [np.nan, 2.0]).relative == 0


def test_a_driver_that_compares_is_a_reference(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "harness.py").write_text(HARNESS)
    driver = "x = np.random.rand(128, 4).astype(np.float32)\nnp.testing.assert_allclose(double(x), " \
             "x + x)"
    found = values_of(tmp_path, {**DOUBLE, "driver": driver, "reference": {"driver": True}})
    assert found == {"error": 0.0, "reason": "", "kernels": ["double"]}


def test_a_reference_without_its_library_is_left_out(tmp_path: Path) -> None:
    found = values_of(tmp_path, {**DOUBLE, "reference": {"check": "", "needs": ["no_such_library"]}})
    assert found["reason"] == "no_such_library is not installed" and "error" not in found


# nki-library ------------------------------------------------------------------------------------

def test_the_table_names_the_55_entry_kernels() -> None:
    cases = json.loads(LIBRARY.read_text())["cases"]
    entries = {(case["path"], case["function"]) for case in cases}
    assert len(entries - {("src/nkilib_src/nkilib/core/moe/moe_tkg/moe_tkg.py", "moe_tkg")}) == 55


@pytest.mark.skipif(not CORPUS.is_dir(), reason="TRNSIM_CORPUS is not set")
def test_a_kernel_of_nki_library_traces(tmp_path: Path) -> None:
    case = next(one for one in json.loads(LIBRARY.read_text())["cases"]
                if one["function"] == "cumsum")
    done = subprocess.run([sys.executable, str(TOOLS / "corpus_case.py"),
                           str(CORPUS / "aws-neuron+nki-library"), str(tmp_path), "trn2"],
                          input=json.dumps(case), text=True, capture_output=True, check=True)
    assert json.loads(done.stdout)["reasons"] == {}


@pytest.mark.parametrize("table", sorted((TOOLS / "corpus_cases").glob("*.json")), ids=lambda path: path.stem)
def test_what_a_table_imports_of_trnsim_is_there(table: Path) -> None:
    names = re.findall(r"from (trnsim[\w.]*) import ([\w, ]+)", table.read_text())
    for module, listed in names:
        for name in listed.split(","):
            assert hasattr(importlib.import_module(module), name.split(" as ")[0].strip()), (module, name)
