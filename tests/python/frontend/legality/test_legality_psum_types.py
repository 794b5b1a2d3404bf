# SPDX-License-Identifier: Apache-2.0
# Tests of what the tensor engine writes.
"""Types of the tiles in PSUM that products and transposes write, by generation."""

from __future__ import annotations

from typing import Any

import pytest
from kernels import nisa, nl
from legality_helpers import Body, accepts, psum, rejects, sbuf

ALL = ("trn1", "trn2", "trn3")


def turned(data: Any, dst: Any) -> Body:
    return lambda h: nisa.nc_matmul(psum(32, 64, dtype=dst), sbuf(64, 32, dtype=data),
                                    sbuf(64, 64, dtype=data), is_transpose=True)


@pytest.mark.parametrize(("chip", "data", "dst", "message"), [
    ("trn1", nl.bfloat16, nl.bfloat16,
     "dst is bfloat16, but NeuronCore-v2 writes a transposed bfloat16 as float32; declare the psum"),
    ("trn1", nl.float16, nl.float16, "NeuronCore-v2 writes a transposed float16 as float32"),
    ("trn2", nl.float16, nl.bfloat16,
     "dst is bfloat16, but NeuronCore-v3 writes a transposed float16 as float32 or float16"),
    ("trn2", nl.float32, nl.bfloat16, "NeuronCore-v3 writes a transposed float32 as float32"),
    ("trn3", nl.bfloat16, nl.float16,
     "dst is float16, but NeuronCore-v4 writes a transposed bfloat16 as float32 or bfloat16"),
    ("trn3", nl.float8_e5m2, nl.float8_e5m2, "dst is float8_e5m2, but NeuronCore-v4 writes"),
])
def test_a_transpose_does_not_change_what_it_moves(chip: str, data: Any, dst: Any,
                                                   message: str) -> None:
    rejects(turned(data, dst), f"nc_matmul: .*{message}", chip)


@pytest.mark.parametrize(("data", "dst", "chips"), [
    (nl.float32, nl.float32, ALL), (nl.bfloat16, nl.float32, ALL),
    (nl.bfloat16, nl.bfloat16, ALL[1:]), (nl.float16, nl.float16, ALL[1:]),
    (nl.float8_e4m3, nl.bfloat16, ALL[1:])])
def test_a_transpose_keeps_the_type_or_widens_it(data: Any, dst: Any,
                                                 chips: tuple[str, ...]) -> None:
    for chip in chips:
        assert accepts(turned(data, dst), chip) == ["nc_matmul"]


def scaled(dst: Any) -> Body:
    kind = nl.float8_e4m3fn_x4
    return lambda h: nisa.nc_matmul_mx(
        psum(32, 64, dtype=dst), sbuf(32, 32, dtype=kind), sbuf(32, 64, dtype=kind),
        sbuf(32, 32, dtype=nl.uint8), sbuf(32, 64, dtype=nl.uint8))


@pytest.mark.parametrize("dst", [nl.float16, nl.int32, nl.float8_e5m2])
def test_a_scaled_product_is_no_other_type_than_a_product(dst: Any) -> None:
    rejects(scaled(dst), f"nc_matmul_mx: dst is {dst}, but NeuronCore-v4 writes float32 or "
                         "bfloat16; declare the psum tile so", "trn3")


@pytest.mark.parametrize("dst", [nl.float32, nl.bfloat16])
def test_a_scaled_product_is_a_float32_or_bfloat16(dst: Any) -> None:
    assert accepts(scaled(dst), "trn3") == ["nc_matmul_mx"]
