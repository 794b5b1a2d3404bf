# SPDX-License-Identifier: Apache-2.0
# Runs a kernel on arrays.
"""run_kernel(function, *arguments) -> what the kernel computes; run_program also how; run_ranks for
collectives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend.chip import Chip, load_chip, set_target
from trnsim.frontend.program import Program
from trnsim.frontend.tracing import trace, trace_ranks


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
    program, outputs = run_program(function, arguments, keywords, chip, values=values, seed=seed,
                                   api=api, reads_unwritten=reads_unwritten)
    return outputs if values else program.result


def run_program(function: Callable[..., Any], arguments: Sequence[Any],
                keywords: Mapping[str, Any], chip: str | Chip = "trn2", *, values: bool = True,
                seed: int = 0, api: str | None = None,
                reads_unwritten: bool = False) -> tuple[Program, Any]:
    """The trace of a run on values, whose loops run as often as these say, and what run_kernel
    returns."""
    _require_function(function)
    target = chip if isinstance(chip, Chip) else load_chip(chip)
    set_target(target)
    program = trace(function, arguments, target, keywords=keywords, api=api, values=values,
                    seed=seed, reads_unwritten=reads_unwritten)
    return program, _computed(program) if values else None


def run_ranks(function: Callable[..., Any], ranks: Sequence[Mapping[str, Any]],
              chip: str | Chip = "trn2", *, seed: int = 0, api: str | None = None,
              reads_unwritten: bool = False) -> list[Any]:
    """What a kernel with collectives returns on each rank, as run_kernel does.

    `ranks` has the arguments of each rank by name. The ranks run the kernel in turn and meet at its
    collectives. In run_kernel, the data of the one rank that runs stand for those of all.

    UserError and ProgramError as for run_kernel; also if the ranks do not meet.
    """
    _require_function(function)
    if not isinstance(ranks, Sequence) or not ranks or not all(
            isinstance(one, Mapping) for one in ranks):
        raise UserError(f"ranks is {ranks!r}, but the arguments of each rank by name are needed, "
                        "of one rank at least; give a list of dicts")
    target = chip if isinstance(chip, Chip) else load_chip(chip)
    set_target(target)
    return [_computed(program) for program in trace_ranks(
        function, ranks, target, api=api, seed=seed, reads_unwritten=reads_unwritten)]


def _require_function(kernel: Any) -> None:
    if not callable(kernel):
        raise UserError(f"a kernel is a function, but this is {kernel!r}; pass one")


def _computed(program: Program) -> Any:
    if program.outputs is not None or not program.written:
        return program.outputs
    found = tuple(program.written.values())
    return found[0] if len(found) == 1 else found
