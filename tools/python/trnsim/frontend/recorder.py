# SPDX-License-Identifier: Apache-2.0
# The recorder: receives the events of a running kernel and keeps them compressed.
"""The event stream of one traced kernel.

What the dialects call, in program order:

    storage = recorder.storage(space, dtype, shape, ...)      an allocation site was executed
    recorder.record(op, engines, operands, attributes)        an instruction was issued
    recorder.hold(op, engines, operands, attributes)          ... whose dst is a fresh tile
    recorder.retarget(value, destination)                     ... which `t[i] = value` moves
    recorder.loop(values, kind)                               iterate with loop marks

An operand is (role, access, view), in the order of docs/trace-format.md section 5; `access` is
`read`, `write`, `update`, or `accumulate` for the dst of a matmul, whatever its `start`. `engines`
is the tuple of engines that may run it, best first, or None for the table in engines.py.
`attributes` holds what the format lists for the op.

*Fresh tiles.* An op of the form `y = f(x)` makes a tile for its result and calls `hold`. The record
is pending until the next event; `t[...] = y` before that calls `retarget`, which replaces the
record's dst instead of copying. A tile that was only ever pending is never allocated.

*Values.* An instruction is a template (its shape in folding.ShapeTable) and one integer: operand
k's position and instance, shifted by k * OPERAND_BITS, and behind the last the whole number that a
memset writes. The difference of two such integers is zero or constant exactly when all offsets,
partitions, instances and numbers differ by zero or by constants.

Open loops are in records/loop_stack.py, buffers in records/allocations.py.
"""

from __future__ import annotations

from itertools import zip_longest
from types import FrameType
from typing import Any, NamedTuple
from collections.abc import Callable, Iterator, Mapping, Sequence

from trnsim.errors import ProgramError
from trnsim.frontend import chip as chip_module
from trnsim.frontend import source
from trnsim.frontend.chip import Chip
from trnsim.frontend.legality import check as legality
from trnsim.frontend.legality import engines as engine_table
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.records.allocations import Allocations
from trnsim.frontend.records.folding import Folder
from trnsim.frontend.records.frame import Frame, LoopOrigin
from trnsim.frontend.records.immediates import separate
from trnsim.frontend.records.indices import kinds, references
from trnsim.frontend.records.schedule import Schedule
from trnsim.frontend.records.template import Template, freeze
from trnsim.frontend.records.tensor import OPERAND_BITS, Storage, View, split_operand
from trnsim.frontend.shortcuts import Shortcuts

Operand = tuple[str, str, View]
Sampler = Callable[[FrameType, range, LoopOrigin], Iterator[Any] | None]
"""The executed iterations of a range that a frame iterates over; None: all of them."""
Pending = tuple[str, tuple[str, ...] | None, Sequence[Operand], dict[str, Any], source.Site,
                tuple[Any, ...]]
"""The arguments of `record` for an instruction whose dst is a fresh tile."""
TWO_OPERANDS = 2 * OPERAND_BITS
_OVERWRITES = ("write", "update")


class Note(NamedTuple):
    """A note record."""

    kind: str
    text: str
    position: source.Position

    def __str__(self) -> str:
        known = self.position is not source.UNKNOWN
        return f"{self.position.in_short}: {self.text}" if known else self.text


