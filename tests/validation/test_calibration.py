# SPDX-License-Identifier: Apache-2.0
# Tests of the fit on rows whose constants are known, and of what it writes.
"""Calibration: what is fitted, what stays, and what a chip file looks like afterwards."""

from __future__ import annotations

import json
import shutil
from math import exp
from pathlib import Path

import pytest
from trnsim.errors import UserError
from trnsim.validation.calibrate import main
from trnsim.validation.calibration import (
    FREE, Constant, Response, Row, cross_validate, error, fit, pooled, predicted)
from trnsim.validation.chip_file import FOLLOWERS, NAMES, ChipFile

ROOT = Path(__file__).resolve().parents[2]
LATENCY = Constant("trn2", "dma.latency_ns", 500, 2000, "a latency")
OVERHEAD = Constant("trn2", "dma.overhead_ns", 0, 20, "an overhead")


def response(constant: Constant, today: float, slopes: dict[str, float],
             simulated: float = 100.0) -> Response:
    """Rows whose logarithm follows the constant by a slope each."""
    values = tuple(sorted({constant.low, today, constant.high}))
    return Response(constant, today, values, {
        row: tuple(simulated * exp(slope * (value - today)) for value in values)
        for row, slope in slopes.items()})


def rows(measured: dict[str, float]) -> list[Row]:
    """A family for each first letter."""
    return [Row(name, name[0], "trn2", value, 100.0) for name, value in measured.items()]


SLOPES = {"a1": 4e-4, "a2": 1e-4, "b1": 2e-4, "c1": 0.0}


def test_the_fit_finds_the_constants_that_the_rows_were_made_with() -> None:
    latency = response(LATENCY, 1000, SLOPES)
    overhead = response(OVERHEAD, 5, {"a1": 0.0, "a2": 0.01, "b1": -0.01, "c1": 0.02})
    truth = {LATENCY.name: 1500.0, OVERHEAD.name: 11.0}
    made = {row.id: predicted(row, [latency, overhead], truth)
            for row in rows(dict.fromkeys(SLOPES, 1.0))}
    found = fit(rows(made), [latency, overhead])
    assert found == pytest.approx(truth, abs=1.0)
    assert error(rows(made), [latency, overhead], found) < 1e-3


def test_a_constant_that_no_row_follows_stays_as_it_is() -> None:
    assert fit(rows({"a1": 70.0}), [response(LATENCY, 1000, {"a1": 0.0})]) == {LATENCY.name: 1000}


def test_a_constant_never_leaves_its_range() -> None:
    slow = fit(rows({"a1": 1000.0}), [response(LATENCY, 1000, SLOPES)])
    fast = fit(rows({"a1": 1.0}), [response(LATENCY, 1000, SLOPES)])
    assert (slow, fast) == ({LATENCY.name: 2000}, {LATENCY.name: 500})


def test_a_large_family_does_not_outvote_the_others_by_its_size() -> None:
    many = {f"a{i}": 100.0 for i in range(4)}
    few = {"b1": 130.0, "c1": 130.0, "d1": 130.0}
    slopes = dict.fromkeys([*many, *few], 3e-4)
    found = fit(rows({**many, **few}), [response(LATENCY, 1000, slopes)])
    assert found[LATENCY.name] > 1500


def test_rows_of_another_chip_do_not_follow() -> None:
    one = response(LATENCY, 1000, {"a1": 1e-4})
    assert one.shift("b1", 2000) == 0.0
    assert one.shift("a1", 1000) == 0.0
    assert one.shift("a1", 1500) == pytest.approx(0.05)


def test_a_family_left_out_is_judged_by_the_fit_of_the_others() -> None:
    one = response(LATENCY, 1000, {"a1": 1e-4, "b1": 1e-4})
    measured = rows({"a1": 100 * exp(0.05), "b1": 100 * exp(-0.05)})
    folds = {fold.family: fold for fold in cross_validate(measured, [one], fit(measured, [one]))}
    assert folds["a"].today == pytest.approx(1 - exp(-0.05))
    assert folds["a"].left_out == pytest.approx(1 - exp(-0.1), abs=1e-3)
    whole = pooled(list(folds.values()))
    assert (whole.family, whole.rows) == ("all", 2)
    assert whole.today == pytest.approx((folds["a"].today + folds["b"].today) / 2)


