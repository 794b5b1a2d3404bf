# SPDX-License-Identifier: Apache-2.0
# Which loops are executed in part, and why that is right.
"""Loops of the `nki` API whose body is proven to repeat itself: from its source (proof.py), or
by a look at all state that it reaches while it runs (watch.py).

After the first, which shows how long the loop is, iterations are executed until two successive ones
are equal but for constant steps; those up to the loop's horizon (loop_index.py) are predicted, the
last of them is executed and compared. If the second has the nodes of the first, its steps are tried
at once. A loop inside of a proven one runs many times: one iteration that has the same nodes as one
of an earlier run has its steps too, which again the last one is compared with. Where already the
first had an index that is watched, it and the last determine those between: in loops that are
proven with another one, that were worth watching before, or that promise to be. The proof:

1. An iteration is a function of its index, of constant objects and of the recorder (proof.py,
   watch.py).
2. Up to the horizon all comparisons of the index give the same answers, so the same calls are made;
   all positions in them are affine in the index, as every other use of it asks for its value and
   has the loop executed in full. So first and last determine those between.
3. Of the recorder, an iteration sees the numbers of instances, which advance by constant steps, and
   which regions of PSUM tiles hold matmul results. It may not change those of older tiles, and what
   it writes to PSUM may not move with the index: then all iterations see the same.
4. Lists that the index subscripts hold tensors at constant distances, as far as iterations are left
   out: that is looked at, so that positions are affine there, too.
5. Bounds of accesses are affine: inside at both ends, they are inside between.
6. An iteration whose index is a register that nobody looks at, and that leaves all as it was, is
   each iteration, but for the numbers of the instances that it makes: it is the only one executed.

The last iteration gets a plain integer, so that the kernel finds one after the loop. A proven body
only ends a loop early by an error: the kernel is then traced again with all iterations, so that the
error is that of the iteration at fault, even if the kernel handles it.
"""

from __future__ import annotations

from ast import For
from collections.abc import Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any, NamedTuple

from trnsim.frontend import recorder
from trnsim.frontend.bytecode import body_of_for
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.loop_source import is_known, source_bytes, statement
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.folding import Folder
from trnsim.frontend.records.frame import RUNTIME, LoopOrigin
from trnsim.frontend.sampling.proof import proven
from trnsim.frontend.sampling.proven_loop import Execution
from trnsim.frontend.sampling.subscripts import subscripted
from trnsim.frontend.sampling.watch import Watch, calls_functions, watched
from trnsim.frontend.source import Site

FEWEST = 3
"""Iterations of a loop inside of a proven one below which all are executed: one shows a pattern
that is known from before, the last is checked."""
LONG = 100
"""Calls of a loop behind its first iteration, beyond which a proof is worth the while. [ASSUMED]"""
BYTES_PER_CALL = 10
"""Bytes of source that are read in the time of a call. [ASSUMED]"""
WATCHED = 400
"""Calls of a loop behind its first iteration, beyond which it is watched if it has no proof: what
its iterations can reach has to be looked at. [ASSUMED]"""
FEWEST_WATCHED = 4
"""Iterations of a loop up to which it is not watched: three or four are executed anyway."""
SHORT = 1024
"""Bytes of the code of a body up to which its work is in the functions that it calls. [ASSUMED]"""


_calls: dict[str, int] = {}
"""Calls in loops of files that have not been read, by path."""


class Proof(NamedTuple):
    """A proven loop that is being executed: its frame, and the loops in it that are proven."""

    frame: FrameType
    loops: frozenset[For]


def sample(frame: FrameType, values: range, origin: LoopOrigin) -> Iterator[Any] | None:
    """The executed iterations of a loop of the `nki` API; None for all of them."""
    active = recorder.required()
    site = (id(frame.f_code), frame.f_lasti)
    if len(values) < 2 or values.step < 0:
        return None
    proofs = active.shortcuts.proofs
    if proofs and proofs[-1].frame is frame and proofs[-1].loops:
        if len(values) < FEWEST or site in active.shortcuts.in_full:
            return None
        found = statement(frame, site)
        if found is not None and found.loop in proofs[-1].loops:
            return _inner(active, values, site, origin)
    return iterate(active, frame, site, values, origin)


