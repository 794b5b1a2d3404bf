# SPDX-License-Identifier: Apache-2.0
# What the ranks of a program do together.
"""Evaluators of the collectives. Reductions are in float32, rank by rank. [NKI-COLLECTIVES]"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from trnsim.errors import ProgramError, UnsupportedFeature
from trnsim.frontend import source
from trnsim.frontend.values.alu import BINARY
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array, to_float32


def _put(call: Call, results: Sequence[Array]) -> None:
    """Writes the results into the destinations, in order."""
    views = [view for role, _, view in call.operands if role == "dst"]
    for view, values in zip(views, results, strict=True):
        call.machine.write(view, values.reshape(view.form.shape), call.at)


def _given(call: Call) -> list[Array]:
    return [call.machine.read(view, call.at) for role, _, view in call.operands if role == "src"]


def _exchanged(call: Call) -> tuple[int, list[list[Array]]]:
    """This rank's place in its group, and what each of the group puts in."""
    if any(role == "index" for role, _, _ in call.operands):
        raise UnsupportedFeature.named(str(source.position(call.at)),
                                       f"the values of {call.op} with counts of the run time")
    team = call.machine.team
    group = next((one for one in call.attributes["groups"] if team.rank in one), None)
    if group is None:
        raise ProgramError(f"{source.position(call.at)}: {call.op}: rank {team.rank} is in none of "
                           f"the groups {list(call.attributes['groups'])}; name all ranks")
    absent = [rank for rank in group if rank >= team.world.ranks > 1]
    if absent:
        raise ProgramError(f"{source.position(call.at)}: {call.op}: the group has rank "
                           f"{absent[0]}, but {team.world.ranks} ranks run; pass arguments for all")
    found = team.world.exchange(team, call.machine.core, group, _given(call))
    return group.index(team.rank), [found[rank] for rank in group]


def _reduced(call: Call, op: str, given: Sequence[Sequence[Array]]) -> list[Array]:
    return [reduce(BINARY[op], [to_float32(one) for one in parts]) for parts in zip(*given)]


def all_reduce(call: Call) -> None:
    """dst = the reduction of the srcs of all ranks."""
    _put(call, _reduced(call, call.attributes["op"], _exchanged(call)[1]))


def all_gather(call: Call, axis: int = 0) -> None:
    """dst = the srcs of all ranks, side by side."""
    _, given = _exchanged(call)
    _put(call, [np.concatenate(parts, axis) for parts in zip(*given)])


def reduce_scatter(call: Call, axis: int = 0) -> None:
    """dst = this rank's part of the reduction of the srcs of all ranks."""
    place, given = _exchanged(call)
    _put(call, [np.split(one, len(given), axis)[place]
                for one in _reduced(call, call.attributes["op"], given)])


def all_to_all(call: Call, axis: int = 0) -> None:
    """dst = this rank's parts of the srcs of all ranks."""
    place, given = _exchanged(call)
    _put(call, [np.concatenate([np.split(one, len(given), axis)[place] for one in parts], axis)
                for parts in zip(*given)])


def collective_permute(call: Call) -> None:
    """dst = what the rank sends whose pair names this one as target; else it stays as it is.

    With `op`, each rank sends the reduction of the first and the second half of its srcs.
    """
    team = call.machine.team
    pairs = call.attributes["pairs"]
    members = sorted({rank for pair in pairs for rank in pair})
    data = _given(call)
    if "op" in call.attributes:
        half = len(data) // 2
        data = _reduced(call, call.attributes["op"], [data[:half], data[half:]])
    if team.rank not in members:
        return
    found = team.world.exchange(team, call.machine.core, members, data)
    for sender, target in pairs:
        if target == team.rank:
            _put(call, found[sender])
