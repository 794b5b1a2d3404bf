# SPDX-License-Identifier: Apache-2.0
# Kernels of aws-neuron/nki-samples against numpy, where a checkout of them is present.
"""TRNSIM_CORPUS names a folder of checkouts called `owner+repo`; without it the tests are skipped.

The kernels run unmodified; the references are written here from what the kernels are meant to do.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from trnsim.frontend import dtype, run_kernel
from kernel_files import find_kernel
from trnsim.testing import assert_allclose

SAMPLES = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent")) / "aws-neuron+nki-samples"
TUTORIALS = "src/nki_samples/tutorials"
ATTENTION = f"{TUTORIALS}/attention_fwd_performance/attention_kernels.py"
MAMBA = f"{TUTORIALS}/fused_mamba/mamba_nki_kernels.py"
MATMUL = f"{TUTORIALS}/matrix_multiplication/matrix_multiplication_nki_kernels.py"
ADDITION = f"{TUTORIALS}/tensor_addition"
BFLOAT16_INSIDE = ("7", "8", "8a", "9", "10", "11")
"""Versions of attention that keep intermediate results in bfloat16."""
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="TRNSIM_CORPUS has no nki-samples")

Array = Any


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def run(name: str, *arguments: Any, grid: Any = None, chip: str = "trn2", **named: Any) -> Any:
    kernel: Any = find_kernel(f"{SAMPLES}/{name}")
    return run_kernel(kernel if grid is None else kernel[grid], *arguments, chip=chip, **named)


def softmax_attention(q: Array, k: Array, v: Array) -> Array:
    """softmax(q.T @ k) @ v.T for q, k, v of shape [d, seqlen]."""
    scores = q.T.astype(np.float64) @ k.astype(np.float64)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (scores / scores.sum(axis=1, keepdims=True)) @ v.T.astype(np.float64)


def selective_scan(delta: Array, u: Array, a: Array, b: Array, c: Array) -> Array:
    """The state space model of Mamba."""
    state = np.zeros((delta.shape[0], delta.shape[1], a.shape[1]))
    result = np.zeros(delta.shape)
    for t in range(delta.shape[2]):
        decay = np.exp(delta[:, :, t, None] * a[None])
        state = decay * state + (delta[:, :, t] * u[:, :, t])[..., None] * b[:, None, :, t]
        result[:, :, t] = (state * c[:, None, :, t]).sum(axis=2)
    return result


def doubled(x: Array, axis: int) -> Array:
    """Linear interpolation to twice the size along an axis, as torch's with half-pixel centres."""
    count = x.shape[axis]
    place = np.clip((np.arange(2 * count) + 0.5) / 2 - 0.5, 0, count - 1)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, count - 1)
    weight = (place - low).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    return np.take(x, low, axis) * (1 - weight) + np.take(x, high, axis) * weight


@pytest.mark.parametrize(("version", "length"), [
    ("1", 128), ("2", 128), ("3", 512), ("4", 512), ("5", 512), ("6", 512), ("7", 512), ("8", 512),
    ("8a", 512), ("9", 2048), ("10", 2048), ("11", 512)])
@pytest.mark.parametrize("kind", [np.float32, ml_dtypes.bfloat16])
def test_attention(version: str, length: int, kind: Any) -> None:
    atol = 1e-5
    q, k, v = ((rng().random((3, 128, length)) - 0.5) * 2).astype(kind)
    found = run(f"{ATTENTION}::attn_fwd_v{version}", q, k, v)
    if version in BFLOAT16_INSIDE or found.dtype != np.float32:
        atol = 1e-2
    assert_allclose(found, softmax_attention(q, k, v).astype(found.dtype), rtol=1e-3, atol=atol)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_mamba(version: int) -> None:
    r = rng()
    delta, u = r.random((2, 1, 256, 1024), dtype=np.float32)
    a = -r.random((256, 16), dtype=np.float32)
    b, c = r.random((2, 1, 16, 1024), dtype=np.float32)
    found = run(f"{MAMBA}::mamba_v{version}", delta, u, a, b, c)
    assert_allclose(found, selective_scan(delta, u, a, b, c), rtol=1e-4)


@pytest.mark.parametrize(("name", "shape"), [
    ("nki_matmul_basic_", (128, 64, 512)), ("nki_matmul_tiled_", (256, 256, 1024)),
    ("nki_matmul_hoist_load_", (256, 256, 1024)),
    ("nki_matmul_block_free_dimension_", (512, 512, 1024)),
    ("nki_matmul_fully_optimized_", (1024, 2048, 1024))])
def test_matmul(name: str, shape: tuple[int, int, int]) -> None:
    k, m, n = shape
    r = rng()
    left = r.standard_normal((k, m)).astype(ml_dtypes.bfloat16)
    right = r.standard_normal((k, n)).astype(ml_dtypes.bfloat16)
    if name == "nki_matmul_basic_":
        left, right = left[:128, :64], right[:128]
    found = run(f"{MATMUL}::{name}", np.ascontiguousarray(left), right)
    assert_allclose(found, left.T.astype(np.float32) @ right.astype(np.float32), rtol=2e-2,
                    atol=0.2)


@pytest.mark.parametrize(("name", "grid"), [
    ("tensor_addition_nki_kernels.py::nki_tensor_add_kernel_", None),
    ("spmd_tensor_addition_nki_kernels.py::nki_tensor_add_kernel_", (4, 4)),
    ("spmd_multiple_nc_tensor_addition_nki_kernels.py::nki_tensor_add_nc2", None)])
