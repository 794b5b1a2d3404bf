# SPDX-License-Identifier: Apache-2.0
# Arrays of other libraries as arguments of kernels.
"""torch and jax where they are installed, and classes with the protocols that they have."""

from __future__ import annotations

import importlib
from importlib import metadata
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from trnsim.frontend import dtype, run_kernel, trace
from trnsim.frontend.host.frameworks import as_given, type_as_given
from trnsim.frontend.host.launch_result import LazyValues
from trnsim.frontend.host.script import run_script
from trnsim.testing import assert_allclose
from values_helpers import nisa, nl, normal, tile


def doubled(x: Any) -> Any:
    """2 x, in the type of x."""
    data = tile(x.shape, x.dtype)
    nisa.dma_copy(data, x)
    nisa.tensor_scalar(data, data, nl.multiply, 2.0)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, data)
    return out


def doubled_in_place(x: Any) -> None:
    """x = 2 x."""
    data = tile(x.shape, x.dtype)
    nisa.dma_copy(data, x)
    nisa.tensor_scalar(data, data, nl.multiply, 2.0)
    nisa.dma_copy(x, data)


def installed(library: str, module: str = "") -> Any:
    """A library, not the stand-in for an absent one; skips the test without it."""
    try:
        metadata.version(library)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{library} is not installed")
    return importlib.import_module(module or library)


class WithArray:
    """An array with nothing but numpy's protocol."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.shape, self.dtype = data.shape, data.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._data


class WithDlpack:
    """An array with nothing but dlpack."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.shape, self.dtype = data.shape, data.dtype

    def __dlpack__(self, **options: Any) -> Any:
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._data.__dlpack_device__()


class TorchType:
    """A data type that has a text only."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


class OnDevice:
    """A tensor as torch has them: read through detach, cpu and numpy."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.shape, self.dtype = data.shape, TorchType(f"torch.{data.dtype}")

    def detach(self) -> OnDevice:
        return self

    cpu = detach

    def numpy(self) -> Any:
        return self._data


@pytest.mark.parametrize("wrap", [WithArray, WithDlpack, OnDevice])
def test_an_array_is_read_through_its_protocol(wrap: Any) -> None:
    data = normal(64, 32)
    assert_allclose(run_kernel(doubled, wrap(data), api="nki"), 2 * data, rtol=0)
    assert "float32[64,32]" in trace(doubled, [wrap(data)], api="nki").lines()[0]


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_a_torch_tensor_keeps_its_type_and_values(name: str) -> None:
    torch = installed("torch")
    given = torch.arange(64 * 8).remainder(50).reshape(64, 8).to(getattr(torch, name))
    found = run_kernel(doubled, given, api="nki")
    assert found.dtype == np.dtype(getattr(ml_dtypes, name, name))
    assert_allclose(found.astype(np.float32), 2 * given.float().numpy(), rtol=0)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_a_torch_tensor_is_updated_where_the_kernel_writes_it(name: str) -> None:
    torch = installed("torch")
    given = torch.ones(64, 8, dtype=getattr(torch, name), requires_grad=True)
    run_kernel(doubled_in_place, given, api="nki")
    assert given.detach().float().numpy().tolist() == np.full((64, 8), 2.0).tolist()


def test_a_transposed_torch_tensor_is_read_in_its_order() -> None:
    torch = installed("torch")
    data = normal(32, 64)
    assert_allclose(run_kernel(doubled, torch.from_numpy(data).t(), api="nki"), 2 * data.T, rtol=0)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int32"])
def test_a_jax_array_keeps_its_type_and_values(name: str) -> None:
    jnp = installed("jax", "jax.numpy")
    given = jnp.arange(64 * 8).reshape(64, 8).astype(getattr(jnp, name)) % 50
    found = run_kernel(doubled, given, api="nki")
    assert found.dtype == given.dtype
    assert_allclose(found.astype(np.float32), 2 * np.asarray(given, np.float32), rtol=0)


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import torch
from torch_xla.core import xla_model as xm
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def doubled(x):
    data = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(data, x)
    nisa.tensor_scalar(data, data, nl.multiply, 2.0)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, data)
    return out

given = torch.ones(64, 8, dtype=torch.bfloat16).to(device=xm.xla_device())
found = doubled(given)
xm.mark_step()
assert found.cpu().dtype is torch.bfloat16
assert torch.allclose(found, 2 * given) and not torch.allclose(given, found)
"""


def test_a_script_with_torch_has_the_cpu_as_its_device_and_tensors_as_results(
        tmp_path: Path) -> None:
    torch = installed("torch")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(tmp_path)))
    done: list[str] = []

    def launch(kernel: Any, given: Any, named: Any) -> Any:
        done.append(kernel.name)
        program = trace(kernel, given, keywords=named)
        return LazyValues(program.result, lambda: as_given(given, run_kernel(kernel, *given)),
                          torch.Tensor, lambda kind: type_as_given(given, kind), ()).result()
    run_script(script, [], launch, lambda: bool(done))
    assert done == ["doubled"]


def test_results_are_numpy_arrays_unless_a_torch_tensor_was_given() -> None:
    torch = installed("torch")
    result = np.ones(3, np.uint32)
    assert as_given([result, (1, "a")], result) is result
    assert as_given([[torch.ones(2)]], (result, None))[0].tolist() == [1, 1, 1]
    packed = np.zeros(3, dtype("float8_e5m2_x4"))
    assert as_given([torch.ones(2)], packed) is packed
