# SPDX-License-Identifier: Apache-2.0
# NKIObject: the base class of user-defined classes in kernels.
"""Classes in kernels: `__init__` is made from the class's fields, annotated or not."""

from __future__ import annotations

from typing import Any

from trnsim.frontend.annotations import annotations_of


class NKIObject:
    """Base of kernel classes: fields are the class attributes and annotations, in order.

    A class without an `__init__` of its own takes its fields by position or keyword, and calls
    `__post_init__`; fields that are not given are None, also under `@dataclass`. Equality is
    structural.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fields = annotations_of(cls)
        for name, value in list(cls.__dict__.items()):
            plain = not name.startswith("_") and not callable(value) and not isinstance(
                value, (property, classmethod, staticmethod))
            if plain and name not in fields:
                fields[name] = Any
        cls.__annotations__ = fields
        for name in fields:
            if not hasattr(cls, name):
                setattr(cls, name, None)

    def __init__(self, *values: Any, **named: Any) -> None:
        fields: dict[str, Any] = {}
        for base in reversed(type(self).__mro__):
            for name in annotations_of(base):
                fields[name] = getattr(type(self), name, None)
        if len(values) > len(fields):
            raise TypeError(f"{type(self).__name__} has {len(fields)} fields, but "
                            f"{len(values)} values are given")
        fields.update(zip(fields, values))
        unknown = set(named) - set(fields)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        fields.update(named)
        for name, value in fields.items():
            setattr(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Called after the fields are set."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__
