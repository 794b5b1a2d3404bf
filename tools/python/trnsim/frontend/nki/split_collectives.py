# SPDX-License-Identifier: Apache-2.0
# Collectives of NKI 0.7 that are prepared first and triggered later.
"""A prepared collective is the whole one, where it is triggered. [NKI-COLLECTIVES-2.33]

What preparing hides is not modelled: the trigger takes as long as the whole.
"""

from __future__ import annotations

from typing import NoReturn
from collections.abc import Callable

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.nki.issue import NkiInstruction
from trnsim.frontend.recorder import Recorder


class Prepared(NkiInstruction):
    """The handle of a prepared collective. It is on no queue: nothing waits for it."""

    __slots__ = ("op", "place", "run")

    def __init__(self, op: str, run: Callable[[], NkiInstruction]) -> None:
        super().__init__()
        self.op = op
        """The collective: `all_gather_v`."""
        self.place = source.here()
        self.run = run
        """Records the whole of it."""

    def forget(self) -> None:
        """The trace is over: lets go of the tensors."""
        del self.run


def prepare(op: str, run: Callable[[], NkiInstruction]) -> Prepared:
    """Keeps a collective for its trigger. IllegalInstruction if another one waits for its own."""
    active = recorder.required()
    if active.session is not None:
        _refuse(f"{op}_prepare", f"{active.session.op}_prepare of {active.session.place} has not "
                                 "been triggered, and there is room for one; trigger it first")
    active.session = prepared = Prepared(op, run)
    return prepared


def trigger(op: str, prepared: object) -> NkiInstruction:
    """Records a prepared collective. IllegalInstruction unless it is the one that waits."""
    active = recorder.required()
    if not isinstance(prepared, Prepared) or prepared.op != op:
        what = f"{prepared.op}_prepare's" if isinstance(prepared, Prepared) else repr(prepared)
        _refuse(f"{op}_trigger", f"prepare_instr is {what}, but must be what {op}_prepare returned")
    if active.session is not prepared:
        _refuse(f"{op}_trigger", f"{op}_prepare of {prepared.place} has been triggered already; "
                                 "prepare it again")
    active.session = None
    whole: NkiInstruction = prepared.run()
    return whole


def check_triggered(active: Recorder) -> None:
    """IllegalInstruction if a program has ended before it triggered what it prepared."""
    if active.session is not None:
        raise IllegalInstruction(f"{active.session.place}: {active.session.op}_prepare: the kernel "
                                 f"ends without {active.session.op}_trigger")


def _refuse(op: str, what: str) -> NoReturn:
    raise IllegalInstruction(f"{source.here()}: {op}: {what}")
