# SPDX-License-Identifier: Apache-2.0
# What a script gets from a kernel that it has launched.
"""TensorResult: a tensor that a kernel returned, with its values when they are asked for.

Where values are computed, they are so on the first look; where they are not, what is done with the
tensor gives further unknown values, and a comparison of them counts as true and is noted.
"""

from __future__ import annotations

import copy
import operator
from typing import Any
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.leaves import Path, at, mapped, with_items
from trnsim.frontend.records.tensor import View, is_view

_OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
              "xor", "lshift", "rshift")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_OF_ONE = ("neg", "pos", "abs", "invert")

Note = Callable[[str], None]
Compute = Callable[[], Any]
Shown = Callable[[DType], Any]


class Unknown:
    """A value that is not computed."""

    __array_priority__ = 1000.0

    def __init__(self, kernel: str, note: Note) -> None:
        self._kernel = kernel
        self._note = note

    def _another(self, *_: Any, **__: Any) -> Unknown:
        return Unknown(self._kernel, self._note)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._another()

    def __bool__(self) -> bool:
        self._note(f"{source.here()}: the values of kernel {self._kernel} are not computed, so "
                   "what depends on them was taken as true")
        return True

    def _read(self, *_: Any, **__: Any) -> Any:
        raise UserError(f"{source.here()}: the result of kernel {self._kernel} is read, but its "
                        "values are not computed; leave the comparison out of the script")

    def __repr__(self) -> str:
        return f"<not computed: values of kernel {self._kernel}>"

    def __format__(self, form: str) -> str:
        return repr(self)

    def __iter__(self) -> Iterator[Unknown]:
        return iter(())

    __array_ufunc__ = __array_function__ = __torch_function__ = __call__ = _another
    __getitem__ = __round__ = __contains__ = _another
    __array__ = __float__ = __int__ = __complex__ = __index__ = __len__ = _read
    __hash__ = object.__hash__

    def __setitem__(self, index: Any, value: Any) -> None:
        """Changes what nobody knows."""


for _name in (*_OPERATORS, *_COMPARISONS, *_OF_ONE, *(f"r{_one}" for _one in _OPERATORS)):
    setattr(Unknown, f"__{_name}__", Unknown._another)


class UnknownTensor(Unknown):
    """A tensor whose shape and type are known, and its values not."""

    def __init__(self, kernel: str, note: Note, dtype: DType, shape: tuple[int, ...]) -> None:
        super().__init__(kernel, note)
        self.kernel = kernel
        self.dtype = dtype
        self.shape = shape
        self.ndim = len(shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Unknown]:
        return iter([self._another()] * self.shape[0])


def unknown_results(value: Any, kernel: str, note: Note) -> Any:
    """What a kernel returned, as a script sees it whose values are not computed."""
    return mapped(value, lambda view, _: UnknownTensor(kernel, note, view.dtype, view.shape),
                  is_view)


class LazyValues:
    """The values of all tensors that one launch returned: computed together, once.

    `needed` are those of the launches whose results this one was given. Values are shared if other
    launches were given them, which need them as they are.
    """

    def __init__(self, value: Any, compute: Compute, kind: type, shown: Shown,
                 needed: Sequence[LazyValues]) -> None:
        self.kind = kind
        self.shown = shown
        self.are_shared = False
        self._value = value
        self._compute: Compute | None = compute
        self._needed = needed
        self._computed: Any = None

    def result(self) -> Any:
        """The returned value with lazy tensors in it."""
        return mapped(self._value, lambda view, path: TensorResult(self, path, view), is_view)

    def array(self, path: Path) -> Any:
        """The array at a place of the returned value."""
        waiting = [self]
        while waiting:  # A loop, as scripts give each call what the one before returned.
            missing = [one for one in waiting[-1]._needed if one._compute is not None]
            if missing:
                waiting += missing
            else:
                waiting.pop()._finish()
        return at(self._computed, path)

    def _finish(self) -> None:
        """Computes the values, and lets go of what that takes."""
        if self._compute is not None:
            self._computed = self._compute()
            self._compute, self._needed = None, ()


