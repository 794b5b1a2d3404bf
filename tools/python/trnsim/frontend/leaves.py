# SPDX-License-Identifier: Apache-2.0
# What lists, tuples and dicts hold.
"""leaves_of(value): everything in it that is no list, tuple or dict.

with_items(), with_fields(): a value of the same class with others.
"""

from __future__ import annotations

import copy
from typing import Any
from collections.abc import Iterable, Iterator, Mapping


def leaves_of(value: Any) -> Iterator[Any]:
    """The values in lists, tuples and dicts, in their order; any other value itself."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves_of(one)
    else:
        yield value


def with_items(value: Any, items: Iterable[Any]) -> Any:
    """A list, tuple or dict of the same class (NamedTuple, defaultdict, …) with other items.

    Those of a dict are for its keys, in their order.
    """
    kind = type(value)
    if hasattr(kind, "_make"):
        return kind._make(items)
    if kind in (list, tuple):
        return kind(items)
    if isinstance(value, tuple):
        return tuple.__new__(kind, items)
    twin = copy.copy(value)
    if isinstance(value, dict):
        twin.update(zip(tuple(value), items, strict=True))
    else:
        twin[:] = items
    return twin


def with_fields(value: Any, fields: Mapping[str, Any]) -> Any:
    """An object of the same class with other attributes."""
    twin = copy.copy(value)
    vars(twin).update(fields)
    return twin
