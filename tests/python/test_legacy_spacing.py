# SPDX-License-Identifier: Apache-2.0
# Tests of the spacing of blocks: it is even if and only if places are linear in block indices.
"""The law that extrapolated loops over blocks rely on."""

from __future__ import annotations

import itertools
import random

import pytest
from trnsim.frontend.legacy.spacing import Spacing, are_even


@pytest.mark.parametrize("seed", range(40))
def test_places_are_even_if_and_only_if_they_are_linear(seed: int) -> None:
    chance = random.Random(seed)
    shape = tuple(chance.randint(1, 4) for _ in range(chance.randint(1, 3)))
    steps = [chance.randint(-5, 5) for _ in shape]
    blocks = list(itertools.product(*map(range, shape)))
    places = [7 + sum(step * at for step, at in zip(steps, block)) for block in blocks]
    assert are_even(shape, tuple(places))
    spacing, order = Spacing(shape), list(enumerate(places))
    chance.shuffle(order)
    for _ in shape:
        order = [one for one in order if not spacing.add(*one)]
    assert not order and spacing.is_even
    if len(places) > sum(shape) - len(shape) + 1:  # More blocks than a linear law has freedom.
        wrong = chance.randrange(len(places))
        assert not are_even(shape, tuple(place + (at == wrong) for at, place in enumerate(places)))


def test_too_few_blocks_say_nothing() -> None:
    spacing = Spacing((4, 4))
    assert spacing.add(0, 100)
    assert not spacing.add(5, 150)  # One further along both dimensions.
    assert spacing.add(1, 110) and spacing.add(5, 150) and spacing.is_even
    assert spacing.add(4, 141) and not spacing.is_even
