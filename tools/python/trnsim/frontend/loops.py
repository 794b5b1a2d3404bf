# SPDX-License-Identifier: Apache-2.0
# The loop iterators of both dialects, and the `range` that is put into kernel modules.
"""Ranges that mark their iterations in the recorder while a kernel is traced."""

from __future__ import annotations

import builtins
import sys
from typing import Any
from collections.abc import Iterator, Sequence

from trnsim.frontend import recorder, source
from trnsim.frontend.records.frame import LoopOrigin

_origins: dict[tuple[source.Site, str], LoopOrigin] = {}


class _RangeType(type):
    """Makes `isinstance(builtins.range(3), LoopRange)` true: it replaces `range` in kernels."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, builtins.range) or type.__instancecheck__(cls, instance)


class LoopRange(metaclass=_RangeType):
    """A range; a plain one outside of a trace, and with loop marks inside."""

    kind = "python"
    __slots__ = ("_range",)

    def __init__(self, *bounds: Any) -> None:
        self._range = builtins.range(*bounds)

    def __iter__(self) -> Iterator[Any]:
        active, values = recorder.current, self._range
        if active is None:
            return iter(values)
        if len(values) == 1:
            return active.once(values[0])
        frame = sys._getframe(1)
        site = (id(frame.f_code), frame.f_lasti)
        origin = _origins.get((site, self.kind))
        if origin is None:
            site = source.site()
            origin = _origins[site, self.kind] = LoopOrigin(
                source.loop_variable(site) or "i", self.kind, source.position(site))
        if active.sample is not None and active.shortcuts.are_allowed:
            sampled = active.sample(frame, values, origin)
            if sampled is not None:
                return sampled
        return active.loop(values, origin)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._range, name)

    def __len__(self) -> int:
        return len(self._range)

    def __getitem__(self, index: Any) -> Any:
        return self._range[index]

    def __contains__(self, value: object) -> bool:
        return value in self._range

    def __reversed__(self) -> Iterator[int]:
        return iter(type(self)(self._range.stop - 1, self._range.start - 1, -1)
                    if self._range.step == 1 else reversed(self._range))

    def __eq__(self, other: object) -> bool:
        return bool(self._range == getattr(other, "_range", other))

    def __hash__(self) -> int:
        return hash(self._range)

    def __reduce__(self) -> Any:
        return type(self), (self._range.start, self._range.stop, self._range.step)

    def __repr__(self) -> str:
        return repr(self._range)


Sequence.register(LoopRange)


class AffineRange(LoopRange):
    """`affine_range`: iterations are independent, the compiler may reorder them (a hint)."""

    kind = "affine"
    __slots__ = ()


class SequentialRange(LoopRange):
    """`sequential_range`: iterations depend on each other (a hint)."""

    kind = "sequential"
    __slots__ = ()


class StaticRange(LoopRange):
    """`static_range`: unrolled (a hint)."""

    kind = "static"
    __slots__ = ()
