# SPDX-License-Identifier: Apache-2.0
# Templates: what the executions of an instruction have in common.
"""The template records of a trace, before they are written."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

from trnsim.frontend import source
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.records.indices import Reference
from trnsim.frontend.records.tensor import Form


class Template(NamedTuple):
    """A template record: what is equal in every execution of an instruction."""

    op: str
    engines: tuple[str, ...]
    operands: tuple[tuple[str, str, Form, Reference], ...]
    attributes: tuple[tuple[str, Any], ...]
    position: source.Position
    edges: tuple[str, ...] = ()
    """Numbers behind the positions of its operands: its own as a producer, and those of its
    producers (schedule.py)."""


def freeze(name: str, value: Any) -> Any:
    """A hashable copy of an attribute that JSON can hold. `value` is a number, or inf as text.

    A type stands for a number that the template leaves out.
    """
    if value is int or value is float:
        return value
    if isinstance(value, (list, tuple)):
        return tuple(freeze(name, one) for one in value)
    if type(value) is LoopIndex:
        value = value.ask()
    if isinstance(value, (str, int)):
        return int(value) if name == "value" and isinstance(value, bool) else value
    number = float(value)
    return number if isfinite(number) else str(number)
