# SPDX-License-Identifier: Apache-2.0
# One instruction as its evaluator sees it.
"""Operands by role, as float32 rows or in their own type; results are cast when written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trnsim.frontend import source
from trnsim.frontend.legality.indirect import INDEX_GROUP, TENSOR_GROUP
from trnsim.frontend.recorder import Operand
from trnsim.frontend.records.tensor import View
from trnsim.frontend.values.casting import Array, to_float32
from trnsim.frontend.values.garbage import Garbage
from trnsim.frontend.values.machine import Machine

TENSOR_ENGINE = ("nc_matmul", "nc_matmul_mx", "nc_transpose")

ROW_WISE = frozenset((
    "tensor_copy", "tensor_tensor", "tensor_scalar", "scalar_tensor_tensor", "activation",
    "tensor_scalar_reduce", "activation_reduce", "activate2", "exponential", "reciprocal",
    "tensor_reduce", "affine_select", "tensor_copy_predicated", "select_reduce", "range_select",
    "tensor_tensor_scan", "tensor_scalar_cumulative", "bn_stats", "bn_aggr", "max8",
    "nc_find_index8", "nc_match_replace8", "dropout", "nonzero_with_count"))
"""Operations each row of whose result depends on that row of the operands only."""

TRACED = frozenset((
    "nc_matmul", "nc_matmul_mx", "quantize_mx", "nc_transpose", "nc_stream_shuffle", "local_gather",
    "nc_n_gather", "tensor_partition_reduce", "dma_copy", "dma_transpose", "dma_compute"))
"""Operations that say themselves (put_garbage) what of their result depends on what they read."""

FOLLOWED = ROW_WISE | TRACED
"""Operations that may read what nothing has written."""


class Call:
    """An instruction that is being evaluated.

    `kept` says which elements a mask keeps; None keeps all. `skips`: indirect accesses out of
    bounds are left out.
    """

    __slots__ = ("at", "attributes", "engines", "garbage", "kept", "machine", "op", "operands",
                 "skips", "views")

    def __init__(self, machine: Machine, op: str, operands: Sequence[Operand],
                 attributes: dict[str, Any], engines: tuple[str, ...] | None, at: source.Site,
                 kept: Array | None) -> None:
        self.machine = machine
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.engines = engines
        self.at = at
        self.kept = kept
        self.skips = False
        machine.group = TENSOR_GROUP if op in TENSOR_ENGINE else INDEX_GROUP
        machine.goes_down = op == "dma_transpose"
        self.garbage = Garbage() if op in FOLLOWED else None
        self.views: dict[str, View] = {role: view for role, _, view in reversed(operands)}

    def read(self, role: str, chosen: Array | None = None) -> Array:
        """An operand in its own type and shape, of which only the chosen elements matter."""
        kept = self.kept if chosen is None else chosen
        return self.machine.read(self.views[role], self.at, kept, self.skips, self.garbage)

    def rows(self, role: str, chosen: Array | None = None) -> Array:
        """An operand in its own type, with its free dimensions as one."""
        values = self.read(role, chosen)
        return values.reshape(values.shape[0], -1)

    def indices(self, role: str) -> Array:
        """Like rows, of an operand that has to be written as a whole."""
        values = self.machine.read(self.views[role], self.at, self.kept, self.skips)
        return values.reshape(values.shape[0], -1)

    def floats(self, role: str, chosen: Array | None = None) -> Array:
        """An operand as float32, with its free dimensions as one."""
        return to_float32(self.rows(role, chosen))

    def number(self, role: str, immediate: Any = 0.0) -> Any:
        """A float32 column if the operand is a tensor, else a number."""
        view = self.views.get(role, immediate)
        if isinstance(view, View):
            values = to_float32(self.machine.read(view, self.at, garbage=self.garbage))
            return values.reshape(values.shape[0] if view.form.is_on_chip else 1, -1)
        return np.float32(0.0 if view is None else float(view))

    def raw_number(self, role: str, immediate: Any = 0) -> Any:
        """Like number, in its own type: for operators on bits."""
        view = self.views.get(role, immediate)
        if isinstance(view, View):
            values = self.machine.read(view, self.at)
            return values.reshape(values.shape[0], -1)
        return 0 if view is None else int(view)

    def take_garbage(self) -> Array | None:
        """What of the operand read last nothing has written, which then counts no more."""
        return None if self.garbage is None else self.garbage.take()

    def put_garbage(self, flags: Array) -> None:
        """Notes which elements of the result come from what nothing has written."""
        if self.garbage is not None:
            self.garbage.put(flags)

    def run_garbage_on(self) -> None:
        """Says that an element of the result depends on all before it in the rows read."""
        if self.garbage is not None:
            self.garbage.run_on()

    def fill_garbage(self) -> None:
        """Says that an element of the result depends on the whole rows read."""
        if self.garbage is not None:
            self.garbage.fill_rows()

    def write(self, values: Array, role: str = "dst") -> None:
        """Writes a result, cast to the operand's type."""
        self.machine.write(self.views[role], values, self.at,
                           self.kept if role == "dst" else None, self.skips, self.garbage)

    def accumulate(self, engine: str, command: str, op: str, reduced: Array,
                   initial: Any = 0.0) -> Array:
        """Reduces a column into an engine's registers as a reduce_cmd says; returns them."""
        from trnsim.frontend.values.alu import BINARY, IDENTITIES

        registers = self.machine.registers[engine]
        count = reduced.shape[0]
        column = reduced.reshape(-1).astype(np.float32)
        if command in ("reset", "reset_reduce"):
            registers[:] = IDENTITIES[op]
        elif command == "load_reduce":
            registers[:count] = np.broadcast_to(np.asarray(initial).reshape(-1), (count,))
        if command not in ("idle", "reset"):
            combine = BINARY["add" if op == "subtract" else op]
            registers[:count] = combine(registers[:count], column)
        spoiled = self.machine.spoiled[engine]
        spoiled.begin(command, count)
        if command not in ("idle", "reset"):
            spoiled.keep(self.garbage, count)
        spoiled.recall(self.garbage, count)
        return registers[:count].reshape(-1, 1)


def command_name(command: Any) -> str:
    """The name of a reduce_cmd, however it is given."""
    return str(getattr(command, "name", command))
