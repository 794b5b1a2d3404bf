# SPDX-License-Identifier: Apache-2.0
# Accesses whose place only the hardware knows.
"""Scalar and vector offsets, selection by a tensor, tensor indirection, read-modify-write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers import ops, program, tensor, traced
from kernels import nisa, nl
from trace_expander import Executed, parse
from trnsim.frontend import IllegalInstruction, ProgramError, UserError, trace

TABLE = tensor("float32", 64, 32)


def sbuf(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def roles(one: Executed) -> list[str]:
    return [operand[0] for operand in one.operands]


def attribute(one: Executed, name: str) -> Any:
    return json.loads(dict(one.attributes)[name])


def indirect_roles(kernel: Any, chip: str = "trn2") -> list[str]:
    lines = program(kernel, TABLE, chip=chip).lines()
    return [operand["role"] for line in lines if '"template"' in line
            for operand in json.loads(line).get("operands", ()) if "indirect" in operand]


def indirections(kernel: Any, chip: str = "trn2") -> list[list[tuple[str, Any, str]]]:
    """Of each template the operands that go by indices: role, `indirect`, the indices' buffer."""
    found = parse(program(kernel, TABLE, chip=chip).lines())
    result = []
    for template in found.templates.values():
        operands = template["operands"]
        by_role = {operand["role"]: operand for operand in operands}
        result.append([(operand["role"], which, found.buffers[
            (operands[which] if isinstance(which, int) else by_role[which])["buffer"]]["name"])
            for operand in operands if (which := operand.get("indirect")) is not None])
    return result


def test_a_scalar_offset_is_an_operand() -> None:
    def kernel(table: Any) -> None:
        row, tile = sbuf(1, 1, dtype=nl.int32), sbuf(1, 32)
        nisa.dma_copy(tile, table.ap([[32, 1], [1, 32]], scalar_offset=row))
    (one,) = traced(kernel, TABLE)
    assert roles(one) == ["dst", "src", "index"]
    assert attribute(one, "dge") == "hardware"
    assert indirect_roles(kernel) == ["src"]


def test_a_gather_may_have_more_rows_than_the_table() -> None:
    def kernel(table: Any) -> None:
        rows, tile = sbuf(128, 1, dtype=nl.int32), sbuf(128, 32)
        nisa.dma_copy(tile, table.ap([[32, 128], [1, 32]], vector_offset=rows))
    (one,) = traced(kernel, TABLE)
    assert one.operand("src")[4] == ((1, 4096),)
    assert attribute(one, "dge") == "software"


def test_columns_are_counted_in_whole_numbers() -> None:
    with pytest.raises(UserError, match="num_elem is 2.5, but must be an integer"):
        trace(lambda table: sbuf(128, 256).indirect(sbuf(128, 4, dtype=nl.uint16), 2.5), [TABLE], "trn3", api="nki")


@pytest.mark.parametrize(("rows", "dge"), [(1, "hardware"), (2, "software")])
def test_hardware_describes_what_moves_as_one(rows: int, dge: str) -> None:
    def kernel(table: Any) -> None:
        index, tile = sbuf(rows, 1, dtype=nl.int32), sbuf(rows, 32)
        nisa.dma_copy(tile, table.ap([[32, rows], [1, 32]], vector_offset=index))
    (one,) = traced(kernel, TABLE)
    assert attribute(one, "dge") == dge


def test_a_gather_before_v3_is_warned_of() -> None:
    def kernel(table: Any) -> None:
        rows, tile = sbuf(128, 1, dtype=nl.int32), sbuf(128, 32)
        nisa.dma_copy(tile, table.ap([[32, 128], [1, 32]], vector_offset=rows))
    for chip, count in (("trn1", 1), ("trn2", 0)):
        lines = trace(kernel, [TABLE], chip).lines()
        assert sum("has from NeuronCore-v3 on" in line for line in lines) == count


