# SPDX-License-Identifier: Apache-2.0
# Tiles that change names where iterations of a loop are left out.
"""A loop may pass on a tile of an earlier iteration, as `previous = current` does. Behind
iterations that were left out, that is one of an iteration before them, and not of the last of them.
The next iteration is compared with its prediction; who comes after it is not, and may read that.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from types import FrameType
from typing import Any

from trnsim.frontend.sampling.effects import is_ours
from trnsim.frontend.sampling.runs import passed_on


class Gap:
    """Iterations that were left out, and what the next ones pass on in local variables, in the loop
    whose iterator `frame` has made at an instruction."""

    def __init__(self, frame: FrameType, at: int) -> None:
        self._frame = frame
        self._names = passed_on(frame.f_code, at)
        self._before: dict[str, list[Any]] = {}
        """What all local variables held behind the gap, until its end has been looked at."""

    def open(self) -> None:
        """The next iterations follow some that were left out."""
        if self._names:
            self._before = {name: _storages(value)
                            for name, value in self._frame.f_locals.items()}

    def is_bridged(self) -> bool:
        """Whether they have left a tile from before the gap under another name."""
        if not self._names:
            return False
        now, before, self._before = self._frame.f_locals, self._before, {}
        older = set(map(id, chain.from_iterable(before.values())))
        return any(id(one) in older and one is not other
                   for name in self._names
                   for one, other in zip_longest(_storages(now.get(name)), before.get(name, ())))


def _storages(value: Any) -> list[Any]:
    """The memory of a tile, or of those in a list, a tuple or a dictionary."""
    several = (value.values() if isinstance(value, dict)
               else value if isinstance(value, (list, tuple)) else (value,))
    tiles = [one for one in several if is_ours(type(one).__module__)]
    return [one.storage for one in tiles if hasattr(one, "storage")]
