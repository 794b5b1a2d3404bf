# SPDX-License-Identifier: Apache-2.0
# Random programs of the 0.1 API against numpy: the same text, run with the names of either.
"""Theorem: the order of instructions in loops, what masks keep, tiles with block dimensions, initial
values that are written late, accumulation in PSUM and scratch in HBM leave what numpy computes.
"""

from __future__ import annotations

import importlib
import linecache
import random
from typing import Any

import numpy as np
import numpy_language
import pytest
from values_helpers import run_kernel

REAL = {"nl": importlib.import_module("neuronxcc.nki.language"),
        "nisa": importlib.import_module("neuronxcc.nki.isa")}
nl = REAL["nl"]
PLAIN = {"nl": numpy_language.nl, "nisa": numpy_language.nisa}
LOOPS = ("nl.affine_range", "nl.sequential_range", "nl.static_range", "range")
HEADER = """
def rotated(a, b):
    t = nl.tanh(nl.add(a, b))
    return nl.multiply(t, nl.sin(t))

def kernel(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    rest = nl.ndarray((ROWS, 3 * COLUMNS), dtype=x.dtype, buffer=nl.shared_hbm)
    scratch = nl.ndarray((128, COLUMNS), dtype=x.dtype, buffer=nl.hbm)
    p, f = nl.arange(ROWS)[:, None], nl.arange(COLUMNS)[None, :]
    c, z = nl.arange(COLUMNS)[:, None], nl.arange(1)[None, :]
    q, w = nl.arange(128)[:, None], nl.arange(64)[None, :]
    nl.store(out[q, w], nl.load(x[q, w]))
    nl.store(scratch[q, f], nl.load(x[q, f]))
    near = nl.ndarray((ROWS, 3 * COLUMNS), dtype=nl.float32)
    near[...] = nl.load(x[0:ROWS, 0:3 * COLUMNS])
    blocks = nl.zeros((5, nl.par_dim(ROWS), COLUMNS), dtype=nl.float32)
    pairs = nl.zeros((5, 5, nl.par_dim(ROWS), COLUMNS), dtype=nl.float32)
"""
FOOTER = """
    nl.store(rest[p, nl.arange(3 * COLUMNS)[None, :]], near)
    return out, rest
"""
Nest = list[tuple[str, int]]
"""Open loops: the names of their indices, and how often they run."""


