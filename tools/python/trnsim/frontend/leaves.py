# SPDX-License-Identifier: Apache-2.0
# What lists, tuples and dicts hold.
"""leaves_of(value): everything in it that is no list, tuple or dict."""

from __future__ import annotations

from typing import Any
from collections.abc import Iterator


def leaves_of(value: Any) -> Iterator[Any]:
    """The values in lists, tuples and dicts, in their order; any other value itself."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves_of(one)
    else:
        yield value
