# SPDX-License-Identifier: Apache-2.0
# Programs that run in turn: what ends them, and what they leave behind.
"""Turns and World of frontend/values."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from trnsim.frontend.values.team import Team, World
from trnsim.frontend.values.turns import Turns


def deaf(number: int) -> None:
    """Runs until it is ended, and takes some endings for errors of its own."""
    for _ in range(2):
        with suppress(BaseException):
            while True:
                pass


def waiting(number: int) -> None:
    if number == 0:
        threading.Event().wait(0.05)
        deaf(number)


@pytest.mark.parametrize("program", [deaf, waiting])
def test_an_interrupt_ends_all_programs(program: Callable[[int], None]) -> None:
    before = threading.active_count()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        Turns().run(3, program)
    timer.join()
    assert threading.active_count() == before


def test_a_box_is_gone_when_all_its_members_have_looked_into_it() -> None:
    world = World(2)
    found: dict[int, list[float]] = {0: [], 1: []}

    def program(rank: int) -> None:
        team = Team(world, rank)
        for step in range(5):
            data = [np.full(1, 10.0 * rank + step)]
            box = world.exchange(team, 0, (0, 1), data)
            found[rank].append(float(box[1 - rank][0][0]))
    world.turns.run(2, program)
    assert found == {0: [10.0, 11.0, 12.0, 13.0, 14.0], 1: [0.0, 1.0, 2.0, 3.0, 4.0]}
    assert not world._boxes and not world._left
