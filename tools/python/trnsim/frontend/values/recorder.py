# SPDX-License-Identifier: Apache-2.0
# A recorder that computes what it records.
"""ValueRecorder: evaluates every instruction when it is issued.

An instruction that is held back and retargeted is evaluated once, into its final destination. What
a shorter way of the dialects issues by template (`issue_two`) is evaluated from the template.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trnsim.errors import UnsupportedFeature
from trnsim.frontend import source
from trnsim.frontend.chip import Chip
from trnsim.frontend.dtypes import DType
from trnsim.frontend.leaves import mapped
from trnsim.frontend.outputs import allocated_at
from trnsim.frontend.nki.registers import VirtualRegister
from trnsim.frontend.recorder import Operand, Recorder
from trnsim.frontend.records.template import Template
from trnsim.frontend.records.tensor import Storage, View, is_view
from trnsim.frontend.shortcuts import NO_SHORTCUTS, Shortcuts
from trnsim.frontend.values.call import Call
from trnsim.frontend.values.casting import Array, from_array, random_array, shown, update
from trnsim.frontend.values.evaluate import EVALUATORS
from trnsim.frontend.values.garbage import stored_garbage
from trnsim.frontend.values.machine import Machine, fitted
from trnsim.frontend.values.memory import Memory, memory_of
from trnsim.frontend.values.team import Team, World

__all__ = ["Team", "ValueRecorder", "World"]


class ValueRecorder(Recorder):
    """A recorder with values. `seed` makes the contents of arguments that are given without.

    `reads_unwritten`: elements that nothing has written read as NaN, instead of being an error.
    """

    has_values = True

    def __init__(self, chip: Chip, api: str, core: int = 0, cores: int = 1, seed: int = 0,
                 reads_unwritten: bool = False, team: Team | None = None) -> None:
        super().__init__(chip, api, core, cores)
        self._team = team or Team()
        self._team.join(core, self)
        self.rank = self._team.rank
        self.shortcuts = Shortcuts(NO_SHORTCUTS)
        self.machine = Machine(seed, chip.partitions, reads_unwritten, core, self._team)
        self._random = np.random.default_rng(seed)
        self._is_recording = False
        self._arguments: list[tuple[Storage, Any]] = []

    def another_core(self) -> ValueRecorder:
        """A recorder whose trace nobody reads, for programs that run on other cores."""
        return ValueRecorder(self.chip, self.api, reads_unwritten=self.machine.reads_unwritten)

    # Contents ---------------------------------------------------------------------------------

    def storage(self, space: str, dtype: DType, shape: Sequence[int], *, name: str = "",
                address: tuple[int, int] | None = None, kind: str = "internal") -> Storage:
        """A new instance; a buffer that cores share has the same contents on all."""
        found = super().storage(space, dtype, shape, name=name, address=address, kind=kind)
        self._share(found)
        return found

    def argument(self, name: str, dtype: DType, shape: Sequence[int], kind: str) -> Storage:
        """An argument; all cores see the same contents."""
        found = super().argument(name, dtype, shape, kind)
        self._share(found)
        return found

    def _share(self, storage: Storage) -> None:
        buffer = storage.buffer
        if buffer.shared:
            buffer.contents = self._team.shared.setdefault(buffer.shared, Memory(buffer))

    def initialise(self, storage: Storage, contents: Any) -> None:
        """Sets the contents of a storage: an array, 0 for zeros, or None: random."""
        buffer = storage.buffer
        if buffer.kind == "input":
            self._arguments.append((storage, contents))
            if self.core > 0:
                return
        memory = memory_of(storage)
        if contents is None:
            memory.fill(random_array(buffer.dtype, buffer.shape, self._random))
        elif hasattr(contents, "shape"):
            memory.fill(from_array(contents, buffer.dtype))
        else:
            memory.clear()

    def snapshot(self, view: View) -> Storage:
        """Another storage at the same place, with what the view holds now."""
        storage = Storage(view.storage.buffer, view.storage.frame, view.storage.place,
                          view.storage.name)
        storage.base = view.storage.base
        storage.matmul_regions = view.storage.matmul_regions
        storage.values = memory_of(view.storage).part(view)
        return storage

    def show(self, prefix: str, view: View) -> None:
        """Prints the elements of a view; NaN (integers: 0) where nothing has written them."""
        self.flush()
        print(f"{prefix} {view.name} {view.form.describe()}\n"
              f"{memory_of(view.storage).with_poison(view)}")

    def value_of(self, view: View) -> int | float | None:
        """The one element of a view."""
        self.flush()
        number: int | float = self.machine.scalar(view, source.site())
        return number

    def truth_of(self, view: View) -> bool | None:
        """Whether no element of a view is 0."""
        self.flush()
        return bool((self.machine.read(view, source.site()) != 0).all())

    def outputs(self, result: Any) -> Any:
        """What a kernel returned, with arrays for views; unwritten elements are NaN, or 0."""
        return mapped(result, lambda view, _: self._output(view), is_view)

    def _output(self, view: View) -> Array:
        memory = memory_of(view.storage)
        index = memory.first_unwritten(view)
        self._check_garbage(memory, view.name, index)
        if index is not None:
            self.note("warning", f"elements of the returned tensor {view.name!r} are not written",
                      allocated_at(view.storage.buffer))
        found = memory.with_poison(view)
        if found.base is not None and not memory.give_away(found):
            found = found.copy()
        return shown(found, view.form.dtype)

    def _check_garbage(self, memory: Memory, name: str, index: tuple[int, ...] | None) -> None:
        """ProgramError if what is left in HBM comes from elements that nothing has written."""
        if index is not None and memory.origin:
            raise stored_garbage(name, index, memory)

    def written(self) -> dict[str, Array]:
        """The arguments that the kernel has written, by name; given arrays are updated."""
        found: dict[str, Array] = {}
        for storage, contents in self._arguments:
            memory = memory_of(storage)
            if memory.is_modified:
                self._check_garbage(memory, storage.buffer.name, memory.first_flagged())
                result = shown(memory.whole(), storage.buffer.dtype)
                found[storage.buffer.name] = result
                update(contents, result)
        return found

    # Instructions -----------------------------------------------------------------------------

    def record(self, op: str, engines: tuple[str, ...] | None, operands: Sequence[Operand],
               attributes: dict[str, Any], site: source.Site | None = None,
               immediates: tuple[Any, ...] = ()) -> None:
        """Issues and evaluates an instruction."""
        mask, self.mask = self.mask, None
        if self.pending is not None:
            self.flush()
        if self._is_recording:
            super().record(op, engines, operands, attributes, site, immediates)
            return
        at = site or source.site()
        self._is_recording = True
        try:
            super().record(op, engines, operands, attributes, at, immediates)
        finally:
            self._is_recording = False
        self._evaluate(op, engines, operands, attributes, at, immediates, mask)

    def issue(self, shape: int, operands: Sequence[Operand], number: int = 0) -> None:
        """Appends an execution of a template; evaluates it if that is all there is of it."""
        super().issue(shape, operands, number)
        if not self._is_recording:
            self._evaluate_template(shape, [view for _, _, view in operands])

    def issue_two(self, shape: int, first: View, second: View) -> None:
        """Like issue."""
        super().issue_two(shape, first, second)
        self._evaluate_template(shape, (first, second))

    def issue_three(self, shape: int, first: View, second: View, third: View) -> None:
        """Like issue."""
        super().issue_three(shape, first, second, third)
        self._evaluate_template(shape, (first, second, third))

    def _evaluate_template(self, shape: int, views: Sequence[View]) -> None:
        template = self.table.entries[shape]
        assert isinstance(template, Template)
        operands = [(role, access, view) for (role, access, _, _), view
                    in zip(template.operands, views)]
        self._evaluate(template.op, template.engines, operands, dict(template.attributes),
                       source.site(2), (), None)

    def _evaluate(self, op: str, engines: tuple[str, ...] | None, operands: Sequence[Operand],
                  attributes: dict[str, Any], at: source.Site, immediates: tuple[Any, ...],
                  mask: Any) -> None:
        evaluator = EVALUATORS.get(op)
        if evaluator is None:
            raise UnsupportedFeature.named(str(source.position(at)), f"the values of {op}")
        call = Call(self.machine, op, operands, attributes, engines, at, _kept(mask, operands))
        evaluator(call, *(_known(one) for one in immediates))


def _known(immediate: Any) -> Any:
    """What an instruction is told: the contents of a register."""
    return immediate.value if isinstance(immediate, VirtualRegister) else immediate


def _kept(mask: Any, operands: Sequence[Operand]) -> Array | None:
    """The elements that a mask keeps, in the shape of the operand that it spans."""
    if mask is None:
        return None
    values = np.asarray(mask.index_values()) != 0
    shapes = [view.form.shape for _, _, view in operands]
    for shape in shapes:
        if len(values.shape) == len(shape) and all(a in (1, b) for a, b
                                                   in zip(values.shape, shape)):
            return np.broadcast_to(values, shape)
    return fitted(values, shapes[0])
