# SPDX-License-Identifier: Apache-2.0
# Every kernel of examples/kernels against numpy.
"""What the example kernels compute, on the smallest shapes of their cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from trnsim.frontend import run_kernel
from kernel_files import find_kernel
from trnsim.testing import assert_allclose

KERNELS = Path(__file__).resolve().parents[3] / "examples" / "kernels"
BF16 = ml_dtypes.bfloat16
Array = Any


def normal(*shape: int, kind: Any = np.float32, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(kind)


def product(left: Array, right: Array) -> Array:
    """left.T @ right over the last two dimensions, in float64."""
    return np.swapaxes(left, -1, -2).astype(np.float64) @ right.astype(np.float64)


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def adamw(theta: Array, grad: Array, m: Array, v: Array) -> Array:
    m = 0.9 * m + 0.1 * grad
    v = 0.999 * v + 0.001 * grad * grad
    step = 1e-3 / (1 - 0.9**10) * m / (np.sqrt(v / (1 - 0.999**10)) + 1e-8)
    return (1 - 1e-5) * theta - step, m, v


def rope(x: Array, cosine: Array, sine: Array) -> Array:
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def attention(q_t: Array, k_t: Array, v: Array, causal: bool = False) -> Array:
    scores = product(q_t, k_t) * q_t.shape[1] ** -0.5
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v.astype(np.float64)


def scan(delta: Array, u: Array, a: Array, b: Array, c: Array) -> Array:
    state = np.zeros((delta.shape[0], a.shape[1]))
    result = np.zeros(delta.shape)
    for t in range(delta.shape[1]):
        state = np.exp(delta[:, t, None] * a) * state + (delta * u)[:, t, None] * b[:, t]
        result[:, t] = state @ c[:, t]
    return result


def rms(x: Array) -> Array:
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)


def layernorm(x: Array, gain: Array, shift: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True, dtype=np.float64)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * gain + shift


def softmax(x: Array) -> Array:
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def gelu(y: Array) -> Array:
    return y * 0.5 * (1 + np.vectorize(math.erf)(y / math.sqrt(2)))


def mean_of_windows(images: Array, window: int) -> Array:
    c, h, w = images.shape
    return images.reshape(c, h // window, window, w // window, window).mean(axis=(2, 4))


P = np.abs
CASES: list[tuple[str, list[Any], dict[str, Any], Callable[..., Any], float, float]] = [
    ("tensor_add.py::tensor_add", [normal(300, 2500), normal(300, 2500, seed=1)], {},
     lambda a, b: a + b, 0, 0),
    ("matmul.py::matmul_naive", [normal(512, 256, kind=BF16), normal(512, 1024, kind=BF16)], {},
     product, 1e-2, 0.05),
    ("matmul.py::matmul_hoisted", [normal(512, 256, kind=BF16), normal(512, 1024, kind=BF16)], {},
     product, 1e-2, 0.05),
    ("matmul.py::matmul", [normal(512, 256), normal(512, 512)],
     {"tiles_m": 2, "tiles_n": 1, "tiles_k": 2}, product, 1e-5, 1e-4),
    ("matmul.py::matmul_blocked", [normal(512, 256), normal(512, 1024)], {}, product, 1e-5, 1e-4),
    ("matmul.py::matmul_blocked", [normal(512, 256), normal(512, 1024)],
     {"tiles_n": 1, "whole": True}, lambda lhs_t, rhs, whole: product(lhs_t, rhs), 1e-5, 1e-4),
    ("matmul.py::matmul_panels", [normal(512, 512), normal(512, 1024)],
     {"tiles_m": 2, "tiles_n": 1, "tiles_k": 2}, product, 1e-5, 1e-4),
    ("vector_add.py::vector_add_columns", [normal(25600), normal(25600, seed=1)], {"width": 50},
     lambda a, b, width: (a + b).reshape(128, -1), 0, 0),
    ("vector_add.py::vector_add_blocks", [normal(25600), normal(25600, seed=1)], {"width": 50},
     lambda a, b, width: (a + b).reshape(-1, 128, width), 0, 0),
    ("vector_add.py::vector_add_placed", [normal(128000), normal(128000, seed=1)], {"width": 100},
     lambda a, b, width: (a + b).reshape(-1, 128, width), 0, 0),
    ("mlp.py::linear", [normal(256, 128), normal(256, 1024), normal(1, 1024)], {},
     lambda x_t, weight, bias: product(x_t, weight) + bias, 1e-5, 1e-4),
    ("mlp.py::gelu", [normal(256, 1024)], {}, gelu, 1e-4, 1e-6),
    ("softmax.py::softmax", [normal(300, 1024)], {}, softmax, 1e-5, 0),
    ("rmsnorm.py::rmsnorm", [normal(300, 1024), normal(1, 1024)], {},
     lambda x, gain: rms(x) * gain, 1e-5, 0),
    ("rmsnorm_matmul.py::rmsnorm_matmul", [normal(256, 512, kind=BF16),
                                           normal(512, 1024, kind=BF16)], {},
     lambda x, w: product(rms(x).T, w), 1e-2, 0.05),
    ("silu.py::silu", [normal(256, 1024)], {}, silu, 1e-5, 1e-7),
    *[(f"silu.py::{kernel}", [normal(128, 5, 1024)], named, lambda x, **_: silu(x), 1e-5, 1e-7)
      for kernel, named in [("silu_slices", {"slices_per_tile": 2}),
                            ("silu_slices", {"slices_per_tile": 5, "in_place": True}),
                            ("silu_pieces", {"pieces": 4}),
                            ("silu_pieces", {"pieces": 2, "nested": True}),
                            ("silu_two_slots", {}), ("silu_elementary", {})]],
    ("silu.py::swiglu", [normal(256, 256, kind=BF16), normal(256, 1024, kind=BF16),
                         normal(256, 1024, kind=BF16, seed=1)], {},
     lambda x, gate, up: silu(product(x, gate)) * product(x, up), 1e-2, 0.05),
    ("rope.py::rope", [normal(4, 256, 128), normal(256, 64), normal(256, 64, seed=1)], {}, rope,
     1e-5, 1e-6),
    ("adamw.py::adamw", [normal(300, 2048), normal(300, 2048, seed=1), normal(300, 2048, seed=2),
                         P(normal(300, 2048, seed=3))], {}, adamw, 1e-5, 1e-7),
    ("adamw.py::adamw_folded", [normal(256, 512), normal(256, 512, seed=1),
                                normal(256, 512, seed=2), P(normal(256, 512, seed=3))],
     {"width": 256},
     lambda *arrays, width: adamw(*arrays)[0].reshape(128, -1, width), 1e-4, 1e-6),
    ("adamw.py::adamw_folded_rows", [normal(300, 512), normal(300, 512, seed=1),
                                     normal(300, 512, seed=2), P(normal(300, 512, seed=3))], {},
     lambda *arrays: adamw(*arrays)[0], 1e-4, 1e-6),
    ("adamw.py::adamw_elementary", [normal(300, 1024), normal(300, 1024, seed=1),
                                    normal(300, 1024, seed=2), P(normal(300, 1024, seed=3))],
     {"step": 10}, lambda *arrays, step: adamw(*arrays)[0], 1e-5, 1e-6),
    *[(f"rope_columns.py::{kernel}", [normal(128, 2048), normal(64, 2048), normal(64, 2048, seed=1)],
       named, lambda *arrays, **_: rope(*(one.T for one in arrays)).T, 1e-5, 1e-5)
      for kernel, named in [("rope_halves", {}), ("rope_packed", {"width": 1024}),
                            ("rope_packed", {"width": 512, "swap_on": "tensor"}),
                            ("rope_whole", {})]],
    ("transpose2d.py::transpose_free", [normal(128, 2048, kind=BF16)], {"rows": 32},
     lambda x, rows: x.reshape(128, rows, -1).transpose(0, 2, 1).reshape(128, -1), 0, 0),
    ("transpose2d.py::transpose_partitions", [normal(256, 512, kind=BF16)], {}, np.transpose, 0, 0),
    ("average_pool2d.py::average_pool2d", [normal(160, 28, 28), 4], {}, mean_of_windows, 1e-4,
     1e-6),
    ("attention.py::attention", [normal(1, 64, 1024), normal(1, 64, 1024, seed=1),
                                 normal(1, 1024, 64)], {}, attention, 1e-4, 1e-5),
    ("attention.py::attention", [normal(2, 128, 1024, kind=BF16),
                                 normal(2, 128, 1024, kind=BF16, seed=1),
                                 normal(2, 1024, 128, kind=BF16)], {"causal": True}, attention,
     2e-2, 2e-2),
    ("selective_scan.py::selective_scan", [P(normal(128, 1024)), normal(128, 1024, seed=1),
                                           -P(normal(128, 4)), normal(4, 1024),
                                           normal(4, 1024, seed=1)], {}, scan, 1e-4, 1e-5),
    ("selective_scan.py::selective_scan_by_state", [
        P(normal(256, 512)), normal(256, 512, seed=1), -P(normal(256, 4)), normal(4, 512),
        normal(4, 512, seed=1)], {}, scan, 1e-4, 1e-5),
    *[(f"attention_phases.py::{kernel}", [0.1 * normal(128, 512), normal(128, 512, seed=1),
                                          normal(128, 512, seed=2)], {},
       lambda q, k, v: softmax(product(q, k)) @ v.T, 1e-4, 1e-5)
      for kernel in ("attention_fused", "attention_phases")],
    ("bmm.py::bmm", [normal(2, 64, 256), normal(2, 64, 1024)], {}, product, 1e-5, 1e-4),
    *[(f"row_products.py::{kernel}", [normal(512, 256), normal(256, 1024)], named, reference,
       *((1e-4, 1e-3) if "split" in named else (1e-5, 1e-4)))
      for kernel, reference, several in [
          ("matmul_of_rows", lambda x, w, **_: product(x.T, w),
           [{}, {"row_tiles": 2}, {"row_tiles": 2, "split": True}]),
          ("rmsnorm_matmul_of_rows", lambda x, w, **_: product(rms(x).T, w),
           [{}, {"scale": "result", "order": "contraction"}, {"scale": "result", "split": True},
            {"transpose_on": "load", "scale": "result"}, {"transpose_on": "vector"}])]
      for named in several],
    *[("row_products.py::bmm_of_rows", [normal(2, 512, 64), normal(2, 64, 1024)], named,
       lambda x, w, **_: product(np.swapaxes(x, 1, 2), w), 1e-5, 1e-4)
      for named in [{}, {"banks": 2, "drain": "after"}, {"row_tiles": 2, "transpose_on": "load"},
                    {"batches": 2, "row_tiles": 4, "banks": 2, "drain": "together"}]],
    ("blocked_products.py::matmul_by_columns", [normal(256, 1024), normal(1024, 2048)], {},
     lambda x, w: product(x.T, w), 1e-5, 1e-4),
    ("blocked_products.py::rmsnorm_matmul_by_blocks", [normal(512, 1024), normal(1024, 1024)],
     {"row_tiles": 2}, lambda x, w, **_: product(rms(x).T, w), 1e-5, 1e-4),
    ("blocked_products.py::bmm_by_columns", [normal(2, 512, 64), normal(2, 64, 1024)],
     {"row_tiles": 2}, lambda x, w, **_: product(np.swapaxes(x, 1, 2), w), 1e-5, 1e-4),
    *[("matmul_grid.py::matmul_grid", [normal(256, 512), normal(256, 1024)], named,
       lambda lhs_t, rhs, **_: product(lhs_t, rhs), 1e-5, 1e-4)
      for named in [{"first": "lhs"}, {"rows": 4, "columns": 2, "rows_per_load": 2},
                    {"rows": 2, "columns": 2, "columns_per_load": 2, "copy_on": "vector"}]],
    ("layernorm.py::layernorm", [normal(300, 1024), normal(1024), normal(1024, seed=1)], {},
     layernorm, 1e-4, 1e-5)]


@pytest.mark.parametrize("chip", ["trn1", "trn3"])
@pytest.mark.parametrize(("kernel", "arguments", "named", "reference", "rtol", "atol"), CASES,
                         ids=[case[0].partition("::")[2] + "".join(map(str, case[2].items()))
                              for case in CASES])
def test_an_example_computes_what_it_says(
        kernel: str, arguments: list[Any], named: dict[str, Any], reference: Callable[..., Any],
        rtol: float, atol: float, chip: str) -> None:
    found = run_kernel(find_kernel(f"{KERNELS}/{kernel}"), *arguments, chip=chip, **named)
    tiling = {name for name in named if name.startswith("tiles_")}
    wanted = reference(*arguments, **{name: value for name, value in named.items()
                                      if name not in tiling})
    assert_allclose(found, wanted, rtol, atol)
