# SPDX-License-Identifier: Apache-2.0
# What the 0.1 dialect remembers while it traces a kernel.
"""The session of one trace, and the contents of PSUM tiles."""

from __future__ import annotations

from collections import Counter
from typing import Any

from trnsim.errors import UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.legacy.division import divide
from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.loop_index import Loop
from trnsim.frontend.recorder import Recorder
from trnsim.frontend.records.psum import MatmulRegions
from trnsim.frontend.records.tensor import Buffer, Shape, Storage, View


class Contents(MatmulRegions):
    """The bytes of a PSUM tile that hold anything: `+=` of a matmul adds to what any engine wrote.

    `clock` numbers the PSUM tiles of a session; `log` is told of every region that is new.
    """

    __slots__ = ("clock", "log")

    def __init__(self, clock: int, log: list[Contents]) -> None:
        MatmulRegions.__init__(self)
        self.clock = clock
        self.log = log

    def add(self, view: View) -> None:
        """The region has been written."""
        super().add(view)
        self.log.append(self)

    def copy(self) -> Contents:
        """The same contents of another tile of the same buffer."""
        other = Contents(self.clock, self.log)
        other.known |= self.known
        other._recent += self._recent
        other._written.update(self._written)
        return other

    def overwrite(self, view: View) -> None:
        """Another instruction than a matmul has written the region."""
        if (view.position, view.form) not in self.known:
            self.add(view)


class Session:
    """What this dialect remembers about one trace."""

    __slots__ = ("accumulators", "addresses", "block_log", "clock", "constants", "created",
                 "filled", "grid", "index_log", "knows_grid", "loops",
                 "missing_axes", "outputs", "program", "promised",
                 "recorder", "reduction_starts", "region_log", "symbolic", "tables", "tiles")

    def __init__(self, active: Recorder) -> None:
        self.recorder = active
        self.tiles: dict[Any, Buffer] = {}
        """Allocation sites of fresh tiles, by call stack, memory, type and shape."""
        self.promised: dict[int, tuple[Tensor, float]] = {}
        """Tiles whose initial value has not been written yet, by id of storage."""
        self.filled: dict[int, Tensor] = {}
        """Tiles that were created with a value, by id of storage."""
        self.constants: dict[Any, Tensor] = {}
        """Tiles of constants that the frontend needs itself."""
        self.accumulators: dict[Any, Tensor] = {}
        """Tiles of loop reductions that are bound to variables, by call stack."""
        self.reduction_starts: dict[Any, int] = {}
        """The first indices of the loops of such reductions that are numbers."""
        self.addresses: dict[Any, list[Any]] = {}
        """Addresses that the program fixed, by site."""
        self.grid: Shape = ()
        self.knows_grid = False
        """Whether the program has asked how large the grid is."""
        self.missing_axes: dict[int, source.Position] = {}
        """Axes that the grid does not have, and where the program asked for its place along them.
        """
        self.program: tuple[Any, ...] = ()
        self.outputs: dict[Any, Tensor] = {}
        """Tensors in shared HBM by site and how often the program made one there before: all
        programs of a grid share them."""
        self.created: Counter[Any] = Counter()
        """How often the program has made a tensor in shared HBM at a site."""
        self.tables = 0
        """Tensors with blocks made so far."""
        self.loops: list[Loop] = []
        """Open loops that may leave iterations out."""
        self.symbolic = 0
        """Open loops whose indices are LoopIndex."""
        self.index_log: list[Any] = []
        """Subscripts of blocks with a loop's index (blocks.Named)."""
        self.block_log: list[Any] = []
        """Tiles of blocks in the order in which they were made (blocks.Made)."""
        self.region_log: list[Contents] = []
        """PSUM tiles in the order in which matmuls began new regions of them."""
        self.clock = 0
        """PSUM tiles that matmuls have written so far."""

    def forget(self) -> None:
        """Lets go of the tiles, some of which know the session."""
        for made in self.block_log:
            made.table.forget()
        for log in (self.block_log, self.index_log, self.region_log):
            log.clear()

    def contents(self, storage: Storage) -> Contents:
        """What a PSUM tile holds. One that was accessed before any matmul is full."""
        found: Contents | None = storage.matmul_regions
        if found is None:
            self.clock += 1
            found = storage.matmul_regions = Contents(self.clock, self.region_log)
            if storage.base is not None:
                found.add(View(storage, storage.buffer.whole))
        return found


def session() -> Session:
    """The session of the kernel that is being traced; ProgramError outside of one."""
    active = recorder.current
    found: Session | None = None if active is None else active.session
    return _begun() if found is None else found


def check_api() -> None:
    """UserError if the kernel that is being traced is one of `nki`."""
    if recorder.required().api == "nki":
        raise UserError(f"{source.here()}: the kernel is of nki, but this function is of "
                        "neuronxcc.nki, whose tensors are others; import nki.language and nki.isa")


def _begun() -> Session:
    active = recorder.required()
    check_api()
    active.session = found = Session(active)
    active.divide = divide
    return found
