# SPDX-License-Identifier: Apache-2.0
# Tiles that the 0.1 dialect loses at the end of a block, and Python does not.
"""advise(kernel): tiles that a block of a kernel, or of a function that it names, makes and a line
behind the block uses.

A branch on the index of a loop is allowed in this dialect: AWS's compiler predicates what is in it.
But loops and such branches are scopes, and a tile that one of them makes ends with it; it says
"Local variable 'tile' is referenced outside of its parent scope" and does not compile the kernel,
which Python runs as it is written. [NKI-ERRORS-2.26]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from trnsim.frontend.kernel import Kernel
from trnsim.frontend.source import Position, is_user
from trnsim.frontend.written import function_of

LOOPS = ("affine_range", "sequential_range")
MAKERS = frozenset("""
    abs add all arctan bitwise_and bitwise_or bitwise_xor broadcast_to ceil copy cos divide dropout
    empty_like equal erf erf_dx exp expand_dims floor fmod full gather_flattened gelu
    gelu_apprx_sigmoid gelu_apprx_tanh gelu_dx greater greater_equal invert left_shift less
    less_equal load load_transpose2d log logical_and logical_not logical_or logical_xor loop_reduce
    matmul max maximum mean min minimum mish mod multiply ndarray negative not_equal ones power prod
    rand reciprocal relu right_shift rms_norm rsqrt sigmoid sign silu silu_dx sin softmax softplus
    sqrt square static_cast subtract sum tan tanh transpose trunc var where zeros zeros_like

    activation activation_reduce affine_select bn_aggr bn_stats dma_transpose iota local_gather max8
    memset nc_find_index8 nc_match_replace8 nc_matmul nc_transpose range_select
    scalar_tensor_tensor sequence_bounds tensor_copy tensor_copy_dynamic_src
    tensor_partition_reduce tensor_reduce tensor_scalar tensor_scalar_cumulative
    tensor_scalar_reduce tensor_tensor tensor_tensor_scan
    """.split())
"""Functions of the modules `nl` and `nisa` whose results are new tiles. [NKI-LANGUAGE-2.26]"""
MODULES = ("nl", "nisa")
"""What kernels call the modules whose functions make tiles."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Escape(NamedTuple):
    """A tile that leaves its block, with the lines where it is made and used."""

    name: str
    made: int
    block: str
    """`if` or `for`."""
    start: int
    used: int


def advise(kernel: Any) -> list[tuple[Position, str]]:
    """Remarks on a kernel's source and on that of its functions; none where there is no source."""
    return [remark for function in _functions(kernel) for remark in _remarks(function.__code__)]


def _functions(kernel: Any) -> Iterator[FunctionType]:
    """A kernel's function, and those of the user's that it names, and that these name."""
    waiting: list[Any] = [function_of(kernel)]
    seen: set[FunctionType] = set()
    while waiting:
        function = waiting.pop()
        while isinstance(function, (Kernel, MethodType)):
            function = (function_of(function.function) if isinstance(function, Kernel) else
                        function.__func__)
        if not isinstance(function, FunctionType) or function in seen or not is_user(
                function.__code__):
            continue
        seen.add(function)
        yield function
        names = function.__globals__
        waiting += [names[name] for name in function.__code__.co_names if name in names]


def _remarks(code: CodeType) -> list[tuple[Position, str]]:
    if not set(LOOPS) & set(code.co_names):
        return []
    function = _definition(code, code.co_filename)
    if function is None:
        return []
    return [(Position(code.co_filename, made),
             f"{name!r} is made in the {block!r} of line {start} and used "
             f"behind it, in line {used}, but neuronx-cc ends a tile with its block; make it "
             f"before line {start} and write {name}[...] = in the block")
            for name, made, block, start, used in escapes(function)]


@cache
def _definition(code: CodeType, path: str) -> ast.FunctionDef | None:
    """The definition of a function in its file; None if it is not found."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        tree = _parsed_alone(text, code) or ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            decorated = [one.lineno for one in node.decorator_list]
            if min([node.lineno, *decorated]) == code.co_firstlineno:
                return node
    return None


def _parsed_alone(text: str, code: CodeType) -> ast.Module | None:
    """The statement at the left margin where a function begins; None if there is none to be parsed.

    It goes on to a line at the margin: one inside of a string or of brackets would leave it open.
    """
    lines = text.split("\n")
    first = code.co_firstlineno - 1
    if not lines[first:] or not _is_at_margin(lines[first]):
        return None
    end = max((line for _, _, line in code.co_lines() if line is not None), default=first + 1)
    while end < len(lines) and not _is_at_margin(lines[end]):
        end += 1
    try:
        return ast.parse("\n" * first + "\n".join(lines[first:end]) + "\n")
    except SyntaxError:
        return None


def _is_at_margin(line: str) -> bool:
    """Whether a statement may begin with a line, without being part of another one."""
    return bool(line.strip()) and not line[0].isspace() and line[0] not in "#)]}"


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
                    value.func.attr in MAKERS)
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
    return (one.id for one in _visible(node) if isinstance(one.ctx, context))


def _visible(node: ast.AST) -> Iterator[ast.Name]:
    """The names in a piece of a kernel that are the kernel's own.

    Those that a function, class or comprehension in it binds are not: they are other variables.
    """
    if isinstance(node, ast.Name):
        yield node
    if isinstance(node, DEFINITIONS):
        yield ast.Name(node.name, ast.Store(), lineno=node.lineno)
    if not isinstance(node, (*COMPREHENSIONS, *DEFINITIONS, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _visible(child)
        return
    outside, inside = _parts(node)
    for one in outside:
        yield from _visible(one)
    found = [name for one in inside for name in _visible(one)]
    bound = {name.id for name in found if isinstance(name.ctx, ast.Store)} - _declared(inside)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        bound |= {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    yield from (name for name in found if isinstance(name.ctx, ast.Load) and name.id not in bound)


def _parts(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """What of a function, class or comprehension runs where it stands, and what in its scope."""
    if isinstance(node, COMPREHENSIONS):
        first = node.generators[0].iter
        children = [child for one in (node, *node.generators) for child in ast.iter_child_nodes(one)
                    if not isinstance(child, ast.comprehension)]
        return [first], [child for child in children if child is not first]
    if isinstance(node, ast.Lambda):
        return _defaults(node.args), [node.body]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords], list(node.body)
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return [*node.decorator_list, *_defaults(node.args)], list(node.body)


def _defaults(arguments: ast.arguments) -> list[ast.AST]:
    return [one for one in (*arguments.defaults, *arguments.kw_defaults) if one is not None]


def _declared(body: Sequence[ast.AST]) -> set[str]:
    """The names that statements declare to be those of a scope outside."""
    return {name for statement in body for one in ast.walk(statement)
            if isinstance(one, (ast.Nonlocal, ast.Global)) for name in one.names}


def _first_use(name: str, behind: Sequence[Sequence[ast.stmt]]) -> int:
    """The line that uses a name first; 0 if it is made again before, or not used."""
    for block in behind:
        for statement in block:
            places = [one for one in _visible(statement) if one.id == name]
            used = [one.lineno for one in places if isinstance(one.ctx, ast.Load)]
            made = [one.lineno for one in places if isinstance(one.ctx, ast.Store)]
            if made and (not used or min(made) < min(used)):
                return 0
            if used:
                return min(used)
    return 0
