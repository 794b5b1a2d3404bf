# SPDX-License-Identifier: Apache-2.0
# What is told about the values that a kernel computed.
"""ValueReport: a line for every output, and how far it is from a reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trnsim.comparing import Difference, compare
from trnsim.errors import UserError
from trnsim.frontend.host.stand_ins import is_stand_in, missing
from trnsim.frontend.program import Program
from trnsim.frontend.reference import Expected, Reference
from trnsim.frontend.values.casting import Array


class Tolerance(NamedTuple):
    """--rtol and --atol."""

    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True)
class Output:
    """A tensor that a kernel returned or wrote, and what a reference says about it."""

    name: str
    array: Array
    wanted: Array | None = None
    difference: Difference | None = None

    def to_dict(self) -> dict[str, Any]:
        """An element of `outputs`."""
        wide = self.array.astype(np.float64)
        numbers = wide[~np.isnan(wide)]
        entry: dict[str, Any] = {
            "name": self.name, "dtype": self.array.dtype.name, "shape": list(self.array.shape),
            "minimum": _number(numbers.min()) if numbers.size else None,
            "maximum": _number(numbers.max()) if numbers.size else None,
            "nan_count": int(wide.size - numbers.size), "check": None}
        found = self.difference
        if found is not None and self.wanted is not None:
            entry["check"] = {
                "differing_count": found.differing, "element_count": found.elements,
                "max_error": _number(found.largest), "rtol": found.rtol, "atol": found.atol,
                "first": None if found.first is None else {
                    "index": list(found.first), "actual": _number(self.array[found.first]),
                    "expected": _number(self.wanted[found.first])}}
        return entry


@dataclass(frozen=True)
class ValueReport:
    """All outputs of a kernel."""

    seed: int
    reference: str | None
    outputs: list[Output]

    @property
    def passes(self) -> bool:
        """Whether no output differs."""
        return all(one.difference is None or not one.difference.differing for one in self.outputs)

    def to_dict(self) -> dict[str, Any]:
        """`values` of a result, but for the verdict, which follows from it."""
        return {"seed": self.seed, "reference": self.reference,
                "outputs": [one.to_dict() for one in self.outputs]}

    def message(self, kernel: str) -> str:
        """What a failing check says: the outputs that differ."""
        return "\n".join(
            f"{kernel}: {one.name} is not what {self.reference} computes: {found.differing:,} of "
            f"{found.elements:,} elements differ, max error {found.largest:.3g} "
            f"(rtol={found.rtol:.3g}, atol={found.atol:.2g}), first {list(found.first)}: "
            f"{one.array[found.first]!s}, expected {one.wanted[found.first]!s}"
            for one in self.outputs if (found := one.difference) is not None
            and found.first is not None and one.wanted is not None)


def _number(value: Any) -> float | str:
    """A number that JSON has, or its name."""
    number = float(value)
    if math.isnan(number):
        return "nan"
    return number if math.isfinite(number) else ("inf" if number > 0 else "-inf")


def outputs_of(program: Program) -> dict[str, Array]:
    """What a kernel returned, or else the arguments that it wrote, by names for messages."""
    found: dict[str, Array] = {}

    def add(value: Any, name: str) -> None:
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            found[name] = np.asarray(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                add(item, f"{name}[{key!r}]")
        elif isinstance(value, (list, tuple)):
            for at, item in enumerate(value):
                add(item, f"{name}[{at}]")

    add(program.outputs, "result")
    return found or dict(program.written)


def describe(program: Program, seed: int) -> ValueReport:
    """The outputs of a kernel without a reference."""
    return ValueReport(seed, None, [Output(name, array)
                                    for name, array in outputs_of(program).items()])


def check(program: Program, expected: Expected, reference: Reference, seed: int,
          tolerance: Tolerance) -> ValueReport:
    """The outputs of a kernel beside those of its reference.

    A reference that returns nothing is taken at what it wrote into its arguments. UserError if the
    two do not have as many outputs, or not of the same shapes.
    """
    found = outputs_of(program)
    wanted = _wanted(found, expected, program.written, reference.text)
    return ValueReport(seed, reference.text, [
        _compared(name, array, one, reference.text, tolerance)
        for (name, array), one in zip(found.items(), wanted)])


def _wanted(found: Mapping[str, Array], expected: Expected, written: Mapping[str, Array],
            text: str) -> list[Any]:
    if not found:
        raise UserError(f"--check {text}: the kernel returns no tensor and writes no argument, so "
                        "there is nothing to compare; leave --check out")
    if not expected.results and list(found) == list(written):
        return [expected.arguments[name] for name in found]
    if len(expected.results) != len(found):
        raise UserError(f"--check {text}: the reference returns {_tensors(len(expected.results))}, "
                        f"but the kernel {'writes' if list(found) == list(written) else 'returns'} "
                        f"{_tensors(len(found))} ({', '.join(found)}); return as many in the same "
                        "order")
    return expected.results


def _tensors(count: int) -> str:
    return f"{count} tensor{'' if count == 1 else 's'}" if count else "nothing"


def _compared(name: str, array: Array, value: Any, text: str, tolerance: Tolerance) -> Output:
    if is_stand_in(value):
        raise UserError(f"--check {text}: the reference returns {value.__qualname__}, but "
                        f"{missing(value)}")
    wanted = np.asarray(value)
    if wanted.dtype.kind in "OSUMmc":
        what = type(value).__name__ if wanted.dtype == object else f"array of {wanted.dtype}"
        raise UserError(f"--check {text}: what the reference returns for {name} is a {what}, which "
                        "is no array of real numbers; return one")
    if wanted.shape != array.shape:
        raise UserError(f"--check {text}: what the reference returns for {name} has shape "
                        f"{list(wanted.shape)}, the kernel's is {list(array.shape)}; return the "
                        "same shape")
    try:
        difference = compare(array, wanted, tolerance.rtol, tolerance.atol)
    except (TypeError, ValueError) as problem:
        raise UserError(f"--check {text}: what the reference returns for {name} is of type "
                        f"{wanted.dtype}, which cannot be compared with {array.dtype}; return "
                        "numbers") from problem
    return Output(name, array, wanted, difference)
