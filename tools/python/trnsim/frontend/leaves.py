# SPDX-License-Identifier: Apache-2.0
# What lists, tuples, dicts and objects hold.
"""leaves_of(value): everything in it that is no list, tuple or dict.

tensors_in(), mapped(): the tensors in a value, in objects too, and the value with others for them.
Of objects only their own attributes count, with what is in lists, tuples and dicts there, not what
objects in these have.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from types import FunctionType, ModuleType
from typing import Any
from collections.abc import Callable, Iterable, Iterator, Mapping

Wanted = Callable[[Any], bool]
"""Whether a value is one of the tensors that are looked for."""
Path = tuple[Any, ...]
"""Where a tensor is: indices of lists and tuples, keys of dicts, the name of an attribute."""
Change = Callable[[Any, Path], Any]


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
    """The tensors in a value, in the order of mapped()."""
    for one in _leaves(value, is_tensor, ()):
        if is_tensor(one):
            yield one
        else:
            yield from filter(is_tensor, _leaves(fields_of(one), is_tensor, ()))


def mapped(value: Any, change: Change, is_tensor: Wanted) -> Any:
    """The value with `change(tensor, path)` for its tensors.

    Lists, tuples, dicts, and objects with tensors are made anew, of the same class.
    """
    return _mapped(value, (), (), change, is_tensor, {})


def _mapped(value: Any, path: Path, around: tuple[int, ...], change: Change, is_tensor: Wanted,
            twins: dict[int, Any] | None) -> Any:
    """`twins` are the new objects by the identities of the old ones; None in an object, `around`
    the identities of what it is in."""
    def inner(one: Any, step: Any, known: dict[int, Any] | None = twins) -> Any:
        return _mapped(one, (*path, step), (*around, id(value)), change, is_tensor, known)

    if is_tensor(value):
        return change(value, path)
    if isinstance(value, (list, tuple, dict)):
        if id(value) in around:
            return value
        if isinstance(value, dict):
            return with_items(value, [inner(one, key) for key, one in value.items()])
        return with_items(value, [inner(one, index) for index, one in enumerate(value)])
    if twins is None or not is_record(value, is_tensor):
        return value
    if id(value) not in twins:
        twins[id(value)] = with_fields(value, {name: inner(one, name, None)
                                               for name, one in fields_of(value).items()})
    return twins[id(value)]


def _leaves(value: Any, is_leaf: Wanted, around: tuple[int, ...]) -> Iterator[Any]:
    """As leaves_of, of what may hold itself; lists, tuples and dicts may be leaves."""
    if not isinstance(value, (list, tuple, dict)) or is_leaf(value):
        yield value
    elif id(value) not in around:
        for one in tuple(value.values()) if isinstance(value, dict) else value:
            yield from _leaves(one, is_leaf, (*around, id(value)))


def at(value: Any, path: Path) -> Any:
    """What is at a path of a value."""
    for step in path:
        value = value[step] if isinstance(value, (list, tuple, dict)) else getattr(value, step)
    return value


def is_record(value: Any, is_tensor: Wanted) -> bool:
    """Whether it is an object with tensors."""
    return any(map(is_tensor, _leaves(fields_of(value), is_tensor, ())))


def fields_of(value: Any) -> dict[str, Any]:
    """The attributes of a user's object; none of a class, function or module."""
    if isinstance(value, (type, ModuleType, FunctionType)) or _is_ours(type(value)):
        return {}
    found = attributes_of(value)
    for name in slots_of(value):
        try:
            found[name] = object.__getattribute__(value, name)
        except AttributeError:
            continue
    return found


def attributes_of(value: Any) -> dict[str, Any]:
    """What is in the dictionary of an object, if it has one."""
    return dict(vars(value)) if has_attributes(value) else {}


def has_attributes(value: Any) -> bool:
    """Whether an object has a dictionary that can be looked at."""
    try:
        return isinstance(vars(value), dict)
    except Exception:  # noqa: BLE001 - a user's object, whose code may raise anything
        return False


def slots_of(value: Any) -> list[str]:
    """The attributes of an object that its class declares as slots."""
    found: list[str] = []
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            is_private = name.startswith("__") and not name.endswith("__")
            found.append(f"_{kind.__name__.lstrip('_')}{name}" if is_private else name)
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
    twin = _copy(value)
    if isinstance(value, dict):
        of: Any = OrderedDict if isinstance(value, OrderedDict) else dict
        for key, item in zip(tuple(value), items, strict=True):
            of.__setitem__(twin, key, item)
    else:
        list.__setitem__(twin, slice(None), items)
    return twin


def _copy(value: Any) -> Any:
    """A list or dict of the same class, which may refuse to be changed."""
    try:
        return copy.copy(value)
    except Exception:  # noqa: BLE001 - a user's object, whose code may raise anything
        kind: Any = type(value)
        twin = kind.__new__(kind)
        if has_attributes(value):
            vars(twin).update(vars(value))
        return twin


def with_fields(value: Any, attributes: Mapping[str, Any]) -> Any:
    """An object of the same class with these attributes, a frozen dataclass too; the same object if
    it cannot have a twin."""
    try:
        twin = copy.copy(value)
        if twin is value or attributes_of(twin) and vars(twin) is vars(value):
            twin = object.__new__(type(value))
    except Exception:  # noqa: BLE001 - a user's object, whose code may raise anything
        return value
    slots = [name for name in slots_of(value) if name in attributes]
    if hasattr(twin, "__dict__"):
        vars(twin).update((name, one) for name, one in attributes.items() if name not in slots)
    for name in slots:
        object.__setattr__(twin, name, attributes[name])
    return twin