def test_values_to_try_are_whole_where_the_constant_is() -> None:
    assert all(value == round(value) for value in response(OVERHEAD, 5, {}).candidates())
    share = Constant("trn2", "x", 0.1, 0.2, "a share", is_whole=False)
    assert response(share, 0.15, {}).candidates()[1] == pytest.approx(0.1025)


def test_the_free_constants_are_few_and_lie_in_their_ranges() -> None:
    assert len(FREE) < 40
    assert len({one.name for one in FREE}) == len(FREE)
    for one in FREE:
        today = ChipFile(ROOT, one.chip).value(one.path)
        assert one.low <= today <= one.high, one.name


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A source tree with the chips only."""
    shutil.copytree(ROOT / "configs" / "chips", tmp_path / "configs" / "chips")
    return tmp_path


@pytest.mark.parametrize("constant", FREE, ids=lambda one: one.name)
def test_replacing_a_number_changes_nothing_else(copied: Path, constant: Constant) -> None:
    file = ChipFile(copied, constant.chip)
    before = file.path.read_text(encoding="utf-8").splitlines()
    file.replace(constant.path, "123", "CALIBRATED", "Why.")
    file.save()
    after = file.path.read_text(encoding="utf-8").splitlines()
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1
    assert '"value": 123, ' in changed[0] and '"note": "Why."}' in changed[0]
    assert ChipFile(copied, constant.chip).value(constant.path) == 123


def test_an_unknown_path_is_an_error_and_the_file_stays(copied: Path) -> None:
    file = ChipFile(copied, "trn2")
    before = file.path.read_text(encoding="utf-8")
    with pytest.raises(UserError, match="there is no dma.latency in the configuration"):
        file.replace("dma.latency", "1", "CALIBRATED", "")
    assert file.path.read_text(encoding="utf-8") == before


def test_a_tree_without_chips_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file or directory"):
        ChipFile(tmp_path, "trn1")


def test_followers_are_chips() -> None:
    assert {name for names in FOLLOWERS.values() for name in names} <= set(NAMES)


@pytest.mark.parametrize(("words", "message"), [
    (["--jobs", "0"], "--jobs 0: at least one row is run at a time; use 1 or more"),
    (["--only", "nothing"], "--only nothing: no free constant has it in its path; they are "),
    (["--corpus", "/nowhere"], "/nowhere"),
])
def test_wrong_words_are_errors(words: list[str], message: str,
                                capsys: pytest.CaptureFixture[str]) -> None:
    assert main("", words) == 2
    assert message in capsys.readouterr().err


def test_rows_that_all_fail_are_an_error_that_says_why(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TRNSIM_BINARY", "/bin/false")
    assert main("", ["--chip", "trn1", "--only", "benchmark_start"]) == 2
    assert "accelopt_trn1_matmul: the simulator ended with status 1" in capsys.readouterr().err


def test_one_constant_is_fitted_to_own_kernels_and_reported(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = tmp_path / "told.json"
    assert main("", ["--chip", "trn1", "--only", "benchmark_start", "--json", str(told)]) == 0
    document = json.loads(told.read_text(encoding="utf-8"))
    (constant,) = document["constants"]
    assert constant["path"] == "runtime.benchmark_start_ns"
    assert constant["low"] <= constant["fitted"] <= constant["high"]
    assert "asst4_trn1" in constant["families"]
    assert document["error_fitted"] <= document["error_today"] + 1e-9
    assert document["error_fitted_simulated"] == pytest.approx(document["error_fitted"], abs=2e-3)
    assert "Mean absolute error" in capsys.readouterr().out
