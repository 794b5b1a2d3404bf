# SPDX-License-Identifier: Apache-2.0
# The public module nki.language.
"""nki.language as kernels import it."""

from __future__ import annotations

from typing import Any

from trnsim.errors import IllegalInstruction as _IllegalInstruction
from trnsim.frontend import source as _source
from trnsim.frontend.absent import absent as _absent
from trnsim.frontend.dtypes import (bfloat16, bool_, float4_e2m1fn_x4, float8_e4m3, float8_e4m3fn,
                                    float8_e4m3fn_x4, float8_e5m2, float8_e5m2_x4, float8_e8m0,
                                    float16, float32, int8, int16, int32, int64, tfloat32, uint8,
                                    uint16, uint32)
from trnsim.frontend.dtypes import DType
from trnsim.frontend.dtypes import dtype as _dtype_of
from trnsim.frontend.loops import LoopRange as range
from trnsim.frontend.nki import elementwise as _elementwise
from trnsim.frontend.nki import lookup as _lookup
from trnsim.frontend.nki import reductions as _reductions
from trnsim.frontend.nki.assignment import copy as _assign
from trnsim.frontend.nki.broadcast import broadcast_to
from trnsim.frontend.nki.creation import (full, ndarray, ones, par_dim, shared_constant,
                                          shared_identity_matrix, zeros, zeros_like)
from trnsim.frontend.nki.creation import fresh as _fresh
from trnsim.frontend.nki.emit import copy as _cast
from trnsim.frontend.nki.enums import SPACES as _SPACES
from trnsim.frontend.nki.enums import MemoryRegion
from trnsim.frontend.nki.grids import (NkiBlockGrid, NkiGrid, NkiTileGrid, alloc_blocks,
                                       alloc_tiles, blocks, empty_like, tiles)
from trnsim.frontend.nki.isa_dma import dma_transpose as _dma_transpose
from trnsim.frontend.nki.loops import (affine_range, device_print, ds, no_reorder, num_programs,
                                       program_id, program_ndim, sequential_range, static_range)
from trnsim.frontend.nki.objects import NKIObject
from trnsim.frontend.nki.registers import dynamic_range, fori_loop, while_loop
from trnsim.frontend.nki.tensor import NkiTensor
from trnsim.frontend.nki.tile_size import tile_size
from trnsim.frontend.records.tensor import HBM as _HBM
from trnsim.frontend.records.tensor import View as _View

float8_e8m0fnu = float8_e8m0
sbuf = MemoryRegion.sbuf
psum = MemoryRegion.psum
private_hbm = hbm = MemoryRegion.private_hbm
shared_hbm = MemoryRegion.shared_hbm

_binary = _elementwise.binary_operator
_unary = _elementwise.unary_operator
_function = _elementwise.function_operator


def _constant(name: str, operator: str, constant: float) -> Any:
    """A unary operator that is `operator` with a constant on the vector engine."""
    return _unary(name, lambda x, dtype: _elementwise.with_constant(operator, constant, x, dtype))


add, subtract, multiply = _binary("add"), _binary("subtract"), _binary("multiply")
divide, power = _binary("divide"), _binary("power")
maximum, minimum = _binary("maximum"), _binary("minimum")
abs_max, abs_min = _binary("abs_max"), _binary("abs_min")
mod, fmod = _binary("mod"), _binary("fmod")
equal, not_equal = _binary("equal"), _binary("not_equal")
less, less_equal = _binary("less"), _binary("less_equal")
greater, greater_equal = _binary("greater"), _binary("greater_equal")
bitwise_and, bitwise_or = _binary("bitwise_and"), _binary("bitwise_or")
bitwise_xor = _binary("bitwise_xor")
left_shift, right_shift = _binary("left_shift"), _binary("right_shift")
logical_and, logical_or = _binary("logical_and"), _binary("logical_or")
logical_xor = _binary("logical_xor")

