# SPDX-License-Identifier: Apache-2.0
# Whether what the index of a loop selects from lists moves by constant steps.
"""Lists of tensors that a loop's index subscripts (sample.py)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.records.psum import hold_alike


def are_progressions(selections: dict[tuple[int, int, int], Any], step: int, count: int) -> bool:
    """Whether what the next `count` iterations select from lists moves by constant steps.

    A list holds tensors or lists like it. All its tensors have been accessed.
    """
    return all(_is_progression(chosen, place, coefficient * step, count)
               for (_, place, coefficient), chosen in selections.items())


def _is_progression(chosen: Any, place: int, step: int, count: int) -> bool:
    """Whether the elements at `place` and `count` steps further move by constant steps."""
    last = place + step * count
    if min(place, last) < 0 or max(place, last) >= len(chosen):
        return False
    return step == 0 or _are_alike([chosen[at] for at in range(place, last + step, step)])


def _are_alike(items: list[Any]) -> bool:
    """Whether tensors, or the tensors at each place of lists, move by constant steps."""
    first = items[0]
    if type(first) in (list, tuple):
        return (all(type(one) is type(first) and len(one) == len(first) for one in items)
                and all(_are_alike(list(places)) for places in zip(*items)))
    if type(first) is not NkiTensor or first.indices is not None:
        return False
    regions = first.storage.matmul_regions
    places = []
    for one in items:
        if (type(one) is not NkiTensor or one.form is not first.form or one.indices is not None
                or one.storage.base is None
                or not hold_alike(regions, one.storage.matmul_regions)):
            return False
        places.append(one.position + one.storage.base)
    step = places[1] - places[0]
    return all(after - before == step for before, after in pairwise(places))