class TensorResult:
    """A tensor that a kernel returned: an array as soon as something is done with it."""

    def __init__(self, values: LazyValues, path: Path, view: View) -> None:
        self._values = values
        self._path = path
        self._shape = tuple(view.shape)
        self._dtype = view.dtype
        self._read: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Known without computing anything."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The type of the array: numpy's or torch's where they have one, else NKI's."""
        return self._values.shown(self._dtype)

    def array(self) -> Any:
        """The array that it stands for."""
        if self._read is None:
            found = self._values.array(self._path)
            self._read = copy.deepcopy(found) if self._values.are_shared else found
        return self._read

    def unread(self) -> tuple[TensorResult, LazyValues] | None:
        """The same tensor whatever the script does with this one, and what computes it; None if
        it has been read."""
        if self._read is not None:
            return None
        self._values.are_shared = True
        same = object.__new__(TensorResult)
        same.__dict__.update(self.__dict__)
        return same, self._values

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What isinstance takes it for: an array or a tensor."""
        return self._values.kind

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.array().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.deepcopy(self.array(), memo)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = np.asarray(self.array(), dtype=dtype)
        return found.copy() if copy else found

    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **keywords: Any) -> Any:
        return getattr(ufunc, method)(*map(computed, inputs), **computed(keywords))

    def __array_function__(self, function: Any, _: Any, inputs: Any, keywords: Any) -> Any:
        return function(*computed(inputs), **computed(keywords))

    @classmethod
    def __torch_function__(cls, function: Any, _: Any, inputs: Any = (),
                           keywords: Any = None) -> Any:
        return function(*computed(tuple(inputs)), **computed(keywords or {}))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.array(), name)

    def __getitem__(self, index: Any) -> Any:
        return self.array()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array()[index] = computed(value)

    def __len__(self) -> int:
        return self._shape[0]

    def __iter__(self) -> Any:
        return iter(self.array())

    def __bool__(self) -> bool:
        return bool(self.array())

    def __contains__(self, value: Any) -> bool:
        return computed(value) in self.array()

    def __divmod__(self, other: Any) -> Any:
        return divmod(self.array(), computed(other))

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(computed(other), self.array())

    def __bytes__(self) -> bytes:
        return bytes(self.array())

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array().__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.array().__dlpack_device__()

    def __repr__(self) -> str:
        return repr(self.array())

    def __str__(self) -> str:
        return str(self.array())

    def __format__(self, form: str) -> str:
        return format(self.array(), form)


def _forwarded(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *other: operation(self.array(), *computed(other))


def _reflected(operation: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: operation(computed(other), self.array())


for _name in _OPERATORS:
    setattr(TensorResult, f"__{_name}__", _forwarded(getattr(operator, f"__{_name}__")))
    setattr(TensorResult, f"__r{_name}__", _reflected(getattr(operator, f"__{_name}__")))
    setattr(TensorResult, f"__i{_name}__", _forwarded(getattr(operator, f"__i{_name}__")))
for _name in (*_COMPARISONS, *_OF_ONE, "index"):
    setattr(TensorResult, f"__{_name}__", _forwarded(getattr(operator, f"__{_name}__")))
for _kind in (int, float, complex):
    setattr(TensorResult, f"__{_kind.__name__}__", _forwarded(_kind))


def computed(value: Any) -> Any:
    """Arrays for lazy tensors, in lists, tuples and dicts too."""
    if isinstance(value, TensorResult):
        return value.array()
    if type(value) in (list, tuple) or hasattr(type(value), "_make"):
        return with_items(value, (computed(item) for item in value))
    if isinstance(value, dict):
        return with_items(value, [computed(item) for item in value.values()])
    return value
