# SPDX-License-Identifier: Apache-2.0
# The cores of a logical NeuronCore while values are computed.
"""Runs the programs of several cores in turn: one goes on until it waits for another.

Each program has a thread, because a kernel cannot be left in the middle otherwise; only the thread
whose turn it is runs. [NKI-ISA, core_barrier and sendrecv]
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable

import numpy as np

from trnsim.frontend import recorder, source
from trnsim.frontend.errors import ProgramError
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.values.casting import Array
from trnsim.frontend.values.memory import Memory


class _AbortedError(BaseException):
    """Ends the threads of the other cores after an error."""


class Team:
    """The cores, what they share, and whose turn it is."""

    def __init__(self) -> None:
        self.shared: dict[str, Memory] = {}
        """The contents of shared buffers by the name that all cores know."""
        self._recorders: dict[int, Recorder] = {}
        self._condition = threading.Condition()
        self._turn = 0
        self._running: set[int] = set()
        self._failure: BaseException | None = None
        self._waits = 0
        self._arrivals: dict[int, int] = defaultdict(int)
        self._mail: dict[tuple[int, int, int], deque[Array]] = defaultdict(deque)

    def join(self, core: int, member: Recorder) -> None:
        """Makes a recorder known as that of a core."""
        self._recorders[core] = member

    def run(self, cores: int, program: Callable[[int], None]) -> None:
        """Runs `program` for every core; raises what the first of them that fails raises."""
        if cores == 1:
            program(0)
            return
        before = recorder.active()
        self._running = set(range(cores))
        threads = [threading.Thread(target=self._member, args=(core, program))
                   for core in range(cores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        recorder.activate(before)
        if self._failure is not None:
            raise self._failure

    def _member(self, core: int, program: Callable[[int], None]) -> None:
        try:
            self._await_turn(core)
            with np.errstate(all="ignore"):
                program(core)
        except _AbortedError:
            pass
        except BaseException as problem:  # noqa: BLE001 - raised again by run()
            self._failure = self._failure or problem
        with self._condition:
            self._running.discard(core)
            self._turn = min(self._running, default=0)
            self._waits = 0
            self._condition.notify_all()

    def _await_turn(self, core: int) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._turn == core or self._failure is not None)
            if self._failure is not None:
                raise _AbortedError
            if core in self._recorders:
                recorder.activate(self._recorders[core])

    def _wait(self, core: int, what: str, is_ready: Callable[[], bool]) -> None:
        """Lets the others run until a condition holds. ProgramError if it never will."""
        while not is_ready():
            self._waits += 1
            others = sorted(self._running - {core})
            if not others or self._waits > 2 * len(self._running):
                raise ProgramError(f"{source.here()}: core {core} waits for {what}, which never "
                                   "comes; let all cores call it equally often")
            with self._condition:
                self._turn = next((one for one in others if one > core), others[0])
                self._condition.notify_all()
            self._await_turn(core)
        self._waits = 0

    def barrier(self, core: int, members: tuple[int, ...]) -> None:
        """Returns when all members have arrived as often as this core."""
        self._arrivals[core] += 1
        count = self._arrivals[core]
        self._wait(core, "the other cores at a core_barrier",
                   lambda: all(self._arrivals[one] >= count for one in members))

    def exchange(self, core: int, pipe: int, send_to: int, recv_from: int, data: Array) -> Array:
        """Sends data to one core and returns what another one sends here."""
        self._mail[core, send_to, pipe].append(data.copy())
        box = self._mail[recv_from, core, pipe]
        self._wait(core, f"what core {recv_from} sends through pipe {pipe}", lambda: bool(box))
        return box.popleft()