def test_a_scatter_is_indexed_at_its_destination() -> None:
    def kernel(table: Any) -> None:
        rows, tile = sbuf(64, 1, dtype=nl.int32), sbuf(64, 32)
        nisa.dma_copy(table.ap([[32, 64], [1, 32]], vector_offset=rows), tile)
    assert indirect_roles(kernel) == ["dst"]


def test_indices_count_from_inside_the_table() -> None:
    def kernel(table: Any) -> None:
        table.ap([[32, 64], [1, 32]], offset=64 * 32, vector_offset=sbuf(64, 1, dtype=nl.int32))
    with pytest.raises(ProgramError, match="the indices count from element 2048 of 'table'"):
        trace(kernel, [TABLE])


def test_compute_engines_take_a_moved_start() -> None:
    def kernel(table: Any) -> None:
        column, data, tile = sbuf(1, 1, dtype=nl.int32), sbuf(128, 8, 32), sbuf(128, 32)
        nisa.tensor_copy(tile, data.select(1, column))
    (one,) = traced(kernel, TABLE)
    assert (one.op, roles(one)) == ("tensor_copy", ["dst", "data", "index"])


@pytest.mark.parametrize(("body", "message"), [
    (lambda rows, index: rows[32:], "is sliced or selected in dimension 0, of which 'sbuf_0'"),
    (lambda rows, index: rows[3], "is sliced or selected in dimension 0, of which 'sbuf_0'"),
    (lambda rows, index: rows.slice(0, 0, 8), "is sliced or selected in dimension 0"),
    (lambda rows, index: rows.view(nl.int32), "is viewed as int32 after 'sbuf_0' has selected"),
    (lambda rows, index: rows.vector_select(0, index), "is selected dynamically twice"),
    (lambda rows, index: rows.ap([[32, 16], [1, 32]]), "is given an access pattern after"),
    (lambda rows, index: rows.permute((1, 0)), r"becomes \[32, 64\], but 'sbuf_0' selects"),
    (lambda rows, index: rows.reshape((32, 64)), r"becomes \[32, 64\], but 'sbuf_0' selects"),
])
def test_selected_rows_stay_as_they_are(body: Any, message: str) -> None:
    def kernel(table: Any) -> None:
        index = sbuf(64, 1, dtype=nl.uint32)
        body(table.vector_select(0, index), index)
    with pytest.raises(IllegalInstruction, match=message) as error:
        trace(kernel, [TABLE])
    assert "test_indirect.py:" in str(error.value)


def test_what_is_not_selected_is_sliced_and_reshaped() -> None:
    def kernel(table: Any) -> None:
        rows = table.vector_select(0, sbuf(64, 1, dtype=nl.uint32))[:, 8:24].reshape((64, 4, 4))
        nisa.dma_copy(sbuf(64, 4, 4), rows[0:64])
    (one,) = traced(kernel, TABLE)
    assert roles(one) == ["dst", "src", "index"] and one.operand("src")[6] == 8


def test_selected_columns_are_not_sliced() -> None:
    def kernel(table: Any) -> None:
        sbuf(128, 256).indirect(sbuf(128, 4, dtype=nl.uint16))[:, 0:64]
    with pytest.raises(IllegalInstruction, match="sliced or selected in dimension 1"):
        trace(kernel, [TABLE], "trn3")


def test_a_matmul_takes_columns_by_index() -> None:
    def kernel(table: Any) -> None:
        ones, data = sbuf(128, 64, dtype=nl.bfloat16), sbuf(128, 64, dtype=nl.bfloat16)
        first = nl.ndarray((128, 4), dtype=nl.uint16, buffer=nl.sbuf, name="first")
        second = nl.ndarray((128, 4), dtype=nl.uint16, buffer=nl.sbuf, name="second")
        for stationary in (ones, ones.indirect(first, 64)):
            result = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(result, stationary, data)
            nisa.nc_matmul(result, stationary, data.indirect(second, 64))
    executed = traced(kernel, TABLE, chip="trn3")
    assert [attribute(one, "start") for one in executed] == [True, False] * 2
    assert [roles(one)[3:] for one in executed] == [[], ["index"], ["index"], ["index"] * 2]
    assert indirections(kernel, "trn3") == [
        [], [("moving", "index", "second")], [("stationary", "index", "first")],
        [("stationary", 3, "first"), ("moving", 4, "second")]]


