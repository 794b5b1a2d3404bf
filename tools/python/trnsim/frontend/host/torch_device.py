# SPDX-License-Identifier: Apache-2.0
# The devices of torch that this machine does not have: "neuron" (torch-neuronx) and "xla".
"""put_on_cpu(torch): tensors of those devices live in the CPU's memory, and say that they do not.

Mirrors how torch-neuronx adds its device to torch (a PrivateUse1 backend called neuron, with
`torch.neuron` and a backend of `torch.compile`): scripts that name it run unchanged.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any
from collections.abc import Iterator

from trnsim.frontend.leaves import leaves_of

OURS = ("neuron", "xla", "privateuseone")
"""The types of device that are the CPU here."""
_DEVICE = "_trnsim_device"
"""The attribute of a tensor that says on which device it claims to be."""
_prepared: ModuleType | None = None


def put_on_cpu(torch: ModuleType) -> None:
    """Teaches torch (2.4 or newer) those devices, once, unless the libraries that do so are
    installed."""
    global _prepared
    if _prepared is torch or not _is_known(torch) or any(
            PathFinder.find_spec(one) for one in ("torch_neuronx", "torch_xla")):
        return
    _prepared = torch
    torch.utils.rename_privateuse1_backend("neuron")
    torch._register_device_module("neuron", _device_module())
    torch.autocast = torch.amp.autocast = _autocast(torch)  # type: ignore[attr-defined]
    torch.compile = _compile(torch.compile)  # type: ignore[attr-defined]
    torch.from_numpy = _of_computed(torch.from_numpy)  # type: ignore[attr-defined]
    torch.library.custom_op = _custom_op(torch)
    torch.autograd._engine_run_backward = _within_mode(
        torch, torch.autograd._engine_run_backward)
    _parameters(torch.nn.Parameter)
    _default_devices(importlib.import_module("torch.utils._device"))
    _mode(torch)().__enter__()


def _is_known(torch: ModuleType) -> bool:
    """Whether this is torch, no stand-in for it, and has what is used here."""
    return hasattr(torch, "__version__") and hasattr(getattr(torch, "library", None), "custom_op")


def device_of(value: Any) -> Any:
    """On which of those devices a tensor claims to be; None for other tensors and values."""
    return getattr(value, _DEVICE, None)


def claim(value: Any, device: Any) -> Any:
    """The value, as on a device, or on the CPU; tensors in lists, tuples and dicts too."""
    for tensor in _tensors(value):
        if device_of(tensor) != device:
            setattr(tensor, _DEVICE, device)
    return value


def _tensors(value: Any) -> Iterator[Any]:
    tensor = sys.modules["torch"].Tensor
    return (one for one in leaves_of(value) if isinstance(one, tensor))


@functools.cache
def _mode(torch: ModuleType) -> Any:
    """The class of the mode, a new instance of which each stack of modes needs."""
    tensor = torch.Tensor
    get_device, set_data = tensor.device.__get__, tensor.data.__set__
    untouched = (torch.device, torch._C._nn._parse_to)
    computed = _computed()

    class OnCpu(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        """Every function of torch, with those devices replaced and their tensors marked."""

        def __torch_function__(self, function: Any, types: Any, arguments: Any = (),
                               keywords: Any = None) -> Any:
            arguments, named = computed(tuple(arguments)), computed(dict(keywords or {}))
            if function in untouched:
                return function(*arguments, **named)
            if function == get_device:
                return device_of(arguments[0]) or function(*arguments)
            if function == set_data:
                claim(arguments[0], device_of(arguments[1]))
                return function(*arguments)
            texts = (torch.device, str) if function is tensor.to else torch.device
            wanted = [one for one in arguments if isinstance(one, texts)]
            if named.get("device") is not None:
                wanted.append(named["device"])
            devices = [one for one in map(_as_device, wanted) if one is not None]
            given = [_placed(one) if isinstance(one, texts) else one for one in arguments]
            if "device" in named:
                named["device"] = _placed(named["device"])
            result = function(*given, **named)
            return _moved(result, arguments, devices, function is tensor.cpu)

    return OnCpu


def _computed() -> Any:
    """launch_result.computed, which imports numpy: torch has it, the command starts without."""
    return importlib.import_module("trnsim.frontend.host.launch_result").computed


def _as_device(value: Any) -> Any:
    """A device, or what names one; None for anything else."""
    torch = sys.modules["torch"]
    try:
        return torch.device(value)
    except (RuntimeError, TypeError):
        return None


def _placed(value: Any) -> Any:
    """The CPU for those devices, anything else as it is."""
    torch = sys.modules["torch"]
    device = _as_device(value)
    return torch.device("cpu") if device is not None and device.type in OURS else value


def _moved(result: Any, arguments: Any, devices: list[Any], is_to_cpu: bool) -> Any:
    """A function's result on the device that was asked for, else on that of its arguments."""
    given = list(_tensors(arguments))
    if devices or is_to_cpu:
        device = _numbered(devices[0]) if devices and devices[0].type in OURS else None
        if given and result is given[0] and device != device_of(result):
            result = result.clone()  # Another memory, on hardware.
        return claim(result, device)
    device = next(filter(None, map(device_of, given)), None)
    if device is not None and not any(result is one for one in given):
        claim(result, device)
    return result


