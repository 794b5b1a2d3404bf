# SPDX-License-Identifier: Apache-2.0
# Registers, and loops whose bounds only the hardware knows.
"""register_*, dynamic_range, fori_loop, while_loop, `while register`."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trnsim
from helpers import ops, tensor, traced
from kernels import nisa, nki, nl
from trace_expander import expand, parse
from trnsim.frontend import IllegalInstruction, ProgramError, run_kernel, trace
from trnsim.frontend.nki import registers
from trnsim.frontend.nki.registers import DEFAULT_TRIPS

PACKAGE = str(Path(registers.__file__).parents[3])
TABLE = tensor("float32", 1024, 64)
COUNT = tensor("int32", 1, 1)


def loaded(count: Any) -> Any:
    rows = nisa.register_alloc()
    nisa.register_load(rows, count)
    return rows


def by_dynamic_range(table: Any, count: Any) -> Any:
    for i in nl.dynamic_range(loaded(count)):
        tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(tile, table.ap([[64, 128], [1, 64]], scalar_offset=i, indirect_dim=0))
    return table


def by_fori_loop(table: Any, count: Any) -> Any:
    def body(i: Any) -> None:
        tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(tile, table.ap([[64, 128], [1, 64]], scalar_offset=i, indirect_dim=0))
    nl.fori_loop(0, loaded(count), body)
    return table


def by_while_loop(table: Any, count: Any) -> Any:
    def body(rows: Any) -> Any:
        nl.load(table[0:128, 0:64])
        nisa.register_load(rows, count)
        return rows
    nl.while_loop(loaded(count), body)
    return table


def by_while(table: Any, count: Any) -> Any:
    rows = loaded(count)
    while rows:
        nl.load(table[0:128, 0:64])
        nisa.register_load(rows, count)
    return table


@pytest.mark.parametrize("kernel", [by_dynamic_range, by_fori_loop, by_while_loop, by_while])
def test_the_user_says_how_often_a_loop_runs(kernel: Any) -> None:
    program = trace(kernel, [TABLE, COUNT], trip_counts={"rows": 20})
    assert ops(expand(program.lines())).count("dma_copy") == 20
    assert parse(program.lines()).loops() == 1
    assert ["'rows' runs 20 times, as given" in note for note in program.notes] == [True]


@pytest.mark.parametrize("kernel", [by_dynamic_range, by_fori_loop, by_while_loop, by_while])
def test_without_that_a_count_is_assumed_and_noted(kernel: Any) -> None:
    program = trace(kernel, [TABLE, COUNT])
    assert ops(expand(program.lines())).count("dma_copy") == DEFAULT_TRIPS
    assert "give it with --assume rows=COUNT" in program.notes[0]
    assert parse(program.lines()).notes[0]["kind"] == "assumption"


@pytest.mark.parametrize("kernel", [by_dynamic_range, by_fori_loop, by_while_loop, by_while])
def test_an_order_is_kept_only_where_lengths_are_known(kernel: Any) -> None:
    def ordered(table: Any, count: Any) -> Any:
        with nl.no_reorder():
            return kernel(table, count)
    with pytest.raises(IllegalInstruction, match=r"test_registers.py:\d+: the loop over register "
                       r"'(rows|i)' is inside of nl.no_reorder, which takes loops of a known"):
        trace(ordered, [TABLE, COUNT])


def test_a_loop_of_the_run_time_says_so() -> None:
    lines = trace(by_dynamic_range, [TABLE, COUNT]).lines()
    assert any('"index":"i"' in line and '"kind":"runtime"' in line for line in lines)


def test_a_known_register_moves_the_access() -> None:
    def kernel(table: Any) -> None:
        row = nisa.register_alloc(3)
        tile = nl.ndarray((1, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(tile, table.ap([[64, 1], [1, 64]], scalar_offset=row * 2 + 1))
        nisa.dma_copy(tile, table.select(0, row).reshape((1, 64)))
    executed = traced(kernel, TABLE)
    assert ops(executed) == ["register_move"] * 3 + ["dma_copy"] * 2
    assert [one.operand("src")[6] for one in executed[3:]] == [7 * 64, 3 * 64]
    assert dict(executed[3].attributes)["dge"] == '"hardware"'


def gather_row(table: Any, row: Any, **mode: Any) -> None:
    tile = nl.ndarray((1, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(tile, table.ap([[64, 1], [1, 64]], scalar_offset=row), **mode)


@pytest.mark.parametrize("row", [1024, 5000])
def test_a_known_register_beyond_the_tensor_is_an_error(row: int) -> None:
    with pytest.raises(ProgramError, match=f"register 'row' is {row} and moves an access to "
                       f"elements {row * 64} to {row * 64 + 63} of 'table', which has 65536; keep "
                       "it in bounds; a DMA skips it with oob_mode=skip"):
        traced(lambda table: gather_row(table, registers.VirtualRegister(row, "row")), TABLE)


SKIP = nisa.oob_mode.skip


def test_what_a_register_moves_away_may_be_skipped() -> None:
    def kernel(table: Any) -> None:
        far, near = nisa.register_alloc(5000), nisa.register_alloc(5)
        for row in (far, near):
            gather_row(table, row, oob_mode=SKIP)
            tile = nl.zeros((1, 64), nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(table.ap([[64, 1], [1, 64]], scalar_offset=row), tile, oob_mode=SKIP)
            half = nl.zeros((64, 1), nl.float32, buffer=nl.sbuf)
            nisa.dma_transpose(half, table.ap([[64, 1], [1, 64]], scalar_offset=row),
                               oob_mode=SKIP)
    moves = [one.op for one in traced(kernel, TABLE) if one.op.startswith("dma")]
    assert moves == ["dma_copy", "dma_copy", "dma_transpose"]


def test_what_leaves_its_tensor_by_a_fixed_pattern_is_not_skipped() -> None:
    def kernel(table: Any) -> None:
        tile = nl.zeros((1, 64), nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(tile, table.ap([[64, 1], [1, 64]], offset=10**6), oob_mode=SKIP)
    with pytest.raises(ProgramError, match=r"^[^:]*:\d+: the access reaches elements 1000000 to "):
        traced(kernel, TABLE)


def test_a_view_that_leaves_its_tensor_is_named_by_whoever_uses_it() -> None:
    def kernel(table: Any) -> None:
        tile = nl.zeros((1, 64), nl.float32, buffer=nl.sbuf)
        view = table.ap([[64, 1], [1, 64]], offset=10**6)
        nisa.dma_copy(tile, view)
    with pytest.raises(ProgramError, match=r"uses the view of [^:]*:\d+: the access reaches"):
        traced(kernel, TABLE)


def by_comparison(table: Any, count: Any) -> None:
    rows = loaded(count)
    while rows > 0:
        nl.load(table[0:128, 0:64])
        nisa.register_load(rows, count)


def by_inequality(table: Any, count: Any) -> None:
    rows = loaded(count)
    while rows != 0:
        nl.load(table[0:128, 0:64])
        nisa.register_load(rows, count)


@pytest.mark.parametrize("kernel", [by_comparison, by_inequality])
def test_a_while_ends_that_compares_an_unknown_register(kernel: Any) -> None:
    program = trace(kernel, [TABLE, COUNT], "trn2", api="nki")
    text = "".join(program.lines())
    assert f"runs {DEFAULT_TRIPS} times: the value is not known" in text
    assert f'"count":{DEFAULT_TRIPS}' in text


def by_parts(table: Any, count: Any) -> None:
    rows, others = loaded(count), loaded(count)
    while (rows > 0
           and others):
        nl.load(table[0:128, 0:64])
        nisa.register_load(rows, count)


def by_negation(table: Any, count: Any) -> None:
    rows = loaded(count)
    while not (rows == 0 if table.ndim == 2 else False) or (
            nisa.register_alloc(0)):
        nl.load(table[0:128, 0:64])
        break


def conditions(table: Any, count: Any) -> None:
    rows = loaded(count)
    for _ in range(3):
        while count.ndim > 2:
            pass
        if (rows
                > 0):
            nl.load(table[0:128, 0:64])


@pytest.mark.parametrize(("kernel", "loads"), [
    (by_parts, DEFAULT_TRIPS), (by_negation, 0), (conditions, 3)])
def test_a_condition_is_that_of_a_while_wherever_its_parts_are(kernel: Any, loads: int) -> None:
    assert ops(traced(kernel, TABLE, COUNT)).count("dma_copy") == loads


def of_text(text: str, name: str) -> Any:
    names: dict[str, Any] = {"nl": nl, "nisa": nisa, "loaded": loaded}
    exec(compile(text, name, "exec"), names)
    return names["kernel"]


WHILE = """def kernel(count):
    rows = loaded(count)
    while rows:
        nisa.register_store(count, rows)
