# SPDX-License-Identifier: Apache-2.0
# nki.jit and nki.simulate.
"""Decorators of the `nki` API."""

from __future__ import annotations

from typing import Any

from trnsim.frontend.kernel import decorator

API = "nki"
jit = decorator(API)


def simulate(kernel: Any) -> Any:
    """The kernel, whose calls are simulated; a plain function becomes one."""
    return jit(kernel)
