# SPDX-License-Identifier: Apache-2.0
# Compares the impersonated modules with AWS's published stubs, where a checkout of them is present.
"""Every public name of AWS's stubs is there, and takes the parameters that stand there, by position
and by name. TRNSIM_CORPUS names a folder with `aws-neuron+aws-neuron-sdk`, with its history for the
old API; without it these tests are skipped."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trnsim.frontend import install

SDK = Path(os.environ.get("TRNSIM_CORPUS", "/nonexistent")) / "aws-neuron+aws-neuron-sdk"
STUBS = "nki/api/nki"
OLD_COMMIT = "1db4d74e"
"""The last one whose stubs are those of neuronxcc.nki."""

INTERNAL = {"nki.language._TileSize", "neuronxcc.nki.FrameworkKernel",
            "nki.isa.NkiInstruction.__init__", "nki.isa.VirtualRegister.__init__",
            "nki.language.NkiTensor.__init__"}
"""What a kernel does not make itself."""

NEWER = {"activation": ("engine",), "activate2": ("engine",),
         "scalar_tensor_tensor": ("reduce_cmd", "reduce_op", "reduce_res"), "topk": ("sorted",)}
"""Parameters of NKI 0.7, before `name`, which the stubs of 0.6 do not have. [NKI-ISA-2.33]"""

pytestmark = pytest.mark.skipif(not SDK.is_dir(), reason="TRNSIM_CORPUS has no AWS Neuron SDK")

install()


def parameters(function: ast.FunctionDef) -> tuple[list[str], list[str]]:
    """The names that a stub takes by position, and only by name."""
    found = function.args
    return ([one.arg for one in (*found.posonlyargs, *found.args)],
            [one.arg for one in found.kwonlyargs])


def missing(function: ast.FunctionDef, ours: Any) -> Iterator[str]:
    """The parameters of a stub that `ours` does not take."""
    signature = inspect.signature(ours)
    kinds = {one.kind for one in signature.parameters.values()}
    positional, named = parameters(function)
    newer = NEWER.get(function.name, ())
    own = [name for name, one in signature.parameters.items()
           if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and name not in newer]
    if inspect.Parameter.VAR_POSITIONAL not in kinds and own[:len(positional)] != positional:
        yield f"by position {own} instead of {positional}"
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        unknown = set(positional + named) - set(signature.parameters) - {"self"}
        yield from (f"no parameter {name}" for name in sorted(unknown))


def differences(module: str, source: str) -> Iterator[str]:
    """How an impersonated module differs from its stub."""
    ours = importlib.import_module(module)
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            yield from _of(f"{module}.{node.name}", node, ours)
        elif isinstance(node, ast.ClassDef) and f"{module}.{node.name}" not in INTERNAL:
            if not hasattr(ours, node.name):
                yield f"{module}.{node.name}: missing"
                continue
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    yield from _of(f"{module}.{node.name}.{member.name}", member,
                                   getattr(ours, node.name))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name) and not hasattr(ours, target.id):
                yield f"{module}.{target.id}: missing"


def _of(name: str, node: ast.FunctionDef, owner: Any) -> Iterator[str]:
    if name in INTERNAL:
        return
    ours = getattr(owner, node.name, None)
    if ours is None:
        yield f"{name}: missing"
    elif callable(ours):
        yield from (f"{name}: {one}" for one in missing(node, ours))


@pytest.mark.parametrize("module", ["nki", "nki.isa", "nki.language", "nki.collectives"])
def test_the_new_api_takes_what_its_stubs_take(module: str) -> None:
    path = SDK / STUBS / module.partition(".")[2] / "__init__.py"
    assert not list(differences(module, path.read_text()))


@pytest.mark.parametrize("module", ["neuronxcc.nki", "neuronxcc.nki.isa",
                                    "neuronxcc.nki.language", "neuronxcc.nki.compiler"])
def test_the_old_api_takes_what_its_stubs_took(module: str) -> None:
    part = module.removeprefix("neuronxcc.nki").strip(".")
    path = f"{OLD_COMMIT}:{STUBS}/{part}/__init__.py".replace("//", "/")
    stub = subprocess.run(["git", "-C", str(SDK), "show", path], capture_output=True, text=True)
    if stub.returncode:
        pytest.skip(f"the checkout does not have {path}")
    assert not list(differences(module, stub.stdout))
