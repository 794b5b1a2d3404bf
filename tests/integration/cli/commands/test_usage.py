# SPDX-License-Identifier: Apache-2.0
# Help, versions and words that do not fit.
"""Tests of the command line's own grammar."""

from __future__ import annotations

from itertools import pairwise

import pytest
from command_line import CommandLine

COMMANDS = ["run", "compare", "sweep", "describe", "trace", "diff"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_shows_examples(trnsim: CommandLine, command: str) -> None:
    outcome = trnsim(command, "--help")
    assert outcome.status == 0
    assert "Examples:" in outcome.output
    assert f"trnsim {command} " in outcome.output


@pytest.mark.parametrize("command", [[], *([each] for each in COMMANDS), ["validate"]])
def test_help_fits_into_a_hundred_columns(trnsim: CommandLine, command: list[str]) -> None:
    assert max(len(line) for line in trnsim(*command, "--help").output.splitlines()) <= 100


def test_a_long_description_goes_on_below_itself(trnsim: CommandLine) -> None:
    lines = trnsim("run", "--help").output.splitlines()
    first = next(at for at, line in enumerate(lines) if "override a decision" in line)
    start = lines[first].index("override")
    assert lines[first + 1][:start].isspace() and not lines[first + 1][start].isspace()


@pytest.mark.parametrize("command", [[], *([each] for each in COMMANDS), ["validate"]])
def test_lines_of_help_are_whole_and_end_with_a_word(
        trnsim: CommandLine, command: list[str]) -> None:
    lines = trnsim(*command, "--help").output.splitlines()
    assert lines == [line.rstrip() for line in lines] and lines[0]
    assert not any(first == second == "" for first, second in pairwise(lines))
    examples = lines[lines.index("Examples:") + 1:]
    assert all("trnsim" in line for line in examples[:[*examples, ""].index("")])


def test_help_lists_all_commands_and_exit_statuses(trnsim: CommandLine) -> None:
    outcome = trnsim("--help")
    assert outcome.status == 0
    assert all(command in outcome.output for command in COMMANDS)
    assert "Exit status: 0 done, 1 an error of trnsim's own, 2 the input is" in outcome.output


def test_version_names_the_program(trnsim: CommandLine) -> None:
    assert trnsim("--version").output.startswith("trnsim ")


def test_no_command_is_the_users_error(trnsim: CommandLine) -> None:
    assert trnsim.fails(2).startswith("trnsim: ")


def test_an_unknown_command_is_answered_with_the_nearest(trnsim: CommandLine) -> None:
    assert "did you mean compare?" in trnsim.fails(2, "compar", "x.nkt")


def test_an_unknown_option_is_answered_with_the_nearest(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "x.nkt", "--chp", "trn2")
    assert message.startswith("trnsim run: --chp is not one of its words, did you mean --chip?")


def test_a_missing_input_is_named(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run")
    assert "INPUT" in message
    assert "trnsim run --help" in message


def test_an_option_without_its_value_is_named(trnsim: CommandLine) -> None:
    assert "--chip" in trnsim.fails(2, "run", "x.nkt", "--chip")


@pytest.mark.parametrize(("command", "option", "value", "allowed"), [
    ("run", "--cores", "0", "whole number of at least 1"),
    ("run", "--cores", "-1", "whole number of at least 1"),
    ("run", "--cores", "2.5", "whole number of at least 1"),
    ("run", "--call", "1e1", "whole number of at least 1"),
    ("run", "--seed", "x", "whole number from 0 to 9007199254740992"),
    ("run", "--seed", "9007199254740993", "whole number from 0 to 9007199254740992"),
    ("sweep", "--processes", "1025", "whole number from 1 to 1024"),
    ("run", "--rtol", "-1", "number of at least 0"),
    ("run", "--atol", "nan", "number of at least 0")])
def test_a_number_that_is_not_allowed_is_told_with_those_that_are(
        trnsim: CommandLine, command: str, option: str, value: str, allowed: str) -> None:
    message = trnsim.fails(2, command, "x.nkt", option, value)
    assert f'{option}: "{value}" is not a {allowed};' in message


@pytest.mark.parametrize("option", ["--cores", "--seed"])
@pytest.mark.parametrize("value", ["010", "0x2", "00"])
def test_a_number_is_decimal(trnsim: CommandLine, option: str, value: str) -> None:
    message = trnsim.fails(2, "run", "x.nkt", option, value)
    assert f'{option}: "{value}" is not a decimal number; leave the 0 before it out' in message


@pytest.mark.parametrize(("command", "option"), [
    ("run", "--cores"), ("run", "--call"), ("validate", "--jobs")])
def test_a_number_beyond_64_bits_is_told_as_it_was_given(
        trnsim: CommandLine, command: str, option: str) -> None:
    words = ["x.nkt"] if command == "run" else []
    message = trnsim.fails(2, command, *words, option, "99999999999999999999")
    assert f'{option}: "99999999999999999999" is too large; give a smaller number;' in message


def test_control_characters_of_a_name_do_not_reach_the_terminal(trnsim: CommandLine) -> None:
    assert trnsim.fails(2, "run", "a\033[31mb\007.nkt").startswith("a [31mb .nkt: cannot be opened")
    (trnsim.folder / "c.nkt").write_text('{"record":"a\x7fb"}\n')
    assert '"a b"' in trnsim.fails(2, "run", "c.nkt")


@pytest.mark.parametrize("option", ["--rtol", "--atol"])
@pytest.mark.parametrize("value", ["inf", "1e999"])
def test_a_tolerance_is_finite(trnsim: CommandLine, option: str, value: str) -> None:
    message = trnsim.fails(2, "run", "x.nkt", "--check", "r.py::f", option, value)
    assert f'{option}: "{value}" is not finite, but a number of at least 0 is needed;' in message


@pytest.mark.parametrize(("command", "option"), [
    ("run x.nkt", "--check"), ("run x.nkt", "--chip"), ("run x.nkt", "--json"),
    ("run x.nkt", "--timeline"), ("run x.nkt", "--instructions"), ("compare x.nkt", "--chips"),
    ("compare x.nkt", "--json"), ("sweep x.nkt", "--csv"), ("trace x.nkt", "--output"),
    ("describe trn2", "--json"), ("diff a b", "--json"), ("diff a b", "--engine"),
    ("validate", "--chip"), ("validate", "--family"), ("validate", "--corpus"),
    ("validate", "--rows"), ("validate", "--json"), ("validate", "--write-docs")])
def test_an_empty_value_is_an_error(trnsim: CommandLine, command: str, option: str) -> None:
    said = f"{option}: the value is empty; give one or leave the option out"
    assert said in trnsim.fails(2, *command.split(), option, "").replace("-o: ", "--output: ")
    assert trnsim.fails(2, *command.split(), f"{option}=", "-q") == said + "\n"


def test_the_help_of_validate_says_how_rows_are_written(trnsim: CommandLine) -> None:
    said = " ".join(trnsim("validate", "--help").output.split())
    assert ("arguments (as --arg takes them, a blank between two); if you want, method (profiler or "
            "benchmark)") in said


def test_an_empty_word_names_no_chip(trnsim: CommandLine) -> None:
    assert "CHIP: the value is empty" in trnsim.fails(2, "describe", "")


def test_errors_go_to_standard_error_alone(trnsim: CommandLine) -> None:
    assert trnsim("run", "missing.nkt").output == ""
