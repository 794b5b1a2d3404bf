# SPDX-License-Identifier: Apache-2.0
# Public names that can be imported but not called.
"""Functions outside the frontend's scope: calling one names it, importing one does not matter."""

from __future__ import annotations

from typing import Any, NoReturn
from collections.abc import Callable

from trnsim.errors import UnsupportedFeature
from trnsim.frontend import source


def unsupported(name: str) -> Callable[..., Any]:
    """A function that raises UnsupportedFeature with its public name."""
    def stub(*arguments: Any, **named: Any) -> NoReturn:
        raise UnsupportedFeature.named(str(source.here()), name)
    stub.__name__ = stub.__qualname__ = name.rpartition(".")[2]
    stub.__doc__ = f"{name} is not part of this version's frontend."
    return stub
