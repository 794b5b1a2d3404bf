# SPDX-License-Identifier: Apache-2.0
# Pseudo random numbers of the engines.
"""Marsaglia's xorwow, one state per partition, as rng, rand2 and dropout draw from it.

That the engines use xorwow is documented [NKI-ISA]; how they seed it and in which order elements
draw from it is not, so numbers differ from those of hardware. [ASSUMED]
"""

from __future__ import annotations

import numpy as np

from trnsim.frontend.values.casting import Array

WORDS = 6
"""Words of a state: five shifted ones and a counter."""
COUNTER_STEP = np.uint32(362437)
STATES = {"vector": 4, "gpsimd": 1}
"""States per partition: 24 and 6 words. [NKI-ISA, rand_set_state]"""


class Generators:
    """The states of both engines."""

    def __init__(self, seed: int, partitions: int) -> None:
        self._partitions = partitions
        self._states: dict[str, Array] = {}
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Derives all states from a number."""
        bits = np.random.Generator(np.random.Philox(seed & 0xFFFFFFFF))
        for engine, count in STATES.items():
            self._states[engine] = bits.integers(
                1, 2**32, (self._partitions, count, WORDS), dtype=np.uint64).astype(np.uint32)

    def set_state(self, engine: str, words: Array) -> None:
        """Sets the states of the first partitions, 24 or 6 words each."""
        state = self._states[engine]
        state[:words.shape[0]] = words.astype(np.uint32).reshape(words.shape[0], -1, WORDS)

    def get_state(self, engine: str, partitions: int) -> Array:
        """The words of the first partitions."""
        return self._states[engine][:partitions].reshape(partitions, -1).copy()

    def bits(self, engine: str, partitions: int, count: int) -> Array:
        """32 random bits for each of `count` elements of each partition."""
        state = self._states[engine][:partitions]
        ways = state.shape[1]
        steps = -(-count // ways)
        result = np.empty((steps, partitions, ways), dtype=np.uint32)
        x, y, z, w, v, counter = (state[..., at].copy() for at in range(WORDS))
        two, one, four = np.uint32(2), np.uint32(1), np.uint32(4)
        for step in range(steps):
            t = x ^ (x >> two)
            x, y, z, w = y, z, w, v
            v = (v ^ (v << four)) ^ (t ^ (t << one))
            counter = counter + COUNTER_STEP
            result[step] = v + counter
        for at, word in enumerate((x, y, z, w, v, counter)):
            state[..., at] = word
        return result.transpose(1, 0, 2).reshape(partitions, -1)[:, :count]

    def uniform(self, engine: str, partitions: int, count: int) -> Array:
        """Numbers in [0, 1) with 24 bits."""
        scale = np.float32(2.0 ** -24)
        return (self.bits(engine, partitions, count) >> np.uint32(8)).astype(np.float32) * scale
