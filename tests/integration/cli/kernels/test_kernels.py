# SPDX-License-Identifier: Apache-2.0
# Kernels as INPUT: what the Python frontend says reaches the user unchanged.
"""Tests of file.py::function."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import CommandLine

CHIP = Path(__file__).parents[4] / "configs" / "chips" / "trainium2.json"
KERNELS = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x, times=1):
    """x + x, `times` times."""
    print("tracing", x.shape)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for _ in range(times):
        nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.add)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def beside(x):
    tile = nl.load(x)
    for k in range(4):
        squares, sums = (nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf) for _ in range(2))
        nisa.activation(squares, nl.square, tile, name=f"square{k}")
        nisa.tensor_tensor(sums, tile, tile, nl.add, name=f"add{k}")
    return x


in_turn = beside.with_schedule([
    (f"{later}{k}", f"{earlier}{k - step}") for k in range(4)
    for later, earlier, step in (("add", "square", 0), ("square", "add", 1)) if k >= step])


@nki.jit
def raising(x):
    raise ValueError("the kernel says no")
'''


ENDING = '''
import os
import sys
import nki
@nki.jit
def ending(x):
    {}
'''


@pytest.fixture(autouse=True)
def kernels(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS)


def test_what_the_schedule_orders_waits(trnsim: CommandLine) -> None:
    """Two engines that need nothing of each other work at the same time, unless they are told."""
    plain, scheduled = (trnsim.result(f"kernels.py::{name}", "--arg", "float32[128,2048]")
                        for name in ("beside", "in_turn"))
    before, after = (one["engines"]["vector"] for one in (plain, scheduled))
    assert after["active_ns"] == before["active_ns"]
    assert after["wait_semaphore_ns"] > 0.9 * before["active_ns"] > before["wait_semaphore_ns"]
    assert scheduled["summary"]["latency_us"] > plain["summary"]["latency_us"]


def test_a_kernel_is_traced_and_simulated(trnsim: CommandLine) -> None:
    result = trnsim.result("kernels.py::double", "--arg", "float32[128,512]")
    assert result["kernel"] == "double"
    assert result["input"] == "kernels.py::double"
    assert result["summary"]["hbm_read_bytes"] == 128 * 512 * 4


@pytest.mark.parametrize("short_name", ["trn2", "mine"])
def test_a_kernel_is_traced_for_the_chip_of_a_file(trnsim: CommandLine, short_name: str) -> None:
    text = CHIP.read_text(encoding="utf-8").replace('"short_name": "trn2"',
                                                    f'"short_name": "{short_name}"')
    (trnsim.folder / "chip.json").write_text(text)
    words = ("kernels.py::double", "--arg", "float32[128,512]", "--chip", "chip.json")
    assert trnsim.result(*words)["warnings"] == []
    outcome = trnsim("trace", *words, "-o", "double.nkt")
    assert outcome.status == 0, outcome.error
    assert trnsim.result("double.nkt", "--chip", "chip.json")["warnings"] == []


WIDE = """
import nki
import nki.isa as nisa
import nki.language as nl
from trnsim.frontend.chip import target

