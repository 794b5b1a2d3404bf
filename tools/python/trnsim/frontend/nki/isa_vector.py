# SPDX-License-Identifier: Apache-2.0
# nki.isa: element-wise operations, reductions and selections of the vector engine.
"""Operations of the vector engine, some of which other engines run too. [NKI-ISA]"""

from __future__ import annotations

from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction
from trnsim.frontend import source
from trnsim.frontend.legality.operators import reducing, take
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.issue import (NkiInstruction, float_vectors, given, issue, not_a_tensor,
                                       scalar_vectors, vectors)
from trnsim.frontend.nki.parameters import (check_accumulation, check_command, check_exponential,
                                            check_fill, check_maximum, check_number,
                                            check_operand, check_probability, check_range,
                                            check_range_start, check_reduction, check_same_type,
                                            check_second, check_unary)
from trnsim.frontend.operators import UNARY, alu
from trnsim.frontend.records.tensor import View
from trnsim.frontend.shapes import whole_numbers

_any = enums.engine.unknown
_reset_reduce = enums.reduce_cmd.reset_reduce
_idle = enums.reduce_cmd.idle


def tensor_copy(dst: Any, src: Any, engine: Any = _any, name: str | None = None,
                dtype: Any = None) -> NkiInstruction:
    """dst = src on chip, cast if the types differ."""
    return issue("tensor_copy", (("dst", "write", dst), ("data", "read", src)), {}, engine)


def memset(dst: Any, value: Any, engine: Any = _any, name: str | None = None,
           dtype: Any = None) -> NkiInstruction:
    """dst = a constant."""
    if isinstance(value, View):
        raise IllegalInstruction(f"{source.here()}: memset: value is a tensor, but must be a "
                                 "number; use tensor_copy")
    check_number("memset", "value", value)
    if getattr(value, "shape", None) == ():
        value = value.item()  # An array without dimensions is a number.
    if isinstance(dst, View) and dst.dtype.is_integer:
        check_fill(value, dst)
    return issue("memset", (("dst", "write", dst),), {"value": value}, engine)


def tensor_tensor(dst: Any, data1: Any, data2: Any, op: Any, engine: Any = _any,
                  name: str | None = None) -> NkiInstruction:
    """dst = data1 op data2."""
    return issue("tensor_tensor",
                 (("dst", "write", dst), ("data1", "read", data1), ("data2", "read", data2)),
                 {"op": alu(op, "op")}, engine)


def tensor_scalar(dst: Any, data: Any, op0: Any, operand0: Any, reverse0: bool = False,
                  op1: Any = None, operand1: Any = None, reverse1: bool = False,
                  engine: Any = _any, name: str | None = None) -> NkiInstruction:
    """dst = (data op0 operand0) op1 operand1; operands are constants or one value a partition."""
    first = alu(op0, "op0")
    attributes = {"op0": first}
    if op1 is not None:
        attributes["op1"] = alu(op1, "op1")
    if (op1 is None) is not (operand1 is None):
        check_second(attributes.get("op1"), operand1)
    if first in UNARY:
        check_unary("tensor_scalar", first, operand0)
    check_operand("tensor_scalar", "operand0", operand0, first)
    if operand1 is not None:
        check_operand("tensor_scalar", "operand1", operand1, attributes["op1"])
    return issue("tensor_scalar",
                 (("dst", "write", dst), ("data", "read", data),
                  *scalar_vectors((first, attributes.get("op1")), (dst, data),
                                  ("operand0", "read", operand0), ("operand1", "read", operand1))),
                 attributes, engine, (operand0, reverse0, operand1, reverse1))


def scalar_tensor_tensor(dst: Any, data: Any, op0: Any, operand0: Any, op1: Any, operand1: Any,
                         reverse0: bool = False, reverse1: bool = False,
                         reduce_cmd: Any = _reset_reduce, reduce_op: Any = None,
                         reduce_res: Any = None, name: str | None = None) -> NkiInstruction:
    """dst = (data op0 operand0) op1 operand1, where operand1 is a tensor.

    With reduce_op also its reduction along the free dimensions, in reduce_res if it is there.
    [NKI-ISA-2.33]
    """
    op = "scalar_tensor_tensor"
    attributes = {"op0": alu(op0, "op0"), "op1": alu(op1, "op1")}
    check_operand(op, "operand0", operand0, attributes["op0"])
    operands = (("dst", "write", dst), ("data", "read", data),
                *vectors(op, *given(("operand0", "read", operand0))),
                ("operand1", "read", operand1))
    if reduce_op is None or reduce_op is Ellipsis:
        if reduce_res is not None:
            raise IllegalInstruction(f"{source.here()}: {op}: reduce_res without reduce_op; give "
                                     "both")
        return issue(op, operands, attributes, _any, (operand0, reverse0, reverse1))
    reduction = alu(reduce_op, "reduce_op")
    take(op, "reduce_op", reduction, source.here())
    check_command(op, reduce_cmd)
    accumulation = (reduction, reduce_cmd)
    if reduce_res is not None:
        attributes["reduce_op"] = reduction
        operands = (*operands, ("reduce_result", "write", reduce_res))
    return issue(op, operands, attributes, _any, (operand0, reverse0, reverse1, accumulation))


