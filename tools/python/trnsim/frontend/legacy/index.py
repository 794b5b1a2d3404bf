# SPDX-License-Identifier: Apache-2.0
# Affine index expressions of the 0.1 dialect: nl.arange, nl.mgrid, and what arithmetic makes of them.
"""Index expressions: a constant plus one coefficient per axis of the tile they span.

`nl.arange(128)[:, None] + 512 * i` is the constant `512 * i` (an integer or a loop index) and a `Form`: shape (128, 1) and
coefficients (1, 0). Forms are interned, so that two expressions of the same form are recognised by
identity and everything derived from a form is computed once. What is not affine (`//`, `%`,
a product of two axes) becomes an `ArrayIndex` that holds every value. [NKI-PROGRAMMING-MODEL]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trnsim.frontend import source
from trnsim.frontend.errors import UserError
from trnsim.frontend.legacy.loop_index import LoopIndex


class Form:
    """The part of an index expression without its constant; interned, compared by identity."""

    __slots__ = ("shape", "coefficients", "low", "high", "_sums", "_products")

    def __init__(self, shape: tuple[int, ...], coefficients: tuple[int, ...]) -> None:
        self.shape = shape
        self.coefficients = coefficients
        self.low = sum(min(0, c * (n - 1)) for c, n in zip(coefficients, shape))
        self.high = sum(max(0, c * (n - 1)) for c, n in zip(coefficients, shape))
        self._sums: dict[Form, Form] = {}
        self._products: dict[int, Form] = {}

    def plus(self, other: Form) -> Form:
        """The form of a sum, broadcast like numpy's."""
        found = self._sums.get(other)
        if found is None:
            shape = broadcast_shapes(self.shape, other.shape)
            mine, theirs = pad(self.coefficients, len(shape)), pad(other.coefficients, len(shape))
            found = self._sums[other] = form(shape, tuple(a + b for a, b in zip(mine, theirs)))
        return found

    def times(self, factor: int) -> Form:
        """The form multiplied by a constant."""
        found = self._products.get(factor)
        if found is None:
            found = form(self.shape, tuple(c * factor for c in self.coefficients))
            self._products[factor] = found
        return found

    def values(self) -> Any:
        """Every value, as a numpy array of the form's shape."""
        rank = len(self.shape)
        total = np.zeros(self.shape, dtype=np.int64)
        for axis, (size, coefficient) in enumerate(zip(self.shape, self.coefficients)):
            total += coefficient * np.arange(size).reshape((-1,) + (1,) * (rank - axis - 1))
        return total


_forms: dict[tuple[tuple[int, ...], tuple[int, ...]], Form] = {}


def form(shape: tuple[int, ...], coefficients: tuple[int, ...]) -> Form:
    """The interned form; the coefficient of an axis of size 1 does not matter and is 0."""
    key = (shape, coefficients)
    found = _forms.get(key)
    if found is None:
        clean = tuple(c if n > 1 else 0 for c, n in zip(coefficients, shape))
        if clean != coefficients:
            found = _forms[key] = form(shape, clean)
        else:
            found = _forms[key] = Form(shape, coefficients)
    return found


def pad(values: tuple[int, ...], rank: int, fill: int = 0) -> tuple[int, ...]:
    """`values` extended on the left to `rank` entries."""
    return (fill,) * (rank - len(values)) + values


def broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of two index expressions or tiles, as numpy broadcasts."""
    if a == b:
        return a
    rank = max(len(a), len(b))
    shape = []
    for left, right in zip(pad(a, rank, 1), pad(b, rank, 1)):
        if left != right and left != 1 and right != 1:
            raise UserError(f"{source.here()}: shapes {list(a)} and {list(b)} do not broadcast, "
                            "sizes must be equal or 1; align the axes with None")
        shape.append(right if left == 1 else left)
    return tuple(shape)


class Index:
    """An affine index expression. Immutable."""

    __slots__ = ("const", "form")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, const: Any, form_: Form) -> None:
        self.const = const
        self.form = form_

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the expression spans."""
        return self.form.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.form.shape)

    def values(self) -> Any:
        """Every value, as a numpy array."""
        return self.form.values() + int(self.const)

    def __add__(self, other: Any) -> Any:
        kind = type(other)
        if kind is int or kind is LoopIndex:
            return Index(self.const + other, self.form)
        if isinstance(other, Index):
            return Index(self.const + other.const, self.form.plus(other.form))
        number = as_integer(other)
        return NotImplemented if number is None else Index(self.const + number, self.form)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Index):
            return Index(self.const - other.const, self.form.plus(other.form.times(-1)))
        number = as_integer(other)
        return NotImplemented if number is None else Index(self.const - number, self.form)

    def __rsub__(self, other: Any) -> Any:
        number = as_integer(other)
        return NotImplemented if number is None else Index(number - self.const, self.form.times(-1))

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            return Index(self.const * other, self.form.times(other))
        if isinstance(other, (Index, LoopIndex)):
            return self._times_index(other)
        number = as_integer(other)
        return NotImplemented if number is None else Index(self.const * number,
                                                           self.form.times(number))

    __rmul__ = __mul__

    def _times_index(self, other: Any) -> Any:
        """A product of two indices: affine only if one of them is a number."""
        if isinstance(other, Index) and not any(other.form.coefficients):
            other = other.const
        if not any(self.form.coefficients) and not isinstance(other, Index):
            return Index(self.const * other, self.form)
        if isinstance(other, Index):
            return from_values(self.values() * other.values())
        return self * int(other)

    def __neg__(self) -> Index:
        return Index(-self.const, self.form.times(-1))

    def __pos__(self) -> Index:
        return self

    def __floordiv__(self, other: Any) -> Any:
        number = as_integer(other)
        return NotImplemented if number is None else from_values(self.values() // number)

    def __mod__(self, other: Any) -> Any:
        number = as_integer(other)
        return NotImplemented if number is None else from_values(self.values() % number)

    def __truediv__(self, other: Any) -> Any:
        raise UserError(f"{source.here()}: an index is divided with /, which makes a fraction; "
                        "use // for a whole index")

    def __getitem__(self, key: Any) -> Index:
        """`[:, None]` and the like: places the axes; an integer picks one value of an axis."""
        return subscript(self, key if isinstance(key, tuple) else (key,))

    def __setitem__(self, key: Any, value: Any) -> None:
        raise UserError(f"{source.here()}: an index expression is written to, and it is a constant; "
                        "make a tile of it with nisa.iota first")

    def __iter__(self) -> Iterator[Any]:
        raise UserError(f"{source.here()}: a Python loop runs over nl.arange, which is an index "
                        "expression; loop over range or nl.affine_range")

    def __index__(self) -> int:
        if self.form.low == self.form.high == 0:
            return int(self.const)
        raise UserError(f"{source.here()}: an index expression of shape {list(self.form.shape)} is "
                        "used where one integer is needed; use a loop index")

    __int__ = __index__

    def __lt__(self, other: Any) -> Any:
        return compare(other, self, 1)

    def __le__(self, other: Any) -> Any:
        return compare(other, self, 0)

    def __gt__(self, other: Any) -> Any:
        return compare(self, other, 1)

    def __ge__(self, other: Any) -> Any:
        return compare(self, other, 0)

    def __eq__(self, other: Any) -> Any:  # type: ignore[override]
        return compare(self, other, 0) & compare(other, self, 0)

    def __ne__(self, other: Any) -> Any:  # type: ignore[override]
        return ~(self == other)

    def __bool__(self) -> bool:
        raise UserError(f"{source.here()}: the kernel branches on an index expression, whose values "
                        "are those of all elements; use mask=")

    def __repr__(self) -> str:
        return f"Index({self.const}, shape={self.form.shape}, coefs={self.form.coefficients})"


class ArrayIndex:
    """An index expression that is not affine, held as all its values."""

    __slots__ = ("_values",)
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any) -> None:
        self._values = values

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that the expression spans."""
        return tuple(self._values.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self._values.ndim)

    def values(self) -> Any:
        """Every value, as a numpy array."""
        return self._values

    def __getitem__(self, key: Any) -> Any:
        return from_values(self._values[key])

    def __add__(self, other: Any) -> Any:
        return _combine(np.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return _combine(np.subtract, self, other)

    def __mul__(self, other: Any) -> Any:
        return _combine(np.multiply, self, other)

    def __floordiv__(self, other: Any) -> Any:
        return _combine(np.floor_divide, self, other)

    def __mod__(self, other: Any) -> Any:
        return _combine(np.mod, self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Any:
        return _combine(np.subtract, other, self)

    def __neg__(self) -> Any:
        return from_values(-self._values)

    def __lt__(self, other: Any) -> Any:
        return compare(other, self, 1)

    def __le__(self, other: Any) -> Any:
        return compare(other, self, 0)

    def __gt__(self, other: Any) -> Any:
        return compare(self, other, 1)

    def __ge__(self, other: Any) -> Any:
        return compare(self, other, 0)

    def __bool__(self) -> bool:
        raise UserError(f"{source.here()}: the kernel branches on an index expression, whose values "
                        "are those of all elements; use mask=")


def as_integer(value: Any) -> Any:
    """The integer or loop index for a number of any kind; None for everything else."""
    if type(value) is int or type(value) is LoopIndex:
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def values_of(value: Any) -> Any:
    """The values of an integer or index expression as a numpy array; None for anything else."""
    if isinstance(value, (Index, ArrayIndex)):
        return value.values()
    number = as_integer(value)
    if number is not None:
        return np.int64(int(number))
    return value.index_values() if hasattr(value, "index_values") else None


def _combine(operation: Any, a: Any, b: Any) -> Any:
    left, right = values_of(a), values_of(b)
    return NotImplemented if left is None or right is None else from_values(operation(left, right))


def from_values(values: Any) -> Index | ArrayIndex:
    """The affine expression with these values, or an ArrayIndex when there is none."""
    values = np.asarray(values, dtype=np.int64)
    if values.size == 0:
        return ArrayIndex(values)
    const = int(values.flat[0])
    coefficients = []
    for axis, size in enumerate(values.shape):
        second = tuple(1 if other == axis else 0 for other in range(values.ndim))
        coefficients.append(int(values[second]) - const if size > 1 else 0)
    candidate = form(tuple(values.shape), tuple(coefficients))
    if np.array_equal(candidate.values() + const, values):
        return Index(const, candidate)
    return ArrayIndex(values)


def subscript(index: Index, key: tuple[Any, ...]) -> Index:
    """`index[key]` with None, full slices and integers in the key."""
    taken, shape, coefficients = 0, [], []
    const = index.const
    for item in key:
        if item is None:
            shape.append(1)
            coefficients.append(0)
            continue
        if taken == len(index.form.shape):
            raise UserError(f"{source.here()}: an index expression with {taken} axes is subscripted "
                            f"with more; nl.arange has one axis")
        size, coefficient = index.form.shape[taken], index.form.coefficients[taken]
        taken += 1
        number = as_integer(item)
        if number is not None:
            const += coefficient * (number if number >= 0 else number + size)
        elif isinstance(item, slice):
            start, stop, step = item.indices(size)
            const += coefficient * start
            shape.append(len(range(start, stop, step)))
            coefficients.append(coefficient * step)
        else:
            raise UserError(f"{source.here()}: an index expression is subscripted with "
                            f"{type(item).__name__}; use :, None or an integer")
    shape.extend(index.form.shape[taken:])
    coefficients.extend(index.form.coefficients[taken:])
    return Index(const, form(tuple(shape), tuple(coefficients)))


def compare(greater: Any, smaller: Any, margin: int) -> Any:
    """The mask of `greater - smaller - margin >= 0`."""
    return _make_mask(greater, smaller, margin)


def _make_mask(greater: Any, smaller: Any, margin: int) -> Any:
    from trnsim.frontend.legacy import mask  # mask.py builds on this module

    return mask.at_least(greater, smaller, margin)


class Arange(Index):
    """What `nl.arange` returns: an index of one axis that remembers its placements."""

    __slots__ = ("_placed",)

    def __init__(self, start: int, stop: int, step: int) -> None:
        super().__init__(start, form((len(range(start, stop, step)),), (step,)))
        self._placed: dict[tuple[int, int], Index] = {}

    def __getitem__(self, key: Any) -> Index:
        if type(key) is tuple and key.count(None) == len(key) - 1:
            position = next(at for at, item in enumerate(key) if item is not None)
            item = key[position]
            if type(item) is slice and item.start is item.stop is item.step is None:
                found = self._placed.get((len(key), position))
                if found is None:
                    found = self._placed[(len(key), position)] = subscript(self, key)
                return found
        return super().__getitem__(key)


_aranges: dict[tuple[int, ...], Index] = {}


def arange(*limits: Any) -> Index:
    """`nl.arange(stop)`, `nl.arange(start, stop)` or with a step: an index of one axis."""
    if any(type(limit) is not int for limit in limits):
        return _general_arange(limits)
    found = _aranges.get(limits)
    if found is None:
        whole = range(*limits)
        if len(whole) == 0:
            raise UserError(f"{source.here()}: nl.arange{limits} is empty; "
                            "a tile has at least one element")
        found = _aranges[limits] = Arange(whole.start, whole.stop, whole.step)
    return found


def _general_arange(limits: tuple[Any, ...]) -> Index:
    """An arange with loop indices or numpy integers as limits."""
    numbers = [as_integer(limit) for limit in limits]
    if any(number is None for number in numbers):
        raise UserError(f"{source.here()}: nl.arange takes integers, here "
                        f"{', '.join(type(limit).__name__ for limit in limits)}; its size is known "
                        "before the kernel runs")
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = int(numbers[2]) if len(numbers) == 3 else 1
    return arange(0, int(stop - start), step) + start


class MeshGrid(tuple[Index, ...]):
    """What `nl.mgrid[...]` returns: one index per axis, also as .p (partition), .x, .y, .z."""

    __slots__ = ()

    @property
    def p(self) -> Index:
        """The index of the partition axis."""
        return self[0]

    @property
    def x(self) -> Index:
        """The index of the first free axis."""
        return self[1]

    @property
    def y(self) -> Index:
        """The index of the second free axis."""
        return self[2]

    @property
    def z(self) -> Index:
        """The index of the third free axis."""
        return self[3]

    @property
    def w(self) -> Index:
        """The index of the fourth free axis."""
        return self[4]


_grids: dict[tuple[Any, ...], MeshGrid] = {}


class MeshGridMaker:
    """`nl.mgrid`: subscript it with one slice per axis."""

    def __getitem__(self, key: Any) -> MeshGrid:
        slices = key if isinstance(key, tuple) else (key,)
        cache = tuple((item.start, item.stop, item.step) for item in slices)
        found = _grids.get(cache)
        if found is None:
            rank = len(slices)
            axes = []
            for axis, (start, stop, step) in enumerate(cache):
                placed = (None,) * axis + (slice(None),) + (None,) * (rank - axis - 1)
                axes.append(arange(0 if start is None else start, stop,
                                   1 if step is None else step)[placed])
            found = _grids[cache] = MeshGrid(axes)
        return found


mgrid = MeshGridMaker()
