# SPDX-License-Identifier: Apache-2.0
# Legality of operands whose columns are selected by a tensor.
"""Which operands take columns by `.indirect(index)`, and where they lie. [NKI-ISA] [NKI-RELEASE]

The partitions are held to their rules where the program places both tiles by address; elsewhere
the compiler places them.
"""

from __future__ import annotations

from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.records.tensor import PSUM, SBUF, View

_TAKERS: dict[str, tuple[str, ...]] = {
    "tensor_copy": ("dst", "data"), "tensor_copy_predicated": ("dst", "predicate"),
    "tensor_tensor": ("dst", "data1"), "tensor_scalar": ("dst", "data"),
    "tensor_scalar_reduce": ("dst", "data"), "tensor_scalar_cumulative": ("dst", "data"),
    "tensor_reduce": ("dst", "data"), "exponential": ("dst", "data"),
    "activation": ("dst", "data"), "activation_reduce": ("dst", "data"),
    "activate2": ("dst", "data"), "nc_matmul": ("dst", "stationary", "moving"),
    "nc_matmul_mx": ("dst", "stationary", "moving", "stationary_scale", "moving_scale"),
}
"""Roles that may be indirect, dst first; the second is where a scatter has its index."""
_MATMUL_TYPES = ("float16", "bfloat16", "float8_e4m3", "float8_e5m2", "float8_e4m3fn")
"""Types of tiles of nc_matmul whose columns are gathered."""
_PAIRS = (("stationary", "stationary_scale"), ("moving", "moving_scale"))
"""Packed elements and their scales, which are one tensor."""
INDEX_GROUP, TENSOR_GROUP = 16, 32
"""Partitions that share their indices, of most engines and of the tensor engine. [NKI-LANGUAGE]"""
_QUADRANT = 32
"""Partitions of a quadrant."""


def _selects_columns(view: View) -> bool:
    """Whether a view is accessed by `.indirect(index)`."""
    return isinstance(view.indices, View) and view.indirection.kind == "columns"


def barred(it: Instruction) -> tuple[str, ...]:
    """Engines that could run the instruction, but not with these operands indirect."""
    found = {role: view for role, _, view in it.operands if _selects_columns(view)}
    of_copies = ("gpsimd",) if found and it.op == "tensor_copy" else ()
    return of_copies + (("scalar",) if _is_scatter_into_psum(found) else ())


def _is_scatter_into_psum(found: dict[str, View]) -> bool:
    return "dst" in found and found["dst"].form.space == PSUM


def check_indirect(it: Instruction) -> None:
    """IllegalInstruction if an operand is indirect and may not be, or not like this."""
    found = {role: view for role, _, view in it.operands if _selects_columns(view)}
    if not found:
        return
    taken = _TAKERS.get(it.op, ())
    for role, view in found.items():
        if role not in taken:
            which = f"only of {' and '.join(map(it.called, taken))}" if taken else "of no operand"
            raise it.reject(f"{it.called(role)} is {view.name!r} with .indirect(), but {it.op} "
                            f"takes columns by index {which}; gather or scatter with "
                            "nisa.tensor_copy")
        if view.indices.form.space != SBUF:
            raise it.reject(f"the index of {it.called(role)} is in {view.indices.form.space}, but "
                            "columns are selected by one in sbuf; load or copy it there")
        _check_count(it, role, view)
    _check_engines(it, found)
    if it.op.startswith("nc_matmul"):
        _check_matmul(it, found)
    _check_partitions(it, found)


def _check_count(it: Instruction, role: str, view: View) -> None:
    """A group of partitions has an index for each of its columns. [NKI-LANGUAGE, indirect]"""
    group = TENSOR_GROUP if it.op.startswith("nc_matmul") else INDEX_GROUP
    index = view.indices.form
    smallest = index.partitions % group or min(index.partitions, group)
    held = smallest * index.free_elements
    if view.form.free_elements > held:
        raise it.reject(f"{it.called(role)} is {view.name!r} with .indirect() by "
                        f"{view.form.free_elements} indices, but each {group} partitions select by "
                        f"their own, of which {view.indices.name!r} has {held} for {smallest}; "
                        "pass num_elem")


def _check_engines(it: Instruction, found: dict[str, View]) -> None:
    """A copy is none of gpsimd's then, and the scalar engine does not scatter into PSUM."""
    if it.op == "tensor_copy" and it.engines == ("gpsimd",):
        raise it.reject(f"{' and '.join(map(it.called, found))} with .indirect() on the gpsimd "
                        "engine, which does not copy by index, but vector and scalar do; change "
                        "`engine=`")
    if it.engines == ("scalar",) and _is_scatter_into_psum(found):
        raise it.reject(f"dst is {found['dst'].name!r} in psum with .indirect(), but the scalar "
                        "engine scatters into sbuf only; scatter from there")


def _check_matmul(it: Instruction, found: dict[str, View]) -> None:
    roles = " and ".join(found)
    if it.attributes.get("tile_position", (0, 0)) != (0, 0):
        raise it.reject(f"tile_position is {list(it.attributes['tile_position'])}, but {roles} "
                        "with .indirect() takes the tile at [0, 0]; leave it out")
    if it.op == "nc_matmul_mx":
        _check_scales(it, found)
        return
    if it.attributes.get("is_transpose") and "moving" in found:
        raise it.reject("moving with .indirect(), but is_transpose is True, which takes its "
                        "columns in order; copy them into a tile first")
    for role in ("stationary", "moving"):
        if role in found and found[role].form.dtype.name not in _MATMUL_TYPES:
            raise it.reject(f"{role} is {found[role].form.dtype} with .indirect(), but must be one "
                            f"of {', '.join(_MATMUL_TYPES)}; convert it")


def _check_scales(it: Instruction, found: dict[str, View]) -> None:
    for pair in _PAIRS:
        first, second = (found[role].indices if role in found else None for role in pair)
        if first is not second:
            raise it.reject(f"{' and '.join(pair)} are not both with .indirect() by one index, but "
                            "are one tensor; give both the same index or none")


def _start(view: View) -> int | None:
    """The first partition of a tile that the program has placed."""
    extent = view.form.buffer.extent
    return None if extent is None else extent.partition + view.form.partition


def _check_partitions(it: Instruction, found: dict[str, View]) -> None:
    roles = _TAKERS[it.op]
    for role, view in found.items():
        start = _start(view.indices)
        if start is not None and start % _QUADRANT:
            raise it.reject(f"the index of {it.called(role)} starts at partition {start}, but an "
                            f"index starts at a multiple of {_QUADRANT}; place it there")
        if role in roles[1:3]:
            _same_start(it, role, view, view.indices)
    source = it.find(roles[1])
    if "dst" not in found or source is None:
        return
    if source.form.space == SBUF:
        _same_start(it, roles[1], source, found["dst"].indices, "dst")
    elif roles[1] in found:
        _same_start(it, "the index of "
                        f"{it.called(roles[1])}", source.indices, found["dst"].indices, "dst")


def _same_start(it: Instruction, what: str, view: View, index: View, owner: str = "") -> None:
    """`view` and `index` start on the same partition, if the program has placed both."""
    here, there = _start(view), _start(index)
    if here is not None and there is not None and here != there:
        what, owner = it.called(what), it.called(owner or what)
        raise it.reject(f"{what} starts at partition {here} and the index of {owner} at "
                        f"{there}, but both must be equal; place them there")
