# SPDX-License-Identifier: Apache-2.0
# Kernels by their names, for tests.
"""find_kernel("file.py::function")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trnsim.frontend.host.naming import kernel_named


def find_kernel(text: str) -> Callable[..., Any]:
    """The function that a name is for; it must import nothing when it is called."""
    with kernel_named(text) as found:
        return found
