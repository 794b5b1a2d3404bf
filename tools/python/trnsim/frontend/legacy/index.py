# SPDX-License-Identifier: Apache-2.0
# Affine index expressions of the 0.1 dialect, and what arithmetic makes of them.
"""Index expressions: a constant plus one coefficient per axis of the tile they span.

`nl.arange(128)[:, None] + 512 * i` is the constant `512 * i` (an integer or a loop index) and a
`Form`: shape (128, 1) and coefficients (1, 0). Forms are interned, so that two expressions of the
same form are recognised by identity and everything derived from a form is computed once. What is
not affine (`//`, `%`, a product of two axes) becomes an `ArrayIndex` that holds every value.
[NKI-PROGRAMMING-2.26]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.legacy.late import masks
from trnsim.frontend.loop_index import LoopIndex


class Form:
    """The part of an index expression without its constant; interned, compared by identity."""

    __slots__ = ("_products", "_sums", "coefficients", "high", "low", "shape")

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


class IndexExpression:
    """What all index expressions have in common: comparisons are masks, and decide nothing."""

    __slots__ = ()
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Any:
        return compare(other, self, 1)

    def __le__(self, other: Any) -> Any:
        return compare(other, self, 0)

    def __gt__(self, other: Any) -> Any:
        return compare(self, other, 1)

    def __ge__(self, other: Any) -> Any:
        return compare(self, other, 0)

    def __eq__(self, other: object) -> Any:
        return compare(self, other, 0) & compare(other, self, 0)

    def __ne__(self, other: object) -> Any:
        return ~(self == other)

    def __bool__(self) -> bool:
        raise UserError(f"{source.here()}: the kernel branches on an index expression, whose "
                        "values are those of all elements; use mask=")


class Index(IndexExpression):
    """An affine index expression. Immutable."""

    __slots__ = ("const", "form")

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
        number = other if type(other) is int else as_integer(other)
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
        raise UserError(f"{source.here()}: an index expression is written to, and it is a "
                        "constant; make a tile of it with nisa.iota first")

    def __iter__(self) -> Iterator[Any]:
        raise UserError(f"{source.here()}: a Python loop runs over nl.arange, which is an index "
                        "expression; loop over range or nl.affine_range")

    def __index__(self) -> int:
        if self.form.low == self.form.high == 0:
            return int(self.const)
        raise UserError(f"{source.here()}: an index expression of shape {list(self.form.shape)} is "
                        "used where one integer is needed; use a loop index")

    __int__ = __index__

    def __repr__(self) -> str:
        return f"Index({self.const}, shape={self.form.shape}, coefs={self.form.coefficients})"


class ArrayIndex(IndexExpression):
    """An index expression that is not affine, held as all its values."""

    __slots__ = ("_values",)

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
            raise UserError(f"{source.here()}: an index expression with {taken} axes is "
                            "subscripted with more; nl.arange has one axis")
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
    return masks().at_least(greater, smaller, margin)
