# SPDX-License-Identifier: Apache-2.0
# The data types of NKI and of the program trace.
"""Data types: opaque, hashable objects with an item size, usable wherever numpy wants a dtype.

Names are those of the program trace (docs/trace-format.md, section 6). [NKI-LANGUAGE]
"""

from __future__ import annotations

import importlib
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import source


class DType:
    """One data type. Equal to its name, and to the type that numpy or ml_dtypes has for it.

    numpy has none for four packed elements: there it is a record with their bits as its one field,
    called as the type is. Such arrays keep their shape and type in numpy, and cannot be computed
    with by mistake; `view(numpy.uint32)` has their bits.
    """

    __slots__ = ("name", "itemsize", "is_float", "is_integer", "is_packed", "_numpy_name", "_numpy")

    def __init__(self, name: str, itemsize: int, kind: str, numpy_name: str | None) -> None:
        self.name = name
        self.itemsize = itemsize
        self.is_float = kind == "float"
        self.is_integer = kind == "integer"
        self.is_packed = kind == "packed"
        self._numpy_name = numpy_name
        self._numpy: Any = None

    @property
    def dtype(self) -> Any:
        """The numpy dtype; numpy looks for this attribute. AttributeError if there is none."""
        if self._numpy is None:
            self._numpy = self._find_numpy()
        return self._numpy

    def _find_numpy(self) -> Any:
        numpy = importlib.import_module("numpy")
        if self._numpy_name is None:
            raise AttributeError(f"{self.name}: numpy has no type for tf32 elements")
        if self.is_packed:
            return numpy.dtype([(self.name, self._numpy_name)])
        if hasattr(numpy, self._numpy_name):
            return numpy.dtype(getattr(numpy, self._numpy_name))
        return numpy.dtype(getattr(importlib.import_module("ml_dtypes"), self._numpy_name))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, DType) or other is None:
            return False
        found = _lookup(other)
        return found is self

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.name,)


float32 = DType("float32", 4, "float", "float32")
tfloat32 = DType("tfloat32", 4, "float", None)
bfloat16 = DType("bfloat16", 2, "float", "bfloat16")
float16 = DType("float16", 2, "float", "float16")
float8_e4m3 = DType("float8_e4m3", 1, "float", "float8_e4m3")
float8_e4m3fn = DType("float8_e4m3fn", 1, "float", "float8_e4m3fn")
float8_e5m2 = DType("float8_e5m2", 1, "float", "float8_e5m2")
float8_e5m2_x4 = DType("float8_e5m2_x4", 4, "packed", "uint32")
float8_e4m3fn_x4 = DType("float8_e4m3fn_x4", 4, "packed", "uint32")
float4_e2m1fn_x4 = DType("float4_e2m1fn_x4", 2, "packed", "uint16")
float8_e8m0 = DType("float8_e8m0", 1, "scale", "float8_e8m0fnu")
int64 = DType("int64", 8, "integer", "int64")
int32 = DType("int32", 4, "integer", "int32")
uint32 = DType("uint32", 4, "integer", "uint32")
int16 = DType("int16", 2, "integer", "int16")
uint16 = DType("uint16", 2, "integer", "uint16")
int8 = DType("int8", 1, "integer", "int8")
uint8 = DType("uint8", 1, "integer", "uint8")
bool_ = DType("bool", 1, "integer", "bool_")

ALL: tuple[DType, ...] = (
    float32, tfloat32, bfloat16, float16, float8_e4m3, float8_e4m3fn, float8_e5m2, float8_e5m2_x4,
    float8_e4m3fn_x4, float4_e2m1fn_x4, float8_e8m0, int64, int32, uint32, int16, uint16, int8,
    uint8, bool_)

_BY_NAME: dict[str, DType] = {one.name: one for one in ALL}
_BY_NAME.update({"bool_": bool_, "float8_e8m0fnu": float8_e8m0, "float8e4": float8_e4m3,
                 "float8e5": float8_e5m2})
_found: dict[Any, DType] = {}
"""What numpy's and ml_dtypes' scalar types, and numpy's data types of them, were found to be."""


def _lookup(value: object) -> DType | None:
    if isinstance(value, DType):
        return value
    fields = getattr(value, "names", None)
    if isinstance(fields, tuple):
        return _BY_NAME.get(fields[0]) if len(fields) == 1 else None
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(name, str):  # torch's types are "torch.float32", as are their stand-ins.
        name = str(getattr(value, "__name__", value)).rpartition(".")[2]
    return _BY_NAME.get(name)


def numpy_type(kind: DType) -> Any:
    """numpy's type for one of NKI's, which is its own if numpy has none."""
    return getattr(kind, "dtype", kind)


def is_dtype(name: str) -> bool:
    """Whether a data type has this name, or is also called so ("bool_")."""
    return name in _BY_NAME


def dtype(value: object) -> DType:
    """The data type for a DType, a name, a numpy or ml_dtypes type, or a torch dtype.

    UserError if the trace format has no such type.
    """
    if type(value) is DType:
        return value
    is_numpy = isinstance(value, type) or type(value).__module__ == "numpy.dtypes"
    known = _found.get(value) if is_numpy else None
    if known is not None:
        return known
    found = _lookup(value)
    if found is None:
        names = " ".join(one.name for one in ALL)
        where = source.here()
        place = "" if where == source.UNKNOWN else f"{where}: "
        called = str(getattr(value, "__name__", value))
        raise UserError(f"{place}data type {called!r} is not one of NKI's: {names}; convert the "
                        "argument, or name one of these")
    if is_numpy:
        _found[value] = found
    return found
