# SPDX-License-Identifier: Apache-2.0
# Legality of the vector and scalar engines' operations, and of registers.
"""Sizes, types and operators that the table in rules.py does not say. [NKI-ISA]"""

from __future__ import annotations

from trnsim.frontend.chip import Chip
from trnsim.frontend.legality.engines import VECTOR_BLOCK
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.legality.matmul import check_scale
from trnsim.frontend.operators import BITVEC
from trnsim.frontend.records.tensor import PSUM

_PREDICATES = ("uint8", "uint16", "uint32")
_NOT_SELECTED = ("tfloat32", "int32", "uint32")
BN_STATS_FREE_MAX = 512
"""Elements per partition of one bn_stats. [NKI-ISA]"""
QUANTIZED = ("float8_e5m2_x4", "float8_e4m3fn_x4")
"""Types that quantize_mx makes. [NKI-ISA]"""
STATE_WORDS = {"gpsimd": 6, "vector": 24}
"""Elements of the state of random numbers, per partition. [NKI-ISA]"""
INTEGER_MAX = 2**63 - 1
"""The largest integer of 64 bits with a sign."""
MAX8_FREE = (8, 16384)
"""Elements per partition of max8 and its relatives. [NKI-ISA]"""
_MAX8_RANKS = {"data": 5, "dst": 3}
"""Dimensions of the tiles of max8. [NKI-ISA-2.33]"""
_FLOATS = ("float32", "bfloat16", "float16", "float8_e4m3", "float8_e5m2")
_INTEGERS = ("int32", "int16", "int8", "uint16", "uint8")
_EXPONENTIAL_TYPES = {
    "dst": (*_FLOATS, "tfloat32", *_INTEGERS), "data": (*_FLOATS, *_INTEGERS, "uint32"),
    "max_value": ("float32",), "initial": ("float32",), "reduce_result": (*_FLOATS, "tfloat32")}
"""Types of the operands of exponential. [NKI-ISA]"""
_FOUND_INDICES = ("uint16", "uint32")
"""Types of the indices that nc_find_index8 writes. [NKI-ISA]"""


def check_tensor_reduce(chip: Chip, it: Instruction) -> None:
    operator = it.attributes["op"]
    if it.attributes.get("negate") and operator in BITVEC:
        raise it.reject(f"negate is True, but {operator} works on bits, which are not negated; use "
                        "two instructions")
    check_bitvec(chip, it)


def check_tensor_tensor(chip: Chip, it: Instruction) -> None:
    """Powers are of the gpsimd engine, which does not reach PSUM. [NKI-ISA]"""
    check_bitvec(chip, it)
    in_psum = [role for role, _, view in it.operands if view.form.space == PSUM]
    if it.attributes["op"] == "power" and in_psum:
        raise it.reject(f"op is power, which the gpsimd engine computes, but "
                        f"{it.called(in_psum[0])} is in psum, which it does not reach; use a tile "
                        "in sbuf")


def check_predicated(chip: Chip, it: Instruction) -> None:
    predicate = it.view("predicate").form
    if predicate.dtype.name not in _PREDICATES:
        raise it.reject(f"predicate is {predicate.dtype}, but must be {' or '.join(_PREDICATES)}; "
                        "convert it")


def _select_reduce(chip: Chip, it: Instruction) -> None:
    predicate = it.view("predicate").form
    if not predicate.dtype.is_integer or predicate.dtype.itemsize > 2:
        raise it.reject(f"predicate is {predicate.dtype}, but must be an integer of 8 or 16 bits; "
                        "convert it")


def check_select_values(chip: Chip, it: Instruction) -> None:
    _select_reduce(chip, it)
    on_true = it.view("on_true").form
    if on_true.dtype.name in _NOT_SELECTED:
        raise it.reject(f"on_true is {on_true.dtype}, which is not selected; convert or view it")
    result = it.find("reduce_result")
    if result is not None and not result.form.dtype.is_float:
        raise it.reject(f"reduce_res is {result.form.dtype}, but the maximum is a float; declare "
                        "it so")


def check_exponential(chip: Chip, it: Instruction) -> None:
    for role, taken in _EXPONENTIAL_TYPES.items():
        view = it.find(role)
        if view is not None and view.form.dtype.name not in taken:
            raise it.reject(f"{it.called(role)} is {view.form.dtype}, but must be one of "
                            f"{', '.join(taken)}; convert or declare it so")


def check_range_select(chip: Chip, it: Instruction) -> None:
    if not it.view("data").form.dtype.is_float:
        raise it.reject(f"on_true_tile is {it.view('data').form.dtype}, but must be floating; "
                        "convert it")
    for role in ("bound0", "bound1"):
        bound = it.view(role).form
        if bound.dtype.name != "float32":
            raise it.reject(f"{role} is {bound.dtype}, but must be float32; convert it")


def check_cumulative(chip: Chip, it: Instruction) -> None:
    for role in ("dst", "data"):
        form = it.view(role).form
        if form.dtype.name in ("int32", "uint32"):
            raise it.reject(f"{it.called(role)} is {form.dtype}, but 32-bit integers do not "
                            "accumulate; convert it to float32")


