# SPDX-License-Identifier: Apache-2.0
# Arrays of a script as they were at a launch.
"""KeptArray: an array or tensor and its contents when this was made."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

COPIED_BYTES = 64 << 20
"""The largest array of which a copy is kept. [ASSUMED]"""
Copies = WeakValueDictionary[int, Any]
"""The latest copies of arrays, by their identities: launches share them."""


class Changed(Exception):
    """Something has changed of which no copy was kept; its name."""


class KeptArray:
    """An array that is_array()."""

    def __init__(self, array: Any, copies: Copies) -> None:
        self._array = array
        self._memory = memory_of(array)
        self._form = _form(array)
        self._checksum: int | None = None
        self._copy: Any = None
        if self._memory.nbytes > COPIED_BYTES:
            self._checksum = _checksum(self._memory)
            return
        known = copies.get(id(array))
        if known is None or known.shape != self._memory.shape or (
                known.dtype != self._memory.dtype or not np.array_equal(known, self._memory)):
            known = copies[id(array)] = self._memory.copy()
        self._copy = known

    def was(self, name: str) -> Any:
        """The array if it is as it was, else another one that is. Changed if that is not known."""
        if self._is_as_it_was(name):
            return self._array
        if isinstance(self._array, np.ndarray):
            return self._copy.view(self._form[0])
        torch = sys.modules["torch"]
        return torch.from_numpy(self._copy.copy()).view(self._form[0])

    def restore(self, name: str) -> Callable[[], None] | None:
        """Puts the contents back into the array; how to undo that, None if nothing has changed.
        Changed if that cannot be."""
        if self._is_as_it_was(name):
            return None
        memory = memory_of(self._array)
        if _form(self._array) != self._form or not memory.flags.writeable:
            raise Changed(name)
        now = memory.copy()
        memory[...] = self._copy
        return lambda: memory.__setitem__(..., now)

    def _is_as_it_was(self, name: str) -> bool:
        is_form = _form(self._array) == self._form
        if self._checksum is None:
            return is_form and np.array_equal(memory_of(self._array), self._copy)
        if not is_form or _checksum(memory_of(self._array)) != self._checksum:
            raise Changed(name)
        return True


def is_array(value: Any) -> bool:
    """Whether a value is an array or a tensor whose memory is here."""
    return memory_of(value) is not None


def memory_of(value: Any) -> Any:
    """The elements of an array or tensor, as integers that can be compared; None without."""
    if isinstance(value, np.ndarray):
        size = value.dtype.itemsize
        if value.dtype.hasobject or size not in (1, 2, 4, 8):
            return None
        return value.view(np.ndarray).view(f"u{size}")
    torch: Any = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if not isinstance(kind, type) or not isinstance(value, kind):
        return None
    kinds = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    try:
        tensor: Any = value
        return tensor.detach().view(kinds[tensor.element_size()]).numpy()
    except (KeyError, TypeError, ValueError, RuntimeError):
        return None  # Of no such size, or in no memory of the host's.


def _form(array: Any) -> tuple[Any, ...]:
    """What says which elements are where."""
    if isinstance(array, np.ndarray):
        return array.dtype, array.shape, array.strides, array.__array_interface__["data"][0]
    return array.dtype, tuple(array.shape), tuple(array.stride()), array.data_ptr()


def _checksum(memory: Any) -> int:
    plain: Any = np.ascontiguousarray(memory)
    return zlib.crc32(plain)
