# SPDX-License-Identifier: Apache-2.0
"""The schemas of results, comparisons and differences are exact: what is written fits, nothing else does."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[3]
KINDS = ("result", "comparison", "difference", "instructions", "instruction_difference")


def sample(kind: str) -> Any:
    """What the C++ tests wrote; tests/unit/report holds them to it byte for byte."""
    return json.loads((ROOT / "tests" / "unit" / "report" / f"sample_{kind}.json").read_text())


def validator(kind: str) -> jsonschema.Draft202012Validator:
    """The schema of that kind of file."""
    schema = json.loads((ROOT / "configs" / "schema" / f"{kind}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def objects(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths of all objects in a document; of a list, of its first element."""
    if isinstance(value, dict):
        yield path
        for key, child in value.items():
            yield from objects(child, (*path, key))
    elif isinstance(value, list) and value:
        yield from objects(value[0], (*path, 0))


def at(document: Any, path: tuple[str | int, ...]) -> Any:
    """The value at a path."""
    for step in path:
        document = document[step]
    return document


# Objects whose keys are data: numbers of the chip, policies, producers that were waited for.
FREE = {("config",), ("policies",), ("attribution", 0, "waited_for_ns"), ("chips", 0, "config"),
        ("chips", 0, "policies")}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_fits_its_schema(kind: str) -> None:
    assert list(validator(kind).iter_errors(sample(kind))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_key_fits_nowhere(kind: str) -> None:
    checked = 0
    for path in objects(sample(kind)):
        changed = copy.deepcopy(sample(kind))
        at(changed, path)["surprise"] = [1]
        assert not validator(kind).is_valid(changed), path
        checked += 1
    assert checked > 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_may_be_missing(kind: str) -> None:
    for path in objects(sample(kind)):
        if path not in FREE:
            for key in at(sample(kind), path):
                changed = copy.deepcopy(sample(kind))
                del at(changed, path)[key]
                assert not validator(kind).is_valid(changed), (*path, key)


@pytest.mark.parametrize("kind", KINDS)
def test_another_schema_version_does_not_fit(kind: str) -> None:
    changed = sample(kind)
    changed["schema_version"] = 2
    assert not validator(kind).is_valid(changed)


def test_the_sample_fills_every_list_of_a_result() -> None:
    """Otherwise the tests above would not see what is in them."""
    result = sample("result")
    for name in ("arguments", "config_overrides", "attribution", "critical_path", "advice", "warnings"):
        assert result[name], name
    assert result["dma"]["rings"] and result["dma"]["engine_busy_ns"]
    assert result["compiler"]["policies"] and result["compiler"]["buffers"]
