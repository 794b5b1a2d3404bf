# SPDX-License-Identifier: Apache-2.0
# As much of torch as the drivers of public kernels need.
"""`install()`: where torch is not installed, a `torch` of numpy arrays, shapes and types on no device.

Where it is installed, it is adapted to what they expect of a new one.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
from trnsim.frontend.host.stand_ins import stand_in

DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
          "float": np.float32, "int32": np.int32, "int64": np.int64, "int8": np.int8,
          "uint8": np.uint8, "bool": np.bool_}

SAME_SIZE = {"uint16": np.int16, "uint32": np.int32, "uint64": np.int64}
"""Types that an old torch does not have, and those that hold their bits."""


class Tensor(np.ndarray):
    """An array with the methods of torch that differ from numpy's."""

    def to(self, *places: Any, dtype: Any = None, **_: Any) -> Tensor:
        """Another type; devices are ignored."""
        kinds = [place for place in (*places, dtype) if place in DTYPES.values()]
        return self.astype(kinds[0]).view(Tensor) if kinds else self

    def cpu(self) -> Tensor:
        return self

    detach = contiguous = clone = cpu

    def numpy(self) -> Any:
        return np.asarray(self)

    def float(self) -> Tensor:
        return self.to(np.float32)

    def bfloat16(self) -> Tensor:
        return self.to(ml_dtypes.bfloat16)

    def t(self) -> Tensor:
        return np.swapaxes(self, 0, 1)  # type: ignore[no-any-return]

    def transpose(self, *axes: Any) -> Tensor:  # type: ignore[override]
        """Two axes exchanged, as torch has it."""
        return np.swapaxes(self, *axes)  # type: ignore[no-any-return]

    def permute(self, *axes: int) -> Tensor:
        return np.ndarray.transpose(self, axes)  # type: ignore[no-any-return]

    def unsqueeze(self, axis: int) -> Tensor:
        return np.expand_dims(self, axis)

    def expand(self, *shape: int) -> Tensor:
        rest = (1,) * (len(shape) - self.ndim) + self.shape
        sizes = tuple(old if new == -1 else new for new, old in zip(shape, rest))
        return np.broadcast_to(self, sizes, subok=True)

    def view(self, *shape: Any) -> Any:  # type: ignore[override]
        """A shape, as torch has it, or a class, as numpy has it."""
        if len(shape) == 1 and not isinstance(shape[0], (int, tuple)):
            return super().view(shape[0])
        return self.reshape(*shape)


def tensor(data: Any, dtype: Any = None, **_: Any) -> Tensor:
    """`torch.tensor` and the like; a type of None is that of the data."""
    array = np.asarray(data, dtype)
    return array.view(Tensor)


class _Torch(ModuleType):
    """Every other name of torch is a stand-in."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(f"torch.{name}")


def _filled(make: Any) -> Any:
    def filled(*shape: Any, dtype: Any = None, **_: Any) -> Tensor:
        is_one = len(shape) == 1 and isinstance(shape[0], (tuple, list))
        return make(tuple(shape[0]) if is_one else shape, dtype or np.float32).view(Tensor)  # type: ignore[no-any-return]
    return filled


def _of_signed(convert: Any) -> Any:
    """The function with unsigned arrays seen as signed ones of the same size."""
    def converted(given: Any, *rest: Any, **named: Any) -> Any:
        kind = SAME_SIZE.get(given.dtype.name) if isinstance(given, np.ndarray) else None
        return convert(given if kind is None else given.view(kind), *rest, **named)
    return converted


def adapt(torch: Any) -> None:
    """Lets a torch without unsigned types take unsigned arrays, and int32 tensors as indices."""
    if hasattr(torch, "uint32"):
        return
    for name in ("from_numpy", "as_tensor", "tensor"):
        setattr(torch, name, _of_signed(getattr(torch, name)))
    select = torch.Tensor.__getitem__

    def selected(self: Any, index: Any) -> Any:
        is_short = isinstance(index, torch.Tensor) and index.dtype is torch.int32
        return select(self, index.long() if is_short else index)
    torch.Tensor.__getitem__ = selected


def install() -> None:
    """Provides torch unless it is installed; an old one takes what a new one does."""
    if importlib.util.find_spec("torch") is not None:
        adapt(importlib.import_module("torch"))
        return
    torch = _Torch("torch")
    torch.__dict__.update(
        DTYPES, __path__=[], Tensor=Tensor, tensor=tensor, from_numpy=tensor,
        as_tensor=tensor,
        randn=_filled(np.zeros), rand=_filled(np.zeros), zeros=_filled(np.zeros),
        ones=_filled(np.ones), empty=_filled(np.zeros), exp=np.exp, einsum=np.einsum,
        manual_seed=lambda seed: None, allclose=lambda *_, **__: True, sin=np.sin, cos=np.cos,
        stack=lambda parts, dim=0: np.stack(parts, dim).view(Tensor),
        arange=lambda *bounds, dtype=None, **_: tensor(np.arange(*bounds), dtype))
    sys.modules["torch"] = torch
