# SPDX-License-Identifier: Apache-2.0
# Classes that kernels define.
"""NKIObject, as a plain base and under @dataclass."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from helpers import tensor
from kernels import nl
from trnsim.frontend import trace


class Mode(Enum):
    FIRST = 1


class Plain(nl.NKIObject):
    rows: int
    columns = 4


@dataclass
class Record(nl.NKIObject):
    rows: int
    columns: int = 4
    mode = Mode.FIRST
    scale: float  # type: ignore[misc]

    def __post_init__(self) -> None:
        self.size = self.rows * self.columns


@dataclass
class Extended(Record):
    depth: int = 2


def test_fields_are_taken_by_position_and_by_name() -> None:
    assert (Plain(3).rows, Plain(rows=3, columns=5).columns) == (3, 5)
    with pytest.raises(TypeError, match="Plain has no field depth"):
        Plain(depth=1)
    with pytest.raises(TypeError, match="Plain has 2 fields, but 3 values are given"):
        Plain(1, 2, 3)


def test_a_data_class_takes_fields_in_any_order_and_without_annotation() -> None:
    made: Any = Record(rows=3, scale=0.5, mode=Mode.FIRST)
    assert (made.size, made.scale, made.mode) == (12, 0.5, Mode.FIRST)


def test_fields_that_are_not_given_are_none() -> None:
    made: Any = Record(rows=3)
    assert made.scale is None
    assert Extended(rows=3).depth == 2


def test_objects_and_enumerations_compare_by_value() -> None:
    assert Plain(3) == Plain(3) != Plain(4)
    assert Record(rows=3).mode == Mode.FIRST


def test_what_annotations_mean_does_not_matter() -> None:
    text = """from dataclasses import dataclass
class Sizes(nl.NKIObject):
    rows: "Later"
    columns: "Later" = 4
@dataclass
class Record(nl.NKIObject):
    rows: "Later"
    depth: "Later" = 2
def kernel(x: "Later", times: "Later" = 1) -> "Later":
    return x
"""
    # Evaluated when somebody asks for them from 3.14 on; before, a name that means nothing ends it.
    names: dict[str, Any] = {"nl": nl}
    text = text.replace('"', "") if sys.version_info >= (3, 14) else text
    exec(compile(text, "later.py", "exec", dont_inherit=True), names)
    sizes, record = names["Sizes"](3), names["Record"](rows=3)
    assert (sizes.rows, sizes.columns, record.rows, record.depth) == (3, 4, 3, 2)
    trace(names["kernel"], [tensor("float32", 128, 64)], api="nki")
