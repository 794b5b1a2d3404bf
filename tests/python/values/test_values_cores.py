# SPDX-License-Identifier: Apache-2.0
# Kernels on the two cores of a logical NeuronCore, registers and runtime loops.
"""What depends on another core or rank, or on a value that the kernel has computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trnsim.frontend import (IllegalInstruction, ProgramError, UnsupportedFeature, run_kernel,
                             run_ranks, trace)
from trnsim.testing import assert_allclose
from values_helpers import collectives, integers, loaded, nisa, nki, nl, normal, stored, tile


@nki.jit
def swap_halves(x: Any) -> Any:
    """Each core writes its half to shared HBM, and after a barrier loads that of the other."""
    core = nl.program_id(0)
    shared = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="between")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="out")
    mine, other = nl.ds(core * 64, 64), nl.ds(64 - core * 64, 64)
    data = tile((64, 32))
    nisa.dma_copy(data, x[mine, :])
    nisa.dma_copy(shared[mine, :], data)
    nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(data, shared[other, :])
    nisa.dma_copy(out[mine, :], data)
    return out


@nki.jit
def sum_of_both(x: Any) -> Any:
    """Each core sends its half to the other and adds the two."""
    core = nl.program_id(0)
    out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    mine, theirs = tile((64, 32)), tile((64, 32))
    nisa.dma_copy(mine, x[nl.ds(core * 64, 64), :])
    nisa.sendrecv(mine, theirs, 1 - core, 1 - core, 0)
    nisa.tensor_tensor(mine, mine, theirs, nl.add)
    nisa.dma_copy(out[nl.ds(core * 64, 64), :], mine)
    return out


@nki.jit
def sum_at_once(x: Any) -> Any:
    """The same by one instruction."""
    core = nl.program_id(0)
    out = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.shared_hbm)
    mine, both = tile((64, 32)), tile((64, 32))
    nisa.dma_copy(mine, x[nl.ds(core * 64, 64), :])
    nisa.sendrecv_compute(mine, both, 1 - core, 1 - core, nl.add)
    nisa.dma_copy(out[nl.ds(core * 64, 64), :], both)
    return out


@nki.jit
def lonely_barrier(x: Any) -> Any:
    if nl.program_id(0) == 0:
        nisa.core_barrier(x, (0, 1))
    return stored(loaded(x))


def test_an_exchange_may_reduce() -> None:
    data = normal(128, 32)
    assert_allclose(run_kernel(sum_at_once[2], data), run_kernel(sum_of_both[2], data), rtol=0)


def test_what_is_reduced_has_been_written() -> None:
    def kernel(x: Any) -> Any:
        nisa.sendrecv_compute(tile((64, 32)), tile((64, 32)), 1, 1, nl.maximum)
        return stored(loaded(x))
    with pytest.raises(ProgramError, match="element .0, 0. of .* nothing has written it"):
        run_kernel(nki.jit(kernel)[2], normal(64, 32))


def test_what_another_core_has_yet_to_write_asks_for_a_barrier() -> None:
    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        halves = nl.ndarray((2, 64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        out = nl.ndarray((2, 64, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(halves[core], loaded(x))
        nisa.dma_copy(out[core], loaded(halves[1 - core]))
        return out
    with pytest.raises(ProgramError, match="nothing has written it so far .*at a core_barrier"):
        run_kernel(nki.jit(kernel)[2], normal(64, 32))


def test_cores_share_memory_and_wait_at_barriers() -> None:
    data = normal(128, 32)
    assert_allclose(run_kernel(swap_halves[2], data), np.roll(data, 64, axis=0), rtol=0)


@pytest.mark.parametrize("region", [nl.hbm, nl.private_hbm])
def test_every_core_has_its_own_private_memory(region: Any) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 1, 40), dtype=x.dtype, buffer=nl.shared_hbm)
        scratch = nl.ndarray((1, 40), dtype=x.dtype, buffer=region)
        core, data = nl.program_id(0), loaded(x)
        nisa.tensor_scalar(data, data, nl.add, float(core))
        nisa.dma_copy(scratch, data)
        nisa.core_barrier(out, (0, 1))
        nisa.dma_copy(out[core], scratch)
        return out
    data = normal(1, 40)
    assert_allclose(run_kernel(nki.jit(kernel)[2], data), np.stack([data, data + 1]), rtol=0)


def test_cores_exchange_tiles() -> None:
    data = normal(128, 32)
    total = data[:64] + data[64:]
    assert_allclose(run_kernel(sum_of_both[2], data), np.concatenate([total, total]), rtol=0)


@pytest.mark.parametrize("used", [10, 11])
def test_what_is_not_written_is_sent_as_such(used: int) -> None:
    @nki.jit
    def padded(x: Any) -> Any:
        core = nl.program_id(0)
        out = nl.ndarray((2, used, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        mine = nl.ndarray((16, 32), dtype=nl.float32, buffer=nl.sbuf)
        theirs = nl.ndarray((16, 32), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(theirs, 0.0)
        nisa.dma_copy(mine[0:10, :], x[nl.ds(core * 10, 10), :])
        nisa.sendrecv(mine, theirs, 1 - core, 1 - core, 0)
        nisa.dma_copy(out[core], theirs[0:used, :])
        return out
    data = normal(20, 32)
    if used == 10:
        assert_allclose(run_kernel(padded[2], data), data.reshape(2, 10, 32)[::-1], rtol=0)
        return
    with pytest.raises(ProgramError, match=r"element .10, 0. of 'mine' .* is read, but nothing has "
                                           r"written it, and element .0, 10, 0. of 'out', stored at"):
        run_kernel(padded[2], data)


def exchanged(shapes: Any, kinds: Any, reduces: bool = False) -> Any:
    """A kernel whose cores exchange tiles of these shapes and types, each at a line of its own."""
    @nki.jit
    def kernel(x: Any) -> Any:
        core = nl.program_id(0)
        src, dst = (tile(shapes[core], kinds[core]) for _ in range(2))
        nisa.memset(src, 0)
        if reduces:
            nisa.sendrecv_compute(src, dst, 1 - core, 1 - core, nl.add)
        elif core == 0:
            nisa.sendrecv(src, dst, 1, 1, 0)
        else:
            nisa.sendrecv(src, dst, 0, 0, 0)
        return stored(loaded(x))
    return kernel


@pytest.mark.parametrize(("shapes", "kinds", "mine", "theirs"), [
    ([(2, 4), (2, 3)], [nl.float32] * 2, r"float32\[2, 3\]", r"float32\[2, 4\]"),
    ([(2, 1), (2, 4)], [nl.float32] * 2, r"float32\[2, 4\]", r"float32\[2, 1\]"),
    ([(4, 2), (2, 4)], [nl.float32] * 2, r"float32\[2, 4\]", r"float32\[4, 2\]"),
    ([(2, 4)] * 2, [nl.bfloat16, nl.float32], r"float32\[2, 4\]", r"bfloat16\[2, 4\]"),
    ([(2, 4)] * 2, [nl.int32, nl.uint32], r"uint32\[2, 4\]", r"int32\[2, 4\]")])
@pytest.mark.parametrize("reduces", [False, True])
def test_tiles_that_meet_agree_in_shape_and_type(shapes: Any, kinds: Any, mine: str, theirs: str,
                                                 reduces: bool) -> None:
    kernel = exchanged(shapes, kinds, reduces)
    first = kernel.function.__code__.co_firstlineno
    receives, sends = (first + 6, first + 6) if reduces else (first + 10, first + 8)
    with pytest.raises(IllegalInstruction,
                       match=rf"test_values_cores.py:{receives}: sendrecv: dst of core 1 is sbuf "
                             rf"{mine}, but core 0 sends sbuf {theirs} at .*cores.py:{sends}; make "
                             "shapes and types equal on both cores"):
        run_kernel(kernel[2], normal(2, 4))


def test_a_core_that_waits_for_ever_is_an_error() -> None:
    with pytest.raises(ProgramError, match="core 0 waits for the other cores at a core_barrier"):
        run_kernel(lonely_barrier[2], normal(64, 32))


def test_registers_hold_what_is_loaded() -> None:
    def kernel(x: Any, counts: Any) -> Any:
        data, total = loaded(x), tile((64, 1))
        nisa.memset(total, 0.0)
        bound = nisa.register_alloc()
        nisa.register_load(bound, counts[0:1, 0:1])
        for at in nl.dynamic_range(bound):
            column = tile((64, 1))
            nisa.tensor_copy(column, data.ap([[32, 64], [1, 1]], scalar_offset=at, indirect_dim=1))
            nisa.tensor_tensor(total, total, column, nl.add)
        nisa.register_store(counts[0:1, 1:2], bound + 7)
        return stored(total)
    data, counts = normal(64, 32), np.array([[5, 0]], np.int32)
    found = run_kernel(kernel, data, counts, api="nki")
    assert_allclose(found, data[:, :5].sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-6)
    assert counts.tolist() == [[5, 12]]


def test_a_while_runs_as_often_as_its_values_say() -> None:
    def kernel(x: Any) -> Any:
        data, left = loaded(x), tile((1, 1), nl.int32)
        nisa.memset(left, 3)
        condition = nisa.register_alloc()
        nisa.register_load(condition, left)
        while condition:
            nisa.tensor_scalar(data, data, nl.multiply, 2.0)
            nisa.tensor_scalar(left, left, nl.subtract, 1)
            nisa.register_load(condition, left)
        return stored(data)
    data = normal(64, 32)
    assert_allclose(run_kernel(kernel, data, api="nki"), 8 * data, rtol=0)


def test_columns_by_index_on_trainium3() -> None:
    index = integers(0, 32, 64, 2, kind=np.uint16)

    def kernel(x: Any, i: Any) -> Any:
        result = tile((64, 32))
        nisa.tensor_copy(result, loaded(x).indirect(loaded(i), 32))
        return stored(result)
    data = normal(64, 32)
    columns = np.concatenate([np.repeat(index[first:first + 16].T.reshape(1, -1), 16, axis=0)
                              for first in range(0, 64, 16)])
    assert_allclose(run_kernel(kernel, data, index, api="nki", chip="trn3"),
                    np.take_along_axis(data, columns.astype(np.int64), axis=1), rtol=0)


# Ranks ------------------------------------------------------------------------------------------

GROUP = collectives.ReplicaGroup([[0, 1], [2, 3]])
RANKS = 4


def ranked(body: Any, *shape: int, lnc: int = 1) -> tuple[list[Any], list[Any]]:
    """The inputs of four ranks, and what `body(dst, src)` makes of them in HBM of `shape`."""
    @nki.jit
    def kernel(x: Any) -> Any:
        src = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name="src")
        dst = nl.ndarray(shape, dtype=x.dtype, buffer=nl.shared_hbm, name="dst")
        nisa.dma_copy(src, x)
        body(dst, src)
        return dst
    data = [normal(8, 6, seed=rank) for rank in range(RANKS)]
    return data, run_ranks(kernel[lnc], [{"x": one} for one in data])


@pytest.mark.parametrize("lnc", [1, 2])
def test_all_reduce_adds_what_the_ranks_of_a_group_have(lnc: int) -> None:
    data, found = ranked(lambda dst, src: collectives.all_reduce([src], [dst], GROUP, nl.add), 8, 6,
                         lnc=lnc)
    for rank, one in enumerate(found):
        assert_allclose(one, data[rank // 2 * 2] + data[rank // 2 * 2 + 1], rtol=0)


@pytest.mark.parametrize("axis", [0, 1])
def test_all_gather_puts_the_ranks_of_a_group_side_by_side(axis: int) -> None:
    shape = (16, 6) if axis == 0 else (8, 12)

    def body(dst: Any, src: Any) -> None:
        one, all_of_them = (src, dst) if axis == 0 else (loaded(src), tile(shape))
        collectives.all_gather([one], [all_of_them], GROUP, axis)
        if axis == 1:  # In SBUF only.
            nisa.dma_copy(dst, all_of_them)
    data, found = ranked(body, *shape)
    for rank, one in enumerate(found):
        assert_allclose(one, np.concatenate(data[rank // 2 * 2:][:2], axis), rtol=0)


def test_reduce_scatter_leaves_each_rank_its_part() -> None:
    data, found = ranked(lambda dst, src: collectives.reduce_scatter([src], [dst], GROUP, 0,
                                                                     nl.maximum), 4, 6)
    for rank, one in enumerate(found):
        whole = np.maximum(data[rank // 2 * 2], data[rank // 2 * 2 + 1])
        assert_allclose(one, whole[rank % 2 * 4:][:4], rtol=0)


def test_all_to_all_exchanges_parts() -> None:
    data, found = ranked(lambda dst, src: collectives.all_to_all([src], [dst], GROUP), 8, 6)
    for rank, one in enumerate(found):
        parts = [data[other][rank % 2 * 4:][:4] for other in (rank // 2 * 2, rank // 2 * 2 + 1)]
        assert_allclose(one, np.concatenate(parts), rtol=0)


def test_a_ring_sends_to_the_successor() -> None:
    data, found = ranked(lambda dst, src: collectives.collective_permute_implicit(
        [[src]], [[dst]], GROUP), 8, 6)
    for rank, one in enumerate(found):
        assert_allclose(one, data[rank // 2 * 2 + (rank + 1) % 2], rtol=0)


def test_a_ring_with_a_reduction_sends_the_sum() -> None:
    data, found = ranked(lambda dst, src: collectives.collective_permute_implicit_reduce(
        [[src]], [[src]], [[dst]], GROUP, nl.add), 8, 6)
    for rank, one in enumerate(found):
        assert_allclose(one, 2 * data[rank // 2 * 2 + (rank + 1) % 2], rtol=0)


def test_a_rank_that_receives_nothing_keeps_what_it_has() -> None:
    def body(dst: Any, src: Any) -> None:
        nisa.dma_copy(dst, src)
        collectives.collective_permute([src], [dst], [(0, 3)])
    data, found = ranked(body, 8, 6)
    for one, wanted in zip(found, (*data[:3], data[0]), strict=True):
        assert_allclose(one, wanted, rtol=0)


def test_every_rank_knows_its_number() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((1, 6), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x.ap([[6, 1], [1, 6]], scalar_offset=collectives.rank_id()))
        return out
    data = normal(RANKS, 6)
    found = run_ranks(kernel, [{"x": data}] * RANKS)
    assert_allclose(np.concatenate(found), data, rtol=0)


def test_the_data_of_a_rank_alone_stand_for_those_of_all() -> None:
    def kernel(x: Any) -> Any:
        dst = nl.ndarray((16, 6), dtype=x.dtype, buffer=nl.shared_hbm)
        collectives.all_gather([x], [dst], GROUP)
        return dst
    data = normal(8, 6)
    program = trace(kernel, [data], values=True, api="nki")
    assert_allclose(program.outputs, np.concatenate([data, data]), rtol=0)
    assert any("the data of rank 0 stand for those of all ranks" in one for one in program.notes)


@pytest.mark.parametrize(("groups", "message"), [
    ([[0, 1]], "all_reduce: rank 2 is in none of the groups"),
    ([[0, 1, 2, 3, 4]], "the group has rank 4, but 4 ranks run; pass arguments for all")])
def test_a_group_that_does_not_fit_the_ranks_is_an_error(groups: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        ranked(lambda dst, src: collectives.all_reduce([src], [dst], groups, nl.add), 8, 6)


def test_a_rank_that_waits_for_ever_is_an_error() -> None:
    def body(dst: Any, src: Any) -> None:
        if collectives.rank_id().value == 0:
            collectives.all_reduce([src], [dst], GROUP, nl.add)
    with pytest.raises(ProgramError, match=r"rank 0 waits for ranks \[0, 1\] in a collective, "
                                           "which never comes"):
        ranked(body, 8, 6)


def test_counts_of_the_run_time_have_no_values() -> None:
    def kernel(x: Any, counts: Any) -> None:
        collectives.all_gather_v([x], [x], GROUP, counts)
    with pytest.raises(UnsupportedFeature, match="the values of all_gather with counts"):
        run_kernel(kernel, normal(8, 6), integers(0, 2, 3, 4), api="nki")
