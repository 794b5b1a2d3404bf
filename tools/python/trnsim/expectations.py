# SPDX-License-Identifier: Apache-2.0
# What tests of a kernel's speed assert.
"""assert_latency and assert_bound_by: AssertionErrors that say what a kernel waits for."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any
from collections.abc import Mapping, Sequence

from trnsim.api import KernelLike, simulate
from trnsim.errors import UserError
from trnsim.result import Result

SHOWN_STALLS = 3
RESOURCES = ("tensor", "vector", "scalar", "gpsimd", "sync", "hbm", "dma", "latency")
Arguments = Sequence[Any] | Mapping[str, Any]


def assert_latency(kernel: KernelLike, args: Arguments = (), chip: str | None = None, *,
                   max_us: float, min_us: float = 0.0, **options: Any) -> Result:
    """AssertionError unless the kernel takes at most `max_us` microseconds (and at least `min_us`).

    `args` is a sequence of arguments, or a mapping by name; `options` are those of
    trnsim.simulate. Returns the result.
    """
    __tracebackhide__ = True
    for name, limit in (("max_us", max_us), ("min_us", min_us)):
        if not isinstance(limit, Real) or isinstance(limit, bool) or not isfinite(limit):
            raise UserError(f"{name} is {limit!r}, but a finite number of microseconds is needed; "
                            "give one")
    if max_us <= 0 or not 0 <= min_us <= max_us:
        raise UserError(f"max_us is {max_us!r} and min_us is {min_us!r}, but a latency is above 0 "
                        "and between them; give a max_us above 0 and a min_us from 0 to max_us")
    result = _simulated(kernel, args, chip, options)
    if result.latency_us > max_us:
        raise AssertionError(_message(result, f"allowed are {max_us:g} us"))
    if result.latency_us < min_us:
        raise AssertionError(_message(result, f"expected are at least {min_us:g} us"))
    return result


def assert_bound_by(kernel: KernelLike, args: Arguments = (), resource: str = "tensor",
                    chip: str | None = None, *, min_percent: float = 0.0,
                    **options: Any) -> Result:
    """AssertionError unless `resource` bounds the kernel, for `min_percent` of its time at least.

    A resource is tensor, vector, scalar, gpsimd, sync, hbm, dma or latency. Returns the result.
    """
    __tracebackhide__ = True
    if resource not in RESOURCES:
        raise UserError(f"resource {resource!r} is not one of {', '.join(RESOURCES)}; name one")
    is_number = isinstance(min_percent, Real) and not isinstance(min_percent, bool)
    if not is_number or not 0 <= min_percent <= 100:
        raise UserError(f"min_percent is {min_percent!r}, but a number from 0 to 100 is needed; "
                        "give one")
    result = _simulated(kernel, args, chip, options)
    if result.bound_by != resource:
        raise AssertionError(_message(result, f"expected is bound by {resource}, which needs "
                                              f"{result.needs_us[resource]:.2f} us"))
    if result.bound_percent < min_percent:
        raise AssertionError(_message(result, f"expected are {min_percent:g} % at least"))
    return result


def _simulated(kernel: KernelLike, args: Arguments, chip: str | None,
               options: dict[str, Any]) -> Result:
    if isinstance(args, Mapping):
        return simulate(kernel, chip=chip, **args, **options)
    if isinstance(args, str):
        raise UserError(f"args is the text {args!r}, but a list with one entry per parameter; "
                        f"write [{args!r}]")
    return simulate(kernel, *args, chip=chip, **options)


def _message(result: Result, expectation: str) -> str:
    """The latency, the bound and the longest stalls."""
    lines = [f"{result.kernel}({', '.join(result.arguments)}) on {result.chip}: "
             f"{result.latency_us:.2f} us, {expectation}",
             f"  bound by {result.bound_by}: {result.bound_percent:.1f} % of the time"]
    stalls = result.stalls(SHOWN_STALLS)
    lines += ["  longest stalls:"] if stalls else ["  no stalls"]
    lines += [f"    {stall}" for stall in stalls]
    return "\n".join(lines)
