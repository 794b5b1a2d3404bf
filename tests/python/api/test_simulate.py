# SPDX-License-Identifier: Apache-2.0
# Tests of trnsim.simulate, compare and trace.
"""What the API answers, and how it answers mistakes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trnsim
from api_kernels import counted, counted_half, double, half_loaded, masked, overflowing
from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.recorder import Note
from trnsim.result import Result

ROOT = Path(__file__).resolve().parents[3]
X = "float32[512,256]"


def test_a_result_is_typed_and_its_times_add_up() -> None:
    result = trnsim.simulate(double, X, times=3)
    assert result.kernel == "double" and result.chip == "trainium2"
    assert result.arguments == (X, "times=3")
    assert result.latency_us == result.summary["latency_us"] > 15
    for engine in result.engines.values():
        parts = (engine.active_us + engine.wait_semaphore_us + engine.wait_dma_us
                 + engine.wait_port_us + engine.idle_us)
        assert parts == pytest.approx(result.latency_us, abs=1e-6)
    assert result.engines["vector"].instruction_count == 12
    assert sum(time for _, time in result.critical_path) == pytest.approx(result.latency_us)
    assert result.needs_us[result.bound_by] == max(result.needs_us.values())
    assert "api_kernels.py" in result.attribution[0].source


def test_times_are_in_whole_picoseconds() -> None:
    result = trnsim.simulate(double, X, times=3)
    times = [*result.needs_us.values(), *(time for _, time in result.critical_path)]
    for engine in result.engines.values():
        times += [engine.active_us, engine.wait_semaphore_us, engine.wait_dma_us, engine.idle_us]
    for line in result.attribution:
        times += [line.active_us, line.stalled_us, line.on_critical_path_us, *line.waited_for_us.values()]
    assert len(times) > 30 and all(len(repr(time).partition(".")[2]) <= 6 for time in times)


def test_the_text_is_the_report_and_the_dict_the_result_file() -> None:
    result = trnsim.simulate(double, X)
    assert str(result).startswith("double on trainium2, one NeuronCore-v3\n")
    data = result.to_dict()
    assert data["schema_version"] == 1 and data["input"] == "double"
    data["summary"].clear()
    assert result.summary
    assert repr(result).startswith("<trnsim.Result double on trainium2: ")


def test_the_method_reaches_the_simulator() -> None:
    profiled = trnsim.simulate(double, X)
    benchmarked = trnsim.simulate(double, X, method="benchmark")
    assert benchmarked.latency_us < profiled.latency_us
    both = trnsim.compare(double, X, chips=("trn2",), method="benchmark")
    assert both["trn2"].latency_us == benchmarked.latency_us
    with pytest.raises(trnsim.UserError, match="stopwatch.*profiler"):
        trnsim.simulate(double, X, method="stopwatch")


def test_arrays_and_texts_are_the_same_argument() -> None:
    assert (trnsim.simulate(double, np.zeros((512, 256), np.float32)).to_dict()
            == trnsim.simulate(double, X).to_dict())


def test_files_name_kernels_and_traces(tmp_path: Path) -> None:
    kernel = f"{Path(__file__).with_name('api_kernels.py')}::double"
    by_name = trnsim.simulate(kernel, X)
    trace = tmp_path / "double.nkt"
    trnsim.trace(double, X).save(trace)
    by_trace = trnsim.simulate(trace)
    assert by_name.latency_us == by_trace.latency_us == trnsim.simulate(double, X).latency_us
    with pytest.raises(trnsim.UserError, match="has its arguments in it; leave them out"):
        trnsim.simulate(trace, X)


def test_what_was_traced_is_simulated_without_a_file() -> None:
    traced = trnsim.trace(double, X)
    assert repr(traced) == "<trace of double for trn2, 12 instructions>"
    result = trnsim.simulate(traced)
    assert result.latency_us == trnsim.simulate(double, X).latency_us
    assert result.to_dict()["input"] == "double"
    compared = trnsim.compare(traced, chips=["trn2", "trn3"])
    assert repr(compared).startswith(f"<Comparison trn2 {result.latency_us:.2f} us, trn3 ")
    with pytest.raises(trnsim.UserError, match="<trace of double .* has its arguments in it"):
        trnsim.simulate(traced, X)


def test_the_package_lists_what_it_has() -> None:
    assert {"simulate", "compare", "trace", "testing"} < set(dir(trnsim))
    assert all(hasattr(trnsim, name) for name in dir(trnsim))
    assert "MetaPathFinder" not in dir(trnsim)


def test_a_kernel_may_do_what_settings_allow() -> None:
    wide = "float32[128,60000]"
    with pytest.raises(trnsim.ProgramError, match="240000"):
        trnsim.simulate(double, wide)
    larger = {f"neuron_core.sbuf.{name}": 500 for name in ("partition_kib", "usable_partition_kib")}
    assert trnsim.simulate(double, wide, settings=larger).latency_us > 100
    with pytest.raises(trnsim.ProgramError, match="240000"):
        trnsim.simulate(double, wide)
    with pytest.raises(trnsim.UserError, match="allowed is a whole number"):
        trnsim.simulate(double, X, settings={"neuron_core.sbuf.partition_kib": "inf"})
    recorded = trnsim.trace(double, wide, settings=larger)
    assert (trnsim.simulate(recorded, settings=larger).latency_us
            == trnsim.simulate(double, wide, settings=larger).latency_us)


@pytest.mark.parametrize(("settings", "message"), [
    ({"dma.engines": 8}, "settings: dma.engines=8 is none that a kernel is recorded with, as neuron"),
    ({"neuron_core.psum.banks": "many"}, "settings: neuron_core.psum.banks=many is no value of a")])
def test_a_kernel_is_recorded_with_limits_only(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(trnsim.UserError, match=message):
        trnsim.trace(double, X, settings=settings)


def test_permission_is_for_traces() -> None:
    with pytest.raises(trnsim.UserError, match="permissive: .*double is a kernel, which is record"):
        trnsim.simulate(double, X, permissive=True)
    assert trnsim.simulate(trnsim.trace(double, X), permissive=True).latency_us > 0


def test_settings_policies_cores_and_chips_change_the_result(tmp_path: Path) -> None:
    plain = trnsim.simulate(double, X)
    slow = trnsim.simulate(double, X, settings={"neuron_core.vector_engine.clock_ghz": 0.1})
    assert slow.latency_us > plain.latency_us
    assert slow.to_dict()["config_overrides"] == ["neuron_core.vector_engine.clock_ghz"]
    ungated = "neuron_core.tensor_engine.clock_gate.enabled"
    for flag in (False, np.bool_(False)):
        assert trnsim.simulate(double, X, settings={ungated: flag}).to_dict()[
            "config_overrides"] == [ungated]
    assert trnsim.simulate(double, X, policies=["dma_rings=1"]).to_dict()[
        "policies"]["dma_rings"] == "1"
    assert len(trnsim.simulate(double, X, cores=2).to_dict()["cores"]) == 2
    assert len(trnsim.simulate(double[2], X).to_dict()["cores"]) == 2
    assert trnsim.simulate(double, X, chip="trn3").chip == "trainium3"
    timeline = tmp_path / "timeline.pftrace"
    instructions = tmp_path / "instructions.json"
    trnsim.simulate(double, X, timeline=timeline, instructions=instructions)
    assert timeline.stat().st_size > 0
    assert instructions.read_text().startswith('{"kind":"instructions"')
    again = tmp_path / "again.pftrace"
    trnsim.simulate(double, X).timeline(again)
    assert again.read_bytes() == timeline.read_bytes()
    trace = tmp_path / "kernel.nkt"
    trnsim.trace(double, X).save(trace)
    trnsim.simulate(trace).timeline(str(again))
    assert again.stat().st_size > 0
    with pytest.raises(UserError, match="^timeline .*: cannot be written"):
        trnsim.simulate(trace).timeline(tmp_path / "none" / "t.pftrace")


def test_a_result_without_a_trace_has_no_timeline_and_a_count_of_stalls_is_none_below_zero() -> None:
    result = trnsim.simulate(double, X)
    for count in (-1, "3", 2.5):
        with pytest.raises(UserError, match=f"count is {count!r}, but a number of stalls is nee"):
            result.stalls(count)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="path is 3, but the path of a file to write is needed"):
        result.timeline(3)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="has no trace to simulate again"):
        Result(result.to_dict(), str(result)).timeline("t.pftrace")


def test_compare_has_a_result_for_each_chip() -> None:
    found = trnsim.compare(double, X, chips=("trn1", "trn3"))
    assert list(found) == ["trn1", "trn3"] and found.fastest in found
    assert found["trn1"].chip == "trainium1" and not found.errors
    assert str(found).splitlines()[0].split() == ["chip", "latency", "speed-up", "bound", "by"]
    with pytest.raises(trnsim.UserError, match="trn9"):
        trnsim.compare(double, X, chips=["trn9"])
    with pytest.raises(trnsim.UserError, match="chips: trn1 and trn1 are the same chip; remove one"):
        trnsim.compare(double, X, chips=["trn1", "trn2", "trn1"])
    with pytest.raises(trnsim.UserError, match="chips: trn2 and trainium2 are the same chip"):
        trnsim.compare(double, X, chips=["trn2", "trainium2"])
    for chips in ("trn2", []):
        with pytest.raises(trnsim.UserError, match="but a list of chips is needed; name some"):
            trnsim.compare(double, X, chips=chips)
    partly = trnsim.compare(double, X, chips=["trn2", "trn9"])
    assert list(partly) == ["trn2"] and "trn9" in partly.errors["trn9"]


def test_the_environment_chooses_the_chip_and_an_argument_is_stronger(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "gen4")
    assert trnsim.simulate(double, X).chip == "trainium3"
    assert trnsim.simulate(double, X, chip="trn1").chip == "trainium1"
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn9")
    with pytest.raises(trnsim.UserError, match="'trn9' is not a target, targets are trn1, gen2"):
        trnsim.simulate(double, X)


@pytest.mark.parametrize(("kernel", "arguments", "error", "message"), [
    (overflowing, [X], trnsim.ProgramError, "takes 256 partitions"),
    (double, [], trnsim.UserError, "missing a required argument"),
    ("nowhere.py::f", [], trnsim.UserError, "nowhere.py: there is no such file"),
    (4, [], trnsim.UserError, "a kernel is a function, file.py::function or a trace"),
])
def test_a_mistake_is_an_exception_with_the_message_of_the_command_line(
        kernel: object, arguments: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        trnsim.simulate(kernel, *arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(("arguments", "keywords", "message"), [
    ((), {}, "missing a required argument: 'x'; give one value for each parameter"),
    ((X, 1, 2), {}, "too many positional arguments; give values to these parameters only"),
    ((X,), {"tims": 2}, "got an unexpected keyword argument 'tims'; give values to these parameters"),
    (("bf16[512,256]",), {}, "'bf16[512,256]': there is no data type 'bf16'; did you mean"),
    (("float32[512x256]",), {}, "'float32[512x256]' is not a tensor; write its shape as numbers"),
    ((X,), {"settings": {"clock": 1}}, "settings: clock=1: the chip has no"),
    ((X,), {"cores": 0}, "cores is 0, but a kernel runs on 1 NeuronCore at least; give a number"),
    ((X,), {"cores": "2"}, "cores is '2', but a kernel runs on 1 NeuronCore at least"),
    ((X,), {"cores": True}, "cores is True, but a kernel runs on 1 NeuronCore at least"),
    ((X,), {"cores": 99}, "NeuronCores"),
    ((X,), {"settings": 3}, "settings and policies are dicts, or texts like 'path=value', but this"),
    ((X,), {"policies": [3]}, "or texts like 'path=value', but this is [3]; write {path: value}"),
    ((X,), {"trip_counts": 3}, "trip_counts is 3, but a dict is needed; write {register: count}"),
    ((X,), {"trip_counts": {"i": "8"}}, "trip_counts: the loop over register 'i' runs '8' times, but"),
    ((X,), {"trip_counts": {"i": True}}, "the loop over register 'i' runs True times, but a number"),
    ((X,), {"trip_counts": {"i": -1}}, "trip_counts: the loop over register 'i' runs -1 times, but"),
    ((X,), {"values": "no"}, "values is 'no', but True or False is needed; give one of them"),
    ((X,), {"timeline": "nowhere/at/all"}, "timeline nowhere/at/all: cannot be written"),
    ((X,), {"method": "bench"}, "method is 'bench', allowed are 'profiler' and 'benchmark'; use"),
    ((X,), {"settings": ["dma.engines=4", "dma.engines=8"]},
     "settings: dma.engines=8: dma.engines is given twice, before as dma.engines=4; leave one out"),
    ((X,), {"policies": {"spiling": "off"}}, "policies: spiling: there is no such policy"),
])
def test_mistakes_are_told_in_the_words_of_python(arguments: Any, keywords: Any,
                                                  message: str) -> None:
    with pytest.raises(trnsim.UserError) as found:
        trnsim.simulate(double, *arguments, **keywords)
    assert message in str(found.value) and "--" not in str(found.value)


@pytest.mark.parametrize("name", ["timeline", "instructions"])
def test_a_kernel_is_not_overwritten(tmp_path: Path, name: str) -> None:
    file = tmp_path / "k.py"
    file.write_text("# a kernel\n")
    options: dict[str, Any] = {name: tmp_path / "." / "k.py"}
    with pytest.raises(trnsim.UserError, match=rf"{name} is .*, which would overwrite .*k\.py::f;"):
        trnsim.simulate(f"{file}::f", X, **options)
    assert file.read_text() == "# a kernel\n"


@pytest.mark.parametrize("chips", ["trn2", 3, [], None])
def test_chips_are_a_list(chips: Any) -> None:
    with pytest.raises(trnsim.UserError, match="but a list of chips is needed; name some, like"):
        trnsim.compare(double, X, chips=chips)


@pytest.mark.parametrize("chip", [2, "", ["trn2"]])
def test_what_is_no_name_is_no_chip(chip: Any) -> None:
    said = re.escape(f"chip is {chip!r}, but a chip's name or the path of a chip file is needed; "
                     "name one, like 'trn2'")
    with pytest.raises(trnsim.UserError, match=said):
        trnsim.simulate(double, X, chip=chip)
    with pytest.raises(trnsim.UserError, match=said):
        trnsim.trace(double, X, chip=chip)
    with pytest.raises(trnsim.UserError, match=said):
        trnsim.compare(double, X, chips=[chip])


@pytest.mark.parametrize("name", ["timeline", "instructions"])
@pytest.mark.parametrize("path", ["", "-", 3])
def test_files_have_names(name: str, path: Any) -> None:
    options: dict[str, Any] = {name: path}
    with pytest.raises(trnsim.UserError) as found:
        trnsim.simulate(double, X, **options)
    assert str(found.value) == (f"{name} is {path!r}, but the path of a file to write is needed; "
                                "name one, or leave it out")


@pytest.mark.parametrize("kernel", [dict, np.add, 3])
def test_what_is_no_function_is_no_kernel(kernel: Any) -> None:
    with pytest.raises(trnsim.UserError, match="a kernel is a function, file.py::fun"):
        trnsim.simulate(kernel, X)


def test_a_wrong_setting_is_told_by_the_simulator() -> None:
    with pytest.raises(trnsim.UserError, match="dma.engins"):
        trnsim.simulate(double, X, settings={"dma.engins": 1})


def test_a_binary_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRNSIM_BINARY", str(tmp_path / "nothing"))
    with pytest.raises(trnsim.UserError, match="TRNSIM_BINARY: .*nothing is not an executable"):
        trnsim.simulate(double, X)


def test_no_binary_is_an_error_that_says_how_to_get_one(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from trnsim import binary
    monkeypatch.delenv("TRNSIM_BINARY", raising=False)
    monkeypatch.setattr(binary, "_candidates", lambda: iter([tmp_path / "trnsim"]))
    (tmp_path / "trnsim").write_text("#!/bin/sh\n")
    (tmp_path / "trnsim").chmod(0o755)
    with pytest.raises(trnsim.UserError, match="is not found beside the Python package"):
        trnsim.simulate(double, X)


def test_a_package_alone_says_that_the_simulator_is_missing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tools" / "python" / "trnsim", tmp_path / "alone" / "trnsim",
                    ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "ask.py").write_text("import trnsim\nfrom api_kernels import double\n"
                                     f"trnsim.simulate(double, {X!r})\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TRNSIM_")}
    path = os.pathsep.join([str(tmp_path / "alone"), str(Path(__file__).parent)])
    ended = subprocess.run([sys.executable, "ask.py"], cwd=tmp_path, capture_output=True, text=True,
                           check=False, env={**kept, "PYTHONPATH": path, "PATH": str(tmp_path)})
    assert ended.stderr.splitlines()[-1].startswith(
        "trnsim.errors.UserError: trnsim: the simulator, a C++ program, is not found beside the "
        "Python package, on PATH, or in build/release of a source tree; build it with"), ended.stderr


def test_values_are_computed_if_they_are_asked_for() -> None:
    x = np.ones((128, 4), np.float32)
    assert np.all(trnsim.simulate(double, x, values=True).outputs == 2)
    assert trnsim.simulate(double, x).outputs is None


def test_what_nothing_has_written_is_an_error_or_nan() -> None:
    x = np.ones((128, 4), np.float32)
    with pytest.raises(trnsim.ProgramError, match=r"reads_unwritten, --reads-unwritten"):
        trnsim.simulate(half_loaded, x, values=True)
    found = trnsim.simulate(half_loaded, x, values=True, reads_unwritten=True).outputs
    assert (found[:, :2] == 1).all() and np.isnan(found[:, 2:]).all()
    with pytest.raises(trnsim.UserError, match="reads_unwritten is about values, which are not "
                                               "computed; pass values=True"):
        trnsim.simulate(half_loaded, x, reads_unwritten=True)


def test_what_nothing_has_written_may_be_nan_where_values_decide_loops() -> None:
    x, count = np.ones((128, 4), np.float32), np.full((1, 1), 3, np.int32)
    found = trnsim.simulate(counted_half, x, count, values=True, reads_unwritten=True)
    assert np.isnan(found.outputs[:, 2:]).all()
    assert found.engines["vector"].instruction_count == 3
    with pytest.raises(trnsim.ProgramError, match="reads_unwritten"):
        trnsim.simulate(counted_half, x, count, values=True)


def test_what_values_tell_is_a_warning_of_the_result() -> None:
    x = np.ones((128, 4), np.float32)
    plain, valued = trnsim.simulate(masked, x), trnsim.simulate(masked, x, values=True)
    assert not plain.warnings
    warning, = valued.warnings
    assert re.match(r"api_kernels.py:\d+: what nothing has written is multiplied by 0", warning)
    assert f"warning: {warning[:60]}" in str(valued) and valued.latency_us == plain.latency_us


def test_a_trace_takes_a_warning_once() -> None:
    first, second = (trnsim.trace(masked, "float32[128,4]") for _ in range(2))
    note = Note("warning", "slow", source.UNKNOWN)
    second.warn([note])
    for _ in range(2):
        first.warn(second.warnings)
    assert first.notes == ["slow"]


def test_loops_of_a_module_that_was_not_prepared_are_loops_in_the_trace() -> None:
    def body(x: object) -> None:
        double.function(x)
    names: dict[str, object] = {"inner": double.function}
    exec("def plain(x):\n    for i in range(64):\n        inner(x)\n", names)
    program = trnsim.trace(names["plain"], X)  # type: ignore[arg-type]
    assert len(program.lines()) < 64
    assert "range" not in names


def test_import_leaves_everything_to_later() -> None:
    code = ("import sys, trnsim; assert not {'numpy', 'nki', 'trnsim.frontend'} & set(sys.modules);"
            "import neuronxcc.nki.language, nki; print(nki.__doc__)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"PYTHONPATH": str(ROOT / "tools" / "python")})
    assert "impersonated by trnsim" in done.stdout
    with pytest.raises(AttributeError, match="it has Comparison"):
        trnsim.simulat  # type: ignore[attr-defined]  # noqa: B018


def test_the_user_says_how_often_a_loop_of_unknown_length_runs() -> None:
    arguments = ("float32[128,64]", "int32[1,1]")
    few, many = (trnsim.simulate(counted, *arguments, trip_counts={"rows": count})
                 for count in (3, 40))
    assert many.summary["hbm_read_bytes"] * 3 == few.summary["hbm_read_bytes"] * 40
    chips = trnsim.compare(counted, *arguments, chips=["trn2"], trip_counts={"rows": 40})
    assert chips["trn2"].latency_us == many.latency_us
    with pytest.raises(trnsim.UserError, match="a trip count for register 'row': no loop's end"):
        trnsim.simulate(counted, *arguments, trip_counts={"row": 3})


@pytest.mark.parametrize("count", [3, 6])
def test_values_say_how_often_a_loop_of_unknown_length_runs(count: int) -> None:
    array, rows = np.ones((128, 64), np.float32), np.full((1, 1), count, np.int32)
    valued = trnsim.simulate(counted, array, rows, values=True)
    told = trnsim.simulate(counted, array, rows, trip_counts={"rows": count})
    assert valued.latency_us == told.latency_us


def test_a_trace_has_its_trip_counts(tmp_path: Path) -> None:
    trnsim.trace(double, X).save(tmp_path / "x.nkt")
    with pytest.raises(trnsim.UserError, match="whose loops have their counts; leave trip_counts"):
        trnsim.simulate(tmp_path / "x.nkt", trip_counts={"rows": 3})


def test_a_trace_has_no_values(tmp_path: Path) -> None:
    trnsim.trace(double, X).save(tmp_path / "x.nkt")
    with pytest.raises(trnsim.UserError, match="x.nkt: is a trace, which has no values; leave "
                                               "values=True out or give the kernel"):
        trnsim.simulate(tmp_path / "x.nkt", values=True)
