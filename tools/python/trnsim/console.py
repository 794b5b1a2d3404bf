# SPDX-License-Identifier: Apache-2.0
# The command `trnsim` of a pip installation.
"""Becomes the C++ simulator, which traces kernels with the interpreter that this runs in."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from trnsim.binary import find_binary
from trnsim.errors import UserError


def main() -> NoReturn:
    """Replaces this process; exit status 2 if there is no simulator."""
    try:
        binary = str(find_binary())
    except UserError as problem:
        print(problem, file=sys.stderr)
        sys.exit(problem.exit_status)
    os.environ.setdefault("TRNSIM_PYTHON", sys.executable)
    os.execv(binary, [binary, *sys.argv[1:]])
