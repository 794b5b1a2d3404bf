# SPDX-License-Identifier: Apache-2.0
# Compares the operators that the frontend writes with those that the reader of traces knows.
"""Every operator and function that a kernel may name is one that src/program reads."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from trnsim.frontend import install
from trnsim.frontend.operators import (_ALIASES, ALU, FUNCTIONS, LEGACY_FUNCTIONS,
                                       operator_name)

WRITTEN = ALU | FUNCTIONS | LEGACY_FUNCTIONS

HEADER = Path(__file__).parents[3] / "src" / "program" / "operator_names.hpp"


def names_of(array: str) -> list[str]:
    """The names in an array of the header, in its order; as many as it says."""
    text = HEADER.read_text(encoding="utf-8")
    found = re.search(rf"(\d+)> {array}\{{(.*?)\}}", text, re.DOTALL)
    assert found, array
    names = re.findall(r'"(\w+)"', found[2])
    assert len(names) == int(found[1])
    return names


@pytest.mark.parametrize(("array", "written"), [("kOperatorNames", ALU),
                                                ("kFunctionNames", FUNCTIONS | LEGACY_FUNCTIONS)])
def test_the_reader_knows_what_the_frontend_writes(array: str, written: frozenset[str]) -> None:
    names = names_of(array)
    assert names == sorted(set(names))
    assert sorted(written - set(names)) == []


def test_an_alias_is_of_a_name_that_is_written() -> None:
    for alias in _ALIASES:
        assert operator_name(alias) in WRITTEN, alias


@pytest.mark.parametrize("api", ["nki", "neuronxcc.nki"])
def test_a_function_that_is_an_operator_has_a_name_that_is_written(api: str) -> None:
    install()
    language = importlib.import_module(f"{api}.language")
    named = [one for name, one in vars(language).items()
             if not name.startswith("_") and hasattr(one, "operator_name")]
    assert named
    assert {operator_name(one) for one in named} <= WRITTEN
