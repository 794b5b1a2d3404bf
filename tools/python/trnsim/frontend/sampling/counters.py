# SPDX-License-Identifier: Apache-2.0
# What a kernel's loops keep in Python, from one iteration to the next.
"""A loop of the 0.1 dialect that counts, in a local variable (`n += 1`), a list or an attribute, is
executed in full: iterations that are left out would not be counted. AWS's compiler traces such a
body once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, zip_longest
from types import FrameType
from typing import Any

from trnsim.frontend.sampling.effects import is_ours
from trnsim.frontend.sampling.holdings import Holdings, holdings
from trnsim.frontend.sampling.runs import carried, left_behind
from trnsim.frontend.sampling.watch import Watch
from trnsim.frontend.source import Site

_NUMBERS = (int, float, bool)

_names: dict[Site, tuple[tuple[str, ...], tuple[str, ...]]] = {}
"""What the bodies of loops may count in, and leave behind; runs.py keeps their code."""


class Counted:
    """What the iterations of a loop may change, and how to tell that they have."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def have_changed(self) -> bool:
        """Whether something has another value than the last time."""
        raise NotImplementedError

    def listening(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the loop runs; `stop` has all iterations that follow executed."""
        return nullcontext()

    def begin_behind_a_gap(self) -> None:
        """The next iterations follow some that were left out."""

    def reaches_over_the_gap(self) -> bool:
        """Whether they have left a tile under another name, that is from before those: as
        `previous = current`, which then is a tile of an iteration that was left out."""
        return False


class Watched(Counted):
    """All that the body of a Python range reaches (watch.py): AWS executes all its iterations."""

    def __init__(self, site: Site, watch: Watch) -> None:
        super().__init__(site)
        self._watch = watch

    def have_changed(self) -> bool:
        """Whether something of it is another object, or holds other ones, than the last time."""
        return self._watch.has_changed()

    def listening(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the loop runs: `stop` is called when it prints."""
        return self._watch.listening(stop)


class Counters(Counted):
    """The numbers among the local variables that a loop's body reads before it assigns them, the
    tiles in those that are read behind it, and what else it keeps."""

    def __init__(self, frame: FrameType, site: Site, names: tuple[str, ...],
                 left: tuple[str, ...], others: Holdings | None) -> None:
        super().__init__(site)
        self._frame = frame
        self._names = names
        self._left = left
        self._tiles: dict[str, list[Any]] = {}
        """What all local variables held when a gap had been passed, as long as that counts."""
        self._numbers = self._look()
        self._others = others
        self._held = None if others is None else others.look()

    def _look(self) -> list[Any]:
        values = self._frame.f_locals if self._names else {}
        return [values.get(name) for name in self._names]

    def begin_behind_a_gap(self) -> None:
        if self._left:
            self._tiles = {name: _storages(value) for name, value in self._frame.f_locals.items()}

    def reaches_over_the_gap(self) -> bool:
        if not self._left:
            return False
        now, before, self._tiles = self._frame.f_locals, self._tiles, {}
        older = set(map(id, chain.from_iterable(before.values())))
        return any(id(one) in older and one is not other
                   for name in self._left
                   for one, other in zip_longest(_storages(now.get(name)), before.get(name, ())))

    def have_changed(self) -> bool:
        """Whether one has another value than the last time."""
        before, self._numbers = self._numbers, self._look()
        if any(one != other for one, other in zip(before, self._numbers, strict=True)
               if type(one) in _NUMBERS and type(other) in _NUMBERS):
            return True
        if self._others is None:
            return False
        held, self._held = self._held, self._others.look()
        return held != self._held


def counters(frame: FrameType) -> Counters | None:
    """Those of the loop whose `for` statement a frame is at; None if it counts in nothing."""
    site = (id(frame.f_code), frame.f_lasti)
    found = _names.get(site)
    if found is None:
        place = frame.f_code, frame.f_lasti
        found = _names[site] = carried(*place), left_behind(*place)
    others = holdings(frame, frame.f_lasti)
    return Counters(frame, site, *found, others) if any(found) or others is not None else None


def _storages(value: Any) -> list[Any]:
    """The memory of a tile, or of those in a list, a tuple or a dictionary."""
    several = (value.values() if isinstance(value, dict)
               else value if isinstance(value, (list, tuple)) else (value,))
    tiles = [one for one in several if is_ours(type(one).__module__)]
    return [one.storage for one in tiles if hasattr(one, "storage")]
