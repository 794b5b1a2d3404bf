# SPDX-License-Identifier: Apache-2.0
# Traces AWS's own kernels, where a checkout of them is present.
"""Kernels of aws-neuron-sdk and nki-samples, unmodified. TRNSIM_CORPUS names a folder of checkouts
called `owner+repo`; without it these tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from helpers import flat, tensor
from trace_expander import expand, totals
from trnsim.frontend import trace
from kernel_files import find_kernel

CORPUS = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent"))
EXAMPLES = "aws-neuron+aws-neuron-sdk/nki/examples"
SAMPLES = "aws-neuron+nki-samples/src/nki_samples/tutorials"
MATMUL = f"{EXAMPLES}/matrix_multiplication/matrix_multiplication_nki_kernels.py"

pytestmark = pytest.mark.skipif(not (CORPUS / EXAMPLES).is_dir(),
                                reason="TRNSIM_CORPUS has no AWS Neuron SDK")


def kernel(path: str) -> Any:
    return find_kernel(str(CORPUS / path))


@pytest.mark.parametrize(("name", "size"), [
    ("nki_matmul_tiled_", 2048), ("nki_matmul_hoist_load_", 2048),
    ("nki_matmul_block_free_dimension_", 2048), ("nki_matmul_fully_optimized_", 2048)])
def test_a_tutorial_matmul_is_compressed_without_loss(
        name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments = kernel(f"{MATMUL}::{name}"), [tensor("bfloat16", size, size)] * 2
    lines = trace(function, arguments).lines()
    executed = expand(lines)
    assert executed == flat(function, arguments, monkeypatch)
    assert totals(executed, lines)["macs"] == size ** 3
    assert len(lines) < 60


@pytest.mark.parametrize(("name", "instructions"), [
    ("nki_matmul_tiled_", 198656), ("nki_matmul_hoist_load_", 137216),
    ("nki_matmul_block_free_dimension_", 104448), ("nki_matmul_fully_optimized_", 77312)])
def test_a_large_tutorial_matmul_stays_small(name: str, instructions: int) -> None:
    program = trace(kernel(f"{MATMUL}::{name}"), [tensor("bfloat16", 8192, 8192)] * 2)
    assert program.instructions == instructions
    assert sum(len(line) for line in program.lines()) < 8000


MAMBA = [tensor("float32", 1, 256, 512)] * 2 + [tensor("float32", 256, 16)] + [
    tensor("float32", 1, 16, 512)] * 2


@pytest.mark.parametrize(("path", "arguments"), [
    (f"{EXAMPLES}/average_pool2d/average_pool2d_nki_kernels.py::tensor_avgpool_kernel",
     [tensor("float16", 2, 6, 6), 2]),
    (f"{EXAMPLES}/index-case-1.py::tensor_split_kernel_", [tensor("bfloat16", 4, 5)]),
    (f"{EXAMPLES}/index-case-3.py::tensor_maxpool_kernel_", [tensor("bfloat16", 2, 6, 6), 2]),
    (f"{EXAMPLES}/layout-pass.py::tensor_exp_kernel_", [tensor("bfloat16", 128, 512)]),
    (f"{EXAMPLES}/tensor_addition/tensor_addition_nki_kernels.py::nki_tensor_add",
     [tensor("float32", 256, 1024)] * 2),
    (f"{EXAMPLES}/transpose2d/transpose2d_nki_kernels.py::tensor_transpose2D_kernel_",
     [tensor("int8", 5, 12), (3, 4)]),
    (f"{EXAMPLES}/fused_mamba/mamba_nki_kernels.py::mamba_v1", MAMBA),
    (f"{EXAMPLES}/fused_mamba/mamba_nki_kernels.py::mamba_v2", MAMBA),
    (f"{EXAMPLES}/fused_mamba/mamba_nki_kernels.py::mamba_v3", MAMBA),
    (f"{SAMPLES}/matrix_multiplication/matrix_multiplication_nki_kernels.py"
     "::nki_matmul_fully_optimized_", [tensor("bfloat16", 2048, 2048)] * 2)])
def test_a_kernel_of_the_documentation_is_compressed_without_loss(
        path: str, arguments: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    function = kernel(path)
    assert expand(trace(function, arguments).lines()) == flat(function, arguments, monkeypatch)
