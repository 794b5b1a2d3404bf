# SPDX-License-Identifier: Apache-2.0
# Loop compression: turns the iterations of a loop, one at a time, into affine loop nodes.
"""On-line loop compression.

A *node* of the program is a small integer (its shape in the ShapeTable) and zero or more *values*:
one per instruction, the packed positions of its operands (see recorder.py). Shapes are what must be
equal between iterations, values are what may move by a constant per iteration. An instruction has
one value, an `alloc` has none, and a loop has as many as its body: those of its first iteration.
What moves inside the loop, the deltas per iteration, belongs to its shape.

Folder receives one iteration after the other and keeps only the open run of equal iterations (first
and last values, delta, count) and the finished pieces. Pieces are folded again: `A B A B A B`, or
positions that go 0 1 0 1 0 1, become a loop of pairs. Nothing is approximated: an iteration that
does not continue the run exactly starts a new piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub
from typing import Any, NamedTuple

MAXIMUM_PERIOD = 8
"""Longest pattern of pieces in a loop that is looked for: modulo-8 buffering. [ASSUMED]"""
UNMARKED_PERIOD = 64
"""Longest body of a repetition without loop marks (a `while`) that is looked for. [ASSUMED]"""


class LoopShape(NamedTuple):
    """A loop: `deltas` has one entry per value of the body, added once per iteration."""

    trips: int
    origin: Any
    body: tuple[int, ...]
    deltas: tuple[int, ...]


class ShapeTable:
    """Interned shapes of nodes: templates, allocations and loops, numbered together."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self.arity: list[int] = []
        self.executed: list[int] = []
        self._loops: dict[LoopShape, int] = {}

    def add(self, entry: Any, arity: int, executed: int) -> int:
        """A new leaf: `arity` values, `executed` instructions."""
        self.entries.append(entry)
        self.arity.append(arity)
        self.executed.append(executed)
        return len(self.entries) - 1

    def loop(self, shape: LoopShape) -> int:
        """The number of a loop shape."""
        found = self._loops.get(shape)
        if found is None:
            executed = self.executed
            once = sum(executed[node] for node in shape.body)
            found = self._loops[shape] = self.add(shape, len(shape.deltas), shape.trips * once)
        return found


class Piece:
    """A finished part of a loop: `count` equal iterations of a body; 1 means that it ran once."""

    __slots__ = ("count", "body", "first", "last", "deltas", "mark")

    def __init__(self, count: int, body: tuple[int, ...], first: list[int], last: list[int],
                 deltas: list[int]) -> None:
        self.count = count
        self.body = body
        self.first = first
        self.last = last
        self.deltas = deltas
        self.mark = hash((body, tuple(deltas) if count > 1 else ()))
        """Equal for pieces that are alike: tells most others apart at once."""

    def repeat(self, count: int) -> None:
        """Adds `count` iterations that follow from the last one."""
        self.count += count
        self.last = moved(self.last, self.deltas, count)

    def is_like(self, other: Piece) -> bool:
        """Whether both are the same node, wherever they start."""
        return (self.count == other.count and self.body == other.body
                and (self.count == 1 or self.deltas == other.deltas))


def moved(values: Sequence[int], steps: Sequence[int], count: int) -> list[int]:
    """Values that have taken their steps `count` times."""
    return [value + count * step for value, step in zip(values, steps, strict=True)]


_NOTHING: list[int] = []
"""Never changed: what a loop holds before its first iteration."""


