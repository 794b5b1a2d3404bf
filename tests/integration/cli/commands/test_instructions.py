# SPDX-License-Identifier: Apache-2.0
# What every engine executed, and two such tables side by side.
"""Tests of trnsim run --instructions and of trnsim diff on what it writes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import traces
from command_line import CommandLine

SCHEMAS = Path(__file__).resolve().parents[4] / "configs" / "schema"


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add(1024))


def table(trnsim: CommandLine, name: str, *words: str) -> dict[str, Any]:
    """Runs add.nkt and returns the table in the file `name`."""
    outcome = trnsim("run", "add.nkt", "--quiet", "--instructions", name, *words)
    assert outcome.status == 0, outcome.error
    return json.loads((trnsim.folder / name).read_text())


def check(kind: str, document: Any) -> None:
    """Whether a document fits its schema."""
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)


def profile(name: str = "I-1-0", label: str = "Vector") -> dict[str, Any]:
    """A profile of one addition."""
    return {"instruction": [
        {"label": label, "opcode": "TENSOR_TENSOR", "bir_instruction_name": name, "timestamp": 15000,
         "operands": "src=fp32@0x4[1,1][512,1] channels=128", "duration": 700,
         "evt_wait_time": 10}]}


def test_the_table_adds_up_to_the_result(trnsim: CommandLine) -> None:
    written = table(trnsim, "t.json", "--json", "r.json")
    check("instructions", written)
    result = json.loads((trnsim.folder / "r.json").read_text())
    count: dict[str, int] = defaultdict(int)
    occupied: dict[str, float] = defaultdict(float)
    waited: dict[str, float] = defaultdict(float)
    moved = 0
    for instruction in written["instructions"]:
        queue = written["queues"][instruction["queue"]]["name"]
        what = written["templates"][instruction["template"]]
        assert instruction["order"] == count[queue]
        count[queue] += 1
        occupied[queue] += instruction["occupied_ns"]
        waited[queue] += instruction["waited_ns"]
        moved += what["bytes"]
    for engine in ("tensor", "vector", "scalar", "gpsimd", "sync"):
        times, queue = result["engines"][engine], f"{engine}_engine"
        assert count[queue] == times["instruction_count"]
        assert occupied[queue] == pytest.approx(times["active_ns"])
        assert waited[queue] == pytest.approx(
            times["wait_semaphore_ns"] + times["wait_dma_ns"] + times["wait_port_ns"])
    assert moved == result["dma"]["bytes"]
    assert written["total_ns"] == pytest.approx(result["summary"]["latency_us"] * 1000)


def test_whoever_is_waited_for_is_in_the_table_and_started_before(trnsim: CommandLine) -> None:
    written = table(trnsim, "t.json")
    starts = {(i["queue"], i["order"]): i["start_ns"] for i in written["instructions"]}
    held = [i for i in written["instructions"] if i["waited_for"]]
    assert held
    for instruction in held:
        producer = instruction["waited_for"]
        assert starts[producer["queue"], producer["order"]] < instruction["start_ns"]


def test_the_table_changes_nothing_else(trnsim: CommandLine) -> None:
    table(trnsim, "t.json", "--json", "with.json", "--timeline", "with.pftrace")
    assert trnsim("run", "add.nkt", "-q", "--json", "without.json", "--timeline",
                  "without.pftrace").status == 0
    for kind in ("json", "pftrace"):
        assert ((trnsim.folder / f"with.{kind}").read_bytes()
                == (trnsim.folder / f"without.{kind}").read_bytes())
    both = (trnsim.folder / "t.json").read_bytes()
    table(trnsim, "alone.json")
    assert (trnsim.folder / "alone.json").read_bytes() == both


def test_the_table_goes_to_standard_output_alone(trnsim: CommandLine) -> None:
    outcome = trnsim("run", "add.nkt", "--instructions", "-")
    assert json.loads(outcome.output)["kind"] == "instructions"
    assert ("both go to standard output; name two files"
            in trnsim.fails(2, "run", "add.nkt", "--json", "-", "--instructions", "-"))


def test_a_table_and_itself_have_the_same_order(trnsim: CommandLine) -> None:
    table(trnsim, "t.json")
    outcome = trnsim("diff", "t.json", "t.json")
    assert outcome.status == 0, outcome.error
    assert "the order is the same on every engine" in outcome.output


def test_a_difference_of_tables_fits_its_schema(trnsim: CommandLine) -> None:
    table(trnsim, "a.json")
    table(trnsim, "b.json", "--policy", "buffer_factor=4", "--chip", "trn1")
    outcome = trnsim("diff", "a.json", "b.json", "--json", "-")
    difference = json.loads(outcome.output)
    check("instruction_difference", difference)
    for engine in difference["engines"]:
        rows = [row for row in difference["instructions"] if row["engine"] == engine["engine"]]
        for side in ("before", "after"):
            assert engine["instruction_count"][side] == sum(row[side] is not None for row in rows)
    assert any(lag["change_ns"] != 0 for lag in difference["lags"])


def test_a_table_compares_with_a_profile(trnsim: CommandLine) -> None:
    table(trnsim, "a.json")
    (trnsim.folder / "p.json").write_text(json.dumps(profile()))
    outcome = trnsim("diff", "a.json", "p.json", "--json", "d.json")
    assert outcome.status == 0, outcome.error
    assert "TENSOR_TENSOR 512" in outcome.output
    difference = json.loads((trnsim.folder / "d.json").read_text())
    check("instruction_difference", difference)
    assert difference["after"]["origin"] == "profile"
    vector = next(e for e in difference["engines"] if e["engine"] == "vector")
    assert (vector["instruction_count"], vector["joined_count"]) == ({"before": 8, "after": 1}, 1)
    assert "waited" in trnsim("diff", "a.json", "p.json", "--engine", "vector").output


@pytest.mark.parametrize(("content", "place"), [
    (profile(name=""), "/instruction"),
    ({"instruction": [{"label": "Vector"}]}, "/instruction/0/bir_instruction_name"),
    ({"instruction": ["x"]}, "/instruction/0"),
    ({"instruction": 3}, "JSON with none of the keys"),
    ({"kind": "instructions"}, "/schema_version"),
    ({"kind": "instructions", "schema_version": 7}, "/schema_version: 7"),
    ([], "JSON with none of the keys"),
])
def test_what_is_no_table_is_named_with_its_place(
        trnsim: CommandLine, content: Any, place: str) -> None:
    table(trnsim, "a.json")
    (trnsim.folder / "b.json").write_text(json.dumps(content))
    for words in (("a.json", "b.json"), ("b.json", "a.json")):
        message = trnsim.fails(2, "diff", *words)
        assert "b.json" in message and place in message


def test_a_truncated_table_is_named(trnsim: CommandLine) -> None:
    table(trnsim, "a.json")
    whole = (trnsim.folder / "a.json").read_bytes()
    (trnsim.folder / "b.json").write_bytes(whole[:len(whole) // 2])
    assert "b.json: no JSON from byte" in trnsim.fails(2, "diff", "a.json", "b.json")


def test_a_result_and_a_table_do_not_mix(trnsim: CommandLine) -> None:
    table(trnsim, "t.json", "--json", "r.json")
    (trnsim.folder / "p.json").write_text(json.dumps(profile()))
    assert "t.json is a table of instructions" in trnsim.fails(2, "diff", "r.json", "t.json")
    assert "p.json is a profile" in trnsim.fails(2, "diff", "p.json", "r.json")
    assert "--engine vector" in trnsim.fails(2, "diff", "r.json", "r.json", "--engine", "vector")
    assert "is no engine" in trnsim.fails(2, "diff", "t.json", "t.json", "--engine", "warp")
