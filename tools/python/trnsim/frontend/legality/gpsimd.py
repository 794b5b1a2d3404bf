# SPDX-License-Identifier: Apache-2.0
# Legality of the gpsimd engine's operations.
"""Sizes and types of gathers, searches and reductions over partitions. [NKI-ISA]"""

from __future__ import annotations

from trnsim.frontend.chip import Chip
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.legality.vector import check_bitvec, check_same_type

GATHER_PARTITIONS = 16
"""Partitions that share the indices of a gpsimd core. [NKI-ISA]"""
GATHER_GROUPS = (1, 2, 4, 8, 16, 32)
"""Elements per index of local_gather. [NKI-ISA]"""
GATHER_INDICES_MAX = 4096
"""Indices of a gpsimd core in one local_gather. [NKI-ISA]"""
NONZERO_TYPES = ("float32", "int32")
"""What nonzero_with_count searches, and sequence_bounds reads and writes. [NKI-ISA]"""
TOPK_MAX = 32767
"""Elements that one topk finds. [NKI-ISA]"""


def check_local_gather(chip: Chip, it: Instruction) -> None:
    data, index = it.view("data").form, it.view("index").form
    if data.partitions % GATHER_PARTITIONS:
        raise it.reject(f"src_buffer has {data.partitions} partitions, but must have a multiple of "
                        f"{GATHER_PARTITIONS}")
    _check_index(it, index.dtype.name, "uint16")
    if index.partitions != data.partitions:
        raise it.reject(f"index is {index.describe()}, but src_buffer is {data.describe()}; both "
                        "must have the same partitions")
    group, count = it.attributes["elements_per_index"], it.attributes["indices"]
    if group not in GATHER_GROUPS:
        raise it.reject(f"num_elem_per_idx is {group}, but must be one of {list(GATHER_GROUPS)}")
    limit = min(index.free_elements * GATHER_PARTITIONS, GATHER_INDICES_MAX)
    if not 1 <= count <= limit:
        raise it.reject(f"a gpsimd core takes {count} indices, but 1 to {limit} are allowed: "
                        f"index holds {index.free_elements * GATHER_PARTITIONS} for a core, and "
                        f"at most {GATHER_INDICES_MAX} are gathered; correct num_valid_indices "
                        "or split it")
    dst = it.view("dst").form
    if (dst.partitions, dst.free_elements) != (data.partitions, count * group):
        raise it.reject(f"dst is {dst.describe()}, but must be [{data.partitions}, "
                        f"{count * group}]: {group} for each of {count} indices")
    check_same_type(chip, it)


def check_n_gather(chip: Chip, it: Instruction) -> None:
    dst, data, index = (it.view(role).form for role in ("dst", "data", "index"))
    if index.partitions != data.partitions:
        raise it.reject(f"indices is {index.describe()}, but data is {data.describe()}; both must "
                        "have the same partitions")
    if (dst.partitions, dst.free_elements) != (index.partitions, index.free_elements):
        raise it.reject(f"dst is {dst.describe()}, but indices is {index.describe()}; there is one "
                        "index for each element")
    _check_index(it, it.view("index").form.dtype.name, "uint32")


def _check_index(it: Instruction, name: str, wanted: str) -> None:
    if name != wanted:
        raise it.reject(f"{it.called('index')} is {name}, but must be {wanted}; convert it")


def check_sequence_bounds(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if data.partitions != 1 or (dst.partitions, dst.free_elements) != (1, 2 * data.free_elements):
        raise it.reject(f"dst is {dst.describe()} and segment_ids is {data.describe()}, but "
                        "segment_ids has one partition, and dst two elements for each of its")
    for role in ("dst", "data"):
        _check_searched(it, role)


def _check_searched(it: Instruction, role: str) -> None:
    kind = it.view(role).form.dtype
    if kind.name not in NONZERO_TYPES:
        raise it.reject(f"{it.called(role)} is {kind}, but must be {' or '.join(NONZERO_TYPES)}; "
                        "convert or declare it so")


def check_nonzero(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if (dst.partitions, dst.free_elements) != (data.partitions, data.free_elements + 1):
        raise it.reject(f"dst is {dst.describe()}, but must be [{data.partitions}, "
                        f"{data.free_elements + 1}]: the indices and their number")
    _check_searched(it, "data")
    if dst.dtype.name != "int32":
        raise it.reject(f"dst is {dst.dtype}, but indices and their number are int32; declare it "
                        "so")


def check_topk(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    for role, wanted in (("data", "bfloat16"), ("dst", "bfloat16"), ("dst_index", "uint32")):
        view = it.find(role)
        if view is not None and view.form.dtype.name != wanted:
            raise it.reject(f"{it.called(role)} is {view.form.dtype}, but must be {wanted}; "
                            "convert or declare it so")
    if it.attributes["k"] > TOPK_MAX:
        raise it.reject(f"val_dst has {it.attributes['k']} elements per partition, but at most "
                        f"{TOPK_MAX} are found; split it")
    if data.partitions % GATHER_PARTITIONS or dst.partitions != data.partitions:
        raise it.reject(f"src is {data.describe()} and val_dst {dst.describe()}, but both must "
                        f"have the same partitions, a multiple of {GATHER_PARTITIONS}; pad them")


def check_partition_reduce(chip: Chip, it: Instruction) -> None:
    dst, data = it.view("dst").form, it.view("data").form
    if (dst.partitions, dst.free_elements) != (1, data.free_elements):
        raise it.reject(f"dst is {dst.describe()}, but must be [1, {data.free_elements}]")
    check_bitvec(chip, it)
