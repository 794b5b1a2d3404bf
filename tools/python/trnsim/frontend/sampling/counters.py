# SPDX-License-Identifier: Apache-2.0
# What a kernel's loops keep in Python, from one iteration to the next.
"""A loop of the 0.1 dialect that counts, in a local variable (`n += 1`), a list or an attribute, is
executed in full: iterations that are left out would not be counted. AWS's compiler traces such a
body once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import Any

from trnsim.frontend.sampling.gap import Gap
from trnsim.frontend.sampling.holdings import Holdings, holdings
from trnsim.frontend.sampling.runs import carried, passed_on
from trnsim.frontend.sampling.watch import Watch
from trnsim.frontend.source import Site

_NUMBERS = (int, float, bool)

_names: dict[Site, tuple[tuple[str, ...], bool]] = {}
"""What the bodies of loops may count in, and whether they leave something behind; runs.py keeps
their code."""


class Counted:
    """What the iterations of a loop may change, and how to tell that they have."""

    def __init__(self, site: Site, gap: Gap) -> None:
        self.site = site
        self.gap = gap

    def have_changed(self) -> bool:
        """Whether something has another value than the last time."""
        raise NotImplementedError

    def has_left(self) -> bool:
        """Whether a list, an attribute or their like holds something else than the last time."""
        return False

    def listening(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the loop runs; `stop` has all iterations that follow executed."""
        return nullcontext()


class Watched(Counted):
    """All that the body of a Python range reaches (watch.py): AWS executes all its iterations."""

    def __init__(self, site: Site, watch: Watch) -> None:
        super().__init__(site, watch.gap)
        self._watch = watch

    def have_changed(self) -> bool:
        """Whether something of it is another object, or holds other ones, than the last time."""
        return self._watch.has_changed()

    def listening(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While the loop runs: `stop` is called when it prints."""
        return self._watch.listening(stop)


class Counters(Counted):
    """The numbers among the local variables that a loop's body reads before it assigns them, and
    what else it keeps."""

    def __init__(self, frame: FrameType, site: Site, names: tuple[str, ...],
                 others: Holdings | None) -> None:
        super().__init__(site, Gap(frame, site[1]))
        self._frame = frame
        self._names = names
        self._numbers = self._look()
        self._others = others
        self._held = None if others is None else others.look()
        self._things = None if others is None else others.held()

    def _look(self) -> list[Any]:
        values = self._frame.f_locals if self._names else {}
        return [values.get(name) for name in self._names]

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

    def has_left(self) -> bool:
        """Whether one tile is in the place of another: the last iteration leaves its own there."""
        if self._others is None:
            return False
        before, self._things = self._things, self._others.held()
        return self._things != before


def counters(frame: FrameType) -> Counters | None:
    """Those of the loop whose `for` statement a frame is at; None if it counts in nothing, and
    leaves nothing behind."""
    site = (id(frame.f_code), frame.f_lasti)
    found = _names.get(site)
    if found is None:
        place = frame.f_code, frame.f_lasti
        found = _names[site] = carried(*place), bool(passed_on(*place))
    names, has_left = found
    others = holdings(frame, frame.f_lasti)
    is_needed = names or has_left or others is not None
    return Counters(frame, site, names, others) if is_needed else None
