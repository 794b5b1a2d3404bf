# SPDX-License-Identifier: Apache-2.0
"""The timeline file means the same to Perfetto's own schema as to the code that wrote it."""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

SCHEMA = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2",
    reason="the PyPI package perfetto, which carries the official schema, is not installed",
)

ROOT = Path(__file__).resolve().parents[3]
TILES = 8


def sample_timeline_binary() -> Path | None:
    """The program that writes the sample: of the build $TRNSIM_BINARY is in, or of the newest."""
    place = "tests/unit/timeline/sample_timeline"
    if "TRNSIM_BINARY" in os.environ:
        binaries = [Path(os.environ["TRNSIM_BINARY"]).parents[2] / place]
    else:
        binaries = list(ROOT.glob(f"build/*/{place}"))
    existing = [binary for binary in binaries if binary.exists()]
    return max(existing, key=lambda binary: binary.stat().st_mtime, default=None)


class Interned:
    """What the packets of a sequence have numbered so far."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.categories: dict[int, str] = {}
        self.keys: dict[int, str] = {}
        self.values: dict[int, str] = {}

    def add(self, data: Any) -> None:
        self.names.update((item.iid, item.name) for item in data.event_names)
        self.categories.update((item.iid, item.name) for item in data.event_categories)
        self.keys.update((item.iid, item.name) for item in data.debug_annotation_names)
        self.values.update(
            (item.iid, item.str.decode()) for item in data.debug_annotation_string_values
        )


def has_unknown_fields(message: Any) -> bool:
    """Whether parsing and serializing again with the known fields alone loses bytes."""
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    return bool(copy.SerializeToString() != message.SerializeToString())


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The sample, parsed with Perfetto's schema."""
    binary = sample_timeline_binary()
    if binary is None:
        pytest.skip("sample_timeline is not built: run tools/test or cmake --build build/<preset>")
    path = tmp_path_factory.mktemp("timeline") / "sample.pftrace"
    subprocess.run([binary, path], check=True)
    parsed = SCHEMA.Trace()
    parsed.ParseFromString(path.read_bytes())
    return parsed


@pytest.fixture(scope="module")
def tracks(trace: Any) -> dict[int, Any]:
    """Track descriptors by uuid."""
    found = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    assert len({track.uuid for track in found}) == len(found)
    return {track.uuid: track for track in found}


@pytest.fixture(scope="module")
def slices(trace: Any, tracks: dict[int, Any]) -> list[dict[str, Any]]:
    """Slices as Perfetto's trace processor makes them: events sorted by time, a stack per track."""
    interned = Interned()
    events = []
    for packet in trace.packet:
        interned.add(packet.interned_data)
        if packet.HasField("track_event"):
            event = packet.track_event
            if event.name_iid:
                assert packet.sequence_flags & SCHEMA.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            events.append((packet.timestamp, event))
    stacks: dict[int, list[dict[str, Any]]] = defaultdict(list)
    result: list[dict[str, Any]] = []
    for timestamp, event in sorted(events, key=lambda item: item[0]):
        stack = stacks[event.track_uuid]
        if event.type == SCHEMA.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(
                {
                    "track": tracks[event.track_uuid].name,
                    "uuid": event.track_uuid,
                    "name": interned.names[event.name_iid],
                    "category": [interned.categories[iid] for iid in event.category_iids],
                    "args": {
                        interned.keys[a.name_iid]: interned.values[a.string_value_iid]
                        for a in event.debug_annotations
                    },
                    "start": timestamp,
                    "depth": len(stack),
                    "leaving": list(event.flow_ids),
                    "arriving": list(event.terminating_flow_ids),
                }
            )
            result.append(stack[-1])
        elif event.type == SCHEMA.TrackEvent.TYPE_SLICE_END:
            stack.pop()["end"] = timestamp
    assert not any(stacks.values())
    return result


def test_every_field_is_known_to_the_official_schema(trace: Any) -> None:
    assert len(trace.packet) > 0
    assert not has_unknown_fields(trace)


def test_first_packet_starts_the_sequence(trace: Any) -> None:
    first = trace.packet[0]
    assert first.first_packet_on_sequence
    assert first.sequence_flags & SCHEMA.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}


def test_rows_nest_in_groups_and_groups_in_the_chip(tracks: dict[int, Any]) -> None:
    explicit = SCHEMA.TrackDescriptor.EXPLICIT
    process = next(track for track in tracks.values() if track.HasField("process"))
    assert process.process.process_name == "trn2 sample"
    assert process.child_ordering == explicit
    groups = [track for track in tracks.values() if track.parent_uuid == process.uuid]
    by_rank = sorted(groups, key=lambda group: group.sibling_order_rank)
    assert [group.name for group in by_rank] == ["NeuronCore 0", "DMA", "HBM"]
    assert all(group.child_ordering == explicit for group in groups)
    rows = [track for track in tracks.values() if tracks.get(track.parent_uuid) in groups]
    assert len(rows) == len(tracks) - len(groups) - 1
    core = sorted(
        (row for row in rows if tracks[row.parent_uuid].name == "NeuronCore 0"),
        key=lambda row: row.sibling_order_rank,
    )
    assert [row.name for row in core] == ["tensor_engine", "vector_engine"]


def test_slices_have_names_sources_and_times_in_nanoseconds(slices: list[dict[str, Any]]) -> None:
    matmuls = [found for found in slices if found["name"] == "nc_matmul"]
    assert len(slices) == 4 * TILES
    assert len(matmuls) == TILES
    assert matmuls[1]["args"] == {"source": "kernel.py:52", "details": "K=128 N=512"}
    assert matmuls[1]["category"] == ["tensor"]
    assert (matmuls[1]["start"], matmuls[1]["end"]) == (5_001, 5_218)


def test_no_slice_lies_inside_another(slices: list[dict[str, Any]]) -> None:
    assert all(found["depth"] == 0 for found in slices)


def test_overlapping_transfers_are_rows_of_one_name(
    slices: list[dict[str, Any]], tracks: dict[int, Any]
) -> None:
    lanes = {found["uuid"] for found in slices if found["name"] == "dma_copy"}
    assert len(lanes) == 2
    assert len({(tracks[lane].parent_uuid, tracks[lane].name) for lane in lanes}) == 1


def test_arrows_join_each_wait_with_what_it_waited_for(slices: list[dict[str, Any]]) -> None:
    """Follows flows as the trace processor does: in time order, a flow id leads from its last slice."""
    active: dict[int, dict[str, Any]] = {}
    arrows = []
    for found in slices:
        for flow in found["leaving"]:
            assert flow not in active
            active[flow] = found
        for flow in found["arriving"]:
            arrows.append((active.pop(flow), found))
    assert not active
    pairs = [(start["name"], end["name"]) for start, end in arrows]
    assert pairs.count(("dma_copy", "nc_matmul")) == 2 * TILES
    assert pairs.count(("nc_matmul", "tensor_copy")) == TILES
    assert len(pairs) == 3 * TILES
    assert all(start["end"] <= end["start"] for start, end in arrows)


def test_the_counter_has_its_unit_and_values(trace: Any, tracks: dict[int, Any]) -> None:
    counters = {uuid for uuid, track in tracks.items() if track.HasField("counter")}
    assert [tracks[uuid].counter.unit_name for uuid in counters] == ["GB/s"]
    values = [
        packet.track_event.double_counter_value
        for packet in trace.packet
        if packet.HasField("track_event") and packet.track_event.track_uuid in counters
    ]
    assert values == [349.5, 0.0] * TILES
