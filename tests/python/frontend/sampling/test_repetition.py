# SPDX-License-Identifier: Apache-2.0
# Rounds of iterations: predicted ones leave a folder as executed ones do.
from __future__ import annotations

import random
from typing import Any

import pytest
from trnsim.frontend import TensorArgument, dtype, install, trace
from trnsim.frontend.records.folding import Folder, LoopShape, ShapeTable
from trnsim.frontend.sampling.repetition import parts, repeat, step

install()
import neuronxcc.nki as nki  # noqa: E402
import neuronxcc.nki.compiler as ncc  # noqa: E402
import neuronxcc.nki.language as nl  # noqa: E402


def stream(seed: int) -> tuple[int, Any]:
    """A period, and the nodes and values of iterations that repeat with it."""
    one = random.Random(seed)
    period = one.randint(1, 4)
    kinds = one.randint(1, 3)
    bodies = [[one.randrange(kinds) for _ in range(one.randint(0, 3))] for _ in range(period)]
    starts = [[one.randrange(50) for _ in body] for body in bodies]
    moves = [[one.randrange(-1, 3) for _ in body] for body in bodies]
    odd = one.randint(0, 3)

    def iteration(at: int) -> tuple[list[int], list[int]]:
        number, place = divmod(at, period)
        nodes = list(bodies[place]) if at >= odd else [9]
        values = [start + number * move for start, move in zip(starts[place], moves[place])]
        return nodes, values if at >= odd else [at * at]
    return period, iteration


def folder() -> Folder:
    """A folder that knows the nodes of a stream."""
    made = Folder(ShapeTable(), "loop")
    for kind in range(10):
        made.table.add(kind, 1, 1)
    return made


def take(made: Folder, iteration: Any, start: int, end: int) -> None:
    """Executes iterations."""
    for at in range(start, end):
        nodes, values = iteration(at)
        if nodes:
            made.add(nodes, values)


def resolved(table: ShapeTable, shapes: Any) -> list[Any]:
    """Nodes as they are written, whatever their numbers."""
    return [(entry.trips, entry.deltas, resolved(table, entry.body))
            if isinstance(entry := table.entries[shape], LoopShape) else entry
            for shape in shapes]


def is_predicted(seed: int) -> bool:
    """Compares predicted and executed rounds of a stream; whether rounds were predicted."""
    period, iteration = stream(seed)
    rounds, ahead, tail = 9, 5 + seed % 7, seed % 3
    short, full, states = folder(), folder(), []
    for number in range(rounds):
        take(short, iteration, number * period, (number + 1) * period)
        states.append(parts(short))
    one = step(*states[-3:-1])
    if one is None or one != step(*states[-2:]):
        return False
    repeat(short, one, ahead)
    end = (rounds + ahead) * period
    take(full, iteration, 0, end)
    for made in (short, full):
        take(made, iteration, end, end + tail)
    (nodes, values), (expected, others) = short.finish(), full.finish()
    assert values == others
    assert resolved(short.table, nodes) == resolved(full.table, expected)
    return True


def test_rounds_that_are_predicted_fold_like_executed_ones() -> None:
    assert sum(map(is_predicted, range(1000))) > 700


def executed_iterations(count: int, body: Any) -> int:
    """How often the body of a loop runs."""
    bodies = 0

    @nki.jit
    def kernel(x: Any) -> Any:
        nonlocal bodies
        out = nl.ndarray((128, 4096), dtype=x.dtype, buffer=nl.shared_hbm)
        turns = nl.ndarray((count, nl.par_dim(128), 16), dtype=x.dtype,
                           buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(3,)))
        for one in nl.affine_range(count):
            bodies += 1
            body(out, x, turns, one)
        return out

    trace(kernel, [TensorArgument(dtype("bfloat16"), (128, 4096))])
    return bodies


def alternating(out: Any, x: Any, turns: Any, one: Any) -> None:
    nl.store(out[:, nl.ds(one % 2 * 16, 16)], nl.load(x[:, nl.ds(one * 16, 16)]))


def placed_in_turn(out: Any, x: Any, turns: Any, one: Any) -> None:
    turns[one] = nl.load(x[:, nl.ds(one * 16, 16)])
    nl.store(out[:, nl.ds(one * 16, 16)], turns[one])


def branching(out: Any, x: Any, turns: Any, one: Any) -> None:
    if one % 3 == 1:
        nl.store(out[:, nl.ds(one // 3 * 16, 16)], nl.load(x[:, nl.ds(one * 16, 16)]))


def squaring(out: Any, x: Any, turns: Any, one: Any) -> None:
    nl.store(out[:, nl.ds(one % 2 * 16, 16)], nl.load(x[:, nl.ds(one * one % 7 * 16, 16)]))


@pytest.mark.parametrize("body", [alternating, placed_in_turn, branching])
def test_a_loop_that_takes_turns_executes_a_few_rounds(body: Any) -> None:
    assert executed_iterations(240, body) <= 20


def test_a_loop_that_asks_for_more_is_executed_in_full() -> None:
    assert executed_iterations(240, squaring) == 240
