# SPDX-License-Identifier: Apache-2.0
# Scripts as INPUT: they run as they are, and every kernel call in them is simulated.
"""Tests of trnsim run script.py."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import referencing
from command_line import TIMEOUT_SECONDS, CommandLine
from script_kernels import ADDERS

SCHEMAS = Path(__file__).resolve().parents[4] / "configs" / "schema"

SCRIPT = '''
import os
import sys
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc.nki import baremetal, benchmark, profile, simulate_kernel


def double(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(x.shape[0] // 128):
        nl.store(y[i * 128:(i + 1) * 128], nl.load(x[i * 128:(i + 1) * 128]) * 2)
    return y


@nki.jit
def halves(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    half = nl.program_id(0) * 128
    nl.store(y[half:half + 128], nl.load(x[half:half + 128]))
    return y


if __name__ == "__main__":
    print("arguments", sys.argv[1:])
    x = np.ones((512, 128), np.float32)
    bench = benchmark(warmup=5, iters=10, save_neff_name="file.neff")(double)
    bench(x)
    p50 = bench.benchmark_result.nc_latency.get_latency_percentile(50)
    print("p50", p50, os.path.exists("file.neff"))
    y = baremetal()(double)(x[:256])
    print("close", np.allclose(y, 2))
    simulate_kernel(double, x[:128])
    profile(working_directory="p", save_trace_name="profile.ntff")(double)(x)
    halves[2](x[:256])
'''


def line_of(text: str) -> int:
    """The line of the script that contains a text."""
    return SCRIPT[:SCRIPT.index(text)].count("\n") + 1


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "driver.py"
    path.write_text(SCRIPT)
    return path


def test_every_kernel_call_has_a_line_and_the_slowest_the_screen(
        trnsim: CommandLine, script: Path) -> None:
    outcome = trnsim("run", "driver.py", "--", "--batch", "4")
    assert outcome.status == 0, outcome.error
    lines = outcome.output.splitlines()
    assert lines[0] == "arguments ['--batch', '4']"
    assert lines[1].startswith("p50 1") and lines[1].endswith(" True")
    assert lines[2] == "close True"
    assert "driver.py: 5 kernel calls, " in lines[4]
    calls = [line.split()[:3] for line in lines[7:12]]
    assert [call[:2] for call in calls] == [
        ["1", "double"], ["2", "double"], ["3", "double"], ["4", "double"], ["5", "halves"]]
    assert calls[0][2] == f"driver.py:{line_of('bench(x)')}"
    assert "call 4, the slowest; --call N shows another" in lines
    assert "double on trainium2, one NeuronCore-v3" in lines
    assert max(map(len, lines)) <= 100


def test_the_benchmark_result_is_the_simulated_latency(trnsim: CommandLine, script: Path) -> None:
    outcome = trnsim("run", "driver.py", "--json", "calls.json")
    calls = json.loads((trnsim.folder / "calls.json").read_text())["calls"]
    printed = float(outcome.output.splitlines()[1].split()[1])
    assert printed == calls[0]["result"]["summary"]["latency_us"]
    assert (trnsim.folder / "p" / "profile.ntff").read_text().startswith("Written by trnsim")


def test_what_nki_benchmark_launches_is_timed_as_it_does(trnsim: CommandLine,
                                                         script: Path) -> None:
    def latencies(*options: str) -> list[float]:
        trnsim("run", "driver.py", "--json", "calls.json", *options)
        calls = json.loads((trnsim.folder / "calls.json").read_text())["calls"]
        return [call["result"]["summary"]["latency_us"] for call in calls]
    first, *others = latencies()
    assert first == latencies("--method", "benchmark")[0]
    assert others == latencies("--method", "profiler")[1:]
    assert first < latencies("--method", "profiler")[0]


def test_latencies_of_two_methods_are_told_apart(trnsim: CommandLine, script: Path) -> None:
    lines = trnsim("run", "driver.py").output.splitlines()
    title = next(line for line in lines if line.startswith("driver.py: 5 kernel calls, "))
    assert title.endswith(" us simulated, by two methods")
    assert [" us* " in line for line in lines[7:12]] == [True, False, False, False, False]
    assert lines[12:14] == ["  * like nki.benchmark, which counts another part of the launch; the "
                            "others like a profiler's", "    total_time; --method makes them alike"]
    for method in ("benchmark", "profiler"):
        output = trnsim("run", "driver.py", "--method", method).output
        assert "us*" not in output and "--method" not in output and "by two" not in output


def test_json_lists_all_calls_and_fits_its_schema(trnsim: CommandLine, script: Path) -> None:
    outcome = trnsim("run", "driver.py", "--json", "-", "--", "a", "-k")
    assert outcome.status == 0 and "p50" in outcome.error
    document = json.loads(outcome.output)
    registry = referencing.Registry().with_resource(
        "result.schema.json", referencing.Resource.from_contents(
            json.loads((SCHEMAS / "result.schema.json").read_text())))
    schema = json.loads((SCHEMAS / "script.schema.json").read_text())
    jsonschema.Draft202012Validator(schema, registry=registry).validate(document)
    assert document["arguments"] == ["a", "-k"]
    assert [call["call"] for call in document["calls"]] == [1, 2, 3, 4, 5]
    assert document["calls"][2]["result"]["arguments"] == ["float32[128,128]"]
    assert document["calls"][0]["result"]["input"] == "driver.py"


def test_call_chooses_the_screen_and_the_timeline(trnsim: CommandLine, script: Path) -> None:
    outcome = trnsim("run", "driver.py", "--call", "3", "--timeline", "t.pftrace",
                     "--instructions", "t.json")
    assert "\ncall 3\n" in outcome.output
    assert "  float32[128,128]\n" in outcome.output
    assert (trnsim.folder / "t.pftrace").stat().st_size > 0
    message = trnsim.fails(2, "run", "driver.py", "--call", "6")
    assert "--call 6: driver.py calls 5 kernels; use 1 to 5" in message


def test_a_script_of_one_call_has_no_other(trnsim: CommandLine) -> None:
    (trnsim.folder / "one.py").write_text(
        SCRIPT.partition("if __name__")[0] + "halves(np.ones((128, 128), np.float32))\n")
    assert trnsim.fails(2, "run", "one.py", "--call", "2") == (
        "--call 2: one.py calls 1 kernel; leave it out\n")


def test_quiet_leaves_what_the_script_prints(trnsim: CommandLine, script: Path) -> None:
    outcome = trnsim("run", "driver.py", "-q", "--", "x")
    assert [line.split()[0] for line in outcome.output.splitlines()] == [
        "arguments", "p50", "close"]


def test_without_values_comparisons_are_taken_as_true_and_told(trnsim: CommandLine) -> None:
    (trnsim.folder / "s.py").write_text(SCRIPT.replace(
        'print("close", np.allclose(y, 2))', 'assert np.allclose(y, 3), y\n    print(y, y.shape)\n'
        '    assert 3 in y // 2 % 5 ^ 1 and round(2 ** +y) > 0'))
    outcome = trnsim("run", "s.py", "--no-values")
    assert outcome.status == 0, outcome.error
    assert "<not computed: values of kernel double> (256, 128)" in outcome.output
    assert (f"warning: s.py:{line_of('np.allclose')}: the values of kernel double are not computed, so what depends on "
            "them was taken as true") in outcome.output
    assert trnsim("run", "s.py").status == 2


HALF_LOADED = '''
import numpy as np
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    data = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=data[:, 0:2], src=x[:, 0:2])
    nisa.dma_copy(dst=out, src=data)
    return out


print(np.isnan(np.asarray(kernel(np.ones((128, 4), np.float32)))).sum())
'''


def test_what_nothing_has_written_may_be_nan_in_a_script(trnsim: CommandLine) -> None:
    (trnsim.folder / "s.py").write_text(HALF_LOADED)
    refused = trnsim("run", "s.py")
    assert refused.status == 3
    assert refused.error.endswith("or have it read as NaN (reads_unwritten, --reads-unwritten)\n")
    assert trnsim("run", "s.py", "--reads-unwritten").output.splitlines()[0] == "256"
    assert trnsim.fails(2, "run", "s.py", "--reads-unwritten", "--no-values") == (
        "--reads-unwritten: is about values, which --no-values leaves unknown; leave out one of them\n")


MASKED = HALF_LOADED.partition("    nisa.dma_copy(dst=out")[0] + """\
    mask = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(mask, 0.0)
    nisa.tensor_tensor(data, data, mask, op=nl.multiply)
    nisa.dma_copy(dst=out, src=data)
    return out


