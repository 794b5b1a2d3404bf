# SPDX-License-Identifier: Apache-2.0
# What lists, tuples, dicts and objects hold.
"""leaves_of(value): everything in it that is no list, tuple or dict.

tensors_in(), mapped(): the tensors in a value, in objects too, and the value with others for them.
"""

from __future__ import annotations

import copy
from types import FunctionType, ModuleType
from typing import Any
from collections.abc import Callable, Iterable, Iterator, Mapping

Wanted = Callable[[Any], bool]
"""Whether a value is one of the tensors that are looked for."""
Path = tuple[Any, ...]
"""Where a tensor is: indices of lists and tuples, keys of dicts, names of attributes."""


def leaves_of(value: Any) -> Iterator[Any]:
    """The values in lists, tuples and dicts, in their order; any other value itself."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from leaves_of(one)
    else:
        yield value


def tensors_in(value: Any, is_tensor: Wanted) -> Iterator[Any]:
    """The tensors in lists, tuples, dicts and objects, in the order of mapped()."""
    return _tensors_in(value, is_tensor, set())


def _tensors_in(value: Any, is_tensor: Wanted, seen: set[int]) -> Iterator[Any]:
    """Those in objects that have not been `seen`."""
    if is_tensor(value):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors_in(item, is_tensor, seen)
    elif id(value) not in seen:
        seen.add(id(value))
        for item in fields_of(value).values():
            yield from _tensors_in(item, is_tensor, seen)


def mapped(value: Any, change: Callable[[Any, Path], Any], is_tensor: Wanted) -> Any:
    """The value with `change(tensor, path)` for the tensors in lists, tuples, dicts and objects.

    All of them are made anew, of the same class; an object without tensors stays what it is.
    """
    return _mapped(value, (), change, is_tensor, {})


def _mapped(value: Any, path: Path, change: Callable[[Any, Path], Any], is_tensor: Wanted,
            twins: dict[int, Any]) -> Any:
    """`twins` are the new objects, by the identities of the old ones."""
    def inner(one: Any, step: Any) -> Any:
        return _mapped(one, (*path, step), change, is_tensor, twins)

    if is_tensor(value):
        return change(value, path)
    if isinstance(value, (list, tuple)):
        return with_items(value, [inner(one, index) for index, one in enumerate(value)])
    if isinstance(value, dict):
        return with_items(value, [inner(one, key) for key, one in value.items()])
    if id(value) in twins:
        return twins[id(value)]
    if is_record(value, is_tensor):
        twin = twins[id(value)] = copy.copy(value)
        _set(twin, {name: inner(one, name) for name, one in fields_of(value).items()})
        return twin
    return value


def at(value: Any, path: Path) -> Any:
    """What is at a path of a value."""
    for step in path:
        value = value[step] if isinstance(value, (list, tuple, dict)) else getattr(value, step)
    return value


def is_record(value: Any, is_tensor: Wanted) -> bool:
    """Whether it is an object with tensors in its attributes, or in objects in these."""
    return any(True for _ in tensors_in(fields_of(value), is_tensor))


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of a user's object; none of a class, function or module."""
    if isinstance(value, (type, ModuleType, FunctionType)) or _is_ours(type(value)):
        return {}
    found = dict(vars(value)) if hasattr(value, "__dict__") else {}
    found.update((name, getattr(value, name)) for name in slots_of(value) if hasattr(value, name))
    return found


def slots_of(value: Any) -> list[str]:
    """The attributes of an object that its class declares as slots."""
    found: list[str] = []
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        found += (slots,) if isinstance(slots, str) else slots
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("trnsim.")


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


def _set(value: Any, attributes: Mapping[str, Any]) -> None:
    """Sets all attributes of an object, a frozen dataclass too."""
    own = vars(value) if hasattr(value, "__dict__") else {}
    slots = [name for name in slots_of(value) if name in attributes]
    own.update((name, one) for name, one in attributes.items() if name not in slots)
    for name in slots:
        object.__setattr__(value, name, attributes[name])
