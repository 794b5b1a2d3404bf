# SPDX-License-Identifier: Apache-2.0
# Proves that the body of a Python loop does nothing but ask NKI for things.
"""When may iterations of a loop be left out?

A kernel of the `nki` API is Python that runs in full: its loop bodies may count, print, append to
lists. Iterations may only be predicted from others if the body is a function of the loop's index,
of objects that no iteration changes, and of the state of the recorder. `is_repeatable` proves that
for the loop that a frame is about to begin, from its source and from the objects that it names:

* The source is the one that runs: it is compiled again and compared with the frame's code.
* The iterable goes into a `for` statement of the function itself, without break, continue or else.
* Statements: assignments to local names, expressions, `for` over NKI's ranges, `if`, `assert`,
  `pass`. Names that the body assigns are assigned before they are read, in the same iteration.
* Expressions have a *kind*: a number, an index (a number that depends on a loop), a tensor of ours,
  a plain constant, a list of one kind, a list made in this iteration (which may be appended to), a
  module, or one of our functions. Everything else, user-defined objects first, is not proven.
* Indices go into arithmetic, comparisons, subscripts of tensors and lists, and `nl.ds` only. There,
  LoopIndex watches them (loop_index.py): whatever is not affine asks for the value.
* Calls: functions of trnsim.frontend.nki, methods of tensors, `append` on a list of the iteration,
  `min`, `max`, `abs` and `len`.

What the recorder's state adds is checked where loops are sampled (sampling.py).
"""

from __future__ import annotations

import ast
import builtins
import opcode
from enum import Enum
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple
from collections.abc import Iterator, Sequence

from trnsim.frontend import source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.loop_index import LoopIndex
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.nki.tile_size import TileSize

NUMBER, INDEX, TENSOR, PLAIN, RESULT = "number", "index", "tensor", "plain", "result"

_OURS = "trnsim.frontend.nki."
_NUMERIC = {id(one) for one in (min, max, abs, len)}
_MODULES = ("nki", "nki.typing", "numpy")
"""Modules whose attributes are constant, besides ours."""
_RANGES = ("affine_range", "sequential_range", "static_range")
_MADE = ("NkiTensor", "View")
"""Annotations of our functions that return tensors."""
_METHODS = frozenset(("broadcast", "broadcast_to", "expand_dim", "flatten_dims", "permute",
                      "rearrange", "reshape", "reshape_dim", "squeeze_dim"))
"""Methods of a tensor whose result starts where the tensor does. (`ap` and `view` divide.)"""
_ATTRIBUTES = {"shape": ("list", NUMBER), "strides": ("list", NUMBER), "dtype": PLAIN,
               "ndim": NUMBER, "size": NUMBER, "buffer": PLAIN}
_LARGEST_LIST = 4096
"""Elements of a list that are looked at. [ASSUMED]"""


class Unproven(Exception):
    """The body may do something else."""


class Local:
    """The kind of a list that was made in this iteration: its elements are of one kind."""

    def __init__(self) -> None:
        self._shared: list[Any] = [None]

    @property
    def element(self) -> Any:
        """The kind of the elements; None before there is one."""
        return self._shared[0]

    def append(self, kind: Any) -> None:
        """An element is added. Lists in one list hold elements of one kind."""
        have = self.element
        if isinstance(kind, Local) and isinstance(have, Local):
            if kind.element is not None:
                have.append(kind.element)
            kind._shared = have._shared
        elif kind in (RESULT, INDEX) or (have is not None and have != kind):
            raise Unproven
        else:
            self._shared[0] = kind


class Site(NamedTuple):
    """A loop in the source, and the names that its body takes from outside."""

    loop: ast.For
    stored: frozenset[str]
    free: tuple[str, ...]


class Module(NamedTuple):
    """A source file: all code in it, and its `for` statements by place."""

    codes: frozenset[CodeType]
    loops: dict[Any, ast.For]