def check_random_bits(chip: Chip, it: Instruction) -> None:
    dst = it.view("dst").form
    if not dst.dtype.is_integer:
        raise it.reject(f"dst is {dst.dtype}, but random bits are integers; declare or view it so")


def check_state(chip: Chip, it: Instruction) -> None:
    role, _, view = it.operands[0]
    if view.form.space == PSUM and chip.generation < 4:
        raise it.reject(f"{it.called(role)} is {view.name!r} in psum, but {chip.neuron_core} "
                        "stores its state in sbuf; write it to a tile there, and copy that")
    if view.form.dtype.name != "uint32":
        raise it.reject(f"{it.called(role)} is {view.form.dtype}, but a state is of uint32; "
                        "declare or view it so")
    engine = "vector" if it.engines == ("vector",) else "gpsimd"
    words = STATE_WORDS[engine]
    if view.form.free_elements != words:
        raise it.reject(f"{it.called(role)} is {view.form.describe()}, but the {engine} engine's "
                        f"state has {words} elements per partition; declare it so")


def check_same_type(chip: Chip, it: Instruction) -> None:
    """What moves elements as they are does not convert them."""
    dst, data = it.view("dst").form, it.view("data").form
    if dst.dtype is not data.dtype:
        raise it.reject(f"dst is {dst.dtype} and {it.called('data')} is {data.dtype}, but elements "
                        "are moved as they are; make both types equal")


def check_activation(chip: Chip, it: Instruction) -> None:
    """[NKI-SHARED] [NKI-ISA]"""
    bias = it.find("bias")
    if bias is not None and bias.form.dtype.name == "tfloat32":
        raise it.reject("bias is tfloat32, which it may not be; declare it float32")
    if chip.generation == 2 and it.attributes["function"] == "reciprocal" and bias is not None:
        raise it.reject("bias is a tensor, but the Scalar Engine of NeuronCore-v2 takes none for a "
                        "reciprocal; add it before, or use nki.isa.reciprocal")


def check_dropout(chip: Chip, it: Instruction) -> None:
    """Integers keep their type, and are dropped with a float32 probability."""
    data, probability = it.view("data").form, it.find("operand0")
    if data.dtype.is_integer:
        check_same_type(chip, it)
    if probability is None:
        return
    kind = probability.form.dtype
    if data.dtype.is_integer and kind.name != "float32":
        raise it.reject(f"prob is {kind}, but data is {data.dtype}, and integers take a float32 "
                        "probability; convert it")
    if not kind.is_float:
        raise it.reject(f"prob is {kind}, but a probability is a float; convert it")


def check_memset(chip: Chip, it: Instruction) -> None:
    dst, value = it.view("dst").form, it.attributes["value"]
    if not hasattr(value, "__float__") or isinstance(value, int) and abs(value) > INTEGER_MAX:
        shown = "an integer of more than 64 bits" if isinstance(value, int) else repr(value)
        raise it.reject(f"value is {shown}, but must be a number of at most 64 bits")
    if dst.dtype.is_packed and value != 0:
        raise it.reject(f"value is {value}, but a packed {dst.dtype} is only "
                        "filled with 0; fill it unpacked")


def check_single(chip: Chip, it: Instruction) -> None:
    role, _, view = it.operands[0]
    if view.form.elements != 1:
        raise it.reject(f"{it.called(role)} is {view.form.describe()}, but must be [1, 1]; slice "
                        "it")


def check_seed(chip: Chip, it: Instruction) -> None:
    check_single(chip, it)
    role, _, view = it.operands[0]
    if view.form.dtype.itemsize != 4:
        raise it.reject(f"{it.called(role)} is {view.form.dtype}, but a seed has 32 bits; make it "
                        "a uint32")


