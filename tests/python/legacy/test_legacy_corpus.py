# SPDX-License-Identifier: Apache-2.0
# Traces public kernels of the 0.1 API, where checkouts of them are present.
"""NKIBench and nki-samples, unmodified. TRNSIM_CORPUS names a folder of checkouts called
`owner+repo`; without it these tests are skipped.

The expected multiply-accumulates and bytes follow from the shapes and loops of the kernels: without
the transposes by matmul, and with every load and store as often as it is written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from legacy_helpers import check_written, in_full, program, tensor
from trace_expander import Executed, expand, totals
from kernel_files import find_kernel

CORPUS = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent"))
BENCH = "zhang677+AccelOpt/NKIBench/kernels"
SAMPLES = "aws-neuron+nki-samples"
TUTORIALS = f"{SAMPLES}/src/nki_samples/tutorials"
ATTENTION = f"{TUTORIALS}/attention_fwd_performance/attention_kernels.py"


def f32(*shape: int) -> Any:
    return tensor("float32", *shape)


NKIBENCH = [
    ("adamw_M10944_N2048_0", [f32(10944, 2048)] * 4, 0, 358612992, 89653248, 6021),
    ("add_rmsnorm_matmul_M4096_N2048_K1024_0",
     [f32(4096, 1024), f32(1024, 2048), 1e-5, f32(4096, 1024), f32(1024)],
     4096 * 2048 * 1024, 301993984, 33554432, 4802),
    ("bmm_B16_M4096_K64_N4096_0", [f32(16, 4096, 64), f32(16, 64, 4096)],
     16 * 4096 * 64 * 4096, 83951616, 1073741824, 16449),
    ("bmm_softmax_B16_K64_M4096_N4096_0", [f32(16, 4096, 64), f32(16, 64, 4096)],
     16 * 4096 * 64 * 4096, 83951616, 1073741824, 42049),
    ("gqa_full_B1_N4096_QH16_KH8_D128_0",
     [f32(32, 128, 16, 128), f32(1, 8, 4, 128, 8, 128), f32(1, 32, 128, 1024)],
     2 * 16 * 4096 * 4096 * 128, 67174400, 33554432, 85633),
    ("lora_M4096_N12288_K5120_R128_0",
     [f32(8, 4, 128, 40, 128), f32(40, 128, 12288), f32(40, 128, 128), f32(128, 12288)],
     4096 * 12288 * 5120 + 4096 * 128 * (5120 + 12288), 1357447168, 201326592, 83465),
    ("mamba_M7168_C256_S16_0",
     [f32(256, 7168), f32(256, 7168), f32(256, 16), f32(16, 7168), f32(16, 7168)],
     0, 236732416, 7340032, 2149),
    ("matmul_M4096_N12288_K5120_0", [f32(32, 128, 40, 128), f32(40, 128, 12288)],
     4096 * 12288 * 5120, 1258356736, 201326592, 64993),
    ("matmul_add_rmsnorm_M4096_N2048_K2048_0",
     [f32(4096, 2048), f32(2048, 2048), 1e-5, f32(4096, 2048), f32(2048)],
     4096 * 2048 * 2048, 603987968, 33554432, 8930),
    ("rmsnorm_matmul_M4096_N2048_K1024_0", [f32(32, 128, 1024), f32(8, 128, 2048)],
     4096 * 2048 * 1024, 67174400, 33554432, 2210),
    ("rope_single_freq_apply_B1_H64_N4096_D128_0",
     [f32(128, 262144), f32(64, 262144), f32(64, 262144)], 0, 268435456, 134217728, 5632),
    ("silu_M4096_N7168_0", [f32(128, 32, 7168)], 0, 117440512, 117440512, 2241),
    ("swiglu_M4096_N3072_K1024_0",
     [f32(8, 4, 128, 8, 128), f32(8, 128, 3072), f32(24, 128, 1024), f32(8, 128, 3072)],
     3 * 4096 * 3072 * 1024, 188809216, 67108864, 9578),
    ("transpose_matmul_M4096_K2048_N10944_0", [f32(128, 16, 4096), f32(128, 16, 10944)],
     4096 * 2048 * 10944, 392167424, 179306496, 13088)]


def useful(executed: list[Executed]) -> list[Executed]:
    """Without matmuls that transpose or broadcast."""
    return [one for one in executed if not {"is_transpose", "onezero"} & {
        name for name, _ in one.attributes}]


@pytest.mark.skipif(not (CORPUS / BENCH).is_dir(), reason="TRNSIM_CORPUS has no NKIBench")
@pytest.mark.parametrize(("name", "arguments", "macs", "read", "written", "instructions"), NKIBENCH)
def test_nkibench_computes_and_moves_what_its_source_says(
        name: str, arguments: list[Any], macs: int, read: int, written: int,
        instructions: int) -> None:
    found = program(find_kernel(f"{CORPUS}/{BENCH}/{name}.py::kernel"), *arguments)
    lines = found.lines()
    executed = expand(lines)
    check_written(executed)
    counted = totals(useful(executed), lines)
    assert (counted["macs"], counted["hbm_read_bytes"], counted["hbm_write_bytes"]) == (
        macs, read, written)
    assert found.instructions == instructions
    assert len(lines) < 400 and not found.notes


BF16 = [tensor("bfloat16", 128, 2048)] * 3
MAMBA = [f32(1, 256, 2048)] * 2 + [f32(256, 16)] + [f32(1, 16, 2048)] * 2


@pytest.mark.skipif(not (CORPUS / SAMPLES).is_dir(), reason="TRNSIM_CORPUS has no nki-samples")
@pytest.mark.parametrize(("kernel", "arguments"), [
    *((f"{ATTENTION}::attn_fwd_v{version}", BF16)
      for version in ("3", "4", "5", "6", "7", "8", "8a", "11")),
    *((f"{TUTORIALS}/fused_mamba/mamba_nki_kernels.py::mamba_v{version}", MAMBA)
      for version in (1, 2, 3)),
    (f"{ATTENTION}::attn_fwd_v1", [tensor("bfloat16", 128, 128)] * 3),
    (f"{ATTENTION}::attn_fwd_v2", [tensor("bfloat16", 128, 128)] * 3),
    (f"{TUTORIALS}/tensor_addition/tensor_addition_nki_kernels.py::nki_tensor_add_kernel_",
     [tensor("float16", 128, 512)] * 2),
    (f"{TUTORIALS}/transpose2d/transpose2d_nki_kernels.py::tensor_transpose2D_kernel_",
     [tensor("int8", 5, 12), (3, 4)]),
    (f"{TUTORIALS}/average_pool2d/average_pool2d_nki_kernels.py::tensor_avgpool_kernel",
     [tensor("float16", 2, 6, 6), 2]),
    (f"{SAMPLES}/contributed/matmul.py::matmul",
     [tensor("float16", 1024, 4096), tensor("float16", 1024, 2048)]),
    (f"{SAMPLES}/contributed/maxpooling.py::max_pooling_2d_stride_1", [f32(448, 448), 3]),
    (f"{SAMPLES}/contributed/interpolate_bilinear_fwd.py::interpolate_bilinear_2x_fwd",
     [f32(2, 64, 128, 128)]),
    (f"{SAMPLES}/contributed/interpolate_trilinear_fwd.py::interpolate_trilinear_2x_fwd",
     [f32(2, 64, 23, 23, 23)])])
def test_a_sample_is_traced_without_loss(kernel: str, arguments: list[Any]) -> None:
    function = find_kernel(f"{CORPUS}/{kernel}")
    lines = program(function, *arguments).lines()
    check_written(expand(lines))
    assert lines == in_full(function, *arguments)
