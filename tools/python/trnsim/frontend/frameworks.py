# SPDX-License-Identifier: Apache-2.0
# Tensors of torch on a machine without devices.
"""What scripts that use torch expect: its device is the CPU, and kernels return its tensors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from typing import Any

_DEVICES = ("xla_device", "device")
_is_on_cpu = False
_WIDER = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}
"""Types that torch may not have, and those that hold their values."""


def stand_in_for(name: str) -> Any:
    """What stands for a full name of an absent library; None if nothing special does.

    torch_xla's device is the CPU where torch is installed.
    """
    if name.partition(".")[0] != "torch_xla" or name.rpartition(".")[2] not in _DEVICES or (
            PathFinder.find_spec("torch") is None):
        return None
    torch = importlib.import_module("torch")
    return lambda *_, **__: torch.device("cpu")


def put_on_cpu() -> None:
    """Has torch, where it is installed, take the device of torch_xla, which is not, for the CPU:
    scripts name it as a text, too."""
    global _is_on_cpu
    if _is_on_cpu or PathFinder.find_spec("torch") is None:
        return
    _is_on_cpu = True
    torch = importlib.import_module("torch")

    def placed(value: Any) -> Any:
        kind = value.type if isinstance(value, torch.device) else str(value).partition(":")[0]
        return torch.device("cpu") if kind == "xla" else value

    class OnCpu(importlib.import_module("torch.overrides").TorchFunctionMode):  # type: ignore[misc]
        """Every function of torch, with that device replaced."""

        def __torch_function__(self, function: Any, types: Any, arguments: Any = (),
                               keywords: Any = None) -> Any:
            texts = (torch.device, str) if function is torch.Tensor.to else torch.device
            given = [placed(one) if isinstance(one, texts) else one for one in arguments]
            named = dict(keywords or {})
            if named.get("device") is not None:
                named["device"] = placed(named["device"])
            return function(*given, **named)

    OnCpu().__enter__()


def as_given(arguments: Iterable[Any], result: Any) -> Any:
    """What a kernel returned, as torch tensors if it was given one, as on a device."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if not isinstance(kind, type) or not hasattr(torch, "from_numpy") or not any(
            isinstance(one, kind) for one in _flat(arguments)):
        return result
    return _tensors(torch, result)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


def _tensors(torch: Any, value: Any) -> Any:
    import numpy as np  # With torch only: the command starts without it.

    if isinstance(value, (list, tuple)):
        return type(value)(_tensors(torch, one) for one in value)
    if not isinstance(value, np.ndarray) or value.dtype.names:
        return value
    name = value.dtype.name
    if value.dtype.kind not in "iufb" or (name in _WIDER and not hasattr(torch, name)):
        value = value.astype(_WIDER.get(name, "float32"))
    found = torch.from_numpy(np.ascontiguousarray(value))
    return found.to(getattr(torch, name, found.dtype))