def _numbered(device: Any) -> Any:
    """A device with its number, as tensors show it."""
    return sys.modules["torch"].device(device.type, device.index or 0)


def _of_computed(function: Any) -> Any:
    """A function that takes arrays, for what kernels returned too."""
    return functools.wraps(function)(lambda *given: function(*_computed()(given)))


def _parameters(kind: Any) -> None:
    """Has parameters be where their data are: no function of torch makes them."""
    original = kind.__new__

    def made(cls: Any, data: Any = None, *arguments: Any, **keywords: Any) -> Any:
        data = _computed()(data)
        return claim(original(cls, data, *arguments, **keywords), device_of(data))
    kind.__new__ = made


def _default_devices(modes: Any) -> None:
    """Has torch.set_default_device and `with torch.device(...)` take those devices: their mode is
    below all others."""
    context = modes.DeviceContext
    original = context.__torch_function__

    def constructed(self: Any, function: Any, types: Any, arguments: Any = (),
                    keywords: Any = None) -> Any:
        named = dict(keywords or {})
        if self.device.type not in OURS or named.get("device") is not None or (
                function not in modes._device_constructors()):
            return original(self, function, types, arguments, named)
        named["device"] = "cpu"
        return claim(function(*arguments, **named), _numbered(self.device))
    context.__torch_function__ = constructed


def _within_mode(torch: Any, function: Any) -> Any:
    """A function that torch calls where its modes are off, and in which scripts name devices."""
    @functools.wraps(function)
    def inner(*arguments: Any, **keywords: Any) -> Any:
        with _mode(torch)():
            return function(*arguments, **keywords)
    return inner


def _custom_op(torch: Any) -> Any:
    """torch.library.custom_op, whose function may name those devices, too."""
    original = torch.library.custom_op

    @functools.wraps(original)
    def custom_op(name: str, function: Any = None, /, **options: Any) -> Any:
        def decorate(inner: Any) -> Any:
            body = _within_mode(torch, lambda *given, **named: _computed()(inner(*given, **named)))
            functools.update_wrapper(body, inner)
            body.__signature__ = _evaluated(inner)
            return original(name, body, **options)
        return decorate if function is None else decorate(function)
    return custom_op


def _evaluated(function: Any) -> inspect.Signature:
    """A signature with types in the place of their names, which torch looks up elsewhere."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def _compile(original: Any) -> Any:
    """torch.compile, which leaves what it is to compile for Trainium as it is."""
    @functools.wraps(original)
    def compiled(model: Any = None, **options: Any) -> Any:
        if options.get("backend") not in ("neuron", "openxla"):
            return original(model, **options)
        return (lambda function: function) if model is None else model
    return compiled


def _autocast(torch: Any) -> Any:
    """torch.autocast, for which those devices are the CPU."""
    class Autocast(torch.autocast):  # type: ignore[misc]
        """The same, by another name."""

        def __init__(self, device_type: str, *arguments: Any, **keywords: Any) -> None:
            super().__init__("cpu" if device_type in OURS else device_type, *arguments, **keywords)

    return Autocast


def _device_module() -> ModuleType:
    """`torch.neuron`: one device, on which everything has ended."""
    module = ModuleType("torch.neuron")
    for name, result in (("is_available", True), ("is_initialized", True), ("device_count", 1),
                         ("current_device", 0), ("_is_in_bad_fork", False), ("synchronize", None),
                         ("set_device", None), ("manual_seed", None), ("manual_seed_all", None),
                         ("empty_cache", None)):
        setattr(module, name, lambda *_, _result=result, **__: _result)
    return module
