# SPDX-License-Identifier: Apache-2.0
# The public module neuronxcc.nki.typing.
"""Types for annotations: `nt.tensor[128, 512]`, `nt.tensor[nt.mutable]`. Not checked at run time.

`nt.tensor[[128, 512], nl.bfloat16]` is an argument for nki.benchmark: a tensor without contents.
"""

from __future__ import annotations

from typing import Any

from trnsim.errors import UnsupportedFeature
from trnsim.frontend import source
from trnsim.frontend.arguments import TensorArgument
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.legacy.tensor import Tensor


class tensor(Tensor):
    """A tensor; subscripted, a tensor of a shape."""

    __slots__ = ()

    def __class_getitem__(cls, shape: Any) -> Any:
        if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[0], (list, tuple)):
            return TensorArgument(dtype_of(shape[1]), tuple(int(size) for size in shape[0]))
        return cls


class mutable_tensor(tensor):
    """A parameter that the kernel writes."""

    __slots__ = ()


class mutable:
    """`nt.tensor[nt.mutable]`: a parameter that the kernel writes."""

    __slots__ = ()


class scalar(tensor):
    """A value that is known when the kernel runs: for annotations; a loop by one is not here."""

    __slots__ = ()

    def __new__(cls, *_: Any) -> Any:
        raise UnsupportedFeature.named(str(source.here()), "neuronxcc.nki.typing.scalar")
