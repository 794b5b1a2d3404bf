# SPDX-License-Identifier: Apache-2.0
# Classes that kernels define.
"""NKIObject, as a plain base and under @dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from kernels import nl


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