class Writer:
    """Writes the text of a random program. Results are between -1 and 1, whatever it does."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rows, self.columns = self.random.choice((16, 32, 64)), self.random.choice((8, 12, 16))
        self.loops = 0
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.loop([])
        self.text = (HEADER + "\n".join("    " + line for line in lines) + FOOTER).replace(
            "ROWS", str(self.rows)).replace("COLUMNS", str(self.columns))

    def loop(self, nest: Nest) -> list[str]:
        name, count = f"i{self.loops}", self.random.randint(1, 5)
        self.loops += 1
        inner = [*nest, (name, count)]
        body: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            body += (self.loop(inner) if len(inner) < 3 and self.random.random() < 0.3
                     else self.statement(inner))
        return [f"for {name} in {self.random.choice(LOOPS)}({count}):",
                *("    " + line for line in body)]

    def index(self, nest: Nest, most: int) -> str:
        """An affine expression of indices, between 0 and `most`."""
        text, left = str(self.random.randint(0, 2)), most - 2
        for name, count in self.random.sample(nest, min(len(nest), 2)):
            factor = self.random.randint(1, 2)
            if factor * (count - 1) <= left:
                left -= factor * (count - 1)
                text += f" + {factor} * {name}"
        return text

    def block(self, nest: Nest) -> str:
        return self.random.choice([*(name for name, _ in nest), str(self.random.randint(0, 4))])

    def loaded(self, nest: Nest) -> str:
        return f"x[{self.index(nest, 60)} + p, {self.index(nest, 40)} + f]"

    def source(self, nest: Nest) -> str:
        return self.random.choice((
            f"nl.load({self.loaded(nest)})", f"near[p, f + {self.index(nest, self.columns)}]",
            f"near[p, 2 * f + {self.random.randint(0, 1)}]", f"blocks[{self.block(nest)}, p, f]",
            f"pairs[{self.block(nest)}, {self.block(nest)}, p, f]"))

    def target(self, nest: Nest) -> str:
        return self.random.choice((
            f"near[p, f + {self.index(nest, self.columns)}]",
            f"near[p, 2 * f + {self.random.randint(0, 1)}]", f"blocks[{self.block(nest)}, p, f]",
            f"pairs[{self.block(nest)}, {self.block(nest)}, p, f]"))

    def mask(self, nest: Nest) -> str:
        name, count = self.random.choice(nest)
        return self.random.choice((
            f"p < {self.random.randint(1, self.rows)}", f"f >= {self.random.randint(1, 6)}",
            f"f + {name} < {self.random.randint(count, self.columns)}",
            f"(p <= {self.random.randint(1, 9)}) & (f < {self.random.randint(1, 7)})",
            f"p + f < {self.random.randint(1, self.rows)}", f"f - p >= {self.random.randint(-3, 5)}"))

    def value(self, nest: Nest, mask: str = "") -> str:
        a, b, end = self.source(nest), self.source(nest), mask and f", mask={mask}"
        column = f"near[p, z + {self.index(nest, self.columns)}]"
        return self.random.choice((
            f"nl.sin({a}{end})", f"nl.minimum({a}, {b}{end})",
            f"nl.tanh(nl.{self.random.choice(('add', 'subtract', 'multiply'))}({a}, {b}){end})",
            f"nl.tanh(nl.add({a}, {column}){end})", f"nisa.tensor_tensor({a}, {b}, op=nl.maximum{end})",
            f"nisa.tensor_scalar({a}, nl.multiply, {column}, op1=nl.minimum, operand1=0.75{end})",
            f"nisa.activation(op=nl.tanh, data={a}, bias={column}, scale=2.0{end})"))

    def statement(self, nest: Nest) -> list[str]:
        target, value, masked = (self.target(nest), self.value(nest),
                                 self.value(nest, self.mask(nest)))
        a, b, condition = self.source(nest), self.source(nest), self.mask(nest)
        name, count = self.random.choice(nest)
        self.loops += 1
        index = f"i{self.loops - 1}"
        inner = [*nest, (index, 3)]
        loop = f"for {index} in {self.random.choice(LOOPS)}(3):"
        affine = f"for {index} in nl.affine_range(3):"
        product = (f"nl.matmul({self.source(inner)}, {self.source(inner)}, transpose_x=True)",
                   f"nisa.nc_matmul({self.source(inner)}, {self.source(inner)})")
        return self.random.choice((
            [f"{target} = {value}"], [f"{target} = {masked}"],
            [f"{target} = nl.load({self.loaded(nest)}, mask={condition})"],
            [f"if {name} {self.random.choice(('==', '<', '!='))} {self.random.randint(0, count)}:",
             f"    {target} = {masked}"],
            [f"near[p, z + {self.index(nest, self.columns)}] = nl.tanh(nl."
             f"{self.random.choice(('sum', 'max', 'mean'))}({a}, axis=1, keepdims=True))"],
            ["bank = nl.zeros((COLUMNS, COLUMNS), nl.float32, buffer=nl.psum)", affine,
             f"    bank += {self.random.choice(product)}",
             f"near[c, f + {self.index(nest, self.columns)}] = nl.tanh(nl.multiply(bank, 0.1))"],
            ["banks = nl.zeros((3, nl.par_dim(COLUMNS), COLUMNS), nl.float32, buffer=nl.psum)", affine,
             f"    banks[{index}, c, f] += {self.random.choice(product)}",
             f"near[c, f] = nl.tanh(nl.multiply(banks[{self.random.randint(0, 2)}, c, f], 0.1))"],
            [f"flat = nl.copy(nisa.nc_transpose({a}))", "near[c, f] = nl.copy(flat[0:COLUMNS, 0:COLUMNS])"],
            [f"{target} = nisa.affine_select(pred={condition.split(' & ')[-1]}, on_true_tile={a}, "
             "on_false_value=0.125)"],
            ["part = nl.zeros((ROWS, COLUMNS), nl.float32)", loop,
             f"    part += nl.multiply({self.source(inner)}, 0.25)", f"{target} = nl.tanh(part)"],
            ["part = nl.full((ROWS, COLUMNS), 0.5, nl.float32)", f"part[p, f] = {masked}",
             f"{target} = nl.copy(part)"],
            ["spare = nl.ndarray((3, nl.par_dim(ROWS), COLUMNS), nl.float32)", loop,
             f"    spare[{index}, p, f] = {self.value(inner)}", loop,
             f"    near[p, f + {index}] = nl.tanh(spare[{self.random.choice((index, '2'))}, p, f])"],
            ["made = []", f"for {index} in range(3):", f"    made.append({self.value(inner)})",
             f"for {index} in range(3):", f"    near[p, f + {index}] = nl.minimum(made[{index}], {b})"],
            [f"{target} = rotated({a}, {b})"],
            [f"nl.store(out[{self.index(nest, 60)} + p, {self.index(nest, 40)} + f], {a}, "
             f"mask={condition})"],
            [f"nl.store(scratch[{self.index(nest, 60)} + p, f], {a})",
             f"{target} = nl.load(scratch[{self.index(nest, 60)} + p, f])"]))


@pytest.mark.parametrize("seed", range(100))
def test_a_program_leaves_what_numpy_computes(seed: int) -> None:
    text, name = Writer(seed).text, f"<random program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    code = compile(text, name, "exec")
    real: dict[str, Any] = {**REAL}
    plain: dict[str, Any] = {**PLAIN}
    for names in (real, plain):
        exec(code, names)
    data = np.random.default_rng(seed).uniform(-1, 1, (128, 64)).astype(np.float32)
    found = run_kernel(real["kernel"], data, api="neuronxcc.nki")
    expected = plain["kernel"](numpy_language.Tile(data.copy()))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other.values, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", [nl.affine_range, nl.sequential_range, range])
@pytest.mark.parametrize("bounds", [(28,), (2, 28), (2, 29), (3, 60, 2), (-4, 24)])
@pytest.mark.parametrize("period", [2, 3])
def test_iterations_that_take_turns_are_all_computed(kind: Any, bounds: tuple[int, ...],
                                                     period: int) -> None:
    """Wherever the loop begins, and whatever is left out of its trace."""
    places = range(*bounds)
    first = min(places)

    def kernel(x: Any) -> Any:
        out = nl.ndarray((60, 32, 16), dtype=x.dtype, buffer=nl.shared_hbm)
        for j in kind(*bounds):
            t = nl.load(x[0:32, nl.ds(j - first, 16)])
            if j % period == 0:
                u = nl.multiply(t, 2.0)
            else:
                u = nl.add(t, 1.0)
            nl.store(out[j - first], u)
        return out

    data = np.random.default_rng(1).standard_normal((32, 96)).astype(np.float32)
    found = run_kernel(kernel, data, api="neuronxcc.nki")
    for j in places:
        part = data[:, j - first:j - first + 16]
        np.testing.assert_allclose(found[j - first], part * 2 if j % period == 0 else part + 1,
                                   rtol=1e-6)
