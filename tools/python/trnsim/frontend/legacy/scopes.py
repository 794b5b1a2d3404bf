# SPDX-License-Identifier: Apache-2.0
# Tiles that the 0.1 dialect loses at the end of a block, and Python does not.
"""advise(kernel): tiles that a block of a kernel makes and a line behind the block uses.

A branch on the index of a loop is allowed in this dialect: AWS's compiler predicates what is in it.
But loops and such branches are scopes, and a tile that one of them makes ends with it; it says
"Local variable 'tile' is referenced outside of its parent scope" and does not compile the kernel,
which Python runs as it is written. [NKI-ERRORS-2.26]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

LOOPS = ("affine_range", "sequential_range")
NO_TILES = ("arange", "mgrid", "ds", "par_dim", "program_id", "num_programs", "program_ndim",
            "tile_size", "static_range", "shared_constant", *LOOPS)
"""Functions and objects of the modules `nl` and `nisa` whose results are not tiles."""
MODULES = ("nl", "nisa")
"""What kernels call the modules whose functions make tiles."""


class Escape(NamedTuple):
    """A tile that leaves its block, with the lines where it is made and used."""

    name: str
    made: int
    block: str
    """`if` or `for`."""
    start: int
    used: int


def advise(kernel: Any) -> list[tuple[int, str]]:
    """Remarks on a kernel's source, with their lines; none if it has no source."""
    code = getattr(kernel, "__code__", None)
    if not isinstance(code, CodeType) or not set(LOOPS) & set(code.co_names):
        return []
    function = _definition(code)
    if function is None:
        return []
    path = Path(code.co_filename).name
    return [(made, f"{path}:{made}: {name!r} is made in the {block!r} of line {start} and used "
                   f"behind it, in line {used}, but neuronx-cc ends a tile with its block; make it "
                   f"before line {start} and write {name}[...] = in the block")
            for name, made, block, start, used in escapes(function)]


def _definition(code: CodeType) -> ast.FunctionDef | None:
    """The definition of a function in its file; None if it is not found."""
    try:
        tree = ast.parse(Path(code.co_filename).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            decorated = [one.lineno for one in node.decorator_list]
            if min([node.lineno, *decorated]) == code.co_firstlineno:
                return node
    return None


def escapes(function: ast.FunctionDef) -> list[Escape]:
    """The tiles of a kernel that leave their block; each name once."""
    finder = _Finder()
    finder.block(function.body, [])
    return list(finder.found.values())


class _Finder:
    """Goes through the blocks of a function, in the order of its lines."""

    def __init__(self) -> None:
        self.found: dict[str, Escape] = {}
        self._indices: set[str] = set()
        self._tiles: set[str] = set()

    def block(self, body: Sequence[ast.stmt], behind: Sequence[Sequence[ast.stmt]]) -> None:
        """Looks at the statements of a block; those of `behind` run after it, the next first."""
        for position, statement in enumerate(body):
            rest = [body[position + 1:], *behind]
            self._learn(statement)
            if isinstance(statement, ast.For):
                if _is_loop(statement):
                    self._indices.update(_names(statement.target, ast.Store))
                    self.block(statement.body, rest)
                    self._check("for", statement, statement.body, rest)
                else:
                    self.block(statement.body, rest)
            elif isinstance(statement, ast.If):
                self.block(statement.body, rest)
                self.block(statement.orelse, rest)
                if self._indices & set(_names(statement.test, ast.Load)):
                    self._check("if", statement, [*statement.body, *statement.orelse], rest)
            elif isinstance(statement, (ast.With, ast.While)):
                self.block(statement.body, rest)

    def _learn(self, statement: ast.stmt) -> None:
        """Which names are tiles, and which depend on the index of a loop."""
        if not isinstance(statement, ast.Assign):
            return
        for target in statement.targets:
            if isinstance(target, ast.Name):
                is_tile = self._is_tile(statement.value)
                (self._tiles.add if is_tile else self._tiles.discard)(target.id)
                uses = self._indices & set(_names(statement.value, ast.Load))
                (self._indices.add if uses and not is_tile else self._indices.discard)(target.id)

    def _is_tile(self, value: ast.expr) -> bool:
        """Whether an expression makes a new tile."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            owner = value.func.value
            return (isinstance(owner, ast.Name) and owner.id in MODULES and
                    value.func.attr not in NO_TILES)
        if isinstance(value, ast.BinOp):
            return any(isinstance(side, ast.Name) and side.id in self._tiles or self._is_tile(side)
                       for side in (value.left, value.right))
        return False

    def _check(self, kind: str, statement: ast.stmt, body: Sequence[ast.stmt],
               behind: Sequence[Sequence[ast.stmt]]) -> None:
        """Remembers the tiles that a block makes and that are used before they are made again."""
        for one in body:
            if not isinstance(one, ast.Assign) or not self._is_tile(one.value):
                continue
            for target in one.targets:
                if isinstance(target, ast.Name) and target.id not in self.found:
                    used = _first_use(target.id, behind)
                    if used:
                        self.found[target.id] = Escape(target.id, one.lineno, kind,
                                                       statement.lineno, used)


def _is_loop(statement: ast.For) -> bool:
    """Whether it is a loop of the dialect, whose body is compiled once."""
    call = statement.iter
    if not isinstance(call, ast.Call):
        return False
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in LOOPS


def _names(node: ast.AST, context: type[ast.expr_context]) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, context):
            yield one.id


def _first_use(name: str, behind: Sequence[Sequence[ast.stmt]]) -> int:
    """The line that uses a name first; 0 if it is made again before, or not used."""
    for block in behind:
        for statement in block:
            used = [one.lineno for one in ast.walk(statement)
                    if isinstance(one, ast.Name) and one.id == name and
                    isinstance(one.ctx, ast.Load)]
            made = [one.lineno for one in ast.walk(statement)
                    if isinstance(one, ast.Name) and one.id == name and
                    isinstance(one.ctx, ast.Store)]
            if made and (not used or min(made) < min(used)):
                return 0
            if used:
                return min(used)
    return 0
