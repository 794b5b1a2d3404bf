# SPDX-License-Identifier: Apache-2.0
# Tensors from nothing: nl.ndarray, zeros, full, constants.
"""nl.ndarray and its relatives. Dimensions before nl.par_dim are blocks (see tensor.py).

A tile of partitions only is a column, the tile that nl.load makes of a vector.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from trnsim.errors import IllegalInstruction, UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.dtypes import DType
from trnsim.frontend.dtypes import dtype as dtype_of
from trnsim.frontend.legacy.allocation import Address, ParDim, Region, region_of
from trnsim.frontend.legacy.blocks import Blocks, BlockTable, Placed
from trnsim.frontend.legacy.emit import touch
from trnsim.frontend.legacy.keywords import ignored
from trnsim.frontend.legacy.session import session
from trnsim.frontend.legacy.tensor import Tensor
from trnsim.frontend.nki.creation import identity
from trnsim.frontend.records.frame import Frame
from trnsim.frontend.records.tensor import HBM, PSUM, Shape
from trnsim.frontend.shapes import given_sizes, number, sizes_of


def ndarray(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **others: Any) -> Any:
    """A tensor with undefined contents; `nl.par_dim` marks the partition dimension."""
    ignored(others)
    return _declared(shape, dtype, buffer, name, None)


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **others: Any) -> Any:
    """A tensor filled with zeros. In PSUM they are not written if a matmul comes first."""
    ignored(others)
    return full(shape, 0.0, dtype, buffer=buffer, name=name)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **others: Any) -> Any:
    """A tensor filled with ones."""
    ignored(others)
    return full(shape, 1.0, dtype, buffer=buffer, name=name)


def full(shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "",
         **others: Any) -> Any:
    """A tensor filled with a constant."""
    ignored(others)
    return _declared(shape, dtype, buffer, name,
                     number(fill_value, "fill_value of nl.full", "a number"))


def empty_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "",
               **others: Any) -> Any:
    """A tensor with undefined contents and the shape of `a`."""
    ignored(others)
    return _declared(_shape_like(a), a.dtype if dtype is None else dtype, buffer, name, None)


def zeros_like(a: Any, dtype: Any = None, *, buffer: Any = None, name: str = "",
               **others: Any) -> Any:
    """Zeros in the shape of `a`."""
    ignored(others)
    return _declared(_shape_like(a), a.dtype if dtype is None else dtype, buffer, name, 0.0)


def _shape_like(a: Any) -> tuple[Any, ...]:
    if isinstance(a, Blocks):
        lead = len(a.lead)
        return (*a.lead, ParDim(a.shape[lead]), *a.shape[lead + 1:])
    return tuple(a.shape)


def _declared(shape: Any, dtype: Any, buffer: Any, name: str, fill: float | None) -> Any:
    region = region_of(buffer)
    sizes = given_sizes(shape)
    lead = next((at for at, size in enumerate(sizes) if isinstance(size, ParDim)), 0)
    if sum(isinstance(size, ParDim) for size in sizes) > 1:
        raise UserError(f"{source.here()}: a shape has several nl.par_dim, but a tile has its "
                        "partitions along one axis; mark that one")
    whole_shape = sizes_of(sizes)
    kind = dtype_of(dtype)
    if region.space == HBM:
        return _declared_in_hbm(whole_shape, kind, region, name, fill)
    tile_shape = whole_shape[lead:]
    if len(tile_shape) == 1:
        tile_shape += (1,)
    table = BlockTable(_buffers(region, kind, whole_shape[:lead], tile_shape, name),
                       whole_shape[:lead], fill)
    if lead:
        return Blocks(table, whole_shape[:lead], 0)
    tile = table.tile(0)
    if fill is not None and (fill != 0.0 or region.space != PSUM):
        touch(tile, "read")
    return tile


def _buffers(region: Region, kind: DType, lead: Shape, tile: Shape,
             name: str) -> list[Placed]:
    """The site of a tensor's blocks; one entry per block if the program fixes their addresses."""
    active = recorder.required()
    addresses = _addresses(region, lead, tile, kind)
    made: dict[Any, Placed] = {}
    for address in addresses:
        if address not in made:
            one = active.storage(region.space, kind, tile, name=name, address=address)
            made[address] = Placed(one.buffer, one.place)
    return [made[address] for address in addresses]


