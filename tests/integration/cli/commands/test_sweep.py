# SPDX-License-Identifier: Apache-2.0
# trnsim sweep: a table of points.
"""Tests of the sweep command."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest
import traces
from command_line import CommandLine, Outcome

CLOCK = "neuron_core.vector_engine.clock_ghz"


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add(1024, 1024))


def rows(outcome: Outcome) -> list[dict[str, str]]:
    """The table on standard output."""
    return list(csv.DictReader(io.StringIO(outcome.output)))


def test_rows_are_in_the_order_of_the_values(trnsim: CommandLine) -> None:
    outcome = trnsim("sweep", "add.nkt", "--chip", "trn2,trn1", "--policy", "dma_rings=4,1")
    assert outcome.status == 0, outcome.error
    table = rows(outcome)
    assert [(row["chip"], row["dma_rings"]) for row in table] == [
        ("trn2", "4"), ("trn2", "1"), ("trn1", "4"), ("trn1", "1")]
    assert all(float(row["latency_us"]) > 0 and row["error"] == "" for row in table)


def test_a_point_has_the_numbers_of_a_run(trnsim: CommandLine) -> None:
    row = rows(trnsim("sweep", "add.nkt", "--policy", "dma_rings=1"))[0]
    summary = trnsim.result("add.nkt", "--policy", "dma_rings=1")["summary"]
    assert set(summary) | {"chip", "dma_rings", "warnings", "error"} == set(row)
    assert float(row["latency_us"]) == summary["latency_us"]


def test_the_method_counts_for_every_point_and_has_a_column(trnsim: CommandLine) -> None:
    words = ["--policy", "dma_rings=1,2", "--method", "benchmark"]
    table = rows(trnsim("sweep", "add.nkt", *words))
    assert list(table[0])[:3] == ["chip", "dma_rings", "method"]
    assert [row["method"] for row in table] == ["benchmark", "benchmark"]
    summary = trnsim.result("add.nkt", "--policy", "dma_rings=1", *words[2:])["summary"]
    assert float(table[0]["latency_us"]) == summary["latency_us"]


def test_the_number_of_processes_does_not_change_the_table(trnsim: CommandLine) -> None:
    words = ["sweep", "add.nkt", "--chip", "trn1,trn2", "--policy", "dma_rings=1,2,4"]
    one, many = trnsim(*words, "--processes", "1"), trnsim(*words, "--processes", "5")
    assert one.output == many.output != ""


def test_a_file_takes_the_table_whole(trnsim: CommandLine) -> None:
    words = ["sweep", "add.nkt", "--chip", "trn2"]
    assert trnsim(*words, "--csv", "out.csv").output == ""
    assert (trnsim.folder / "out.csv").read_text() == trnsim(*words).output
    assert sorted(os.listdir(trnsim.folder)) == ["add.nkt", "out.csv"]


def test_a_point_that_fails_keeps_its_row(trnsim: CommandLine) -> None:
    (trnsim.folder / "full.nkt").write_text(traces.live_tiles(64))
    outcome = trnsim("sweep", "full.nkt", "--policy", "spilling=farthest_use,off")
    assert outcome.status == 3
    spilling, refused = rows(outcome)
    assert spilling["error"] == "" and float(spilling["spill_save_bytes"]) > 0
    assert "SBUF" in refused["error"] and refused["latency_us"] == ""
    assert "1 of 2 points" in outcome.error


def test_a_value_out_of_range_fails_its_point_alone(trnsim: CommandLine) -> None:
    outcome = trnsim("sweep", "add.nkt", "--set", f"{CLOCK}=1.0,-1")
    assert outcome.status == 2
    good, bad = rows(outcome)
    assert good["error"] == "" and CLOCK in bad["error"]


def test_an_unknown_chip_fails_its_points_alone(trnsim: CommandLine) -> None:
    outcome = trnsim("sweep", "add.nkt", "--chip", "trn2,trn22")
    assert outcome.status == 2
    assert [bool(row["error"]) for row in rows(outcome)] == [False, True]


@pytest.mark.parametrize("words, expected", [
    (["--set", CLOCK], "is not of the form name=value"),
    (["--set", f"{CLOCK}=1,,2"], "empty value"),
    (["--chip", "trn2,trn2"], "trn2 is given twice"),
    (["--chip", "trn2,trainium2"], "--chip: trn2 and trainium2 are the same chip; remove one"),
    (["--set", f"{CLOCK}=1", "--set", f"{CLOCK}=2"], "varied twice"),
    (["--processes", "0"], "--processes"),
    (["--processes", "-1"], "--processes"),
    (["--processes", "99999999999999999999"], "--processes"),
    (["--csv", "missing/out.csv"], "missing/out.csv"),
])
def test_a_wrong_grid_is_the_users_error(
        trnsim: CommandLine, words: list[str], expected: str) -> None:
    assert expected in trnsim.fails(2, "sweep", "add.nkt", *words)


@pytest.mark.parametrize(("words", "said", "count"), [
    (["missing.nkt", "--chip", "trn1,trn2"], ["missing.nkt: cannot be opened"], "all 2 points"),
    (["missing.nkt"], ["missing.nkt: cannot be opened"], "its only point"),
    (["add.nkt", "--set", "dma.engins=1,2"], ["--set dma.engins=1: ", "--set dma.engins=2: "],
     "all 2 points"),
    (["add.nkt", "--set", f"dma.engines={','.join(str(n) for n in range(100, 110))}"],
     [f"--set dma.engines={n}: " for n in range(100, 108)], "and 2 other messages")])
def test_where_every_point_fails_the_table_of_before_stays(
        trnsim: CommandLine, words: list[str], said: list[str], count: str) -> None:
    (trnsim.folder / "table.csv").write_text("of before\n")
    lines = trnsim.fails(2, "sweep", *words, "--csv", "table.csv").splitlines()
    assert len(lines) == len(said) + 1
    assert all(line.startswith(begin) for line, begin in zip(lines, said))
    assert lines[-1].startswith("sweep: ") and count in lines[-1]
    assert lines[-1].endswith("; no table is written")
    assert (trnsim.folder / "table.csv").read_text() == "of before\n"


def test_standard_input_is_read_once_for_all_points(trnsim: CommandLine) -> None:
    outcome = trnsim("sweep", "-", "--chip", "trn1,trn2", stdin=traces.add().encode())
    assert outcome.status == 0, outcome.error
    assert len(rows(outcome)) == 2