def test_one_instruction_gathers_and_scatters() -> None:
    def kernel(table: Any) -> None:
        data, tile = sbuf(128, 8, 32), sbuf(64, 32)
        column = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf, name="column")
        other = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf, name="other")
        rows = nl.ndarray((64, 1), dtype=nl.int32, buffer=nl.sbuf, name="rows")
        nisa.tensor_copy(data.select(1, column), data.select(1, other))
        nisa.tensor_copy(data.select(1, column), data.select(1, column[0:1]))
        nisa.dma_copy(table.ap([[32, 64], [1, 32]], vector_offset=rows), tile.ap(
            [[32, 64], [1, 32]], scalar_offset=column))
        nisa.tensor_tensor(data.select(1, other), data.select(1, column), data.select(1, other),
                           op=nl.add)
    assert indirections(kernel) == [
        [("dst", 2, "column"), ("data", 3, "other")],
        [("dst", "index", "column"), ("data", "index", "column")],
        [("dst", 2, "rows"), ("src", 3, "column")],
        [("dst", 3, "other"), ("data1", 4, "column"), ("data2", 3, "other")]]
    assert [attribute(one, "dge") for one in traced(kernel, TABLE) if one.op == "dma_copy"] == [
        "software"]


def test_a_gather_by_its_own_indices_may_be_of_selected_data() -> None:
    def kernel(table: Any) -> None:
        wanted = nl.ndarray((128, 16), dtype=nl.uint32, buffer=nl.sbuf, name="wanted")
        column = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf, name="column")
        data = sbuf(128, 8, 32)
        nisa.nc_n_gather(sbuf(128, 16), data.select(1, column), wanted)
    assert indirections(kernel) == [[("data", "index", "column")]]


def test_a_line_may_select_by_one_tensor_and_then_by_another() -> None:
    def kernel(table: Any) -> None:
        data = sbuf(128, 8, 32)
        first = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf, name="first")
        second = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf, name="second")
        for one, two in ((first, second), (first, first), (second, first)):
            nisa.tensor_tensor(data.select(1, first), data.select(1, one), data.select(1, two),
                               op=nl.add)
    assert indirections(kernel) == [
        [("dst", 3, "first"), ("data1", 3, "first"), ("data2", 4, "second")],
        [("dst", "index", "first"), ("data1", "index", "first"), ("data2", "index", "first")],
        [("dst", 3, "first"), ("data1", 4, "second"), ("data2", 3, "first")]]


def test_scatter_adds_by_dma() -> None:
    def kernel(table: Any) -> None:
        rows, tile = sbuf(64, 1, dtype=nl.int32), sbuf(64, 32)
        there = table.ap([[32, 64], [1, 32]], vector_offset=rows)
        nisa.dma_compute(there, [there, tile], reduce_op=nl.add)
    (one,) = traced(kernel, TABLE)
    assert (one.op, roles(one)) == ("dma_compute", ["dst", "src", "src", "index"])
    assert attribute(one, "dge") == "software"


