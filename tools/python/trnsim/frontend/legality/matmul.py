# SPDX-License-Identifier: Apache-2.0
# Legality of the tensor engine's operations.
"""Shapes, types, tiles and PSUM banks of matmuls and transposes. [NKI-ISA] [NKI-ARCH-V2]"""

from __future__ import annotations

from trnsim.frontend.chip import Chip
from trnsim.frontend.legality.engines import VECTOR_BLOCK
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.records.tensor import PSUM, Form, split_operand

_MATMUL_16BIT = ("bfloat16", "float16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
_16BIT = ("bfloat16", "float16")
_MATMUL_32BIT = ("float32", "tfloat32")
SCALED_ROWS = 8
"""Partitions of packed elements that share a scale. [NKI-ISA]"""
_FP8_KINDS = {"float8_e4m3", "float8_e4m3fn"}
"""Types that are not multiplied with each other. [NKI-ISA]"""
_DOUBLE_ROW = ("float8_e4m3", "float8_e4m3fn", "float8_e5m2")


def check_matmul(chip: Chip, it: Instruction) -> None:
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
    for role, form in (("stationary", stationary), ("moving", moving)):
        if double == 2 and (len(form.shape) < 3 or form.shape[1] != 2):
            raise it.reject(f"{role} has shape {list(form.shape)}, but perf_mode double_row takes "
                            "two rows of the contraction from each partition; reshape it to "
                            "[K, 2, N]")
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
            f"elements, but stationary has {stationary_free} columns and moving {moving_free}; "
            f"dst must be [{stationary_free}, {moving_free}]")
    _matmul_tiling(chip, it, rows, columns)


def _instead_of(name: str) -> str:
    """What to do with an operand of a type that nc_matmul does not take."""
    return ("call nc_matmul_mx, with its scales" if name.endswith("_x4") else
            "convert it to bfloat16 or float32")


def _matmul_dtypes(chip: Chip, it: Instruction) -> None:
    dst, stationary, moving = (it.view(role).form.dtype.name
                               for role in ("dst", "stationary", "moving"))
    for role, name in (("stationary", stationary), ("moving", moving)):
        if name not in _MATMUL_16BIT + _MATMUL_32BIT or (name == "float8_e4m3fn"
                                                         and chip.generation < 4):
            raise it.reject(f"{role} is {name}, which the tensor engine of {chip.neuron_core} does "
                            f"not multiply; {_instead_of(name)}")
    if (stationary in _MATMUL_32BIT) != (moving in _MATMUL_32BIT):
        raise it.reject(f"stationary is {stationary} and moving is {moving}, but a 32-bit operand "
                        "takes a 32-bit partner; convert one of them")
    if {stationary, moving} == _FP8_KINDS:
        raise it.reject(f"stationary is {stationary} and moving is {moving}, but the two kinds of "
                        "float8_e4m3 are not mixed; convert one of them")
    is_transpose = bool(it.attributes.get("is_transpose"))
    allowed = _transposed(chip, stationary) if is_transpose else _products(chip)
    if dst not in allowed:
        what = f" a transposed {stationary} as" if is_transpose else ""
        raise it.reject(f"dst is {dst}, but {chip.neuron_core} writes{what} "
                        f"{' or '.join(allowed)}; declare the psum tile so")
    if it.attributes.get("perf_mode") == "double_row":
        if chip.generation < 3:
            raise it.reject(f"perf_mode double_row needs NeuronCore-v3, but {chip.name} has "
                            f"{chip.neuron_core}; leave it out")
        if stationary not in _DOUBLE_ROW or moving not in _DOUBLE_ROW:
            raise it.reject(f"perf_mode double_row with {stationary} and {moving}, but it takes "
                            "float8 operands; convert them")
        columns = it.attributes.get("tile_size", (chip.pe_rows, chip.pe_columns))[1]
        if columns != chip.pe_columns:
            raise it.reject(f"perf_mode double_row in a tile of {columns} columns, but it takes "
                            f"all {chip.pe_columns}; leave one of them out")


def _products(chip: Chip) -> tuple[str, ...]:
    """Types of what a matmul writes. [NKI-ISA, nc_matmul]"""
    return ("float32", "bfloat16") if chip.generation >= 4 else ("float32",)


def _transposed(chip: Chip, stationary: str) -> tuple[str, ...]:
    """Types of what the transpose mode writes, which NeuronCore-v3 is the first to have: of 8 bits
    it makes 16. [NKI-ARCH-V3] As float32 it also writes narrower ones, as AWS's kernels do."""
    if chip.generation < 3 or stationary in _MATMUL_32BIT:
        return ("float32",)
    return ("float32", stationary) if stationary in _16BIT else ("float32", *_16BIT)


