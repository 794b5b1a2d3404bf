# SPDX-License-Identifier: Apache-2.0
# Whether two states of a kernel are one but for the tiles that an iteration has made anew.
"""States of the kernel's own between the iterations of a loop (watch.py).

Two states are alike if there is a one-to-one correspondence between their objects: which object it
is cannot be told from inside of Python but by `is`, `id` and keys, which reachable.py does not
take. Numbers and texts are equal. Tensors have one form and one place in their storage; where a
storage is another one, the iteration has made it, and not from the one that it takes the place of:
so its number advances by constant steps, like those of all tiles of a loop.
"""

from __future__ import annotations

from typing import Any

from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.records.psum import hold_alike
from trnsim.frontend.records.tensor import INSTANCE_SHIFT, Storage
from trnsim.frontend.sampling.reachable import is_same


class Likeness:
    """A correspondence of objects, made while pairs of them are compared.

    `instances` are those of each buffer before the iteration that leads from one to the other.
    """

    def __init__(self, instances: list[int]) -> None:
        self._instances = instances
        self._after: dict[int, Any] = {}
        self._before: dict[int, Any] = {}

    def holds(self, pairs: list[tuple[Any, Any]]) -> bool:
        """Whether all pairs correspond."""
        return all(self._pair(before, after) for before, after in pairs)

    def _pair(self, before: Any, after: Any) -> bool:
        kind = type(after)
        if type(before) is not kind:
            return False
        if kind is NkiTensor:
            return self._tensors(before, after)
        if kind is tuple:
            return len(before) == len(after) and all(map(self._pair, before, after))
        if kind in (list, dict):
            return self._correspond(before, after)
        return is_same(before, after)

    def _tensors(self, before: NkiTensor, after: NkiTensor) -> bool:
        return (before.form is after.form and before.position == after.position
                and before.indices is after.indices
                and self._correspond(before.storage, after.storage)
                and (before.storage is after.storage or self._is_new(after.storage)
                     and hold_alike(before.storage.matmul_regions, after.storage.matmul_regions)))

    def _correspond(self, before: Any, after: Any) -> bool:
        """Whether each of two objects is the other's only counterpart."""
        return (self._after.setdefault(id(before), after) is after
                and self._before.setdefault(id(after), before) is before)

    def _is_new(self, storage: Storage) -> bool:
        """Whether the iteration has made a storage."""
        return is_made_since(self._instances, storage)



def is_made_since(instances: list[int], storage: Storage) -> bool:
    """Whether a storage has an instance that is none of those that its buffer had before."""
    buffer = storage.buffer
    if storage.base is None or buffer.extent is not None:
        return False
    made = instances[buffer.identifier] if buffer.identifier < len(instances) else 0
    return storage.base >> INSTANCE_SHIFT >= made
