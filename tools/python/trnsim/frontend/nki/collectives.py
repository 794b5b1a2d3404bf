# SPDX-License-Identifier: Apache-2.0
# The public module nki.collectives.
"""Collectives in kernels: each is one operation of the trace, with its group, bytes and kind.

The trace is that of rank 0. With values, all ranks run if there are arguments for all (run_ranks);
otherwise the data of rank 0 stand for those of all ranks. [NKI-COLLECTIVES]
"""

from __future__ import annotations

import operator
from enum import Enum
from typing import Any
from collections.abc import Sequence

from trnsim.errors import IllegalInstruction
from trnsim.frontend import recorder, source
from trnsim.frontend.absent import absent as _absent
from trnsim.frontend.nki.collective_rules import (check_memory, check_single, check_sizes,
                                                  dimension_of, memory_of, reduction, tensors_of)
from trnsim.frontend.nki.issue import NkiInstruction, issue
from trnsim.frontend.nki.objects import NKIObject
from trnsim.frontend.nki.parameters import check_priority
from trnsim.frontend.nki.registers import VirtualRegister
from trnsim.frontend.nki.split_collectives import prepare, trigger
from trnsim.frontend.recorder import Operand
from trnsim.frontend.shapes import whole_number, whole_numbers

MAX_CHANNELS = 4
"""Rings of one collective, [NKI-COLLECTIVES]."""


class rg_partition_op(Enum):
    """How `ReplicaGroup.from_partition_op` finds the list of a rank. [NKI-COLLECTIVES-2.33]"""

    bitwise_and = "and_"
    div = "floordiv"
    mod = "mod"


class ReplicaGroup(NKIObject):
    """The ranks that take part in a collective: lists of ranks without overlap."""

    def __init__(self, groups: Any = ()) -> None:
        self.groups = groups

    @staticmethod
    def from_partition_op(world_size: int, op: rg_partition_op, operand: int) -> ReplicaGroup:
        """The ranks below `world_size`; those for which `op` of rank and operand is the same are
        in one list."""
        size = whole_number(world_size, "world_size")
        by = whole_number(operand, "operand")
        least = 0 if op is rg_partition_op.bitwise_and else 1
        if not isinstance(op, rg_partition_op) or size < 1 or by < least:
            raise IllegalInstruction(
                f"{source.here()}: ReplicaGroup.from_partition_op: {size} ranks by {op} with {by}; "
                "give a number of ranks, a member of rg_partition_op, and what to divide by")
        groups: dict[int, list[int]] = {}
        for rank in range(size):
            groups.setdefault(getattr(operator, op.value)(rank, by), []).append(rank)
        return ReplicaGroup(list(groups.values()))

    def __iter__(self) -> Any:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, index: Any) -> Any:
        return self.groups[index]


def _groups(op: str, replica_group: Any) -> tuple[tuple[int, ...], ...]:
    """The rank lists of a group; IllegalInstruction if they overlap."""
    given = getattr(replica_group, "groups", replica_group)
    groups = tuple(whole_numbers(one, "a group of ranks") for one in given or ())
    ranks = [rank for one in groups for rank in one]
    if not ranks or len(set(ranks)) != len(ranks):
        raise IllegalInstruction(f"{source.here()}: {op}: replica_group is {list(groups)}, but "
                                 "must be lists of ranks that do not overlap")
    return groups


def _collective(op: str, srcs: Any, dsts: Any, attributes: dict[str, Any], priority: int | None,
                metadata: Any = None, immediates: tuple[Any, ...] = ()) -> NkiInstruction:
    """Records a collective. `bytes` is what each rank puts in."""
    check_priority(op, priority)
    sources, targets = tensors_of(op, "srcs", srcs), tensors_of(op, "dsts", dsts)
    memory_of(op, (*sources, *targets))
    operands: list[Operand] = [("dst", "write", view) for view in targets]
    operands += [("src", "read", view) for view in sources]
    if metadata is not None:
        operands.append(("index", "read", metadata))
    moved = sum(view.size * view.dtype.itemsize for view in sources)
    return issue(op, operands, {**attributes, "bytes": moved}, immediates=immediates)


def _counted(op: str, srcs: Any, dsts: Any, replica_group: Any) -> tuple[tuple[int, ...], ...]:
    """The rank lists of a collective with counts of the run time. IllegalInstruction unless it has
    one src and one dst, in HBM."""
    check_single(op, srcs, dsts)
    return _groups(op, replica_group)


