# SPDX-License-Identifier: Apache-2.0
# Tensors of torch on a machine without devices.
"""What scripts that use torch expect: its device is the CPU, and kernels return its tensors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from typing import Any

from trnsim.frontend.dtypes import DType, numpy_type
from trnsim.frontend.arguments import is_tensor
from trnsim.frontend.host import torch_device
from trnsim.frontend.host.jax_arrays import jax_of
from trnsim.frontend.leaves import mapped, tensors_in

_OF_THE_COMPILER = {
    "neuronxcc.starfish.penguin.targets.nki.private_api.vnc": ("neuronxcc.nki.language", "nc"),
    "neuronxcc.starfish.support.dtype.static_cast": ("trnsim.frontend.host.neuron_dtypes",
                                                     "static_cast"),
    "neuronxcc.starfish.support.util.allclose": (__name__, "allclose")}
"""Functions of AWS's compiler that public scripts import, and where theirs are."""
_WIDER = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}
"""Types that torch may not have, and those that hold their values."""


def stand_in_for(name: str) -> Any:
    """What stands for a full name of an absent library; None if nothing special does.

    torch_xla's device is the CPU where torch is installed; what torch_neuronx and the compiler have
    for kernels and their tests is there without them.
    """
    if name in _OF_THE_COMPILER:
        module, function = _OF_THE_COMPILER[name]
        return getattr(importlib.import_module(module), function)
    library, _, last = name.partition(".")[0], *name.rpartition(".")[1:]
    has_torch = PathFinder.find_spec("torch") is not None
    if library == "torch_xla" and last in ("xla_device", "device") and has_torch:
        torch = importlib.import_module("torch")
        return lambda *_, **__: torch.device("cpu")
    if library in ("torch_neuronx", "libtorch_neuronx_lite"):
        if name == "torch_neuronx.nki":
            return importlib.import_module("nki")
        if last in ("wrap_nki", "nki_jit") or last == "nki_op" and has_torch:
            return getattr(importlib.import_module("trnsim.frontend.host.torch_operator"), last)
    return None


def allclose(actual: Any, expected: Any, rtol: float = 1e-5, atol: float = 1e-8,
             **_: Any) -> bool:
    """numpy's; how verbose it is to be does not matter."""
    return bool(importlib.import_module("numpy").allclose(actual, expected, rtol, atol))


def as_given(arguments: Sequence[Any], result: Any) -> Any:
    """What a kernel returned: torch tensors or jax arrays if it was given one, as on a device."""
    torch = _torch_of(arguments)
    if torch is None:
        jax = jax_of(arguments)
        return result if jax is None else _map(jax.numpy.asarray, result)
    device = next(filter(None, map(torch_device.device_of, tensors_in(arguments, is_tensor))), None)
    return torch_device.claim(_map(lambda one: _tensor(torch, one), result), device)


def type_as_given(arguments: Sequence[Any], dtype: DType) -> Any:
    """The type of a result of NKI's type `dtype`: torch's, numpy's, else NKI's."""
    numpy, torch = numpy_type(dtype), _torch_of(arguments)
    if torch is None or numpy is dtype or dtype.is_packed:
        return numpy
    return getattr(torch, numpy.name, None) or getattr(torch, _WIDER.get(numpy.name, "float32"))


def kind_as_given(arguments: Sequence[Any]) -> type:
    """The class of the results."""
    import numpy as np  # Once kernels are called only: the command starts without it.

    found: type = getattr(_torch_of(arguments), "Tensor", np.ndarray)
    return found


def _torch_of(arguments: Sequence[Any]) -> Any:
    """torch, if one of the arguments is a tensor of it, or will be when it is computed."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "dtype", None)
    return torch if isinstance(kind, type) and hasattr(torch, "from_numpy") and any(
        isinstance(one.dtype, kind) for one in tensors_in(arguments, is_tensor)) else None


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    """The value with a function of every array in it."""
    import numpy as np  # With other libraries only: the command starts without it.

    return mapped(value, lambda array, _: function(array),
                  lambda one: isinstance(one, np.ndarray) and not one.dtype.names)


def _tensor(torch: Any, value: Any) -> Any:
    name = value.dtype.name
    if value.dtype.kind not in "iufb" or (name in _WIDER and not hasattr(torch, name)):
        value = value.astype(_WIDER.get(name, "float32"))
    found = torch.from_numpy(value.copy() if not value.flags.c_contiguous else value)
    return found.to(getattr(torch, name, found.dtype))
