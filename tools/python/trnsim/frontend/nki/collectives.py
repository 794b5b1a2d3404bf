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
from collections.abc import Iterable, Sequence

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
MAX_RANK = 65535
"""The largest rank of a trace (src/program/limits.hpp). [ASSUMED]"""


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


def _rank_lists(op: str, role: str, given: Any, each: str) -> tuple[tuple[int, ...], ...]:
    """The lists of ranks of an argument; IllegalInstruction for ranks that a trace has not."""
    if not isinstance(given, Iterable):
        raise _refused(op, f"{role} is {given!r}, but must be lists of ranks; write [[0, 1]]")
    lists = tuple(whole_numbers(one, each) for one in given)
    for rank in (rank for one in lists for rank in one):
        if not 0 <= rank <= MAX_RANK:
            raise _refused(op, f"{role} names rank {rank}, but must name ranks from 0 to "
                               f"{MAX_RANK}; name those that run the kernel")
    return lists


def _groups(op: str, replica_group: Any) -> tuple[tuple[int, ...], ...]:
    """The rank lists of a group; IllegalInstruction if they overlap, or one is empty."""
    groups = _rank_lists(op, "replica_group", getattr(replica_group, "groups", replica_group),
                         "a group of ranks")
    ranks = [rank for one in groups for rank in one]
    if not groups or not all(groups) or len(set(ranks)) != len(ranks):
        raise _refused(op, f"replica_group is {[list(one) for one in groups]}, but must be lists "
                           "of ranks that do not overlap, each with a rank; name each rank once")
    return groups


def _own(groups: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The list with the rank that is traced, which its tensors have to fit; else the first."""
    rank = recorder.required().rank
    return next((one for one in groups if rank in one), groups[0])


def _check_pairing(op: str, srcs: Any, dsts: Any) -> None:
    """IllegalInstruction unless each src has a dst."""
    given, taken = len(tensors_of(op, "srcs", srcs)), len(tensors_of(op, "dsts", dsts))
    if not given or given != taken:
        raise _refused(op, f"srcs has {given} and dsts {taken} tensors; give at least one src, and "
                           "one dst for each")


def _check_parts(op: str, srcs: Any, dimension: int, ranks: Sequence[int]) -> None:
    """IllegalInstruction unless each rank of a list gets the same part of a src."""
    for view in tensors_of(op, "srcs", srcs):
        if view.form.shape[dimension] % len(ranks):
            raise _refused(op, f"src is {view.form.describe()}, but {len(ranks)} ranks get equal "
                               f"parts of dimension {dimension}; make it a multiple of "
                               f"{len(ranks)}")


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
    _check_pairing("all_reduce", srcs, dsts)
    check_memory("all_reduce", srcs, dsts)
    check_sizes("all_reduce", srcs, dsts, (_own(groups),), (1, 1))
    return _collective("all_reduce", srcs, dsts, {"groups": groups, "op": reduction(op)},
                       priority)


def all_gather(srcs: Any, dsts: Any, replica_group: Any, collective_dim: int = 0,
               priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """Each dst = the srcs of all ranks, side by side."""
    groups = _groups("all_gather", replica_group)
    _check_pairing("all_gather", srcs, dsts)
    check_memory("all_gather", srcs, dsts)
    dimension = dimension_of("all_gather", srcs, collective_dim, most_in_sbuf=1)
    ranks = _own(groups)
    check_sizes("all_gather", srcs, dsts, (ranks,), (len(ranks), 1))
    return _collective("all_gather", srcs, dsts, {"groups": groups}, priority,
                       immediates=(dimension,))


def reduce_scatter(srcs: Any, dsts: Any, replica_group: Any, collective_dim: int = 0,
                   op: Any = "add", priority: int | None = None,
                   name: str | None = None) -> NkiInstruction:
    """dst = this rank's part of the reduction of the srcs of all ranks."""
    groups = _groups("reduce_scatter", replica_group)
    _check_pairing("reduce_scatter", srcs, dsts)
    check_memory("reduce_scatter", srcs, dsts)
    dimension, ranks = dimension_of("reduce_scatter", srcs, collective_dim), _own(groups)
    _check_parts("reduce_scatter", srcs, dimension, ranks)
    check_sizes("reduce_scatter", srcs, dsts, (ranks,), (1, len(ranks)))
    return _collective("reduce_scatter", srcs, dsts, {"groups": groups, "op": reduction(op)},
                       priority, immediates=(dimension,))


def all_to_all(srcs: Any, dsts: Any, replica_group: Any, collective_dim: int = 0,
               priority: int | None = None, name: str | None = None) -> NkiInstruction:
    """dst = this rank's parts of the srcs of all ranks."""
    groups = _groups("all_to_all", replica_group)
    _check_pairing("all_to_all", srcs, dsts)
    check_memory("all_to_all", srcs, dsts, takes_sbuf=False)
    dimension, ranks = dimension_of("all_to_all", srcs, collective_dim), _own(groups)
    _check_parts("all_to_all", srcs, dimension, ranks)
    check_sizes("all_to_all", srcs, dsts, (ranks,), (1, 1))
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
    pairs = _rank_lists("collective_permute", "source_target_pairs", source_target_pairs,
                        "a pair of ranks")
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise _refused("collective_permute", f"source_target_pairs is {list(pairs)}, but must be "
                                             "pairs (source, target); give at least one")
    if any(len(set(ranks)) < len(pairs) for ranks in zip(*pairs)):
        raise _refused("collective_permute", f"source_target_pairs is {list(pairs)}, but each rank "
                                             "sends at most once and receives at most once")
    check_single("collective_permute", srcs, dsts)
    check_sizes("collective_permute", srcs, dsts, ((0,),), (1, 1))
    return _collective("collective_permute", srcs, dsts, {"pairs": pairs}, priority)


def _channels(op: str, groups: tuple[tuple[int, ...], ...], channel_ids: Sequence[int], dsts: Any,
              **by_channel: Any) -> int:
    """How many channels an operation uses; IllegalInstruction unless they count from 0 and each has
    one tensor of every argument, all of one size."""
    ids = whole_numbers(channel_ids, "channel_ids")
    for role, given in {"dsts_by_channel": dsts, **by_channel}.items():
        channels = given if isinstance(given, (list, tuple)) else (given,)
        if not 1 <= len(ids) <= MAX_CHANNELS or len(ids) != len(channels):
            raise _refused(op, f"channel_ids is {list(ids)} for {len(channels)} of {role}; name 1 "
                               f"to {MAX_CHANNELS} channels and give one tensor for each")
        for number, one in enumerate(channels):
            count = len(tensors_of(op, role, one))
            if count != 1:
                raise _refused(op, f"channel {number} has {count} tensors of {role}, but must have "
                                   "one; use one channel or one collective for each")
    if ids != tuple(range(len(ids))):
        raise _refused(op, f"channel_ids is {list(ids)}, but must count from 0; write "
                           f"{list(range(len(ids)))}")
    for given in by_channel.values():
        check_sizes(op, given, dsts, (_own(groups),), (1, 1))
    return len(ids)


def _ring(groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, int], ...]:
    """Each rank of each group to its successor."""
    return tuple((rank, one[(place + 1) % len(one)])
                 for one in groups for place, rank in enumerate(one))