def test_dma_compute_says_what_it_cannot() -> None:
    def kernel(count: int, **options: Any) -> Any:
        def body(table: Any) -> None:
            tiles = [sbuf(64, 32) for _ in range(count)]
            nisa.dma_compute(table, tiles, reduce_op=nl.add, **options)
        return body
    with pytest.raises(IllegalInstruction, match="dma_compute: 17 sources, but 1 to 16 are added"):
        trace(kernel(17), [TABLE])
    with pytest.raises(IllegalInstruction, match=r"scales is \[1.0, 2.0\], but only 1.0"):
        trace(kernel(2, scales=[1.0, 2.0]), [TABLE])


    with pytest.raises(IllegalInstruction, match="scales has 3 numbers for 2 sources, but each has"):
        trace(kernel(2, scales=[1.0] * 3), [TABLE])
    for reduce_op in (None, nl.multiply):
        with pytest.raises(IllegalInstruction, match="reduce_op=None is not a|reduce_op is multiply"):
            trace(lambda table, op=reduce_op: nisa.dma_compute(sbuf(64, 32), [sbuf(64, 32)], op),
                  [TABLE])


def added(dst: Any, *srcs: Any) -> Any:
    """A dma_compute of tensors that are given by name: rows of the table, and two tiles."""
    def kernel(table: Any) -> None:
        first, second = (sbuf(64, 1, dtype=nl.int32) for _ in range(2))
        views = {"tile": sbuf(64, 32), "other": sbuf(64, 32)}
        views |= {name: table.ap([[32, 64], [1, 32]], vector_offset=rows)
                  for name, rows in (("rows", first), ("others", second))}
        nisa.dma_compute(views[dst], [views[one] for one in srcs], nl.add)
    return kernel


@pytest.mark.parametrize("names", [
    ("tile", "other", "rows"), ("tile", "rows", "others"), ("rows", "tile", "others"),
    ("rows", "tile", "other"), ("rows", "rows", "others"), ("tile", "rows", "rows")])
def test_an_indirect_dma_compute_adds_to_what_it_reads(names: tuple[str, ...]) -> None:
    with pytest.raises(IllegalInstruction, match=r"test_indirect.py:\d+: dma_compute: dst is '\w+' "
                       "(by|without) indices, and srcs are '.* indices, but it adds a tensor to dst"):
        trace(added(*names), [TABLE], api="nki")


@pytest.mark.parametrize("names", [
    ("tile", "tile", "rows"), ("tile", "rows", "tile"), ("rows", "rows", "tile"),
    ("rows", "tile", "rows")])
def test_a_gather_adds_to_a_tile_and_a_scatter_to_rows(names: tuple[str, ...]) -> None:
    assert ops(traced(added(*names), TABLE)) == ["dma_compute"]


def test_adding_rows_is_warned_of_where_a_guide_does_not_have_it() -> None:
    def notes(chip: str) -> list[str]:
        return [note for note in trace(added("tile", "tile", "rows"), [TABLE], chip, api="nki").notes
                if "dma_compute gathers or scatters by a vector_offset" in note]
    assert (len(notes("trn1")), len(notes("trn2"))) == (1, 0)


@pytest.mark.parametrize(("how", "index", "kind", "message"), [
    ("vector_offset", (32, 1), nl.int32,
     r"'table' of 64 rows has the vector_offset 'sbuf_0', sbuf int32\[32, 1\], but must have one index "
     r"for each, \[64, 1\]; slice or reshape it"),
    ("vector_offset", (64, 2), nl.uint32, "'table' of 64 rows has the vector_offset 'sbuf_0', sbuf uint"),
    ("vector_offset", (64, 1), nl.int16, "'table' has the vector_offset 'sbuf_0', int16, but must have "
                                         "int32 or uint32; copy it into one"),
    ("scalar_offset", (1, 2), nl.int32,
     r"'table' has the scalar_offset 'sbuf_0', sbuf int32\[1, 2\], but one element moves all of it"),
    ("scalar_offset", (64, 1), nl.int32, ".* but one element moves all of it; slice it"),
    ("scalar_offset", (1, 1), nl.uint8, "'table' has the scalar_offset 'sbuf_0', uint8, but must have"),
])
def test_the_indices_of_a_dma_are_one_in_all_or_one_for_a_row(
        how: str, index: tuple[int, int], kind: Any, message: str) -> None:
    def kernel(table: Any) -> None:
        rows = sbuf(*index, dtype=kind)
        nisa.dma_copy(sbuf(64, 32), table.ap([[32, 64], [1, 32]], **{how: rows}))
    with pytest.raises(IllegalInstruction, match=rf"test_indirect.py:\d+: dma_copy: {message}"):
        trace(kernel, [TABLE], api="nki")


