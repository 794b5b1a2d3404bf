# SPDX-License-Identifier: Apache-2.0
# Numbers that a kernel's loops keep in Python, from one iteration to the next.
"""A loop that counts in a local variable (`n += 1`) is executed in full: iterations that are left
out would not be counted. AWS's compiler traces such a body once. What a kernel counts in lists and
attributes is not looked at.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from trnsim.frontend.runs import carried
from trnsim.frontend.source import Site

_NUMBERS = (int, float, bool)

_names: dict[Site, tuple[str, ...]] = {}
"""What the bodies of loops may count in; runs.py keeps their code."""


class Counters:
    """The numbers among the local variables that a loop's body reads before it assigns them."""

    def __init__(self, frame: FrameType, site: Site, names: tuple[str, ...]) -> None:
        self.site = site
        self._frame = frame
        self._names = names
        self._numbers = self._look()

    def _look(self) -> list[Any]:
        values = self._frame.f_locals
        return [values.get(name) for name in self._names]

    def have_changed(self) -> bool:
        """Whether one has another value than the last time."""
        before, self._numbers = self._numbers, self._look()
        return any(one != other for one, other in zip(before, self._numbers, strict=True)
                   if type(one) in _NUMBERS and type(other) in _NUMBERS)


def counters(frame: FrameType) -> Counters | None:
    """Those of the loop whose `for` statement a frame is at; None if it counts in nothing."""
    site = (id(frame.f_code), frame.f_lasti)
    names = _names.get(site)
    if names is None:
        names = _names[site] = carried(frame.f_code, frame.f_lasti)
    return Counters(frame, site, names) if names else None
