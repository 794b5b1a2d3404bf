# SPDX-License-Identifier: Apache-2.0
# Tests of the published measurements and of the users' own.
"""The data is well-formed, sourced, and runnable; bad input says what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT
from trnsim.errors import UserError
from trnsim.validation.binding import DRIVERS, KERNELS, ROWS, Places, bind, check_corpus
from trnsim.validation.rows import Row, choose, read_csv, read_rows
from trnsim.validation.runs import DGE_POLICIES, policies

ROWS_READ = read_rows(ROOT / ROWS)
HEAD = "id,family,class,chip,measured_us,kernel,arguments"
LINE = "mine,own,new_api,trn2,12.5,k.py::f,float32[128] width=2"


def test_there_are_182_rows_of_18_families() -> None:
    assert len(ROWS_READ) == 182
    assert len({row.family for row in ROWS_READ}) == 18


@pytest.mark.parametrize("row", ROWS_READ, ids=lambda row: row.id)
def test_row_is_sourced(row: Row) -> None:
    assert {"repository", "commit", "file"} <= set(row.source)
    assert len(row.source["commit"]) == 40
    assert row.measured_by and row.measured_as and row.trust in "AB"
    assert row.calibrate and row.measured_us > 0
    assert {"macs", "hbm_read_bytes", "hbm_write_bytes"} <= set(row.counted)


@pytest.mark.parametrize("row", ROWS_READ, ids=lambda row: row.id)
def test_row_can_be_run_somewhere(row: Row) -> None:
    assert row.corpus or row.own
    for part in row.own:
        file, _, function = part.kernel.partition("::")
        assert f"def {function}(" in (ROOT / KERNELS / file).read_text()
    for part in row.corpus:
        if part.is_driver:
            assert (ROOT / DRIVERS / part.kernel).is_file()
        else:
            assert part.kernel.startswith(row.source["file"] + "::")


def test_data_names_no_path_of_a_machine() -> None:
    folders = [f"/{name}/" for name in ("work", "home", "root", "tmp")]
    for file in (ROOT / ROWS).glob("*.json"):
        text = file.read_text()
        assert not any(folder in text for folder in folders), file


def test_policies_depend_on_the_dge_mode_alone() -> None:
    assert {(row.dge, policies(row)) for row in ROWS_READ} == set(DGE_POLICIES.items())


def test_two_launches_add_up() -> None:
    rows = [row for row in ROWS_READ if row.family == "akc_mlp"]
    assert rows and all(len(row.corpus) == len(row.own) == 2 for row in rows)


def test_every_row_has_an_own_kernel_for_those_without_checkouts() -> None:
    for row in ROWS_READ:
        binding = bind(row, Places(ROOT))
        assert binding.way == "own" and len(binding.launches) == len(row.own) > 0, row.id


def test_a_row_without_an_own_kernel_says_what_it_needs() -> None:
    row = replace(next(row for row in ROWS_READ if row.family == "aws_mamba"), own=())
    assert bind(row, Places(ROOT)).reason == (
        "needs --corpus with a checkout of aws-neuron/nki-samples")
    assert bind(replace(row, corpus=()), Places(ROOT)).reason == "no kernel for it yet"


def test_a_checkout_is_preferred(tmp_path: Path) -> None:
    row = next(row for row in ROWS_READ if row.family == "sky_2048")
    file = tmp_path / row.checkout / row.source["file"]
    file.parent.mkdir(parents=True)
    file.touch()
    binding = bind(row, Places(ROOT, tmp_path))
    assert binding.way == "original"
    assert binding.launches[0].target == f"{file}::{row.source['function']}"


def test_corpus_without_a_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has none of the checkouts.*clone them"):
        check_corpus(ROWS_READ, Places(ROOT, tmp_path))


def test_corpus_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder; name one that holds checkouts"):
        Places.find(str(tmp_path / "nowhere"))


def test_unknown_family_is_refused_with_those_there_are() -> None:
    with pytest.raises(UserError, match="--family skye: nothing was measured for it.*sky_2048"):
        choose(ROWS_READ, None, "skye")


def test_unmeasured_chip_is_refused() -> None:
    with pytest.raises(UserError, match="--chip trn3: nothing was measured.*trn1, trn2"):
        choose(ROWS_READ, "trn3", None)


def test_family_of_another_chip_is_refused() -> None:
    with pytest.raises(UserError, match="was not measured on that chip"):
        choose(ROWS_READ, "trn1", "sky_2048")


def test_csv_rows_name_kernels_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(f"{HEAD},method,dma_transfers\n{LINE},benchmark,6\n")
    [row] = read_csv(file)
    assert row.own[0].kernel == str(tmp_path / "k.py::f")
    assert row.own[0].arguments == ("float32[128]", "width=2")
    assert row.method == "benchmark" and row.published == {"dma_transfers": 6.0}
    assert bind(row, Places(ROOT)).launches[0].target == str(tmp_path / "k.py::f")


def test_a_chip_has_one_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    for name in ("trn2", "trainium2"):
        file.write_text(f"{HEAD}\n{LINE.replace('trn2', name)}\n")
        assert [row.chip for row in choose(read_csv(file), name, None)] == ["trn2"]
    for name in ("own.json", "trn9"):
        file.write_text(f"{HEAD}\n{LINE.replace('trn2', name)}\n")
        assert [row.chip for row in read_csv(file)] == [name]


def test_rows_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(f"{HEAD}\n{LINE}\n", encoding="utf-8-sig")
    assert len(read_csv(file)) == 1


@pytest.mark.parametrize("text, message", [
    ("id,family\na,b\n", "mine.csv:1: has no column class, chip, measured_us"),
    (f"{HEAD},colour\n{LINE},red\n", "mine.csv:1: unknown column 'colour'; columns are"),
    (f"{HEAD}\nmine,own,new_api\n", "mine.csv:2: has more or fewer fields than the first line"),
    (f"{HEAD}\n{LINE.replace('12.5', 'fast')}\n", "measured_us is 'fast', which is no number"),
    (f"{HEAD}\n{LINE.replace('12.5', 'nan')}\n", "measured_us is 'nan', which is not finite"),
    (f"{HEAD}\n{LINE.replace('12.5', 'inf')}\n", "measured_us is 'inf', which is not finite"),
    (f"{HEAD}\n{LINE.replace('12.5', '0')}\n", "measured_us is 0, a latency is above 0 us"),
    (f"{HEAD}\n{LINE.replace('new_api', 'newest')}\n", "class is 'newest', allowed are new_api"),
    (f"{HEAD}\n{LINE.replace('trn2', '')}\n", "mine.csv:2: chip is empty; every row needs it"),
    (f"{HEAD}\n{LINE}\n{LINE}\n", "mine.csv: row mine: is there twice; an id names one"),
    (f"{HEAD}\n", "mine.csv: has no row below the names of its columns"),
    (f"{HEAD},id\n{LINE},other\n", "mine.csv:1: column id is there twice; name each once"),
    (f"{HEAD}\n{LINE.replace('12.5', '1e-300')}\n",
     "measured_us is 1e-300, but latencies are of 0.001 us to 40 hours"),
    (f"{HEAD}\n{LINE.replace('12.5', '1e308')}\n",
     "measured_us is 1e+308, but latencies are of 0.001 us to 40 hours"),
    (f"{HEAD},dma_active_percent\n{LINE},400\n",
     "dma_active_percent is 400, but a share is 0 to 100 per cent"),
    (f"{HEAD},hbm_read_bytes\n{LINE},-4\n", "hbm_read_bytes is -4, but must be a whole number"),
    (f"{HEAD},dma_transfers\n{LINE},4.5\n", "dma_transfers is 4.5, but must be a whole number"),
    (f'{HEAD},note\n{LINE},"two\nlines"\n', "a field holds a line break"),
    (f"{HEAD}\n{LINE.replace('width=2', chr(39) + 'width=2')}\n", "No closing quotation; write words"),
    *((f'{HEAD}\n{LINE.replace("float32[128] width=2", chr(34) + arguments + chr(34))}\n',
       f"mine.csv:2: arguments has a comma at {word!r}; write one argument for each parameter with a "
       "blank between them") for arguments, word in (
           ("float32[128], width=2", "float32[128],"), ("float32[128] ,2", ",2"),
           ("x=float32[128,4],float32[1]", "x=float32[128,4],float32[1]"), ("2, 4", "2,"))),
])
def test_broken_csv_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(text)
    with pytest.raises(UserError) as problem:
        read_csv(file)
    assert message in str(problem.value)


@pytest.mark.parametrize("argument", ["x=[1,2]", "(1,)", "'[float32[1],4]'", "float32[1,2,3]"])
def test_commas_within_an_argument_are_its_own(tmp_path: Path, argument: str) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(f'{HEAD}\n{LINE.replace("float32[128] width=2", chr(34) + argument + chr(34))}\n')
    [row] = read_csv(file)
    assert row.own[0].arguments == (argument.strip("'"),)


def test_field_beyond_all_bounds_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(f"{HEAD},note\n{LINE},{'x' * 200_000}\n")
    with pytest.raises(UserError, match="mine.csv:2: is not CSV: field larger than"):
        read_csv(file)


def test_missing_csv_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_csv(tmp_path / "none.csv")


def test_unknown_key_of_a_row_is_refused(tmp_path: Path) -> None:
    row = {"id": "a", "chip": "trn2", "measured_us": 1.0, "colour": "red"}
    (tmp_path / "f.json").write_text(json.dumps({"family": "f", "class": "new_api",
                                                 "rows": [row]}))
    with pytest.raises(UserError, match="row a: .*colour.*measurements.schema.json"):
        read_rows(tmp_path)


def test_folder_without_measurements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no measurements"):
        read_rows(tmp_path)
