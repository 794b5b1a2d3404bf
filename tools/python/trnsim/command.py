# SPDX-License-Identifier: Apache-2.0
# How the commands of this package end.
"""end_with(main): what `python3 -m` of a module of ours does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn


def end_with(main: Callable[[], int]) -> NoReturn:
    """Ends the process with the status that `main` returns; when interrupted, or when nobody
    reads its output, as a program that the signal ends, without a stack of ours."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        raise
    except BrokenPipeError:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
        raise