def _addresses(region: Region, lead: Shape, tile: Shape, kind: DType) -> list[Any]:
    """The address of each block, or one None.

    AWS's compiler executes the body of an affine or sequential loop once: the addresses that its
    first iteration computes hold for all.
    """
    if not region.is_placed:
        return [None]
    here = session()
    key = (source.stack(), lead, tile, kind)
    found = here.addresses.get(key) if _is_traced_once(here.recorder.frame) else None
    if found is None:
        found = here.addresses[key] = region.addresses(lead, tile, kind.itemsize)
        for address in dict.fromkeys(found):
            _check_address(region, address, tile, kind)
    return found


def _is_traced_once(frame: Frame | None) -> bool:
    """Whether all open loops are affine or sequential ones."""
    while frame is not None and frame.parent is not None:
        if frame.folder is None or frame.folder.origin.kind not in ("affine", "sequential"):
            return False
        frame = frame.parent
    return True


def _is_in_marked_loop(frame: Frame | None) -> bool:
    """Whether the kernel has opened an affine or sequential loop, where a tensor is one for all
    iterations; loops over the grid are not the kernel's."""
    while frame is not None:
        origin = None if frame.folder is None else frame.folder.origin
        if origin is not None and origin.kind in ("affine", "sequential") and (
                origin.position is not source.UNKNOWN):
            return True
        frame = frame.parent
    return False


def _check_address(region: Region, address: Address, tile: Shape, kind: DType) -> None:
    """IllegalInstruction if a tile at a fixed address leaves the memory."""
    chip = recorder.required().chip
    capacity = chip.psum_partition_bytes if region.space == PSUM else chip.sbuf_usable_bytes
    partition, byte = address
    size = prod(tile[1:]) * kind.itemsize
    if byte < 0 or byte + size > capacity or not 0 <= partition <= chip.partitions - tile[0]:
        raise IllegalInstruction(
            f"{source.here()}: a {region.space} tile of {tile[0]} partitions and {size} bytes each "
            f"is placed at byte {byte} of partition {partition}, but kernels have "
            f"{chip.partitions} partitions of {capacity} bytes in {region.space}; choose another "
            "address")
    step = next(one for one in (32, 64, 128) if tile[0] <= one)
    if region.space != PSUM and partition % step:
        raise IllegalInstruction(
            f"{source.here()}: a {region.space} tile of {tile[0]} partitions is placed at "
            f"partition {partition}, but tiles of {1 if step == 32 else step // 2 + 1} to {step} "
            f"partitions begin at a multiple of {step}; choose another partition")


def _declared_in_hbm(shape: Shape, kind: DType, region: Region, name: str,
                     fill: float | None) -> Tensor:
    if fill is not None:
        raise IllegalInstruction(
            f"{source.here()}: a tensor in hbm with an initial value, but nothing can initialise "
            "it except a store; create it with nl.ndarray and nl.store the value")
    here = session()
    site = (source.stack(), name, shape, kind)
    key = (*site, here.created[site])
    if not _is_in_marked_loop(here.recorder.frame):
        here.created[site] += 1
    found = here.outputs.get(key) if region.is_shared else None
    if found is None:
        role = "output" if region.is_shared else "internal"
        storage = here.recorder.storage(HBM, kind, shape, name=name, kind=role)
        found = Tensor(storage, storage.buffer.whole)
        if region.is_shared:
            storage.frame = here.recorder.program
            here.outputs[key] = found
    return found


def shared_constant(constant: Any, dtype: Any = None, **others: Any) -> Tensor:
    """A tensor in HBM that holds a numpy array from the start."""
    ignored(others)
    if not isinstance(constant, np.ndarray):
        raise UserError(f"{source.here()}: the constant of nl.shared_constant is "
                        f"{type(constant).__name__}, but must be a numpy array; for one number, "
                        "use nl.full")
    kind = dtype_of(constant.dtype if dtype is None else dtype)
    active = recorder.required()
    storage = active.storage(HBM, kind, tuple(constant.shape), kind="constant")
    active.initialise(storage, constant)
    return Tensor(storage, storage.buffer.whole)


def shared_identity_matrix(n: int, dtype: Any = "uint8", **others: Any) -> Tensor:
    """An identity matrix in HBM; one for each size and type."""
    ignored(others)
    here = session()
    key = ("identity", n, dtype_of(dtype))
    found = here.constants.get(key)
    if found is None:
        storage = here.recorder.storage(HBM, key[2], (n, n), kind="constant", name=f"identity_{n}")
        here.recorder.initialise(storage, identity(n))
        found = here.constants[key] = Tensor(storage, storage.buffer.whole)
    return found
