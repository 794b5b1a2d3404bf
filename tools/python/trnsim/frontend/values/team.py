# SPDX-License-Identifier: Apache-2.0
# The cores of a logical NeuronCore, and the ranks of a program, while values are computed.
"""Team: the cores of one rank, what they share and exchange. World: what ranks exchange.

[NKI-ISA, core_barrier and sendrecv; NKI-COLLECTIVES]
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from trnsim.frontend import recorder, source
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.tensor import Form
from trnsim.frontend.values.casting import Array
from trnsim.frontend.values.garbage import Garbage
from trnsim.frontend.values.memory import Memory
from trnsim.frontend.values.turns import Turns


class World:
    """The ranks that run, and the data that collectives have brought.

    Where one rank runs alone, its data stand for those of all ranks.
    """

    def __init__(self, ranks: int = 1) -> None:
        self.ranks = ranks
        self.turns = Turns()
        self._boxes: dict[tuple[object, ...], dict[int, list[Array]]] = defaultdict(dict)
        """Those that a member has still to look into."""
        self._left: dict[tuple[object, ...], int] = {}
        """How many of its members that are."""
        self._counts: dict[tuple[object, ...], int] = defaultdict(int)

    def exchange(self, team: Team, core: int, members: Sequence[int],
                 data: list[Array]) -> dict[int, list[Array]]:
        """What each of the members has put into its collective of the same number."""
        if self.ranks == 1:
            recorder.required().note("assumption",
                                     "the data of rank 0 stand for those of all ranks")
            return {rank: data for rank in members}
        key = (core, tuple(members))
        self._counts[team.rank, *key] += 1
        exchange = (self._counts[team.rank, *key], *key)
        box = self._boxes[exchange]
        box[team.rank] = [one.copy() for one in data]
        self.turns.wait(team.number(core), f"rank {team.rank} waits for ranks {list(members)} in a "
                                           "collective", lambda: len(box) == len(members))
        left = self._left[exchange] = self._left.get(exchange, len(members)) - 1
        if not left:
            del self._boxes[exchange], self._left[exchange]
        return box


@dataclass(frozen=True, slots=True)
class Parcel:
    """What one core sends another."""

    data: Array
    unwritten: Garbage
    """What of it nothing has written."""
    form: Form
    """Its shape and type."""
    at: source.Site
    """The instruction that sends it."""


class Team:
    """The cores of one rank: what they share and send each other."""

    def __init__(self, world: World | None = None, rank: int = 0, cores: int = 1) -> None:
        self.world = world or World()
        self.rank = rank
        self._cores = cores
        self.shared: dict[str, Memory] = {}
        """The contents of shared buffers by the name that all cores know."""
        self._arrivals: dict[int, int] = defaultdict(int)
        self._mail: dict[tuple[int, int, int], deque[Parcel]] = defaultdict(deque)

    def number(self, core: int) -> int:
        """The number of a core's program among those of all ranks."""
        return self.rank * self._cores + core

    def join(self, core: int, member: Recorder) -> None:
        """Makes a recorder known as that of a core."""
        self.world.turns.join(self.number(core), member)

    def barrier(self, core: int, members: tuple[int, ...]) -> None:
        """Returns when all members have arrived as often as this core."""
        self._arrivals[core] += 1
        count = self._arrivals[core]
        self.world.turns.wait(
            self.number(core), f"core {core} waits for the other cores at a core_barrier",
            lambda: all(self._arrivals[one] >= count for one in members))

    def exchange(self, core: int, pipe: int, send_to: int, recv_from: int,
                 parcel: Parcel) -> Parcel:
        """Sends a parcel to one core, and returns what another one sends here."""
        self._mail[core, send_to, pipe].append(parcel)
        box = self._mail[recv_from, core, pipe]
        self.world.turns.wait(
            self.number(core),
            f"core {core} waits for what core {recv_from} sends through pipe {pipe}",
            lambda: bool(box))
        return box.popleft()
