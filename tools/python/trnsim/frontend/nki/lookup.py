# SPDX-License-Identifier: Apache-2.0
# nl functions that look elements up or draw them at random: their lowering.
"""gather_flattened, rand, random_seed of nki.language. [NKI-LANGUAGE]

The instruction sequences are this project's choice, see elementwise.py. [ASSUMED]
"""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.dtypes import uint32
from trnsim.frontend.nki import known_issues
from trnsim.frontend.nki.creation import fresh
from trnsim.frontend.nki.emit import copy, emit, result_dtype, tile
from trnsim.frontend.records.tensor import View
from trnsim.frontend.shapes import sizes_of, whole_number

BIT_SCALE = 2.0 ** -32
"""What makes 32 random bits a number from 0 to 1."""


def gather_flattened(data: Any, indices: Any, axis: int = 0, dtype: Any = None) -> View:
    """Elements of each partition of `data` by index, all free dimensions taken as one."""
    values, places = tile(data, "gather_flattened"), tile(indices, "gather_flattened")
    if axis != 0:
        raise IllegalInstruction(f"{source.here()}: gather_flattened: axis is {axis!r}, but the "
                                 "free dimensions are looked up as one; leave it 0")
    if values.shape[0] != places.shape[0]:
        raise IllegalInstruction(
            f"{source.here()}: gather_flattened: data has {values.shape[0]} partitions and "
            f"indices {places.shape[0]}, but each partition is looked up in itself; slice one")
    if places.dtype is not uint32:
        places = copy(places, uint32)
    return emit("nc_n_gather", fresh(places.shape, result_dtype(dtype, values)),
                (("data", "read", values), ("index", "read", places)),
                elements_per_index=1, indices=places.form.free_elements)


def rand(shape: Any, dtype: Any, buffer: Any = None, name: str = "") -> View:
    """Uniform numbers from 0 to 1: random bits, scaled."""
    sizes = sizes_of(shape)
    bits = emit("rng", fresh(sizes, uint32, name="random_bits"), ())
    return emit("tensor_scalar", fresh(sizes, dtype_of(dtype), name=name),
                (("data", "read", bits),), (BIT_SCALE,), op0="multiply")


def random_seed(seed: Any) -> None:
    """Seeds the vector engine with a number or with the only element of a tensor."""
    known_issues.of_seed(seed)
    active = recorder.required()
    if not isinstance(seed, View):
        value, seed = seed, fresh((1, 1), uint32, name="seed")
        active.record("memset", None, (("dst", "write", seed),),
                      {"value": whole_number(value, "the seed")})
    active.record("set_rng_seed", None, (("data", "read", seed),), {})
