# SPDX-License-Identifier: Apache-2.0
# The public module neuronxcc.nki.language.
"""neuronxcc.nki.language as kernels import it. [NKI-LANGUAGE-2.26]"""

from __future__ import annotations

from typing import Any

import numpy as _np

from trnsim.errors import ProgramError as _ProgramError
from trnsim.frontend import source as _source
from trnsim.frontend.absent import absent as _absent
from trnsim.frontend.dtypes import (bfloat16, bool_, float8_e4m3, float8_e5m2, float16, float32,
                                    int8, int16, int32, int64, tfloat32, uint8, uint16, uint32)
from trnsim.frontend.dtypes import dtype as _dtype_of
from trnsim.frontend.legacy import composite as _composite
from trnsim.frontend.legacy import elementwise as _elementwise
from trnsim.frontend.legacy import reductions as _reductions
from trnsim.frontend.legacy import where as _where
from trnsim.frontend.legacy.allocation import ParDim as par_dim
from trnsim.frontend.legacy.allocation import hbm, private_hbm, psum, sbuf, shared_hbm
from trnsim.frontend.legacy.arange import arange, mgrid
from trnsim.frontend.legacy.broadcast import broadcast_to
from trnsim.frontend.legacy.creation import (empty_like, full, ndarray, ones, shared_constant,
                                             shared_identity_matrix, zeros, zeros_like)
from trnsim.frontend.legacy.grid import nc, num_programs, program_id, program_ndim, spmd_dim
from trnsim.frontend.legacy.isa_gpsimd import random_tile as _random_tile
from trnsim.frontend.legacy.keywords import ignored as _ignored
from trnsim.frontend.legacy.loops import AffineRange as affine_range
from trnsim.frontend.legacy.loops import SequentialRange as sequential_range
from trnsim.frontend.legacy.loops import StaticRange as static_range
from trnsim.frontend.legacy.selection import DynamicSlice as _DynamicSlice
from trnsim.frontend.legacy.transfer import copy as _copy
from trnsim.frontend.legacy.transfer import load, store
from trnsim.frontend.legacy.views import expand_dims
from trnsim.frontend.nki.stubs import unsupported as _unsupported
from trnsim.frontend.recorder import required as _required
from trnsim.frontend.shapes import whole_number as _whole_number
from trnsim.frontend.nki.tile_size import tile_size

float32r = tfloat32


class fp32:
    """Constants of float32."""

    min = float(_np.finfo(_np.float32).min)
    max = float(_np.finfo(_np.float32).max)


class bfp16:
    """Constants of bfloat16."""

    min = -3.3895313892515355e38
    max = 3.3895313892515355e38


def finfo(dtype: Any) -> Any:
    """Limits of a float type, as numpy's finfo."""
    return {"float32": fp32, "bfloat16": bfp16}.get(
        _dtype_of(dtype).name) or _np.finfo(_dtype_of(dtype).dtype)


def sizeinbytes(dtype: Any) -> int:
    """Bytes of an element; in nl.constants."""
    return _dtype_of(dtype).itemsize


def ds(start: Any, size: Any) -> _DynamicSlice:
    """The slice of `size` elements from `start`."""
    count = _whole_number(size, "size of nl.ds")
    if count < 1:
        raise _ProgramError(f"{_source.here()}: the slice nl.ds({start}, {count}) is empty or runs "
                            "backwards; a tile has at least one element")
    return _DynamicSlice(start, count)


_binary = _composite.binary_function
_unary = _composite.unary_function

add, subtract, multiply = _binary("add"), _binary("subtract"), _binary("multiply")
power, mod, fmod = _binary("power"), _binary("mod"), _binary("fmod")
maximum, minimum = _binary("maximum"), _binary("minimum")
equal, not_equal = _binary("equal"), _binary("not_equal")
less, less_equal = _binary("less"), _binary("less_equal")
greater, greater_equal = _binary("greater"), _binary("greater_equal")
bitwise_and, bitwise_or = _binary("bitwise_and"), _binary("bitwise_or")
bitwise_xor = _binary("bitwise_xor")
left_shift, right_shift = _binary("left_shift"), _binary("right_shift")
logical_and, logical_or = _binary("logical_and"), _binary("logical_or")
logical_xor = _binary("logical_xor")
divide = _composite.named(_elementwise.divide, "divide")

