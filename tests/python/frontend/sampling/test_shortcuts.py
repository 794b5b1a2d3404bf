# SPDX-License-Identifier: Apache-2.0
# Property: leaving iterations out does not change a trace, whatever the kernel does in its loops.
"""Random kernels of both APIs, traced with shortcuts and with every iteration executed.

A kernel is a text of nested loops. Its statements are those that shortcuts are made for (accesses
that are affine in the indices, comparisons, tiles in lists of the iteration, accumulation), and
those that they must notice: state of the kernel's own, modulo, values that outlive their loop.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from trace_expander import expand
from trnsim.frontend import FrontendError, TensorArgument, dtype, install, trace
from kernel_files import find_kernel

install()
MATRIX = TensorArgument(dtype("bfloat16"), (4096, 4096))
HEADERS = {
    "nki": ("import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
            "class Shape:\n    step, is_wide, scale = 8, True, None\n    spare, level = None, 0\n\n"
            "    def fill(self, tile):\n        nisa.memset(dst=tile, value=2.0)\n\n"
            "    def renew(self):\n"
            "        self.spare = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
            "        nisa.memset(dst=self.spare, value=0.0)\n        return self.spare\n\n\n"
            "def copied(dst, src, start=0):\n"
            "    nisa.tensor_copy(dst=dst[0:128, 0:64], src=src[0:128, nl.ds(start, 64)])\n\n\n"
            "def loaded(x, start):\n"
            "    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)\n"
            "    for k in range(4):\n"
            "        nisa.dma_copy(dst=tile, src=x[start:start + 128, nl.ds(k * 64, 64)])\n"
            "    return tile\n\n\n@nki.jit\n"
            "def kernel(x):\n"
            "    out = nl.ndarray((4096, 4096), dtype=x.dtype, buffer=nl.shared_hbm)\n"
            "    near = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
            "    nisa.memset(dst=near, value=0.0)\n"
            "    bank = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)\n"
            "    tiles = [nl.ndarray((128, 128), x.dtype, buffer=nl.sbuf) for _ in range(4)]\n"
            "    for tile in tiles:\n        nisa.memset(dst=tile, value=0.0)\n"
            "    mixed = [tiles[k] for k in (2, 0, 3, 1)] * 4\n"
            "    row = [nl.ndarray((128, 64), x.dtype, buffer=nl.sbuf) for _ in range(13)]\n"
            "    grid = [[nl.ndarray((128, 64), x.dtype, buffer=nl.sbuf) for _ in range(3)]\n"
            "            for _ in range(13)]\n"
            "    for line in [row, *grid]:\n        for tile in line:\n"
            "            nisa.memset(dst=tile, value=0.0)\n"
            "    banks = [nl.ndarray((128, 64), nl.float32, buffer=nl.psum) for _ in range(13)]\n"
            "    fresh = [nl.ndarray((128, 64), x.dtype, buffer=nl.sbuf) for _ in range(13)]\n"
            "    sizes = Shape()\n"
            "    count, seen, last, keep = 0, [], near, 0\n"
            "    older = newer = near\n"),
    "neuronxcc.nki": ("import neuronxcc.nki as nki\nimport neuronxcc.nki.compiler as ncc\n"
                      "import neuronxcc.nki.isa as nisa\n"
                      "import neuronxcc.nki.language as nl\n\n\n"
                      "class Shape:\n    step, level = 8, 0\n\n"
                      "    def following(self):\n        self.level += 1\n"
                      "        return self.level\n\n\n"
                      "total = 0\n\n\n"
                      "def counted():\n    global total\n    total += 1\n    return total\n\n\n"
                      "def copied(dst, src, start=0):\n"
                      "    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]\n"
                      "    dst[p, f] = nl.copy(src[p, f + start])\n\n\n"
                      "def loaded(x, start):\n"
                      "    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]\n"
                      "    tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)\n"
                      "    for k in nl.affine_range(3):\n"
                      "        tile[p, k * 64 + f] = nl.load(x[start + p, k * 64 + f])\n"
                      "    return tile\n\n\n@nki.jit\ndef kernel(x):\n"
                      "    global total\n    total, sizes = 0, Shape()\n"
                      "    out = nl.ndarray((4096, 4096), dtype=x.dtype, buffer=nl.shared_hbm)\n"
                      "    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]\n"
                      "    near = nl.load(x[0:128, 0:512])\n"
                      "    blocks = nl.ndarray((13, nl.par_dim(128), 512), dtype=x.dtype)\n"
                      "    pairs = nl.ndarray((13, 13, nl.par_dim(128), 64), dtype=x.dtype)\n"
                      "    count, seen, keep = 0, [], 0\n"
                      "    older = newer = near\n"),
}
RANGES = {"nki": ("nl.affine_range", "nl.sequential_range", "nl.static_range", "range"),
          "neuronxcc.nki": ("nl.affine_range", "nl.sequential_range", "nl.static_range", "range")}


class Writer:
    """Writes the text of a random kernel."""

    def __init__(self, seed: int, api: str) -> None:
        self.random = random.Random(seed)
        self.api = api
        self.names = 0
        self.kinds: list[str] = []
        """Kinds of the open loops."""
        self.lines: list[str] = []
        self.text = HEADERS[api] + "\n".join(self.program()) + "\n    return out\n"

    def program(self) -> list[str]:
        for _ in range(self.random.randint(1, 2)):
            self.loop("    ", [], 0)
        self.lines.append(f"    {self.store('near', [('keep', 13)])}")
        self.lines.append(f"    {self.store('older', [])}")
        return self.lines

    def index(self, loops: list[tuple[str, int]], most: int, step: int = 1) -> str:
        """An affine expression of the indices between 0 and `most`."""
        text, left = f"{self.random.randint(0, 3) * step}", most - 3 * step
        for name, count in self.random.sample(loops, min(len(loops), 2)):
            factor = self.random.randint(0, 3) * step
            if factor * count <= left:
                left -= factor * count
                text += f" + {factor} * {name}"
        return text

    def source(self, loops: list[tuple[str, int]], columns: int = 64) -> str:
        row, column = self.index(loops, 3900, 16), self.index(loops, 3000, 8)
        if self.api == "nki":
            return f"x[{row}:{row} + 128, nl.ds({column}, {columns})]"
        return f"x[{row} + p, {column} + f]"

    def store(self, tile: str, loops: list[tuple[str, int]]) -> str:
        row = self.index(loops, 3900, 8)
        if self.api == "nki":
            return f"nisa.dma_copy(dst=out[{row}:{row} + 128, 0:64], src={tile}[0:128, 0:64])"
        mask = f", mask={row} + p < {self.random.randint(200, 4000)}" * self.random.randint(0, 1)
        return f"nl.store(out[{row} + p, f], {tile}[p, f]{mask})"

    def loop(self, indent: str, loops: list[tuple[str, int]], depth: int) -> None:
        name = f"i{self.names}"
        self.names += 1
        count = self.random.choice((1, 3, 5, 6, 9, 13) if depth else (5, 9, 13))
        kind = self.random.choice(RANGES[self.api])
        inner = indent + "    "
        guarded = self.api == "nki" and self.random.random() < 0.1
        if guarded:
            self.lines.append(f"{indent}try:")
            indent, inner = inner, inner + "    "
        self.lines.append(f"{indent}{self.head(name, f'{kind}({count})', count)}:")
        nest = [*loops, (name, count)]
        self.kinds.append(kind)
        if "beside" in self.lines[-1]:
            self.lines += [f"{inner}if beside_{name} == {self.random.randint(0, count)}:",
                           f"{inner}    {self.store('near', nest)}"]
        for _ in range(self.random.randint(1, 4)):
            self.statement(inner, nest, depth)
        self.kinds.pop()
        if guarded:
            self.lines += [f"{inner}assert {name} != {self.random.randint(0, 12)}",
                           f"{indent[4:]}except AssertionError:", f"{indent}pass"]

    def head(self, name: str, over: str, count: int) -> str:
        """The `for` statement, most often of the range itself."""
        beside = self.random.sample(range(count), count)
        return self.random.choice((
            *[f"for {name} in {over}"] * 12, f"for {name} in list({over})",
            f"for beside_{name}, {name} in enumerate({over})",
            f"for {name}, beside_{name} in zip({over}, {beside})",
            f"for {name} in [one for one in {over}]"))

    def statement(self, indent: str, loops: list[tuple[str, int]], depth: int) -> None:
        name, count = loops[-1]
        limit = self.random.randint(0, count)
        if depth < 2 and self.random.random() < 0.35:
            self.loop(indent, loops, depth + 1)
            return
        made = self.plain(loops)
        if self.random.random() < 0.2:
            test = self.random.choice((f"{name} < {limit}", f"{name} == {limit}",
                                       f"{name} + {loops[0][0]} >= {limit}", f"not {name}"))
            made = [f"if {test}:", *(f"    {one}" for one in made)]
        elif self.random.random() < 0.12:
            made += self.stateful(loops)
        self.lines += [indent + one for one in made]

    def plain(self, loops: list[tuple[str, int]]) -> list[str]:
        """Statements that a shortcut may see through."""
        name = loops[-1][0]
        if self.api != "nki":
            return self.random.choice((
                [f"tile = nl.load({self.source(loops)})", self.store("tile", loops)],
                [f"blocks[{name}, p, f] = nl.load({self.source(loops)})",
                 self.store(f"blocks[{name}]", loops)],
                ["acc = nl.zeros((128, 512), nl.float32, buffer=nl.psum)",
                 "acc += nl.matmul(near[:, 0:128], near, transpose_x=True)",
                 "near[...] = nl.copy(acc)"],
                [*self.strided(), "        near[p, f] = nl.copy(near[p, f + k * step + "
                 f"{self.index(loops, 200, 4)}])"],
                [f"copied(near, near, {self.index(loops, 400, 4)})"],
                [f"copied(near, loaded(x, {self.index(loops, 3900, 16)}))"],
                [f"copied(near, nl.full((128, 512), {self.index(loops, 90)}, x.dtype))"],
                [f"copied(near, near, {name} * sizes.step)"],
                [f"pairs[{name}, {loops[0][0]}, p, f] = nl.load({self.source(loops)})",
                 self.store(f"pairs[{name}, {loops[0][0]}]", loops)],
                [f"near[p, f] = nl.exp(near[p, f + {self.index(loops, 400, 4)}])"]))
        moving = self.index(loops, 256, 4)
        return self.random.choice((
            ["tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)",
             f"nisa.dma_copy(dst=tile, src={self.source(loops)})", self.store("tile", loops)],
            ["acc = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum)",
             "for k in nl.affine_range(9):",
             f"    nisa.nc_matmul(dst=acc, stationary=near[0:128, {moving}:{moving} + 128], "
             "moving=near[0:128, 0:64])",
             "nisa.tensor_copy(dst=near[0:128, 64:128], src=acc)"],
            ["nisa.nc_matmul(dst=bank[0:128, 0:64], stationary=near[0:128, 0:128], "
             "moving=near[0:128, 0:64])"],
            [f"nisa.nc_matmul(dst=bank[0:128, nl.ds({moving}, 64)], "
             "stationary=near[0:128, 0:128], moving=near[0:128, 0:64], accumulate=False)"],
            ["parts = []", "for k in range(5):",
             "    part = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.sbuf)",
             f"    nisa.dma_copy(dst=part, src={self.source(loops, 8)})",
             "    parts.append(part)",
             "for k in range(5):", "    " + self.store("near", loops),
             "    nisa.tensor_copy(dst=near[0:128, 0:8], src=parts[k])"],
            [*self.strided(), "        nisa.tensor_copy(dst=near[0:128, 0:64], src=near[0:128, "
             f"nl.ds(k * step + {self.index(loops, 200, 4)}, 64)])"],
            [f"nisa.tensor_copy(dst={self.chosen(name)}, src=near[0:128, 0:64])"],
            ["copied(near, near, " + self.index(loops, 400, 4) + ")"],
            [f"copied(near, loaded(x, {self.index(loops, 3900, 16)}))"],
            ["sizes.fill(row[0])", f"copied(row[0], {self.chosen(name)})"],
            ["copied(sizes.renew(), near)", "copied(near, sizes.spare)"],
            [f"for one in [loaded(x, {self.index(loops, 3900, 16)}) for _ in range(2)]:",
             "    copied(near, one)"],
            [f"nisa.tensor_copy(dst=near[0:128, 0:64], src={self.chosen(name)})"],
            ["for k in nl.affine_range(3):", f"    nisa.tensor_copy(dst=grid[{name}][k], "
             f"src=grid[{loops[0][0]}][k])"],
            ["nisa.dma_copy(dst=row[0], src=x.ap(pattern=[[4096, 128], [1, 64]], "
             f"offset={self.index(loops, 3900, 16)}))"],
            ["nisa.tensor_copy(dst=row[1], src=near.ap([[512, 128], [1, 64]], "
             f"{self.index(loops, 400, 4)}))"],
            ["if sizes.is_wide and sizes.scale is None:",
             f"    nisa.tensor_copy(dst=near[0:128, nl.ds({name} * sizes.step, 64)], src=row[2])"],
            ["nisa.activation(dst=near[0:128, 0:64], op=nl.exp, "
             f"data=near[0:128, {moving}:{moving} + 64])"]))

    def strided(self) -> list[str]:
        """A loop that runs several times, whose iterations look alike and move unlike."""
        steps = ", ".join(str(self.random.choice((4, 8, 12))) for _ in range(3))
        return [f"for step in ({steps}):",
                f"    for k in {self.random.choice(RANGES[self.api])}(7):"]

    def chosen(self, name: str) -> str:
        """A tile that the index selects from a list."""
        return self.random.choice((f"row[{name}]", f"row[12 - {name}]", f"grid[{name}][1]",
                                   f"mixed[{name}][0:128, 0:64]", f"fresh[{name}]"))

    def stateful(self, loops: list[tuple[str, int]]) -> list[str]:
        """Statements that a shortcut must notice."""
        name, count = loops[-1]
        if self.random.random() < 0.25:
            return self.random.choice((
                [f"if {name} == {self.random.randint(0, count)}:", "    break"],
                [f"older, newer = newer, loaded(x, {self.index(loops, 3900, 16)})"],
                ["older = newer", f"newer = loaded(x, {self.index(loops, 3900, 16)})",
                 self.store("newer", loops)]))
        if self.api != "nki" and self.random.random() < 0.6:
            return self.random.choice((
                ["count += 1", "if count == 7:", "    " + self.store("near", loops)],
                [f"seen.append({name})", "if len(seen) == 9:", "    " + self.store("near", loops)],
                ["if sizes.following() == 9:", "    " + self.store("near", loops)],
                ["copied(near, near, counted() % 5 * 8)"], ["counted()"],
                [f"sizes.step = {name}"], [f"copied(near, near, len(seen) + {name})"],
                [f"keep = {name} * 2"], [f"if {name} > 2:", f"    keep = {name}"]))
        if self.api != "nki":  # the compiler executes a body once: only what it sees of the index
            return self.random.choice((
                [f"near[p, f] = nl.copy(near[p, f + {name} % 3])"],
                [f"near[p, f] = nl.copy(near[p, f + [0, 4, 1, 9][{name} % 4]])"],
                [f"near[p, f] = nl.copy(near[p, f + {name} * {name} % 7])"]))
        return self.random.choice((
            ["count += 1", "if count == 7:", "    " + self.store("near", loops)],
            [f"seen.append({name})", "if len(seen) == 9:", "    " + self.store("near", loops)],
            [self.store("last", loops),
             "last = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)",
             "nisa.memset(dst=last, value=1.0)"],
            [f"if {name} > 2:", f"    keep = {name}"],
            [f"keep = {name} * 2"],
            [f"nisa.tensor_copy(dst=near[0:128, 0:128], src=tiles[{name} % 4])"],
            [f"nisa.memset(dst=near, value={name})"],
            ["copied(near, sizes.spare or row[0])", "sizes.renew()"],
            ["sizes.level += 1", "copied(near, near, sizes.level % 3 * 64)"],
            [f"sizes.level = {name}", "copied(near, near, sizes.level * 4)"],
            [f"seen.append(loaded(x, {name} * 8))", "copied(near, seen[len(seen) // 2])"],
            [f"if {name} > 2:", f"    pair = [{name}]", "    copied(near, near, pair[0] * 4)"],
            [f"sizes.step = {name}"], ["sizes.is_wide = not sizes.is_wide"],
            [f"nisa.nc_matmul(dst=banks[{name}], stationary=near[0:128, 0:128], "
             "moving=near[0:128, 0:64])"],
            [f"row[0], row[{name}] = row[{name}], row[0]"],
            [f"nisa.tensor_copy(dst=near[0:128, 0:{name} + 1], src=near[0:128, 1:{name} + 2])"],
            [f"nisa.tensor_copy(dst=near[0:128, 0:64], src=near[0:128, "
             f"({name} // 2) * 4:({name} // 2) * 4 + 64])"]))


class NestWriter(Writer):
    """Deep nests of short loops: each loop inside of another runs often, and alike."""

    def program(self) -> list[str]:
        self.lines += ["    tall = nl.ndarray((5, 5, 5, nl.par_dim(128), 64), dtype=x.dtype)",
                       "    full = nl.full((5, 5, nl.par_dim(128), 64), 1.0, dtype=x.dtype)",
                       "    banks = nl.zeros((5, 5, nl.par_dim(128), 64), nl.float32, "
                       "buffer=nl.psum, lazy_initialization=True)",
                       "    tile = nl.load(x[p, f])"] * (self.api != "nki")
        return super().program()

    def loop(self, indent: str, loops: list[tuple[str, int]], depth: int) -> None:
        name = f"i{self.names}"
        self.names += 1
        count = self.random.choice((1, 2, 2, 3, 4, 5))
        kind = self.random.choice(RANGES[self.api])
        self.lines.append(f"{indent}for {name} in {kind}({count}):")
        nest = [*loops, (name, count)]
        self.kinds.append(kind)
        for _ in range(self.random.randint(1, 2)):
            self.statement(indent + "    ", nest, depth)
        if depth < 4 and self.random.random() < 0.9:
            self.loop(indent + "    ", nest, depth + 1)
        for _ in range(self.random.randint(0, 2)):
            self.statement(indent + "    ", nest, 4)
        self.kinds.pop()

    def statement(self, indent: str, loops: list[tuple[str, int]], depth: int) -> None:
        (one, _), (other, _), (third, _) = (self.random.choice(loops) for _ in range(3))
        made = self.nested(loops) if self.random.random() < 0.9 else self.plain(loops)
        if self.random.random() < 0.3:
            test = self.random.choice((
                f"{one} - {other} < {self.random.randint(-1, 2)}", f"{one} >= {other}",
                f"{one} + {other} - {third} > {self.random.randint(0, 4)}",
                f"{one} == {self.random.randint(0, 3)}", f"{one} == {other} + 1",
                f"2 * {one} < {other} + {third}"))
            made = [f"if {test}:", *(f"    {line}" for line in made)]
        elif self.random.random() < 0.04:
            made += self.stateful(loops)
        self.lines += [indent + line for line in made]

    def nested(self, loops: list[tuple[str, int]]) -> list[str]:
        """Statements whose effect on the recorder depends on which iterations came before."""
        one, other, third = (self.random.choice(loops)[0] for _ in range(3))
        if self.api == "nki":
            return ["copied(near, near, " + self.index(loops, 400, 4) + ")"]
        return self.random.choice((
            [f"tall[{one}, {other}, {third}, p, f] = nl.load({self.source(loops)})"],
            [self.store(f"tall[{one}, {other}, {third}]", loops)],
            [f"full[{one}, {other}, p, f] = nl.add(full[{one}, {other}, p, f], near[p, f])"],
            [f"near[p, f] = nl.copy(full[{one}, {self.random.randint(0, 4)}, p, f])"],
            [f"banks[{one}, {other}, p, f] += nisa.nc_matmul(near[:, 0:128], near[p, f])",
             f"near[p, f] = nl.copy(banks[{one}, {other}, p, f])"],
            [f"full[{one}, {other}, p, f] = nl.loop_reduce(near[p, f], op=nl.add, "
             f"loop_indices=[{third}], dtype=x.dtype)"],
            [f"tile = nl.load({self.source(loops)})"],
            [self.store("tile", loops)],
            [f"near[p, f] = nl.copy(near[p, f + {self.index(loops, 400, 4)}], "
             f"mask={one} - {other} + f < {self.random.choice((60, 64, 66))})"]))


class RoundWriter(NestWriter):
    """Long loops of the old API whose iterations take turns."""

    def program(self) -> list[str]:
        self.lines += [
            "    turns = nl.ndarray((40, 3, nl.par_dim(128), 64), dtype=x.dtype,",
            f"                       buffer=ncc.sbuf.mod_alloc(base_addr=4096, num_free_tiles=("
            f"{self.random.randint(1, 4)}, {self.random.randint(1, 3)})))",
            "    spread = nl.ndarray((40, nl.par_dim(128), 64), dtype=x.dtype,",
            "                        buffer=ncc.sbuf.alloc(lambda idx, pdim_size, fdim_size: "
            f"(0, 65536 + idx[0] % {self.random.randint(1, 5)} * 512 + idx[0] // "
            f"{self.random.randint(1, 3)} * 256)))",
            "    single = nl.ndarray((40, nl.par_dim(128), 64), dtype=x.dtype)"]
        return super().program()

    def loop(self, indent: str, loops: list[tuple[str, int]], depth: int) -> None:
        if depth:
            super().loop(indent, loops, max(depth, 3))
            return
        name, count = "turn", self.random.choice((9, 13, 18, 25, 31))
        self.kinds.append("nl.affine_range")
        self.lines.append(f"{indent}for {name} in nl.affine_range({count}):")
        for _ in range(self.random.randint(1, 4)):
            self.statement(indent + "    ", [(name, count)], 3)
        if self.random.random() < 0.7:
            self.loop(indent + "    ", [(name, count)], 1)
        self.kinds.pop()

    def nested(self, loops: list[tuple[str, int]]) -> list[str]:
        if self.random.random() < 0.3:
            return super().nested([one for one in loops if one[1] < 6] or [("0", 1)])
        period, name = self.random.randint(2, 4), loops[self.random.randint(0, len(loops) - 1)][0]
        more, part = self.random.randint(0, 5), self.random.randint(0, 2)
        return self.random.choice((
            [f"turns[turn + {more}, {part}, p, f] = nl.load({self.source(loops)})",
             self.store(f"turns[turn + {more}, {part}]", loops)],
            [f"near[p, f] = nl.copy(turns[turn, {part}, p, f])"],
            [f"spread[turn, p, f] = nl.copy(near[p, f + {name} % {period} * 8])"],
            [f"single[turn + {more}, p, f] = nl.load({self.source(loops)})",
             f"near[p, f] = nl.copy(single[turn + {more}, p, f])"],
            [f"if {name} % {period} == {part}:", "    " + self.store("near", loops)],
            [f"near[p, f] = nl.copy(near[p, f + {name} // {period} * 4 + {name} % {period}])"],
            [f"near[p, f] = nl.copy(near[p, f + ({name} + {part}) // {period} * 4])"],
            [f"if {name} % {period} == {part}:",
             f"    tile = nl.load({self.source(loops)})", self.store("tile", loops)]))

    def plain(self, loops: list[tuple[str, int]]) -> list[str]:
        return self.nested(loops)


def outcome(function: Any, takes_shortcuts: bool) -> tuple[list[str], str, bool]:
    """The lines of a kernel's trace, or the error that it raises; whether loops were sampled."""
    try:
        program = trace(function, [MATRIX], takes_shortcuts=takes_shortcuts)
    except FrontendError as problem:
        return [], str(problem), False
    return program.lines(), "", program._recorders[0].shortcuts.has_sampled