def test_addition(name: str, grid: Any) -> None:
    a, b = rng().random((2, 512, 2048)).astype(np.float16)
    if name.startswith("tensor"):
        a, b = a[:128, :512], b[:128, :512]
    if name.endswith("nc2"):
        kernels: Any = find_kernel(f"{SAMPLES}/{ADDITION}/{name}")
        from trnsim.frontend.kernel import set_launcher
        previous = set_launcher(lambda kernel, given, named: run_kernel(kernel, *given))
        try:
            found = kernels(a, b)
        finally:
            set_launcher(previous)
    else:
        found = run(f"{ADDITION}/{name}", a, b, grid=grid)
    assert_allclose(found, a + b, rtol=0)


def test_transpose() -> None:
    data = rng().integers(0, 100, (5, 12)).astype(np.int8)
    found = run(f"{TUTORIALS}/transpose2d/transpose2d_nki_kernels.py::tensor_transpose2D_kernel_",
                data, (3, 4))
    assert_allclose(found, data.reshape(5, 3, 4).transpose(0, 2, 1).reshape(5, 12), rtol=0)


def test_average_pooling() -> None:
    data = rng().random((2, 6, 6)).astype(np.float16)
    found = run(f"{TUTORIALS}/average_pool2d/average_pool2d_nki_kernels.py::tensor_avgpool_kernel",
                data, 2)
    mean = data.astype(np.float32).reshape(2, 3, 2, 3, 2).mean(axis=(2, 4))
    assert_allclose(found, mean, rtol=2e-3)


def test_maximum_pooling() -> None:
    data = rng().random((448, 448), dtype=np.float32)
    found = run("contributed/maxpooling.py::max_pooling_2d_stride_1", data, 3)
    windows = np.lib.stride_tricks.sliding_window_view(data, (3, 3))
    assert_allclose(found, windows.max(axis=(2, 3)), rtol=0)


def test_blocked_matmul() -> None:
    left = rng().standard_normal((1024, 512)).astype(np.float32)
    right = rng().standard_normal((1024, 2048)).astype(np.float32)
    found = run("contributed/matmul.py::matmul", left, right)
    assert_allclose(found, left.T @ right, rtol=1e-4, atol=1e-3)


def test_bilinear_interpolation() -> None:
    data = rng().random((2, 64, 24, 24), dtype=np.float32)
    found = run("contributed/interpolate_bilinear_fwd.py::interpolate_bilinear_2x_fwd", data)
    assert_allclose(found, doubled(doubled(data, 2), 3), rtol=1e-5)


def test_trilinear_interpolation() -> None:
    data = rng().random((2, 64, 10, 10, 10), dtype=np.float32)
    found = run("contributed/interpolate_trilinear_fwd.py::interpolate_trilinear_2x_fwd", data)
    assert_allclose(found, doubled(doubled(doubled(data, 2), 3), 4), rtol=1e-5)


# Microscaling ---------------------------------------------------------------------------------

MX = f"{TUTORIALS}/mxfp-matmul/mx_kernels.py"
PACKED = {"float8_e5m2": ("float8_e5m2_x4", 15), "float8_e4m3fn": ("float8_e4m3fn_x4", 8),
          "float4_e2m1fn": ("float4_e2m1fn_x4", 2)}


def microscaled(name: str, rows: int, columns: int, seed: int) -> tuple[Array, Array, Array]:
    """Random blocks of 8 x 4 elements: packed elements, scale exponents, and their values."""
    r = np.random.default_rng(seed)
    kind, top = getattr(ml_dtypes, name), PACKED[name][1]
    elements = ((r.random((rows, columns)) * 2 - 1) * 1.5 * 2.0**top).astype(kind)
    scales = r.integers(118, 124, (rows // 8, columns // 4)).astype(np.uint8)
    factors = 2.0 ** (scales.astype(np.float64) - 127)
    values = elements.astype(np.float64) * np.kron(factors, np.ones((8, 4)))
    bits = elements.view(np.uint8)
    if name.startswith("float4"):
        return (bits[:, 0::2] & 15) | (bits[:, 1::2] << 4), scales, values
    return bits.view(np.uint32), scales, values


@pytest.mark.parametrize("name", PACKED)
def test_offline_quantized_matmul(name: str) -> None:
    kind = dtype(PACKED[name][0])
    left, left_scale, a = microscaled(name, 128, 512, 0)
    right, right_scale, b = microscaled(name, 128, 2048, 1)
    found = run(f"{MX}::kernel_offline_quantized_mx_matmul", left, left_scale, right, right_scale,
                kind, chip="trn3")
    wanted = np.einsum("kmq,knq->mn", a.reshape(128, 128, 4), b.reshape(128, 512, 4))
    assert_allclose(found, wanted, rtol=1e-2, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("uses_tensor_copy", [True, False])
def test_device_quantized_matmul(uses_tensor_copy: bool) -> None:
    kind = dtype("float8_e4m3fn_x4")
    left = rng().standard_normal((512, 128)).astype(ml_dtypes.bfloat16)
    right = np.random.default_rng(8).standard_normal((512, 512)).astype(ml_dtypes.bfloat16)
    found = run(f"{MX}::kernel_copy_strided_quantize_matmul_mx", left, right, kind,
                uses_tensor_copy, chip="trn3")
    wanted = left.T.astype(np.float64) @ right.astype(np.float64)
    error = np.linalg.norm(found.astype(np.float64) - wanted) / np.linalg.norm(wanted)
    assert error < 0.05