"""


def test_the_source_of_a_notebook_is_that_of_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<ipython-input-1-abc>"
    monkeypatch.setitem(linecache.cache, name, (len(WHILE), None, WHILE.splitlines(True), name))
    assert ops(traced(of_text(WHILE, name), COUNT)).count("register_store") == DEFAULT_TRIPS


def test_a_condition_is_that_of_the_version_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    for keyword, stores in (("while", DEFAULT_TRIPS), ("if", 1), ("while", DEFAULT_TRIPS)):
        text = WHILE.replace("while", f"count\n    {keyword}") + "    for _ in range(0):\n        pass\n"
        path.write_text(text)
        assert ops(traced(of_text(text, str(path)), COUNT)).count("register_store") == stores
    text = WHILE.replace("while", "count\n    count\n    while")
    with pytest.raises(IllegalInstruction, match="is not the source of this function"):
        traced(of_text(text, str(path)), COUNT)


def test_a_condition_is_not_looked_up_in_another_function(tmp_path: Path) -> None:
    path = tmp_path / "renamed.py"
    path.write_text(WHILE.replace("kernel", "others"))
    with pytest.raises(IllegalInstruction, match="is not the source of this function"):
        traced(of_text(WHILE, str(path)), COUNT)


def test_a_condition_without_columns_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("import nki\nimport nki.isa as nisa\n@nki.jit\ndef kernel(count):\n"
                    "    rows = nisa.register_alloc()\n    nisa.register_load(rows, count)\n"
                    "    while rows:\n        nisa.register_store(count, rows)\n")
    words = ["-m", "trnsim.frontend", f"{path}::kernel", "--arg", "int32[1,1]", "-o", "-"]
    plain = subprocess.run([sys.executable, "-X", "no_debug_ranges", *words], capture_output=True,
                           text=True, check=False, env={**os.environ, "PYTHONPATH": PACKAGE})
    assert plain.returncode == 3 and "plain.py:7: a register is a condition here" in plain.stderr
    assert "or Python keeps no columns (-X no_debug_ranges)" in plain.stderr


def test_a_condition_of_code_that_pytest_has_rewritten_is_that_of_its_source() -> None:
    def kernel(count: Any) -> None:
        assert count.ndim == 2
        rows = loaded(count)
        while rows > 0:
            nisa.register_store(count, rows)
    assert ops(traced(kernel, COUNT)).count("register_store") == DEFAULT_TRIPS


def test_a_condition_without_source_is_an_error_where_it_may_be_that_of_a_while() -> None:
    with pytest.raises(IllegalInstruction, match=r"<text>:3: a register is a condition here, but "
                       "whether of an `if` or a `while` cannot be told: <text> is not the source of "
                       r"this function, or Python keeps no columns \(-X no_debug_ranges\); put the "
                       "kernel into a file, or loop with nl.while_loop"):
        traced(of_text(WHILE, "<text>"), COUNT)
    branch = of_text(WHILE.replace("while", "if"), "<other>")
    assert ops(traced(branch, COUNT)).count("register_store") == 1


def test_an_unknown_condition_is_noted() -> None:
    def kernel(table: Any, count: Any) -> None:
        if loaded(count) == 3:
            nl.load(table[0:128, 0:64])
    program = trace(kernel, [TABLE, COUNT], "trn2", api="nki")
    assert program.depends_on_values and not program.unknown_bounds
    assert "the condition on register 'rows' holds: its value is not known" in "".join(
        program.lines())


def test_registers_are_not_compared_with_fractions() -> None:
    with pytest.raises(IllegalInstruction, match="takes integers and registers"):
        traced(lambda table: nisa.register_alloc(3) == 3.0, TABLE)


def test_a_loop_that_starts_at_an_unknown_place_has_assumed_iterations() -> None:
    def kernel(table: Any, count: Any) -> None:
        for _ in nl.dynamic_range(loaded(count), 100):
            nl.load(table[0:128, 0:64])
    assert sum(one.op == "dma_copy" for one in traced(kernel, TABLE, COUNT)) == DEFAULT_TRIPS


def test_an_access_in_assumed_iterations_stays_inside() -> None:
    def kernel(table: Any, count: Any) -> None:
        for i in nl.dynamic_range(loaded(count)):
            gather_row(table, i * 512)
    moves = [one for one in traced(kernel, TABLE, COUNT) if one.op == "dma_copy"]
    assert [one.operand("src")[6] for one in moves] == [0, 512 * 64] + 6 * [1023 * 64]


def test_what_leaves_its_tensor_in_assumed_iterations_says_so() -> None:
    def kernel(table: Any, count: Any) -> None:
        for i in nl.dynamic_range(loaded(count)):
            nl.load(table[i * 256:i * 256 + 128, 0:64])
    with pytest.raises(ProgramError, match="; how often the loop over register 'rows' runs is "
                       "assumed: say it with --assume rows=COUNT"):
        traced(kernel, TABLE, COUNT)


@pytest.mark.parametrize(("holds", "condition"), [
    (True, lambda r: r == 3), (False, lambda r: r == 4), (True, lambda r: r != 4),
    (False, lambda r: r != 3), (True, lambda r: r % 2 == 1), (True, lambda r: r == r + 0)])
def test_equality_of_registers_is_that_of_their_values(holds: bool, condition: Any) -> None:
    def kernel(table: Any) -> None:
        if condition(nisa.register_alloc(3)):
            nl.load(table[0:128, 0:64])
    assert ("dma_copy" in ops(traced(kernel, TABLE))) == holds


@pytest.mark.parametrize(("compute", "value"), [
    (lambda r: r + 2, 15), (lambda r: 2 + r, 15), (lambda r: r - 2, 11), (lambda r: 2 - r, -11),
    (lambda r: r * 2, 26), (lambda r: 2 * r, 26), (lambda r: r // 2, 6), (lambda r: 40 // r, 3),
    (lambda r: r % 5, 3), (lambda r: 40 % r, 1), (lambda r: r & 6, 4), (lambda r: r | 2, 15),
    (lambda r: r << 2, 52), (lambda r: r >> 2, 3), (lambda r: r < 13, 0), (lambda r: r <= 13, 1),
    (lambda r: r > 12, 1), (lambda r: r >= 14, 0), (lambda r: r == r, 1), (lambda r: r - r, 0)])
def test_registers_are_computed_with_one_instruction_each(compute: Any, value: int) -> None:
    found = []

    def kernel(table: Any) -> None:
        found.append(compute(nisa.register_alloc(13)).value)
    assert ops(traced(kernel, TABLE)) == ["register_move"] * 2
    assert found == [value]


def used_in_python(use: Any) -> Any:
    """A kernel with a loop whose number of iterations is known, and its index in a register."""
    def kernel(table: Any) -> None:
        nl.fori_loop(0, 3, use)
    return kernel


def dynamic(use: Any) -> Any:
    def kernel(table: Any) -> None:
        for i in nl.dynamic_range(3):
            use(i + 1)
    return kernel


@pytest.mark.parametrize("loop", [used_in_python, dynamic])
@pytest.mark.parametrize("use", [
    lambda i: [0, 1, 2, 3][i], range, int, float,
    lambda i: nl.ndarray((128, i), dtype=nl.float32, buffer=nl.sbuf)])
def test_a_register_is_no_integer_even_where_its_value_is_known(loop: Any, use: Any) -> None:
    with pytest.raises(IllegalInstruction, match="is used as an integer, but its value is only"):
        traced(loop(use), TABLE)


def test_an_instruction_computes_with_what_is_in_a_register() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(x)
        for i in nl.dynamic_range(3):
            nisa.tensor_scalar(tile, tile, op0=nl.add, operand0=i)
        nl.store(out, tile)
        return out
    found = trnsim.simulate(kernel, np.ones((128, 64), np.float32), values=True).outputs
    assert (np.asarray(found) == 1 + 0 + 1 + 2).all()


@pytest.mark.parametrize(("compute", "held"), [
    (lambda register: register + 1, -2**31), (lambda register: register * 2, -2),
    (lambda register: -2 - register, 2**31 - 1), (lambda register: register << 1, -2),
    (lambda register: register << 40, 0), (lambda register: register - 1, 2**31 - 2)])
def test_a_register_wraps_at_32_bits(compute: Any, held: int) -> None:
    found: list[Any] = []
    traced(lambda table: found.append(compute(nisa.register_alloc(2**31 - 1)).value), TABLE)
    assert found == [held]


def test_what_is_loaded_into_a_register_has_32_bits() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        nisa.register_store(out, nisa.register_alloc(nl.load(x)))
        return out
    found = run_kernel(kernel, np.full((1, 1), 2**32 - 2, np.uint32), api="nki")
    assert (np.asarray(found) == -2).all()


def test_a_register_does_not_say_whether_a_matmul_accumulates() -> None:
    def use(i: Any) -> None:
        nisa.nc_matmul(nl.ndarray((128, 64), nl.float32, nl.psum),
                       nl.ndarray((128, 128), nl.float32, nl.sbuf),
                       nl.ndarray((128, 64), nl.float32, nl.sbuf), accumulate=i > 0)
    with pytest.raises(IllegalInstruction, match="accumulate depends on register 'i', but must be "
                                                 "known when the kernel is built"):
        traced(used_in_python(use), TABLE)


def test_the_condition_of_a_while_loop_is_a_register() -> None:
    def wrong_start(table: Any) -> None:
        nl.while_loop(3, lambda condition: condition)

    def wrong_end(table: Any) -> None:
        nl.while_loop(nisa.register_alloc(3), lambda condition: 0)
    with pytest.raises(IllegalInstruction, match="while_loop: init is 3, but must be a register"):
        traced(wrong_start, TABLE)
    with pytest.raises(IllegalInstruction, match="body_fun returns 0, but must return the cond"):
        traced(wrong_end, TABLE)


def test_a_register_is_not_none() -> None:
    def kernel(table: Any) -> None:
        register = nisa.register_alloc(3)
        assert register != None and not register == None  # noqa: E711
        assert register in [None, register]
    assert ops(traced(kernel, TABLE)) == ["register_move"]


def test_a_condition_that_is_not_known_holds_once_per_question() -> None:
    def kernel(count: Any) -> None:
        rows = loaded(count)
        for _ in range(3):
            if rows:
                nisa.register_store(count, rows)
    assert ops(traced(kernel, COUNT)) == ["register_load"] + ["register_store"] * 3


def test_known_registers_end_a_while_loop() -> None:
    def kernel(count: Any) -> None:
        rows = nisa.register_alloc(3)
        while rows:
            nisa.register_store(count, rows)
            nisa.register_move(rows, rows - 1)
    assert ops(traced(kernel, COUNT)).count("register_store") == 3


def test_nested_while_loops_begin_again() -> None:
    def kernel(count: Any) -> None:
        for _ in range(2):
            rows = loaded(count)
            while rows:
                nisa.register_store(count, rows)
                nisa.register_load(rows, count)
    assert ops(traced(kernel, COUNT)).count("register_store") == 2 * DEFAULT_TRIPS


def test_a_register_is_made_from_the_element_of_a_tensor() -> None:
    assert ops(traced(lambda count: nisa.register_alloc(count), COUNT)) == ["register_load"]


def test_an_unknown_register_is_no_integer() -> None:
    with pytest.raises(IllegalInstruction, match=r"test_registers.py:\d+: register 'rows' is used "
                                                 "as an integer, but its value is only known"):
        trace(lambda count: by_range(count), [COUNT], api="nki")


def by_range(count: Any) -> None:
    for _ in range(loaded(count)):
        pass


def test_wrong_operands_are_named() -> None:
    with pytest.raises(IllegalInstruction, match=r"register_load: src is hbm float32\[1024, 64\]"):
        trace(lambda table: loaded(table), [TABLE], api="nki")
    with pytest.raises(IllegalInstruction, match="register_move: dst is 3, but must be a register"):
        trace(lambda table: nisa.register_move(3, 4), [TABLE], api="nki")
    with pytest.raises(IllegalInstruction, match="the step of a loop is 0, but must be a positive"):
        trace(lambda table: nl.dynamic_range(0, 4, 0), [TABLE], api="nki")
    with pytest.raises(IllegalInstruction, match="the step of a loop is <NkiTensor x .*, but must"):
        trace(lambda x: nl.fori_loop(0, 4, lambda i, carry: carry, x), [TABLE], api="nki")
    with pytest.raises(IllegalInstruction, match="body_fun returns None, but must return"):
        trace(lambda count: nl.while_loop(loaded(count), lambda r: None), [COUNT], api="nki")


def test_a_register_indexes_a_dimension() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
        tile, total = nl.load(x), nl.zeros((64, 32), nl.float32)

        def body(i: Any) -> None:
            assert tile[:, i].shape == (128, 64) and tile[:, 0, i].shape == (128, 1)
            nisa.tensor_tensor(total, total, tile[64:, i, ::2], nl.add)
            nisa.dma_copy(out, x[64:128, i, :32])
        nl.fori_loop(2, 5, body)
        nisa.dma_copy(tile[64:128, 0, :32], out)
        nisa.tensor_tensor(total, total, tile[64:128, 0, :32], nl.add)
        nisa.dma_copy(out, total)
        return out
    x = np.random.default_rng(0).random((128, 5, 64), np.float32)
    wanted = x[64:, 2:5, ::2].sum(axis=1) + x[64:, 4, :32]
    np.testing.assert_allclose(run_kernel(kernel, x, api="nki"), wanted, rtol=1e-6)
    with pytest.raises(IllegalInstruction, match="in its partitions, which is not possible"):
        traced(lambda table: nl.load(table[0:128])[nisa.register_alloc(3)], TABLE)


def test_a_slice_may_begin_at_a_register() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)

        def rows(i: Any) -> None:
            def columns(j: Any) -> None:
                part = tile[:, nl.ds(j, 16)]
                nisa.tensor_scalar(part, part, nl.multiply, 2.0)
            nisa.dma_copy(tile, x[nl.ds(i * 128, 128), :])
            nl.fori_loop(0, 32, columns, step=16)
            nisa.dma_copy(out[nl.ds(i * 128, 128)], tile)
        nl.fori_loop(0, 3, rows)
        return out
    x = np.random.default_rng(0).random((384, 64), np.float32)
    wanted = x * np.where(np.arange(64) < 32, 2, 1).astype(np.float32)
    assert np.array_equal(run_kernel(kernel, x, api="nki"), wanted)


@pytest.mark.parametrize(("index", "message"), [
    (lambda table, row: nl.load(table[0:128])[nl.ds(row, 32)], "in its partitions, which is not"),
    (lambda table, row: table[nl.ds(row, 2000)], "sliced 0:2000 in dimension 0, but that dimension"),
    (lambda table, row: nl.load(table[nl.ds(row + 1000, 32)]), "is 1001 and moves .* keep it in"),
    (lambda table, row: table[nl.ds(row, row)], "is used as an integer, but its value is only")])
def test_a_slice_at_a_register_stays_in_bounds(index: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        trace(lambda table: index(table, nisa.register_alloc(1)), [TABLE], api="nki")


@pytest.mark.parametrize("twice", [
    lambda table, row: table.select(0, row).select(0, row), lambda table, row: table[row, row],
    lambda table, row: table[nl.ds(row, 2), row]])
def test_selecting_twice_is_an_error(twice: Any) -> None:
    def kernel(table: Any) -> None:
        row = nisa.register_alloc(1)
        twice(table.reshape((8, 128, 64)), row)
    with pytest.raises(ProgramError, match="selected dynamically twice"):
        trace(kernel, [TABLE])


def test_a_moved_view_can_be_sliced() -> None:
    def kernel(table: Any) -> None:
        row = nisa.register_alloc(2)
        tile = nl.ndarray((1, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(tile, table.ap([[64, 1], [1, 64]], scalar_offset=row)[0:1, 32:64])
    assert traced(kernel, TABLE)[1].operand("src")[6] == 2 * 64 + 32


@pytest.mark.parametrize("use", [
    lambda register, x: nl.fori_loop(0, register, lambda i: None),
    lambda register, x: nl.while_loop(register, lambda condition: condition),
    lambda register, x: nisa.register_move(nisa.register_alloc(), register),
    lambda register, x: nisa.register_store(x[0:1, 0:1], register),
    lambda register, x: x.ap([[64, 1], [1, 64]], scalar_offset=register),
    lambda register, x: register + 1])
def test_a_register_that_nothing_has_set_is_told(use: Any) -> None:
    def kernel(x: Any) -> None:
        rows = nisa.register_alloc()
        use(rows, x)
    with pytest.raises(ProgramError, match="register 'rows' is used, but nothing has set it"):
        trace(kernel, [TABLE])


@pytest.mark.parametrize("left", [lambda i: i, lambda i: nl.zeros((1, 1), nl.float32), lambda i: [i]])
def test_what_the_body_of_a_counted_loop_returns_is_refused(left: Any) -> None:
    with pytest.raises(IllegalInstruction, match="fori_loop: body_fun returns a value, which a loop does not keep"):
        trace(lambda x: nl.fori_loop(0, 4, left), [TABLE], api="nki")


def warnings_of(body: Any) -> list[str]:
    """The warnings of a kernel that loops over body(i, tile)."""
    def kernel(table: Any) -> Any:
        tile = nl.load(table[0:128])
        nl.fori_loop(0, 3, lambda i: body(i, tile))
        nisa.dma_copy(table[0:128], tile)
        return table
    return [note for note in trace(kernel, [TABLE], api="nki").notes if "run time" in note]


def counting() -> Any:
    """A body that goes through the columns in Python."""
    columns = iter(range(64))
    return lambda i, tile: nisa.memset(tile[:, nl.ds(next(columns), 1)], 0.0)


def once() -> Any:
    """A body whose first iteration does more."""
    todo = [lambda tile: nisa.memset(tile, 0.0)]

    def body(i: Any, tile: Any) -> None:
        while todo:
            todo.pop()(tile)
        nisa.tensor_scalar(tile, tile, nl.add, 1.0)
    return body


def filling() -> Any:
    """A body that fills with another number each time."""
    numbers = iter(range(9))
    return lambda i, tile: nisa.memset(tile, next(numbers))


def adding() -> Any:
    """A body whose matmul overwrites first, and then accumulates."""
    product = []

    def body(i: Any, tile: Any) -> None:
        if not product:
            product.append(nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum))
        nisa.nc_matmul(product[0], tile, tile)
    return body


@pytest.mark.parametrize("make", [counting, once, filling, adding])
def test_iterations_of_the_run_time_that_differ_are_a_warning(make: Any) -> None:
    (warning,) = warnings_of(make())
    assert "iterations of this loop of the run time differ, at test_registers.py:" in warning


def test_iterations_of_the_run_time_may_move_by_registers_and_inner_loops() -> None:
    def body(i: Any, tile: Any) -> None:
        mine = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(mine, tile[:, nl.ds(i, 16)])
        nl.fori_loop(0, i, lambda j: nisa.tensor_scalar(mine, mine, nl.add, 1.0))
        nisa.tensor_copy(tile[:, 0:16], mine)
    assert warnings_of(body) == []


def never_zero(count: Any) -> None:
    nl.while_loop(nisa.register_alloc(3), lambda register: register)


def always_true(count: Any) -> None:
    register = nisa.register_alloc(3)
    while register:
        pass


@pytest.mark.parametrize("kernel", [never_zero, always_true])
def test_a_loop_that_never_ends_is_told(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registers, "MOST_TRIPS", 50)
    with pytest.raises(IllegalInstruction, match=r"test_registers.py:\d+: the loop over register "
                                                 r"'.*' has run 50 times and its condition is "
                                                 r"still 3; let its body"):
        trace(kernel, [COUNT], api="nki")


def test_the_index_of_a_dynamic_range_is_the_loops_own() -> None:
    def moved(count: Any) -> Any:
        for i in nl.dynamic_range(loaded(count)):
            nisa.register_move(i, 3)
        return count

    def read(count: Any) -> Any:
        for i in nl.dynamic_range(4):
            nisa.register_load(i, count)
        return count
    for kernel, op in ((moved, "register_move"), (read, "register_load")):
        with pytest.raises(IllegalInstruction, match=rf"{op}: dst is i, the index of a "
                           "dynamic_range, which only its loop changes"):
            trace(kernel, [COUNT], "trn2", api="nki")
