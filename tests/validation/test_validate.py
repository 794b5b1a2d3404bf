# SPDX-License-Identifier: Apache-2.0
# Tests of the command, and of the model on rows that run anywhere.
"""A sample of rows stays within its error band; outputs and messages of the command are right."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Timer
from typing import Any
from unittest.mock import patch

import pytest
from conftest import ROOT
from trnsim.errors import UserError
from trnsim.validation import traces
from trnsim.validation.ablation import VARIANTS, Ablation, ablate
from trnsim.validation.binding import ROWS, Places
from trnsim.validation.pages import PAGE, README, write
from trnsim.validation.rows import Part, Row, read_rows
from trnsim.validation.runs import Outcome, Progress, Variant, simulate
from trnsim.validation.summary import Validation, document
from trnsim.validation.tables import text

BANDS = {"sky_2048_1_1_1": 25.0, "sky_2048_2_4_1": 25.0, "sky_2048_16_1_1": 25.0,
         "sky_tut_nki_matmul_hoist_load_": 30.0, "nad_mm4096_V2": 15.0, "asst4_xg_st2000": 25.0,
         "asst4_xg_stream200": 30.0, "akc_mlp_baseline_fp32_256x512x1024": 40.0,
         "kda_adamw_v2_ch1824": 15.0}
"""Error in per cent that a row must not exceed: a regression shows, a calibration does not."""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """All rows, simulated with own kernels."""
    return {one.row.id: one for one in simulate(read_rows(ROOT / ROWS), Places(ROOT))}


@pytest.fixture(scope="module")
def sample(outcomes: dict[str, Outcome]) -> dict[str, Outcome]:
    """The rows of BANDS."""
    return {name: outcomes[name] for name in BANDS}


def test_the_page_says_what_the_model_says_and_own_kernels_take_as_long_as_the_originals(
        outcomes: dict[str, Outcome]) -> None:
    rows = re.findall(r"^\| (\w+) \| ([\d,.]+) \| [\d,.]+ \| [-+][\d.]+ \|",
                      (ROOT / PAGE).read_text(), re.MULTILINE)
    page = {name: float(simulated.replace(",", "")) for name, simulated in rows}
    assert page.keys() == outcomes.keys()
    for name, simulated in page.items():
        assert outcomes[name].is_run, outcomes[name].reason
        assert outcomes[name].simulated_us == pytest.approx(simulated, rel=0.01), name


@pytest.mark.parametrize("name", BANDS)
def test_row_is_within_its_band(sample: dict[str, Outcome], name: str) -> None:
    outcome = sample[name]
    assert outcome.is_run, outcome.reason
    assert abs(outcome.point.error) <= BANDS[name]


@pytest.mark.parametrize("name", [name for name in BANDS if name.startswith("sky_2048")])
def test_bytes_and_transfers_are_exact(sample: dict[str, Outcome], name: str) -> None:
    outcome = sample[name]
    for key in ("hbm_read_bytes", "hbm_write_bytes", "dma_transfers"):
        assert outcome.counts[key] == outcome.row.published[key], key


def test_own_kernels_move_what_the_measured_source_asks_for(sample: dict[str, Outcome]) -> None:
    for outcome in sample.values():
        for key in ("hbm_read_bytes", "hbm_write_bytes"):
            assert outcome.counts[key] == outcome.row.counted[key], outcome.row.id


def test_a_damaged_list_of_the_cache_is_made_anew(cache: Path) -> None:
    rows = [row for row in read_rows(ROOT / ROWS) if row.id == "asst4_xg_stream200"]
    (before,) = simulate(rows, Places(ROOT))
    lists = list((cache / "traces").glob("*.files"))
    for one in lists:
        one.write_bytes(b"[")
    (after,) = simulate(rows, Places(ROOT))
    assert lists and after.simulated_us == before.simulated_us


def test_a_damaged_trace_of_the_cache_is_made_anew(cache: Path) -> None:
    rows = [row for row in read_rows(ROOT / ROWS) if row.id == "asst4_xg_stream200"]
    (before,) = simulate(rows, Places(ROOT))
    kept = {path.name: path.read_bytes() for path in (cache / "traces").glob("*.nkt")}
    for name, content in kept.items():
        (cache / "traces" / name).write_bytes(content[:100])
    (after,) = simulate(rows, Places(ROOT))
    assert after.is_run, after.reason
    assert after.simulated_us == before.simulated_us
    assert any(path.read_bytes() == kept[path.name] for path in (cache / "traces").glob("*.nkt"))


KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl
{imports}

@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for _ in range({count}):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.mark.parametrize(("imports", "count", "place"), [
    ("from sizes import N", "N", "sizes.py"), ("from .sizes import N", "N", "sizes.py"),
    ("import os, sizes", "sizes.N", "sizes.py"), ("from parts.sizes import N", "N", "parts/sizes.py"),
    ("import parts.sizes", "parts.sizes.N", "parts/sizes.py"),
    ("N = int(open(__file__.replace('k.py', 'n.txt')).read().split('=')[1])", "N", "n.txt")])
def test_a_trace_is_of_what_its_kernel_reads_now(cache: Path, tmp_path: Path, imports: str,
                                                 count: str, place: str) -> None:
    def latencies() -> list[float]:
        traces._file_hash.cache_clear()
        rows = [Row(id=name, family="mine", kind="new_api", chip="trn2", measured_us=20.0,
                    own=(Part(f"{tmp_path}/{name}/package/k.py::kernel", ("float32[128,64]",)),))
                for name in ("one", "other")]
        found = simulate(rows, Places(ROOT))
        assert all(one.is_run for one in found), found
        return [one.simulated_us for one in found]

    for name, times in (("one", 2), ("other", 40)):
        file = tmp_path / name / "package" / place
        file.parent.mkdir(parents=True)
        file.write_text(f"N = {times}\n")
        (tmp_path / name / "package" / "k.py").write_text(
            KERNEL.format(imports=imports, count=count))
    compileall.compile_dir(tmp_path, quiet=1)
    one, other = latencies()
    assert one < other - 5
    before = {path.stat().st_mtime_ns for path in (cache / "traces").glob("*.nkt")}
    assert latencies() == [one, other]
    assert {path.stat().st_mtime_ns for path in (cache / "traces").glob("*.nkt")} == before
    (tmp_path / "one" / "package" / place).write_text("N = 40\n")
    assert latencies() == [other, other]


def test_roofline_is_never_above_the_model(sample: dict[str, Outcome]) -> None:
    for outcome in sample.values():
        assert 0 < outcome.roofline_us <= outcome.simulated_us * 1.000001, outcome.row.id


def test_document_fits_its_schema(sample: dict[str, Outcome]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    outcomes = [*sample.values(), Outcome(next(iter(sample.values())).row, reason="no kernel")]
    variant = Variant("v", settings=("dma.completion_ns=0",), what="nothing")
    told = document(Validation(outcomes, ["a note"],
                               [Ablation(variant, {"sky_2048": 1.0}, 1.0),
                                Ablation(variant, {}, None, "no such policy")],
                               {"chip": None, "family": None, "has_corpus": False,
                                "settings": [], "policies": []}))
    schema = json.loads((ROOT / "configs/schema/validation.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(told)))


def test_text_names_every_row_and_why_one_was_not_run(sample: dict[str, Outcome]) -> None:
    missing = Outcome(Row("absent", "f", "new_api", "trn2", 1.0), reason="no kernel for it yet")
    told = text(Validation([*sample.values(), missing], ["a note"]))
    assert all(name in told for name in BANDS)
    assert "1 row: no kernel for it yet" in told and "absent" in told and "note: a note" in told


COUNTS = {"hbm_read_bytes": 1, "hbm_write_bytes": 1, "dma_transfers": 1, "dma_active_percent": 10,
          "tensor_engine_active_percent": 10}


def outcome(name: str, simulated: float) -> Outcome:
    return Outcome(Row(name, "f", "new_api", "trn2", 100.0), "own", simulated_us=simulated,
                   roofline_us=50.0, counts=COUNTS)


@pytest.mark.parametrize(("simulated", "nearer"), [
    ((60.0, 110.0), "b (9.00 instead of 10.00 %)"), ((49.0, 109.0), "a (50.00 instead of 51.00 %)"),
    ((49.0, 110.0), "a (50.00 instead of 51.00 %), b (9.00 instead of 10.00 %)"),
    ((60.0, 101.0), "no family")])
def test_families_that_a_roofline_tells_better_are_named(simulated: tuple[float, float],
                                                         nearer: str) -> None:
    told = [Outcome(Row(name, name, "new_api", "trn2", 100.0), "own", simulated_us=latency,
                    roofline_us=roofline, counts=COUNTS)
            for name, latency, roofline in zip("ab", simulated, (50.0, 91.0))]
    assert f"The roofline alone is nearer in {nearer}.\n" in text(Validation(told))


def test_ablation_shows_the_error_of_every_variant() -> None:
    tried: list[Variant] = []

    def run(variant: Variant) -> list[Outcome]:
        tried.append(variant)
        return [outcome("a", 120.0)] if variant.name != "dge" else [
            Outcome(Row("a", "f", "new_api", "trn2", 100.0), reason="no such policy")]

    told = ablate([outcome("a", 101.0)], run)
    assert tried == list(VARIANTS)
    assert told[0].families == {"f": pytest.approx(1.0)}
    assert told[1].families == {"f": pytest.approx(20.0)}
    assert [one.reason for one in told if one.overall is None] == ["a: no such policy"]


def test_every_variant_is_one_that_the_simulator_knows(sample: dict[str, Outcome]) -> None:
    row = sample["asst4_xg_st2000"].row
    assert row.dge == "off", "a policy that a variant changes, too"
    for variant in VARIANTS:
        [told] = simulate([row], Places(ROOT), variant)
        assert told.is_run, f"{variant.name}: {told.reason}"


def test_a_variant_has_the_last_word(sample: dict[str, Outcome]) -> None:
    row = sample["asst4_xg_st2000"].row
    [told] = simulate([row], Places(ROOT), Variant(policies=("dge=none",),
                                                   settings=("dma.completion_ns=100",)),
                      base_policies=("dge=hardware",), settings=("dma.completion_ns=1000",))
    [alone] = simulate([row], Places(ROOT), settings=("dma.completion_ns=100",))
    assert told.simulated_us == alone.simulated_us
    assert told.simulated_us < sample[row.id].simulated_us


def test_what_has_not_begun_never_does_when_interrupted() -> None:
    begun: list[int] = []

    def make(item: int) -> None:
        begun.append(item)

    with ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        hold = Event()
        pool.submit(hold.wait)  # All are queued before the first one begins.
        release = Timer(0.1, hold.set)
        release.start()
        with patch("trnsim.validation.runs.as_completed", side_effect=KeyboardInterrupt):
            Progress("test").collect(pool, range(100), make, "making")
    assert not begun


def test_pages_are_rewritten_between_their_markers(tmp_path: Path) -> None:
    for page in (PAGE, README):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    validation = Validation([outcome("made_up_row", 123.0)])
    write(validation, tmp_path)
    before = (tmp_path / PAGE).read_text()
    assert "made_up_row" in before and "sky_2048_1_1_1" not in before
    assert "The roofline alone is nearer in no family." in before
    assert "23.0" in (tmp_path / README).read_text()
    write(validation, tmp_path)
    assert (tmp_path / PAGE).read_text() == before


def test_page_without_its_markers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / PAGE).write_text("nothing\n")
    with pytest.raises(UserError, match="has no lines <!-- validate:summary -->"):
        write(Validation([outcome("a", 1.0)]), tmp_path)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """trnsim validate."""
    return subprocess.run([os.environ.get("TRNSIM_BINARY", "trnsim"), "validate", *words],
                          capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("words", [
    ("--chip", "trn2"), ("--family", "nad"), ("--rows", "mine.csv"), ("--set", "dma.engines=8"),
    ("--policy", "dma_rings=1"), ()])
def test_pages_are_written_about_all_rows_as_they_are(tmp_path: Path, words: tuple[str]) -> None:
    for page in (PAGE, README):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    ended = command(*words, "--write-docs", str(tmp_path))
    assert ended.returncode == 2
    assert (f"--write-docs: with {words[0]} the pages would be" if words else
            "which need --corpus FOLDER") in ended.stderr
    assert (tmp_path / PAGE).read_text() == (ROOT / PAGE).read_text()


def told_by(*words: str) -> Any:
    ended = command(*words, "--json", "-")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_command_runs_rows_of_the_user(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/kernels/vector_add.py", tmp_path / "kernels.py")
    rows = tmp_path / "mine.csv"
    rows.write_text("id,family,class,chip,measured_us,kernel,arguments\n"
                    "mine,own,as_written,trn2,20,kernels.py::vector_add_columns,"
                    "float32[25600] float32[25600] width=200\n")
    told = told_by("--rows", str(rows), "--family", "own")
    [row] = told["rows"]
    assert row["id"] == "mine" and row["way"] == "own" and not row["calibrate"]
    assert row["error_percent"] == pytest.approx(100 * (row["simulated_us"] / 20 - 1), abs=1e-6)


def test_rows_of_the_user_run_with_the_limits_that_are_set(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(
        "import nki\nimport nki.language as nl\n@nki.jit\ndef rows(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    for i in range(x.shape[0] // nl.tile_size.pmax):\n"
        "        part = nl.ds(i * nl.tile_size.pmax, nl.tile_size.pmax)\n"
        "        nl.store(out[part], nl.load(x[part]))\n    return out\n")
    rows = tmp_path / "mine.csv"
    rows.write_text("id,family,class,chip,measured_us,kernel,arguments\n"
                    "mine,own,new_api,trn2,20,kernels.py::rows,\"bfloat16[256,64]\"\n")
    found = [told_by("--rows", str(rows), "--family", "own", *words)["rows"][0]["simulated"]
             for words in ((), ("--set", "neuron_core.sbuf.partitions=32"))]
    assert [one["dma_transfers"] for one in found] == [4, 16]


@pytest.mark.parametrize("words, message", [
    (["--family", "skye"], "--family skye: nothing was measured for it"),
    (["--corpus", "/nowhere"], "--corpus /nowhere: is not a folder"),
    (["--rows", "/nowhere.csv"], "--rows /nowhere.csv: cannot be read"),
    (["--rows", "/dev/zero"], "--rows /dev/zero: cannot be read: is a device; name a CSV file"),
    (["--jobs", "0"], "--jobs"),
    (["--family", "nad", "-q", "--set", "dma.completion_ns=.5"],
     '--set dma.completion_ns=.5: the value is ".5"'),
    (["--family", "nad", "--policy", "spill=off"], "--policy spill: there is no such policy"),
    (["--family", "nad", "--policy", "dge=none", "--policy", "dge=none"], "dge is given twice"),
    (["--colour"], "--colour is not one of its words"),
])
def test_bad_input_is_told(words: list[str], message: str) -> None:
    ended = command(*words)
    assert ended.returncode == 2
    assert message in ended.stderr and ended.stdout == ""


ROWS_OF_THE_USER = """id,family,class,chip,measured_us,kernel,arguments
none,own,as_written,trn2,20,none.py::f,float32[128]
some,own,as_written,trn2,20,kernels.py::vector_add_columns,float32[25600] float32[25600] width=200
type,own,as_written,trn2,20,kernels.py::vector_add_columns,float3[25600] float32[25600] width=200
"""


def test_an_option_that_no_row_can_be_run_with_is_told_whatever_ails_the_first_row(
        tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/kernels/vector_add.py", tmp_path / "kernels.py")
    rows = tmp_path / "mine.csv"
    rows.write_text(ROWS_OF_THE_USER)
    mine = ("--rows", str(rows), "--family", "own")
    ended = command(*mine, "--policy", "spill=off")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "--policy spill: there is no such policy" in ended.stderr
    ended = command(*mine)
    assert ended.returncode == 2
    assert "--arg 'float3[25600]': there is no data type 'float3'" in ended.stdout


def test_a_row_does_not_take_the_id_of_a_published_one(tmp_path: Path) -> None:
    rows = tmp_path / "mine.csv"
    rows.write_text(ROWS_OF_THE_USER.replace("none,own", "sky_tut_nki_matmul_tiled_,own"))
    ended = command("--rows", str(rows))
    assert ended.returncode == 2
    assert ended.stderr == (f"--rows {rows} and the published rows: row sky_tut_nki_matmul_tiled_: "
                            "is there twice; an id names one measurement, give one of them "
                            "another\n")


def test_row_that_cannot_be_run_sets_the_exit_status(tmp_path: Path) -> None:
    rows = tmp_path / "mine.csv"
    rows.write_text("id,family,class,chip,measured_us,kernel,arguments\n"
                    "mine,own,new_api,trn2,20,none.py::f,float32[128]\n")
    ended = command("--rows", str(rows), "--family", "own")
    assert ended.returncode == 2
    assert "not run" in ended.stdout and "there is no such file" in ended.stdout


OLD = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def plain(x):
    nl.store(x, nl.load(x))
    return x


@nki.compiler.skip_middle_end_transformations
@nki.jit
def skipping(x):
    nl.store(x, nl.load(x))
    return x
"""
NEW = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out
"""
SKIP = "nki.compiler.skip_middle_end_transformations"


@pytest.mark.parametrize(("kind", "function", "reason"), [
    ("as_written", "old.py::skipping", ""),
    ("old_api", "old.py::plain", ""),
    ("as_written", "old.py::plain",
     f"class is as_written, but the kernel has no {SKIP}; add it, or call the row old_api"),
    ("old_api", "old.py::skipping",
     f"class is old_api, but the kernel has {SKIP}; remove it, or call the row as_written"),
    ("as_written", "new.py::copy",
     "class is as_written, but the kernel is of the nki API; call the row new_api"),
    ("old_api", "new.py::copy",
     "class is old_api, but the kernel is of the nki API; call the row new_api"),
    ("new_api", "old.py::plain",
     "class is new_api, but the kernel is of the neuronxcc.nki API; call the row old_api"),
    ("new_api", "old.py::skipping",
     "class is new_api, but the kernel is of the neuronxcc.nki API; call the row as_written"),
    ("new_api", "new.py::copy", ""),
])
def test_a_row_that_is_not_of_its_kernel_s_class_is_not_counted(
        tmp_path: Path, kind: str, function: str, reason: str) -> None:
    (tmp_path / "old.py").write_text(OLD)
    (tmp_path / "new.py").write_text(NEW)
    name = tmp_path / function.partition("::")[0]
    part = Part(f"{name}::{function.partition('::')[2]}", ("float32[128,512]",))
    row = Row("mine", "own", kind, "trn2", 20.0, own=(part,))
    [told] = simulate([row], Places(tmp_path))
    assert (told.reason, told.status) == (reason, 2 if reason else 0)
