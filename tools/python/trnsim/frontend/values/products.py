# SPDX-License-Identifier: Apache-2.0
# Factors that nothing has written.
"""Kernels leave the padding of one factor as it is and have zeros in that of the other.

What nothing has written times 0 is taken for 0, with a warning (D-49). [NKI-LIBRARY]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.frontend import source
from trnsim.frontend.recorder import required
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array


def cleared(values: Any, unwritten: Array | None) -> tuple[Any, Any]:
    """A factor with 0 in the place of what nothing has written, and what of it counts: that, and
    what is not 0."""
    if unwritten is None:
        return values, np.not_equal(values, 0)
    values = np.where(unwritten, values.dtype.type(0), values)
    return values, unwritten | (values != 0)


def warn_of_zeros(call: Call) -> None:
    """Says that there was a 0 for what nothing has written."""
    required().note("warning", "what nothing has written is multiplied by 0, which is taken for 0: "
                               "it is NaN where a number is infinite or NaN",
                    source.position(call.at))


def factors(call: Call, left: Any, right: Any, left_unwritten: Array | None,
            right_unwritten: Array | None) -> tuple[Any, Any]:
    """Both factors of products element by element, and notes which of these come from what nothing
    has written."""
    if left_unwritten is None and right_unwritten is None:
        return left, right
    left, left_counts = cleared(left, left_unwritten)
    right, right_counts = cleared(right, right_unwritten)
    unwritten = np.zeros(np.broadcast_shapes(np.shape(left), np.shape(right)), dtype=bool)
    for flags in (left_unwritten, right_unwritten):
        if flags is not None:
            unwritten |= flags
    spoiled = unwritten & left_counts & right_counts
    if spoiled.any():
        call.put_garbage(spoiled)
    if not spoiled[unwritten].all():
        warn_of_zeros(call)
    return left, right