def tensor_scalar_reduce(dst: Any, data: Any, op0: Any, operand0: Any, reduce_op: Any,
                         reduce_res: Any = None, reverse0: bool = False,
                         reduce_cmd: Any = _reset_reduce, reduce_init: Any = None,
                         reduce_res_negate: bool = False,
                         name: str | None = None) -> NkiInstruction:
    """dst = data op0 operand0, and its reduction along the free dimensions in reduce_res.

    Without reduce_res the accumulator is not read out, which costs what tensor_scalar costs.
    """
    attributes = {"op0": alu(op0, "op0"), "reduce_op": alu(reduce_op, "reduce_op")}
    for argument, operator in attributes.items():
        take("tensor_scalar_reduce", argument, operator, source.here())
    if attributes["op0"] in UNARY:
        check_unary("tensor_scalar_reduce", attributes["op0"], operand0)
    check_operand("tensor_scalar_reduce", "operand0", operand0, attributes["op0"])
    check_reduction(reverse0, reduce_cmd, reduce_init)
    column = scalar_vectors((attributes["op0"],), (dst, data), ("operand0", "read", operand0))
    initial = vectors("tensor_scalar_reduce", *given(("initial", "read", reduce_init)))
    if reduce_res is None:
        accumulation = (attributes.pop("reduce_op"), reduce_cmd, reduce_init)
        return issue("tensor_scalar",
                     (("dst", "write", dst), ("data", "read", data), *column, *initial), attributes,
                     enums.engine.vector, (operand0, reverse0, None, False, accumulation))
    return issue("tensor_scalar_reduce",
                 (("dst", "write", dst), ("data", "read", data),
                  *column, *initial, ("reduce_result", "write", reduce_res)), attributes, _any,
                 (operand0, reverse0, reduce_cmd, reduce_init, reduce_res_negate))


def tensor_scalar_cumulative(dst: Any, src: Any, op0: Any, op1: Any, imm0: Any, imm1: Any = None,
                             reduce_cmd: Any = _reset_reduce,
                             name: str | None = None) -> NkiInstruction:
    """dst[i] = (src[i] op0 imm0) op1 dst[i - 1]."""
    first, second = alu(op0, "op0"), alu(op1, "op1")
    check_operand("tensor_scalar_cumulative", "imm0", imm0, first)
    check_accumulation("tensor_scalar_cumulative", reduce_cmd, ("imm1", imm1))
    return issue("tensor_scalar_cumulative",
                 (("dst", "write", dst), ("data", "read", src),
                  *float_vectors("tensor_scalar_cumulative",
                                 *given(("operand0", "read", imm0), ("operand1", "read", imm1)))),
                 {"op0": first, "op1": second}, _any, (imm0, imm1, reduce_cmd))


def tensor_reduce(dst: Any, op: Any, data: Any, axis: Any, negate: bool = False,
                  keepdims: bool = False, name: str | None = None,
                  dtype: Any = None) -> NkiInstruction:
    """dst = the reduction of data over its last dimensions."""
    for role, value in (("dst", dst), ("data", data)):
        if not isinstance(value, View):
            raise not_a_tensor("tensor_reduce", role, value)
    operator = reducing("tensor_reduce", alu(op, "op"))
    where = f"{source.here()}: tensor_reduce"
    rank = data.ndim
    axes = reduced_axes(axis, rank, where)
    kept = 1
    for size in data.shape[1:rank - len(axes)]:
        kept *= size
    if dst.shape[0] != data.shape[0] or dst.form.free_elements != kept:
        raise IllegalInstruction(
            f"{where}: dst is {dst.form.describe()}, but {data.form.describe()} reduced over "
            f"dimensions {list(axes)} has {data.shape[0]} partitions of {kept} elements; "
            "declare dst so")
    attributes: dict[str, Any] = {"op": operator}
    if negate:
        attributes["negate"] = True
    return issue("tensor_reduce", (("dst", "write", dst), ("data", "read", data)), attributes)


