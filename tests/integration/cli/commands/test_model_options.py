# SPDX-License-Identifier: Apache-2.0
# --chip, --set, --policy and trnsim describe.
"""Tests of what the user may change about the chip and the lowering."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import traces
from command_line import CommandLine

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = ROOT / "examples"
CHIPS = ROOT / "configs" / "chips"
CLOCK = "neuron_core.vector_engine.clock_ghz"


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add(1024, 2048))


def clock_of(trnsim: CommandLine, chip: str) -> float:
    fields = json.loads(trnsim("describe", f"{chip}.{CLOCK}", "--json", "-").output)["fields"]
    return float(fields[0]["value"])


def test_a_slower_engine_takes_longer(trnsim: CommandLine) -> None:
    usual = trnsim.result("add.nkt")["summary"]["latency_us"]
    slow = trnsim.result("add.nkt", "--set", f"{CLOCK}={clock_of(trnsim, 'trn2') / 8}")
    assert slow["summary"]["latency_us"] > usual


def test_an_unknown_setting_is_answered_with_the_nearest(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "add.nkt", "--set", CLOCK.replace("clock", "clok") + "=1")
    assert "clok_ghz" in message and "clock_ghz" in message


def test_a_group_of_numbers_is_answered_with_those_in_it(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "add.nkt", "--set", "dma=4")
    assert message.startswith('--set dma=4: the chip has no "dma"; it is a group with "dma.')
    listed = message[message.index("group with "):].split('"')[1::2]
    assert len(listed) == 8 and all(name.startswith("dma.") for name in listed)
    assert message.endswith("; name one of them\n")


@pytest.mark.parametrize("setting", [
    "", CLOCK, f"{CLOCK}=", f"{CLOCK}=fast", f"{CLOCK}=-1", f"{CLOCK}=1e300"])
def test_a_setting_that_cannot_be_is_the_users_error(trnsim: CommandLine, setting: str) -> None:
    trnsim.fails(2, "run", "add.nkt", "--set", setting)


def test_what_a_number_does_not_say_itself_is_described(trnsim: CommandLine) -> None:
    note = "Differs from run to run."
    gate = "trn2.neuron_core.tensor_engine.clock_gate"
    assert note in trnsim("describe", gate).output
    fields = json.loads(trnsim("describe", gate, "--json", "-").output)["fields"]
    assert [field.get("note") for field in fields].count(note) == 1


def test_a_policy_that_changes_nothing_is_warned_of(trnsim: CommandLine) -> None:
    def warnings(*words: str) -> list[str]:
        return trnsim.result(*words)["warnings"]
    nothing = "trn1 has no hardware descriptor generation; dge=hardware changes nothing"
    assert nothing in warnings("add.nkt", "--chip", "trn1", "--policy", "dge=hardware")
    assert not any("changes nothing" in text for text in warnings("add.nkt", "--policy",
                                                                  "dge=hardware"))
    lowered = str(EXAMPLES / "traces" / "scale_lowered.nkt")
    assert warnings(lowered, "--policy", "reorder_window=1") == [
        "a lowered trace is executed as it is written; reorder_window=1 changes nothing"]
    assert warnings(lowered) == []


def test_more_rings_than_the_chip_has_are_warned_of(trnsim: CommandLine) -> None:
    def warnings(*words: str) -> list[str]:
        return trnsim.result("add.nkt", "--set", "dma.rings=2", *words)["warnings"]
    assert warnings("--policy", "dma_rings=16") == [
        "trn2 has dma.rings=2; dma_rings=16 is no more than dma_rings=2"]
    assert warnings("--policy", "dma_rings=2") == warnings() == []


def test_a_larger_partition_that_gives_tiles_no_room_is_warned_of(trnsim: CommandLine) -> None:
    size, usable = (f"neuron_core.sbuf.{name}partition_kib" for name in ("", "usable_"))

    def warnings(trace: str, *settings: str) -> list[str]:
        words = [word for setting in settings for word in ("--set", setting)]
        return trnsim.result(trace, *words)["warnings"]
    assert warnings("add.nkt", f"{size}=256") == [
        f"{size}=256 gives the compiler no more room for tiles, which is {usable}=208; set that too"]
    assert warnings("add.nkt", f"{size}=256", f"{usable}=240") == []
    assert warnings("add.nkt", f"{usable}=220") == []
    assert warnings(str(EXAMPLES / "traces" / "scale_lowered.nkt"), f"{size}=256") == []


@pytest.mark.parametrize("words", ["run add.nkt", "run script.py", "compare add.nkt", "validate"])
@pytest.mark.parametrize(("option", "name"), [("--set", "dma.engines"), ("--policy", "dma_rings")])
def test_a_name_has_one_value(
        trnsim: CommandLine, words: str, option: str, name: str) -> None:
    twice = [option, f"{name}=4", option, f"{name}=8"]
    said = f"{option} {name}=8: {name} is given twice, before as {name}=4; leave one out\n"
    assert trnsim.fails(2, *words.split(), *twice) == said


def test_described_numbers_have_one_value(trnsim: CommandLine) -> None:
    twice = ["--set", "dma.engines=4", "--set", "dma.engines=8"]
    message = trnsim.fails(2, "describe", "trn2", *twice)
    assert "dma.engines is given twice, before as dma.engines=4; leave one out" in message


def test_an_unknown_chip_is_answered_with_the_known(trnsim: CommandLine) -> None:
    assert "trn2" in trnsim.fails(2, "run", "add.nkt", "--chip", "trn22")


def test_the_range_of_the_latency_claims_no_measurement_of_chips_that_are_not_built(
        trnsim: CommandLine) -> None:
    assert trnsim("describe", "trn2", "--save", "mine.json").status == 0
    for words in ([], ["--chip", str(CHIPS / "trainium2.json")]):
        text = trnsim("run", "add.nkt", *words).output
        assert "measured kernels" in text and "perhaps" not in text
    for words in (["--set", "neuron_core.tensor_engine.clock_ghz=10"], ["--chip", "mine.json"]):
        text = trnsim("run", "add.nkt", *words).output
        assert "measured kernels" not in text
        assert "us: nothing was measured on a chip with these numbers\n" in text


def test_an_unknown_policy_is_answered_with_the_known(trnsim: CommandLine) -> None:
    assert "spilling" in trnsim.fails(2, "run", "add.nkt", "--policy", "spiling=off")
    assert "off" in trnsim.fails(2, "run", "add.nkt", "--policy", "spilling=never")


def test_the_method_says_what_the_latency_compares_with(trnsim: CommandLine) -> None:
    profiled = trnsim.result("add.nkt")
    benchmarked = trnsim.result("add.nkt", "--method", "benchmark")
    assert profiled["run"]["method"] == "profiler" and benchmarked["run"]["method"] == "benchmark"
    assert benchmarked["summary"]["latency_us"] < profiled["summary"]["latency_us"]
    outcome = trnsim("run", "add.nkt", "--method", "benchmark")
    assert "like nki.benchmark's latency" in outcome.output


@pytest.mark.parametrize("chip", ["trn1", "inf2", "trn2", "trn3"])
def test_the_help_says_which_kernel_start_is_longer(trnsim: CommandLine, chip: str) -> None:
    def start(method: str) -> float:
        result = trnsim.result("add.nkt", "--chip", chip, "--method", method)
        return float(result["run"]["kernel_start_ns"])
    text = " ".join(trnsim("run", "--help").output.split())
    shorter = text.split("whose kernel start is shorter on ")[1].split(" and longer on ")[0]
    assert (chip in shorter) == (start("benchmark") < start("profiler"))


def test_an_unknown_method_is_answered_with_the_known(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "add.nkt", "--method", "stopwatch")
    assert "stopwatch" in message and "profiler" in message and "benchmark" in message


def test_describe_shows_value_unit_source_and_meaning(trnsim: CommandLine) -> None:
    outcome = trnsim("describe", "trn2.neuron_core.tensor_engine")
    assert outcome.status == 0, outcome.error
    line = next(line for line in outcome.output.splitlines() if "tensor_engine.clock_ghz" in line)
    assert "2.4" in line and "GHz" in line and len(line.split()) > 4


def test_describe_aligns_its_columns(trnsim: CommandLine) -> None:
    lines = trnsim("describe", "trn2.dma").output.splitlines()
    first_column = max(len(line.split()[0]) for line in lines)
    assert all(line[first_column:first_column + 2] == "  " for line in lines)


def test_describe_lists_the_chips(trnsim: CommandLine) -> None:
    outcome = trnsim("describe")
    assert outcome.status == 0
    listed = {line.split()[0] for line in outcome.output.splitlines()}
    assert {"trn1", "inf2", "trn2", "trn3"} <= listed


@pytest.mark.parametrize("option", ["--json x.json", "--set dma.engines=4"])
def test_describe_needs_a_chip_for_its_options(trnsim: CommandLine, option: str) -> None:
    assert trnsim.fails(2, "describe", *option.split()) == (
        f"{option}: is about one chip, but none is named; name it: trnsim describe trn2 {option}\n")
    assert not (trnsim.folder / "x.json").exists()


def test_describe_tells_what_was_set(trnsim: CommandLine) -> None:
    outcome = trnsim("describe", f"trn2.{CLOCK}", "--set", f"{CLOCK}=1.5")
    assert "1.5" in outcome.output and "set by the user" in outcome.output


def test_describe_answers_an_unknown_path_with_the_nearest(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "describe", "trn2.neuron_core.tensor_engin")
    assert "did you mean neuron_core.tensor_engine?" in message
    message = trnsim.fails(2, "describe", "trn2.dma.eng")
    assert message.startswith('describe trn2: trn2 has no "dma.eng", did you mean dma.engines?')


def test_describe_needs_a_part_after_the_dot(trnsim: CommandLine) -> None:
    assert trnsim.fails(2, "describe", "trn2.") == (
        "describe trn2.: names no part after the dot; add one, or write trn2\n")
    assert trnsim("describe", "trn2", "--save", "mine.json").status == 0
    assert "names no part after the dot" in trnsim.fails(2, "describe", "mine.json.")


def test_more_dma_engines_move_more(trnsim: CommandLine) -> None:
    more = ["--set", "dma.engines=32", "--set", "dma.engine_gb_per_s=2"]
    idle = trnsim.result("add.nkt", *more)
    used = trnsim.result("add.nkt", *more, "--set", "dma.partitions_per_engine=4")
    said = ("16 of 32 DMA engines serve no partitions of SBUF, since each of them serves 8; with "
            "dma.partitions_per_engine=4 all do")
    assert said in idle["warnings"] and said not in used["warnings"]
    assert used["summary"]["latency_us"] < 0.7 * idle["summary"]["latency_us"]


@pytest.mark.parametrize("engines", [17, 24, 31, 32])
def test_as_many_partitions_for_each_dma_engine_as_is_said_leave_none_idle(
        trnsim: CommandLine, engines: int) -> None:
    def idle(*words: str) -> list[str]:
        warnings = trnsim.result("add.nkt", "--set", f"dma.engines={engines}", *words)["warnings"]
        return [text for text in warnings if "serve no partitions" in text]
    setting = idle()[0].split("; with ")[1].removesuffix(" all do")
    assert idle("--set", setting) == []


def test_dma_engines_that_outnumber_the_partitions_are_not_advised_about(
        trnsim: CommandLine) -> None:
    (trnsim.folder / "copy.nkt").write_text(traces.copy_in_hbm())
    warnings = trnsim.result("copy.nkt", "--set", "neuron_core.sbuf.partitions=8")["warnings"]
    assert warnings == ["15 of 16 DMA engines serve no partitions of SBUF, since each of them "
                        "serves 8"]


def test_a_chip_is_saved_with_what_was_set(trnsim: CommandLine) -> None:
    slow = ["--set", f"{CLOCK}=0.25"]
    outcome = trnsim("describe", "trn2", *slow, "--save", "slow.json")
    assert (outcome.status, outcome.output) == (0, "")
    saved, set_ = trnsim.result("add.nkt", "--chip", "slow.json"), trnsim.result("add.nkt", *slow)
    assert (saved["chip"], saved["config"]) == ("slow", set_["config"])
    assert saved["summary"] == set_["summary"]
    assert "set by the user" in trnsim("describe", f"slow.json.{CLOCK}").output


def test_a_chip_that_is_saved_unchanged_has_the_numbers_of_its_file(trnsim: CommandLine) -> None:
    saved = json.loads(trnsim("describe", "trn3", "--save", "-").output)
    assert saved == json.loads((CHIPS / "trainium3.json").read_text())


@pytest.mark.parametrize(("words", "said"), [
    ("trn2.dma --save dma.json", "--save dma.json: writes a whole chip, but trn2.dma is a part of "
                                 "one; name the chip alone"),
    ("trn2 --save fast", "--save fast: --chip would take it for the name of a chip; call it "
                         "fast.json"),
    ("--save my.json", "--save my.json: is about one chip, but none is named; name it: trnsim "
                       "describe trn2 --save my.json"),
    ("trn2 --save my.json --json my.json", "--json my.json, --save my.json: both go to one file; "
                                           "name two files"),
    ("trn2 --save my.json --json no/my.json",
     "--json no/my.json: cannot be written (No such file or directory); name a file in a directory "
     "that exists and may be written"),
    ("add.json --save add.json", "--save add.json: would overwrite CHIP add.json, which is read; "
                                 "name another file")])
def test_a_chip_that_cannot_be_saved_is_not(trnsim: CommandLine, words: str, said: str) -> None:
    (trnsim.folder / "add.json").write_bytes((CHIPS / "trainium2.json").read_bytes())
    before = sorted(trnsim.folder.iterdir())
    assert trnsim.fails(2, "describe", *words.split()) == f"{said}\n"
    assert sorted(trnsim.folder.iterdir()) == before