def columns(count: int | None = None, partitions: int = 16) -> Any:
    def kernel(table: Any) -> None:
        index, data = sbuf(partitions, 4, dtype=nl.uint16), sbuf(partitions, 256)
        found = sbuf(partitions, 4 * partitions if count is None else count)
        nisa.tensor_copy(found, data.indirect(index, count))
    return kernel


def test_tensor_indirection_has_the_shape_of_its_indices() -> None:
    (one,) = traced(columns(), TABLE, chip="trn3")
    assert roles(one) == ["dst", "data", "index"]
    assert indirect_roles(columns(40), "trn3") == ["data"]


def test_tensor_indirection_needs_a_v4_core() -> None:
    with pytest.raises(IllegalInstruction, match="accessed indirectly, which needs NeuronCore-v4"):
        trace(columns(), [TABLE])
    with pytest.raises(IllegalInstruction, match="accessed by 600 of 64 indices"):
        trace(columns(600), [TABLE], "trn3")


@pytest.mark.parametrize(("count", "partitions", "held"), [
    (None, 128, "64 for 16"), (65, 32, "64 for 16"), (33, 24, "32 for 8")])
def test_a_group_of_partitions_has_an_index_for_each_column(count: int | None, partitions: int,
                                                            held: str) -> None:
    message = (f"src is 'sbuf_1' with .indirect.. by {count or 4 * partitions} indices, but each 16 "
               f"partitions select by their own, of which 'sbuf_0' has {held}; pass num_elem")
    with pytest.raises(IllegalInstruction, match=message):
        trace(columns(count, partitions), [TABLE], "trn3")
    assert indirect_roles(columns(int(held.split()[0]), partitions), "trn3") == ["data"]


def test_a_shuffle_may_read_fewer_partitions_than_it_writes() -> None:
    def kernel(table: Any) -> None:
        nisa.nc_stream_shuffle(sbuf(32, 8), sbuf(1, 8), [0] * 32)
    assert ops(traced(kernel, TABLE)) == ["nc_stream_shuffle"]

    def wrong(table: Any) -> None:
        nisa.nc_stream_shuffle(sbuf(32, 8), sbuf(1, 4), [0] * 32)
    with pytest.raises(IllegalInstruction, match="the same elements per partition"):
        trace(wrong, [TABLE])


def test_positions_of_matches_and_of_the_largest_are_results() -> None:
    def kernel(table: Any) -> None:
        data, eight = sbuf(128, 64), sbuf(128, 8)
        nisa.nc_match_replace8(data, data, eight, 0.0, sbuf(128, 8, dtype=nl.uint32))
        nisa.topk(sbuf(128, 8, dtype=nl.bfloat16), sbuf(128, 8, dtype=nl.uint32),
                  sbuf(128, 4, dtype=nl.bfloat16), n=50)
    replaced, largest = traced(kernel, TABLE)
    assert replaced.operand("dst_index")[1] == largest.operand("dst_index")[1] == "write"
    assert (attribute(largest, "k"), attribute(largest, "n")) == (8, 50)


def test_looking_up_and_drawing_are_lowered() -> None:
    def kernel(table: Any) -> None:
        nl.random_seed(7)
        nl.gather_flattened(sbuf(128, 64), sbuf(128, 8, dtype=nl.int32))
        nl.rand((128, 4), nl.bfloat16)
    assert ops(traced(kernel, TABLE)) == ["memset", "set_rng_seed", "tensor_copy", "nc_n_gather",
                                          "rng", "tensor_scalar"]
