# SPDX-License-Identifier: Apache-2.0
# Tests of the warnings of nl functions that are not compiled.
"""Uses of nki.language that NKI's release notes list as not compiling run, with a warning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from helpers import tensor
from kernels import nl
from trnsim.frontend import trace

X = tensor("float32", 128, 64)


def remarks(body: Any) -> list[str]:
    """The warnings of body(tile, column), less their lines."""
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        column = nl.load(x[:, 0:1])
        body(tile, column)
        return x
    program = trace(kernel, [X], api="nki")
    lines = [json.loads(line) for line in program.lines()]
    assert all(line["kind"] == "warning" for line in lines if line["record"] == "note")
    for note in program.notes:
        assert note.startswith("test_known_issues.py:")
    return [note.partition(": ")[2] for note in program.notes]


def in_psum() -> Any:
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)
    tile[...] = nl.zeros((128, 64), nl.float32)
    return tile


@pytest.mark.parametrize(("body", "warning"), [
    (lambda t, v: nl.divide(t, t), "nl.divide has no instruction, which NKI 0.6.0 does not "
                                   "compile; multiply by nl.reciprocal of the divisor"),
    (lambda t, v: nl.mod(t, 2.0), "nl.mod has no instruction, which NKI 0.6.0 does not compile; "
                                  "subtract a multiple"),
    (lambda t, v: nl.fmod(t, t), "nl.fmod has no instruction, which NKI 0.6.0 does not compile; "
                                 "subtract a multiple"),
    (lambda t, v: nl.power(t, 2.0), "nl.power of a number, which NKI 0.6.0 does not compile; "
                                    "fill a tile with it"),
    (lambda t, v: nl.add(t, v), "nl.add broadcasts [128, 64] and [128, 1], which NKI 0.6.0 does "
                                "not compile; give both one shape, or use nisa.tensor_scalar"),
    (lambda t, v: nl.matmul(t[0:64], t[0:64]), "nl.matmul transposes x, which NKI 0.6.0 does not compile; "
                                   "hand it over transposed, with transpose_x=True"),
    (lambda t, v: nl.copy(in_psum()), "nl.copy moves a tile out of psum, which NKI 0.6.0 does not "
                                      "compile; use nisa.tensor_copy"),
    (lambda t, v: nl.random_seed(7), "nl.random_seed takes a number, which NKI 0.6.0 does not "
                                     "compile; fill a [1, 1] tile in sbuf with it")])
def test_what_is_not_compiled_is_a_warning(body: Any, warning: str) -> None:
    assert remarks(body) == [warning]


@pytest.mark.parametrize("body", [
    lambda t, v: nl.add(t, t), lambda t, v: nl.multiply(t, 2.0), lambda t, v: nl.power(t, t),
    lambda t, v: nl.matmul(t, t, transpose_x=True), lambda t, v: nl.copy(t),
    lambda t, v: nl.softmax(t, axis=-1), lambda t, v: nl.mean(t, axis=1),
    lambda t, v: nl.random_seed(nl.full((1, 1), 42, dtype=nl.uint32))])
def test_what_is_compiled_is_none(body: Any) -> None:
    assert not remarks(body)


def test_each_line_is_warned_of_once() -> None:
    def body(tile: Any, column: Any) -> None:
        for _ in nl.affine_range(4):
            nl.divide(tile, tile)
    assert len(remarks(body)) == 1