def collective_permute_implicit(srcs_by_channel: Any, dsts_by_channel: Any, replica_group: Any,
                                channel_ids: Sequence[int] = (0,), priority: int | None = None,
                                name: str | None = None) -> NkiInstruction:
    """Each rank sends to its successor in a ring."""
    op_name = "collective_permute_implicit"
    groups = _groups(op_name, replica_group)
    channels = _channels(op_name, groups, channel_ids, dsts_by_channel,
                         srcs_by_channel=srcs_by_channel)
    return _collective("collective_permute", srcs_by_channel, dsts_by_channel,
                       {"pairs": _ring(groups), "channels": channels}, priority)


def collective_permute_implicit_reduce(srcs0_by_channel: Any, srcs1_by_channel: Any,
                                       dsts_by_channel: Any, replica_group: Any, op: Any,
                                       channel_ids: Sequence[int] = (0,),
                                       priority: int | None = None,
                                       name: str | None = None) -> NkiInstruction:
    """Each rank reduces two tensors and sends the result to its successor in a ring."""
    op_name = "collective_permute_implicit_reduce"
    groups = _groups(op_name, replica_group)
    channels = _channels(op_name, groups, channel_ids, dsts_by_channel,
                         srcs0_by_channel=srcs0_by_channel, srcs1_by_channel=srcs1_by_channel)
    srcs = tensors_of(op_name, "srcs0", srcs0_by_channel) + tensors_of(op_name, "srcs1",
                                                                   srcs1_by_channel)
    return _collective("collective_permute", srcs, dsts_by_channel,
                       {"pairs": _ring(groups), "channels": channels, "op": reduction(op)},
                       priority)


def collective_permute_implicit_current_processing_rank_id(
        iteration_id: int, replica_group: Any, channel_id: int = 0,
        name: str | None = None) -> VirtualRegister:
    """The rank whose data a ring has brought by an iteration: in rank 0, 0, n - 1, n - 2, ..."""
    op_name = "collective_permute_implicit_current_processing_rank_id"
    groups = _groups(op_name, replica_group)
    channel = whole_number(channel_id, "channel_id")
    if not 0 <= channel < MAX_CHANNELS:
        raise _refused(op_name, f"channel_id is {channel}, but must be one of the channel_ids of "
                                f"the collective, 0 to {MAX_CHANNELS - 1}")
    issue("register_move", (), {})
    rank, group = _traced_rank(), _own(groups)
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


def _refused(op: str, what: str) -> IllegalInstruction:
    return IllegalInstruction(f"{source.here()}: {op}: {what}")


__getattr__ = _absent("nki", "collectives", globals())
