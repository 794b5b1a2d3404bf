# SPDX-License-Identifier: Apache-2.0
# Scalars of NKI 0.7.
"""NkiScalar, scalar_load and scalar_store: an integer of the device that never changes.

[NKI-SCALAR]
"""

from __future__ import annotations

from typing import Any, NoReturn
from collections.abc import Callable

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import DType, int32, int64
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.issue import NkiInstruction, issue, not_a_tensor
from trnsim.frontend.nki.objects import NKIObject
from trnsim.frontend.nki.registers import VirtualRegister, wrapped
from trnsim.frontend.records.tensor import View


class NkiScalar(VirtualRegister):
    """An integer of 32 or 64 bits, which wrap. Sums, differences and products are new scalars."""

    def __init__(self, value: int | None, name: str, dtype: DType) -> None:
        super().__init__(value, name)
        self.dtype = dtype
        self.bits = 8 * dtype.itemsize
        self.is_frozen = True

    def like(self, value: int | None, name: str) -> NkiScalar:
        """Another scalar of the same type."""
        return NkiScalar(value, name, self.dtype)

    def _combine(self, other: Any, compute: Callable[[int, int], int],
                 is_reversed: bool = False) -> NkiScalar:
        """self operator other, or the other way round, which one engine computes on the device."""
        right: Any = other
        if isinstance(other, NkiScalar):
            if other.dtype is not self.dtype:
                self._refuse(f"is combined with {other.name!r}, {other.dtype}, but both have the "
                             "same type; load both from tiles of one")
            right = other.value
        elif type(other) is not int:
            self._refuse(f"is combined with {other!r}, but takes integers and scalars")
        recorder.required().record("register_move", None, (), {})
        if self.value is None or right is None:
            return self.like(None, self.name)
        pair = (right, self.value) if is_reversed else (self.value, right)
        return self.like(wrapped(compute(*pair), self.bits), self.name)

    def __neg__(self) -> NkiScalar:
        return self._combine(0, lambda a, b: a - b, True)

    def __pos__(self) -> NkiScalar:
        return self

    def _refuse(self, what: str) -> NoReturn:
        raise IllegalInstruction(f"{source.here()}: scalar {self.name!r}, {self.dtype}, {what}")

    def _no_operator(self, *_: Any) -> NoReturn:
        self._refuse("has the operators +, - and * only")

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __or__ = _no_operator
    __lshift__ = __rshift__ = __truediv__ = __rtruediv__ = _no_operator

    def _compared(self, other: object) -> Any:
        if not isinstance(other, (int, float, VirtualRegister)):
            return NotImplemented
        self._refuse("is compared, but nothing can use the result; select by values in a tile")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = NKIObject.__hash__

    def __index__(self) -> int:
        self._unknown("used as an integer")

    __int__ = __index__

    def __bool__(self) -> bool:
        self._unknown("used as a condition")


def scalar_load(src: Any) -> NkiScalar:
    """The only element of an int32 or int64 tensor in SBUF or HBM."""
    if not isinstance(src, View):
        raise not_a_tensor("scalar_load", "src", src)
    if src.dtype not in (int32, int64):
        raise IllegalInstruction(f"{source.here()}: scalar_load: src is {src.dtype}, but must be "
                                 "int32 or int64; copy it into one")
    issue("register_load", (("data", "read", src),), {})
    value = recorder.required().value_of(src)
    name = source.assigned_name(source.site())
    return NkiScalar(None if value is None else int(value), name, src.dtype)


def scalar_store(dst: Any, value: NkiScalar) -> NkiInstruction:
    """The only element of a tensor in SBUF or HBM = a scalar of the same type."""
    if not isinstance(dst, View):
        raise not_a_tensor("scalar_store", "dst", dst)
    if not isinstance(value, VirtualRegister):
        raise IllegalInstruction(f"{source.here()}: scalar_store: the value is {value!r}, but must "
                                 "be a scalar; write a constant with nki.isa.memset")
    wanted = value.dtype if isinstance(value, NkiScalar) else int32
    if dst.dtype is not wanted:
        raise IllegalInstruction(f"{source.here()}: scalar_store: dst is {dst.dtype}, but scalar "
                                 f"{value.name!r} is {wanted}; both have the same type")
    return issue("register_store", (("dst", "write", dst),), {}, enums.engine.unknown,
                 (value.value,))
