# SPDX-License-Identifier: Apache-2.0
# Arguments of a kernel: tensors given by shape and type, arrays, and plain values.
"""The grammar of `--arg`, and the conversion of arguments into input buffers."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple
from collections.abc import Callable

from trnsim.frontend.dtypes import ALL, DType, dtype as dtype_of
from trnsim.frontend.errors import UserError
from trnsim.frontend.tensor import View

_TENSOR = re.compile(r"\s*([A-Za-z_]\w*)\s*\[\s*([0-9]+(?:\s*,\s*[0-9]+)*)?\s*\]\s*")
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)(.*)", re.DOTALL)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""What tells two runs apart in the text of an object or function."""


DTYPE_NAMES = frozenset(one.name for one in ALL)


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
            raise UserError(f"--arg {whole!r}: a tensor without a shape; write dtype[size,...]")
        return TensorArgument(dtype_of(tensor.group(1)),
                              tuple(int(size) for size in sizes.split(",")))
    if text.strip() in DTYPE_NAMES:
        return dtype_of(text.strip())
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        raise UserError(f"--arg {whole!r}: neither a tensor like float32[128,512] nor a Python "
                        "literal like 4, 1e-6, True or 'text'; quote strings twice") from None


def _is_array(value: Any) -> bool:
    """Whether an argument is an array of some library; numpy's scalar types are not."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type)


def as_tensor(value: Any) -> Any:
    """A text like "float32[128,512]" as the tensor that it stands for; anything else as it is."""
    found = _TENSOR.fullmatch(value) if isinstance(value, str) else None
    return value if found is None or found.group(1) not in DTYPE_NAMES else _value(value, value)


def describe(value: Any) -> str:
    """An argument as it stands in the header of the trace, without addresses of objects."""
    if isinstance(value, TensorArgument):
        return str(value)
    if _is_array(value):
        return str(TensorArgument(dtype_of(value.dtype), tuple(value.shape)))
    return _ADDRESS.sub("", repr(value))


Maker = Callable[[str, DType, tuple[int, ...], Any], View]
"""Makes the view of an input buffer from its name, type, shape and contents (None: unknown)."""


def bind(value: Any, name: str, make: Maker) -> Any:
    """The argument as the kernel sees it: tensors and arrays become views of input buffers."""
    if isinstance(value, TensorArgument):
        return make(name, value.dtype, value.shape, None)
    if _is_array(value):
        shape = tuple(int(size) for size in value.shape)
        return make(name, dtype_of(value.dtype), shape, value) if shape else value
    if isinstance(value, (list, tuple)):
        items = [bind(item, f"{name}_{index}", make) for index, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: bind(item, f"{name}_{key}", make) for key, item in value.items()}
    return value