def check_quantize(chip: Chip, it: Instruction) -> None:
    data = it.view("data").form
    if data.dtype.name not in ("bfloat16", "float16"):
        raise it.reject(f"src is {data.dtype}, but bfloat16 or float16 is quantized; convert it")
    if data.partitions % VECTOR_BLOCK or data.free_elements % 4:
        raise it.reject(f"src is {data.describe()}, but must have a multiple of {VECTOR_BLOCK} "
                        "partitions and of 4 elements; pad it")
    dst = it.view("dst").form
    if (dst.partitions, dst.free_elements) != (data.partitions, data.free_elements // 4):
        raise it.reject(f"dst is {dst.describe()}, but must be [{data.partitions}, "
                        f"{data.free_elements // 4}]: four values are one packed element")
    if dst.dtype.name not in QUANTIZED:
        raise it.reject(f"dst is {dst.dtype}, but must be {' or '.join(QUANTIZED)}; declare it so")
    check_scale(it, "dst_scale", dst)


def check_bn_stats(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if data.free_elements > BN_STATS_FREE_MAX:
        raise it.reject(f"data has {data.free_elements} elements per partition, but at most "
                        f"{BN_STATS_FREE_MAX} are allowed; split it and use bn_aggr")
    if (dst.partitions, dst.free_elements) != (data.partitions, 6):
        raise it.reject(f"dst is {dst.describe()}, but must be [{data.partitions}, 6]")


def check_bn_aggr(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if data.free_elements % 3:
        raise it.reject(f"data has {data.free_elements} elements per partition, but must have a "
                        "multiple of 3; pass the output of bn_stats")
    if (dst.partitions, dst.free_elements) != (data.partitions, 2):
        raise it.reject(f"dst is {dst.describe()}, but must be [{data.partitions}, 2]")


def check_eight(chip: Chip, it: Instruction) -> None:
    low, high = MAX8_FREE
    data = it.view("data").form
    if not low <= data.free_elements <= high:
        raise it.reject(f"{it.called('data')} has {data.free_elements} elements per partition, but "
                        f"{low} to {high} are allowed; pad or split it")
    replaced = it.op == "nc_match_replace8"
    for role in ("values", "dst_index") if replaced else ("dst", "values"):
        view = it.find(role)
        if view is not None and (view.form.partitions, view.form.free_elements) != (
                data.partitions, 8):
            raise it.reject(f"{it.called(role)} is {view.form.describe()}, but must be "
                            f"[{data.partitions}, 8]")


def check_match_replace(chip: Chip, it: Instruction) -> None:
    """NeuronCore-v2 has no instruction that also says where the matches are. [KILN]"""
    if it.find("dst_index") is not None and chip.generation < 3:
        raise it.reject(f"{it.called('dst_index')} needs NeuronCore-v3, but {chip.name} has "
                        f"{chip.neuron_core}; find them with nki.isa.nc_find_index8 before")
    check_eight(chip, it)


def check_max8(chip: Chip, it: Instruction) -> None:
    check_eight(chip, it)
    for role, limit in _MAX8_RANKS.items():
        shape = it.view(role).form.shape
        if len(shape) > limit:
            raise it.reject(f"{it.called(role)} has shape {list(shape)}, {len(shape)} dimensions, "
                            f"but at most {limit} are allowed; reshape it")


def check_find_index(chip: Chip, it: Instruction) -> None:
    check_eight(chip, it)
    dst = it.view("dst").form
    if dst.dtype.name not in _FOUND_INDICES:
        raise it.reject(f"dst is {dst.dtype}, but indices are {' or '.join(_FOUND_INDICES)}; "
                        "declare it so")


def check_shuffle(chip: Chip, it: Instruction) -> None:
    """The mask decides which partitions are read: dst may have more of them, as in a broadcast."""
    check_same_type(chip, it)
    dst, data = it.view("dst").form, it.view("data").form
    if dst.free_elements != data.free_elements:
        raise it.reject(f"src is {data.describe()}, but dst is {dst.describe()}; both must have "
                        "the same elements per partition")
    mask = it.attributes.get("mask", ())
    if len(mask) != VECTOR_BLOCK or any(not (0 <= one < 32 or one == 255) for one in mask):
        raise it.reject(f"shuffle_mask has {len(mask)} entries {list(mask)}, but must have 32, "
                        "each a partition 0 to 31 or 255 to keep")
    _check_starts(it)


def _check_starts(it: Instruction) -> None:
    """Both start as accesses of the larger one do, in whole quadrants: that of fewer partitions
    has passed the rule of its own count already."""
    taken = -(-max(view.form.partitions for _, _, view in it.operands) // 32) * 32
    step = taken if taken <= 64 else 128
    for role, _, view in it.operands:
        extent = view.form.buffer.extent
        start = view.form.partition + (0 if extent is None else extent.partition)
        if start % step:
            allowed = f"a multiple of {step}" if step < 128 else "0"
            raise it.reject(f"{it.called(role)} starts at partition {start}, but the larger of src "
                            f"and dst has {taken} in whole quadrants, and both start at {allowed} "
                            "then; move it with a DMA first")


def check_bitvec(chip: Chip, it: Instruction) -> None:
    """Bit operations take integers of one size, and none of them is mixed with arithmetic."""
    ops = [it.attributes[name] for name in ("op", "op0", "op1")
           if it.attributes.get(name, "none") != "none"]
    bitvec = [op for op in ops if op in BITVEC]
    if not bitvec:
        return
    if len(bitvec) != len(ops):
        raise it.reject(f"{' and '.join(ops)} are of different kinds, but bit operations are not "
                        "mixed with arithmetic; use two instructions")
    for role, _, view in it.operands:
        if view.form.dtype.is_float:
            raise it.reject(f"{it.called(role)} is {view.form.dtype}, but {bitvec[0]} takes "
                            "integers; view or convert it")
    dst = it.view("dst").form.dtype
    for role, _, view in it.operands:
        if view.form.dtype.itemsize != dst.itemsize:
            raise it.reject(f"{it.called(role)} is {view.form.dtype} and dst is {dst}, but "
                            f"{bitvec[0]} converts nothing and takes integers of one size; convert "
                            "it with nisa.tensor_copy")
