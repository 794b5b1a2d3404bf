# SPDX-License-Identifier: Apache-2.0
# Files that are given to a command that takes others.
"""What is said of each kind of file where another one is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import traces
from command_line import CommandLine

CHIP = Path(__file__).parents[4] / "configs" / "chips" / "trainium2.json"
SCRIPT = "import nki\n"
NEEDS = {
    "run": "a trace or file.py::function is needed",
    "describe": "a chip is needed, inf2, trn1, trn2, trn3 or a chip file",
    "diff": "trnsim diff compares results, tables of instructions and profiles",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of each kind that trnsim writes or reads."""
    path = tmp_path_factory.mktemp("kinds")
    (path / "add.nkt").write_text(traces.add())
    (path / "chip.json").write_bytes(CHIP.read_bytes())
    (path / "script.py").write_text(SCRIPT)
    (path / "profile.json").write_text(json.dumps({"instruction": []}))
    (path / "calls.json").write_text(json.dumps({"schema_version": 1, "calls": []}))
    (path / "parts").mkdir()
    trnsim = CommandLine(path)
    for words in (
            ["run", "add.nkt", "--json", "result.json", "--instructions", "table.json",
             "--timeline", "add.pftrace", "--quiet"],
            ["compare", "add.nkt", "--chips", "trn1,trn2", "--json", "chips.json"],
            ["sweep", "add.nkt", "--csv", "sweep.csv"],
            ["trace", "add.nkt", "-o", "add.nkt.zst"],
            ["describe", "trn2.dma", "--json", "numbers.json"],
            ["diff", "result.json", "result.json", "--json", "changes.json"],
            ["diff", "table.json", "table.json", "--json", "moved.json"]):
        outcome = trnsim(*words)
        assert outcome.status == 0, outcome.error
    return path


def refusals(folder: Path, name: str) -> dict[str, str]:
    """What each command says that does not take a file, without its name and what it needs."""
    trnsim = CommandLine(folder)
    found = {}
    for command, need in NEEDS.items():
        outcome = trnsim(command, name, *([name] if command == "diff" else []))
        begin, middle = f"{name}: is ", f", but {need}; "
        if outcome.error.startswith(begin) and middle in outcome.error:
            assert outcome.status == 2 and outcome.output == ""
            found[command] = outcome.error.removeprefix(begin).strip().replace(middle, ": ")
    return found


@pytest.mark.parametrize("name, commands, said", [
    ("result.json", "run describe", "a result of run --json: trnsim diff compares two of them"),
    ("table.json", "run describe",
     "a table of run --instructions: trnsim diff compares two of them, or one with a profile"),
    ("profile.json", "run describe",
     "a Neuron profile: trnsim diff compares it with a table of run --instructions"),
    ("calls.json", "run describe diff",
     "what run --json wrote of a script's kernel calls: each \"result\" in it, in a file of "
     "its own, is one for trnsim diff"),
    ("chips.json", "run describe diff", "what trnsim compare --json wrote: no command reads it"),
    ("changes.json", "run describe diff", "what trnsim diff --json wrote: no command reads it"),
    ("moved.json", "run describe diff", "what trnsim diff --json wrote: no command reads it"),
    ("numbers.json", "run describe diff",
     "what trnsim describe --json wrote: trnsim describe --save writes a chip file"),
    ("sweep.csv", "run describe diff", "a table of trnsim sweep: no command reads it"),
    ("add.pftrace", "run describe diff", "a timeline: open it in https://ui.perfetto.dev"),
    ("./parts", "run describe diff", "a directory: name a file in it"),
    ("chip.json", "run diff",
     "a chip file: --chip chip.json simulates that chip, and trnsim describe chip.json shows it"),
    ("script.py", "describe diff",
     "a Python file: trnsim run script.py simulates the kernels that it calls, and "
     "script.py::function is one of them"),
])
def test_a_file_is_answered_with_what_it_is_and_who_takes_it(
        folder: Path, name: str, commands: str, said: str) -> None:
    assert refusals(folder, name) == dict.fromkeys(commands.split(), said)


@pytest.mark.parametrize("name, what", [
    ("add.nkt", "a trace"), ("add.nkt.zst", "a trace"), ("script.py::kernel", "a kernel")])
def test_what_can_be_simulated_is_simulated_before_results_are_compared(
        folder: Path, name: str, what: str) -> None:
    assert CommandLine(folder).fails(2, "diff", "result.json", name) == (
        f"{name}: is {what}, but {NEEDS['diff']}; simulate it with trnsim run '{name}' --json "
        "FILE, and name that file\n")


@pytest.mark.parametrize("words", [
    ["compare", "result.json"], ["sweep", "result.json"], ["trace", "result.json", "-o", "x.nkt"]])
def test_every_command_that_simulates_says_so_once(folder: Path, words: list[str]) -> None:
    message = CommandLine(folder).fails(2, *words)
    assert message.count("result.json: is a result of run --json") == 1


@pytest.mark.parametrize("words", [
    ["run", "add.nkt", "--chip", "table.json"], ["compare", "add.nkt", "--chips", "table.json"]])
def test_a_chip_is_named_by_its_file(folder: Path, words: list[str]) -> None:
    assert CommandLine(folder).fails(2, *words).startswith(
        f"table.json: is a table of run --instructions, but {NEEDS['describe']}; ")


def test_a_folder_with_the_name_of_a_chip_does_not_hide_it(tmp_path: Path) -> None:
    (tmp_path / "trn2").mkdir()
    assert CommandLine(tmp_path)("describe", "trn2").status == 0


def test_an_argument_without_its_option_gets_it(folder: Path) -> None:
    message = CommandLine(folder).fails(2, "run", "script.py::kernel", "float32[4,4]")
    assert message.endswith("if it is an argument of the kernel, write --arg 'float32[4,4]'\n")


def test_a_kernel_named_with_one_colon_gets_the_second(folder: Path) -> None:
    assert CommandLine(folder).fails(2, "run", "script.py:kernel") == (
        "script.py:kernel: is no file, and a kernel is named with two colons; write "
        "script.py::kernel\n")


@pytest.mark.parametrize("words, said", [
    (["compare", "add.nkt", "add.nkt.zst"],
     "add.nkt.zst is one word too many: it compares chips that run one INPUT, and trnsim diff "
     "compares the results of two"),
    (["diff", "result.json", "result.json", "table.json"],
     "table.json is one word too many: it takes two files"),
    (["validate", "script.py"],
     "script.py is one word too many: it simulates the kernels of published measurements, and "
     "trnsim run yours"),
])
def test_a_file_too_many_is_told_how_many_there_are(
        folder: Path, words: list[str], said: str) -> None:
    assert CommandLine(folder).fails(2, *words) == (
        f"trnsim {words[0]}: {said}; trnsim {words[0]} --help lists its words\n")