def reduced_axes(axis: Any, rank: int, where: str) -> tuple[int, ...]:
    """The reduced dimensions, which must be the last ones and not the partitions."""
    given = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if not all([isinstance(one, int) for one in given]):
        raise IllegalInstruction(f"{where}: axis is {axis!r}, but must be an integer or a tuple of "
                                 "integers")
    axes = tuple(sorted(one + rank if one < 0 else one for one in given))
    if not axes or axes[0] < 1 or axes != tuple(range(rank - len(axes), rank)):
        raise IllegalInstruction(
            f"{where}: axis {list(given)} of a tensor with {rank} dimensions, but only the last "
            "dimensions are reduced, and not the partitions; permute or transpose first")
    return axes


def tensor_tensor_scan(dst: Any, data0: Any, data1: Any, initial: Any, op0: Any, op1: Any,
                       reverse0: bool = False, reverse1: bool = False,
                       name: str | None = None) -> NkiInstruction:
    """dst[i] = (data0[i] op0 dst[i - 1]) op1 data1[i]."""
    return issue("tensor_tensor_scan",
                 (("dst", "write", dst), ("data1", "read", data0), ("data2", "read", data1),
                  *vectors("tensor_tensor_scan", ("initial", "read", initial))),
                 {"op0": alu(op0, "op0"), "op1": alu(op1, "op1")}, _any,
                 (initial, reverse0, reverse1))


def tensor_copy_predicated(dst: Any, src: Any, predicate: Any, reverse_pred: bool = False,
                           name: str | None = None) -> NkiInstruction:
    """dst = src where predicate is true."""
    check_same_type("tensor_copy_predicated", src=src, dst=dst)
    return issue("tensor_copy_predicated",
                 (("dst", "update", dst), *vectors("tensor_copy_predicated", ("data", "read", src)),
                  ("predicate", "read", predicate)), {}, _any, (src, reverse_pred))


def select_reduce(dst: Any, predicate: Any, on_true: Any, on_false: Any, reduce_res: Any = None,
                  reduce_cmd: Any = _idle, reduce_op: Any = "maximum", reverse_pred: bool = False,
                  name: str | None = None) -> NkiInstruction:
    """dst = on_true where predicate is true, else on_false; optionally its maximum."""
    check_maximum("select_reduce", reduce_op)
    check_command("select_reduce", reduce_cmd, reduce_res)
    return issue("select_reduce",
                 (("dst", "write", dst), ("predicate", "read", predicate),
                  ("on_true", "read", on_true),
                  *vectors("select_reduce", ("on_false", "read", on_false)),
                  *given(("reduce_result", "write", reduce_res))), {}, _any,
                 (on_false, reverse_pred, reduce_cmd))


def range_select(dst: Any, on_true_tile: Any, comp_op0: Any, comp_op1: Any, bound0: Any,
                 bound1: Any, reduce_cmd: Any = _reset_reduce, reduce_res: Any = None,
                 reduce_op: Any = "maximum", range_start: int = 0, on_false_value: Any = None,
                 name: str | None = None) -> NkiInstruction:
    """dst = data where its index is within the bounds of the partition; optionally its maximum."""
    take("range_select", "comp_op0", alu(comp_op0, "comp_op0"), source.here())
    take("range_select", "comp_op1", alu(comp_op1, "comp_op1"), source.here())
    if not isinstance(on_true_tile, View):
        raise not_a_tensor("range_select", "on_true_tile", on_true_tile)
    check_range(reduce_op, on_false_value)
    check_range_start(range_start, on_true_tile.form.free_elements)
    check_command("range_select", reduce_cmd, reduce_res)
    return issue("range_select",
                 (("dst", "write", dst), ("data", "read", on_true_tile),
                  ("bound0", "read", bound0), ("bound1", "read", bound1),
                  *given(("reduce_result", "write", reduce_res))), {}, _any,
                 (comp_op0, comp_op1, range_start, on_false_value, reduce_cmd))


def reciprocal(dst: Any, data: Any, name: str | None = None) -> NkiInstruction:
    """dst = 1 / data."""
    return issue("reciprocal", (("dst", "write", dst), ("data", "read", data)), {})


