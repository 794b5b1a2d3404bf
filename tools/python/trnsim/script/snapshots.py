# SPDX-License-Identifier: Apache-2.0
# What a launch was given, for values that are computed later.
"""kept(value): the contents that an argument has now, whatever the script does with it next.

Small arrays are copied. Of large ones only a checksum is kept, which tells that they have changed.
"""

from __future__ import annotations

import sys
import zlib
from copy import copy
from dataclasses import is_dataclass
from typing import Any
from collections.abc import Callable

import numpy as np

from trnsim.frontend.arguments import is_record
from trnsim.frontend.host.launch_result import TensorResult
from trnsim.frontend.leaves import with_fields, with_items

COPIED_BYTES = 64 << 20
"""The largest array of which a copy is kept. [ASSUMED]"""

Given = Callable[[], Any]
"""Gives an argument as it was; ValueError if it has changed and no copy was kept."""


def kept(value: Any) -> Given:
    """How to get an argument later as it is now."""
    if isinstance(value, TensorResult):
        lazy = value.unread()
        return kept(value.array()) if lazy is None else lambda: lazy
    if isinstance(value, (list, tuple)):
        parts = [kept(one) for one in value]
        return lambda: with_items(value, (one() for one in parts))
    if isinstance(value, dict):
        twin, entries = copy(value), [kept(one) for one in value.values()]
        return lambda: with_items(twin, [one() for one in entries])
    if is_record(value) or is_dataclass(value) and hasattr(value, "__dict__"):
        fields = {key: kept(one) for key, one in vars(value).items()}
        return lambda: with_fields(value, {key: one() for key, one in fields.items()})
    torch: Any = sys.modules.get("torch")
    if isinstance(value, np.ndarray):
        if value.nbytes > COPIED_BYTES:
            return _checked(value, lambda: value)
        copied = value.copy()
    elif isinstance(getattr(torch, "Tensor", None), type) and isinstance(value, torch.Tensor):
        plain = value.detach()
        if plain.nbytes > COPIED_BYTES:
            return _checked(value, lambda: plain.contiguous().view(torch.uint8).numpy())
        copied = plain.clone()
    else:
        return lambda: value
    return lambda: copied


def _checked(value: Any, contents: Callable[[], Any]) -> Given:
    """An array that must not change."""
    before = _checksum(contents())

    def given() -> Any:
        if _checksum(contents()) != before:
            raise ValueError
        return value
    return given


def _checksum(array: Any) -> int:
    plain: Any = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    return zlib.adler32(plain)
