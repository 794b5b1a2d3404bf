# SPDX-License-Identifier: Apache-2.0
# How a table of tools/corpus_cases writes the arguments of a kernel.
"""values(case) -> the positional and the keyword arguments.

`arguments` is a list, as `--arg` takes them, or an object with the arguments by name. There a value
is a tensor, "bfloat16[128,512]"; a JSON value; or an object with one of the keys

    dtype  a data type                          text  a string that is no tensor
    tuple  its items                            enum  "module:Class.member"
    call   "module:Class", with `arguments` by name; what is not a parameter of the constructor is
           set as an attribute
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

from trnsim.frontend import TensorArgument, dtype
from trnsim.frontend.arguments import parse

TENSOR = re.compile(r"([a-z]\w*)\[([0-9,]*)\]")


def values(case: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that a case gives its kernel."""
    given = case.get("arguments", [])
    if isinstance(given, dict):
        return (), {name: argument(one) for name, one in given.items()}
    parsed = [parse(text) for text in given]
    return (tuple(value for name, value in parsed if name is None),
            {name: value for name, value in parsed if name is not None})


def named(text: str) -> Any:
    """What "module:Class.member" names."""
    module, _, path = text.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def made(call: str, given: dict[str, Any]) -> Any:
    """An object by its constructor; what that does not take is set afterwards."""
    factory = named(call)
    parameters = inspect.signature(factory).parameters
    takes_any = any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
                    for one in parameters.values())
    result = factory(**{name: value for name, value in given.items()
                        if takes_any or name in parameters})
    for name, value in given.items():
        if not takes_any and name not in parameters:
            setattr(result, name, value)
    return result


def argument(value: Any) -> Any:
    """An argument as the table writes it, as the kernel gets it."""
    if isinstance(value, str):
        match = TENSOR.fullmatch(value)
        if match is None:
            return value
        sizes = tuple(int(size) for size in match.group(2).split(",") if size)
        return TensorArgument(dtype(match.group(1)), sizes)
    if isinstance(value, list):
        return [argument(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "dtype" in value:
        return dtype(value["dtype"])
    if "text" in value:
        return value["text"]
    if "tuple" in value:
        return tuple(argument(one) for one in value["tuple"])
    if "enum" in value:
        return named(value["enum"])
    if "call" in value:
        return made(value["call"], {name: argument(one)
                                    for name, one in value.get("arguments", {}).items()})
    return {name: argument(one) for name, one in value.items()}
