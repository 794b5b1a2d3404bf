# SPDX-License-Identifier: Apache-2.0
# What a benchmarked kernel says after its launch, and what it refuses.
"""TimedKernel: one latency for every percentile, and stand-ins for the files that AWS writes."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest
from trnsim.frontend import UserError, install

install()
nki: Any = importlib.import_module("neuronxcc.nki")


def benchmarked(**options: Any) -> Any:
    @nki.benchmark(warmup=1, iters=2, **options)
    def kernel(x: Any) -> Any:
        return x
    return kernel


def test_every_percentile_is_the_simulated_latency() -> None:
    kernel = benchmarked()
    kernel.launched(12.5)
    latency = kernel.benchmark_result.nc_latency
    assert [latency.get_latency_percentile(one) for one in (0, 50, 99.9, 100)] == [12.5] * 4
    assert repr(kernel.benchmark_result) == "BenchmarkResult(nc_latency=Latency(12.50 us, simulated))"


@pytest.mark.parametrize("percentile", [-1, 100.5])
def test_a_percentile_is_from_0_to_100(percentile: float) -> None:
    kernel = benchmarked()
    kernel.launched(12.5)
    with pytest.raises(UserError, match=f"percentile {percentile}, but it is 0 to 100"):
        kernel.benchmark_result.nc_latency.get_latency_percentile(percentile)


def test_a_launch_on_a_grid_is_one_of_the_kernel_and_of_no_other_grid() -> None:
    kernel = benchmarked()
    one, two = kernel[1], kernel[2]
    one.launched(12.5)
    two.launched(7.5)
    assert [each.benchmark_result.nc_latency.get_latency_percentile(50)
            for each in (one, two, kernel)] == [12.5, 7.5, 7.5]


def test_there_is_no_result_before_a_launch() -> None:
    with pytest.raises(UserError, match="kernel kernel has no benchmark_result; launch it before"):
        _ = benchmarked().benchmark_result


def files_of(folder: Path, kernel: Any) -> list[str]:
    """What a launch leaves in a folder."""
    kernel.launched(3.0)
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(("options", "files"), [
    ({}, ["file.neff", "json_reports/profile.json", "profile.ntff"]),
    ({"save_neff_name": "k.neff", "save_trace_name": "t.ntff", "num_execs": 20, "profile_nth": 10},
     ["json_reports/t_exec_10.json", "json_reports/t_exec_20.json", "k.neff", "t_exec_10.ntff",
      "t_exec_20.ntff"]),
    ({"profile_nth": 2},
     ["file.neff", "json_reports/profile_exec_2.json", "profile_exec_2.ntff"])])
def test_a_profile_has_a_trace_and_a_report_for_each_profiled_execution(
        tmp_path: Path, options: dict[str, Any], files: list[str]) -> None:
    kernel = nki.profile(working_directory=str(tmp_path), **options)(lambda x: x)
    assert files_of(tmp_path, kernel) == files


@pytest.mark.parametrize("decorator", ["baremetal", "benchmark", "jit", "profile"])
def test_every_decorator_saves_what_it_is_told_to(tmp_path: Path, decorator: str,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    decorate = getattr(nki, decorator)
    assert files_of(tmp_path, decorate(lambda x: x)) == []
    kernel = decorate(save_neff_name="file.neff", save_trace_name="p.ntff")(lambda x: x)
    assert files_of(tmp_path, kernel) == ["file.neff", "p.ntff"]


def test_a_mode_of_jit_benchmarks() -> None:
    kernel = nki.jit(mode="benchmark", warmup=1)(lambda x: x)
    kernel.launched(12.5)
    assert kernel.benchmark_result.nc_latency.get_latency_percentile(99) == 12.5


def test_files_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    benchmarked(save_neff_name="k.neff", working_directory=str(tmp_path / "new")).launched(3.0)
    assert "kernel kernel, simulated latency 3.000 us" in (tmp_path / "new" / "k.neff").read_text()
    with pytest.raises(UserError, match="k.neff: File exists; name another file or working_dir"):
        benchmarked(save_neff_name="k.neff",
                    working_directory=str(tmp_path / "new" / "k.neff")).launched(3.0)


def test_a_file_is_replaced_and_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "k.neff").write_text("of a compiler")
    os.link(tmp_path / "k.neff", tmp_path / "kept.neff")
    benchmarked(save_neff_name=str(tmp_path / "k.neff")).launched(3.0)
    assert "in place of a NEFF" in (tmp_path / "k.neff").read_text()
    assert (tmp_path / "kept.neff").read_text() == "of a compiler"


@pytest.mark.parametrize("name", ["neuronxcc.nki.jit", "neuronxcc.nki.benchmark",
                                  "neuronxcc.nki.profile", "nki.jit", "nki.benchmark"])
def test_a_decorator_of_what_is_no_function_says_so(name: str) -> None:
    home, _, decorator = name.rpartition(".")
    decorate = getattr(importlib.import_module(home), decorator)
    with pytest.raises(UserError, match=r"test_timed.py:\d+: a kernel is a function, but its "
                                        r"decorator is given <classmethod\(.*@classmethod stands"):
        decorate(classmethod(lambda cls: None))
    with pytest.raises(UserError, match="is given 'baremetal'; name what is not the function"):
        decorate("baremetal")
    assert decorate()(lambda x: x).name == "<lambda>"