def all_reduce(srcs: Any, dsts: Any, replica_group: Any, op: Any, priority: int | None = None,
               name: str | None = None) -> NkiInstruction:
    """Each dst = the reduction of the srcs of all ranks."""
    groups = _groups("all_reduce", replica_group)
    check_memory("all_reduce", srcs, dsts)
    check_sizes("all_reduce", srcs, dsts, groups, (1, 1))
    return _collective("all_reduce", srcs, dsts, {"groups": groups, "op": reduction(op)},
                       priority)


def all_gather(srcs: Any, dsts: Any, replica_group: Any, collective_dim: int = 0,
               priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """Each dst = the srcs of all ranks, side by side."""
    groups = _groups("all_gather", replica_group)
    check_memory("all_gather", srcs, dsts)
    dimension = dimension_of("all_gather", srcs, collective_dim, most_in_sbuf=1)
    check_sizes("all_gather", srcs, dsts, groups, (len(groups[0]), 1))
    return _collective("all_gather", srcs, dsts, {"groups": groups}, priority,
                       immediates=(dimension,))


def reduce_scatter(srcs: Any, dsts: Any, replica_group: Any, collective_dim: int = 0,
                   op: Any = "add", priority: int | None = None,
                   name: str | None = None) -> NkiInstruction:
    """dst = this rank's part of the reduction of the srcs of all ranks."""
    groups = _groups("reduce_scatter", replica_group)
    check_memory("reduce_scatter", srcs, dsts)
    dimension = dimension_of("reduce_scatter", srcs, collective_dim)
    check_sizes("reduce_scatter", srcs, dsts, groups, (1, len(groups[0])))
    return _collective("reduce_scatter", srcs, dsts, {"groups": groups, "op": reduction(op)},
                       priority, immediates=(dimension,))


def all_to_all(srcs: Any, dsts: Any, replica_group: Any, collective_dim: int = 0,
               priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """dst = this rank's parts of the srcs of all ranks."""
    groups = _groups("all_to_all", replica_group)
    check_memory("all_to_all", srcs, dsts, takes_sbuf=False)
    dimension = dimension_of("all_to_all", srcs, collective_dim)
    check_sizes("all_to_all", srcs, dsts, groups, (1, 1))
    return _collective("all_to_all", srcs, dsts, {"groups": groups}, priority,
                       immediates=(dimension,))


def all_gather_v(srcs: Any, dsts: Any, replica_group: Any, metadata_tensor: Any,
                 recv_counts_known: bool = False, has_rdispls: bool = False,
                 priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """all_gather with counts of the run time: all of src is taken to be sent."""
    groups = _counted("all_gather_v", srcs, dsts, replica_group)
    return _collective("all_gather", srcs, dsts, {"groups": groups}, priority, metadata_tensor)


def all_gather_v_prepare(srcs: Any, dsts: Any, replica_group: Any, metadata_tensor: Any,
                         recv_counts_known: bool = False, has_rdispls: bool = False,
                         priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """Begins an all_gather_v that its trigger completes."""
    groups = _counted("all_gather_v_prepare", srcs, dsts, replica_group)
    return prepare("all_gather_v", lambda: _collective("all_gather", srcs, dsts, {"groups": groups},
                                                       priority, metadata_tensor))


def all_gather_v_trigger(prepare_instr: NkiInstruction, name: str | None = None) -> NkiInstruction:
    """Completes it: reads the srcs and writes the dsts."""
    return trigger("all_gather_v", prepare_instr)


def all_to_all_v(srcs: Any, dsts: Any, replica_group: Any, metadata_tensor: Any,
                 recv_counts_known: bool = False, has_rdispls: bool = False,
                 priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """all_to_all with counts of the run time: all of src is taken to be sent."""
    groups = _counted("all_to_all_v", srcs, dsts, replica_group)
    return _collective("all_to_all", srcs, dsts, {"groups": groups}, priority, metadata_tensor)


def all_to_all_v_prepare(srcs: Any, dsts: Any, replica_group: Any, metadata_tensor: Any,
                         recv_counts_known: bool = False, has_rdispls: bool = False,
                         priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """Begins an all_to_all_v that its trigger completes."""
    groups = _counted("all_to_all_v_prepare", srcs, dsts, replica_group)
    return prepare("all_to_all_v", lambda: _collective("all_to_all", srcs, dsts, {"groups": groups},
                                                       priority, metadata_tensor))


def all_to_all_v_trigger(prepare_instr: NkiInstruction, name: str | None = None) -> NkiInstruction:
    """Completes it: reads the srcs and writes the dsts."""
    return trigger("all_to_all_v", prepare_instr)


def collective_permute(srcs: Any, dsts: Any, source_target_pairs: Sequence[Sequence[int]],
                       priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """Each rank sends to the target that its pair names."""
    pairs = tuple(whole_numbers(pair, "a pair of ranks") for pair in source_target_pairs)
    if not pairs or any(len(set(ranks)) < len(pairs) for ranks in zip(*pairs)):
        raise IllegalInstruction(
            f"{source.here()}: collective_permute: source_target_pairs is {list(pairs)}, but each "
            "rank sends at most once and receives at most once")
    check_single("collective_permute", srcs, dsts)
    check_sizes("collective_permute", srcs, dsts, ((0,),), (1, 1))
    return _collective("collective_permute", srcs, dsts, {"pairs": pairs}, priority)


def _channels(op: str, dsts: Any, channel_ids: Sequence[int]) -> int:
    """How many channels an operation uses; IllegalInstruction unless each has a dst of its own."""
    count, targets = len(channel_ids), len(tensors_of(op, "dsts", dsts))
    if not 1 <= count <= MAX_CHANNELS or count != targets:
        raise IllegalInstruction(
            f"{source.here()}: {op}: channel_ids is {list(channel_ids)} for {targets} of "
            f"dsts_by_channel; name 1 to {MAX_CHANNELS} channels and give one tensor for each")
    return count


def _ring(groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, int], ...]:
    """Each rank of each group to its successor."""
    return tuple((rank, one[(place + 1) % len(one)])
                 for one in groups for place, rank in enumerate(one))


def collective_permute_implicit(srcs_by_channel: Any, dsts_by_channel: Any, replica_group: Any,
                                channel_ids: Sequence[int] = (0,), priority: int | None = None,
                                name: str | None = None) -> NkiInstruction:
    """Each rank sends to its successor in a ring."""
    groups = _groups("collective_permute_implicit", replica_group)
    return _collective("collective_permute", srcs_by_channel, dsts_by_channel,
                       {"pairs": _ring(groups),
                        "channels": _channels("collective_permute_implicit", dsts_by_channel,
                                              channel_ids)}, priority)


def collective_permute_implicit_reduce(srcs0_by_channel: Any, srcs1_by_channel: Any,
                                       dsts_by_channel: Any, replica_group: Any, op: Any,
                                       channel_ids: Sequence[int] = (0,),
                                       priority: int | None = None,
                                       name: str | None = None) -> NkiInstruction:
    """Each rank reduces two tensors and sends the result to its successor in a ring."""
    op_name = "collective_permute_implicit_reduce"
    groups = _groups(op_name, replica_group)
    srcs = tensors_of(op_name, "srcs0", srcs0_by_channel) + tensors_of(op_name, "srcs1",
                                                                   srcs1_by_channel)
    return _collective("collective_permute", srcs, dsts_by_channel,
                       {"pairs": _ring(groups),
                        "channels": _channels(op_name, dsts_by_channel, channel_ids),
                        "op": reduction(op)}, priority)


def collective_permute_implicit_current_processing_rank_id(
        iteration_id: int, replica_group: Any, channel_id: int = 0,
        name: str | None = None) -> VirtualRegister:
    """The rank whose data a ring has brought by an iteration: in rank 0, 0, n - 1, n - 2, ..."""
    groups = _groups("collective_permute_implicit_current_processing_rank_id", replica_group)
    issue("register_move", (), {})
    rank = _traced_rank()
    group = next((one for one in groups if rank in one), groups[0])
    place = group.index(rank) if rank in group else 0
    back = whole_number(iteration_id, "iteration_id")
    return VirtualRegister(group[(place - back) % len(group)], "rank")


def rank_id(name: str | None = None) -> VirtualRegister:
    """The rank that is traced."""
    issue("register_move", (), {})
    return VirtualRegister(_traced_rank(), "rank")


def _traced_rank() -> int:
    active = recorder.required()
    active.note("assumption", f"the program is that of rank {active.rank}")
    return active.rank


__getattr__ = _absent("nki", "collectives", globals())