"""


def test_what_values_tell_is_a_warning_of_the_report(trnsim: CommandLine) -> None:
    (trnsim.folder / "s.py").write_text(MASKED + "y = kernel(np.ones((128, 4), np.float32))\n")
    assert "warning" not in trnsim("run", "s.py").output
    (trnsim.folder / "s.py").write_text(MASKED + """
for _ in range(2):
    assert np.asarray(kernel(np.ones((128, 4), np.float32))).sum() == 0
""")
    output = trnsim("run", "s.py").output
    assert output.count("  warning: s.py:") == 1 and "what nothing has written is multiplied by 0" in output


def test_what_a_trace_tells_is_no_warning_of_its_values(trnsim: CommandLine) -> None:
    (trnsim.folder / "s.py").write_text(HALF_LOADED.partition("    nisa.dma_copy(dst=data")[0] + """\
    nisa.dma_copy(dst=data, src=x)
    nisa.dma_copy(dst=out, src=nl.divide(data, data))
    return out


print(np.asarray(kernel(np.ones((128, 4), np.float32))).sum())
""")
    assert trnsim("run", "s.py", "--json", "s.json").status == 0
    document = json.loads((trnsim.folder / "s.json").read_text())
    assert document["warnings"] == []
    assert "nl.divide has no instruction" in document["calls"][0]["result"]["warnings"][0]


WRITES_ITS_ARGUMENT = HALF_LOADED.partition("    nisa.dma_copy(dst=out")[0] + """\
    nisa.dma_copy(dst=x, src=data)


