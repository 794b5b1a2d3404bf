# SPDX-License-Identifier: Apache-2.0
# Programs that run in turn while values are computed.
"""Runs several programs, one at a time: each goes on until it waits for another.

Each program has a thread, because a kernel cannot be left in the middle otherwise; only the thread
whose turn it is runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context

import numpy as np

from trnsim.errors import ProgramError
from trnsim.frontend import recorder, source
from trnsim.frontend.recorder import Recorder


class _AbortedError(BaseException):
    """Ends the threads of the other programs after an error."""


class Turns:
    """The programs by their numbers, and whose turn it is."""

    def __init__(self) -> None:
        self._recorders: dict[int, Recorder] = {}
        self._condition = threading.Condition()
        self._turn = 0
        self._running: set[int] = set()
        self._failure: BaseException | None = None
        self._waits = 0

    def join(self, number: int, member: Recorder) -> None:
        """Makes a recorder known as that of a program."""
        self._recorders[number] = member

    def end(self) -> None:
        """Forgets the recorders. They refer to it, so their arrays would outlive the programs until
        Python looks for cycles."""
        self._recorders.clear()

    def run(self, count: int, program: Callable[[int], None]) -> None:
        """Runs `program` for every number; raises what the first of them that fails raises."""
        if count == 1:
            program(0)
            return
        before = recorder.active()
        self._running = set(range(count))
        threads = [threading.Thread(target=copy_context().run,
                                    args=(self._member, number, program))
                   for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        recorder.activate(before)
        if self._failure is not None:
            raise self._failure

    def _member(self, number: int, program: Callable[[int], None]) -> None:
        try:
            self._await_turn(number)
            with np.errstate(all="ignore"):
                program(number)
        except _AbortedError:
            pass
        except BaseException as problem:  # noqa: BLE001 - raised again by run()
            self._failure = self._failure or problem
        with self._condition:
            self._running.discard(number)
            self._turn = min(self._running, default=0)
            self._waits = 0
            self._condition.notify_all()

    def _await_turn(self, number: int) -> None:
        with self._condition:
            self._condition.wait_for(lambda: self._turn == number or self._failure is not None)
            if self._failure is not None:
                raise _AbortedError
            if number in self._recorders:
                recorder.activate(self._recorders[number])

    def wait(self, number: int, what: str, is_ready: Callable[[], bool]) -> None:
        """Lets the others run until a condition holds. ProgramError if it never will.

        `what` says who waits for what.
        """
        while not is_ready():
            self._waits += 1
            others = sorted(self._running - {number})
            if not others or self._waits > 2 * len(self._running):
                raise ProgramError(f"{source.here()}: {what}, which never comes; let all call it "
                                   "equally often")
            with self._condition:
                self._turn = next((one for one in others if one > number), others[0])
                self._condition.notify_all()
            self._await_turn(number)
        self._waits = 0
