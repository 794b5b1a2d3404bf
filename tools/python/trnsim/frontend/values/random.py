# SPDX-License-Identifier: Apache-2.0
# Random numbers.
"""Evaluators of rng, rand2, dropout and the instructions on the generators' states."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import storage_type


def _engine(call: Call, default: str) -> str:
    return call.engines[0] if call.engines and call.engines[0] in ("vector", "gpsimd") else default


def rng(call: Call) -> None:
    """dst = the low bits of random numbers."""
    form = call.views["dst"].form
    bits = call.machine.generators.bits(_engine(call, "vector"), form.shape[0],
                                        form.free_elements)
    kind = storage_type(form.dtype)
    call.write(bits.astype(np.dtype(f"u{kind.itemsize}")).view(kind))


def rand2(call: Call, low: Any = 0.0, high: Any = 1.0) -> None:
    """dst = uniform random numbers between two bounds."""
    form = call.views["dst"].form
    numbers = call.machine.generators.uniform("vector", form.shape[0], form.free_elements)
    first, last = call.number("operand0", low), call.number("operand1", high)
    call.write(first + numbers * (last - first))


def dropout(call: Call, probability: Any = 0.0) -> None:
    """dst = data with elements zeroed; each with the probability that its partition has."""
    data = call.rows("data")
    numbers = call.machine.generators.uniform("vector", data.shape[0], data.shape[1])
    falls = numbers < call.number("operand0", probability)
    call.write(np.where(falls, np.zeros((), dtype=data.dtype), data))


def set_rng_seed(call: Call) -> None:
    """Derives the vector engine's states from a number."""
    call.machine.generators.seed(int(call.read("data").reshape(-1)[0]))


def rand_set_state(call: Call) -> None:
    """Sets an engine's states."""
    call.machine.generators.set_state(_engine(call, "gpsimd"), call.rows("data"))


def rand_get_state(call: Call) -> None:
    """dst = an engine's states."""
    form = call.views["dst"].form
    words = call.machine.generators.get_state(_engine(call, "gpsimd"), form.shape[0])
    call.write(words[:, :form.free_elements])