@nki.jit
def product(a, b):
    shape = a.shape[1], b.shape[1]
    out = nl.ndarray(shape, dtype=nl.float32, buffer=nl.shared_hbm)
    sums = nl.ndarray(shape, dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(sums, nl.load(a), nl.load(b))
    kept = nl.ndarray(shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(kept, sums)
    nl.store(out, kept)
    return out

def telling(x):
    raise ValueError(target())
"""
WIDE_ARGUMENTS = ("--arg", "float32[128,128]", "--arg", "float32[128,1024]")
WIDE_ARRAY = "neuron_core.tensor_engine.moving_free_max_32bit"
WIDE_BANKS = "neuron_core.psum.bank_bytes"


def test_a_kernel_may_do_what_settings_allow(trnsim: CommandLine) -> None:
    (trnsim.folder / "wide.py").write_text(WIDE)
    kernel = ("wide.py::product", *WIDE_ARGUMENTS)
    assert "streams at most 512" in trnsim.fails(3, "run", *kernel)
    settings = ("--set", f"{WIDE_ARRAY}=1024", "--set", f"{WIDE_BANKS}=4096")
    for values in ((), ("--values",)):
        assert "latency" in trnsim("run", *kernel, *settings, *values).output
    assert "trainium3" in trnsim("compare", *kernel, *settings, "--chips", "trn2,trn3").output
    swept = trnsim("sweep", *kernel, "--set", f"{WIDE_ARRAY}=512,1024",
                   "--set", f"{WIDE_BANKS}=4096")
    errors = [line.rpartition(",")[2] for line in swept.output.splitlines()]
    assert [bool(error) for error in errors] == [True, True, False]


def test_limits_that_fit_only_together_are_set_together(trnsim: CommandLine) -> None:
    (trnsim.folder / "wide.py").write_text(WIDE)
    kernel = ("wide.py::product", "--arg", "bfloat16[16,16]", "--arg", "bfloat16[16,64]")
    array = ("--set", "neuron_core.tensor_engine.pe_rows=16",
             "--set", "neuron_core.tensor_engine.tile_min=16")
    for command in ("run", "sweep", "compare"):
        assert trnsim(command, *kernel, *array).status == 0
    message = trnsim.fails(2, "sweep", *kernel, *array[:2])
    assert "tile_min: is above the PE array" in message


@pytest.mark.parametrize("setting", [
    "neuron_core.psum.banks=-3", "neuron_core.sbuf.partitions=0", "neuron_core.psum.banks=1e30",
    "neuron_core.sbuf.partitions=nan", "neuron_core.sbuf.partitions=1.5", "neuron_core_version=9"])
@pytest.mark.parametrize("kernel", [
    ("wide.py",), ("wide.py::product", "--arg", "float32[128,128]", "--arg", "float32[128,1024]")])
def test_a_limit_that_no_chip_has_is_refused_as_such(
        trnsim: CommandLine, setting: str, kernel: tuple[str, ...]) -> None:
    (trnsim.folder / "wide.py").write_text(
        WIDE + "import numpy as np\nif __name__ == '__main__':\n"
        "    product(np.ones((16, 16), np.float32), np.ones((16, 64), np.float32))\n")
    assert "allowed is" in trnsim.fails(2, "run", *kernel, "--set", setting)


def test_the_module_level_of_a_script_knows_the_limits(trnsim: CommandLine) -> None:
    (trnsim.folder / "script.py").write_text(
        "import nki.language as nl\nprint(nl.tile_size.pmax)\n")
    for chip in ((), ("--chip", "trn1")):
        outcome = trnsim("run", "script.py", *chip, "--set", "neuron_core.sbuf.partitions=32")
        assert outcome.output.startswith("32\n")


def test_a_script_may_do_what_settings_allow(trnsim: CommandLine) -> None:
    (trnsim.folder / "script.py").write_text(
        WIDE + "import numpy as np\n"
        "one = np.ones((128, 128), np.float32)\n"
        "print(product(one, np.ones((128, 1024), np.float32))[5, 1000])\n")
    settings = ("--set", f"{WIDE_ARRAY}=1024", "--set", f"{WIDE_BANKS}=4096")
    assert trnsim("run", "script.py", *settings).output.startswith("128.0\n")


@pytest.mark.parametrize(("path", "value", "limit"), [
    ("psum.bank_bytes", 4096, "psum_bank_bytes=4096"), ("psum.banks", 4, "psum_banks=4"),
    ("sbuf.partition_kib", 256, "sbuf_partition_bytes=262144"),
    ("sbuf.partitions", 64, "partitions=64"),
    ("sbuf.usable_partition_kib", 100, "sbuf_usable_bytes=102400"),
    ("tensor_engine.moving_free_max_16bit", 1024, "moving_free_max_16bit=1024"),
    ("tensor_engine.moving_free_max_32bit", 1024, "moving_free_max_32bit=1024"),
    ("tensor_engine.pe_columns", 64, "pe_columns=64"),
    ("tensor_engine.pe_rows", 64, "pe_rows=64")])
def test_the_frontend_knows_each_limit_that_is_set(
        trnsim: CommandLine, path: str, value: int, limit: str) -> None:
    (trnsim.folder / "wide.py").write_text(WIDE)
    kernel = ("wide.py::telling", "--arg", "float32[64,8]")
    assert limit not in trnsim.fails(2, "run", *kernel)
    assert limit in trnsim.fails(2, "run", *kernel, "--set", f"neuron_core.{path}={value}")


def test_a_file_that_is_no_python_is_shown_where(trnsim: CommandLine) -> None:
    (trnsim.folder / "broken.py").write_text("x = 1\ndef f(:\n")
    message = trnsim.fails(2, "run", "broken.py::f")
    assert message.startswith(f"{trnsim.folder / 'broken.py'}:2: importing broken.py raises "
                              "SyntaxError: ")


def test_a_kernel_file_may_look_like_an_option(trnsim: CommandLine) -> None:
    (trnsim.folder / "kernels.py").rename(trnsim.folder / "-k.py")
    outcome = trnsim("run", "--arg", "float32[128,512]", "-q", "--", "-k.py::double")
    assert outcome.status == 0, outcome.error


@pytest.mark.parametrize("name", ["token", "random", "copy"])
def test_the_current_folder_replaces_no_module_but_can_be_imported(trnsim: CommandLine,
                                                                   name: str) -> None:
    (trnsim.folder / f"{name}.py").write_text("raise SystemExit('not this one')")
    (trnsim.folder / "sizes.py").write_text("TIMES = 2")
    (trnsim.folder / "inner").mkdir()
    (trnsim.folder / "inner" / "k.py").write_text("from sizes import TIMES\n" + KERNELS)
    outcome = trnsim("run", "inner/k.py::double", "--arg", "float32[128,512]", "-q")
    assert outcome.status == 0, outcome.error


def test_one_of_something_is_singular(trnsim: CommandLine) -> None:
    (trnsim.folder / "one.py").write_text(ENDING.replace("{}", """import nki.isa, nki.language as nl
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nki.isa.dma_copy(dst=tile, src=x)"""))
    text = trnsim("run", "one.py::ending", "--arg", "float32[128,512]").output
    assert "1 transfer of 256.0 KiB on average on 1 ring, active" in text
    assert "1 buffer for 1 tile\n" in text


def test_what_a_kernel_prints_does_not_mix_with_the_result(trnsim: CommandLine) -> None:
    outcome = trnsim("run", "kernels.py::double", "--arg", "float32[128,512]", "--json", "-")
    assert outcome.output.startswith("{")
    assert "tracing (128, 512)" in outcome.error


def test_arguments_may_be_named(trnsim: CommandLine) -> None:
    once = trnsim.result("kernels.py::double", "--arg", "float32[128,512]")
    thrice = trnsim.result("kernels.py::double", "--arg", "float32[128,512]", "--arg", "times=3")
    count = "vector_engine_instruction_count"
    assert thrice["summary"][count] == once["summary"][count] + 2


def test_a_negative_argument_is_a_value_not_an_option(trnsim: CommandLine) -> None:
    result = trnsim.result("kernels.py::double", "--arg", "float32[128,512]", "--arg", "-1")
    assert result["summary"]["vector_engine_instruction_count"] == 0


def test_a_kernel_that_raises_is_located(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "kernels.py::raising", "--arg", "float32[128,512]")
    assert "kernels.py:" in message and "the kernel says no" in message


def test_a_mistake_in_a_helper_names_who_called_it(trnsim: CommandLine) -> None:
    lines = ["import nki", "import nki.language as nl", "def tile(rows, deep):",
             "    if deep: return tile(rows, deep - 1)",
             "    return nl.ndarray((rows, 4), dtype=nl.float32, buffer=nl.sbuf)[0:4, 4:4]",
             "@nki.jit", "def kernel(x, deep):", "    return [tile(rows, deep) for rows in (128,)]"]
    (trnsim.folder / "helper.py").write_text("\n".join(lines) + "\n")
    arguments = ("helper.py::kernel", "--arg", "float32[128,4]", "--arg")
    message, *callers = trnsim.fails(3, "run", *arguments, "1").splitlines()
    assert "helper.py:5: " in message and message.endswith("change the index or the shape")
    assert callers[0].startswith("  called by tile, ") and callers[0].endswith("helper.py:4")
    assert callers[-1].startswith("  called by kernel, ") and callers[-1].endswith("helper.py:8")
    assert trnsim.fails(3, "run", *arguments, "20").splitlines()[9:] == ["  …"]


def test_a_mistake_in_the_kernel_itself_names_no_callers(trnsim: CommandLine) -> None:
    assert len(trnsim.fails(2, "run", "kernels.py::raising", "--arg", "float32[1]").splitlines()) == 1


@pytest.mark.parametrize("words, expected", [
    (["missing.py::double", "--arg", "float32[1]"], "missing.py"),
    (["kernels.py::duoble", "--arg", "float32[1]"], "double"),
    (["kernels.py::double"], "x"),
    (["kernels.py::double", "--arg", "float33[128,512]"], "float33"),
    (["kernels.py::double", "--arg", "float32[128,-1]"], "float32[128,-1]"),
    (["kernels.py::double", "--arg", "float32[129,512]"], "129"),
])
def test_a_wrong_kernel_or_argument_is_named(
        trnsim: CommandLine, words: list[str], expected: str) -> None:
    outcome = trnsim("run", *words)
    assert outcome.status in (2, 3), outcome.error
    assert expected in outcome.error
    assert "Traceback" not in outcome.error


@pytest.mark.parametrize("status", [0, 1, 2, 3, 7])
def test_a_kernel_that_ends_the_process_is_told(trnsim: CommandLine, status: int) -> None:
    (trnsim.folder / "ends.py").write_text(ENDING.format(f"os._exit({status})"))
    assert trnsim.fails(2, "run", "ends.py::ending", "--arg", "float32[128,512]") == (
        f"ends.py::ending: Python ended with status {status} and without a trace: the kernel, or "
        "what it calls or is compared with, ends the process (os._exit); let it return\n")


def test_a_kernel_that_ends_python_is_located(trnsim: CommandLine) -> None:
    (trnsim.folder / "ends.py").write_text(ENDING.format("sys.exit(0)"))
    message = trnsim.fails(2, "run", "ends.py::ending", "--arg", "float32[128,512]")
    assert message.endswith("ends.py:7: the kernel ends Python (status 0); let it return\n")


def test_an_interrupt_in_a_kernel_is_an_interrupt(trnsim: CommandLine) -> None:
    (trnsim.folder / "ends.py").write_text(ENDING.format("raise KeyboardInterrupt"))
    outcome = trnsim("run", "ends.py::ending", "--arg", "float32[128,512]", "--json", "out.json")
    assert (outcome.status, outcome.output, outcome.error) == (-signal.SIGINT, "", "")
    assert sorted(os.listdir(trnsim.folder)) == ["ends.py", "kernels.py"]


def test_a_syntax_error_is_located(trnsim: CommandLine) -> None:
    (trnsim.folder / "broken.py").write_text("def f(:\n")
    message = trnsim.fails(2, "run", "broken.py::f", "--arg", "float32[1]")
    assert "broken.py" in message and "1" in message


def test_a_python_that_does_not_exist_is_named(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "run", "kernels.py::double", TRNSIM_PYTHON="/no/such/python")
    assert "/no/such/python" in message and "TRNSIM_PYTHON" in message


@pytest.mark.parametrize("python", ["/bin/cat", "/bin/true", "/bin/echo", "/bin/ls", "/bin/sh"])
@pytest.mark.parametrize("target", ["kernels.py::double", "kernels.py"])
def test_an_interpreter_that_is_no_python_is_named(
        trnsim: CommandLine, python: str, target: str) -> None:
    message = trnsim.fails(2, "run", target, TRNSIM_PYTHON=python)
    assert message.startswith(
        f"{python}: is no Python 3 that works, kernels need Python 3.11 to 3.14; install it or "
        "name one with the environment variable TRNSIM_PYTHON")


@pytest.mark.parametrize("target", ["kernels.py::double", "kernels.py"])
def test_a_python_that_does_not_find_its_library_is_named(
        trnsim: CommandLine, target: str) -> None:
    outcome = trnsim("run", target, TRNSIM_PYTHON=sys.executable, PYTHONHOME="/no/such/home")
    assert outcome.status == 2, outcome.error
    assert outcome.error.startswith(
        f"{sys.executable}: is no Python 3 that works, kernels need Python 3.11 to 3.14; unset "
        "PYTHONHOME, which is /no/such/home; else install it or name one with the environment "
        "variable TRNSIM_PYTHON; it says:\n")
    assert "encodings" in outcome.error


def fake_python(folder: Path, body: str) -> str:
    """An interpreter that runs programs, but does something else than run the frontend."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\nimport os, sys\n"
                    "if '-c' in sys.argv:\n"
                    "    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n"
                    f"{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize("version", ["(3, 10, 13)", "(3, 15, 0)"])
def test_a_python_that_the_frontend_does_not_know_is_refused(
        trnsim: CommandLine, version: str) -> None:
    python = fake_python(trnsim.folder, f"sys.version_info = {version}; sys.argv[:] = sys.argv[1:2]\n"
                                        "import trnsim")
    for target in ("kernels.py::double", "kernels.py"):
        message = trnsim.fails(2, "run", target, TRNSIM_PYTHON=python)
        assert message.startswith(f"{sys.executable}: is Python 3.")
        assert message.endswith("but trnsim's frontend knows 3.11 to 3.14; install one of these, or "
                                "name one with the environment variable TRNSIM_PYTHON\n")


@pytest.mark.parametrize("words", [["run", "kernels.py::double", "--arg", "float32[128,512]"],
                                   ["run", "kernels.py"], ["validate"]])
def test_a_python_without_numpy_is_named_with_what_to_do(
        trnsim: CommandLine, words: list[str]) -> None:
    python = fake_python(trnsim.folder,
                         "os.execv(sys.executable, [sys.executable, '-S', *sys.argv[1:]])")
    assert trnsim.fails(2, *words, TRNSIM_PYTHON=python) == (
        f"{sys.executable}: has no numpy, which trnsim's frontend needs; install it with "
        f"`{sys.executable} -m pip install numpy ml_dtypes`, or name another interpreter with the "
        "environment variable TRNSIM_PYTHON\n")


def test_a_python_without_ml_dtypes_is_named_where_values_need_it(trnsim: CommandLine) -> None:
    hidden = trnsim.folder / "hidden"
    hidden.mkdir()
    (hidden / "ml_dtypes.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'ml_dtypes'\", name='ml_dtypes')\n")
    words = ["run", "kernels.py::double", "--arg", "float32[128,512]", "--quiet"]
    variables = {"TRNSIM_PYTHON": sys.executable, "PYTHONPATH": os.fspath(hidden)}
    assert trnsim(*words, **variables).status == 0
    assert trnsim.fails(2, *words, "--values", **variables).startswith(
        f"{sys.executable}: has no ml_dtypes, which trnsim's frontend needs; install it with ")


def test_a_module_that_is_missing_is_told_with_the_interpreter(trnsim: CommandLine) -> None:
    (trnsim.folder / "needs.py").write_text("import torch_of_nobody\n")
    assert trnsim.fails(2, "run", "needs.py::f", TRNSIM_PYTHON=sys.executable).endswith(
        "needs.py:1: importing needs.py raises ModuleNotFoundError: No module named "
        f"'torch_of_nobody'; install it for {sys.executable}, or name another interpreter with the "
        "environment variable TRNSIM_PYTHON\n")


def test_a_script_says_for_which_python_a_module_is_missing(trnsim: CommandLine) -> None:
    (trnsim.folder / "needs.py").write_text("import torch_of_nobody\n")
    assert trnsim.fails(2, "run", "needs.py", TRNSIM_PYTHON=sys.executable).startswith(
        "needs.py:1: the script raises ModuleNotFoundError: No module named 'torch_of_nobody'; "
        f"install it for {sys.executable}, or name another")


@pytest.mark.parametrize(("given", "seen"), [(None, None), ("", None), ("1", "1")])
def test_a_folder_replaces_no_module_of_pythons_and_what_scripts_start_does_not_know(
        trnsim: CommandLine, given: str | None, seen: str | None) -> None:
    (trnsim.folder / "argparse.py").write_text("raise ValueError\n")
    (trnsim.folder / "script.py").write_text(
        "import os, sys\nprint('seen', os.environ.get('PYTHONSAFEPATH'))\n"
        "import numpy as np\nimport kernels\nkernels.double(np.ones((128, 512), np.float32))\n")
    variables = {} if given is None else {"PYTHONSAFEPATH": given}
    outcome = trnsim("run", "script.py", **variables)
    assert outcome.status == 0, outcome.error
    assert f"seen {seen}\n" in outcome.output


@pytest.mark.parametrize("status", [2, 3])
def test_status_and_message_of_the_frontend_pass_unchanged(
        trnsim: CommandLine, status: int) -> None:
    python = fake_python(trnsim.folder, f"sys.stderr.write('where: what\\n'); sys.exit({status})")
    assert trnsim.fails(status, "run", "k.py::f", TRNSIM_PYTHON=python) == "where: what\n"


@pytest.mark.parametrize("body", ["sys.exit('Traceback')", "os.abort()"])
def test_a_frontend_that_breaks_is_our_fault(trnsim: CommandLine, body: str) -> None:
    python = fake_python(trnsim.folder, body)
    outcome = trnsim("run", "k.py::f", TRNSIM_PYTHON=python)
    assert outcome.status == 1
    assert "trnsim.frontend" in outcome.error


def test_a_frontend_that_writes_half_a_trace_is_told_from_a_whole_one(trnsim: CommandLine) -> None:
    python = fake_python(trnsim.folder, "print('{\"record\":\"header\"')")
    assert "k.py::f:1" in trnsim.fails(2, "run", "k.py::f", TRNSIM_PYTHON=python)


def test_the_users_python_path_is_kept(trnsim: CommandLine) -> None:
    folder = trnsim.folder / "elsewhere"
    folder.mkdir()
    (folder / "helper.py").write_text("TIMES = 2\n")
    text = KERNELS.replace("import nki\n", "import nki\nimport helper\n", 1)
    (trnsim.folder / "imports.py").write_text(text.replace("times=1", "times=helper.TIMES"))
    outcome = trnsim("run", "imports.py::double", "--arg", "float32[128,512]", "--quiet",
                     PYTHONPATH=os.fspath(folder))
    assert outcome.status == 0, outcome.error


def test_what_a_kernel_file_has_started_is_not_waited_for(trnsim: CommandLine) -> None:
    (trnsim.folder / "daemon.py").write_text(
        "import subprocess\nsubprocess.Popen(['sleep', '60'])\n" + KERNELS)
    begun = time.monotonic()
    outcome = trnsim("run", "daemon.py::double", "--arg", "float32[128,512]", "--quiet")
    assert (outcome.status, time.monotonic() - begun < 30) == (0, True), outcome.error


def test_an_interrupt_ends_the_frontend_too(trnsim: CommandLine) -> None:
    python = fake_python(trnsim.folder, "import time; open('started', 'w'); time.sleep(600)")
    process = subprocess.Popen([trnsim.binary, "run", "k.py::f"], cwd=trnsim.folder,
                               stderr=subprocess.PIPE, env={**os.environ, "TRNSIM_PYTHON": python})
    deadline = time.monotonic() + 30
    while not (trnsim.folder / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM, error
    deadline = time.monotonic() + 30
    while python in running_commands() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert python not in running_commands()


def running_commands() -> str:
    """The command lines of all processes."""
    texts = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            texts.append(path.read_text(errors="replace"))
        except OSError:
            continue  # It has ended meanwhile.
    return "\n".join(texts)


COUNTED = """\
import nki, nki.language as nl, nki.isa as nisa
@nki.jit
def kernel(x, count):
    rows = nisa.register_alloc()
    nisa.register_load(rows, count)
    for i in nl.dynamic_range(rows):
        nl.load(x)
"""
COUNTED_ARGUMENTS = ("counted.py::kernel", "--arg", "float32[128,64]", "--arg", "int32[1,1]")


def test_the_user_says_how_often_a_loop_of_unknown_length_runs(trnsim: CommandLine) -> None:
    (trnsim.folder / "counted.py").write_text(COUNTED)
    loads = []
    for options in ((), ("--assume", "rows=3"), ("--assume", "rows=40")):
        summary = trnsim.result(*COUNTED_ARGUMENTS, *options)["summary"]
        loads.append(summary["hbm_read_bytes"] // (128 * 64 * 4))
    assert loads == [8, 3, 40]
    told = trnsim("run", *COUNTED_ARGUMENTS, "--assume", "rows=3").output
    line = 1 + COUNTED.partition("nl.dynamic_range")[0].count("\n")
    assert f"assumed: counted.py:{line}: the loop over register 'rows' runs 3 times, as given" in told
    assert trnsim("trace", *COUNTED_ARGUMENTS, "--assume", "rows=40", "-o", "x.nkt").status == 0
    assert trnsim.result("x.nkt")["summary"]["hbm_read_bytes"] == 40 * 128 * 64 * 4


def test_a_trip_count_that_is_of_no_use_is_refused(trnsim: CommandLine) -> None:
    (trnsim.folder / "counted.py").write_text(COUNTED)
    assert ("a trip count for register 'row': no loop's end is an unknown value of it; registers "
            "with one are rows") in trnsim.fails(2, "run", *COUNTED_ARGUMENTS, "--assume", "row=3")
    assert "--assume 'rows' is not NAME=COUNT" in trnsim.fails(
        2, "run", *COUNTED_ARGUMENTS, "--assume", "rows")
    assert trnsim("trace", *COUNTED_ARGUMENTS, "-o", "x.nkt").status == 0
    assert "--assume rows=3: x.nkt is a trace, whose loops have their counts" in trnsim.fails(
        2, "run", "x.nkt", "--assume", "rows=3")
    assert "--assume rows=3: counted.py is a script, whose values say how often" in trnsim.fails(
        2, "run", "counted.py", "--assume", "rows=3")


RAGGED = '''
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def exponential(x):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range((rows + 127) // 128):
        p = min(128, rows - i * 128)
        tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[0:p], src=x[i * 128:i * 128 + p])
        result = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=result[0:p], op=nl.exp, data=tile[0:p])
        nisa.dma_copy(dst=out[i * 128:i * 128 + p], src=result[0:p])
    return out
'''


def test_a_ragged_last_tile_is_no_slower_than_a_whole_one(trnsim: CommandLine) -> None:
    (trnsim.folder / "ragged.py").write_text(RAGGED)
    latencies = [
        trnsim.result("ragged.py::exponential", "--arg", f"float32[{rows},1024]")["summary"]
        ["latency_us"] for rows in (416, 448, 480, 512)]
    assert latencies == sorted(latencies)


def test_the_limits_that_go_to_the_frontend_are_those_that_it_reads() -> None:
    tools = Path(__file__).parents[4] / "tools"
    read = re.findall(r'value\("/([a-z0-9_/]+)"\)',
                      (tools / "python" / "trnsim" / "frontend" / "chip.py").read_text())
    told = re.search(r"kLimits\{(.*?)\}", (tools / "trnsim" / "python_frontend.cpp").read_text(),
                     re.DOTALL)
    assert told is not None
    assert sorted({one.replace("/", ".") for one in read}) == re.findall(r'"(.+?)"', told[1])
