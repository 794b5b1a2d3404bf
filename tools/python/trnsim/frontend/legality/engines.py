# SPDX-License-Identifier: Apache-2.0
# Which engines may run an operation on a chip, best first.
"""The engines of every operation. [NKI-ISA] unless a line says otherwise.

`legal` is what an explicit `engine=` may name, `choose` what the compiler may take by itself.
"""

from __future__ import annotations

from trnsim.frontend.chip import Chip
from trnsim.frontend.legality.indirect import barred
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.operators import BITVEC
from trnsim.frontend.records.tensor import PSUM, SBUF

Engines = tuple[str, ...]

TENSOR: Engines = ("tensor",)
VECTOR: Engines = ("vector",)
SCALAR: Engines = ("scalar",)
GPSIMD: Engines = ("gpsimd",)
DMA: Engines = ("dma",)
SEQUENCERS: Engines = ("sync", "gpsimd", "scalar", "vector", "tensor")
"""Engines that execute register operations: all of them, the least busy first. [ASSUMED]"""

VECTOR_BLOCK = 32
"""Rows and columns of a transpose on the vector engine."""

_FIXED: dict[str, Engines] = {
    "nc_matmul": TENSOR, "nc_matmul_mx": TENSOR,
    "scalar_tensor_tensor": VECTOR, "tensor_scalar_reduce": VECTOR,
    "tensor_scalar_cumulative": VECTOR, "tensor_reduce": VECTOR, "tensor_tensor_scan": VECTOR,
    "tensor_copy_predicated": VECTOR, "select_reduce": VECTOR, "range_select": VECTOR,
    "reciprocal": VECTOR, "exponential": VECTOR, "bn_stats": VECTOR, "bn_aggr": VECTOR,
    "max8": VECTOR, "nc_find_index8": VECTOR, "nc_match_replace8": VECTOR,
    "nc_stream_shuffle": VECTOR, "dropout": VECTOR, "rand2": VECTOR, "set_rng_seed": VECTOR,
    "quantize_mx": VECTOR,
    "activation": SCALAR, "activation_reduce": SCALAR, "activate2": SCALAR,
    "iota": GPSIMD, "affine_select": GPSIMD, "local_gather": GPSIMD, "nc_n_gather": GPSIMD,
    "tensor_partition_reduce": GPSIMD, "sequence_bounds": GPSIMD, "nonzero_with_count": GPSIMD,
    "topk": GPSIMD,
    "dma_copy": DMA, "dma_transpose": DMA, "dma_compute": DMA,
    "all_reduce": DMA, "all_gather": DMA, "reduce_scatter": DMA, "all_to_all": DMA,
    "collective_permute": DMA, "sendrecv": DMA,
    "register_move": SEQUENCERS, "register_load": SEQUENCERS, "register_store": SEQUENCERS,
}


def legal(chip: Chip, instruction: Instruction) -> Engines:
    """Engines that an explicit `engine=` may name."""
    op = instruction.op
    if op in _FIXED:
        return _FIXED[op]
    return _LEGAL[op](chip, instruction)


def choose(chip: Chip, instruction: Instruction, api: str) -> Engines:
    """Engines among which the compiler of `api` chooses when the program names none.

    Where indirect operands bar all of them, those that are told so (indirect.py).
    """
    out = barred(instruction)
    engines = _preferred(chip, instruction, api)
    return tuple(engine for engine in engines if engine not in out) or engines


def _preferred(chip: Chip, instruction: Instruction, api: str) -> Engines:
    """The same, wherever the columns of its operands are."""
    op = instruction.op
    if op == "tensor_tensor":
        allowed = legal(chip, instruction)
        operator = instruction.attributes["op"]
        is_integer = operator not in BITVEC and _is_integer(instruction)  # Bits need no arithmetic.
        prefers_gpsimd = operator == "power" or is_integer
        return GPSIMD if prefers_gpsimd and "gpsimd" in allowed else VECTOR
    if op in ("rng", "rand_set_state", "rand_get_state", "core_barrier"):
        can = legal(chip, instruction)
        return VECTOR if op == "rng" or "gpsimd" not in can else GPSIMD
    is_old_api = api == "neuronxcc.nki"
    if chip.generation == 2 and _is_activation(instruction):
        is_always = is_old_api and op != "reciprocal"  # Decision 0033.
        others = tuple(engine for engine in legal(chip, instruction) if engine not in SCALAR)
        return SCALAR if is_always else others + SCALAR
    if is_old_api and _adds_number(instruction):
        return VECTOR  # Decision 0034.
    return legal(chip, instruction)