_EXTENDED_ARG, _FOR_ITER, _GET_ITER = (
    opcode.opmap[name] for name in ("EXTENDED_ARG", "FOR_ITER", "GET_ITER"))
_sites: dict[source.Site, Site | None] = {}
_proofs: dict[Any, bool] = {}
_kept: list[CodeType] = []
"""The code of all sites, so that none is mistaken for another."""
_modules: dict[str, Module | None] = {}


def is_known(at: source.Site) -> bool:
    """Whether the source of a loop has been looked at, which takes milliseconds."""
    return at in _sites


def is_repeatable(frame: FrameType, at: source.Site) -> bool:
    """Whether the loop is proven whose iterator `frame` has made at `at`."""
    if at not in _sites:
        _kept.append(frame.f_code)
        _sites[at] = _site(frame.f_code, at[1])
    site = _sites[at]
    if site is None:
        return False
    values = frame.f_locals
    try:
        kinds = tuple(_kind(_value(name, values, frame)) for name in site.free)
        key = (at, kinds)
        proven = _proofs.get(key)
        if proven is None:
            proven = _proofs[key] = _is_proven(site, dict(zip(site.free, kinds)))
        return proven
    except Unproven:
        return False


def _is_proven(site: Site, free: dict[str, Any]) -> bool:
    try:
        _Body(site.stored, free).check(site.loop)
    except Unproven:
        return False
    return True


# The source -----------------------------------------------------------------------------------

