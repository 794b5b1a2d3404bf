# SPDX-License-Identifier: Apache-2.0
# An instruction before it is known to be legal: what engines.py and the rules of legality look at.
"""The proposal of one instruction."""

from __future__ import annotations

from typing import Any, NamedTuple

from trnsim.errors import IllegalInstruction
from trnsim.frontend.legality.parameter_names import called
from trnsim.frontend.records.tensor import View
from trnsim.frontend.source import Position


class Instruction(NamedTuple):
    """An instruction as proposed by a dialect, with actual views."""

    op: str
    operands: tuple[tuple[str, str, View], ...]
    attributes: dict[str, Any]
    engines: tuple[str, ...] | None
    position: Position

    def find(self, role: str) -> View | None:
        """The first operand with a role."""
        for name, _, view in self.operands:
            if name == role:
                return view
        return None

    def view(self, role: str) -> View:
        """The operand with a role, which is known to be there."""
        found = self.find(role)
        assert found is not None
        return found

    def called(self, role: str) -> str:
        """What the program calls the operand with a role."""
        return called(self.op, role)

    def reject(self, what: str) -> IllegalInstruction:
        """The error for `what`: what is, what is allowed; what to do."""
        return IllegalInstruction(f"{self.position}: {self.op}: {what}")
