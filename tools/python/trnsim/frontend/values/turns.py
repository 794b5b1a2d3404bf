# SPDX-License-Identifier: Apache-2.0
# Programs that run in turn while values are computed.
"""Runs several programs, one at a time: each goes on until it waits for another.

Each program has a thread, because a kernel cannot be left in the middle otherwise; only the thread
whose turn it is runs.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context

import numpy as np

from trnsim.errors import ProgramError
from trnsim.frontend import recorder, source
from trnsim.frontend.recorder import Recorder


class _AbortedError(SystemExit):
    """Ends the threads of the other programs after an error, and all of them after a signal.

    As SystemExit it ends a thread without a word wherever it comes.
    """


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
        """Runs `program` for every number; raises what the first of them that fails raises.

        What interrupts it (Ctrl-C) ends the programs first, wherever they are.
        """
        if count == 1:
            program(0)
            return
        before = recorder.active()
        self._running = set(range(count))
        threads = [threading.Thread(target=copy_context().run,
                                    args=(self._member, number, program), daemon=True)
                   for number in range(count)]
        try:
            for thread in threads:
                thread.start()
            with self._condition:  # A join that is interrupted takes its thread for ended.
                self._condition.wait_for(lambda: not self._running)
        except BaseException:
            self._abort(threads)
            raise
        finally:
            recorder.activate(before)
        if self._failure is not None:
            raise self._failure

    def _abort(self, threads: Sequence[threading.Thread]) -> None:
        """Ends the programs: those that wait, and the one that runs where it is."""
        with self._condition:
            self._failure = self._failure or _AbortedError()
            self._condition.notify_all()
        started = [thread for thread in threads if thread.ident is not None]
        while alive := [thread for thread in started if thread.is_alive()]:
            for thread in alive:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_AbortedError))
            alive[0].join(0.05)

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
