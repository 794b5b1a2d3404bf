# SPDX-License-Identifier: Apache-2.0
# Scripts of torch that name Trainium's devices and call kernels as torch-neuronx has them do.
"""Tests of trnsim run script.py with torch, where it is installed.

TRNSIM_TORCH_PYTHON names an interpreter that has it, with numpy and ml_dtypes; by default the one
that runs the tests. torch is not among what tools/test installs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine
from script_kernels import ADDERS

PACKAGE = Path(__file__).resolve().parents[4] / "tools" / "python"
PYTHON = os.environ.get("TRNSIM_TORCH_PYTHON", sys.executable)

KERNELS = f'''
from __future__ import annotations
import pickle
import torch
{ADDERS}

def on(device, *tensors):
    return all(one.device == torch.device(device) for one in tensors)


ones = torch.ones(128, 64)
'''

DEVICES = '''
assert torch.neuron.is_available() and torch.neuron.device_count() == 1
torch.manual_seed(0)
torch.neuron.synchronize()
assert torch.device("neuron").type == "neuron"
x = ones.to("neuron")
assert on("neuron:0", x, x[:5], x * 2, torch.zeros_like(x), torch.zeros(3, device=x.device))
assert on("neuron:0", torch.zeros(3, device="neuron:0"), *torch.zeros(3, device="neuron").split(1))
assert on("cpu", ones, x.cpu(), x.to("cpu"), ones.clone().copy_(x), ones.sum())
assert on("xla:0", ones.to("xla"), torch.ones(2, device="xla"))
result = added(x, x)
assert on("neuron:0", result, result + 1, torch.relu(result)), result.device
assert result.dtype is torch.float32 and result.shape == (128, 64)
assert on("cpu", added(ones, ones))
following = added(added(x, x), added(x, x))
assert following.dtype is torch.float32 and following.eq(4).all() and on("neuron:0", following)
x += 1
x.cpu().zero_()
assert ones.eq(1).all() and x.eq(2).all()
model = torch.nn.Linear(64, 8).to(torch.device("neuron"))
assert on("neuron:0", *model.parameters(), model(x))
with torch.device("neuron"):
    assert on("neuron:0", torch.zeros(2), torch.nn.Linear(2, 2).weight.data)
torch.set_default_device("neuron")
assert on("neuron:0", torch.zeros(2)) and on("cpu", torch.zeros(2, device="cpu"))
torch.set_default_device("cpu")
with torch.autocast(device_type="neuron", dtype=torch.bfloat16):
    assert added(model(x[:, :64]), model(x)).dtype is torch.bfloat16
half = x.to(torch.bfloat16)
result = added(half, half)
assert isinstance(result + half, torch.Tensor) and (result == half + half).all()
assert isinstance(2 - result, torch.Tensor) and (-result).dtype is torch.bfloat16
same = result
same += 1
assert (result == half + half + 1).all()
result = lambda: added(ones, ones)
assert isinstance(result(), torch.Tensor) and torch.is_tensor(result())
torch.testing.assert_close(result(), ones + 1)
torch.testing.assert_close(ones + 1, result())
assert torch.cat([result(), ones]).shape == (256, 64) and torch.nn.Parameter(result()).eq(2).all()
assert isinstance(pickle.loads(pickle.dumps(result())), torch.Tensor)
@nki.jit
def added_pair(pair):
    return added(pair["a"], pair["b"])

assert isinstance(added_pair({"a": ones, "b": ones}) + 1, torch.Tensor)
assert torch.from_numpy(added(ones.numpy(), ones.numpy())).eq(2).all()
print("done")
'''

OPERATORS = '''
from torch_neuronx import nki_op


@nki_op("trnsim_test::added", mutates_args={})
def op(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return added(a, b)


@nki_op("trnsim_test::accumulated", mutates_args={"sum"})
def in_place(sum: torch.Tensor, a: torch.Tensor) -> None:
    accumulated(sum, torch.zeros(a.shape, device="neuron") + a)


x = ones.to("neuron")
assert op(x, x).eq(2).all() and torch.ops.trnsim_test.added(x, x).eq(2).all()
in_place(x, ones)
torch.ops.trnsim_test.accumulated(x, ones)
assert x.eq(3).all() and ones.eq(1).all()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(128, 64))

    def forward(self, x):
        return op(x, self.weight) * 5


model = Model().to("neuron")
with torch.no_grad():
    assert model(x).eq(20).all()
try:
    model(x).sum().backward()
except RuntimeError as problem:
    print(str(problem).splitlines()[0])
op.register_autograd(lambda context, gradient: (gradient, gradient))
model(x).sum().backward()
assert model.weight.grad.eq(5).all()
compiled = torch.compile(model, backend="neuron", fullgraph=True)
assert compiled(x).eq(20).all()


@torch.compile(backend="neuron")
def twice(x):
    return op(x, x)


assert twice(x).eq(6).all()
print("done")
'''

GRADIENTS = '''
from neuronxcc import nki as old


@old.jit
def sine(a, out):
    import neuronxcc.nki.language as nl
    nl.store(out[0:128], value=nl.sin(nl.load(a[0:128])))


@old.jit
def cosine(a, out):
    import neuronxcc.nki.language as nl
    nl.store(out[0:128], value=nl.cos(nl.load(a[0:128])))


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        result = torch.empty_like(x)
        sine(x, result)
        return result

    @staticmethod
    def backward(context, gradient):
        x, = context.saved_tensors
        result = torch.empty(x.shape, device="neuron")
        cosine(x, result)
        return gradient * result


x = torch.randn(128, device="neuron", requires_grad=True)
y = Sine.apply(x)
y.sum().backward()
assert torch.allclose(y, torch.sin(x), atol=1e-5)
assert torch.allclose(x.grad, torch.cos(x.detach()), atol=1e-5)
assert torch.allclose(torch.autograd.grad(Sine.apply(x).sum(), x)[0], x.grad)
print("done")
'''

WRAPPED = '''
import neuronxcc.nki.typing as nt
import torch_neuronx
from torch_neuronx import nki as named, nki_jit
from torch_neuronx.nki_hop import wrap_nki
from libtorch_neuronx_lite.nki.nki_hop import wrap_nki as lite

assert named is nki and wrap_nki(added) is added
x = ones.to("neuron")
assert lite(added)[2](x, x).eq(2).all()


@wrap_nki
def plain(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=a)
    return out


assert plain(x).eq(1).all()


@nki_jit
def doubled(a, out: nt.mutable_tensor):
    import neuronxcc.nki.language as nl
    nl.store(out, nl.load(a) * 2)


@nki_jit()
def tripled(a, out):
    import neuronxcc.nki.language as nl
    nl.store(out, nl.load(a) * 3)


out = torch.empty_like(x)
doubled(x, out)
assert out.eq(2).all()
tripled[1](x, out)
assert out.eq(3).all()
base = torch.arange(640.).reshape(10, 64).to("neuron")
doubled(base[2:7], base[5:])
assert torch.equal(base[5:].cpu(), torch.arange(128., 448.).reshape(5, 64) * 2)
torch_neuronx.synchronize()
print("done")
'''


def require_torch() -> None:
    """Skips the test where the interpreter has no torch."""
    if subprocess.run([PYTHON, "-c", "import torch, numpy, ml_dtypes"], capture_output=True,
                      check=False).returncode != 0:
        pytest.skip(f"torch is not installed for {PYTHON}; name one with TRNSIM_TORCH_PYTHON")


@pytest.mark.parametrize("script", [DEVICES, OPERATORS, GRADIENTS, WRAPPED],
                         ids=["devices", "operators", "gradients", "wrapped"])
def test_a_script_for_trainiums_device_runs_as_it_is(trnsim: CommandLine, script: str) -> None:
    require_torch()
    (trnsim.folder / "script.py").write_text(KERNELS + script)
    outcome = trnsim("run", "script.py", "--chip", "trn2", TRNSIM_PYTHON=PYTHON)
    assert outcome.status == 0, outcome.error
    assert "done\n" in outcome.output and "kernel calls" in outcome.output
    if script is OPERATORS:
        assert "autograd" in outcome.output.splitlines()[0]


def test_a_kernel_file_may_name_the_device_too(trnsim: CommandLine) -> None:
    require_torch()
    (trnsim.folder / "kernel.py").write_text(KERNELS + "assert on('neuron:0', ones.to('neuron'))\n")
    outcome = trnsim("run", "kernel.py::added", *("--arg", "float32[128,64]") * 2,
                     TRNSIM_PYTHON=PYTHON)
    assert outcome.status == 0, outcome.error


def test_a_program_that_imports_the_package_keeps_its_torch(trnsim: CommandLine) -> None:
    require_torch()
    (trnsim.folder / "program.py").write_text(
        KERNELS.replace("import torch\n", "import trnsim\nimport nki\nimport torch\n") +
        "result = trnsim.simulate(added, ones, ones, values=True)\n"
        "assert (result.outputs == 2).all() and not torch.overrides._len_torch_function_stack()\n"
        "assert torch.compile.__module__ == 'torch' and not hasattr(torch, 'neuron')\n")
    subprocess.run([PYTHON, "program.py"], cwd=trnsim.folder, check=True, env={
        **os.environ, "PYTHONPATH": str(PACKAGE), "TRNSIM_BINARY": trnsim.binary})
