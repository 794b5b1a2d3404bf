# SPDX-License-Identifier: Apache-2.0
# Modules that tensors and indices ask for and that build on them.
"""`a + b` is a function of language.py, which takes tensors; a comparison of indices is a mask."""

from __future__ import annotations

import importlib
from typing import Any

_found: dict[str, Any] = {}


def language() -> Any:
    """language.py: the functions of nl."""
    return _found.get("language") or _module("language")


def assignment() -> Any:
    """assignment.py: `t[...] = y` and `t += y`."""
    return _found.get("assignment") or _module("assignment")


def masks() -> Any:
    """mask.py: comparisons of indices."""
    return _found.get("mask") or _module("mask")


def views() -> Any:
    """views.py: other shapes of a tensor."""
    return _found.get("views") or _module("views")


def _module(name: str) -> Any:
    found = _found[name] = importlib.import_module(f"trnsim.frontend.legacy.{name}")
    return found
