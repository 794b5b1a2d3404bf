# SPDX-License-Identifier: Apache-2.0
# What kernel files find in the place of libraries that are not installed.
"""Stand-ins for absent libraries.

Kernel files import libraries that are not needed to trace them (torch, ...). Where one is absent,
a stand-in is imported whose names can be used in annotations, as base classes and as decorators;
calling one inside a kernel, or computing with one, is an error that names it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.host import frameworks

OPTIONAL_LIBRARIES = frozenset((
    "torch", "torch_xla", "torch_neuronx", "torchvision", "jax", "jaxlib", "jax_neuronx", "flax",
    "scipy", "neuron_dtypes", "neuronxlogger", "libneuronxla", "neuronx_distributed",
    "neuronx_distributed_inference", "transformers", "matplotlib", "pandas", "tabulate", "tqdm",
    "pytest", "einops", "tensorflow", "nkilib", "nkipy", "libtorch_neuronx_lite"))
"""Libraries that kernel files import for their own tests and references."""
OF_AWS = frozenset((
    "torch_neuronx", "jax_neuronx", "neuron_dtypes", "neuronxlogger", "libneuronxla",
    "neuronx_distributed", "neuronx_distributed_inference", "neuronxcc", "nkilib", "nkipy",
    "libtorch_neuronx_lite"))
"""Those that come with AWS's SDK."""

called_libraries: set[str] = set()
"""Absent libraries of which something was called, other than as a decorator."""


class _StandInType(type):
    """The type of stand-ins: any attribute is another stand-in, any call outside a trace too."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _member(f"{cls.__qualname__}.{name}")

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if not is_stand_in(cls):
            return super().__call__(*arguments, **keywords)
        if recorder.active() is not None:
            raise _absent(cls, "called in the kernel")
        if len(arguments) == 1 and not keywords and callable(arguments[0]):
            return arguments[0]
        library = cls.__qualname__.partition(".")[0]
        if library in OPTIONAL_LIBRARIES:
            called_libraries.add(library)
        return stand_in(f"{cls.__qualname__}()")

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __iter__(cls) -> Any:
        if cls.__qualname__.endswith("()"):
            raise _absent(cls, "unpacked or iterated over")
        return iter(())

    @property
    def __array__(cls) -> Any:
        if not is_stand_in(cls):
            raise AttributeError("__array__")
        return _NoArray(cls)

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *details: Any) -> None:
        return None

    def _compute(cls, *_: Any, **__: Any) -> Any:
        if not is_stand_in(cls):
            return NotImplemented
        raise _absent(cls, "computed with")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _compute
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _compute
    __rpow__ = __matmul__ = __rmatmul__ = __lt__ = __le__ = __gt__ = __ge__ = _compute
    __neg__ = __abs__ = __int__ = __float__ = __index__ = _compute
    __array_ufunc__ = None  # So that it is asked to compute with an array, not to become one.


class _NoArray:
    """Refuses to become an array. No method: numpy calls none of a class."""

    def __init__(self, absent: type) -> None:
        self.absent = absent

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise _absent(self.absent, "made an array")


def _member(name: str) -> Any:
    """What stands for a name of an absent library."""
    found = frameworks.stand_in_for(name)
    return stand_in(name) if found is None else found


def _absent(cls: type, how: str) -> UserError:
    return UserError(f"{source.here()}: {cls.__qualname__} is {how}, but {missing(cls)}")


def missing(absent: type) -> str:
    """That a library is missing, and what to do."""
    library = absent.__qualname__.partition(".")[0]
    advice = "it" if library in OF_AWS else f"it, as with `pip install {library}`"
    return f"{library} is not installed for {sys.executable}; install {advice}"


def is_stand_in(value: Any) -> bool:
    """Whether a value stands for something of an absent library."""
    return isinstance(value, _StandInType) and value.__dict__.get("_is_stand_in") is True


def stand_in(name: str) -> Any:
    """A stand-in for something of an absent library: a class, so that it can be a base."""
    return _StandInType(name, (), {"_is_stand_in": True, "__qualname__": name})


class StandInModule(ModuleType):
    """A module of an absent library."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _member(f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value