exp, log, sqrt, rsqrt = _unary("exp"), _unary("log"), _unary("sqrt"), _unary("rsqrt")
sin, tanh, arctan, sigmoid = _unary("sin"), _unary("tanh"), _unary("arctan"), _unary("sigmoid")
relu, gelu, gelu_dx = _unary("relu"), _unary("gelu"), _unary("gelu_dx")
gelu_apprx_tanh = _unary("gelu_apprx_tanh")
gelu_apprx_sigmoid = _unary("gelu_apprx_sigmoid")
silu, silu_dx, softplus, mish = (_unary("silu"), _unary("silu_dx"), _unary("softplus"),
                                 _unary("mish"))
erf, erf_dx, square, sign = _unary("erf"), _unary("erf_dx"), _unary("square"), _unary("sign")
abs = _unary("abs")
cos = _composite.named(_composite.cosine, "cos")
tan = _composite.named(_composite.tangent, "tan")
floor = _composite.rounding("floor")
ceil = _composite.rounding("ceil")
trunc = _composite.rounding("trunc")
reciprocal = _composite.named(_elementwise.reciprocal, "reciprocal")
negative = _composite.with_constant("negative", "multiply", -1.0)
invert = _composite.named(_composite.invert, "invert")
logical_not = _composite.with_constant("logical_not", "equal", 0.0)
copy = _composite.named(_copy, "copy")
where = _where.where
transpose = _composite.transpose
matmul = _composite.matmul
load_transpose2d = _composite.load_transpose2d
gather_flattened = _composite.gather_flattened
atomic_rmw = _composite.atomic_rmw

sum = _composite.reduction("sum", "add")
max = _composite.reduction("max", "maximum")
min = _composite.reduction("min", "minimum")
prod = _composite.reduction("prod", "multiply")
all = _composite.reduction("all", "logical_and", bool_)
mean = _reductions.mean
var = _reductions.var
softmax = _reductions.softmax
rms_norm = _reductions.rms_norm
loop_reduce = _reductions.loop_reduce

all_reduce = _unsupported("neuronxcc.nki.language.all_reduce")


def static_cast(input_data: Any, dtype: Any) -> Any:
    """A tile, a numpy array or a number in another type."""
    if isinstance(input_data, (_np.ndarray, int, float)):
        return _np.asarray(input_data).astype(_dtype_of(dtype).dtype)[()]
    return copy(input_data, dtype=dtype)


def rand(shape: Any, dtype: Any = float32, **others: Any) -> Any:
    """A tile of uniform random numbers."""
    _ignored(others)
    return _random_tile(shape, dtype)


def random_seed(seed: Any, *, mask: Any = None, **others: Any) -> None:
    """Seeds the random numbers."""
    _ignored(others)
    _composite.random_seed(seed)


def dropout(x: Any, rate: Any, *, dtype: Any = None, mask: Any = None, **others: Any) -> Any:
    """The tile with elements zeroed at random."""
    _ignored(others)
    return _composite.dropout(x, rate, dtype, mask)


def device_print(prefix: str, x: Any, *, mask: Any = None, **others: Any) -> None:
    """Prints a tensor or a number if values are computed; it is not an instruction of the trace."""
    _ignored(others)
    active = _required()
    if active.has_values and _elementwise.is_number(x):
        print(prefix, x)
    else:
        active.show(prefix, x)


def gemm_grid() -> Any:
    """The index grid of a matmul result."""
    return mgrid[0:128, 0:512]


def gemm_stationary_grid() -> Any:
    """The index grid of the stationary operand of a matmul."""
    return mgrid[0:128, 0:128]


__getattr__ = _absent("neuronxcc.nki", "language", globals())
