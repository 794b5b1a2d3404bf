# SPDX-License-Identifier: Apache-2.0
# nl.ndarray and its relatives.
"""Tensors from nothing: ndarray, zeros, full, constants, and the fresh tiles of operations."""

from __future__ import annotations

import importlib
from math import prod
from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction, UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.arguments import describe
from trnsim.frontend.dtypes import DType, dtype as dtype_of, uint8
from trnsim.frontend.nki import enums
from trnsim.frontend.nki.tensor import NkiTensor, whole
from trnsim.frontend.nki.tile_size import PSUM_ALIGNMENT
from trnsim.frontend.records.tensor import Storage, View
from trnsim.frontend.shapes import given_sizes, whole_numbers

_sbuf = enums.MemoryRegion.sbuf
SINGLE = (1, 1)
"""The shape of an on-chip tensor [1], as registers are stored to. [NKI-ISA, register_store]"""


class par_dim(int):
    """`nl.par_dim(n)`: the partition dimension, which is the first; there are no block dimensions.
    """


def ndarray(shape: Any, dtype: Any, buffer: Any = _sbuf, name: str = "",
            address: tuple[int, int] | None = None) -> NkiTensor:
    """A tensor with undefined contents."""
    active = recorder.required()
    key = None
    if type(dtype) is DType and type(shape) is tuple and (
            address is None or type(address) is tuple):
        key = (source.stack(), id(dtype), shape, buffer, name, address)
        site = active.sites.get(key)
        if site is not None:
            place = 0 if address is None else int(address[1])
            return NkiTensor(Storage(site, active.frame, place, name), site.whole)
    kind = dtype if type(dtype) is DType else dtype_of(dtype)
    sizes = given_sizes(shape)
    if name is not None and not isinstance(name, str):
        raise IllegalInstruction(f"{source.here()}: name is {name!r}, but must be a text")
    if any(type(size) is par_dim for size in sizes[1:]):
        raise IllegalInstruction(
            f"{source.here()}: a tensor of shape {list(sizes)} has block dimensions before "
            "nl.par_dim, but the first dimension is that of the partitions; make a list of tiles")
    space = enums.SPACES.get(buffer) or enums.space_of(buffer)
    role = "output" if buffer in enums.SHARED else "internal"
    if space != "hbm" and sizes == (1,):
        sizes = SINGLE
    if address is not None:
        if space == "hbm":
            raise IllegalInstruction(f"{source.here()}: address={address} of a tensor in hbm, but "
                                     "only on-chip tensors are placed; leave it out")
        address = _place(address)
        if space == "psum":
            _check_psum(address, prod(sizes[1:]) * kind.itemsize)
    storage = active.storage(space, kind, sizes, name=name, address=address, kind=role)
    if key is not None:
        active.sites[key] = storage.buffer
    return whole(storage)


enums.creation.ndarray = ndarray


def _place(address: Any) -> tuple[int, int]:
    """Start partition and byte. UserError if it is no such pair."""
    pair = whole_numbers(address, "address")
    if len(pair) != 2:
        raise UserError(f"{source.here()}: address is {pair}, but must be a partition and a byte "
                        "of each partition")
    return pair[0], pair[1]


def _check_psum(address: tuple[int, int], count: int) -> None:
    """IllegalInstruction if bytes per partition of PSUM are not aligned, or reach into another bank
    from within one. [NKI-MIGRATION]"""
    at, bank = f"{source.here()}: address={address}", recorder.required().chip.psum_bank_bytes
    if address[1] % PSUM_ALIGNMENT != 0:
        raise IllegalInstruction(f"{at}: bytes in psum are addressed in multiples of "
                                 f"{PSUM_ALIGNMENT}; move the tile")
    if address[1] % bank and address[1] % bank + count > bank:
        raise IllegalInstruction(f"{at}: {count} bytes per partition reach from there into the "
                                 f"next psum bank; begin the tile at a multiple of {bank}")


def fresh(shape: Sequence[int], dtype: DType, space: str = "sbuf", name: str = "") -> NkiTensor:
    """The tile for the result of an operation."""
    return whole(recorder.required().storage(space, dtype, tuple(shape), name=name))


def full(shape: Any, fill_value: float, dtype: Any, buffer: Any = _sbuf,
         name: str = "") -> NkiTensor:
    """A tensor filled with a constant; in HBM by way of an SBUF tile."""
    tensor = ndarray(shape, dtype, buffer, name)
    return _filled(tensor, fill_value)


def _filled(tensor: NkiTensor, value: float) -> NkiTensor:
    active = recorder.required()
    if tensor.form.is_on_chip:
        active.record("memset", None, (("dst", "write", tensor),), {"value": value})
        return tensor
    columns = tensor.shape[-1]
    rows = tensor.size // columns
    tile = fresh((min(rows, active.chip.partitions), columns), tensor.dtype, name="fill")
    active.record("memset", None, (("dst", "write", tile),), {"value": value})
    flat = tensor.reshape((rows, columns))
    for start in range(0, rows, tile.shape[0]):
        part = flat[start:min(start + tile.shape[0], rows), 0:columns]
        data = tile[0:part.shape[0], 0:columns]
        active.record("dma_copy", None, (("dst", "write", part), ("src", "read", data)), {})
    return tensor


def zeros(shape: Any, dtype: Any, buffer: Any = _sbuf, name: str = "") -> NkiTensor:
    """A tensor filled with zeros."""
    return full(shape, 0.0, dtype, buffer, name)


def ones(shape: Any, dtype: Any, buffer: Any = _sbuf, name: str = "") -> NkiTensor:
    """A tensor filled with ones."""
    return full(shape, 1.0, dtype, buffer, name)


def zeros_like(x: View, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """Zeros in the shape of `x`."""
    return _filled(ndarray(x.shape, x.dtype if dtype is None else dtype,
                           x.space if buffer is None else buffer, name), 0.0)


def shared_constant(constant: Any, dtype: Any = None) -> NkiTensor:
    """A tensor in HBM that holds an array, or that of a `.npy` file, from the start."""
    if isinstance(constant, str):
        constant = importlib.import_module("numpy").load(constant, mmap_mode="r")
    if not hasattr(constant, "dtype") or isinstance(constant, View):
        raise UserError(f"{source.here()}: shared_constant: the constant is {describe(constant)}, "
                        "but must be a numpy array or the name of a .npy file")
    kind = dtype_of(constant.dtype if dtype is None else dtype)
    active = recorder.required()
    storage = active.storage("hbm", kind, constant.shape, kind="constant")
    active.initialise(storage, constant)
    return whole(storage)


def identity(n: int) -> Any:
    """An identity matrix as a numpy array."""
    return importlib.import_module("numpy").eye(n, dtype="float32")


def shared_identity_matrix(n: int, dtype: Any = uint8, dst: View | None = None) -> View:
    """An identity matrix in SBUF, loaded from a constant."""
    active = recorder.required()
    kind = dtype_of(dtype)
    matrix = whole(active.storage("hbm", kind, (n, n), kind="constant", name=f"identity_{n}"))
    active.initialise(matrix.storage, identity(n))
    target = fresh((n, n), kind) if dst is None else dst
    active.record("dma_copy", None, (("dst", "write", target), ("src", "read", matrix)), {})
    return target


