# SPDX-License-Identifier: Apache-2.0
# The environment variable of the Neuron SDK that names the chip.
"""Tests of NEURON_PLATFORM_TARGET_OVERRIDE."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import traces
from command_line import CommandLine

VARIABLE = "NEURON_PLATFORM_TARGET_OVERRIDE"


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add())


def chip(trnsim: CommandLine, target: str, *words: str) -> str:
    """The chip that a run was for."""
    outcome = trnsim("run", "add.nkt", "--json", "-", *words, **{VARIABLE: target})
    assert outcome.status == 0, outcome.error
    return str(json.loads(outcome.output)["chip"])


@pytest.mark.parametrize(("target", "expected"), [
    ("trn1", "trainium1"), ("gen2", "trainium1"), ("inf2", "inferentia2"),
    ("trn2", "trainium2"), ("gen3", "trainium2"), ("trn3", "trainium3"), ("gen4", "trainium3"),
    ("", "trainium2")])
def test_the_target_is_the_default_chip(trnsim: CommandLine, target: str, expected: str) -> None:
    assert chip(trnsim, target) == expected


def test_an_option_is_stronger(trnsim: CommandLine) -> None:
    assert chip(trnsim, "trn1", "--chip", "trn3") == "trainium3"
    assert chip(trnsim, "nonsense", "--chip", "trn3") == "trainium3"


@pytest.mark.parametrize("words", [("run", "add.nkt"), ("trace", "add.nkt", "-o", "b.nkt"),
                                   ("sweep", "add.nkt")])
def test_an_unknown_target_is_answered_with_all_names(
        trnsim: CommandLine, words: tuple[str, ...]) -> None:
    message = trnsim.fails(2, *words, **{VARIABLE: "trn9"})
    assert message == (
        f"{VARIABLE}: 'trn9' is not a target, targets are trn1, gen2, inf2, trn2, gen3, trn3, "
        "gen4; set one of them or unset the variable\n")
