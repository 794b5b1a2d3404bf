# SPDX-License-Identifier: Apache-2.0
# The table of what each operation accepts, and the rules that do not fit a table.
"""Operands of every operation: memories, shapes, generations; and special checks by name.

[NKI-ISA], and [NKI-ARCH-V2], [NKI-ARCH-V3], [NKI-ARCH-V4] for sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from collections.abc import Callable

from trnsim.frontend.chip import Chip
from trnsim.frontend.engines import VECTOR_BLOCK
from trnsim.frontend.tensor import HBM, PSUM, SBUF, split_operand

if TYPE_CHECKING:
    from trnsim.frontend.validate import Instruction

S = (SBUF,)
SP = (SBUF, PSUM)
HS = (HBM, SBUF)
P = (PSUM,)


class OperandRule(NamedTuple):
    """`relation`: `like` dst (partitions and elements), `vector` ([P, 1]) or `any`."""

    spaces: tuple[str, ...]
    relation: str


class Rule(NamedTuple):
    """What an operation accepts. `one_psum_input`: roles that are not both in PSUM."""

    operands: dict[str, OperandRule]
    generation: int = 2
    one_psum_input: tuple[str, str] | None = None

    def operand(self, role: str) -> OperandRule:
        return self.operands[role]


def _rule(generation: int = 2, one_psum_input: tuple[str, str] | None = None,
          **roles: tuple[tuple[str, ...], str]) -> Rule:
    return Rule({role: OperandRule(*one) for role, one in roles.items()}, generation,
                one_psum_input)


LIKE, VECTOR, ANY = (SP, "like"), (SP, "vector"), (SP, "any")
LIKE_S, ANY_S, ANY_HS, VECTOR_S = (S, "like"), (S, "any"), (HS, "any"), (S, "vector")

RULES: dict[str, Rule] = {
    "nc_matmul": _rule(dst=(P, "any"), stationary=ANY_S, moving=ANY_S),
    "nc_matmul_mx": _rule(4, dst=(P, "any"), stationary=ANY_S, moving=ANY_S,
                          stationary_scale=ANY_S, moving_scale=ANY_S),
    "nc_transpose": _rule(dst=ANY, data=ANY),
    "tensor_copy": _rule(dst=LIKE, data=LIKE),
    "tensor_tensor": _rule(2, ("data1", "data2"), dst=LIKE, data1=LIKE, data2=LIKE),
    "tensor_scalar": _rule(dst=LIKE, data=LIKE, operand0=VECTOR, operand1=VECTOR),
    "scalar_tensor_tensor": _rule(2, ("data", "operand1"), dst=LIKE, data=LIKE, operand0=VECTOR,
                                  operand1=LIKE),
    "tensor_scalar_reduce": _rule(dst=LIKE, data=LIKE, operand0=VECTOR, reduce_result=VECTOR),
    "tensor_scalar_cumulative": _rule(dst=LIKE, data=LIKE, operand0=VECTOR, operand1=VECTOR),
    "tensor_reduce": _rule(dst=ANY, data=ANY),
    "tensor_tensor_scan": _rule(2, ("data1", "data2"), dst=LIKE, data1=LIKE, data2=LIKE,
                                initial=VECTOR),
    "tensor_copy_predicated": _rule(2, ("data", "predicate"), dst=LIKE, data=LIKE, predicate=LIKE),
    "select_reduce": _rule(2, ("predicate", "on_true"), dst=LIKE, predicate=LIKE, on_true=LIKE,
                           on_false=VECTOR, reduce_result=VECTOR),
    "range_select": _rule(3, dst=LIKE, data=LIKE, bound0=VECTOR, bound1=VECTOR,
                          reduce_result=VECTOR),
    "memset": _rule(dst=ANY),
    "reciprocal": _rule(dst=LIKE, data=LIKE),
    "exponential": _rule(4, dst=LIKE, data=LIKE, max_value=VECTOR, reduce_result=VECTOR),
    "activation": _rule(dst=LIKE, data=LIKE, bias=VECTOR, scale=VECTOR, reduce_result=VECTOR),
    "activation_reduce": _rule(dst=LIKE, data=LIKE, bias=VECTOR, scale=VECTOR,
                               reduce_result=VECTOR),
    "activate2": _rule(4, dst=LIKE, data=LIKE, operand0=VECTOR, operand1=VECTOR,
                       reduce_result=VECTOR),
    "bn_stats": _rule(dst=ANY, data=ANY),
    "bn_aggr": _rule(dst=ANY, data=ANY),
    "max8": _rule(dst=ANY, data=ANY),
    "nc_find_index8": _rule(dst=ANY, data=ANY, values=ANY),
    "nc_match_replace8": _rule(dst=LIKE, data=LIKE, values=ANY),
    "nc_stream_shuffle": _rule(dst=ANY, data=ANY),
    "dropout": _rule(dst=LIKE, data=LIKE),
    "rng": _rule(dst=ANY),
    "rand2": _rule(4, dst=ANY),
    "rand_set_state": _rule(3, data=ANY_S),
    "rand_get_state": _rule(3, dst=ANY),
    "set_rng_seed": _rule(data=ANY),
    "quantize_mx": _rule(4, dst=ANY_S, dst_scale=ANY_S, data=ANY_S),
    "iota": _rule(dst=ANY_S),
    "affine_select": _rule(dst=LIKE_S, data=LIKE_S),
    "local_gather": _rule(dst=ANY_S, data=ANY_S, index=ANY_S),
    "nc_n_gather": _rule(dst=ANY_S, data=ANY_S, index=ANY_S),
    "tensor_partition_reduce": _rule(dst=ANY_S, data=ANY_S),
    "sequence_bounds": _rule(dst=ANY_S, data=ANY_S),
    "nonzero_with_count": _rule(3, dst=ANY_S, data=ANY_S),
    "topk": _rule(dst=ANY_S, data=ANY_S),
    "dma_copy": _rule(dst=ANY_HS, src=ANY_HS, index=ANY_S),
    "dma_transpose": _rule(dst=ANY_HS, src=ANY_HS, index=ANY_S),
    "dma_compute": _rule(dst=ANY_HS, src=ANY_HS),
    "register_move": _rule(),
    "register_load": _rule(data=(HS, "any")),
    "register_store": _rule(dst=(HS, "any")),
    "core_barrier": _rule(),
}

_MATMUL_16BIT = ("bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
_MATMUL_32BIT = ("float32", "tfloat32")
_DOUBLE_ROW = ("float8_e4m3", "float8_e4m3fn", "float8_e5m2")
_PREDICATES = ("uint8", "uint16", "uint32")
_BITVEC = ("invert", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
                     "right_shift")
BN_STATS_FREE_MAX = 512
"""Elements per partition of one bn_stats. [NKI-ISA]"""
MAX8_FREE = (8, 16384)
"""Elements per partition of max8 and its relatives. [NKI-ISA]"""


def _matmul(chip: Chip, it: Instruction) -> None:
    dst, stationary, moving = (it.view(role).form for role in ("dst", "stationary", "moving"))
    _matmul_dtypes(chip, it)
    rows, columns = it.attributes.get("tile_size") or (chip.pe_rows, chip.pe_columns)
    double = 2 if it.attributes.get("perf_mode") == "double_row" else 1
    if stationary.partitions != moving.partitions:
        raise it.reject(f"stationary has {stationary.partitions} partitions and moving "
                        f"{moving.partitions}, but both hold the contraction dimension; "
                        "make them equal")
    if stationary.partitions > rows:
        raise it.reject(f"the contraction takes {stationary.partitions} rows, but the tile of the "
                        f"PE array has {rows}; split it")
    stationary_free = stationary.free_elements // double
    moving_free = moving.free_elements // double
    if stationary_free > columns:
        raise it.reject(f"stationary has {stationary_free} columns, but the tile of the PE array "
                        f"has {columns}; split it")
    limit = (chip.moving_free_max_32bit if dst.dtype.itemsize == 4 else
             chip.moving_free_max_16bit)
    if moving_free > limit:
        raise it.reject(f"moving has {moving_free} columns, but {chip.neuron_core} streams at most "
                        f"{limit} into a {dst.dtype} dst; split it")
    if (dst.partitions, dst.free_elements) != (stationary_free, moving_free):
        raise it.reject(
            f"dst is {dst.describe()}, {dst.partitions} partitions of {dst.free_elements} "
            f"elements, but stationary has {stationary_free} columns and moving {moving_free}; dst must be "
            f"[{stationary_free}, {moving_free}]")
    _matmul_tiling(chip, it, rows, columns)


def _matmul_dtypes(chip: Chip, it: Instruction) -> None:
    dst, stationary, moving = (it.view(role).form.dtype.name
                               for role in ("dst", "stationary", "moving"))
    for role, name in (("stationary", stationary), ("moving", moving)):
        if name not in _MATMUL_16BIT + _MATMUL_32BIT or (name == "float8_e4m3fn"
                                                         and chip.generation < 4):
            raise it.reject(f"{role} is {name}, which the tensor engine of {chip.neuron_core} does "
                            "not multiply; convert it to bfloat16 or float32")
    if (stationary in _MATMUL_32BIT) != (moving in _MATMUL_32BIT):
        raise it.reject(f"stationary is {stationary} and moving is {moving}, but a 32-bit operand "
                        "takes a 32-bit partner; convert one of them")
    if it.attributes.get("is_transpose"):
        allowed: tuple[str, ...] = ("float32", "bfloat16", "float16")
    else:
        allowed = ("float32", "bfloat16") if chip.generation >= 4 else ("float32",)
    if dst not in allowed:
        raise it.reject(f"dst is {dst}, but {chip.neuron_core} writes {' or '.join(allowed)}; "
                        "declare the psum tile so")
    if it.attributes.get("perf_mode") == "double_row":
        if chip.generation < 3:
            raise it.reject(f"perf_mode double_row needs NeuronCore-v3, but {chip.name} has "
                            f"{chip.neuron_core}; leave it out")
        if stationary not in _DOUBLE_ROW or moving not in _DOUBLE_ROW:
            raise it.reject(f"perf_mode double_row with {stationary} and {moving}, but it takes "
                            "float8 operands; convert them")


def _matmul_tiling(chip: Chip, it: Instruction, rows: int, columns: int) -> None:
    position = it.attributes.get("tile_position")
    if position is None:
        return
    smallest = 64 if chip.generation < 3 else 32
    for name, size, start, full in (("row", rows, position[0], chip.pe_rows),
                                    ("column", columns, position[1], chip.pe_columns)):
        if size < smallest or full % size:
            raise it.reject(f"{name} size {size} of tile_size, but {chip.neuron_core} has tiles of "
                            f"{smallest} to {full}; choose one that divides {full}")
        if start % size or start + size > full:
            raise it.reject(f"{name} {start} of tile_position, but tiles of {size} start at its "
                            f"multiples below {full}; move it")


def check_bank(chip: Chip, it: Instruction) -> None:
    """The output of a matmul lies within one PSUM bank (v2 and v3). Depends on the position."""
    dst = it.view("dst")
    size = dst.form.dtype.itemsize
    low, high = dst.form.span
    offset = split_operand(dst.position)[0]
    first = (offset + low) * size // chip.psum_bank_bytes
    last = ((offset + high + 1) * size - 1) // chip.psum_bank_bytes
    if first != last:
        raise it.reject(f"dst reaches from psum bank {first} to {last} of {dst.name!r}, but the "
                        f"output lies in one bank of {chip.psum_bank_bytes} bytes; align it")


def _transpose(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if (dst.partitions, dst.free_elements) != (data.free_elements, data.partitions):
        raise it.reject(f"dst is {dst.describe()}, but data is {data.describe()}, so dst must be "
                        f"[{data.free_elements}, {data.partitions}]")
    if dst.dtype.itemsize != data.dtype.itemsize and data.dtype.itemsize > 1:
        raise it.reject(f"dst is {dst.dtype} and data {data.dtype}, but both must have the same "
                        "type; declare dst so")
    engines = it.engines or ()
    rows, columns = data.partitions, data.free_elements
    if "tensor" in engines and (rows > chip.pe_rows or columns > chip.pe_columns):
        raise it.reject(f"data is {rows} x {columns}, but the tensor engine transposes at most "
                        f"{chip.pe_rows} x {chip.pe_columns}; split it")
    if engines == ("vector",) and max(rows, columns) > VECTOR_BLOCK:
        raise it.reject(
            f"data is {rows} x {columns} from {data.space} to {dst.space}, which only the vector "
            f"engine reaches, and it transposes at most {VECTOR_BLOCK} x {VECTOR_BLOCK}; "
            "split it, or go from sbuf to psum")


def _tensor_reduce(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if dst.partitions != data.partitions or data.free_elements % dst.free_elements:
        raise it.reject(f"dst is {dst.describe()}, but data is {data.describe()}; the partitions "
                        "are kept, and the elements of dst divide those of data")


def _predicated(chip: Chip, it: Instruction) -> None:
    predicate = it.view("predicate").form
    if predicate.dtype.name not in _PREDICATES:
        raise it.reject(f"predicate is {predicate.dtype}, but must be {' or '.join(_PREDICATES)}; "
                        "convert it")


def _select_reduce(chip: Chip, it: Instruction) -> None:
    predicate = it.view("predicate").form
    if not predicate.dtype.is_integer or predicate.dtype.itemsize > 2:
        raise it.reject(f"predicate is {predicate.dtype}, but must be an integer of 8 or 16 bits; "
                        "convert it")


def _bn_stats(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if data.free_elements > BN_STATS_FREE_MAX:
        raise it.reject(f"data has {data.free_elements} elements per partition, but at most "
                        f"{BN_STATS_FREE_MAX} are allowed; split it and use bn_aggr")
    if (dst.partitions, dst.free_elements) != (data.partitions, 6):
        raise it.reject(f"dst is {dst.describe()}, but must be [{data.partitions}, 6]")


def _bn_aggr(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if data.free_elements % 3:
        raise it.reject(f"data has {data.free_elements} elements per partition, but must have a "
                        "multiple of 3; pass the output of bn_stats")
    if (dst.partitions, dst.free_elements) != (data.partitions, 2):
        raise it.reject(f"dst is {dst.describe()}, but must be [{data.partitions}, 2]")


def _eight(chip: Chip, it: Instruction) -> None:
    low, high = MAX8_FREE
    data = it.view("data").form
    if not low <= data.free_elements <= high:
        raise it.reject(f"data has {data.free_elements} elements per partition, but {low} to "
                        f"{high} are allowed; pad or split it")
    for role in ("dst", "values") if it.op != "nc_match_replace8" else ("values",):
        view = it.find(role)
        if view is not None and (view.form.partitions, view.form.free_elements) != (
                data.partitions, 8):
            raise it.reject(f"{role} is {view.form.describe()}, but must be [{data.partitions}, 8]")


def _shuffle(chip: Chip, it: Instruction) -> None:
    mask = it.attributes.get("mask", ())
    if len(mask) != VECTOR_BLOCK or any(not (0 <= one < 32 or one == 255) for one in mask):
        raise it.reject(f"mask has {len(mask)} entries {list(mask)}, but must have 32, each a "
                        "partition 0 to 31 or 255 to keep")
    dst, data = it.view("dst").form, it.view("data").form
    if dst.free_elements != data.free_elements:
        raise it.reject(f"dst is {dst.describe()}, but data is {data.describe()}; the elements per "
                        "partition must be equal")


def _partition_reduce(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if (dst.partitions, dst.free_elements) != (1, data.free_elements):
        raise it.reject(f"dst is {dst.describe()}, but must be [1, {data.free_elements}]")


def _bitvec(chip: Chip, it: Instruction) -> None:
    """Bit operations take integers, and none of them is mixed with arithmetic."""
    ops = [it.attributes[name] for name in ("op", "op0", "op1")
           if it.attributes.get(name, "none") != "none"]
    bitvec = [op for op in ops if op in _BITVEC]
    if not bitvec:
        return
    if len(bitvec) != len(ops):
        raise it.reject(f"{' and '.join(ops)} are of different kinds, but bit operations are not "
                        "mixed with arithmetic; use two instructions")
    for role, _, view in it.operands:
        if view.form.dtype.is_float:
            raise it.reject(f"{role} is {view.form.dtype}, but {bitvec[0]} takes integers; view or "
                            "convert it")


def _dma_elements(chip: Chip, it: Instruction) -> None:
    dst = it.view("dst").form
    for role, _, view in it.operands:
        if role == "src" and view.form.elements != dst.elements:
            raise it.reject(
                f"src is {view.form.describe()}, {view.form.elements} elements, but dst is "
                f"{dst.describe()}, {dst.elements} elements; both must be equal")


CHECKS: dict[str, Callable[[Chip, Instruction], None]] = {
    "nc_matmul": _matmul, "nc_transpose": _transpose, "tensor_reduce": _tensor_reduce,
    "tensor_copy_predicated": _predicated, "select_reduce": _select_reduce,
    "bn_stats": _bn_stats, "bn_aggr": _bn_aggr, "max8": _eight, "nc_find_index8": _eight,
    "nc_match_replace8": _eight, "nc_stream_shuffle": _shuffle,
    "tensor_partition_reduce": _partition_reduce, "tensor_tensor": _bitvec,
    "tensor_scalar": _bitvec, "dma_copy": _dma_elements, "dma_transpose": _dma_elements,
    "dma_compute": _dma_elements,
}
