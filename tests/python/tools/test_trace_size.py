# SPDX-License-Identifier: Apache-2.0
# Bounds the size of traces: it follows a kernel's source, not its loops.
"""Traces of the example kernels, and of the public kernels with the largest ones where TRNSIM_CORPUS
names a folder of checkouts called `owner+repo`. tools/corpus looks at all public kernels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from trnsim.frontend import trace
from trnsim.frontend.arguments import parse
from kernel_files import find_kernel

TOP = Path(__file__).resolve().parents[3]
KERNELS = TOP / "examples" / "kernels"
CASES = json.loads((KERNELS / "cases.json").read_text())["cases"]
LIBRARY = "aws-neuron+nki-library"
CHECKOUT = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent")) / LIBRARY
LARGEST = 50_000
LARGEST_EXAMPLE = 25_000
"""Of its text."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_trace_of_an_example_is_small(case: dict[str, Any], tmp_path: Path) -> None:
    found = [parse(text) for text in case["args"]]
    program = trace(find_kernel(f"{KERNELS}/{case['kernel']}"),
                    [value for name, value in found if name is None], case["chips"][0],
                    keywords={name: value for name, value in found if name is not None})
    program.save(tmp_path / "k.nkt")
    text = sum(len(line.encode()) + 1 for line in program.lines())
    assert text <= LARGEST_EXAMPLE
    assert (tmp_path / "k.nkt").stat().st_size < text / 2


@pytest.mark.skipif(not CHECKOUT.is_dir(), reason="TRNSIM_CORPUS has no nki-library")
@pytest.mark.parametrize("function", ["attention_cte", "blockwise_mm_bwd", "bwmm_shard_on_block_mx",
                                      "find_nonzero_indices", "moe_block_tkg"])
def test_the_traces_of_public_kernels_are_at_most_50_kb(function: str, tmp_path: Path) -> None:
    table = json.loads((TOP / "tools" / "corpus_cases" / f"{LIBRARY}.json").read_text())
    cases = [case for case in table["cases"] if case["function"] == function]
    assert cases
    for case in cases:
        done = subprocess.run(
            [sys.executable, str(TOP / "tools" / "corpus_case.py"), str(CHECKOUT), str(tmp_path),
             case.get("chips", ["trn2"])[0]], input=json.dumps(case), text=True,
            capture_output=True, check=True)
        assert 0 < json.loads(done.stdout)["bytes"] <= LARGEST, done.stdout
