# SPDX-License-Identifier: Apache-2.0
# The kernels of NKIBench against their own references, where a checkout of them is present.
"""TRNSIM_CORPUS names a folder of checkouts called `owner+repo`; without it the tests are skipped.

The shapes are NKIBench's, so a kernel takes from seconds to minutes: those that take long are run
if TRNSIM_SLOW is set. The tolerance is NKIBench's: a relative difference of the norms of 2e-5.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trnsim.frontend import run_kernel
from kernel_files import find_kernel

BENCH = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent")) / "zhang677+AccelOpt" / "NKIBench"
TOLERANCE = 2e-5
QUICK = ("silu", "rmsnorm_matmul")
SLOW = ("adamw", "add_rmsnorm_matmul", "bmm", "bmm_softmax", "gqa_full", "lora", "mamba", "matmul",
        "matmul_add_rmsnorm", "rope_single_freq_apply", "swiglu", "transpose_matmul")


def reference_of(name: str) -> Any:
    """The module with the inputs, the reference and the layouts of a problem."""
    path = next((BENCH / "reference").glob(f"{name}_*_numpy_*.py"))
    spec = importlib.util.spec_from_file_location(f"reference_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not BENCH.is_dir(), reason="TRNSIM_CORPUS has no NKIBench")
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(one, marks=pytest.mark.skipif(
    not os.environ.get("TRNSIM_SLOW"), reason="TRNSIM_SLOW is not set")) for one in SLOW)])
def test_a_kernel_computes_its_reference(name: str) -> None:
    problem = reference_of(name)
    kernel = next(path for path in (BENCH / "kernels").glob(f"{name}_*_0.py")
                  if path.stem[len(name) + 1].isupper())
    np.random.seed(0)
    inputs = problem.get_inputs()
    found = run_kernel(find_kernel(f"{kernel}::kernel"), *problem.transform_to_nki_inputs(inputs))
    wanted = problem.forward(*inputs)
    outputs = problem.transform_nki_outputs(found, wanted)
    for one, other in zip(outputs, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert one.shape == other.shape
        error = np.linalg.norm((one - other).astype(np.float64))
        assert error < TOLERANCE * np.linalg.norm(other.astype(np.float64))