abs = _constant("abs", "abs", 0.0)
negative = _constant("negative", "multiply", -1.0)
invert = _constant("invert", "bitwise_xor", -1)
logical_not = _constant("logical_not", "equal", 0.0)
copy = _unary("copy", _elementwise.scalar_copy)
reciprocal = _unary("reciprocal", _elementwise.reciprocal)
sin = _unary("sin", _elementwise.sine)
cos = _unary("cos", _elementwise.cosine)
tan = _unary("tan", _elementwise.tangent)
ceil = _unary("ceil", lambda x, dtype: _elementwise.rounded("ceil", x, dtype))
floor = _unary("floor", lambda x, dtype: _elementwise.rounded("floor", x, dtype))
trunc = _unary("trunc", lambda x, dtype: _elementwise.rounded("trunc", x, dtype))

rsqrt = _unary("rsqrt", _elementwise.reverse_square_root)
square, sqrt = _function("square"), _function("sqrt")
exp, log, sign = _function("exp"), _function("log"), _function("sign")
tanh, sigmoid, arctan = _function("tanh"), _function("sigmoid"), _function("arctan")
relu, prelu, gelu = _function("relu"), _function("prelu"), _function("gelu")
gelu_apprx_sigmoid = _function("gelu_apprx_sigmoid")
gelu_apprx_tanh = _function("gelu_apprx_tanh")
gelu_dx = _function("gelu_dx")
gelu_apprx_sigmoid_dx = _function("gelu_apprx_sigmoid_dx")
silu, silu_dx = _function("silu"), _function("silu_dx")
softplus, mish = _function("softplus"), _function("mish")
erf, erf_dx = _function("erf"), _function("erf_dx")

where = _elementwise.where
dropout = _elementwise.dropout


def _reduction(name: str, function: Any) -> Any:
    """A reduction with the name that kernels and messages call it by, and pools of processes find
    it by; its __name__ stays, which would make an operator of it."""
    function.__qualname__, function.__module__ = name, __name__
    return function


sum = _reduction("sum", _reductions.sum_of)
max = _reduction("max", _reductions.maximum_of)
min = _reduction("min", _reductions.minimum_of)
prod = _reduction("prod", _reductions.product_of)
all = _reduction("all", _reductions.all_of)
mean = _reduction("mean", _reductions.mean_of)
var = _reduction("var", _reductions.variance_of)
softmax = _reductions.softmax
rms_norm = _reductions.rms_norm
transpose = _reductions.transpose
matmul = _reductions.matmul

average = "average"
bypass = "bypass"

gather_flattened = _lookup.gather_flattened
random_seed = _lookup.random_seed
rand = _lookup.rand


def load(src: _View, dtype: Any = None) -> NkiTensor:
    """A tile in SBUF with the contents of a tensor in HBM."""
    kind = src.dtype if dtype is None else _dtype_of(dtype)
    shape = src.shape if src.ndim > 1 else (*src.shape, 1)
    tile = _fresh(shape, kind)
    _assign(tile, src)
    return tile


def store(dst: _View, value: _View) -> None:
    """Writes a tile to a tensor in HBM."""
    _assign(dst, value)


def load_transpose2d(src: _View, dtype: Any = None) -> _View:
    """A transposed tile in SBUF of a 2-D tensor in HBM, cast there if asked for."""
    if src.ndim != 2:
        raise _IllegalInstruction(f"{_source.here()}: load_transpose2d: src has shape "
                                  f"{list(src.shape)}, but must have 2 dimensions; slice or "
                                  "reshape it")
    tile = _fresh(src.shape[::-1], src.dtype)
    _dma_transpose(tile, src)
    return tile if dtype is None or _dtype_of(dtype) is src.dtype else _cast(tile, dtype)


def expand_dims(x: NkiTensor, axis: int) -> NkiTensor:
    """A view with a dimension of size 1 inserted."""
    return x.expand_dim(axis)


def is_hbm(buffer: Any) -> bool:
    """Whether a memory region is in HBM."""
    return _SPACES.get(buffer) == _HBM


def is_on_chip(buffer: Any) -> bool:
    """Whether a memory region is SBUF or PSUM."""
    return not is_hbm(buffer)


def is_psum(buffer: Any) -> bool:
    """Whether a memory region is PSUM."""
    return _SPACES.get(buffer) == "psum"


def is_sbuf(buffer: Any) -> bool:
    """Whether a memory region is SBUF."""
    return _SPACES.get(buffer) == "sbuf"


__getattr__ = _absent("nki", "language", globals())
