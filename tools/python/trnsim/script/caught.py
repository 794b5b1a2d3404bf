# SPDX-License-Identifier: Apache-2.0
# What a script catches when a kernel raises.
"""also_its_cause(problem): the same error, and also one of the kind that the kernel has raised."""

from __future__ import annotations

import functools
from typing import Any

from trnsim.errors import FrontendError, UserError


def also_its_cause(problem: UserError) -> UserError:
    """The error itself if nothing else has caused it."""
    cause = problem.__cause__
    if not isinstance(cause, Exception) or isinstance(cause, FrontendError):
        return problem
    try:
        families: tuple[Any, Any] = type(problem), type(cause)
        made: UserError = _kind_of_both(*families)(str(problem))
    except TypeError:  # Python has no class that is both.
        return problem
    made.__dict__.update(vars(cause))
    return made


@functools.cache
def _kind_of_both(family: Any, kind: Any) -> Any:
    """A class that is called like the second one, and pickled as the first one."""
    def __init__(self: Any, text: str) -> None:
        BaseException.__init__(self, text)

    def __str__(self: Any) -> str:
        return str(self.args[0])

    def __reduce__(self: Any) -> tuple[Any, ...]:
        return family, self.args

    names = {"__init__": __init__, "__str__": __str__, "__reduce__": __reduce__}
    return type(kind.__name__, (family, kind), names)
