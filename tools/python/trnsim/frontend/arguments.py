# SPDX-License-Identifier: Apache-2.0
# Arguments of a kernel: tensors given by shape and type, arrays, and plain values.
"""The grammar of `--arg`, and the conversion of arguments into input buffers."""

from __future__ import annotations

import ast
import difflib
import re
from math import prod
from typing import Any, NamedTuple
from collections.abc import Callable, Iterable, Sequence

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.dtypes import ALL, DType, dtype as dtype_of, is_dtype
from trnsim.frontend.leaves import Path, fields_of, is_record, mapped
from trnsim.frontend.records.tensor import ELEMENTS_MAX, View

_TENSOR = re.compile(r"\s*([A-Za-z_]\w*)\s*\[\s*([0-9]+(?:\s*,\s*[0-9]+)*)?\s*\]\s*")
_TENSOR_LIKE = re.compile(r"\s*([A-Za-z_]\w*)\s*\[.*\]\s*")
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)(.*)", re.DOTALL)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""What tells two runs apart in the text of an object or function."""


DTYPE_NAMES = tuple(one.name for one in ALL)


class TensorArgument(NamedTuple):
    """An input tensor without contents."""

    dtype: DType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(size) for size in self.shape)}]"


def parse(text: str) -> tuple[str | None, Any]:
    """An `--arg`: `dtype[shape]`, a Python literal or a data type; `name=` makes it a keyword."""
    named = _NAMED.fullmatch(text)
    if named is not None:
        return named.group(1), _value(named.group(2), text)
    return None, _value(text, text)


def _value(text: str, whole: str) -> Any:
    tensor = _TENSOR.fullmatch(text)
    if tensor is not None:
        sizes = tensor.group(2)
        if sizes is None:
            raise UserError(f"{whole!r}: a tensor without a shape; write dtype[size,...]")
        return TensorArgument(_dtype(tensor.group(1), whole),
                              tuple(int(size) for size in sizes.split(",")))
    if is_dtype(text.strip()):
        return dtype_of(text.strip())
    try:
        literal = ast.literal_eval(text.strip())
        return literal if isinstance(literal, str) else as_tensor(literal)
    except (ValueError, SyntaxError):
        raise UserError(f"--arg {whole!r}: neither a tensor like float32[128,512] nor a Python "
                        "literal like 4, 1e-6, True or 'text'; quote strings twice") from None


def _dtype(name: str, whole: str) -> DType:
    if not is_dtype(name):
        alike = difflib.get_close_matches(name, DTYPE_NAMES, n=1)
        known = f"did you mean {alike[0]}?" if alike else f"NKI's are {' '.join(DTYPE_NAMES)}"
        raise UserError(f"--arg {whole!r}: there is no data type {name!r}; {known}")
    return dtype_of(name)


def is_tensor(value: Any) -> bool:
    """Whether a value is an array of some library or a TensorArgument; numpy's scalar types are
    not."""
    if isinstance(value, (list, tuple, dict, type)):
        return isinstance(value, TensorArgument)
    try:
        return hasattr(value, "shape") and hasattr(value, "dtype")
    except Exception:  # noqa: BLE001 - a user's object, whose code may raise anything
        return False


def as_tensor(value: Any) -> Any:
    """A text like "float32[128,512]" as the tensor that it stands for, in lists, tuples, dicts and
    objects too; anything else as it is. UserError if it is almost such a text."""
    return mapped(value, lambda text, _: _tensor_of(text), lambda one: isinstance(one, str)
                  and _TENSOR_LIKE.fullmatch(one) is not None)


def _tensor_of(value: str) -> Any:
    """What a text with brackets stands for."""
    found = _TENSOR_LIKE.fullmatch(value)
    assert found is not None
    if is_dtype(found.group(1)):
        if _TENSOR.fullmatch(value) is None:
            raise UserError(f"{value!r} is not a tensor; write its shape as numbers between "
                            f"commas, like {found.group(1)}[128,512]")
        return _value(value, value)
    alike = difflib.get_close_matches(found.group(1), DTYPE_NAMES, n=1, cutoff=0.5)
    if alike and _TENSOR.fullmatch(value) is not None:
        raise UserError(f"{value!r}: there is no data type {found.group(1)!r}; did you mean "
                        f"{alike[0]}?")
    return value


def _shape(sizes: Sequence[Any], name: str) -> tuple[int, ...]:
    shape = tuple(int(size) for size in sizes)
    if 0 in shape:
        raise UserError(f"argument {name}: a tensor of shape {list(shape)}, which has no element; "
                        "give every dimension at least 1")
    if prod(shape) > ELEMENTS_MAX:
        raise UserError(f"argument {name}: a tensor of shape {list(shape)} has {prod(shape)} "
                        f"elements, but at most {ELEMENTS_MAX} are possible; make it smaller")
    return shape


def _kind(value: Any, name: str) -> DType:
    """The data type of an array. UserError that names the argument if NKI has none."""
    try:
        return dtype_of(value)
    except UserError:
        where = "" if (at := source.here()) == source.UNKNOWN else f"{at}: "
        raise UserError(f"{where}argument {name} has the data type {value}, which NKI does not "
                        "have; convert it, to float32 for example") from None


def describe(value: Any, around: tuple[int, ...] = ()) -> str:
    """An argument as it stands in the header of the trace, without addresses of objects.

    `around` are the identities of the objects that it is in.
    """
    def each(items: Iterable[Any]) -> list[str]:
        return [describe(item, (*around, id(value))) for item in items]

    if isinstance(value, TensorArgument):
        return str(value)
    if is_tensor(value):
        return str(TensorArgument(dtype_of(value.dtype), tuple(value.shape)))
    if id(value) in around:
        return "..."
    if type(value) is list:
        return f"[{', '.join(each(value))}]"
    if type(value) is tuple:
        return f"({', '.join(each(value))}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return f"{{{', '.join(map('{!r}: {}'.format, value, each(value.values())))}}}"
    fields = value._asdict() if hasattr(type(value), "_make") else (
        fields_of(value) if is_record(value, is_tensor) else {})
    if fields:
        named = ", ".join(map("{}={}".format, fields, each(fields.values())))
        return f"{type(value).__qualname__}({named})"
    try:
        text = repr(value)
    except Exception:  # The user's own, of an object that may not be complete yet.
        text = object.__repr__(value)
    return _ADDRESS.sub("", text)


Maker = Callable[[str, DType, tuple[int, ...], Any], View]
"""Makes the view of an input buffer from its name, type, shape and contents (None: unknown)."""


def bind(value: Any, name: str, make: Maker) -> Any:
    """The argument as the kernel sees it: tensors and arrays become views of input buffers.

    Of an object with tensors the kernel gets a copy, from its dictionary. [NKI-LANGUAGE-GUIDE]
    """
    def view(one: Any, path: Path) -> Any:
        called = "_".join(map(str, (name, *path)))
        if isinstance(one, TensorArgument):
            return make(called, one.dtype, _shape(one.shape, called), None)
        shape = _shape(one.shape, called)
        return make(called, _kind(one.dtype, called), shape, one) if shape else one
    return mapped(value, view, is_tensor)
