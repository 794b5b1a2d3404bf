# SPDX-License-Identifier: Apache-2.0
# What belongs to the user.
"""Whether code, files and modules are the user's own, of no installed package."""

from __future__ import annotations

from types import CodeType
from typing import Any

from trnsim.frontend import source


def is_own(code: CodeType) -> bool:
    """Whether code is in a file of the user's."""
    return is_own_file(code.co_filename)


def is_own_file(name: str) -> bool:
    """Whether a file is the user's."""
    return source.is_user_file(name) and "-packages" not in name


def is_own_module(module: Any) -> bool:
    """Whether a module, or a package without a file of its own, is the user's."""
    place = place_of(module)
    return place is not None and is_own_file(place)


def place_of(module: Any) -> str | None:
    """The file of a module, or the folder of a package that has none; None for other modules."""
    file = getattr(module, "__file__", None)
    if file is None:
        file = next(iter(getattr(module, "__path__", None) or ()), None)
    return file if isinstance(file, str) else None