class Folder:
    """Collects the iterations of one loop."""

    __slots__ = ("table", "origin", "period", "keeps_single", "pieces", "count", "shapes",
                 "first", "last", "deltas")

    def __init__(self, table: ShapeTable, origin: Any, period: int = MAXIMUM_PERIOD,
                 keeps_single: bool = False) -> None:
        self.table = table
        self.origin = origin
        self.period = period
        self.keeps_single = keeps_single
        self.pieces: list[Piece] = []
        self.count = 0
        self.shapes = self.first = self.last = self.deltas = _NOTHING

    def add(self, shapes: list[int], values: list[int]) -> None:
        """One iteration. Takes ownership of both lists."""
        if self.count:
            if shapes == self.shapes:
                deltas = list(map(sub, values, self.last))
                if self.count == 1 or deltas == self.deltas:
                    self.deltas = deltas
                    self.count += 1
                    self.last = values
                    return
            self._close_run()
        self.count = 1
        self.shapes = shapes
        self.first = self.last = values

    def repeat(self, count: int) -> None:
        """Adds `count` iterations that follow from the last one as it does from the one before."""
        self.count += count
        self.last = moved(self.last, self.deltas, count)

    def finish(self) -> tuple[list[int], list[int]]:
        """The whole loop as nodes and values, for the enclosing body."""
        if self.count and not self.pieces:
            return self._run_alone(), self.first
        if self.count:
            self._close_run()
        shapes: list[int] = []
        values: list[int] = []
        for piece in self.pieces:
            shapes += self._nodes(piece)
            values += piece.first
        self.pieces = []
        return shapes, values

    def _run_alone(self) -> list[int]:
        """The nodes of a loop all of whose iterations are one run."""
        if self.count == 1 and not self.keeps_single:
            return self.shapes
        deltas = tuple(self.deltas) if self.count > 1 else (0,) * len(self.first)
        return [self.table.loop(LoopShape(self.count, self.origin, tuple(self.shapes), deltas))]

    def _nodes(self, piece: Piece) -> tuple[int, ...]:
        if piece.count == 1 and not self.keeps_single:
            return piece.body
        deltas = piece.deltas if piece.count > 1 else [0] * len(piece.first)
        return (self.table.loop(
            LoopShape(piece.count, self.origin, piece.body, tuple(deltas))),)

    def _close_run(self) -> None:
        piece = Piece(self.count, tuple(self.shapes), self.first, self.last, self.deltas)
        self.count = 0
        self.pieces.append(piece)
        while self._fold_tail():
            pass

    def _fold_tail(self) -> bool:
        """Merges the last pieces into a loop over several of them, or extends such a loop."""
        pieces = self.pieces
        last = pieces[-1]
        mark, node = last.mark, last.body[-1] if last.count == 1 else None
        for period in range(1, min(self.period, len(pieces) - 1) + 1):
            before = pieces[-period - 1]
            if (before.count > 1 and (node is None or before.body[-1] == node)
                    and self._extend(before, pieces[-period:])):
                del pieces[-period:]
                return True
            if (before.mark == mark and before.is_like(last) and len(pieces) >= 2 * period
                    and self._pair(pieces[-2 * period:-period], pieces[-period:])):
                del pieces[-period:]
                return True
        return False

    def _extend(self, loop: Piece, tail: list[Piece]) -> bool:
        body = self._body(tail)
        if body != loop.body:
            return False
        values = [value for piece in tail for value in piece.first]
        if list(map(sub, values, loop.last)) != loop.deltas:
            return False
        loop.count += 1
        loop.last = values
        return True

    def _pair(self, head: list[Piece], tail: list[Piece]) -> bool:
        """Replaces `head` (in place, in its list) by a loop of two iterations, head and tail."""
        if not all(one.is_like(other) for one, other in zip(head, tail)):
            return False
        first = [value for piece in head for value in piece.first]
        last = [value for piece in tail for value in piece.first]
        loop = Piece(2, self._body(tail), first, last, list(map(sub, last, first)))
        size = len(tail)
        self.pieces[-2 * size:-size] = [loop]
        return True

    def _body(self, pieces: list[Piece]) -> tuple[int, ...]:
        return tuple(node for piece in pieces for node in self._nodes(piece))


def fold_unmarked(table: ShapeTable, origin: Any, shapes: list[int],
                  values: list[int]) -> tuple[list[int], list[int]]:
    """The same nodes with repetitions made loops, for code that loops without marks."""
    folder = Folder(table, origin, UNMARKED_PERIOD)
    place = 0
    for shape in shapes:
        end = place + table.arity[shape]
        folder.add([shape], values[place:end])
        place = end
    return folder.finish()
