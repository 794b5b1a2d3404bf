# SPDX-License-Identifier: Apache-2.0
# The `range` of kernel files where it is no loop.
"""LoopRange: what other code does with ranges it does with this one."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from trnsim.frontend.loops import AffineRange, LoopRange


@pytest.mark.parametrize("same", [
    copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("kind", [LoopRange, AffineRange])
def test_a_copy_is_a_range_of_the_same_kind(kind: type, same: Callable[[Any], Any]) -> None:
    given = kind(2, 20, 3)
    found = same(given)
    assert type(found) is kind and found == given == range(2, 20, 3)


def test_it_is_a_sequence() -> None:
    given = LoopRange(2, 20, 3)
    assert isinstance(given, Sequence) and isinstance(range(3), LoopRange)
    assert sorted(random.sample(given, k=6)) == list(range(2, 20, 3))  # type: ignore[arg-type]
    assert np.array(given).tolist() == list(given)
    match LoopRange(3):
        case [0, *others]:
            assert others == [1, 2]
        case _:
            pytest.fail("no sequence")
