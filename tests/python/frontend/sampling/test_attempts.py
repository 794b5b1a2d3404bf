# SPDX-License-Identifier: Apache-2.0
# Shortcuts of a trace that turn out to be wrong are given up one by one.
"""What an attempt at a trace may do, and what it remembers of loops that failed."""

from __future__ import annotations

import random

import pytest
from trnsim.frontend.shortcuts import (MOST_REFUSED, NO_SHORTCUTS, PATIENCE, Allowed, Retrace,
                                       Shortcuts)

SITE = (1, 2)


def test_a_wrong_memory_is_given_up_before_all_shortcuts_are() -> None:
    without = Allowed().after(Retrace(remembers=True))
    assert without == Allowed(memory=False)
    assert not without.after(Retrace(remembers=True)).shortcuts


def test_a_loop_at_fault_is_executed_in_full_alone() -> None:
    assert Allowed().after(Retrace(site=SITE)) == Allowed(refused=frozenset({SITE}))
    assert Shortcuts(Allowed(refused=frozenset({SITE}))).in_full == {SITE}


@pytest.mark.parametrize("seed", range(20))
def test_attempts_come_to_an_end_whatever_is_wrong(seed: int) -> None:
    chosen = random.Random(seed)
    allowed, attempts = Allowed(), 0
    while allowed.shortcuts:
        allowed = allowed.after(Retrace(chosen.random() < 0.5, chosen.choice(
            [None, *((0, number) for number in range(attempts, attempts + 9))])))
        attempts += 1
    assert attempts <= MOST_REFUSED + 2


def test_without_shortcuts_nothing_is_remembered() -> None:
    assert not Shortcuts(NO_SHORTCUTS).remembers and not Shortcuts(NO_SHORTCUTS).are_allowed


def test_a_loop_without_a_pattern_is_soon_executed_in_full() -> None:
    shortcuts = Shortcuts()
    for _ in range(PATIENCE):
        assert shortcuts.may_try("pattern", SITE) and SITE not in shortcuts.in_full
        shortcuts.no_pattern(SITE)
    assert SITE in shortcuts.in_full
    assert shortcuts.may_try("proof", SITE), "what failed is counted apart"


def test_what_is_shared_between_cores_is_one_object() -> None:
    rewarding = {SITE: 8}
    assert Shortcuts(Allowed(), rewarding).rewarding is rewarding
    assert Shortcuts().rewarding == {}