def exponential(dst: Any, src: Any, max_value: Any = 0.0, reduce_res: Any = None,
                reduce_cmd: Any = _idle, reduce_init: Any = 0.0,
                name: str | None = None) -> NkiInstruction:
    """dst = exp(src - max_value); optionally its sum (NeuronCore-v4)."""
    numbers = vectors("exponential", ("max_value", "read", max_value),
                      ("initial", "read", reduce_init))
    check_exponential(reduce_cmd, reduce_init, reduce_res)
    return issue("exponential",
                 (("dst", "write", dst), ("data", "read", src), *numbers,
                  *given(("reduce_result", "write", reduce_res))), {}, _any,
                 (max_value, reduce_cmd, reduce_init))


def bn_stats(dst: Any, data: Any, name: str | None = None) -> NkiInstruction:
    """dst = six statistics of data per partition."""
    return issue("bn_stats", (("dst", "write", dst), ("data", "read", data)), {})


def bn_aggr(dst: Any, data: Any, name: str | None = None) -> NkiInstruction:
    """dst = mean and variance from bn_stats."""
    return issue("bn_aggr", (("dst", "write", dst), ("data", "read", data)), {})


def max8(dst: Any, src: Any, name: str | None = None) -> NkiInstruction:
    """dst = the eight largest elements of each partition."""
    return issue("max8", (("dst", "write", dst), ("data", "read", src)), {})


def nc_find_index8(dst: Any, data: Any, vals: Any, name: str | None = None) -> NkiInstruction:
    """dst = where each of eight values is in data."""
    return issue("nc_find_index8", (("dst", "write", dst), ("data", "read", data),
                                    ("values", "read", vals)), {})


def nc_match_replace8(dst: Any, data: Any, vals: Any, imm: float, dst_idx: Any = None,
                      name: str | None = None) -> NkiInstruction:
    """dst = data with the first match of each of eight values replaced."""
    check_number("nc_match_replace8", "imm", imm)
    return issue("nc_match_replace8", (("dst", "write", dst), ("data", "read", data),
                                       ("values", "read", vals),
                                       *given(("dst_index", "write", dst_idx))), {}, _any, (imm,))


def nc_stream_shuffle(dst: Any, src: Any, shuffle_mask: Sequence[int],
                      name: str | None = None) -> NkiInstruction:
    """dst = src with the partitions of each quadrant reordered."""
    return issue("nc_stream_shuffle", (("dst", "write", dst), ("data", "read", src)),
                 {"mask": whole_numbers(shuffle_mask, "shuffle_mask")})


def dropout(dst: Any, data: Any, prob: Any, name: str | None = None) -> NkiInstruction:
    """dst = data with elements zeroed at random."""
    check_same_type("dropout", data=data, dst=dst)
    check_probability(prob)
    return issue("dropout", (("dst", "write", dst), ("data", "read", data),
                             *vectors("dropout", ("operand0", "read", prob))), {}, _any, (prob,))


def rng(dst: Any, engine: Any = enums.engine.vector, name: str | None = None) -> NkiInstruction:
    """dst = random bits."""
    return issue("rng", (("dst", "write", dst),), {}, engine)


def rand2(dst: Any, min: Any, max: Any, name: str | None = None) -> NkiInstruction:
    """dst = uniform random numbers (NeuronCore-v4)."""
    if isinstance(min, (int, float)) and isinstance(max, (int, float)) and min >= max:
        raise IllegalInstruction(f"{source.here()}: rand2: min is {min} and max is {max}, but min "
                                 "is less than max; exchange them")
    return issue("rand2", (("dst", "write", dst), *vectors("rand2", ("operand0", "read", min),
                                                           ("operand1", "read", max))), {}, _any,
                 (min, max))


def set_rng_seed(src_seeds: Any, name: str | None = None) -> NkiInstruction:
    """Seeds the vector engine's random numbers."""
    return issue("set_rng_seed", (("data", "read", src_seeds),), {})


def rand_set_state(src_seeds: Any, engine: Any = enums.engine.gpsimd,
                   name: str | None = None) -> NkiInstruction:
    """Sets the state of an engine's random numbers."""
    return issue("rand_set_state", (("data", "read", src_seeds),), {}, engine)


def rand_get_state(dst: Any, engine: Any = enums.engine.gpsimd,
                   name: str | None = None) -> NkiInstruction:
    """dst = the state of an engine's random numbers."""
    return issue("rand_get_state", (("dst", "write", dst),), {}, engine)


def quantize_mx(dst: Any, src: Any, dst_scale: Any, name: str | None = None) -> NkiInstruction:
    """dst, dst_scale = src in MXFP8 (NeuronCore-v4)."""
    return issue("quantize_mx", (("dst", "write", dst), ("dst_scale", "write", dst_scale),
                                 ("data", "read", src)), {})
