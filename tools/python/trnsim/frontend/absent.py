# SPDX-License-Identifier: Apache-2.0
# What is said of a name that a public module does not have.
"""absent(module, names): a module's `__getattr__`, with the nearest name or the API that has it."""

from __future__ import annotations

import difflib
import sys
from typing import Any, NoReturn
from collections.abc import Callable

_OTHER_API = {"nki": "neuronxcc.nki", "neuronxcc.nki": "nki"}


def absent(api: str, part: str, contents: dict[str, Any]) -> Callable[[str], NoReturn]:
    """Raises AttributeError for names that `api`.`part` does not have; `contents` are its own."""
    module = f"{api}.{part}"

    def missing(name: str) -> NoReturn:
        text = f"module {module!r} has no attribute {name!r}"
        if not name.startswith("_"):
            text += _advice(name, f"{_OTHER_API[api]}.{part}", contents)
        raise AttributeError(text)
    return missing


def _advice(name: str, other: str, contents: dict[str, Any]) -> str:
    if other in sys.modules and name in vars(sys.modules[other]):
        return f", but {other} does: that is the other API"
    near = difflib.get_close_matches(name, [one for one in contents if not one.startswith("_")], 1)
    return f"; did you mean {near[0]}?" if near else ""
