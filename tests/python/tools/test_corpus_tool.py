# SPDX-License-Identifier: Apache-2.0
# tools/corpus: what a table selects, how a kernel is loaded, and the page.
"""The runner of public kernels, with a checkout made here."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
KERNEL = """
@nki.jit
def double(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * 2)
    return out
"""
HARNESS = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n# SUBSTITUTE HERE\n" \
          "import numpy as np\ndef bench(f):\n    f(np.random.rand(128, 4).astype(np.float32))\n"


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
    assert '"kernel":"double"' in (tmp_path / "trn2.nkt").read_text()


def test_what_does_not_run_has_a_reason_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("x = (\n")
    found = case_of(tmp_path, {"path": "kernel.py", "function": "double", "arguments": []})
    assert "kernel.py:1: is not valid Python: '(' was never closed" in found["reasons"]["trn2"]


def test_the_page_counts_what_ran_and_says_why_not(corpus: Any) -> None:
    row = corpus.Row({"repository": "one/two", "path": "a.py", "function": "double",
                      "arguments": [], "broken": "it is so"}, reasons={"trn2": "a.py:1: no"})
    text = corpus.page([row])
    assert "| one/two | 1 | 0 |" in text
    assert "* a.py::double on trn2: a.py:1: no (the kernel: it is so)" in text