x = np.ones((128, 4), np.float32)
kernel(x)
print(np.isnan(x).sum())
"""


def test_a_kernel_that_writes_its_argument_may_write_nan(trnsim: CommandLine) -> None:
    (trnsim.folder / "s.py").write_text(WRITES_ITS_ARGUMENT)
    assert trnsim("run", "s.py").status == 3
    assert trnsim("run", "s.py", "--reads-unwritten").output.splitlines()[0] == "256"


def test_chip_settings_and_policies_hold_for_all_calls(trnsim: CommandLine, script: Path) -> None:
    outcome = trnsim("run", "driver.py", "--chip", "trn3", "--set",
                     "neuron_core.vector_engine.clock_ghz=0.5", "--policy", "dma_rings=2",
                     "--method", "benchmark", "--json", "-")
    for call in json.loads(outcome.output)["calls"]:
        assert call["result"]["chip"] == "trainium3"
        assert call["result"]["config_overrides"] == ["neuron_core.vector_engine.clock_ghz"]
        assert call["result"]["policies"]["dma_rings"] == "2"
        assert call["result"]["run"]["method"] == "benchmark"


def test_a_script_that_raises_reports_what_it_called_before(
        trnsim: CommandLine, script: Path) -> None:
    script.write_text(SCRIPT + "    raise ValueError('no more')\n")
    outcome = trnsim("run", "driver.py")
    assert outcome.status == 2
    assert outcome.error == (
        f"driver.py:{len(SCRIPT.splitlines()) + 1}: the script raises ValueError: no more\n"), outcome.error
    assert "driver.py: 5 kernel calls" in outcome.output


@pytest.mark.parametrize(("text", "status", "message"), [
    ("import nki\n", 2, "s.py: calls no kernel; name one as s.py::function with an --arg"),
    ("raise SystemExit(5)\n", 2, "s.py: ends with status 5; what it printed may say why"),
    ("raise SystemExit('no data')\n", 2, "s.py: ends with 'no data'\n"),
    ("raise GeneratorExit('over')\n", 2, "s.py:1: the script raises GeneratorExit: over"),
    ("def f(:\n", 2, "s.py:1: the script raises SyntaxError"),
    ("n = 3\nassert n == 4\n", 2, "s.py:2: the script raises AssertionError: n == 4 is false; n is 3"),
    ("import nki, nki.language as nl, numpy\n@nki.jit\ndef f(x):\n"
     "    nl.ndarray((256, 4), dtype=x.dtype, buffer=nl.sbuf)\nf(numpy.ones(4))\n", 2,
     "s.py:5: argument x has the data type float64, which NKI does not have; convert it, "),
    ("import nki, nki.language as nl, numpy\n@nki.jit\ndef f(x):\n"
     "    nl.ndarray((256, 4), dtype=x.dtype, buffer=nl.sbuf)\n"
     "f(numpy.ones(4, numpy.int8))\n", 3, "s.py:4: a sbuf tensor of shape [256, 4] takes 256"),
])
def test_a_mistake_in_a_script_is_located(
        trnsim: CommandLine, text: str, status: int, message: str) -> None:
    (trnsim.folder / "s.py").write_text(text)
    assert message in trnsim.fails(status, "run", "s.py")


def test_the_usage_of_a_script_needs_no_kernel_call(trnsim: CommandLine) -> None:
    (trnsim.folder / "s.py").write_text("import argparse\nargparse.ArgumentParser().parse_args()\n")
    outcome = trnsim("run", "s.py", "--", "--help")
    assert outcome.status == 0 and outcome.error == "" and "usage: s.py [-h]" in outcome.output
    assert "s.py: ends with status 2; what it printed" in trnsim.fails(2, "run", "s.py", "--", "-x")
    assert "s.py: calls no kernel" in trnsim.fails(2, "run", "s.py")
    assert "s.py: calls no kernel" in trnsim.fails(2, "run", "s.py", "--json", "j", "--", "-h")
    (trnsim.folder / "s.py").write_text("raise SystemExit(0)\n")
    assert "s.py: calls no kernel" in trnsim.fails(2, "run", "s.py")


def test_kernels_that_are_called_at_exit_are_reported(trnsim: CommandLine) -> None:
    text = ADDERS + "import atexit, numpy as np\nbegin = np.ones((128, 4), np.float32)\n"
    last = len(text.splitlines()) + 1
    (trnsim.folder / "s.py").write_text(
        f"{text}atexit.register(lambda: print(added(begin, begin).sum()))\n")
    outcome = trnsim("run", "s.py", "--json", "s.json")
    assert outcome.status == 0 and outcome.error == "" and "1024.0\n" in outcome.output
    assert json.loads((trnsim.folder / "s.json").read_text())["calls"][0]["source"] == f"s.py:{last}"
    (trnsim.folder / "s.py").write_text(f"{text}atexit.register(added, begin, begin[:, None])\n")
    assert trnsim.fails(3, "run", "s.py").startswith("s.py:")


def test_a_library_that_is_not_installed_is_named(trnsim: CommandLine) -> None:
    text = SCRIPT.replace("np.ones((512, 128), np.float32)", "jax.numpy.ones((512, 128))")
    (trnsim.folder / "s.py").write_text(text.replace("import os\n", "import os, jax\n"))
    message = trnsim.fails(2, "run", "s.py")
    assert f"s.py:{line_of('bench(x)')}: kernel double is given jax.numpy.ones(), but jax" in message
    (trnsim.folder / "s.py").write_text("import jax\na, b = jax.numpy.ones(3)\n")
    assert trnsim.fails(2, "run", "s.py").startswith(
        "s.py:2: jax.numpy.ones() is unpacked or iterated over, but jax is not installed for ")
    (trnsim.folder / "s.py").write_text("import jax\nassert jax.numpy.ones(3).ndim == 1\n")
    assert "ndim == 1 is false; the script calls jax, not installed for" in trnsim.fails(2, "run", "s.py")


def test_a_script_that_is_not_there_is_named(trnsim: CommandLine) -> None:
    assert "no.py: there is no such file" in trnsim.fails(2, "run", "no.py")


def test_options_of_scripts_and_of_kernels_are_not_mixed(
        trnsim: CommandLine, script: Path) -> None:
    message = trnsim.fails(2, "run", "driver.py", "--arg", "float32[1]")
    assert "is a script, which gives its kernels their arguments" in message
    assert trnsim.fails(2, "run", "driver.py", "--seed", "3") == (
        "--seed 3: driver.py is a script, which gives its kernels their arguments; leave it out, or name one kernel "
        "as driver.py::function\n")
    assert "x.nkt is no script" in trnsim.fails(2, "run", "x.nkt", "--", "-k")
    assert "--call: x.nkt is no script" in trnsim.fails(2, "run", "x.nkt", "--call", "1")
    assert "--no-values: x.nkt is no" in trnsim.fails(2, "run", "x.nkt", "--no-values")
    assert "which only `trnsim run` takes" in trnsim.fails(2, "compare", "driver.py")


def test_tests_in_a_file_are_run_with_pytest(trnsim: CommandLine) -> None:
    (trnsim.folder / "test_double.py").write_text(SCRIPT.partition("if __name__")[0] + '''
import pytest

@pytest.mark.parametrize("rows", [128, 256])
def test_double(rows):
    x = np.ones((rows, 4), np.float32)
    assert np.allclose(simulate_kernel(double, x), 2)

def test_other():
    assert False
''')
    outcome = trnsim("run", "test_double.py", "--", "-k", "not other")
    assert outcome.status == 0, outcome.error
    assert "2 passed, 1 deselected" in outcome.output
    assert "test_double.py: 2 kernel calls" in outcome.output
    outcome = trnsim("run", "test_double.py")
    assert outcome.status == 2 and "pytest ends with status 1" in outcome.error


def test_tests_have_the_fixture_and_need_not_call_a_kernel_themselves(
        trnsim: CommandLine) -> None:
    (trnsim.folder / "test_speed.py").write_text(SCRIPT.partition("if __name__")[0] + '''
def test_right(trnsim):
    result = trnsim.simulate(double, np.ones((128, 4), np.float32), values=True)
    trnsim.assert_allclose(result.outputs, np.full((128, 4), 2.0))
    trnsim.assert_latency(double, ["float32[128,4]"], max_us=1000)

def test_too_fast(trnsim):
    trnsim.assert_latency(double, ["float32[128,4]"], max_us=1)
''')
    outcome = trnsim("run", "test_speed.py", "--", "-k", "right")
    assert outcome.status == 0, outcome.output + outcome.error
    assert "1 passed, 1 deselected" in outcome.output and outcome.error == ""
    assert "allowed are 1 us" in trnsim("run", "test_speed.py").output
    assert "calls no kernel" in trnsim.fails(2, "run", "test_speed.py", "--json", "r.json", "--",
                                             "-k", "right")


def test_a_script_chooses_the_target_as_it_would_on_the_device(trnsim: CommandLine) -> None:
    text = SCRIPT.replace("import os\n", "import os\n"
                          "os.environ['NEURON_PLATFORM_TARGET_OVERRIDE'] = 'trn1'\n")
    (trnsim.folder / "s.py").write_text(text)
    calls = json.loads(trnsim("run", "s.py", "--json", "-").output)["calls"]
    assert {call["result"]["chip"] for call in calls} == {"trainium1"}
    calls = json.loads(trnsim("run", "s.py", "--chip", "trn2", "--json", "-").output)["calls"]
    assert {call["result"]["chip"] for call in calls} == {"trainium2"}


def test_an_output_that_nobody_reads_ends_it_without_a_word(trnsim: CommandLine) -> None:
    quiet = "\n".join(line for line in SCRIPT.splitlines() if "print(" not in line)
    (trnsim.folder / "s.py").write_text(quiet)
    process = subprocess.Popen([trnsim.binary, "run", "s.py"], cwd=trnsim.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(TIMEOUT_SECONDS) != 0


FORKING = '''
import os
import sys
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def double(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.load(x) * 2)
    return y


x = np.ones((128, 64), np.float32)
for _ in range(2):
    child = os.fork()
    if child == 0:
        double(x)
        os._exit(0)
    os.waitpid(child, 0)
if len(sys.argv) > 1:
    double(x)
if sys.argv[1:] == ["leave"]:
    os._exit(0)
if sys.argv[1:] == ["become"]:
    os.execvp("true", ["true"])
'''


def test_calls_of_other_processes_are_not_lost_in_silence(trnsim: CommandLine) -> None:
    (trnsim.folder / "forks.py").write_text(FORKING)
    missed = ("2 kernel calls in other processes of the script, which it starts, are not in the "
              "report; call kernels in its own process")
    assert trnsim.fails(2, "run", "forks.py") == f"forks.py: {missed}\n"
    outcome = trnsim("run", "forks.py", "--json", "f.json", "--", "one")
    assert outcome.status == 0 and f"warning: {missed}" in outcome.output
    document = json.loads((trnsim.folder / "f.json").read_text())
    assert len(document["calls"]) == 1 and document["warnings"] == [missed]


def test_a_script_does_not_end_without_its_report_in_silence(trnsim: CommandLine) -> None:
    (trnsim.folder / "forks.py").write_text(FORKING)
    assert trnsim.fails(2, "run", "forks.py", "--", "leave") == (
        "forks.py: ends by os._exit(0), which leaves no report of its kernel calls; end it with "
        "sys.exit\n")
    outcome = trnsim("run", "forks.py", "--json", "f.json", "--", "become")
    assert outcome.status == 2 and outcome.error == (
        "forks.py: replaces itself by another program, which trnsim cannot follow; run that one, "
        "or start it with subprocess\n")
    assert len(json.loads((trnsim.folder / "f.json").read_text())["calls"]) == 1


@pytest.mark.parametrize("name", ["token", "random", "copy"])
def test_files_of_the_current_folder_do_not_replace_pythons(trnsim: CommandLine, script: Path,
                                                            name: str) -> None:
    (trnsim.folder / f"{name}.py").write_text("raise SystemExit('not this one')")
    (trnsim.folder / "scripts").mkdir()
    script.rename(trnsim.folder / "scripts" / "driver.py")
    outcome = trnsim("run", "scripts/driver.py", "-q")
    assert outcome.status == 0, outcome.error


def test_the_name_of_a_script_may_look_like_an_option(trnsim: CommandLine, script: Path) -> None:
    script.rename(trnsim.folder / "-d.py")
    outcome = trnsim("run", "-q", "--", "-d.py")
    assert outcome.status == 0, outcome.error


STARTING = f'''
import multiprocessing
import sys
import numpy as np
{ADDERS}


def work(number):
    given = np.full((128, 64), number, np.float32)
    return float(added(given, given)[0, 0])


MEMORY = sbuf  # A keyword of NKI's, which nobody imports.

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, [1, 2, 3]))
    work(1)
'''


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_kernels_are_known_in_processes_that_a_script_starts(trnsim: CommandLine,
                                                             method: str) -> None:
    (trnsim.folder / "starts.py").write_text(STARTING)
    outcome = trnsim("run", "starts.py", "--", method)
    assert outcome.status == 0, outcome.error
    assert outcome.output.startswith("[2.0, 4.0, 6.0]\n\nstarts.py: 1 kernel call, ")
    assert ("warning: 3 kernel calls in other processes of the script, which it starts, are not in "
            "the report; call kernels in its own process\n") in outcome.output


@pytest.mark.parametrize("change", ["sys.stdout.close()", "sys.stdout = io.StringIO()",
                                    "sys.stdout = None"])
def test_the_report_does_not_depend_on_what_a_script_does_with_its_output(
        trnsim: CommandLine, change: str) -> None:
    (trnsim.folder / "closes.py").write_text(
        f"import io, sys\nimport numpy as np\n{ADDERS}\nones = np.ones((128, 64), np.float32)\n"
        f"print('before')\n{change}\nfound = np.asarray(added(ones, ones))\n")
    outcome = trnsim("run", "closes.py")
    assert outcome.status == 0, outcome.error
    assert outcome.output.startswith("before\n\ncloses.py: 1 kernel call, ")
    assert outcome.error == ""


def test_a_fork_that_ends_leaves_the_script_its_report(trnsim: CommandLine) -> None:
    (trnsim.folder / "forks.py").write_text(
        f"import os, sys\nimport numpy as np\n{ADDERS}\nones = np.ones((128, 64), np.float32)\n"
        "for calls in (1, 0):\n    if os.fork() == 0:\n        for _ in range(calls):\n"
        "            added(ones, ones)\n        sys.exit(0)\n    os.wait()\nadded(ones, ones)\n")
    outcome = trnsim("run", "forks.py")
    assert (outcome.status, outcome.error) == (0, "")
    assert outcome.output.count("forks.py: 1 kernel call, ") == 1
    assert "1 kernel call in other processes" in outcome.output


@pytest.mark.parametrize(("chip", "version"), [("trn1", 2), ("trn2", 3), ("trn3", 4)])
@pytest.mark.parametrize("processes", ["own", "spawned"])
def test_a_script_sees_the_chip_that_is_named(trnsim: CommandLine, chip: str, version: int,
                                              processes: str) -> None:
    body = "print(VERSION)" if processes == "own" else (
        "print(multiprocessing.get_context('spawn').Pool(1).map(seen, [0])[0])")
    (trnsim.folder / "sees.py").write_text(
        f"import multiprocessing\nimport numpy as np\n{ADDERS}\n"
        "VERSION = int(nisa.get_nc_version())\n\ndef seen(_):\n    return VERSION\n\n"
        f"if __name__ == '__main__':\n    {body}\n"
        "    ones = np.ones((128, 64), np.float32)\n    added(ones, ones)\n")
    outcome = trnsim("run", "sees.py", "-q", "--chip", chip)
    assert outcome.status == 0, outcome.error
    assert outcome.output == f"{version}\n"


def test_files_are_where_the_command_was_whatever_folder_a_script_goes_to(
        trnsim: CommandLine) -> None:
    (trnsim.folder / "away").mkdir()
    assert trnsim("describe", "trn1", "--save", "own.json").status == 0
    (trnsim.folder / "goes.py").write_text(
        f"import os\nimport numpy as np\n{ADDERS}\nos.chdir('away')\n"
        "ones = np.ones((128, 64), np.float32)\nadded(ones, ones)\n")
    outcome = trnsim("run", "goes.py", "-q", "--chip", "own.json", "--json", "calls.json",
                     "--timeline", "t.pftrace")
    assert outcome.status == 0, outcome.error
    assert sorted(one.name for one in trnsim.folder.iterdir() if one.is_file()) == [
        "calls.json", "goes.py", "own.json", "t.pftrace"]
    assert not list((trnsim.folder / "away").iterdir())


def test_processes_that_nobody_has_joined_are_waited_for(trnsim: CommandLine) -> None:
    (trnsim.folder / "starts.py").write_text(STARTING.partition("MEMORY")[0] + (
        "time.sleep(0)\n\ndef later(number):\n    time.sleep(0.3)\n    work(number)\n\n"
        "multiprocessing.get_context('fork').Process(target=later, args=(1,)).start()\nwork(1)\n"
    ).replace("time.sleep(0)", "import time", 1))
    outcome = trnsim("run", "starts.py")
    assert outcome.status == 0, outcome.error
    assert "warning: 1 kernel call in other processes of the script" in outcome.output


def test_a_script_catches_what_its_kernels_raise(trnsim: CommandLine) -> None:
    (trnsim.folder / "caught.py").write_text(f"""
