# SPDX-License-Identifier: Apache-2.0
# Edges of the schedule: depends_on and with_schedule.
"""Theorem: a trace says of each instruction what the kernel lets it run after, and nothing else of
it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import tensor
from kernels import nisa, nki, nl
from trace_expander import Executed, expand, expand_cores, parse
from trnsim.frontend import FrontendError, run_kernel, trace

X = tensor("float32", 128, 64)


def sbuf() -> Any:
    return nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def named(x: Any) -> Any:
    tile, first, second = nl.load(x), sbuf(), sbuf()
    nisa.reciprocal(first, tile, name="inverse")
    nisa.activation(second, nl.exp, tile, name="exp")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.tensor_tensor(first, first, second, nl.add, name="sum")
    nisa.dma_copy(out, first, name="store")
    return out


def edges(executed: list[Executed]) -> list[tuple[str, int | None, tuple[int, ...]]]:
    """Operations that are producers or depend on some."""
    return [(one.op, one.producer, one.depends_on) for one in executed
            if one.producer is not None or one.depends_on]


def edges_of(kernel: Any, *arguments: Any) -> list[tuple[str, int | None, tuple[int, ...]]]:
    return edges(expand(trace(kernel, arguments or [X]).lines()))


def test_named_instructions_run_after_others() -> None:
    assert edges_of(named) == []
    assert edges_of(named.with_schedule([("exp", "inverse")])) == [
        ("reciprocal", 0, ()), ("activation", None, (0,))]
    assert edges_of(named.with_schedule([("store", ["exp", "inverse"]), ("exp", ("inverse",))])) == [
        ("reciprocal", 0, ()), ("activation", 1, (0,)), ("dma_copy", None, (0, 1))]


@nki.jit
def filled(x: Any) -> Any:
    nisa.memset(sbuf(), value=3, name="inverse")
    nisa.memset(sbuf(), value=-4.0, name="exp")
    return x


@pytest.mark.parametrize("kernel", [named, filled])
def test_nothing_else_changes(kernel: Any) -> None:
    plain, scheduled = (expand(trace(one, [X]).lines())
                        for one in (kernel, kernel.with_schedule([("exp", "inverse")])))
    assert edges(scheduled)
    assert [one.operands for one in plain] == [one.operands for one in scheduled]
    assert [one.attributes for one in plain] == [one.attributes for one in scheduled]


def test_an_instruction_depends_on_others_that_it_is_given() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        copy = nisa.dma_copy(sbuf(), x)
        product = nisa.nc_matmul(nl.ndarray((64, 64), nl.float32, buffer=nl.psum), tile, tile)
        last = nisa.memset(sbuf(), value=0)
        assert last.depends_on(copy, product) is last
        nisa.dma_copy(sbuf(), x).depends_on(last).depends_on(product)
        return x
    assert edges_of(nki.jit(kernel)) == [
        ("dma_copy", 0, ()), ("nc_matmul", 1, ()), ("memset", 2, (0, 1)), ("dma_copy", None, (1, 2))]


def test_edges_of_loops_stay_loops() -> None:
    def kernel(x: Any) -> Any:
        before = None
        for number in range(200):
            step = nisa.memset(sbuf(), value=number)
            if before is not None:
                step.depends_on(before)
            before = nisa.memset(sbuf(), value=1.0, engine=nisa.engine.gpsimd)
        return x
    lines = trace(nki.jit(kernel), [X]).lines()
    executed = [one for one in expand(lines) if one.op == "memset"]
    assert [one.depends_on for one in executed[::2]] == [(), *((number,) for number in range(199))]
    assert [one.producer for one in executed[1::2]] == [*range(199), None]
    assert [dict(one.attributes)["value"] for one in executed[::2]] == [
        f"{number}.0" for number in range(200)]
    assert len(lines) < 40


def test_iterations_that_would_be_left_out_have_edges() -> None:
    def kernel(x: Any) -> Any:
        for _ in nl.affine_range(50):
            first = nisa.memset(sbuf(), value=0)
            nisa.activation(sbuf(), nl.exp, nl.load(x)).depends_on(first)
        return x
    found = edges_of(nki.jit(kernel))
    assert found == [one for number in range(50) for one in (
        ("memset", number, ()), ("activation", None, (number,)))]


def test_indirect_accesses_have_edges() -> None:
    def kernel(x: Any) -> Any:
        rows = nl.ndarray((128, 1), dtype=nl.int32, buffer=nl.sbuf)
        nisa.memset(rows, value=0)
        by_rows = x.ap([[64, 128], [1, 64]], vector_offset=rows)
        gather = nisa.dma_copy(sbuf(), by_rows, name="gather")
        psum = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
        moved = sbuf().ap([[64, 128], [1, 64]], scalar_offset=nisa.register_alloc(0),
                          indirect_dim=1)
        nisa.nc_matmul(psum, moved, sbuf(), name="product").depends_on(gather)
        return x
    expected = [("dma_copy", 0, ()), ("nc_matmul", None, (0,))]
    assert edges_of(nki.jit(kernel)) == expected
    assert edges_of(nki.jit(kernel).with_schedule([("product", "gather")])) == expected


def test_of_a_name_in_a_loop_the_latest_instruction_before_counts() -> None:
    def kernel(x: Any) -> Any:
        for _ in nl.affine_range(3):
            nisa.memset(sbuf(), value=0, name="set")
            nisa.activation(sbuf(), nl.exp, nl.load(x), name="exp")
        nisa.memset(sbuf(), value=1, name="last")
        return x
    assert edges_of(nki.jit(kernel).with_schedule([("exp", "set"), ("last", "set")])) == [
        ("memset", 0, ()), ("activation", None, (0,)), ("memset", 1, ()), ("activation", None, (1,)),
        ("memset", 2, ()), ("activation", None, (2,)), ("memset", None, (2,))]


def test_instructions_of_one_name_run_one_after_the_other() -> None:
    def kernel(x: Any) -> Any:
        for engine in (nisa.engine.vector, nisa.engine.gpsimd, nisa.engine.vector):
            nisa.memset(sbuf(), value=0, name="set", engine=engine)
        return x
    program = trace(nki.jit(kernel).with_schedule([("set", "set")]), [X])
    assert edges(expand(program.lines())) == [("memset", 0, ()), ("memset", 1, (0,)),
                                              ("memset", None, (1,))]
    assert not program.notes


def test_each_core_has_edges_of_its_own() -> None:
    def kernel(x: Any) -> Any:
        first = nisa.memset(sbuf(), value=0)
        if nl.program_id(0) == 1:
            nisa.memset(sbuf(), value=1).depends_on(first)
        return x
    cores = expand_cores(trace(nki.jit(kernel)[2], [X]).lines())
    assert [edges(one) for one in cores] == [[], [("memset", 0, ()), ("memset", None, (0,))]]
    named_two = named.with_schedule([("exp", "inverse")])[2]
    assert all(edges(one) for one in expand_cores(trace(named_two, [X]).lines()))


def test_an_order_against_the_program_is_told_and_not_obeyed() -> None:
    program = trace(named.with_schedule([("inverse", "exp"), ("sum", "exp")]), [X])
    assert edges(expand(program.lines())) == [("activation", 0, ()), ("tensor_tensor", None, (0,))]
    (note,) = parse(program.lines()).notes
    with_values = trace(named.with_schedule([("inverse", "exp")]), [X], values=True)
    assert parse(with_values.lines()).notes == [note]
    assert note["text"].startswith("an instruction is to run after that of ")
    assert note["text"].endswith("later in the program: that edge of the schedule is not obeyed")


def test_loops_of_the_run_time_take_edges_from_around_them_only() -> None:
    def kernel(x: Any, where: str) -> Any:
        count = nisa.register_alloc(3)
        first = nisa.memset(sbuf(), value=0)

        def body(_: Any) -> None:
            inside = nisa.memset(sbuf(), value=1)
            after = nisa.memset(sbuf(), value=2)
            after.depends_on(inside if where == "inside" else first)
            made.append(inside)
        made: list[Any] = []
        nl.fori_loop(0, count, body)
        if where == "behind":
            nisa.memset(sbuf(), value=3).depends_on(made[0])
        return x
    kernel = nki.jit(kernel)
    assert edges_of(kernel, X, "inside")[:2] == [("memset", 0, ()), ("memset", None, (0,))]
    assert edges_of(kernel, X, "around")[0] == ("memset", 0, ())
    with pytest.raises(FrontendError, match=r"test_schedule.py:\d+: the instruction runs after that "
                       r"of .*test_schedule.py:\d+, which is in a loop of the run time that it is"):
        trace(kernel, [X, "behind"])


def test_a_loop_in_a_loop_of_the_run_time_takes_edges_from_it() -> None:
    def kernel(x: Any) -> Any:
        def outer(_: Any) -> None:
            first = nisa.memset(sbuf(), value=0)

            def inner(_: Any) -> None:
                nisa.memset(sbuf(), value=1).depends_on(first)
            nl.fori_loop(0, nisa.register_alloc(2), inner)
        nl.fori_loop(0, nisa.register_alloc(3), outer)
        return x
    assert edges_of(nki.jit(kernel))[:2] == [("memset", 0, ()), ("memset", None, (0,))]


def test_what_is_left_out_has_no_edges() -> None:
    def kernel(x: Any) -> Any:
        row = nisa.register_alloc(200)
        away = x.ap([[64, 128], [1, 64]], scalar_offset=row)
        skipped = nisa.dma_copy(sbuf(), away, oob_mode=nisa.oob_mode.skip)
        first = nisa.memset(sbuf(), value=0)
        skipped.depends_on(first)
        nisa.memset(sbuf(), value=1).depends_on(skipped)
        return x
    assert edges_of(nki.jit(kernel)) == []


def test_values_are_computed_of_kernels_with_edges() -> None:
    data = np.random.default_rng(0).uniform(1, 2, (128, 64)).astype(np.float32)
    kernel = named.with_schedule([("exp", "inverse")])
    np.testing.assert_allclose(run_kernel(kernel, data), 1 / data + np.exp(data), rtol=1e-3)
    assert edges(expand(trace(kernel, [data], values=True).lines())) == edges_of(kernel)

    def chained(x: Any) -> Any:
        tile, out = nl.load(x), nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        first = nisa.memset(sbuf(), value=0)
        nisa.dma_copy(out, tile).depends_on(first)
        return out
    program = trace(nki.jit(chained), [data], values=True)
    assert edges(expand(program.lines())) == [("memset", 0, ()), ("dma_copy", None, (0,))]


@pytest.mark.parametrize(("given", "message"), [
    ([("exp", "invers")], r"kernel named: with_schedule: no instruction is named 'invers'; did you "
     "mean 'inverse'"),
    ([("x", "y")], r"with_schedule: no instruction is named 'x'; give one that name \(name=\)")])
def test_names_have_to_exist(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        trace(named.with_schedule(given), [X])


@pytest.mark.parametrize("edge", ["b", ("a",), ("a", 3), ("a", ["b", 3]), (3, "a"), 7])
def test_edges_are_pairs_of_names(edge: Any) -> None:
    with pytest.raises(FrontendError, match="is not a pair of the name of an instruction and the"):
        named.with_schedule([edge])


def test_an_instruction_does_not_run_after_itself() -> None:
    def kernel(x: Any) -> Any:
        first = nisa.memset(sbuf(), value=0)
        first.depends_on(first)
        return x
    message = r"test_schedule.py:\d+: the instruction is to run after itself; name another one"
    for wrong in (nki.jit(kernel), named.with_schedule([("exp", "exp")])):
        with pytest.raises(FrontendError, match=message):
            trace(wrong, [X])


def test_only_instructions_are_depended_on() -> None:
    def kernel(x: Any) -> Any:
        nisa.memset(sbuf(), value=0).depends_on("exp")
        return x
    with pytest.raises(FrontendError, match="depends_on: 'exp' is no instruction; pass what"):
        trace(nki.jit(kernel), [X])
