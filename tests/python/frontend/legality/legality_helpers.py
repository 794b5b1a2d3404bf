# SPDX-License-Identifier: Apache-2.0
# What the tests of the rules of the hardware share.
"""Kernels of one instruction, and the message that a broken rule has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from helpers import ops, tensor, traced
from kernels import nki, nl
from trnsim.frontend import IllegalInstruction, trace

Body = Callable[[Any], Any]


def sbuf(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def psum(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum)


def kernel_of(body: Body) -> Any:
    @nki.jit
    def kernel(h: Any) -> None:
        body(h)
    return kernel


HBM = tensor("float32", 256, 64)


def rejects(body: Body, message: str, chip: str = "trn2") -> None:
    with pytest.raises(IllegalInstruction, match=message) as error:
        trace(kernel_of(body), [HBM], chip)
    assert re.match(r"\S*legality\w*\.py:\d+: .*$", str(error.value))


def accepts(body: Body, chip: str = "trn2") -> list[str]:
    return ops(traced(kernel_of(body), HBM, chip=chip))