def _check_row_tile(chip: Chip, it: Instruction) -> None:
    """The tile of an nc_matmul_mx: rows only, as many as the contraction takes or more."""
    (rows, columns), position = it.attributes["tile_size"], it.attributes["tile_position"]
    if columns != chip.pe_columns or position[1]:
        raise it.reject(f"tile_size is {[rows, columns]} and tile_position {list(position)}, but "
                        f"it is tiled by rows only; take all {chip.pe_columns} columns from 0")
    taken = it.view("stationary").form.partitions
    if taken > rows:
        raise it.reject(f"the contraction takes {taken} rows, but the tile of the PE array has "
                        f"{rows}; split it")
    _matmul_tiling(chip, it, rows, columns)


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
        if start % size or not 0 <= start <= full - size:
            raise it.reject(f"{name} {start} of tile_position, but tiles of {size} start at its "
                            f"multiples below {full}; move it")


def check_bank(chip: Chip, it: Instruction) -> None:
    """The output of a matmul lies within one PSUM bank (before v4). Depends on the position."""
    dst = it.view("dst")
    form = dst.form
    if chip.generation >= 4 or not form.buffer.spans_banks:
        return
    low, high = form.span
    offset = split_operand(dst.position)[0]
    first = (offset + low) * form.dtype.itemsize // chip.psum_bank_bytes
    last = ((offset + high + 1) * form.dtype.itemsize - 1) // chip.psum_bank_bytes
    if first != last:
        raise it.reject(f"dst reaches from psum bank {first} to {last} of {dst.name!r}, but the "
                        f"output lies in one bank of {chip.psum_bank_bytes} bytes; align it")


def check_matmul_mx(chip: Chip, it: Instruction) -> None:
    dst, stationary, moving = (it.view(role).form for role in ("dst", "stationary", "moving"))
    for role, form in (("stationary", stationary), ("moving", moving)):
        if not form.dtype.name.endswith("_x4"):
            raise it.reject(f"{role} is {form.dtype}, but must be a packed _x4 type; quantize it")
        if form.partitions % VECTOR_BLOCK or form.partitions > chip.pe_rows:
            raise it.reject(f"{role} has {form.partitions} partitions, but must have a multiple of "
                            f"{VECTOR_BLOCK} up to {chip.pe_rows}; split or pad it")
    check_scale(it, "stationary_scale", stationary)
    check_scale(it, "moving_scale", moving)
    if dst.dtype.name not in _products(chip):
        raise it.reject(f"dst is {dst.dtype}, but {chip.neuron_core} writes "
                        f"{' or '.join(_products(chip))}; declare the psum tile so")
    if stationary.partitions != moving.partitions:
        raise it.reject(f"stationary has {stationary.partitions} partitions and moving "
                        f"{moving.partitions}, but both hold the contraction; make them equal")
    columns = stationary.free_elements
    if columns > chip.pe_columns or columns % 2:
        raise it.reject(f"stationary has {columns} columns, but must have an even number up to "
                        f"{chip.pe_columns}; split or pad it")
    if (dst.partitions, dst.free_elements) != (columns, moving.free_elements):
        raise it.reject(f"dst is {dst.describe()}, but must be [{columns}, "
                        f"{moving.free_elements}]")
    if "tile_size" in it.attributes:
        _check_row_tile(chip, it)


def check_scale(it: Instruction, role: str, packed: Form) -> None:
    """The scales of a packed operand: four rows in each quadrant of 32 partitions, as many columns.

    Those of 32 partitions are in the first four; else a tile reaches to the last ones. [NKI-ISA]
    """
    form = it.view(role).form
    if form.dtype.name not in ("float8_e8m0", "uint8"):
        raise it.reject(f"{role} is {form.dtype.name}, but must be float8_e8m0fnu or uint8; view "
                        "it so")
    fewest = packed.partitions - VECTOR_BLOCK + VECTOR_BLOCK // SCALED_ROWS
    if form.partitions < fewest or form.free_elements != packed.free_elements:
        raise it.reject(f"{role} is {form.describe()}, but must be [{packed.partitions}, "
                        f"{packed.free_elements}], or have {fewest} partitions: one scale for "
                        f"{SCALED_ROWS} partitions, in the first four of each {VECTOR_BLOCK}")


def check_transpose(chip: Chip, it: Instruction) -> None:
    """Shapes, types and sizes. AWS's guide asks for equal types; its own kernels also let the PE
    array widen to float32 in PSUM, as a matmul with the identity does."""
    dst, data = it.view("dst").form, it.view("data").form
    if (dst.partitions, dst.free_elements) != (data.free_elements, data.partitions):
        raise it.reject(f"dst is {dst.describe()}, but data is {data.describe()}, so dst must be "
                        f"[{data.free_elements}, {data.partitions}]")
    widened = dst.space == PSUM and data.dtype.is_float and dst.dtype.name == "float32"
    if dst.dtype.itemsize != data.dtype.itemsize and data.dtype.itemsize > 1 and not widened:
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
