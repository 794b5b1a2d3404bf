# SPDX-License-Identifier: Apache-2.0
# Kernels on a logical NeuronCore of two cores.
"""kernel[2]: one program per core, shared tensors, barriers and exchanges."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from helpers import ops, tensor
from kernels import nisa, nki, nl
from trace_expander import expand_cores, parse
from trnsim.frontend import FrontendError, IllegalInstruction, UserError, trace

X = tensor("float32", 256, 64)


def sbuf(*shape: int) -> Any:
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)


@nki.jit
def halves(x: Any) -> Any:
    core, rows = nl.program_id(0), x.shape[0] // nl.num_programs()
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scratch = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.private_hbm)
    tile = nl.load(x[core * rows:(core + 1) * rows, 0:64])
    nl.store(scratch[0:rows, 0:64], tile)
    nl.store(out[core * rows:(core + 1) * rows, 0:64], tile)
    nisa.core_barrier(out, (0, 1))
    return out


def test_each_core_has_a_program_of_its_own() -> None:
    first, second = expand_cores(trace(halves[2], [X]).lines())
    assert ops(first) == ops(second) == ["dma_copy", "dma_copy", "dma_copy", "core_barrier"]
    assert first[0].operand("src")[6] == 0
    assert second[0].operand("src")[6] == 128 * 64


def test_a_grid_of_the_decorator_is_that_of_the_launch() -> None:
    on_both = trace(halves[2], [X]).lines()
    for kernel in (nki.jit(grid=[2])(halves.function), nki.jit(halves, grid=2)):
        assert trace(kernel, [X]).lines() == on_both
        assert trace(kernel[1], [tensor("float32", 128, 64)]).cores == 1
    assert trace(nki.jit(halves.function, grid=None), [tensor("float32", 128, 64)]).cores == 1
    with pytest.raises(UserError, match=r"halves is launched on a grid of \[3\], 3 programs"):
        nki.jit(grid=3)(halves.function)


def test_the_header_and_the_summary_are_of_all_cores() -> None:
    program = trace(halves[2], [X])
    assert parse(program.lines()).header["cores"] == program.cores == 2
    assert program.instructions == 8
    assert "cores" not in parse(trace(halves[1], [tensor("float32", 128, 64)]).lines()).header


def test_shared_tensors_have_the_same_name_in_both_cores() -> None:
    buffers = parse(trace(halves[2], [X]).lines()).buffers.values()
    shared = [(one["name"], one.get("kind"), one.get("shared")) for one in buffers
              if one["space"] == "hbm"]
    expected = [("x", "input", "x"), ("scratch", None, None), ("out", "output", "out")]
    assert shared == expected * 2


def test_a_result_in_private_memory_is_warned_of() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        regions.append(x.buffer)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
        nisa.dma_copy(out, x)
        return out
    regions: list[Any] = []
    (note,) = trace(kernel[2], [X]).notes
    assert "'out' is returned, but every core has one of its own" in note
    (note,) = trace(kernel[1], [X]).notes
    assert re.search(r"test_cores.py:\d+: 'out' is returned, but it is in nl.private_hbm, which "
                     r"NKI 0.3.0 and later do not compile; allocate it in nl.shared_hbm", note)
    assert regions == [nl.shared_hbm, nl.shared_hbm, nl.hbm]


def test_tensors_of_the_same_name_are_shared_in_their_order() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        def make() -> Any:
            result = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
            nl.store(result, nl.load(x[0:128, 0:64]))
            return result
        first = make()
        second = make()
        return first, second
    buffers = parse(trace(kernel[2], [X]).lines()).buffers.values()
    assert [one["shared"] for one in buffers if "shared" in one] == [
        "x", "result", "result.2"] * 2


def test_a_barrier_orders_what_it_is_given() -> None:
    lines = trace(halves[2], [X]).lines()
    barrier = next(one for one in parse(lines).templates.values() if one["op"] == "core_barrier")
    assert barrier["attributes"] == {"cores": [0, 1]}
    assert [(one["role"], one["access"]) for one in barrier["operands"]] == [("dst", "update")]


def swap(**options: Any) -> Callable[[Any], None]:
    def kernel(x: Any) -> None:
        other = 1 - nl.program_id()
        sent, received = sbuf(128, 64), sbuf(128, 64)
        nisa.memset(sent, value=0)
        nisa.sendrecv(**{"src": sent, "dst": received, "send_to_rank": other,
                         "recv_from_rank": other, "pipe_id": 3, **options})
    return nki.jit(kernel)  # type: ignore[no-any-return]


def test_an_exchange_names_both_ends() -> None:
    first, second = expand_cores(trace(swap()[2], [X]).lines())  # type: ignore[index]
    assert (first[1].op, first[1].engines) == ("sendrecv", ("dma",))
    assert dict(first[1].attributes) == {"send_to": "1", "recv_from": "1", "pipe": "3"}
    assert dict(second[1].attributes)["send_to"] == "0"


def test_the_gpsimd_engine_exchanges_small_tiles_only() -> None:
    gpsimd = nisa.dma_engine.gpsimd_dma
    core = expand_cores(trace(swap(dma_engine=gpsimd)[2], [X]).lines())[0]  # type: ignore[index]
    assert dict(core[1].attributes)["gpsimd_dma"] == "true"

    def kernel(x: Any) -> None:
        nisa.sendrecv(sbuf(128, 512), sbuf(128, 512), 1, 1, 0, dma_engine=gpsimd)
    with pytest.raises(IllegalInstruction, match=r"test_cores.py:\d+: sendrecv: src has 2048 "
                                                 "bytes per partition, but gpsimd_dma moves at"):
        trace(nki.jit(kernel)[2], [X])


@pytest.mark.parametrize(("body", "message"), [
    (lambda x: nisa.sendrecv_compute(sbuf(64, 8), sbuf(64, 8), 2, 1, nl.add),
     "sendrecv_compute: send_to_rank is 2, but the kernel runs on 2 cores; launch it"),
    (lambda x: nisa.sendrecv_compute(sbuf(64, 8), sbuf(64, 8), 1, 1, nl.multiply),
     "reduce_op of sendrecv_compute is multiply, but collectives reduce with add, minimum, max"),
    (lambda x: nisa.sendrecv_compute(sbuf(64, 8), sbuf(64, 9), 1, 1, nl.add),
     r"sendrecv: src is sbuf float32\[64, 8\], .* but dst is sbuf float32\[64, 9\]"),
    (lambda x: nisa.sendrecv_compute(x, x, 1, 1, nl.add), "sendrecv_compute in HBM")])
def test_an_exchange_that_reduces_is_checked(body: Callable[[Any], Any], message: str) -> None:
    def kernel(x: Any) -> None:
        body(x)
    with pytest.raises(FrontendError, match=r"test_cores.py:\d+: .*" + message):
        trace(nki.jit(kernel)[2], [X])


def test_an_exchange_needs_a_partner() -> None:
    with pytest.raises(IllegalInstruction, match="send_to_rank is 1, but the kernel runs on 1 "):
        trace(swap(), [X])
    with pytest.raises(IllegalInstruction, match="send_to_rank is 5, but the kernel runs on 2"):
        trace(swap(send_to_rank=5)[2], [X])  # type: ignore[index]


def test_cores_and_pipes_are_whole_numbers() -> None:
    with pytest.raises(UserError, match="pipe_id of sendrecv is 0.5, but must be an integer"):
        trace(swap(pipe_id=0.5)[2], [X])  # type: ignore[index]
    with pytest.raises(UserError, match="an element of cores of core_barrier is 1.5, but must be"):
        trace(nki.jit(lambda x: nisa.core_barrier(x, (0, 1.5)))[2], [X])


def test_an_exchange_converts_nothing() -> None:
    def kernel(x: Any) -> None:
        half = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.sendrecv(half, sbuf(128, 64), 1, 1, 0)
    with pytest.raises(IllegalInstruction, match="sendrecv: src is bfloat16 and dst is float32"):
        trace(nki.jit(kernel)[2], [X])


def test_an_exchange_is_of_one_shape() -> None:
    def kernel(x: Any) -> None:
        nisa.sendrecv(nl.ndarray((128, 8, 8), dtype=nl.float32, buffer=nl.sbuf), sbuf(128, 64), 1,
                      1, 0)
    with pytest.raises(IllegalInstruction, match=r"test_cores.py:\d+: sendrecv: src has shape "
                       r"\[128, 8, 8\] and dst \[128, 64\], but both must be equal"):
        trace(nki.jit(kernel)[2], [X])


def test_a_barrier_is_of_all_cores() -> None:
    def kernel(x: Any) -> None:
        nisa.core_barrier(x, (0,))
    with pytest.raises(IllegalInstruction, match=r"core_barrier: cores is \[0\], but all of"):
        trace(nki.jit(kernel)[2], [X])


def test_a_barrier_is_on_what_both_cores_see() -> None:
    def kernel(x: Any) -> None:
        nisa.core_barrier(nl.ndarray((128, 8), dtype=nl.float32, buffer=nl.private_hbm), (0, 1))
    with pytest.raises(IllegalInstruction, match=r"test_cores.py:\d+: core_barrier: data is '.*' in "
                       "private HBM, which the other core does not see; allocate it in nl.shared"):
        trace(nki.jit(kernel)[2], [X])


def test_a_chip_without_logical_cores_runs_one_program() -> None:
    with pytest.raises(UserError, match="halves is launched on 2 cores, but trn1 has Neuron"):
        trace(halves[2], [X], "trn1")


@pytest.mark.parametrize(("name", "is_returned", "is_warned"), [
    (None, False, True), ("scores", False, False), (None, True, False)])
def test_a_barrier_over_a_tensor_without_a_name_is_warned_of(name: str | None, is_returned: bool,
                                                             is_warned: bool) -> None:
    @nki.jit
    def met(x: Any) -> Any:
        core = nl.program_id(0)
        scores = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm, name=name)
        out = scores if is_returned else nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x[core * 128:(core + 1) * 128, 0:64])
        nl.store(scores[core * 128:(core + 1) * 128, 0:64], tile)
        nisa.core_barrier(scores, (0, 1))
        other = nl.load(scores[(1 - core) * 128:(2 - core) * 128, 0:64])
        if not is_returned:
            nl.store(out[core * 128:(core + 1) * 128, 0:64], other)
        return out
    line = met.function.__code__.co_firstlineno + 7
    warnings = [note for note in trace(met[2], [X]).notes if "core_barrier over" in note]
    assert len(warnings) == is_warned
    if is_warned:
        assert f"test_cores.py:{line}" in warnings[0]
        assert "'scores', which is in nl.shared_hbm without a name and is not returned" in warnings[0]


def places(*grid: int) -> list[Any]:
    """What every core of a grid says about its place."""
    @nki.jit
    def kernel(x: Any) -> Any:
        ranks = range(nl.program_ndim())
        found.append((nl.program_ndim(), [nl.program_id(axis) for axis in ranks],
                      [nl.num_programs(axis) for axis in ranks], nl.num_programs()))
        return x
    found: list[Any] = []
    trace(kernel[grid] if grid else kernel, [X])
    return found


@pytest.mark.parametrize(("grid", "expected"), [
    ((), [(0, [], [], 1)]), ((1,), [(1, [0], [1], 1)]),
    ((2,), [(1, [0], [2], 2), (1, [1], [2], 2)]),
    ((1, 2), [(2, [0, 0], [1, 2], 2), (2, [0, 1], [1, 2], 2)]),
    ((2, 1), [(2, [0, 0], [2, 1], 2), (2, [1, 0], [2, 1], 2)])])
def test_a_program_knows_its_place_along_every_axis_of_the_grid(
        grid: tuple[int, ...], expected: list[Any]) -> None:
    assert places(*grid) == expected


@pytest.mark.parametrize(("grid", "ask", "message"), [
    ((2,), lambda: nl.program_id(1), r"nl.program_id: axis 1, but the launch grid \[2\] has 0; choose"),
    ((1, 2), lambda: nl.program_id(axis=2),
     r"nl.program_id: axis 2, but the launch grid \[1, 2\] has 0, 1; choose"),
    ((2,), lambda: nl.program_id(-1), "nl.program_id: axis -1, but"),
    ((2,), lambda: nl.num_programs((0, 1)), "nl.num_programs: axis 1, but the launch grid"),
    ((1,), lambda: nl.program_id("x"), "an axis of nl.program_id is 'x', but must be an integer"),
    ((), lambda: nl.program_id(1), "nl.program_id: axis 1, but a kernel without a grid has 0; choose "
                                   "one of them, or launch the kernel on a grid of more dimensions")])
def test_an_axis_that_the_grid_does_not_have_is_an_error(grid: Any, ask: Any, message: str) -> None:
    kernel = nki.jit(lambda x: (ask(), x)[1])
    with pytest.raises(UserError, match=rf"test_cores.py:\d+: {message}"):
        trace(kernel[grid] if grid else kernel, [X])


def test_a_kernel_without_a_grid_is_program_0_of_1() -> None:
    def kernel(x: Any) -> Any:
        assert (nl.program_id(0), nl.program_id(), nl.num_programs(0), nl.num_programs()) == (
            0, 0, 1, 1)
        assert nl.num_programs(axes=(0,)) == 1
        return x
    trace(nki.jit(kernel), [X])


@pytest.mark.parametrize(("more", "message"), [
    ({"use_gpsimd_dma": True}, "sendrecv: use_gpsimd_dma is not a parameter; pass src, .* instead of "
                               "use_gpsimd_dma, which NKI 0.3.0 took away, dma_engine=nisa.dma_engine"),
    ({"engine": nisa.engine.gpsimd}, "sendrecv: engine is not a parameter; pass src, dst, send_to"),
    ({"dma_engine": True}, "sendrecv: dma_engine is True, but must be nisa.dma_engine.dma or nisa."),
    ({"dma_engine": nisa.engine.gpsimd}, "sendrecv: dma_engine is .*gpsimd.*, but must be nisa.dma_"),
])
def test_a_sendrecv_takes_its_own_parameters_only(more: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=rf"test_cores.py:\d+: {message}"):
        trace(swap(**more)[2], [X])  # type: ignore[index]


@pytest.mark.parametrize("loop", [nl.affine_range, nl.sequential_range, nl.static_range])
def test_a_range_takes_no_hints(loop: Any) -> None:
    name = loop.__name__
    with pytest.raises(UserError, match=rf"{name}\(\) got an unexpected keyword argument 'unroll'; it "
                                        rf"is called as {name}\(start, stop, step\)"):
        trace(nki.jit(lambda x: (nl.affine_range(4, unroll=2) if name == "affine_range" else
                                 nl.sequential_range(4, unroll=2) if name == "sequential_range" else
                                 nl.static_range(4, unroll=2), x)[1]), [X])


def test_a_result_is_written_if_any_core_writes_it() -> None:
    def kernel(x: Any) -> Any:
        first = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        second = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        third = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(second if nl.program_id(0) else first, x)
        return first, second, third
    line = kernel.__code__.co_firstlineno + 3
    assert trace(nki.jit(kernel)[2], [X]).notes == [
        f"test_cores.py:{line}: the returned tensor 'third' is never written"]
