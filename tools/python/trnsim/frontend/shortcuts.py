# SPDX-License-Identifier: Apache-2.0
# Which iterations of loops a trace may leave out, and what it has learnt about its loops.
"""A shortcut that turns out to be wrong raises `Retrace`: the kernel is then traced again without
it. `Allowed` is what an attempt may do, `Shortcuts` what the dialects remember in it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from trnsim.frontend import source

MOST_REFUSED = 4
"""Loops that are refused one by one, each of which takes an attempt. [ASSUMED]"""
PATIENCE = 2
"""Times that a loop may have no proof, or steps but no pattern, before it is always executed in
full. [ASSUMED]"""


class Retrace(BaseException):
    """A shortcut turned out to be wrong: the kernel is traced again without it.

    `remembers` says that it was the pattern of an earlier run of the loop; others may be right.
    `site` is that of the loop, if it alone is to be executed in full. `asks_order`: the kernel
    has edges of the schedule.
    """

    def __init__(self, remembers: bool = False, site: source.Site | None = None,
                 asks_order: bool = False) -> None:
        super().__init__()
        self.remembers = remembers
        self.site = site
        self.asks_order = asks_order


class Allowed(NamedTuple):
    """What an attempt at a trace may do."""

    shortcuts: bool = True
    """Leave iterations out."""
    memory: bool = True
    """Use what earlier runs of a loop have shown."""
    refused: frozenset[source.Site] = frozenset()
    """Loops that it has to execute in full."""
    has_order: bool = False
    """Count the instructions, for edges of the schedule."""

    def after(self, problem: Retrace) -> Allowed:
        """What the next attempt may do, which has one shortcut less."""
        if problem.asks_order:
            return self._replace(shortcuts=False, has_order=True)
        if problem.remembers and self.memory:
            return self._replace(memory=False)
        refused = self.refused if problem.site is None else self.refused | {problem.site}
        if len(self.refused) < len(refused) <= MOST_REFUSED:
            return self._replace(refused=refused)
        return self._replace(shortcuts=False)


ALL_SHORTCUTS = Allowed()
NO_SHORTCUTS = Allowed(shortcuts=False)


class Shortcuts:
    """What is known of the loops of a program while it is traced."""

    def __init__(self, allowed: Allowed = ALL_SHORTCUTS,
                 rewarding: dict[source.Site, int] | None = None) -> None:
        self.are_allowed = allowed.shortcuts
        """Whether iterations may be left out at all."""
        self.remembers = allowed.shortcuts and allowed.memory
        """Whether `patterns` of earlier runs of a loop are used."""
        self.in_full: set[source.Site] = set(allowed.refused)
        """Loops that asked for the value of their index, have no pattern, or were refused."""
        self.patterns: dict[Any, Any] = {}
        """What iterations of a loop add to the one before, by loop and body; see the dialects."""
        self.rewarding: dict[source.Site, int] = {} if rewarding is None else rewarding
        """Loops of which few iterations were executed because they were watched: how long they
        were. The cores of a launch share them."""
        self.proofs: list[Any] = []
        """Proven loops that are open (sampling/sample.py)."""
        self.unfinished = 0
        """Proven loops that have begun and have not come to their end."""
        self.has_sampled = False
        """Whether indices of proven loops were no plain integers (sampling/sample.py)."""
        self.has_rerun = False
        """Whether one iteration stood for others because an earlier run of its loop was known."""
        self._failures: Counter[tuple[str, source.Site]] = Counter()

    def may_try(self, what: str, site: source.Site) -> bool:
        """Whether something has not failed with a loop too often."""
        return self._failures[what, site] < PATIENCE

    def failed(self, what: str, site: source.Site, times: int = 1) -> None:
        """Something has failed with a loop."""
        self._failures[what, site] += times

    def no_pattern(self, site: source.Site) -> None:
        """A loop has steps but no pattern, or no proof; soon it is executed in full."""
        self.failed("pattern", site)
        if not self.may_try("pattern", site):
            self.in_full.add(site)

    def suspected(self) -> Retrace | None:
        """What may have caused an error of the kernel, if not the kernel itself."""
        if self.has_rerun:
            return Retrace(remembers=True)
        return Retrace() if self.has_sampled else None
