# SPDX-License-Identifier: Apache-2.0
# What scripts and references find in the place of AWS's neuron_dtypes.
"""NKI's data types for numpy, and casts between them, packed ones too. [NKI-LIBRARY]

AWS's package is not public; this is what the tests and references of nki-library use of it. Any
other name of it is that of an absent library, see stand_ins.py.
"""

from __future__ import annotations

import importlib
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend.dtypes import ALL, DType, dtype as dtype_of


def static_cast(tensor: Any, dtype: Any) -> Any:
    """The array in another type; floats round to the nearest, ties to even.

    Four elements of the last axis become one of a packed type, and the other way round. UserError
    if the last axis cannot be divided so.
    """
    np: Any = importlib.import_module("numpy")
    values, target = np.asarray(tensor), dtype_of(dtype)
    given = None if values.dtype.names is None else dtype_of(values.dtype)
    if given is target:
        return values
    if given is None and not target.is_packed:
        return values.astype(target.dtype)
    microscaling = importlib.import_module("trnsim.frontend.values.microscaling")
    if given is not None:
        values = microscaling.unpacked(values, given).reshape(*values.shape[:-1], -1)
    if not target.is_packed:
        return values.astype(target.dtype)
    if values.ndim == 0 or values.shape[-1] % microscaling.PACK:
        raise UserError(f"static_cast: the shape is {list(values.shape)}, but four elements of the "
                        f"last axis become one of {target}; let it be a multiple of 4")
    return microscaling.packed(values, target)


def sizeinbytes(dtype: Any) -> int:
    """Bytes of an element."""
    return dtype_of(dtype).itemsize


def is_float_type(dtype: Any) -> bool:
    """Whether elements are floating-point numbers, each by itself."""
    return dtype_of(dtype).is_float


def is_x4_dtype(dtype: Any) -> bool:
    """Whether an element is four packed ones."""
    return dtype_of(dtype).is_packed


def finfo(dtype: Any) -> Any:
    """Limits of a floating-point type, as of `numpy.finfo`."""
    return importlib.import_module("ml_dtypes").finfo(dtype_of(dtype).dtype)


def names() -> dict[str, Any]:
    """The members of the module."""
    functions = (static_cast, sizeinbytes, is_float_type, is_x4_dtype, finfo)
    kinds: dict[str, DType] = {one.name: one for one in ALL}
    return {**kinds, **{one.__name__: one for one in functions}}