def check(text: str, path: Path, cores: int = 1) -> bool:
    """Compares both ways to trace a kernel; whether there was a shortcut to take."""
    path.write_text(text)
    function: Any = find_kernel(f"{path}::kernel")
    if cores > 1:
        function = function[cores]
    short, problem, sampled = outcome(function, True)
    full, expected, _ = outcome(function, False)
    assert problem == expected, text
    if full:
        assert expand(short) == expand(full), text
    assert short == full, text
    return sampled


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even short loops are sampled."""
    monkeypatch.setattr("trnsim.frontend.sampling.sample.LONG", 0)
    monkeypatch.setattr("trnsim.frontend.sampling.sample.BYTES_PER_CALL", 10**9)
    monkeypatch.setattr("trnsim.frontend.sampling.sample.WATCHED", 0)
    monkeypatch.setattr("trnsim.frontend.legacy.loops.WATCHED", 0)


@pytest.mark.parametrize("api", HEADERS)
@pytest.mark.parametrize("seed", range(24))
def test_a_random_kernel_has_the_same_trace_with_and_without_shortcuts(
        api: str, seed: int, tmp_path: Path) -> None:
    check(Writer(seed, api).text, tmp_path / f"random_{seed}_{api.replace('.', '_')}.py")


@pytest.mark.parametrize("seed", range(200, 212))
def test_a_random_kernel_has_the_same_trace_on_two_cores(seed: int, tmp_path: Path) -> None:
    check(Writer(seed, "nki").text, tmp_path / f"cores_{seed}.py", cores=2)


@pytest.mark.parametrize("seed", range(40))
def test_a_deep_nest_has_the_same_trace_with_and_without_shortcuts(seed: int,
                                                                   tmp_path: Path) -> None:
    check(NestWriter(seed, "neuronxcc.nki").text, tmp_path / f"nest_{seed}.py")


@pytest.mark.parametrize("seed", range(40))
def test_a_loop_that_takes_turns_has_the_same_trace_with_and_without_shortcuts(
        seed: int, tmp_path: Path) -> None:
    check(RoundWriter(seed, "neuronxcc.nki").text, tmp_path / f"rounds_{seed}.py")


@pytest.mark.parametrize("api", HEADERS)
def test_many_random_kernels_have_loops_that_are_proven(api: str, tmp_path: Path) -> None:
    sampled = [check(Writer(seed, api).text, tmp_path / f"proven_{seed}_{len(api)}.py")
               for seed in range(100, 112)]
    assert sum(sampled) > 4
