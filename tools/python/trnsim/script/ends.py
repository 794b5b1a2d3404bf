# SPDX-License-Identifier: Apache-2.0
# What scripts do at their end.
"""refuse_silent_ends(script): os._exit and os.exec… of this process say that they end the report.
run_exit_functions(): what is registered with atexit is still part of the script.

Forks of the script, as multiprocessing makes them, end as they like.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any, NoReturn

from trnsim.command import flush_output
from trnsim.errors import FrontendError, UserError


def refuse_silent_ends(script: str) -> None:
    """From now on, in this process; its forks keep the functions of `os`."""
    process = os.getpid()
    end, replace, replace_with = os._exit, os.execv, os.execve

    def end_now(status: int) -> NoReturn:
        if os.getpid() == process:
            flush_output()
            print(f"{script}: ends by os._exit({status}), which leaves no report of its kernel "
                  "calls; end it with sys.exit", file=sys.stderr, flush=True)
            end(UserError.exit_status)
        end(status)

    def refuse() -> None:
        if os.getpid() == process:
            raise UserError(f"{script}: replaces itself by another program, which trnsim cannot "
                            "follow; run that one, or start it with subprocess")

    def become(*words: Any) -> NoReturn:
        refuse()
        replace(*words)

    def become_with(*words: Any) -> NoReturn:
        refuse()
        replace_with(*words)

    os._exit, os.execv, os.execve = end_now, become, become_with  # type: ignore[assignment]


def run_exit_functions() -> FrontendError | None:
    """Calls what the script has registered with atexit, as Python does after its threads have
    ended; why the first kernel call in it was refused, if any was."""
    refused: list[FrontendError] = []
    told = sys.unraisablehook

    def tell(problem: sys.UnraisableHookArgs) -> None:
        if isinstance(problem.exc_value, FrontendError):
            refused.append(problem.exc_value)
        else:
            told(problem)

    sys.unraisablehook = tell
    try:
        atexit._run_exitfuncs()
    finally:
        sys.unraisablehook = told
    return refused[0] if refused else None
