# SPDX-License-Identifier: Apache-2.0
# One thread traces at a time.
"""alone(): others wait. A process traces one kernel at a time: instructions go to its recorder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_lock = threading.RLock()
_has_turn: ContextVar[bool] = ContextVar("has_turn", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """No other thread traces meanwhile; the same one may do this again. Threads that it starts must
    run in a copy of its context."""
    with _lock:
        before = _has_turn.set(True)
        try:
            yield
        finally:
            _has_turn.reset(before)


def is_alone() -> bool:
    """Whether it is this thread's turn."""
    return _has_turn.get()