def iterate(active: Recorder, user: FrameType, site: Site, values: range,
            origin: LoopOrigin) -> Iterator[Any]:
    """The iterations of a loop that are executed: all of them, unless it is long and proven."""
    shortcuts = active.shortcuts
    frame = active.open_loop(origin)
    folder = frame.folder
    assert folder is not None
    try:
        at, loops, watch = 0, None, None
        if (site in shortcuts.rewarding or origin.kind != "python") and (
                _promises(active, user, site, values, origin)):
            watch = _watch(active, user, site)
        if watch is None:
            at = 1
            yield values[0]
            active.end_iteration(frame)
            calls = _calls_left(active, folder, len(values))
            if calls > LONG or calls > WATCHED:
                loops, watch = _found_long(active, user, site, len(values), origin, calls)
        if loops is not None or watch is not None:
            shortcuts.proofs.append(Proof(user, loops or frozenset()))
            shortcuts.has_sampled = True
            shortcuts.unfinished += 1
            with nullcontext() if watch is None else watch.listening():
                yield from Execution(active, frame, values, site, watch).iterations(at)
            shortcuts.unfinished -= 1
            shortcuts.proofs.pop()
        else:
            for value in values[1:]:
                yield value
                active.end_iteration(frame)
    finally:
        active.close_loop(frame)


def _found_long(active: Recorder, user: FrameType, site: Site, count: int, origin: LoopOrigin,
                calls: int) -> tuple[frozenset[For] | None, Watch | None]:
    """The proof or the watch of a loop whose first iteration has so many `calls` behind it."""
    loops, watch = None, None
    is_long = (calls > WATCHED and count > FEWEST_WATCHED
               and site not in active.shortcuts.in_full)
    if is_long and calls_functions(user, site):
        watch = _watch(active, user, site)
    if watch is None and calls > LONG and origin.kind != RUNTIME and is_worth_reading(
            user.f_code.co_filename, site, calls):
        loops = _proof(active, user, site)
    if watch is None and loops is None and is_long:
        watch = _watch(active, user, site)
    return loops, watch


def _promises(active: Recorder, user: FrameType, site: Site, values: range,
              origin: LoopOrigin) -> bool:
    """Whether a loop is likely to be worth watching from its first iteration on.

    Such are those that were before, and outermost loops over NKI's ranges that are a few calls of
    the kernel's own functions. They seldom leave an index in Python's state, as loops over Python's
    do: that costs an attempt.
    """
    shortcuts = active.shortcuts
    if site in shortcuts.in_full:
        return False
    if len(values) >= shortcuts.rewarding.get(site, len(values) + 1):
        return True
    if len(values) < FEWEST or origin.kind == "python" or not shortcuts.remembers or (
            active.frame.parent is not active.program):
        return False
    body = body_of_for(user.f_code, site[1])
    return body is not None and len(body) <= SHORT and calls_functions(user, site)


def _proof(active: Recorder, user: FrameType, site: Site) -> frozenset[For] | None:
    """The loops that are proven with one; it is not tried again and again."""
    loops = proven(user, site) if active.shortcuts.may_try("proof", site) else None
    if loops is None:
        active.shortcuts.failed("proof", site)
    return loops


def _watch(active: Recorder, user: FrameType, site: Site) -> Watch | None:
    """A watch of a loop that has no proof; it is not tried again and again."""
    watch = watched(user, site) if active.shortcuts.may_try("watch", site) else None
    if watch is None:
        active.shortcuts.failed("watch", site)
    return watch


def _inner(active: Recorder, values: range, site: Site, origin: LoopOrigin) -> Iterator[Any]:
    """The iterations that are executed of a proven loop inside of another one."""
    frame = active.open_loop(origin)
    try:
        yield from Execution(active, frame, values, site).iterations(0)
    finally:
        active.close_loop(frame)


def _calls_left(active: Recorder, folder: Folder, count: int) -> int:
    """Calls of the iterations that follow, if all have as many as the first."""
    return sum(map(active.table.executed.__getitem__, folder.shapes)) * (count - 1)


def is_worth_reading(path: str, site: Site, calls: int) -> bool:
    """Whether a source file has been read, or should be after so many more calls in its loops."""
    if is_known(site):
        return True
    made = _calls[path] = _calls.get(path, 0) + calls
    return made > source_bytes(path) // BYTES_PER_CALL


LoopIndex.subscripted = subscripted
