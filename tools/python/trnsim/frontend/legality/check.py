# SPDX-License-Identifier: Apache-2.0
# Legality of one instruction on one chip, for both dialects.
"""What the hardware accepts. Run once per template, not once per execution.

Rules that all operations share are in the table RULES (memories, shapes, generation); the others
are in the functions named in CHECKS. Sources: [NKI-ISA] for operations, [NKI-ARCH-V2],
[NKI-ARCH-V3] and [NKI-ARCH-V4] for start partitions, banks and memories.
"""

from __future__ import annotations

from collections.abc import Sequence

from trnsim.frontend.chip import Chip
from trnsim.frontend.dtypes import int64
from trnsim.frontend.legality import engines as engine_table
from trnsim.frontend.legality.indirect import check_indirect
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.legality.operators import check_operators
from trnsim.frontend.legality.rules import CHECKS, COLLECTIVES, RULES, OperandRule
from trnsim.frontend.records.tensor import HBM, MAXIMUM_PATTERN, Form, View

QUADRANT = 32
"""Partitions of a quadrant: compute engines start an access on one. [NKI-ARCH-V2]"""


STARTS_ANYWHERE = ("dma_", "register_", "sendrecv", "core_barrier", *COLLECTIVES)
"""Prefixes of operations whose accesses start at any partition."""


PACKED_SCALES = ("dst_scale", "stationary_scale", "moving_scale")
"""Operands of microscaling: the scales of several tensors share the partitions of quadrants."""
SCALE_STARTS = (0, 4, 8, 12)
"""Where they start: each has four, one for 8 partitions of 4 values. [NKI-MXFP]"""


def check(chip: Chip, instruction: Instruction) -> None:
    """IllegalInstruction if the chip would not execute the instruction."""
    rule = RULES[instruction.op]
    if chip.generation < rule.generation:
        raise instruction.reject(
            f"needs NeuronCore-v{rule.generation}, but {chip.name} has {chip.neuron_core}; "
            "choose another chip")
    for role, _, view in instruction.operands:
        operand = rule.operand(role)
        _check_memory(instruction, role, view, operand)
        _check_access(instruction, role, view)
        _check_shape(instruction, role, view, operand)
    if rule.one_psum_input:
        _check_one_psum_input(instruction, rule.one_psum_input)
    check_operators(chip, instruction)
    check_indirect(instruction)
    extra = CHECKS.get(instruction.op)
    if extra is not None:
        extra(chip, instruction)
    if not instruction.engines:
        raise instruction.reject(f"runs on no engine with these operands on {chip.neuron_core}; "
                                 "move those in PSUM to SBUF")


def check_engines(chip: Chip, instruction: Instruction) -> None:
    """IllegalInstruction if the program names an engine that does not run it."""
    allowed = engine_table.legal(chip, instruction)
    for engine in instruction.engines or ():
        if allowed and engine not in allowed:
            raise instruction.reject(
                f"does not run on the {engine} engine with these operands on {chip.neuron_core}, "
                f"but on: {', '.join(allowed)}; change `engine=` or the operands")


def _check_memory(instruction: Instruction, role: str, view: View, operand: OperandRule) -> None:
    if view.form.space not in operand.spaces:
        allowed = " or ".join(operand.spaces)
        raise instruction.reject(f"{instruction.called(role)} is {view.name!r} in "
                                 f"{view.form.space}, but must be in "
                                 f"{allowed}; {_way(role, view.form.space, operand.spaces)}")


def _way(role: str, space: str, allowed: Sequence[str]) -> str:
    """How an operand comes from its memory into one that is allowed."""
    if role.startswith("dst"):
        return f"write to a tile in {allowed[0]}, and copy that"
    if space == "hbm":
        return "load it into a tile first, with nisa.dma_copy"
    if space == "psum":
        return "copy it to a tile in sbuf first, with nisa.tensor_copy"
    return "copy it there first"


def _check_access(instruction: Instruction, role: str, view: View) -> None:
    """Dimensions of the access pattern, and start partition on the compute engines."""
    form = view.form
    limit = MAXIMUM_PATTERN[form.space]
    if len(form.pattern) > limit:
        raise instruction.reject(
            f"{instruction.called(role)} is a view of {view.name!r} with {len(form.pattern)} "
            f"strides, but an access in {form.space} has at most {limit}; split the access")
    if form.space == HBM or role == "index" or instruction.op.startswith(STARTS_ANYWHERE):
        return
    if form.dtype is int64 and instruction.op != "memset":  # [NKI-SCALAR]
        raise instruction.reject(f"{instruction.called(role)} is {form.describe()}, but engines "
                                 "compute with 32 bits at most; move it by DMA, or take it as a "
                                 "scalar of the device")
    extent = form.buffer.extent
    base = 0 if extent is None else extent.partition
    count, start = form.partitions, base + form.partition
    if role in PACKED_SCALES:
        if start not in SCALE_STARTS:
            raise instruction.reject(f"{role} starts at partition {start} of {view.name!r}, but "
                                     f"scales start at {', '.join(map(str, SCALE_STARTS))}; move "
                                     "them there")
        return
    step = QUADRANT if count <= QUADRANT else 2 * QUADRANT if count <= 2 * QUADRANT else 0
    if start % step if step else start:
        allowed = f"a multiple of {step}" if step else "0"
        where = f"{form.space}, where {view.name!r} begins at {base}" if base else repr(view.name)
        raise instruction.reject(
            f"{instruction.called(role)} takes {count} partitions from partition {start} of "
            f"{where}, but an access of {count} partitions starts at {allowed}; move the data with "
            "a DMA first")


def _hint(op: str, form: Form, dst: Form) -> str:
    """What does what was probably meant."""
    if op == "tensor_tensor" and form.free_elements == 1 and form.partitions == dst.partitions:
        return ": nisa.tensor_scalar takes one value per partition, as operand0"
    return "; slice one of them"


def _check_shape(instruction: Instruction, role: str, view: View, operand: OperandRule) -> None:
    relation = operand.relation
    if relation == "any" or relation == "like" and role == "dst":
        return
    dst = instruction.operands[0][2].form
    form = view.form
    if relation == "like" and (form.partitions != dst.partitions
                                       or form.free_elements != dst.free_elements):
        raise instruction.reject(
            f"{instruction.called(role)} is {form.describe()}, {form.partitions} partitions of "
            f"{form.free_elements} elements, but dst is {dst.describe()}, {dst.partitions} of "
            f"{dst.free_elements}; both must be equal{_hint(instruction.op, form, dst)}")
    if relation == "vector" and (form.free_elements != 1
                                         or form.partitions != dst.partitions):
        raise instruction.reject(
            f"{instruction.called(role)} is {form.describe()}, but must hold one value per "
            f"partition, [{dst.partitions}, 1]; slice or reduce it")


def _check_one_psum_input(instruction: Instruction, roles: tuple[str, str]) -> None:
    views = [instruction.find(role) for role in roles]
    if all(view is not None and view.form.space == "psum" for view in views):
        names = " and ".join(map(instruction.called, roles))
        raise instruction.reject(f"{names} are both in psum, but at most one of "
                                 "them may be; copy one to sbuf")
