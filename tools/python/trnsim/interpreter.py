# SPDX-License-Identifier: Apache-2.0
# What the package needs of the Python that runs it.
"""wrong_version() and missing(module): what to tell whoever chose this interpreter."""

from __future__ import annotations

import sys

NEEDED = ("numpy", "ml_dtypes")
"""Packages of others that kernels are run with; each is imported where it is used."""


def wrong_version() -> str:
    """Why this version of Python will not do; empty if it does."""
    if (3, 11) <= sys.version_info < (3, 15):
        return ""
    return (f"{sys.executable}: is Python {sys.version.split()[0]}, but trnsim's frontend knows "
            "3.11 to 3.14; install one of these, or name one with the environment variable "
            "TRNSIM_PYTHON")


def missing(module: str) -> str:
    """The message if one of NEEDED is not there."""
    return (f"{sys.executable}: has no {module}, which trnsim's frontend needs; install it with "
            f"`{sys.executable} -m pip install {' '.join(NEEDED)}`, or name another interpreter "
            "with the environment variable TRNSIM_PYTHON")