def _site(code: CodeType, at: int) -> Site | None:
    """The `for` statement whose iterator an instruction makes; None without one, or a file."""
    bytecode = code.co_code
    following = at + 2
    while bytecode[following] == _EXTENDED_ARG:
        following += 2
    if bytecode[at] != _GET_ITER or bytecode[following] != _FOR_ITER:
        return None
    parsed = _module(code.co_filename)
    place = next(islice(code.co_positions(), at // 2, None))
    if parsed is None or code not in parsed.codes:
        return None
    loop = parsed.loops.get(place)
    return None if loop is None else _described(loop)


def _described(loop: ast.For) -> Site:
    stored: set[str] = set()
    loaded: dict[str, None] = {}
    for node in [loop.target, *(one for statement in loop.body for one in ast.walk(statement))]:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                loaded[node.id] = None
            else:
                stored.add(node.id)
    return Site(loop, frozenset(stored), tuple(name for name in loaded if name not in stored))


def _module(path: str) -> Module | None:
    """What a file contains; None if there is no such source."""
    if path not in _modules:
        try:
            tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
            code = compile(tree, path, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError):
            _modules[path] = None
        else:
            _modules[path] = Module(frozenset(_codes(code)), dict(_loops(tree)))
    return _modules[path]


def _loops(tree: ast.Module) -> Iterator[tuple[Any, ast.For]]:
    """The `for` statements by place: that of GET_ITER is the statement's or its iterable's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            for one in (node, node.iter):
                yield (one.lineno, one.end_lineno, one.col_offset, one.end_col_offset), node


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


# The objects ----------------------------------------------------------------------------------

def _value(name: str, values: dict[str, Any], frame: FrameType) -> Any:
    """What a name means in a frame."""
    for scope in (values, frame.f_globals, vars(builtins)):
        if name in scope:
            return scope[name]
    raise Unproven


def _kind(value: Any, depth: int = 0) -> Any:
    """The kind of an object that the body takes from outside; Unproven for unknown ones."""
    kind = type(value)
    if kind in (int, float, bool):
        return NUMBER
    if kind is LoopIndex:
        return INDEX
    if kind is NkiTensor:
        return TENSOR
    if value is None or kind in (str, DType) or (
            isinstance(value, Enum) and kind.__module__.startswith(_OURS)):
        return PLAIN
    if kind is TileSize or kind is ModuleType and (
            value.__name__ in _MODULES or value.__name__.startswith(_OURS)):
        return ("object", value)
    if kind is FunctionType and value.__module__.startswith(_OURS):
        return ("function", value)
    if id(value) in _NUMERIC or value is LoopRange:
        return ("function", value)
    if kind in (list, tuple) and 0 < len(value) <= _LARGEST_LIST and depth < 8:
        kinds = {_kind(one, depth + 1) for one in value}
        if len(kinds) == 1:
            return ("list", kinds.pop())
    raise Unproven


# The body -------------------------------------------------------------------------------------

class _Body:
    """One walk over the body of a loop. `known` are the kinds of the names assigned so far."""

    def __init__(self, stored: frozenset[str], free: dict[str, Any]) -> None:
        self.stored = stored
        self.free = free
        self.known: dict[str, Any] = {}
        self.conditions = 0
        """`if` statements around the statement that ask an index."""

    def check(self, loop: ast.For) -> None:
        """Unproven if an iteration may do more than the module's comment allows."""
        if loop.orelse or not isinstance(loop.target, ast.Name):
            raise Unproven
        before = dict(self.known)
        for _ in range(2):  # what the body does to kinds is the same the second time
            self.assign(loop.target, INDEX)
            self.block(loop.body)
            self._keep(before)

    def _keep(self, before: dict[str, Any]) -> None:
        """After code that may not run: only names that were known, with the kinds they had."""
        for name, kind in before.items():
            if self.known.get(name) is not kind and self.known.get(name) != kind:
                raise Unproven
        self.known = dict(before)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            kind = self.kind(node.value)
            for target in node.targets:
                self.assign(target, kind)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            kinds = [self.name(node.target.id), self.kind(node.value)]
            if node.target.id not in self.known:
                raise Unproven
            self.assign(node.target, _number(kinds))
        elif isinstance(node, ast.Expr):
            self.kind(node.value)
        elif isinstance(node, ast.For):
            if self.kind(node.iter) != ("range",):
                raise Unproven
            self.check(node)
        elif isinstance(node, ast.If):
            asks = _number([self.kind(node.test)]) == INDEX
            self.conditions += asks
            for branch in (node.body, node.orelse):
                before = dict(self.known)
                self.block(branch)
                self._keep(before)
            self.conditions -= asks
        elif isinstance(node, ast.Assert):
            _number([self.kind(node.test)])
        elif not isinstance(node, ast.Pass):
            raise Unproven

    def assign(self, target: ast.expr, kind: Any) -> None:
        """Binds a name. After the loop it must not hold the index of an iteration but the last."""
        if kind == INDEX and self.conditions:
            raise Unproven
        if isinstance(target, ast.Name):
            self.known[target.id] = kind
        elif (isinstance(target, ast.Tuple) and isinstance(kind, tuple) and kind[0] == "list"):
            for one in target.elts:
                self.assign(one, kind[1])
        else:
            raise Unproven

    def name(self, name: str) -> Any:
        if name in self.known:
            return self.known[name]
        if name in self.stored:
            raise Unproven
        return self.free[name]

    def kind(self, node: ast.expr | None) -> Any:
        """The kind of an expression."""
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Constant):
            return NUMBER if type(node.value) in (int, float, bool) else PLAIN
        if isinstance(node, ast.BinOp):
            return _number([self.kind(node.left), self.kind(node.right)])
        if isinstance(node, ast.UnaryOp):
            return _number([self.kind(node.operand)])
        if isinstance(node, ast.BoolOp):
            return _number([self.kind(value) for value in node.values])
        if isinstance(node, ast.IfExp):
            _number([self.kind(node.test)])
            return _number([self.kind(node.body), self.kind(node.orelse)])
        if isinstance(node, ast.Compare):
            if any(isinstance(one, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for one in node.ops):
                raise Unproven
            return _number([self.kind(one) for one in (node.left, *node.comparators)])
        if isinstance(node, (ast.Tuple, ast.List)):
            return self.display(node)
        if isinstance(node, ast.Attribute):
            return self.attribute(self.kind(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return self.subscript(self.kind(node.value), node.slice)
        if isinstance(node, ast.Call):
            return self.call(node)
        raise Unproven

    def display(self, node: ast.Tuple | ast.List) -> Any:
        kinds = [self.kind(one) for one in node.elts]
        if isinstance(node, ast.List):
            made = Local()
            for kind in kinds:
                made.append(kind)
            return made
        if kinds and all(kind == NUMBER for kind in kinds):
            return ("list", NUMBER)
        if kinds and all(kind == TENSOR for kind in kinds):
            return ("list", TENSOR)
        raise Unproven

    def attribute(self, base: Any, name: str) -> Any:
        if base == TENSOR and name in _ATTRIBUTES:
            return _ATTRIBUTES[name]
        if isinstance(base, tuple) and base[0] == "object":
            try:
                value = getattr(base[1], name)
            except Exception:
                raise Unproven from None
            return PLAIN if isinstance(value, type) else _kind(value)
        raise Unproven

    def subscript(self, base: Any, key: ast.expr) -> Any:
        if base == TENSOR:
            for item in key.elts if isinstance(key, ast.Tuple) else [key]:
                self.item(item)
            return TENSOR
        element = base.element if isinstance(base, Local) else base[1] if (
            isinstance(base, tuple) and base[0] == "list") else None
        if element is None:
            raise Unproven
        _number([self.kind(key)])
        return element

    def item(self, node: ast.expr) -> None:
        """One item of the key of a tensor."""
        if isinstance(node, ast.Slice):
            for bound in (node.lower, node.upper, node.step):
                if bound is not None:
                    self.item(bound)
        elif not (isinstance(node, ast.Constant) and node.value in (None, Ellipsis)):
            if self.kind(node) not in (NUMBER, INDEX, ("slice",)):
                raise Unproven

    def call(self, node: ast.Call) -> Any:
        if any(isinstance(one, ast.Starred) for one in node.args) or any(
                one.arg is None for one in node.keywords):
            raise Unproven
        given = [self.kind(one) for one in (*node.args, *(one.value for one in node.keywords))]
        if isinstance(node.func, ast.Attribute):
            base = self.kind(node.func.value)
            if isinstance(base, Local) and node.func.attr == "append" and len(given) == 1:
                base.append(given[0])
                return PLAIN
            if base == TENSOR and node.func.attr in _METHODS:
                _without_index(given)
                return TENSOR
            callee = self.attribute(base, node.func.attr)
        else:
            callee = self.kind(node.func)
        if not isinstance(callee, tuple) or callee[0] != "function":
            raise Unproven
        return _called(callee[1], given)


def _called(function: Any, given: list[Any]) -> Any:
    """The kind of what a function returns for arguments of the given kinds."""
    if id(function) in _NUMERIC:
        return NUMBER if function is len and len(given) == 1 else _number(given)
    if function is LoopRange:
        _without_index(given)
        return ("range",)
    if function.__name__ == "ds":
        _number(given)
        return ("slice",)
    _without_index(given)
    if function.__name__ in _RANGES:
        return ("range",)
    made = function.__annotations__.get("return")
    return TENSOR if made in _MADE else NUMBER if made == "int" else RESULT


def _number(kinds: Sequence[Any]) -> str:
    """The kind of arithmetic: an index if any operand is one."""
    if not all(kind in (NUMBER, INDEX) for kind in kinds):
        raise Unproven
    return INDEX if INDEX in kinds else NUMBER


def _without_index(kinds: Sequence[Any]) -> None:
    """Our functions take numbers, tensors, constants and lists of them; no indices."""
    for kind in kinds:
        if kind not in (NUMBER, TENSOR, PLAIN) and not (
                isinstance(kind, tuple) and kind[0] in ("list", "function")):
            raise Unproven