import pickle
import numpy as np
{ADDERS}

class Unfit(Exception):
    def __init__(self, rows, limit):
        self.rows = rows


@nki.jit
def raising(x, problem):
    raise problem


def caught(kernel, *arguments, kind):
    try:
        kernel(*arguments)
    except kind as problem:
        return problem


ones = np.ones((128, 4), np.float32)
for problem in (AssertionError("rows"), KeyError("k"), OSError(2, "no file"), ValueError(),
                UnicodeDecodeError("utf-8", b"x", 0, 1, "why")):
    found = caught(raising, ones, problem, kind=type(problem))
    assert str(found).startswith("caught.py:") and type(problem).__name__ in str(found), found
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
assert caught(raising, ones, Unfit(3, limit=2), kind=Unfit).rows == 3
assert "b" in str(caught(added, ones, kind=TypeError))
raising(ones, KeyError("k"))
""")
    outcome = trnsim("run", "caught.py")
    assert outcome.status == 2
    assert outcome.error.endswith(": the kernel raises KeyError: 'k'\n"), outcome.error


def test_a_script_is_a_module_as_python_makes_one(trnsim: CommandLine) -> None:
    (trnsim.folder / "where.py").write_text(f"""
import inspect
import os
import pickle
from pathlib import Path
import __main__
import numpy as np
{ADDERS}

