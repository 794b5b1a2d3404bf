# SPDX-License-Identifier: Apache-2.0
# Collectives in kernels.
"""Each collective is one operation with its ranks and bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers import ops, tensor, traced
from kernels import nisa, nl
from nki import collectives
from trace_expander import Executed
from trnsim.frontend import IllegalInstruction, trace

X = tensor("float32", 128, 64)
GROUP = collectives.ReplicaGroup([[0, 1, 2, 3], [4, 5, 6, 7]])


def hbm(*shape: int) -> Any:
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.private_hbm)


def collective(body: Any) -> Executed:
    (one,) = traced(lambda x: body(x), X)
    return one


def attributes(one: Executed) -> dict[str, Any]:
    return {name: json.loads(value) for name, value in one.attributes}


RANKS = [[0, 1, 2, 3], [4, 5, 6, 7]]
RING = [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4]]
BYTES = 128 * 64 * 4


@pytest.mark.parametrize(("body", "op", "expected"), [
    (lambda x: collectives.all_reduce([x], [hbm(128, 64)], GROUP, nl.add), "all_reduce",
     {"groups": RANKS, "op": "add", "bytes": BYTES}),
    (lambda x: collectives.all_gather([x], [hbm(512, 64)], GROUP, 0), "all_gather",
     {"groups": RANKS, "bytes": BYTES}),
    (lambda x: collectives.reduce_scatter([x], [hbm(32, 64)], GROUP, 0, nl.maximum),
     "reduce_scatter", {"groups": RANKS, "op": "maximum", "bytes": BYTES}),
    (lambda x: collectives.all_to_all([x], [hbm(128, 64)], GROUP, 0), "all_to_all",
     {"groups": RANKS, "bytes": BYTES}),
    (lambda x: collectives.collective_permute([x], [hbm(128, 64)], [(0, 1), (1, 0)]),
     "collective_permute", {"pairs": [[0, 1], [1, 0]], "bytes": BYTES}),
    (lambda x: collectives.collective_permute_implicit([[x]], [[hbm(128, 64)]], GROUP),
     "collective_permute", {"pairs": RING, "channels": 1, "bytes": BYTES}),
    (lambda x: collectives.collective_permute_implicit_reduce([[x]], [[x]], [[hbm(128, 64)]], GROUP,
                                                              nl.add),
     "collective_permute", {"pairs": RING, "channels": 1, "op": "add", "bytes": 2 * BYTES})])
def test_a_collective_is_traced_with_its_ranks_and_bytes(body: Any, op: str,
                                                         expected: dict[str, Any]) -> None:
    one = collective(body)
    assert (one.op, one.operands[0][0], one.operands[-1][0]) == (op, "dst", "src")
    assert attributes(one) == expected


def test_variable_counts_are_an_operand() -> None:
    def kernel(x: Any, counts: Any) -> None:
        collectives.all_to_all_v([x], [hbm(128, 64)], GROUP, counts)
    (one,) = traced(kernel, X, tensor("uint32", 3, 4))
    assert [operand[0] for operand in one.operands] == ["dst", "src", "index"]


PAIRS = [(collectives.all_gather_v_prepare, collectives.all_gather_v_trigger,
          collectives.all_gather_v),
         (collectives.all_to_all_v_prepare, collectives.all_to_all_v_trigger,
          collectives.all_to_all_v)]


@pytest.mark.parametrize(("prepare", "trigger", "whole"), PAIRS)
def test_a_prepared_collective_is_the_whole_one_where_it_is_triggered(prepare: Any, trigger: Any,
                                                                      whole: Any) -> None:
    def split(x: Any, counts: Any) -> None:
        for _ in range(2):
            src, dst = hbm(128, 64), hbm(512, 64)
            begun = prepare([src], [dst], GROUP, counts)
            filled = nisa.dma_copy(src, x)
            trigger(begun).depends_on(filled, begun)

    def at_once(x: Any, counts: Any) -> None:
        for _ in range(2):
            src, dst = hbm(128, 64), hbm(512, 64)
            filled = nisa.dma_copy(src, x)
            whole([src], [dst], GROUP, counts).depends_on(filled)
    arguments = X, tensor("uint32", 3, 4)
    assert [(one.op, one.places, one.attributes) for one in traced(split, *arguments)] == [
        (one.op, one.places, one.attributes) for one in traced(at_once, *arguments)]


def begun(x: Any) -> Any:
    return collectives.all_gather_v_prepare([x], [hbm(512, 64)], GROUP, x)


def triggered_twice(x: Any) -> None:
    one = begun(x)
    collectives.all_gather_v_trigger(one)
    collectives.all_gather_v_trigger(one)


@pytest.mark.parametrize(("body", "message"), [
    (begun, "all_gather_v_prepare: the kernel ends without all_gather_v_trigger"),
    (lambda x: (begun(x), begun(x)), r"all_gather_v_prepare: all_gather_v_prepare of .*py:\d+ has "
                                     "not been triggered, and there is room for one"),
    (triggered_twice, r"all_gather_v_trigger: all_gather_v_prepare of .*py:\d+ has been triggered "
                      "already; prepare it again"),
    (lambda x: collectives.all_to_all_v_trigger(begun(x)),
     "all_to_all_v_trigger: prepare_instr is all_gather_v_prepare's, but must be what "
     "all_to_all_v_prepare returned"),
    (lambda x: collectives.all_gather_v_trigger(None),
     "all_gather_v_trigger: prepare_instr is None, but must be what all_gather_v_prepare returned"),
    (lambda x: collectives.all_to_all_v_prepare([x, x], [x], GROUP, x),
     "all_to_all_v_prepare: srcs has 2 tensors, but must have one")])
def test_a_prepared_collective_is_triggered_once(body: Any, message: str) -> None:
    with pytest.raises(IllegalInstruction, match=r"test_collectives.py:\d+: " + message):
        trace(lambda x: body(x), [X], api="nki")


@pytest.mark.parametrize(("op", "operand", "groups"), [
    ("bitwise_and", 0, [[0, 1, 2, 3, 4, 5]]), ("bitwise_and", 1, [[0, 2, 4], [1, 3, 5]]),
    ("div", 4, [[0, 1, 2, 3], [4, 5]]), ("mod", 2, [[0, 2, 4], [1, 3, 5]])])
def test_ranks_with_the_same_result_are_one_list(op: str, operand: int,
                                                 groups: list[list[int]]) -> None:
    found = collectives.ReplicaGroup.from_partition_op(6, collectives.rg_partition_op[op], operand)
    assert found == collectives.ReplicaGroup(groups)


@pytest.mark.parametrize(("size", "op", "operand"), [(0, "div", 4), (8, "mod", 0), (8, None, 4)])
def test_lists_of_ranks_need_ranks_an_operation_and_an_operand(size: int, op: Any,
                                                               operand: int) -> None:
    member = collectives.rg_partition_op[op] if op else op
    with pytest.raises(IllegalInstruction, match="give a number of ranks, a member of rg_"):
        trace(lambda x: collectives.ReplicaGroup.from_partition_op(size, member, operand), [X],
              api="nki")


def test_the_traced_rank_is_known() -> None:
    def kernel(x: Any) -> None:
        tile = nl.ndarray((1, 64), dtype=nl.float32, buffer=nl.sbuf)
        for step in range(3):
            rank = collectives.collective_permute_implicit_current_processing_rank_id(step, GROUP)
            row = rank + collectives.rank_id()
            nisa.dma_copy(tile, x.ap([[64, 1], [1, 64]], scalar_offset=row))
    copies = [one for one in traced(kernel, X) if one.op == "dma_copy"]
    assert [one.operand("src")[6] for one in copies] == [0, 3 * 64, 2 * 64]
    assert set(ops(traced(kernel, X))) == {"register_move", "dma_copy"}


@pytest.mark.parametrize(("body", "message"), [
    (lambda x: collectives.all_reduce([x], [hbm(64, 64)], GROUP, nl.add),
     r"all_reduce: src is hbm float32\[128, 64\] and dst is hbm float32\[64, 64\]"),
    (lambda x: collectives.all_reduce([x], [hbm(128, 64)], [[0, 1], [1, 2]], nl.add),
     "must be lists of ranks that do not overlap"),
    (lambda x: collectives.all_reduce([x], [hbm(128, 64)], GROUP, nl.multiply),
     "op is multiply, but collectives reduce with add, minimum, maximum"),
    (lambda x: collectives.all_gather([x], [nl.ndarray((128, 256), dtype=nl.float32,
                                                       buffer=nl.sbuf)], GROUP, 1),
     "the tensors are in hbm and sbuf, but must all be"),
    (lambda x: collectives.collective_permute([x], [hbm(128, 64)], [(0, 1), (0, 2)]),
     "each rank sends at most once and receives at most once"),
    (lambda x: collectives.collective_permute([x], [hbm(128, 64)], [(0, 1), (2, 1)]),
     "each rank sends at most once and receives at most once"),
    (lambda x: collectives.collective_permute_implicit([[x]], [[hbm(128, 64)]], GROUP, [0, 1]),
     r"channel_ids is \[0, 1\] for 1 of dsts_by_channel; name 1 to 4 channels"),
    (lambda x: collectives.collective_permute_implicit_reduce(
        [[x]] * 5, [[x]] * 5, [[hbm(128, 64)]] * 5, GROUP, nl.add, range(5)),
     "5 of dsts_by_channel; name 1 to 4 channels"),
    (lambda x: collectives.all_gather([3], [hbm(128, 64)], GROUP, 1),
     "all_gather: srcs is 3, but must be a tensor")])
def test_a_wrong_collective_is_named_with_its_line(body: Any, message: str) -> None:
    with pytest.raises(IllegalInstruction, match=r"test_collectives.py:\d+: .*" + message):
        trace(lambda x: body(x), [X], api="nki")


def permuted(pairs: Any) -> Any:
    return lambda x: collectives.collective_permute([x], [hbm(128, 64)], pairs)


def reduced(group: Any) -> Any:
    return lambda x: collectives.all_reduce([x], [hbm(128, 64)], group, nl.add)


def ring(channel_ids: Any, srcs: int | None = None, each: int = 1) -> Any:
    """A ring with `each` tensors in every channel."""
    return lambda x: collectives.collective_permute_implicit(
        [[x] * each] * (srcs or len(channel_ids)), [[hbm(128, 64)]] * len(channel_ids), GROUP,
        channel_ids)


@pytest.mark.parametrize(("body", "message"), [
    (reduced([[0, -1]]), "all_reduce: replica_group names rank -1, but must name ranks from 0 to "
                         "65535; name those that run the kernel"),
    (reduced([[0, 65536]]), "all_reduce: replica_group names rank 65536, but must name ranks from"),
    (reduced([[0, 1], []]), r"all_reduce: replica_group is \[\[0, 1\], \[\]\], but must be lists of "
                            "ranks that do not overlap, each with a rank; name each rank once"),
    (reduced([]), r"all_reduce: replica_group is \[\], but must be lists of ranks"),
    (reduced(None), "all_reduce: replica_group is None, but must be lists of ranks; write"),
    (permuted([(0, -1)]), "collective_permute: source_target_pairs names rank -1, but must name "
                          "ranks from 0 to 65535"),
    (permuted([(65536, 0)]), "collective_permute: source_target_pairs names rank 65536, but must"),
    (permuted([]), r"source_target_pairs is \[\], but must be pairs .source, target.; give at lea"),
    (permuted([(0, 1), (2,)]), r"source_target_pairs is \[.0, 1., .2,.\], but must be pairs"),
    (permuted([(0, 1, 2)]), r"source_target_pairs is \[.0, 1, 2.\], but must be pairs"),
    (permuted(3), "collective_permute: source_target_pairs is 3, but must be lists of ranks")])
def test_ranks_are_those_of_a_trace(body: Any, message: str) -> None:
    with pytest.raises(IllegalInstruction, match=r"test_collectives.py:\d+: .*" + message):
        trace(lambda x: body(x), [X], api="nki")


def test_the_largest_rank_and_single_ranks_are_legal() -> None:
    assert attributes(collective(reduced([[65535, 0]])))["groups"] == [[65535, 0]]
    assert attributes(collective(reduced([[0], [1]])))["groups"] == [[0], [1]]
    assert attributes(collective(permuted([[0, 65535]])))["pairs"] == [[0, 65535]]


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
@pytest.mark.parametrize(("srcs", "dsts"), [(0, 0), (2, 1), (1, 2), (1, 0)])
def test_each_src_has_a_dst(name: str, srcs: int, dsts: int) -> None:
    options = {"op": nl.add} if name in ("all_reduce", "reduce_scatter") else {}
    if name != "all_reduce":
        options["collective_dim"] = 0
    rows = {"all_gather": 512, "reduce_scatter": 32}.get(name, 128)

    def kernel(x: Any) -> None:
        getattr(collectives, name)([x] * srcs, [hbm(rows, 64)] * dsts, GROUP, **options)
    message = (rf"test_collectives.py:\d+: {name}: srcs has {srcs} and dsts {dsts} tensors; give at "
               "least one src, and one dst for each")
    with pytest.raises(IllegalInstruction, match=message):
        trace(kernel, [X], api="nki")


@pytest.mark.parametrize(("name", "options", "rows"), [
    ("all_to_all", {}, 130), ("reduce_scatter", {"op": nl.add}, 32)])
def test_ranks_get_equal_parts(name: str, options: dict[str, Any], rows: int) -> None:
    """130 rows of 64 are a multiple of four in elements, but not in rows."""
    def kernel(x: Any) -> None:
        getattr(collectives, name)([x], [hbm(rows, 65 if rows == 32 else 64)], GROUP, 0, **options)
    message = (rf"test_collectives.py:\d+: {name}: src is hbm float32\[130, 64\], but 4 ranks get "
               "equal parts of dimension 0; make it a multiple of 4")
    with pytest.raises(IllegalInstruction, match=message):
        trace(kernel, [tensor("float32", 130, 64)], api="nki")


def test_tensors_fit_the_list_of_the_traced_rank() -> None:
    groups = [[1, 2, 3], [0, 4]]
    one = collective(lambda x: collectives.all_gather([x], [hbm(256, 64)], groups, 0))
    assert attributes(one)["groups"] == groups
    assert collective(lambda x: collectives.all_to_all([x], [hbm(128, 64)], groups)).op
    with pytest.raises(IllegalInstruction, match="in groups of 2 ranks; dst must have 16384 elem"):
        trace(lambda x: collectives.all_gather([x], [hbm(384, 64)], groups, 0), [X], api="nki")


@pytest.mark.parametrize(("body", "message"), [
    (ring([3]), r"collective_permute_implicit: channel_ids is \[3\], but must count from 0; write "
                r"\[0\]"),
    (ring([1, 0]), r"channel_ids is \[1, 0\], but must count from 0; write \[0, 1\]"),
    (ring([0, 0]), r"channel_ids is \[0, 0\], but must count from 0; write \[0, 1\]"),
    (ring([0, 1], srcs=1), r"channel_ids is \[0, 1\] for 1 of srcs_by_channel; name 1 to 4 chan"),
    (ring([0], each=2), "channel 0 has 2 tensors of srcs_by_channel, but must have one; use one "
                        "channel or one collective for each"),
    (lambda x: collectives.collective_permute_implicit([[x]], [[]], GROUP),
     "channel 0 has 0 tensors of dsts_by_channel, but must have one"),
    (lambda x: collectives.collective_permute_implicit([[x]], [[hbm(64, 64)]], GROUP),
     r"src is hbm float32\[128, 64\] and dst is hbm float32\[64, 64\] in groups of 4 ranks; dst "
     "must have 8192 elements"),
    (lambda x: collectives.collective_permute_implicit_reduce([[x]], [[hbm(64, 64)]],
                                                              [[hbm(128, 64)]], GROUP, nl.add),
     r"implicit_reduce: src is hbm float32\[64, 64\] and dst is hbm float32\[128, 64\]"),
    (lambda x: collectives.collective_permute_implicit_reduce([[x]], [[x], [x]],
                                                              [[hbm(128, 64)]], GROUP, nl.add),
     r"channel_ids is \[0\] for 2 of srcs1_by_channel; name 1 to 4 channels"),
    (lambda x: collectives.collective_permute_implicit_current_processing_rank_id(0, GROUP, 4),
     "current_processing_rank_id: channel_id is 4, but must be one of the channel_ids of the "
     "collective, 0 to 3")])
def test_channels_count_from_0_and_have_one_tensor_each(body: Any, message: str) -> None:
    with pytest.raises(IllegalInstruction, match=r"test_collectives.py:\d+: .*" + message):
        trace(lambda x: body(x), [X], api="nki")


def test_four_channels_are_one_operation() -> None:
    assert attributes(collective(ring(range(4))))["channels"] == 4
