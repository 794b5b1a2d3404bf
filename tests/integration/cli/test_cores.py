# SPDX-License-Identifier: Apache-2.0
# trnsim run --cores: copies of a kernel on several NeuronCores.
"""Tests of `--cores` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
import traces
from command_line import CommandLine


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add(1024, 2048))


def test_every_core_is_listed(trnsim: CommandLine) -> None:
    assert "3 NeuronCores-v3" in trnsim("run", "add.nkt", "--cores", "3").output
    assert "limited by HBM" in trnsim("run", "add.nkt", "--cores", "3").output
    assert len(trnsim.result("add.nkt", "--cores", "3")["cores"]) == 3


def test_one_core_has_no_table_of_cores(trnsim: CommandLine) -> None:
    output = trnsim("run", "add.nkt").output
    assert "one NeuronCore-v3" in output
    assert "limited by HBM" not in output


def test_more_cores_than_the_chip_has(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "add.nkt", "--chip", "inf2", "--cores", "3")
    assert "3 NeuronCores are asked for, but inf2 has 2; use 1 to 2" in message


def test_no_core_is_no_number_of_cores(trnsim: CommandLine) -> None:
    assert "--cores" in trnsim.fails(2, "run", "add.nkt", "--cores", "0")