class Point:
    pass


assert os.path.isabs(__file__) and __builtins__.len([1]) == 1 and __package__ is None
assert __main__.Point is Point and type(pickle.loads(pickle.dumps(Point()))) is Point
assert inspect.getsource(Point).startswith("class Point")
os.chdir("/")
assert Path(__file__).exists()
added(np.ones((128, 4), np.float32), np.ones((128, 4), np.float32))
""")
    outcome = trnsim("run", "where.py")
    assert outcome.status == 0, outcome.error


@pytest.mark.parametrize("start", [
    "threading.Thread(target=late).start()",
    "threading.Thread(target=lambda: threading.Thread(target=late).start()).start()",
    "pool = ThreadPoolExecutor(1); pool.submit(late)",
    "pool = ProcessPoolExecutor(1); pool.submit(abs, 1); threading.Thread(target=late).start()",
], ids=["thread", "thread of a thread", "pool", "processes"])
def test_threads_that_nobody_has_joined_are_waited_for(trnsim: CommandLine, start: str) -> None:
    (trnsim.folder / "threads.py").write_text(f'''
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
{ADDERS}


def late():
    time.sleep(0.3)
    print("sum", added(ones, ones)[0, 0], flush=True)


ones = np.ones((128, 64), np.float32)
{start}
print("end")
''')
    outcome = trnsim("run", "threads.py")
    assert outcome.status == 0, outcome.error
    assert outcome.output.startswith("end\nsum 2.0\n\nthreads.py: 1 kernel call,")


def test_files_that_a_script_opens_in_place_of_ours_stay_open(trnsim: CommandLine) -> None:
    (trnsim.folder / "closing.py").write_text(
        "import atexit, os\nfrom driver import scale, x\nscale(x)\nos.closerange(4, 1000)\n"
        "kept = [os.open(f'kept{i}', os.O_CREAT | os.O_WRONLY) for i in range(4)]\n"
        "atexit.register(lambda: [os.write(one, b'here') for one in kept])\n")
    (trnsim.folder / "driver.py").write_text(
        "import numpy as np\nimport nki\nimport nki.language as nl\n@nki.jit\ndef scale(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, nl.load(x))\n    return out\nx = np.ones((128, 64), np.float32)\n")
    assert trnsim("run", "closing.py", "-q").status == 0
    assert [(trnsim.folder / f"kept{i}").read_text() for i in range(4)] == ["here"] * 4
