# SPDX-License-Identifier: Apache-2.0
# Keyword arguments that a function of the 0.1 dialect does not have.
"""AWS's functions take any keyword and heed those they know; a misspelt `mask` changes nothing."""

from __future__ import annotations

import sys
from typing import Any

from trnsim.frontend import recorder

HINTS = frozenset(("name", "lazy_initialization"))
"""Keywords that change no result; public kernels, and AWS's own, pass them. [ASSUMED]"""


def ignored(others: dict[str, Any], function: str = "") -> None:
    """Warns of the keywords that the calling function, or the named one, was given in vain."""
    if not others:
        return
    names = [repr(name) for name in others if name not in HINTS]
    active = recorder.active()
    if not names or active is None:
        return
    called = function or sys._getframe(1).f_code.co_name
    active.note("warning", f"{called} has no argument {' or '.join(names)} and "
                           "ignores it; correct the name, or leave it out")
