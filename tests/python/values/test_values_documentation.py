# SPDX-License-Identifier: Apache-2.0
# The tested examples of AWS's documentation of the 0.1 API, where a checkout of them is present.
"""Each file of aws-neuron-sdk's nki/test compares kernels with numpy; here trnsim computes them.

TRNSIM_CORPUS names a folder of checkouts called `owner+repo`; without it the tests are skipped.
"""

from __future__ import annotations

import importlib.util
import os
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trnsim.frontend import install, run_kernel
from trnsim.frontend.kernel import set_launcher
from trnsim.frontend.loops import LoopRange

FOLDER = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent"),
              "aws-neuron+aws-neuron-sdk", "nki", "test")
DIFFERS = {
    "test_activation": "compares a bfloat16 result with a tolerance of 1e-5",
    "test_indirect_load_oob_err_negative": "expects another type of error",
    "test_indirect_store_oob_err_negative": "expects another type of error",
    "test_nc_match_replace_indices8_mask": "combines masks with `and`, which Python does not pass on",
    "test_broadcast_partition": "shuffles from fewer partitions than it writes",
    **{f"test_tensor_scalar_cumulative_load_reduce{at}": "asks for the truth of a tensor"
       for at in (1, 2, 3)}}
"""Tests that do not pass, and why."""
MODULE_LEVEL = ("test_nki_nl_gather_flattened",)
"""Files that fail when they are imported: their indices start at a partition that does not exist."""
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="TRNSIM_CORPUS has no aws-neuron-sdk")


@pytest.fixture
def launcher() -> Iterator[None]:
    """Kernels that are called compute."""
    install()
    previous = set_launcher(lambda kernel, given, named: run_kernel(kernel, *given, **named))
    yield
    set_launcher(previous)


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("test_*.py")
                                        if path.stem not in MODULE_LEVEL))
def test_the_examples_of_a_file_compute_what_they_say(name: str, launcher: None) -> None:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    module.range = LoopRange
    spec.loader.exec_module(module)
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    wrong = {test.id().rpartition(".")[2]: text for test, text in
             (*result.failures, *result.errors)}
    assert {one: text for one, text in wrong.items() if one not in DIFFERS} == {}
