# SPDX-License-Identifier: Apache-2.0
# Warnings of nl functions that NKI's release notes list as not compiling.
"""The known issues of nki.language: what runs in simulation, here and in AWS's own, but is not
compiled for a device. Kernels are simulated all the same, as if it were. [NKI-RELEASE]
"""

from __future__ import annotations

from typing import Any

from trnsim.frontend import recorder
from trnsim.frontend.records.tensor import PSUM, View

_ABSENT = {
    "divide": "multiply by nl.reciprocal of the divisor",
    "mod": "subtract a multiple",
    "fmod": "subtract a multiple",
}
"""Binary functions without an instruction, and what to do instead."""


def warn(name: str, problem: str, instead: str) -> None:
    """Notes, once a line, that the compiler refuses a use of an nl function."""
    recorder.required().note("warning", f"nl.{name} {problem}, which NKI 0.6.0 does not compile; "
                                        f"{instead}")


def of_binary(name: str, x: Any, y: Any) -> None:
    """Warnings of a binary function of two tiles, or of a tile and a number."""
    if name in _ABSENT:
        warn(name, "has no instruction", _ABSENT[name])
    if not isinstance(x, View) or not isinstance(y, View):
        if name == "power":
            warn(name, "of a number", "fill a tile with it")
    elif x.shape != y.shape:
        warn(name, f"broadcasts {list(x.shape)} and {list(y.shape)}",
             "give both one shape, or use nisa.tensor_scalar")


def of_copy(x: Any) -> None:
    """Warnings of nl.copy."""
    if isinstance(x, View) and x.space == PSUM:
        warn("copy", "moves a tile out of psum", "use nisa.tensor_copy")


def of_matmul(transpose_x: bool) -> None:
    """Warnings of nl.matmul."""
    if not transpose_x:
        warn("matmul", "transposes x", "hand it over transposed, with transpose_x=True")


def of_seed(seed: Any) -> None:
    """Warnings of nl.random_seed."""
    if not isinstance(seed, View):
        warn("random_seed", "takes a number", "fill a [1, 1] tile in sbuf with it")
