# SPDX-License-Identifier: Apache-2.0
# What a function of NKI takes, for who called it with something else.
"""parameters_of(problem): the parameters of the function that a TypeError is about.

The two APIs have functions of one name that take different arguments: those of `nki.isa` write to
their `dst`, those of `neuronxcc.nki.isa` return a tile.
"""

from __future__ import annotations

import inspect
import re
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any

from trnsim.frontend import source
from trnsim.frontend.annotations import own_signature, signature
from trnsim.frontend.arguments import describe
from trnsim.frontend.written import name_of

_CALLED = re.compile(r"(\w+)\(\) (missing|takes|got) (.*)")
"""Python names methods and functions in functions with a dot before; they are none of NKI's."""
_QUOTED = re.compile(r"'(\w+)'")
_TAKEN = re.compile(r"(?:from (\d+) to )?(\d+) positional")


def parameters_of(problem: BaseException) -> str:
    """`; it is called as f(a, b, *, c)`, or nothing if it is not about a function of NKI's.

    Of functions of one name, it is the one that Python's message fits; nothing if several do.
    """
    called = _CALLED.match(str(problem)) if isinstance(problem, TypeError) else None
    if called is None:
        return ""
    name, verb, rest = called.groups()
    fitting = [one for one in _functions(problem, name) if _fits(one, verb, rest)]
    signatures = {_parameters(one) for one in fitting}
    if len(signatures) != 1 or any(source.is_user(one.__code__) for one in fitting):
        return ""
    return f"; it is called as {name}({signatures.pop()})"


def _functions(problem: BaseException, name: str) -> list[FunctionType]:
    """The functions of a name in the variables of who called, and in modules among them: those of
    NKI and the user's, not those of libraries."""
    entry, names = problem.__traceback__, {}
    while entry is not None:
        if source.is_user(entry.tb_frame.f_code):
            names = {**entry.tb_frame.f_globals, **entry.tb_frame.f_locals}
        entry = entry.tb_next
    owners = [names, *(vars(one) for one in names.values() if isinstance(one, ModuleType))]
    found = (owner.get(name) for owner in owners)
    return [one for one in found if isinstance(one, FunctionType)
            and (source.is_ours(one.__code__) or source.is_user(one.__code__))]


def _fits(function: FunctionType, verb: str, rest: str) -> bool:
    """Whether Python says such a thing (`missing`, `takes` or `got` ...) of a function."""
    parameters = signature(function).parameters
    kinds = {one.kind for one in parameters.values()}
    quoted = _QUOTED.findall(rest)
    if verb == "missing":
        return all(one in parameters and parameters[one].default is inspect.Parameter.empty
                   for one in quoted)
    if verb == "got":
        if "unexpected" in rest:
            return quoted[0] not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds
        return all(one in parameters for one in quoted)
    by_place = [one for one in parameters.values()
                if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    required = sum(one.default is inspect.Parameter.empty for one in by_place)
    taken = _TAKEN.match(rest)
    return (taken is not None and inspect.Parameter.VAR_POSITIONAL not in kinds and
            int(taken[2]) == len(by_place) and int(taken[1] or taken[2]) == required)


def _parameters(function: Any) -> str:
    """The names of parameters; those after * are given by name."""
    found, is_open = [], True
    for name, parameter in signature(function).parameters.items():
        if name.startswith("_") or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and is_open:
            found.append("*")
        is_open = is_open and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        found.append(name)
    return ", ".join(found)


def called(function: Any) -> str:
    """How a function is called, as its definition has it: names, and defaults without addresses."""
    parameters = []
    for one in own_signature(function).parameters.values():
        default = one.default if one.default is one.empty else _Shown(one.default)
        parameters.append(one.replace(annotation=one.empty, default=default))
    return f"{name_of(function)}{inspect.Signature(parameters)}"


class _Shown:
    """A value as messages show it: functions and types by their names."""

    def __init__(self, value: Any) -> None:
        name = str(value) if isinstance(value, Enum) else getattr(value, "__name__", None)
        self._text = name if isinstance(name, str) else describe(value)

    def __repr__(self) -> str:
        return self._text
