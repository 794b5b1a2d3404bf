# SPDX-License-Identifier: Apache-2.0
# What a function of NKI takes, for who called it with something else.
"""parameters_of(problem): the parameters of the function that a TypeError is about.

The two APIs have functions of one name that take different arguments: those of `nki.isa` write to
their `dst`, those of `neuronxcc.nki.isa` return a tile.
"""

from __future__ import annotations

import inspect
import re
from types import FunctionType, ModuleType
from typing import Any

from trnsim.frontend import source

_CALLED = re.compile(r"(?:\w+\.)*(\w+)\(\) (?:missing|takes|got)")


def parameters_of(problem: BaseException) -> str:
    """`; it is called as f(a, b, *, c)`, or nothing if it is not about a function of NKI's."""
    called = _CALLED.match(str(problem)) if isinstance(problem, TypeError) else None
    if called is None:
        return ""
    name = called[1]
    entry, names = problem.__traceback__, {}
    while entry is not None:
        if source.is_user(entry.tb_frame.f_code):
            names = entry.tb_frame.f_globals
        entry = entry.tb_next
    for owner in [names, *(vars(one) for one in names.values() if isinstance(one, ModuleType))]:
        function = owner.get(name)
        if isinstance(function, FunctionType) and not source.is_user(function.__code__):
            return f"; it is called as {name}({_parameters(function)})"
    return ""


def _parameters(function: Any) -> str:
    """The names of parameters; those after * are given by name."""
    found, is_open = [], True
    for name, parameter in inspect.signature(function).parameters.items():
        if name.startswith("_"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and is_open:
            found.append("*")
        is_open = is_open and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        found.append(name)
    return ", ".join(found)
