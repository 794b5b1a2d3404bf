# SPDX-License-Identifier: Apache-2.0
# Proves that the body of a Python loop does nothing but ask NKI for things.
"""When may iterations of a loop be left out?

A kernel of the `nki` API is Python that runs in full: its loop bodies may count, print, append to
lists. Iterations may only be predicted from others if the body is a function of the loop's index,
of objects that no iteration changes, and of the state of the recorder. `proven` shows that
for the loop that a frame is about to begin, from its source and from the objects that it names:

* The source is the one that runs (loop_source.py).
* The iterable goes into a `for` statement of the function itself, without break, continue or else.
* Statements: assignments to local names, expressions, `for` over NKI's ranges, `if`, `assert`,
  `pass`. Names that the body assigns are assigned before they are read, in the same iteration.
  Branches that flags from outside rule out do not count.
* Expressions have a *kind* (kinds.py): a number, an index (a number that depends on a loop), a
  tensor of ours, a plain constant, a list of one kind, a list made in this iteration (which may be
  appended to), a module, one of our functions, or an attribute that is stored in an object of the
  user's. Everything else, functions of the user's first, is not proven.
* Indices go into arithmetic, comparisons, subscripts of tensors and lists, `nl.ds` and the offset
  of `ap` only. There, LoopIndex watches them (loop_index.py): whatever is not affine asks for the
  value. What a list is subscripted with is remembered: its elements are looked at (sample.py).
* Calls: functions of trnsim.frontend.nki, methods of tensors, `append` on a list of the iteration,
  `min`, `max`, `abs` and `len`.
* The 0.1 dialect: tensors, index expressions and masks are one kind; its functions and operators
  take and make those, also from indices, which they watch; `t[...] = value` is an instruction.

What the recorder's state adds is checked where loops are sampled (sample.py).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FrameType
from typing import Any

from trnsim.frontend import source
from trnsim.frontend.loop_source import Site, described, statement
from trnsim.frontend.nki.creation import par_dim
from trnsim.frontend.sampling.kinds import (ARRAY, INDEX, LEGACY, NUMBER, NUMERIC, PLAIN, RESULT,
                                        TENSOR, Known, Local, Unproven, decided, given_kind,
                                        is_callee, kind_of, kind_or_record, undecided, value_of)

_RANGES = ("affine_range", "sequential_range", "static_range")
_MADE = ("NkiTensor", "View")
"""Annotations of our functions that return tensors."""
_METHODS = frozenset(("broadcast", "broadcast_to", "expand_dim", "flatten_dims", "permute",
                      "rearrange", "reshape", "reshape_dim", "squeeze_dim"))
"""Methods of a tensor whose result starts where the tensor does. (`view` divides; `ap` may.)"""
_ATTRIBUTES = {"shape": ("list", NUMBER), "strides": ("list", NUMBER), "dtype": PLAIN,
               "ndim": NUMBER, "size": NUMBER, "buffer": PLAIN}
_proofs: dict[Any, frozenset[ast.For] | None] = {}


def proven(frame: FrameType, at: source.Site) -> frozenset[ast.For] | None:
    """The loops that are proven if the one is whose iterator `frame` has made at `at`: it and
    those inside of it; None if it is not.
    """
    site = statement(frame, at)
    if site is None:
        return None
    values = frame.f_locals
    try:
        kinds = tuple(kind_or_record(value_of(name, values, frame), wanted)
                      for name, wanted in site.wanted.items())
        key = (at, kinds, tuple(decided(kinds)))
        if key not in _proofs:
            _proofs[key] = _proof(site, dict(zip(site.free, kinds)))
        return _proofs[key]
    except Unproven:
        return None


def _proof(site: Site, free: dict[str, Any]) -> frozenset[ast.For] | None:
    inner: dict[ast.For, bool] = {}
    try:
        _Body(site.stored, free, inner).check(site.loop)
    except Unproven:
        return None
    return frozenset([site.loop, *(loop for loop, proven in inner.items() if proven)])


class _Body:
    """One walk over the body of a loop. `known` are the kinds of the names assigned so far."""

    def __init__(self, stored: frozenset[str], free: dict[str, Any],
                 inner: dict[ast.For, bool] | None = None) -> None:
        self.stored = stored
        self.free = free
        self.inner = inner
        """Whether loops inside are proven as well, if that is to be found out."""
        self.known: dict[str, Any] = {}
        self.conditions = 0
        """`if` statements around the statement that ask an index."""

    def check(self, loop: ast.For) -> None:
        """Unproven if an iteration may do more than the module's comment allows."""
        if loop.orelse or not isinstance(loop.target, ast.Name):
            raise Unproven
        before = dict(self.known)
        for _ in range(2):  # what the body does to kinds is the same the second time
            learned = Local.learned
            self.assign(loop.target, INDEX)
            self.block(loop.body)
            self._keep(before)
            if learned == Local.learned:
                break

    def proves(self, loop: ast.For) -> bool:
        """Whether an iteration of an inner loop sees nothing of the one before."""
        site = described(loop)
        try:
            free = {name: given_kind(self.name(name)) for name in site.free}
            _Body(site.stored, free).check(loop)
        except Unproven:
            return False
        return True

    def _keep(self, before: dict[str, Any]) -> None:
        """After code that may not run: only names that were known, with the kinds they had."""
        for name, kind in before.items():
            if self.known.get(name) is not kind and self.known.get(name) != kind:
                raise Unproven
        self.known = dict(before)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for one in statements:
            self.statement(one)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            kind = self.kind(node.value)
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    self.store(target, kind)
                else:
                    self.assign(target, kind)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            self.store(node.target, self.kind(node.value))
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
            if self.inner is not None:
                self.inner[node] = self.inner.get(node, True) and self.proves(node)
            self.check(node)
        elif isinstance(node, ast.If):
            asks = self.test(node.test) == INDEX
            known = self.truth(node.test)
            if known is not None:
                self.block(node.body if known else node.orelse)
                return
            self.conditions += asks
            for branch in (node.body, node.orelse):
                before = dict(self.known)
                self.block(branch)
                self._keep(before)
            self.conditions -= asks
        elif isinstance(node, ast.Assert):
            self.test(node.test)
        elif not isinstance(node, ast.Pass):
            raise Unproven

    def store(self, target: ast.Subscript, kind: Any) -> None:
        """`t[...] = value` of the 0.1 dialect is an instruction."""
        if self.kind(target.value) != ARRAY or kind not in (ARRAY, NUMBER, INDEX):
            raise Unproven
        self.subscript(ARRAY, target.slice)

    def assign(self, target: ast.expr, kind: Any) -> None:
        """Binds a name. After the loop it must not hold the index of an iteration but the last."""
        if kind == INDEX and self.conditions:
            raise Unproven
        kind = undecided(kind)
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
            kinds = [self.kind(value) for value in node.values]
            return PLAIN if all(kind in (NUMBER, PLAIN) for kind in kinds) else _number(kinds)
        if isinstance(node, ast.IfExp):
            _number([self.kind(node.test)])
            return _number([self.kind(node.body), self.kind(node.orelse)])
        if isinstance(node, ast.Compare):
            return self.comparison(node)
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
        if kinds and all(kind in (ARRAY, NUMBER, INDEX) for kind in kinds):
            return ARRAY
        raise Unproven

    def attribute(self, base: Any, name: str) -> Any:
        if base in (TENSOR, ARRAY) and name in _ATTRIBUTES:
            return _ATTRIBUTES[name]
        if isinstance(base, tuple) and base[0] == "object":
            try:
                value = getattr(base[1], name)
            except Exception:
                raise Unproven from None
            return PLAIN if isinstance(value, type) and not is_callee(value) else kind_of(value)
        if isinstance(base, tuple) and base[0] == "record":
            for known, kind in base[1:]:
                if known == name:
                    return kind
        raise Unproven

    def subscript(self, base: Any, key: ast.expr) -> Any:
        if base in (TENSOR, ARRAY):
            for item in key.elts if isinstance(key, ast.Tuple) else [key]:
                self.item(item, base)
            return base
        element = base.element if isinstance(base, Local) else base[1] if (
            isinstance(base, tuple) and base[0] == "list") else None
        if element is None:
            raise Unproven
        _number([self.kind(key)])
        return element

    def item(self, node: ast.expr, base: Any) -> None:
        """One item of the key of a tensor."""
        if isinstance(node, ast.Slice):
            for bound in (node.lower, node.upper, node.step):
                if bound is not None:
                    self.item(bound, base)
        elif not (isinstance(node, ast.Constant) and node.value in (None, Ellipsis)):
            kind = self.kind(node)
            if kind not in (NUMBER, INDEX, ("slice",)) and not kind == base == ARRAY:
                raise Unproven

    def comparison(self, node: ast.Compare) -> Any:
        kinds = [self.kind(one) for one in (node.left, *node.comparators)]
        if any(isinstance(one, (ast.In, ast.NotIn)) for one in node.ops):
            raise Unproven
        if any(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops):
            if INDEX in kinds or RESULT in kinds:
                raise Unproven
            return NUMBER
        return _number([NUMBER if kind == PLAIN else kind for kind in kinds])

    def truth(self, node: ast.expr) -> bool | None:
        """What a condition says in every iteration, if that is known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            ends = isinstance(node.op, ast.Or)
            for value in node.values:
                known = self.truth(value)
                if known is None or known == ends:
                    return known
            return not ends
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            other = node.comparators[0]
            if len(node.ops) > 1 or not (isinstance(other, ast.Constant) and other.value is None):
                return None
            kind = self.kind(node.left)
            if type(kind) is Known or kind in (TENSOR, NUMBER):
                is_none = type(kind) is Known and kind.value is None
                return is_none == isinstance(node.ops[0], ast.Is)
            return None
        if isinstance(node, (ast.Name, ast.Attribute)):
            kind = self.kind(node)
            return bool(kind.value) if type(kind) is Known else None
        return None

    def test(self, node: ast.expr) -> Any:
        """The kind of a condition."""
        kind = self.kind(node)
        if kind == ARRAY:
            raise Unproven
        return NUMBER if kind == PLAIN else _number([kind])

    def access_pattern(self, node: ast.Call) -> Any:
        """`t.ap(pattern, offset)` without another data type: only the offset may be an index.

        On chip the start is divided by the row. It is affine: if the quotient is the same in two
        iterations, which the template says, then also between them, and the rest is affine.
        """
        named = {one.arg: one.value for one in node.keywords}
        if "dtype" in named or len(node.args) > 2:
            raise Unproven
        offset = [*node.args[1:], *(named.pop(name) for name in ("offset",) if name in named)]
        _without_index([self.kind(one) for one in (*node.args[:1], *named.values())])
        for one in offset:
            if not (isinstance(one, ast.Constant) and one.value is None):
                _number([self.kind(one)])
        return TENSOR

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
            if base == TENSOR and node.func.attr == "ap":
                return self.access_pattern(node)
            callee = self.attribute(base, node.func.attr)
        else:
            callee = self.kind(node.func)
        if not isinstance(callee, tuple) or callee[0] != "function":
            raise Unproven
        return _called(callee[1], given)


def _called(function: Any, given: list[Any]) -> Any:
    """The kind of what a function returns for arguments of the given kinds."""
    if function is par_dim:
        return _number(given)
    if id(function) in NUMERIC:
        return NUMBER if function is len and len(given) == 1 else _number(given)
    if isinstance(function, type):
        _without_index(given)
        return ("range",)
    if function.__name__ == "ds":
        _number(given)
        return ("slice",)
    if not function.__module__.startswith(LEGACY):
        _without_index(given)
    elif any(kind == RESULT or kind == ("slice",) for kind in given):
        raise Unproven
    if function.__name__ in _RANGES:
        return ("range",)
    if function.__module__.startswith(LEGACY):
        return ARRAY
    made = function.__annotations__.get("return")
    return TENSOR if made in _MADE else NUMBER if made == "int" else RESULT


def _number(kinds: Sequence[Any]) -> str:
    """The kind of arithmetic: an index if any operand is one; an array with anything is one."""
    if ARRAY in kinds and all(kind in (ARRAY, NUMBER, INDEX) for kind in kinds):
        return ARRAY
    if not all(kind in (NUMBER, INDEX) for kind in kinds):
        raise Unproven
    return INDEX if INDEX in kinds else NUMBER


def _without_index(kinds: Sequence[Any]) -> None:
    """Our functions take numbers, tensors, constants and lists of them; no indices."""
    for kind in kinds:
        if isinstance(kind, Local):
            _without_index([kind.element])
        elif kind not in (NUMBER, TENSOR, PLAIN) and not (
                isinstance(kind, tuple) and kind[0] in ("list", "function")):
            raise Unproven
