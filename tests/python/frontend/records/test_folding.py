# SPDX-License-Identifier: Apache-2.0
# Tests of loop compression by itself.
"""Folder: what goes in comes out again, and regular loops become small."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from trnsim.frontend.records.folding import Folder, LoopShape, ShapeTable

Stream = list[tuple[int, int]]


def leaves(table: ShapeTable, count: int) -> list[int]:
    return [table.add(f"leaf{index}", 1, 1) for index in range(count)]


def unfold(table: ShapeTable, shapes: list[int] | tuple[int, ...],
           values: list[int]) -> Iterator[tuple[int, int]]:
    """The (leaf, value) stream that nodes stand for."""
    place = 0
    for shape in shapes:
        entry, end = table.entries[shape], place + table.arity[shape]
        if isinstance(entry, LoopShape):
            for step in range(entry.trips):
                moved = [value + step * delta
                         for value, delta in zip(values[place:end], entry.deltas, strict=True)]
                yield from unfold(table, entry.body, moved)
        else:
            yield shape, values[place]
        place = end


def folded(table: ShapeTable, iterations: list[Stream]) -> tuple[list[int], list[int]]:
    folder = Folder(table, "loop")
    for iteration in iterations:
        folder.add([shape for shape, _ in iteration], [value for _, value in iteration])
    return folder.finish()


def check(table: ShapeTable, iterations: list[Stream]) -> tuple[list[int], list[int]]:
    shapes, values = folded(table, iterations)
    assert list(unfold(table, shapes, values)) == [one for part in iterations for one in part]
    return shapes, values


def test_affine_iterations_become_one_loop() -> None:
    table = ShapeTable()
    a, b = leaves(table, 2)
    shapes, values = check(table, [[(a, 3 * i), (b, 7 - i)] for i in range(100)])
    assert len(shapes) == 1 and values == [0, 7]
    assert table.entries[shapes[0]].trips == 100


def test_a_first_iteration_that_differs_is_peeled() -> None:
    table = ShapeTable()
    start, more = leaves(table, 2)
    shapes, _ = check(table, [[(start, 0)]] + [[(more, i)] for i in range(1, 64)])
    assert shapes[0] == start and table.entries[shapes[1]].trips == 63 and len(shapes) == 2


def test_a_last_iteration_that_differs_is_split_off() -> None:
    table = ShapeTable()
    a, b = leaves(table, 2)
    shapes, _ = check(table, [[(a, i)] for i in range(9)] + [[(b, 0)]])
    assert len(shapes) == 2


@pytest.mark.parametrize("period", [2, 3, 4, 8])
def test_positions_modulo_a_period_become_nested_loops(period: int) -> None:
    table = ShapeTable()
    (a,) = leaves(table, 1)
    shapes, _ = check(table, [[(a, i % period)] for i in range(40 * period)])
    assert len(shapes) == 1


def test_alternating_bodies_become_a_loop_over_pairs() -> None:
    table = ShapeTable()
    a, b = leaves(table, 2)
    shapes, _ = check(table, [[((a, b)[i % 2], i)] for i in range(100)])
    assert len(shapes) == 1 and table.entries[shapes[0]].trips == 50


def test_an_odd_alternation_leaves_one_iteration_over() -> None:
    table = ShapeTable()
    a, b = leaves(table, 2)
    shapes, _ = check(table, [[((a, b)[i % 2], i)] for i in range(101)])
    assert len(shapes) == 2


def test_bodies_that_differ_every_fourth_time_become_one_loop() -> None:
    table = ShapeTable()
    a, b = leaves(table, 2)
    shapes, _ = check(table, [[((a if i % 4 else b), 10 * i)] for i in range(400)])
    assert len(shapes) == 1


def test_nested_loops_of_equal_shape_merge() -> None:
    table = ShapeTable()
    (a,) = leaves(table, 1)
    outer = Folder(table, "outer")
    for i in range(10):
        outer.add(*folded(table, [[(a, 100 * i + j)] for j in range(20)]))
    shapes, values = outer.finish()
    assert len(shapes) == 1 and values == [0]
    assert [value for _, value in unfold(table, shapes, values)] == [
        100 * i + j for i in range(10) for j in range(20)]


@pytest.mark.parametrize("seed", range(60))
def test_any_sequence_unfolds_to_itself(seed: int) -> None:
    chance = random.Random(seed)
    table = ShapeTable()
    kinds = leaves(table, chance.randint(1, 3))
    bodies = [[chance.choice(kinds) for _ in range(chance.randint(1, 3))] for _ in range(3)]
    iterations: list[Stream] = []
    for index in range(chance.randint(1, 120)):
        body = chance.choice(bodies) if chance.random() < 0.2 else bodies[index % len(bodies)]
        noise = chance.random() < 0.1
        iterations.append([(shape, chance.randint(-9, 9) if noise else 4 * index + place)
                           for place, shape in enumerate(body)])
    check(table, iterations)


@pytest.mark.parametrize("more", [1, 5])
def test_repeating_is_adding_what_follows(more: int) -> None:
    table = ShapeTable()
    leaf = table.add("leaf", 1, 1)
    added, repeated = Folder(table, "i"), Folder(table, "i")
    for number in range(3):
        added.add([leaf], [7 + 4 * number])
        repeated.add([leaf], [7 + 4 * number])
    for number in range(3, 3 + more):
        added.add([leaf], [7 + 4 * number])
    repeated.repeat(more)
    assert repeated.finish() == added.finish()
