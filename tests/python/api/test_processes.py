# SPDX-License-Identifier: Apache-2.0
# Tests of kernels, results and traces that go from one process to another.
"""Kernels are pickled by their names; tuners hand them to pools of processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import trnsim
import nki
import neuronxcc.nki as legacy
from api_kernels import double, plain
from trnsim.frontend.kernel import Kernel, mark_as_written

X = "float32[512,256]"


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_pool_of_processes_simulates_kernels_as_this_one_does(start: str) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(start)) as pool:
        times = [pool.submit(trnsim.simulate, kernel, X, chip=chip)
                 for kernel, chip in ((double, "trn1"), (double[2], "trn2"))]
        found = [time.result() for time in times]
    assert [one.latency_us for one in found] == [
        trnsim.simulate(double, X, chip="trn1").latency_us,
        trnsim.simulate(double[2], X, chip="trn2").latency_us]
    assert found[0].to_dict()["input"] == trnsim.simulate(double, X, chip="trn1").to_dict()["input"]


def round_trip(kernel: Any) -> Any:
    return pickle.loads(pickle.dumps(kernel))


def test_a_kernel_keeps_what_it_was_given() -> None:
    kernel = mark_as_written(double[2].with_schedule([("a", ["b"])]))
    for same in (round_trip(kernel), copy.copy(kernel), copy.deepcopy(kernel)):
        assert same is not kernel and type(same) is Kernel
        assert vars(same) == vars(kernel)
    assert round_trip(double).grid == () and double.grid == ()


def test_a_function_that_is_a_kernel_elsewhere_is_one_there_too() -> None:
    kernel = round_trip(nki.jit(plain))
    assert isinstance(kernel, Kernel) and kernel.function is plain


def test_kernels_of_the_old_api_keep_their_grid_and_their_timing() -> None:
    kernel = round_trip(legacy.jit(plain)[3, 5])
    assert type(kernel) is type(legacy.jit(plain)) and repr(kernel) == "<kernel plain[3, 5]>"
    timed = round_trip(legacy.benchmark(warmup=2, iters=5)(plain)[4])
    assert timed.method == "benchmark" and timed.options == {"warmup": 2, "iters": 5}
    assert repr(timed.inner) == "<kernel plain[4]>"


@pytest.mark.parametrize("language", [nki.language, legacy.language])
def test_operators_are_found_where_kernels_find_them(language: Any) -> None:
    for name in ("add", "exp", "reciprocal", "logical_not", "floor", "max", "sum", "load"):
        function = getattr(language, name)
        assert round_trip(function) is function


def test_a_kernel_without_a_name_of_its_own_says_what_to_do() -> None:
    def local(x: Any) -> Any:
        return x
    for kernel, name in ((nki.jit(local), "local"), (nki.jit(lambda x: x), "<lambda>")):
        with pytest.raises(pickle.PicklingError, match=f"kernel {name}: {__name__}.*{name} is not "
                           "where another process would find it; define it at the top of a file"):
            pickle.dumps(kernel)


def test_a_trace_says_that_files_are_passed() -> None:
    with pytest.raises(TypeError, match="a trace of double cannot be pickled; save it with save"):
        pickle.dumps(trnsim.trace(double, X))


def test_results_and_comparisons_are_pickled_whole(tmp_path: Path) -> None:
    comparison = round_trip(trnsim.compare(double, X, chips=["trn1", "trn2"]))
    assert comparison.to_dict() == trnsim.compare(double, X, chips=["trn1", "trn2"]).to_dict()
    comparison["trn2"].timeline(tmp_path / "t.pftrace")
    assert (tmp_path / "t.pftrace").stat().st_size > 0
