# SPDX-License-Identifier: Apache-2.0
# Scripts of JAX that call kernels, also in functions that it transforms.
"""Tests of trnsim run script.py with jax, where it is installed.

TRNSIM_JAX_PYTHON names an interpreter that has it, with numpy and ml_dtypes; by default the one
that runs the tests. jax is not among what tools/test installs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from command_line import CommandLine

PYTHON = os.environ.get("TRNSIM_JAX_PYTHON", sys.executable)

KERNEL = '''
import jax
import jax.numpy as jnp
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def sums(a, b, scale=1.0):
    """scale * (a + b), and a + b."""
    both = [nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm) for _ in range(2)]
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    nisa.dma_copy(dst=y, src=b)
    nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)
    nisa.dma_copy(dst=both[1], src=x)
    nisa.tensor_scalar(dst=x, data=x, op0=nl.multiply, operand0=scale)
    nisa.dma_copy(dst=both[0], src=x)
    return tuple(both)


a = jax.random.normal(jax.random.PRNGKey(0), (128, 64), dtype=jnp.float32)
b = jnp.ones((128, 64))
'''

CASES = {
    "arrays": '''
double, single = sums(a, b, scale=2.0)
assert isinstance(double, jax.Array) and jnp.allclose(double, 2 * (a + b))
assert jnp.sum(single.at[0].set(0)) == jnp.sum((a + b)[1:])
half = a.astype(jnp.bfloat16)
assert sums(half, half)[0].dtype == jnp.bfloat16
''',
    "changed": '''
c = np.ones((128, 64), np.float32)
first = sums(a, c)[1]
c += 1
assert jnp.allclose(first, a + 1) and jnp.allclose(sums(a, c)[1], a + 2)
''',
    "nothing": '''
@nki.jit
def second(a, b):
    return None, sums(a, b)[1]

assert jax.jit(second)(a, b)[0] is None and jnp.allclose(jax.jit(second)(a, b)[1], a + b)
''',
    "jit": '''
@jax.jit
def function(a, b):
    double, single = sums(a, b, scale=2.0)
    return a * double + single

for _ in range(2):
    assert jnp.allclose(function(a, b), a * 2 * (a + b) + a + b, atol=1e-5)
''',
    "overlap": '''
@jax.jit
def function(a, b):
    return sums(jnp.tanh(a @ a.T @ a), b)[1]

for step in range(4):
    later, now = function(a + step, b), sums(a, b * step)[1]
    assert jnp.allclose(now, a + step, atol=1e-5)
    c = a + step
    assert jnp.allclose(later, jnp.tanh(c @ c.T @ c) + 1, atol=1e-2)

traced = []

@nki.jit
def noted(a, b):
    traced.append(a.shape)
    return sums(a, b)[1]

function = jax.jit(lambda a: noted(jnp.tanh(a @ a.T @ a), b))
function(a)
before = len(traced)
unread = function(a + 1)
assert len(traced) > before
''',
    "gradient": '''
@jax.custom_vjp
def added(a, b):
    return sums(a, b)[1]

added.defvjp(lambda a, b: (added(a, b), (a, b)), lambda saved, gradient: (gradient, gradient))

@jax.jit
def gradients(a, b):
    return jax.grad(lambda x, y: (added(x, y) * x * y).sum(), argnums=(0, 1))(a, b)

by_a, by_b = gradients(a, b)
assert jnp.allclose(by_a, 2 * a * b + b * b, atol=1e-4)
assert jnp.allclose(by_b, 2 * a * b + a * a, atol=1e-4)
''',
    "loop": '''
total = jax.lax.fori_loop(0, 3, lambda _, sum: sums(sum, b)[1], a)
assert jnp.allclose(total, a + 3, atol=1e-5)
several = jax.vmap(lambda a: sums(a, b)[1])(jnp.stack([a, b]))
assert jnp.allclose(several, jnp.stack([a + 1, b + 1]))
''',
}
CALLS = {"arrays": 2, "changed": 2, "nothing": 2, "jit": 2, "overlap": 10, "gradient": 1, "loop": 5}


def require_jax() -> None:
    """Skips the test where the interpreter has no jax."""
    if subprocess.run([PYTHON, "-c", "import jax, numpy, ml_dtypes"], capture_output=True,
                      check=False).returncode != 0:
        pytest.skip(f"jax is not installed for {PYTHON}; name one with TRNSIM_JAX_PYTHON")


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_runs_where_jax_runs_it(trnsim: CommandLine, name: str) -> None:
    require_jax()
    (trnsim.folder / "script.py").write_text(f"{KERNEL}{CASES[name]}\nprint('done')\n")
    outcome = trnsim("run", "script.py", TRNSIM_PYTHON=PYTHON)
    assert outcome.status == 0, outcome.error
    assert outcome.output.startswith("done\n")
    calls = "1 kernel call" if CALLS[name] == 1 else f"{CALLS[name]} kernel calls"
    assert f"script.py: {calls}, " in outcome.output
    assert len(re.findall(r"^ +\d+  (?:sums|second|noted) +script\.py:\d+ ", outcome.output, re.M)) == CALLS[name]


def test_a_loop_on_the_same_arrays_computes_them_once(trnsim: CommandLine) -> None:
    require_jax()
    (trnsim.folder / "script.py").write_text(
        f"{KERNEL}\nfirst = sums(a, b)\nassert sums(a, b)[0] is first[0]\n"
        "assert sums(a, a)[0] is not first[0] and sums(a, a, scale=2.0)[0][0, 0] == 4 * a[0, 0]\n"
        "assert jnp.array_equal(sums(a, b)[0], first[0])\n")
    outcome = trnsim("run", "script.py", TRNSIM_PYTHON=PYTHON)
    assert outcome.status == 0 and "script.py: 5 kernel calls" in outcome.output, outcome.error


def test_without_values_what_jax_runs_is_zero_and_told(trnsim: CommandLine) -> None:
    require_jax()
    (trnsim.folder / "script.py").write_text(
        f"{KERNEL}\nfound = jax.jit(sums)(a, b)\nassert not found[0].any()\n")
    outcome = trnsim("run", "script.py", "--no-values", TRNSIM_PYTHON=PYTHON)
    assert outcome.status == 0, outcome.error
    assert "the values of kernel sums are not computed, so they are 0 where jax runs it" in (
        outcome.error + outcome.output)


@pytest.mark.parametrize("use", ["", "; print(found[0])"])
def test_an_error_of_values_is_told_as_without_jax(trnsim: CommandLine, use: str) -> None:
    require_jax()
    kernel = KERNEL.replace("    nisa.dma_copy(dst=y, src=b)\n", "")
    (trnsim.folder / "script.py").write_text(f"{kernel}\nfound = jax.jit(sums)(a, b){use}\n")
    line = kernel[:kernel.index("    nisa.tensor_tensor")].count("\n") + 1
    assert trnsim.fails(3, "run", "script.py", TRNSIM_PYTHON=PYTHON).startswith(
        f"script.py:{line}: element [0, 0] of 'y' (sbuf float32[128, 64]) is read, but nothing has")