class Recorder(Allocations):
    """The events of one kernel."""

    def __init__(self, chip: Chip, api: str, core: int = 0, cores: int = 1) -> None:
        super().__init__(chip, core, cores)
        self.api = api
        self.rank = 0
        """The rank of the program among those that collectives join."""
        self.trip_counts: Mapping[str, int] = {}
        """Trips of loops whose bounds are only known at run time, by the name of their register."""
        self.unknown_bounds: set[str] = set()
        """The registers whose loops `trip_counts` was asked about."""
        self.has_unknown_conditions = False
        self.has_prints = False
        """Whether the kernel prints a tensor, which needs its values."""
        self.grid: tuple[Any, ...] = ()
        """The sizes of the launch grid; () if there is none."""
        self.shortcuts = Shortcuts()
        """What the dialects may leave out of loops, and what they know of them."""
        self.sample: Sampler | None = None
        """A dialect's way to leave iterations out."""
        self.divide: Callable[..., Sequence[Sequence[Operand]]] = lambda *instruction: ()
        """A dialect's rule: the instructions that stand for one that the hardware cannot walk."""
        self.notes: list[Note] = []
        self.templates: dict[Any, int] = {}
        """Cache of the dialects: any key that implies a validated template, to its shape."""
        self.pending: Pending | None = None
        """The instruction that is held back."""
        self.pending_view: View | None = None
        """Its fresh tile."""
        self.mask: Any = None
        """The mask of the instruction that comes next, if operands do not express it."""
        self.held_mask: Any = None
        """That of the instruction that is held back."""
        self.schedule: Schedule | None = None
        """What the kernel says about the order of its instructions, if that is asked for."""
        self.session: Any = None
        """What a dialect remembers about the trace."""
        self._canonical: dict[Template, int] = {}
        self._moved: set[int] = set()
        """Templates with operands that the device moves."""
        self.constants: dict[Any, View] = {}
        """Cache of the dialects: tiles that are written once, before all loops."""
        self._noted: set[Note] = set()

    # Values: see values/recorder.py -----------------------------------------------------------

    has_values = False
    """Whether instructions are evaluated."""

    def another_core(self) -> Recorder:
        """A recorder for what runs on other cores and is not part of the trace."""
        return Recorder(self.chip, self.api)

    def initialise(self, storage: Storage, contents: Any) -> None:
        """Sets the contents of a storage, if values are computed."""

    def snapshot(self, view: View) -> Storage:
        """The storage of a view, whose contents later writes to the view do not change."""
        return view.storage

    def show(self, prefix: str, view: View) -> None:
        """Prints the elements of a view, if values are computed."""
        self.has_prints = True
        self.note("assumption", "device_print prints nothing: values are computed only if they are "
                                "asked for")

    def value_of(self, view: View) -> int | float | None:
        """The one element of a view; None if values are not computed."""
        return None

    def truth_of(self, view: View) -> bool | None:
        """Whether no element of a view is 0; None if values are not computed."""
        return None

    # Instructions -----------------------------------------------------------------------------

    def record(self, op: str, engines: tuple[str, ...] | None, operands: Sequence[Operand],
               attributes: dict[str, Any], site: source.Site | None = None,
               immediates: tuple[Any, ...] = ()) -> None:
        """Issues an instruction. `site` is the user's position, found if not given.

        `immediates` matter to values only, see values/evaluate.py.

        ProgramError if the chip has no such instruction; the message names the user's line.
        """
        if self.pending is not None:
            self.flush()
        self.mask = None
        at = site or source.site()
        number = 0
        given = attributes
        key: tuple[Any, ...]
        if len(operands) == 2:
            (role, access, first), (other_role, other_access, second) = operands
            key = (op, at, engines, role, access, first.form, other_role, other_access,
                   second.form, *attributes.items())
            is_indexed = first.indices is not None or second.indices is not None
        elif len(operands) == 3:
            (role, access, first), (other_role, other_access, second), (
                last_role, last_access, third) = operands
            key = (op, at, engines, role, access, first.form, other_role, other_access,
                   second.form, last_role, last_access, third.form, *attributes.items())
            is_indexed = (first.indices is not None or second.indices is not None
                          or third.indices is not None)
        else:
            if op == "memset":
                attributes, number = separate(attributes, operands)
            parts: list[Any] = []
            is_indexed = False
            for role, access, view in operands:
                parts += (role, access, view.form)
                is_indexed = is_indexed or view.indices is not None
            key = (op, at, engines, *parts, *attributes.items())
        if is_indexed:
            key = (*key, *references(operands), *kinds(operands))
        shape = self.templates.get(key)
        if shape is None:
            pieces = self.divide(op, engines, operands)
            if pieces:
                for piece in pieces:
                    self.record(op, engines, piece, given, at)
                return
            shape = self.templates[key] = self.template(op, engines, operands, attributes, at)
        if is_indexed:
            self._moved.add(shape)
        self.issue(shape, operands, number)

    def issue(self, shape: int, operands: Sequence[Operand], number: int = 0) -> None:
        """Appends an execution of a template that is known to fit the operands.

        `number`: the one that the template leaves out (records/immediates.py).
        """
        value = 0
        shift = 0
        for _, access, view in operands:
            storage = view.storage
            base = storage.base
            if base is None:
                base = self.allocate(storage)
            value += (view.position + base) << shift
            shift += OPERAND_BITS
            regions = storage.matmul_regions
            if regions is not None and access in _OVERWRITES:
                regions.overwrite(view)
        frame = self.frame
        frame.shapes.append(shape)
        frame.values.append(value + (number << shift))

    def issue_two(self, shape: int, first: View, second: View) -> None:
        """Like issue, for two operands neither of which resets accumulation state."""
        if self.pending is not None:
            self.flush()
        base = first.storage.base
        if base is None:
            base = self.allocate(first.storage)
        other = second.storage.base
        if other is None:
            other = self.allocate(second.storage)
        frame = self.frame
        frame.shapes.append(shape)
        frame.values.append(first.position + base + ((second.position + other) << OPERAND_BITS))

    def issue_three(self, shape: int, first: View, second: View, third: View) -> None:
        """Like issue_two, for three operands."""
        if self.pending is not None:
            self.flush()
        base = first.storage.base
        if base is None:
            base = self.allocate(first.storage)
        other = second.storage.base
        if other is None:
            other = self.allocate(second.storage)
        last = third.storage.base
        if last is None:
            last = self.allocate(third.storage)
        frame = self.frame
        frame.shapes.append(shape)
        frame.values.append(first.position + base + ((second.position + other) << OPERAND_BITS)
                            + ((third.position + last) << TWO_OPERANDS))

    def template(self, op: str, engines: tuple[str, ...] | None, operands: Sequence[Operand],
                 attributes: dict[str, Any], at: source.Site) -> int:
        """The shape of a validated template; ProgramError if the chip has no such instruction."""
        position = source.position(at)
        proposal = Instruction(op, tuple(operands), attributes, engines, position)
        if engines is None:
            engines = engine_table.choose(self.chip, proposal, self.api)
        else:
            legality.check_engines(self.chip, proposal)
        legality.check(self.chip, proposal._replace(engines=engines))
        return self.shape_of(Template(
            op, engines,
            tuple((role, "write" if access == "accumulate" and attributes.get("start") else access,
                   view.form.unplaced, indirect)
                  for (role, access, view), indirect in zip(operands, references(operands))),
            tuple(sorted((name, freeze(name, value)) for name, value in attributes.items())),
            position))

    def shape_of(self, template: Template) -> int:
        """The shape of a template that is known to be right."""
        shape = self._canonical.get(template)
        if shape is None:
            shape = self._canonical[template] = self.table.add(template, 1, 1)
        return shape

    def compare(self, folder: Folder, frame: Frame) -> None:
        """A warning if an iteration of the run time is not like the one before: the device has one
        body for all. [NKI-DYNAMIC-LOOPS]"""
        before = self._instructions(folder.shapes, folder.last)
        for (shape, value), (other, earlier) in zip_longest(
                self._instructions(frame.shapes, frame.values), before, fillvalue=(-1, 0)):
            if shape != other or shape not in self._moved and self._differ(shape, value, earlier):
                which = self.table.entries[max(shape, other)]
                self.note("warning", f"iterations of this loop of the run time differ, at "
                                     f"{which.position.in_short} {which.op}: the device has one "
                                     "body for all; keep what changes in registers and tensors, "
                                     "and not in Python", folder.origin.position)
                return

    def _instructions(self, shapes: Sequence[int],
                      values: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The templates of an iteration outside of inner loops, with their values."""
        place = 0
        for shape in shapes:
            if isinstance(self.table.entries[shape], Template):
                yield shape, values[place]
            place += self.table.arity[shape]

    def _differ(self, shape: int, value: int, other: int) -> bool:
        """Whether two executions of a template have other elements of a tile, or another number."""
        for _ in self.table.entries[shape].operands:
            offset, partition, _, value = split_operand(value)
            before, place, _, other = split_operand(other)
            if (offset, partition) != (before, place):
                return True
        return value != other and not self.table.entries[shape].edges

    # Fresh tiles ------------------------------------------------------------------------------

    def hold(self, op: str, engines: tuple[str, ...] | None, operands: Sequence[Operand],
             attributes: dict[str, Any], site: source.Site | None = None,
             immediates: tuple[Any, ...] = ()) -> View:
        """Issues an instruction whose operand 0 is a fresh tile; returns that operand's view.

        The instruction is validated when it is flushed, since its dst may still change.
        """
        mask, self.mask = self.mask, None
        if self.pending is not None:
            self.flush()
        self.held_mask = mask
        self.pending = (op, engines, operands, attributes, site or source.site(), immediates)
        self.pending_view = view = operands[0][2]
        return view

    @property
    def pending_op(self) -> str:
        """The operation that is held back; "" if there is none."""
        return "" if self.pending is None else self.pending[0]

    def is_pending(self, value: object) -> bool:
        """Whether `value` is the fresh tile of the instruction that is held back."""
        return value is not None and value is self.pending_view

    def retarget(self, value: View, destination: View, *, access: str | None = None,
                 attributes: dict[str, Any] | None = None) -> bool:
        """Lets the pending instruction that makes `value` write `destination` instead.

        False, and nothing happens, if `value` is not pending: the caller then emits a copy. The
        caller has checked that both have the same shape. `access` and `attributes` replace those
        of the pending instruction (`accumulate`, `start` for `psum += matmul`). Afterwards `value`
        is another name for `destination`.
        """
        pending = self.pending
        if pending is None or value is not self.pending_view:
            return False
        op, engines, operands, given, site, immediates = pending
        role, old_access, _ = operands[0]
        self.pending = self.pending_view = None
        self.mask, self.held_mask = self.held_mask, None
        value.storage = destination.storage
        value.form = destination.form
        value.position = destination.position
        self.record(op, engines, ((role, access or old_access, destination), *operands[1:]),
                    {**given, **attributes} if attributes else given, site, immediates)
        return True

    def flush(self) -> None:
        """Issues the pending instruction into its fresh tile. The next one keeps its mask."""
        pending = self.pending
        if pending is not None:
            self.pending = self.pending_view = None
            mask, self.mask, self.held_mask = self.mask, self.held_mask, None
            self.record(*pending)
            self.mask = mask

    # Notes ------------------------------------------------------------------------------------

    def note(self, kind: str, text: str, at: source.Position | None = None) -> None:
        """A remark for the reader of the trace, on the user's current line or another one; each is
        kept once."""
        note = Note(kind, text, source.here() if at is None else at)
        if note not in self._noted:
            self._noted.add(note)
            self.notes.append(note)

    # End --------------------------------------------------------------------------------------

    def forget(self) -> None:
        """Lets go of what only a running kernel needs: garbage collection would go through it."""
        if self.session is not None:
            self.session.forget()
            self.session = None
        self.templates.clear()
        self.sites.clear()


current: Recorder | None = None
"""The recorder of the kernel that is being traced; `activate` sets it."""


def active() -> Recorder | None:
    """The recorder of the kernel that is being traced, if any."""
    return current


def required() -> Recorder:
    """The recorder of the kernel that is being traced; ProgramError outside of one."""
    if current is None:
        raise ProgramError(f"{source.here()}: an NKI operation is called outside of a kernel; "
                           "call it from a function that trnsim traces")
    return current


def target() -> Chip:
    """The chip of the kernel that is being traced, or of module-level code."""
    return chip_module.target() if current is None else current.chip


def activate(recorder: Recorder | None) -> Recorder | None:
    """Makes `recorder` the active one; returns the one before."""
    global current
    previous, current = current, recorder
    return previous
