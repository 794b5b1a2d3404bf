# SPDX-License-Identifier: Apache-2.0
# Runs a kernel on arrays.
"""run_kernel(function, *arguments) -> what the kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trnsim.frontend.chip import Chip, load_chip, set_target
from trnsim.frontend.tracing import trace


def run_kernel(function: Callable[..., Any], *arguments: Any, chip: str | Chip = "trn2",
               values: bool = True, seed: int = 0, api: str | None = None,
               reads_unwritten: bool = False, **keywords: Any) -> Any:
    """What a kernel returns, with numpy arrays for its tensors.

    Arguments are arrays (numpy, torch, jax), `TensorArgument`s, which get random contents from
    `seed`, or plain values. Arrays that the kernel writes are updated; if it returns nothing, they
    are the result. Without `values` the kernel is only traced and the result has no contents.

    UserError if the kernel raises or the arguments do not fit, ProgramError if the chip would not
    execute it, or if it reads what nothing has written (which is NaN with `reads_unwritten`).
    """
    target = chip if isinstance(chip, Chip) else load_chip(chip)
    set_target(target)
    program = trace(function, arguments, target, keywords=keywords, api=api, values=values,
                    seed=seed, reads_unwritten=reads_unwritten)
    if not values:
        return program.result
    if program.outputs is not None or not program.written:
        return program.outputs
    found = tuple(program.written.values())
    return found[0] if len(found) == 1 else found
