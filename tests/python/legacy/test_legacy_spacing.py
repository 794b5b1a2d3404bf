# SPDX-License-Identifier: Apache-2.0
# Tests of the spacing of blocks: it is even if and only if places are linear in block indices.
"""The law that extrapolated loops over blocks rely on."""

from __future__ import annotations

import itertools
import random
from math import prod

import pytest
from trnsim.frontend.legacy.spacing import Spacing, periods
from trnsim.frontend.records.tensor import row_major


@pytest.mark.parametrize("seed", range(40))
def test_places_are_even_if_and_only_if_they_are_linear(seed: int) -> None:
    chance = random.Random(seed)
    shape = tuple(chance.randint(1, 4) for _ in range(chance.randint(1, 3)))
    steps = [chance.randint(-5, 5) for _ in shape]
    blocks = list(itertools.product(*map(range, shape)))
    places = [7 + sum(step * at for step, at in zip(steps, block)) for block in blocks]
    assert periods(shape, tuple(places)) == (1,) * len(shape)
    spacing, order = Spacing(shape), list(enumerate(places))
    chance.shuffle(order)
    for _ in shape:
        order = [one for one in order if not spacing.add(*one)]
    assert not order and spacing.is_even
    if len(places) > sum(shape) - len(shape) + 1:  # More blocks than a linear law has freedom.
        wrong = chance.randrange(len(places))
        moved = tuple(place + (at == wrong) for at, place in enumerate(places))
        assert periods(shape, moved) != (1,) * len(shape)


@pytest.mark.parametrize("turns", [(1, 2), (2, 3), (3, 1), (4, 4)])
def test_places_that_blocks_take_in_turn_have_that_period(turns: tuple[int, int]) -> None:
    shape = (12, 9)
    places = tuple(first % turns[0] * 70 + second % turns[1] * 1000
                   for first, second in itertools.product(*map(range, shape)))
    assert periods(shape, places) == turns


def test_places_without_a_short_period_have_none() -> None:
    assert periods((30,), tuple(at * at for at in range(30))) == (0,)
    assert periods((30, 2), tuple(at // 2 % 11 * 5 for at in range(60))) == (0, 1)


def test_too_few_blocks_say_nothing() -> None:
    spacing = Spacing((4, 4))
    assert spacing.add(0, 100)
    assert not spacing.add(5, 150)  # One further along both dimensions.
    assert spacing.add(1, 110) and spacing.add(5, 150) and spacing.is_even
    assert spacing.add(4, 141) and not spacing.is_even


@pytest.mark.parametrize("is_taught", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_a_run_of_blocks_is_even_if_and_only_if_its_blocks_are(seed: int, is_taught: bool) -> None:
    chance = random.Random(seed)
    shape = tuple(chance.randint(1, 5) for _ in range(chance.randint(1, 3)))
    runs, alone = Spacing(shape), Spacing(shape)
    for stride in sorted({0, *row_major(shape)} - {prod(shape)}) if is_taught else ():
        assert runs.add(stride, stride * 2) and alone.add(stride, stride * 2)
    for _ in range(6):
        number, step = chance.randrange(prod(shape)), chance.choice([-3, -2, -1, 1, 2, 3, 5])
        count = chance.randint(1, len(range(number, prod(shape) if step > 0 else -1, step)))
        place, further = chance.choice([(number * 2, step * 2), (chance.randrange(9), 3)])
        said = runs.add_run(number, place, count, step, further)
        each = [alone.add(number + at * step, place + at * further) for at in range(count)]
        if not said or not all(each):  # Too early: nothing may be concluded from either.
            assert not is_taught
            return
        assert runs.is_even == alone.is_even


def test_a_run_of_many_blocks_takes_little_time() -> None:
    spacing = Spacing((2, 10**12))
    assert spacing.add_run(0, 5, 2 * 10**12, 1, 3) and spacing.is_even
    assert spacing.add_run(10**12 - 1, 3 * (10**12 - 1) + 5, 2, 1, 4) and not spacing.is_even