def _is_activation(instruction: Instruction) -> bool:
    """Whether ACTIVATE can stand for it, as the compiler lets it on trn1, where the scalar engine
    has no instruction of its own for these. [NKI-SHARED] [ACCURACY-STUDY, 5.1]
    """
    op = instruction.op
    attributes = instruction.attributes
    if op == "tensor_scalar":
        return (attributes["op0"], attributes.get("op1", "none")) in _SCALAR_ENGINE_PAIRS
    return op in ("tensor_copy", "reciprocal")


def _adds_number(instruction: Instruction) -> bool:
    """Whether it is a tensor_scalar that adds a number: ACTIVATE scales by a number, but its bias
    is a vector. [NKI-ISA-2.26, activation]"""
    if instruction.op != "tensor_scalar":
        return False
    vectors = {role for role, _, _ in instruction.operands}
    return any(instruction.attributes.get(f"op{i}") == "add" and f"operand{i}" not in vectors
               for i in (0, 1))


def _touches_psum(instruction: Instruction) -> bool:
    return any(view.form.space == PSUM for _, _, view in instruction.operands)


def _is_integer(instruction: Instruction) -> bool:
    return all(view.form.dtype.name in ("int32", "uint32") for _, _, view in instruction.operands)


def _without_gpsimd_on_psum(instruction: Instruction, engines: Engines) -> Engines:
    if _touches_psum(instruction):
        return tuple(engine for engine in engines if engine != "gpsimd")
    return engines


def _transpose(chip: Chip, instruction: Instruction) -> Engines:
    (_, _, dst), (_, _, data) = instruction.operands[:2]
    engines: Engines = ()
    if data.form.space == SBUF and dst.form.space == PSUM:
        engines += TENSOR
    if max(data.form.partitions, data.form.free_elements) <= VECTOR_BLOCK or not engines:
        engines += VECTOR
    return engines


def _copy(chip: Chip, instruction: Instruction) -> Engines:
    return _without_gpsimd_on_psum(instruction, VECTOR + SCALAR + GPSIMD)


def _tensor_tensor(chip: Chip, instruction: Instruction) -> Engines:
    return _without_gpsimd_on_psum(instruction, VECTOR + GPSIMD)


_SCALAR_ENGINE_PAIRS = {("multiply", "add"), ("multiply", "none"), ("add", "none")}


def _tensor_scalar(chip: Chip, instruction: Instruction) -> Engines:
    op0 = instruction.attributes["op0"]
    op1 = instruction.attributes.get("op1", "none")
    engines = VECTOR
    if chip.generation >= 3 and (op0, op1) in _SCALAR_ENGINE_PAIRS:
        engines += SCALAR
    if "rsqrt" in (op0, op1):
        engines = GPSIMD
    return _without_gpsimd_on_psum(instruction, engines)


def _memset(chip: Chip, instruction: Instruction) -> Engines:
    return _without_gpsimd_on_psum(instruction, VECTOR + GPSIMD)


def _rng(chip: Chip, instruction: Instruction) -> Engines:
    gpsimd = GPSIMD if chip.generation >= 3 else ()
    return _without_gpsimd_on_psum(instruction, VECTOR + gpsimd)


def _random_state(chip: Chip, instruction: Instruction) -> Engines:
    if chip.generation < 4:
        return GPSIMD
    return _without_gpsimd_on_psum(instruction, GPSIMD + VECTOR)


def _barrier(chip: Chip, instruction: Instruction) -> Engines:
    return ("gpsimd", "sync", "scalar", "vector", "tensor")


_LEGAL = {
    "nc_transpose": _transpose, "tensor_copy": _copy, "tensor_tensor": _tensor_tensor,
    "tensor_scalar": _tensor_scalar, "memset": _memset, "rng": _rng,
    "rand_set_state": _random_state, "rand_get_state": _random_state, "core_barrier": _barrier,
}
