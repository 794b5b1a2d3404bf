# SPDX-License-Identifier: Apache-2.0
# Arithmetic of shapes and strides behind reshape and rearrange.
"""Shapes with one unknown size, strides of reshaped views, and einops-style groups."""

from __future__ import annotations

from math import prod
from typing import Any
from collections.abc import Sequence

from trnsim.frontend.records.tensor import Shape
from trnsim.frontend.shapes import sizes_of


def normalized_shape(shape: Any, elements: int) -> Shape:
    """The shape as integers, with a -1 replaced by what is left of `elements`."""
    sizes = list(sizes_of(shape))
    if sizes.count(-1) == 1:
        known = prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = elements // known if known else 0
    return tuple(sizes)


def reshaped_strides(shape: Sequence[int], strides: Sequence[int],
                     target: Sequence[int]) -> Shape | None:
    """Strides that give `target` the same elements in the same order; None if there are none."""
    blocks: list[tuple[int, int]] = []  # (elements, innermost stride) of mergeable dimensions
    for size, stride in zip(shape, strides):
        if size == 1:
            continue
        if blocks and blocks[-1][1] == size * stride:
            blocks[-1] = (blocks[-1][0] * size, stride)
        else:
            blocks.append((size, stride))
    result: list[int] = []
    left, stride = 1, 1
    for size in reversed(target):
        if left == 1 and blocks and size != 1:
            left, stride = blocks.pop()
        if left % size:
            return None
        result.append(stride)
        stride *= size
        left //= size
    return tuple(reversed(result)) if left == 1 and not blocks else None


def parse_groups(pattern: Any) -> list[list[str]]:
    """Names per dimension: each item of a pattern is a name or a group of names."""
    return [[item] if isinstance(item, str) else list(item) for item in pattern]
