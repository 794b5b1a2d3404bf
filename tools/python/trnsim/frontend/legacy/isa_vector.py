# SPDX-License-Identifier: Apache-2.0
# nki.isa of the 0.1 dialect: element-wise operations, reductions and selections.
"""Instructions of the vector and scalar engines that return their result. [NKI-ISA-2.26]

Numbers are immediates of the instruction and not operands; a `[P, 1]` tile is an operand. Arguments
that only matter to values (reverse flags, immediates) or to AWS's compiler are accepted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trnsim.errors import IllegalInstruction, ProgramError, UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import bool_, uint8
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.legacy.arange import Arange
from trnsim.frontend.legacy.blocks import Blocks
from trnsim.frontend.legacy.elementwise import as_vector, is_number, require_number
from trnsim.frontend.legacy.emit import (Role, as_tile, broadcast_free, issue, produce, promoted,
                                         result_dtype)
from trnsim.frontend.legacy.index import ArrayIndex, Index
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.reductions import reduce
from trnsim.frontend.legacy.tensor import Tensor, release
from trnsim.frontend.legacy.views import view_as
from trnsim.frontend.legality.operators import take
from trnsim.frontend.nki.enums import engine, engine_names, reduce_cmd
from trnsim.frontend.nki.parameters import check_bits, check_operand, check_order
from trnsim.frontend.operators import LEGACY_FUNCTIONS, function, legacy_alu as alu
from trnsim.frontend.shapes import number, sizes_of

_any = engine.unknown
_idle = reduce_cmd.idle


def is_tile(value: Any) -> bool:
    """Whether an argument that may also be a number is a tensor."""
    if value is None or type(value) is float:
        return False
    return isinstance(value, (Tensor, Blocks)) or hasattr(value, "assign_to")


def vector(role: str, value: Any, like: Tensor, access: str = "read",
           is_needed: bool = False) -> list[Role]:
    """An operand with one value per partition, or nothing for a number, or for None if it may be
    left out."""
    if value is None and not is_needed or type(value) is float and access == "read":
        return []
    if not is_tile(value):
        if access == "write" or not is_number(value):
            allowed = "a tile" if access == "write" else "a number or a tile"
            raise UserError(f"{source.here()}: {role} is {_described(value)}, but must be {allowed}"
                            f" with one value per partition, [{like.shape[0]}, 1]{_way(value)}")
        return []
    tile = as_tile(value, role)
    if tile.form.free_elements != 1 or tile.shape[0] != like.shape[0]:
        raise ProgramError(
            f"{source.here()}: {role} has the shape {list(tile.shape)}, but must hold one value "
            f"per partition, [{like.shape[0]}, 1]; slice it, or broadcast it over the partitions")
    return [(role, access, as_vector(tile))]


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"a numpy array of shape {list(value.shape)}"
    return "an expression of nl.arange" if isinstance(value, (Arange, Index, ArrayIndex)) else repr(
        value)


def _way(value: Any) -> str:
    """How a tile is made of what is none."""
    if isinstance(value, np.ndarray):
        return "; give the array to the kernel and load it"
    return "; nisa.iota makes one" if isinstance(value, (Arange, Index, ArrayIndex)) else ""


def _pair(op: str, first: Any, second: Any) -> tuple[Tensor, Tensor]:
    """Two tiles of one shape; free axes of size 1 are repeated, as public kernels do."""
    a, b = as_tile(first, f"the first operand of {op}"), as_tile(second, f"the second of {op}")
    if a.shape[0] != b.shape[0]:
        raise ProgramError(
            f"{source.here()}: {op}: the operands have {a.shape[0]} and {b.shape[0]} partitions "
            f"(shapes {list(a.shape)} and {list(b.shape)}), but both must be equal; use "
            "broadcast_to for the partitions")
    if a.shape != b.shape:
        if a.form.free_elements < b.form.free_elements:
            a = _wide(a, b)
        else:
            b = _wide(b, a)
    return a, b


def _wide(tile: Tensor, like: Tensor) -> Tensor:
    if len(tile.shape) != len(like.shape) and tile.form.elements == like.form.elements:
        return tile.reshape(like.shape)
    return broadcast_free(tile, like.shape)


def tensor_tensor(data1: Any, data2: Any, op: Any, *, dtype: Any = None, mask: Any = None,
                  engine: Any = _any, **others: Any) -> Tensor:
    """data1 op data2."""
    ignored(others)
    a, b = _pair("tensor_tensor", data1, data2)
    return produce("tensor_tensor", (("data1", "read", a), ("data2", "read", b)),
                   {"op": alu(op, "op")}, a.shape,
                   result_dtype(dtype, promoted(a.dtype, b.dtype)), mask=mask,
                   engines=engine_names(engine))


def tensor_scalar(data: Any, op0: Any, operand0: Any, reverse0: bool = False, op1: Any = None,
                  operand1: Any = None, reverse1: bool = False, *, dtype: Any = None,
                  mask: Any = None, engine: Any = _any, **others: Any) -> Tensor:
    """(data op0 operand0) op1 operand1."""
    ignored(others)
    tile = as_tile(data, "data of tensor_scalar")
    if (op1 is None) != (operand1 is None):
        raise UserError(f"{source.here()}: tensor_scalar: op1 and operand1 come together, but only "
                        f"{'operand1' if op1 is None else 'op1'} is given; give both or none")
    attributes = {"op0": alu(op0, "op0")}
    if op1 is not None:
        attributes["op1"] = alu(op1, "op1")
    if operand0 is None:
        check_operand("tensor_scalar", "operand0", None, attributes["op0"])
    operands = [("data", "read", tile), *vector("operand0", operand0, tile),
                *vector("operand1", operand1, tile)]
    for name, value, operator in (("operand0", operand0, "op0"), ("operand1", operand1, "op1")):
        check_bits("tensor_scalar", name, value, attributes.get(operator, ""))
    return produce("tensor_scalar", operands, attributes, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask, engines=engine_names(engine),
                   immediates=(operand0, reverse0, operand1, reverse1))


def scalar_tensor_tensor(*, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any,
                         reverse0: bool = False, reverse1: bool = False, dtype: Any = None,
                         mask: Any = None, **others: Any) -> Tensor:
    """(data op0 operand0) op1 operand1, where operand1 is a tile."""
    ignored(others)
    a, b = _pair("scalar_tensor_tensor", data, operand1)
    attributes = {"op0": alu(op0, "op0"), "op1": alu(op1, "op1")}
    if operand0 is None:
        check_operand("scalar_tensor_tensor", "operand0", None, attributes["op0"])
    operands = [("data", "read", a), *vector("operand0", operand0, a), ("operand1", "read", b)]
    return produce("scalar_tensor_tensor", operands, attributes, a.shape,
                   result_dtype(dtype, promoted(a.dtype, b.dtype)), mask=mask,
                   immediates=(operand0, reverse0, reverse1))


def tensor_scalar_reduce(*, data: Any, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Any,
                         reverse0: bool = False, dtype: Any = None, mask: Any = None,
                         **others: Any) -> Tensor:
    """data op0 operand0, and its reduction over the free axes in reduce_res."""
    ignored(others)
    check_order(reverse0)
    tile = as_tile(data, "data of tensor_scalar_reduce")
    attributes = {"op0": alu(op0, "op0"), "reduce_op": alu(reduce_op, "reduce_op")}
    if operand0 is None:
        check_operand("tensor_scalar_reduce", "operand0", None, attributes["op0"])
    operands = [("data", "read", tile), *vector("operand0", operand0, tile),
                *vector("reduce_result", reduce_res, tile, "write")]
    return produce("tensor_scalar_reduce", operands, attributes, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask, immediates=(operand0, reverse0))


def tensor_scalar_cumulative(*, src: Any, op0: Any, op1: Any, imm0: Any, imm1: Any = None,
                             dst: Any = None, dtype: Any = None, mask: Any = None,
                             reduce_cmd: Any = reduce_cmd.reset_reduce, **others: Any) -> Tensor:
    """The running op1 of src op0 imm0 along the free axes."""
    ignored(others)
    tile = as_tile(src, "src of tensor_scalar_cumulative")
    operands = [("data", "read", tile), *vector("operand0", imm0, tile),
                *vector("operand1", imm1, tile)]
    attributes = {"op0": alu(op0, "op0"), "op1": alu(op1, "op1")}
    immediates = (imm0, imm1, reduce_cmd)
    if dst is not None:
        return into(dst, "tensor_scalar_cumulative", operands, attributes, mask,
                    immediates=immediates)
    return produce("tensor_scalar_cumulative", operands, attributes, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask, immediates=immediates)


def into(dst: Any, op: str, operands: list[Role], attributes: dict[str, Any], mask: Any,
         engines: Any = None, immediates: tuple[Any, ...] = ()) -> Tensor:
    """An instruction that writes a tile given by the program; returns that tile."""
    target = as_tile(dst, f"dst of {op}")
    issue(op, [("dst", "write", target), *operands], attributes, mask=mask, engines=engines,
          immediates=immediates)
    return target


def tensor_tensor_scan(data0: Any, data1: Any, initial: Any, op0: Any, op1: Any,
                       reverse0: bool = False, reverse1: bool = False, *, dtype: Any = None,
                       mask: Any = None, **others: Any) -> Tensor:
    """result[i] = (data0[i] op0 result[i - 1]) op1 data1[i]."""
    ignored(others)
    a, b = _pair("tensor_tensor_scan", data0, data1)
    operands = [("data1", "read", a), ("data2", "read", b),
                *vector("initial", initial, a, is_needed=True)]
    return produce("tensor_tensor_scan", operands,
                   {"op0": alu(op0, "op0"), "op1": alu(op1, "op1")}, a.shape,
                   result_dtype(dtype, promoted(a.dtype, b.dtype)), mask=mask,
                   immediates=(initial, reverse0, reverse1))


def tensor_reduce(op: Any, data: Any, axis: Any, *, mask: Any = None, dtype: Any = None,
                  negate: bool = False, keepdims: bool = False, **others: Any) -> Tensor:
    """A reduction over free axes."""
    ignored(others)
    return reduce(alu(op, "op"), data, axis, dtype=dtype, mask=mask, negate=negate,
                  keepdims=keepdims)


def activation(op: Any, data: Any, *, bias: Any = None, scale: Any = 1.0, reduce_op: Any = None,
               reduce_res: Any = None, reduce_cmd: Any = _idle, mask: Any = None,
               dtype: Any = None, **others: Any) -> Tensor:
    """op(data * scale + bias); optionally adds up the result over the free axes."""
    ignored(others)
    tile = as_tile(data, "data of activation")
    _check_bias(bias, scale)
    attributes = {"function": function(op, LEGACY_FUNCTIONS)}
    if reduce_op is not None and (reduce_cmd is not _idle or reduce_res is not None):
        attributes["reduce_op"] = _add_only(reduce_op)
    operands = [("data", "read", tile), *vector("bias", bias, tile), *vector("scale", scale, tile),
                *vector("reduce_result", reduce_res, tile, "write")]
    return produce("activation", operands, attributes, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask,
                   immediates=(scale, bias, reduce_cmd))


def activation_reduce(op: Any, data: Any, *, reduce_op: Any, reduce_res: Any, bias: Any = None,
                      scale: Any = 1.0, mask: Any = None, dtype: Any = None,
                      **others: Any) -> Tensor:
    """op(data * scale + bias), and its sum over the free axes in reduce_res."""
    ignored(others)
    tile = as_tile(data, "data of activation_reduce")
    _check_bias(bias, scale)
    operands = [("data", "read", tile), *vector("bias", bias, tile), *vector("scale", scale, tile),
                *vector("reduce_result", reduce_res, tile, "write")]
    return produce("activation_reduce", operands,
                   {"function": function(op, LEGACY_FUNCTIONS),
                    "reduce_op": _add_only(reduce_op)}, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask, immediates=(scale, bias))


def _add_only(reduce_op: Any) -> str:
    name = alu(reduce_op, "reduce_op")
    if name != "add":
        raise IllegalInstruction(f"{source.here()}: activation: reduce_op is {name}, but the "
                                 "scalar engine only adds; use nisa.tensor_reduce")
    return name


def _check_bias(bias: Any, scale: Any) -> None:
    """Types of vectors: bias is a float, scale float32."""
    if is_tile(bias) and not bias.dtype.is_float:
        raise IllegalInstruction(f"{source.here()}: activation: bias is {bias.dtype}, but must be "
                                 "float32, float16 or bfloat16; convert it")
    if is_tile(scale) and scale.dtype.name != "float32":
        raise IllegalInstruction(f"{source.here()}: activation: scale is {scale.dtype}, but must "
                                 "be float32; convert it")


def reciprocal(data: Any, *, dtype: Any = None, mask: Any = None, **others: Any) -> Tensor:
    """1 / data."""
    ignored(others)
    tile = as_tile(data, "data of reciprocal")
    return produce("reciprocal", [("data", "read", tile)], {}, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask)


def tensor_copy(src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = _any,
                **others: Any) -> Tensor:
    """A copy on chip. The scalar engine of NeuronCore-v2 copies by ACTIVATE. [NKI-ISA-2.26]"""
    ignored(others)
    tile, engines = as_tile(src, "src of tensor_copy"), engine_names(engine)
    if engines == ("scalar",) and recorder.required().chip.generation == 2:
        return activation("copy", tile, mask=mask, dtype=dtype)
    return produce("tensor_copy", [("data", "read", tile)], {}, tile.shape,
                   result_dtype(dtype, tile.dtype), mask=mask, engines=engines)


def tensor_copy_dynamic_src(src: Any, *, mask: Any = None, dtype: Any = None, engine: Any = _any,
                            **others: Any) -> Tensor:
    """A copy whose source starts at an offset that is read on chip."""
    ignored(others)
    tile = as_tile(src, "src of tensor_copy_dynamic_src")
    return tensor_copy(_resolved(tile), mask=mask, dtype=dtype, engine=engine)


def tensor_copy_dynamic_dst(*, dst: Any, src: Any, mask: Any = None, engine: Any = _any,
                            **others: Any) -> None:
    """A copy whose destination starts at an offset that is read on chip."""
    ignored(others)
    target, tile = as_tile(dst, "dst of tensor_copy_dynamic_dst"), as_tile(src, "src")
    release(tile)
    into(_resolved(target), "tensor_copy", [("data", "read", tile)], {}, mask,
         engine_names(engine))


def _resolved(tile: Tensor) -> Tensor:
    """The tile without indices: the format has no on-chip access with them.

    The offset is the one that has been computed, or 0 without values.
    """
    position = tile.position
    if tile.indices is not None:
        active = recorder.required()
        value = active.value_of(tile.indices)
        active.note("assumption", f"the run-time offset into {tile.name!r} is taken as "
                                  f"{value or 0}, and reading it costs nothing")
        position += int(value or 0) * tile.indirection.step
    return Tensor(tile.storage, tile.form, position)


def tensor_copy_predicated(*, src: Any, dst: Any, predicate: Any, mask: Any = None,
                           reverse_pred: bool = False, **others: Any) -> Tensor:
    """dst = src where the predicate holds."""
    ignored(others)
    target = as_tile(dst, "dst of tensor_copy_predicated")
    test = as_tile(predicate, "predicate of tensor_copy_predicated")
    if test.dtype is bool_:
        test = view_as(test, uint8)
    operands: list[Role] = []
    if is_tile(src):
        operands.append(("data", "read", _pair("tensor_copy_predicated", target, src)[1]))
    else:
        require_number(src, "src of tensor_copy_predicated", "a tile or a number")
    operands.append(("predicate", "read", test))
    issue("tensor_copy_predicated", [("dst", "update", target), *operands], {}, mask=mask,
          immediates=(src, reverse_pred))
    return target


def select_reduce(*, dst: Any, predicate: Any, on_true: Any, on_false: Any, reduce_res: Any = None,
                  reduce_cmd: Any = _idle, reduce_op: Any = None, reverse_pred: bool = False,
                  mask: Any = None, **others: Any) -> Tensor:
    """dst = on_true where the predicate holds, else on_false; optionally the maximum of dst."""
    ignored(others)
    test, tile = _pair("select_reduce", predicate, on_true)
    _check_maximum("select_reduce", reduce_op)
    operands = [("predicate", "read", test), ("on_true", "read", tile),
                *vector("on_false", on_false, tile, is_needed=True),
                *vector("reduce_result", reduce_res, tile, "write")]
    return into(dst, "select_reduce", operands, {}, mask,
                immediates=(on_false, reverse_pred, reduce_cmd))


def _check_maximum(op: str, reduce_op: Any) -> None:
    """The one reduction of a selection. [NKI-ISA-2.26]"""
    if reduce_op is not None and alu(reduce_op, "reduce_op") != "maximum":
        raise IllegalInstruction(f"{source.here()}: {op}: reduce_op is "
                                 f"{alu(reduce_op, 'reduce_op')}, but must be maximum; use "
                                 "nisa.tensor_reduce")


def range_select(*, on_true_tile: Any, comp_op0: Any, comp_op1: Any, bound0: Any, bound1: Any,
                 reduce_cmd: Any = _idle, reduce_res: Any = None, reduce_op: Any = None,
                 range_start: Any = 0, on_false_value: Any = None, mask: Any = None,
                 dtype: Any = None, **others: Any) -> Tensor:
    """on_true_tile where the column number is within two bounds, else a constant."""
    ignored(others)
    tile = as_tile(on_true_tile, "on_true_tile of range_select")
    _check_maximum("range_select", reduce_op)
    for name, bound in (("bound0", bound0), ("bound1", bound1)):
        if not is_tile(bound):
            raise UserError(f"{source.here()}: range_select: {name} is {type(bound).__name__}, but "
                            "must be a tile with one number per partition; put it into one")
    require_number(range_start, "range_start of range_select", "a number")
    take("range_select", "comp_op0", alu(comp_op0, "comp_op0"), source.here())
    take("range_select", "comp_op1", alu(comp_op1, "comp_op1"), source.here())
    operands = [("data", "read", tile), *vector("bound0", bound0, tile),
                *vector("bound1", bound1, tile),
                *vector("reduce_result", reduce_res, tile, "write")]
    return produce("range_select", operands, {}, tile.shape, result_dtype(dtype, tile.dtype),
                   mask=mask, immediates=(comp_op0, comp_op1, range_start, on_false_value,
                                          reduce_cmd))


def memset(shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = _any,
           **others: Any) -> Tensor:
    """A tile filled with a constant."""
    ignored(others)
    filled = number(value, "value of memset", "a number")
    return produce("memset", (), {"value": filled}, sizes_of(shape),
                   dtype_of(dtype), mask=mask, engines=engine_names(engine))
