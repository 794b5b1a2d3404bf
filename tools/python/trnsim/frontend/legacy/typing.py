# SPDX-License-Identifier: Apache-2.0
# The public module neuronxcc.nki.typing.
"""Types for annotations: `nt.tensor[128, 512]`, `nt.mutable_tensor`. Not checked at run time."""

from __future__ import annotations

from typing import Any

from trnsim.frontend.legacy.tensor import Tensor


class tensor(Tensor):
    """A tensor; subscripted, a tensor of a shape."""

    __slots__ = ()

    def __class_getitem__(cls, shape: Any) -> Any:
        return cls


class mutable_tensor(tensor):
    """A parameter that the kernel writes."""

    __slots__ = ()


class scalar(tensor):
    """A value that is known when the kernel runs."""

    __slots__ = ()
