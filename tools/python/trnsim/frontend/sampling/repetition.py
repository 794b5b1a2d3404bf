# SPDX-License-Identifier: Apache-2.0
# Whether what a loop records repeats itself after several iterations, and what comes next.
"""Rounds: so many iterations of a loop that whatever repeats with a period repeats with them.

A folder (folding.py) that has taken one round more is as before, but that one of its pieces has
grown, and that those behind it have moved. If two rounds in a row did the same, all that follow do:
what the folder does depends on equal nodes and equal distances, which moving does not change.
"""

from __future__ import annotations

from operator import sub
from typing import NamedTuple

from trnsim.frontend.records.folding import Folder, Piece, moved

_Part = tuple[int, tuple[int, ...], list[int], list[int], list[int]]
"""Count, nodes, values of the first and of the last iteration, and their distances."""


class Step(NamedTuple):
    """What a round does to a folder."""

    place: int
    """The piece that grows; the number of pieces for the iterations that are no piece yet."""
    growth: int
    """By how much it grows."""
    moves: tuple[tuple[int, ...], ...]
    """How far the pieces behind it move."""
    parts: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]
    """Count (of those that do not grow), nodes and distances of it and of those."""


def parts(folder: Folder) -> list[_Part]:
    """The state of a folder: its pieces, and the iterations that are no piece yet."""
    made: list[_Part] = [(one.count, one.body, one.first, one.last, one.deltas)
                         for one in folder.pieces]
    return [*made, (folder.count, tuple(folder.shapes), folder.first, folder.last,
                    folder.deltas if folder.count > 1 else [])]


def step(before: list[_Part], after: list[_Part]) -> Step | None:
    """What happened between two states; None if it was something else."""
    if len(before) != len(after):
        return None
    place = next((at for at, (one, other) in enumerate(zip(before, after)) if one != other), None)
    if place is None:
        return None
    (count, body, first, _, deltas), (more, *_) = before[place], after[place]
    if not 1 < count < more or after[place][1:3] != (body, first) or after[place][4] != deltas:
        return None
    moves, kept = [], [(0, body, tuple(deltas))]
    for one, other in zip(before[place + 1:], after[place + 1:]):
        if (one[0], one[1], one[4]) != (other[0], other[1], other[4]) or one[1] == body:
            return None
        moves.append(tuple(map(sub, other[2], one[2])))
        kept.append((one[0], one[1], tuple(one[4])))
    return Step(place, more - count, tuple(moves), tuple(kept))


def repeat(folder: Folder, one: Step, rounds: int) -> None:
    """Adds rounds that do what the latest did."""
    if one.place == len(folder.pieces):
        folder.repeat(rounds * one.growth)
        return
    folder.pieces[one.place].repeat(rounds * one.growth)
    for at, moves in enumerate(one.moves[:-1], one.place + 1):
        piece = folder.pieces[at]
        folder.pieces[at] = Piece(piece.count, piece.body, moved(piece.first, moves, rounds),
                                  moved(piece.last, moves, rounds), piece.deltas)
    folder.first = moved(folder.first, one.moves[-1], rounds)
    folder.last = moved(folder.last, one.moves[-1], rounds)
