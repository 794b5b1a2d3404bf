# SPDX-License-Identifier: Apache-2.0
# What is written is written whole or not at all.
"""Tests of output files, signals and pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import traces
from command_line import CommandLine


PACKAGE = Path(__file__).resolve().parents[4] / "tools" / "python"
CHIP_FILE = Path(__file__).resolve().parents[4] / "configs/chips/trainium2.json"
LONG_BLOCKS = 20_000_000
"""Of three instructions each: minutes of simulation."""


@pytest.fixture(autouse=True)
def add_trace(tmp_path: Path) -> None:
    (tmp_path / "add.nkt").write_text(traces.add())


@pytest.mark.parametrize("option", ["--json", "--timeline", "--instructions"])
@pytest.mark.parametrize("path", ["missing/out", "add.nkt/out", "."])
def test_a_path_that_cannot_be_written_is_named(
        trnsim: CommandLine, option: str, path: str) -> None:
    message = trnsim.fails(2, "run", "add.nkt", option, path)
    assert option in message and path in message


@pytest.mark.parametrize("option", ["--json", "--timeline", "--instructions"])
def test_a_program_error_leaves_the_old_file_whole(trnsim: CommandLine, option: str) -> None:
    (trnsim.folder / "race.nkt").write_text(traces.race())
    (trnsim.folder / "out").write_text("old")
    trnsim.fails(3, "run", "race.nkt", option, "out")
    assert (trnsim.folder / "out").read_text() == "old"
    assert sorted(os.listdir(trnsim.folder)) == ["add.nkt", "out", "race.nkt"]


def test_a_result_replaces_the_old_file(trnsim: CommandLine) -> None:
    (trnsim.folder / "out.json").write_text("old")
    assert trnsim("run", "add.nkt", "--json", "out.json").status == 0
    assert (trnsim.folder / "out.json").read_text().startswith("{")
    assert sorted(os.listdir(trnsim.folder)) == ["add.nkt", "out.json"]


@pytest.mark.parametrize(("one", "other"), [
    ("out", "out"), ("out", "./out"), ("add.nkt", "linked"), ("add.nkt", "x/../add.nkt"),
    ("new", "to_new")])
def test_two_options_do_not_name_one_file(trnsim: CommandLine, one: str, other: str) -> None:
    (trnsim.folder / "x").mkdir()
    (trnsim.folder / "linked").symlink_to("add.nkt")
    (trnsim.folder / "to_new").symlink_to("new")
    before = sorted(os.listdir(trnsim.folder))
    message = trnsim.fails(2, "run", "add.nkt", "--json", one, "--timeline", other)
    assert message == f"--json {one}, --timeline {other}: both go to one file; name two files\n"
    assert sorted(os.listdir(trnsim.folder)) == before


@pytest.mark.parametrize(("words", "option", "source"), [
    ("run k.py::f --json k.py", "--json k.py", "INPUT k.py::f"),
    ("run k.py --json ./k.py", "--json ./k.py", "INPUT k.py"),
    ("run add.nkt --json linked", "--json linked", "INPUT add.nkt"),
    ("run add.nkt --chip m.json --timeline m.json", "--timeline m.json", "--chip m.json"),
    ("run k.py::f --check ref.py::f --instructions ref.py", "--instructions ref.py",
     "--check ref.py::f"),
    ("compare add.nkt --chips trn1,m.json --json m.json", "--json m.json", "--chips m.json"),
    ("sweep k.py::f --csv k.py", "--csv k.py", "INPUT k.py::f"),
    ("sweep add.nkt --chip m.json --csv m.json", "--csv m.json", "--chip m.json"),
    ("trace k.py::f -o k.py", "-o k.py", "INPUT k.py::f"),
    ("trace k.py::f --chip m.json -o m.json", "-o m.json", "--chip m.json"),
    ("diff a.json b.json --json a.json", "--json a.json", "BEFORE a.json"),
    ("diff a.json b.json --json b.json", "--json b.json", "AFTER b.json"),
    ("describe m.json.dma --json m.json", "--json m.json", "CHIP m.json"),
    ("validate --rows m.csv --json m.csv", "--json m.csv", "--rows m.csv")])
def test_what_is_read_is_not_overwritten(
        trnsim: CommandLine, words: str, option: str, source: str) -> None:
    (trnsim.folder / "linked").symlink_to("add.nkt")
    files = {trnsim.folder / name: f"# {name}\n"
             for name in ("k.py", "ref.py", "a.json", "b.json", "m.csv")}
    files[trnsim.folder / "m.json"] = CHIP_FILE.read_text()
    for file, text in files.items():
        file.write_text(text)
    files[trnsim.folder / "add.nkt"] = traces.add()
    message = trnsim.fails(2, *words.split())
    assert message == f"{option}: would overwrite {source}, which is read; name another file\n"
    assert all(file.read_text() == text for file, text in files.items())


def test_a_trace_may_take_its_own_place(trnsim: CommandLine) -> None:
    before = trnsim("trace", "add.nkt", "-o", "-").output
    assert trnsim("trace", "add.nkt", "-o", "add.nkt").status == 0
    assert trnsim("trace", "add.nkt", "-o", "-").output == before


def test_a_file_that_may_not_grow_is_an_error_and_leaves_nothing(trnsim: CommandLine) -> None:
    (trnsim.folder / "many.nkt").write_text(traces.live_tiles(64))
    for option in ("--timeline", "--instructions"):
        ended = subprocess.run(
            ["bash", "-c", f'ulimit -f 1; exec "$0" run many.nkt -q {option} big', trnsim.binary],
            cwd=trnsim.folder, capture_output=True, text=True, check=False)
        assert ended.returncode == 2 and "File too large" in ended.stderr, ended.stderr
        assert not list(trnsim.folder.glob("big*"))


def test_a_damaged_result_is_one_however_the_difference_is_written(trnsim: CommandLine) -> None:
    whole = trnsim.result("add.nkt")
    (trnsim.folder / "whole.json").write_text(json.dumps(whole))
    del whole["roofline"]["bound_by"]
    (trnsim.folder / "damaged.json").write_text(json.dumps(whole))
    for words in ((), ("--json", "-"), ("--json", "difference.json")):
        message = trnsim.fails(2, "diff", "damaged.json", "whole.json", *words)
        assert message.startswith("damaged.json: /roofline/bound_by: is missing; ")
    assert not (trnsim.folder / "difference.json").exists()
    (trnsim.folder / "large.json").write_text('{"schema_version": 1, "total": 1e400}')
    assert "has a number that is too large" in trnsim.fails(2, "diff", "large.json", "whole.json")


def test_a_trace_is_for_the_chip_that_it_was_recorded_for(trnsim: CommandLine) -> None:
    message = trnsim.fails(2, "trace", "add.nkt", "--chip", "trn1", "-o", "-")
    assert message.startswith("--chip trn1: add.nkt is a trace, which is for the chip ")


def test_a_file_called_like_a_chip_is_not_the_chip(trnsim: CommandLine) -> None:
    (trnsim.folder / "trn2").write_text("old")
    assert trnsim("run", "add.nkt", "--chip", "trn2", "--json", "trn2").status == 0


@pytest.mark.parametrize("program", ["add.nkt", "script.py"])
def test_a_timeline_is_not_for_standard_output(trnsim: CommandLine, program: str) -> None:
    assert trnsim.fails(2, "run", program, "--timeline", "-") == (
        "--timeline -: a timeline is not text for standard output; name a file, like "
        "kernel.pftrace\n")
    assert os.listdir(trnsim.folder) == ["add.nkt"]


def test_two_options_may_name_one_device(trnsim: CommandLine) -> None:
    assert trnsim("run", "add.nkt", "--json", "/dev/null", "--instructions", "/dev/null").status == 0


def test_a_link_stays_a_link(trnsim: CommandLine) -> None:
    (trnsim.folder / "target.json").write_text("old")
    (trnsim.folder / "link.json").symlink_to("target.json")
    assert trnsim("run", "add.nkt", "--json", "link.json").status == 0
    assert (trnsim.folder / "link.json").is_symlink()
    assert (trnsim.folder / "target.json").read_text().startswith("{")


@pytest.mark.parametrize("option", ["--timeline", "--json", "--instructions"])
@pytest.mark.parametrize("is_there", [True, False])
def test_every_option_leaves_links_alone(trnsim: CommandLine, option: str, is_there: bool) -> None:
    (trnsim.folder / "link").symlink_to("target")
    if is_there:
        (trnsim.folder / "target").touch()
    assert trnsim("run", "add.nkt", "-q", option, "link").status == 0
    assert (trnsim.folder / "link").is_symlink()
    assert (trnsim.folder / "target").stat().st_size > 0


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_that_nobody_gets_is_an_error(trnsim: CommandLine, option: str) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([trnsim.binary, option], stdout=full, stderr=subprocess.PIPE,
                               check=False, timeout=60)
    assert ended.returncode == 2 and b"No space left on device" in ended.stderr


def test_a_full_disk_is_an_error(trnsim: CommandLine) -> None:
    for option in ("--json", "--instructions"):
        assert "No space left" in trnsim.fails(2, "run", "add.nkt", option, "/dev/full")
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([trnsim.binary, "run", "add.nkt"], cwd=trnsim.folder, stdout=full,
                               stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 2
    assert b"standard output" in ended.stderr


SCRIPT = """
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def copy(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.load(x))
    return y


copy(np.ones((128, 8), np.float32))
"""


def test_what_a_script_writes_follows_links_and_leaves_devices(trnsim: CommandLine) -> None:
    (trnsim.folder / "script.py").write_text(SCRIPT)
    (trnsim.folder / "target.json").write_text("old")
    (trnsim.folder / "link.json").symlink_to("target.json")
    assert trnsim("run", "script.py", "--json", "link.json").status == 0
    assert (trnsim.folder / "link.json").is_symlink()
    assert (trnsim.folder / "target.json").read_text().startswith("{")
    (trnsim.folder / "null").symlink_to("/dev/null")  # Not the device itself: the test may fail.
    assert trnsim("run", "script.py", "--json", "null", "-q").status == 0
    assert Path("/dev/null").is_char_device()
    assert "Is a directory" in trnsim.fails(2, "run", "script.py", "--json", ".", "-q")


def with_closed(trnsim: CommandLine, streams: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a shell that closes or redirects standard streams."""
    return subprocess.run(["sh", "-c", f'"$0" "$@" {streams}', trnsim.binary, *words],
                          cwd=trnsim.folder, capture_output=True, text=True, check=False,
                          timeout=120)


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_a_message_that_cannot_be_written_does_not_change_the_status(
        trnsim: CommandLine, streams: str) -> None:
    (trnsim.folder / "race.nkt").write_text(traces.race())
    assert with_closed(trnsim, streams, "run", "missing.nkt").returncode == 2
    assert with_closed(trnsim, streams, "run", "race.nkt").returncode == 3
    assert with_closed(trnsim, streams, "run", "--bogus").returncode == 2


def test_no_file_takes_the_place_of_a_closed_stream(trnsim: CommandLine) -> None:
    (trnsim.folder / "kernel.py").write_text(SCRIPT.rpartition("copy(")[0])
    for streams in ("<&-", "2>&-", "<&- 2>&-"):
        ended = with_closed(trnsim, streams, "-v", "run", "kernel.py::copy", "--arg",
                            "float32[128,8]", "--json", "out.json", "-q")
        assert ended.returncode == 0, ended.stderr
        assert (trnsim.folder / "out.json").read_text().startswith("{"), streams
    assert "standard output" in with_closed(trnsim, ">&-", "run", "add.nkt").stderr


def test_a_closed_pipe_ends_the_command_in_silence(trnsim: CommandLine) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    ended = subprocess.run([trnsim.binary, "describe", "trn2"], stdout=write_end,
                           stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert ended.returncode == -signal.SIGPIPE
    assert ended.stderr == b""


@pytest.mark.parametrize("place", ["script", "kernel"])
def test_a_closed_pipe_ends_what_a_script_or_kernel_prints_in_silence(
        trnsim: CommandLine, place: str) -> None:
    speak = 'print("much", flush=True)'
    (trnsim.folder / "speaks.py").write_text(f"""\
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np
@nki.jit
def double(x):
    {speak if place == "kernel" else "pass"}
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * 2)
    return out
{speak if place == "script" else "pass"}
double(np.zeros((128, 64), np.float32))
""")
    read_end, write_end = os.pipe()
    os.close(read_end)
    ended = subprocess.run([trnsim.binary, "run", "speaks.py", "-q"], cwd=trnsim.folder,
                           stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (ended.returncode, ended.stderr) == (-signal.SIGPIPE, b"")


def interrupt(trnsim: CommandLine, words: list[str], signal_number: int) -> None:
    """Starts a command that writes files, and interrupts it once the first has been begun."""
    before = sorted(os.listdir(trnsim.folder))
    process = subprocess.Popen([trnsim.binary, *words], cwd=trnsim.folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while sorted(os.listdir(trnsim.folder)) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    assert process.poll() is None, "the command ended before it could be interrupted"
    process.send_signal(signal_number)
    _, error = process.communicate(timeout=30)  # Ends only when no child holds the pipes.
    assert process.returncode == -signal_number, error
    assert sorted(os.listdir(trnsim.folder)) == before


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing(trnsim: CommandLine, signal_number: int) -> None:
    (trnsim.folder / "long.nkt").write_text(traces.add(128 * LONG_BLOCKS, 2))
    (trnsim.folder / "out.json").write_text("old")
    interrupt(trnsim, ["run", "long.nkt", "--json", "out.json", "--timeline", "out.pftrace",
                       "--instructions", "table.json"],
              signal_number)
    assert (trnsim.folder / "out.json").read_text() == "old"


def test_an_interrupted_run_leaves_nothing_where_links_lead(trnsim: CommandLine) -> None:
    (trnsim.folder / "long.nkt").write_text(traces.add(128 * LONG_BLOCKS, 2))
    (trnsim.folder / "out.pftrace").symlink_to("real.pftrace")
    interrupt(trnsim, ["run", "long.nkt", "--timeline", "out.pftrace"], signal.SIGTERM)


@pytest.mark.parametrize(("name", "words"), [
    ("out.json", ["run", "add.nkt", "-q", "--json"]),
    ("out.pftrace", ["run", "add.nkt", "-q", "--timeline"]),
    ("table.json", ["run", "add.nkt", "-q", "--instructions"]),
    ("out.nkt", ["trace", "add.nkt", "-q", "-o"])])
def test_a_file_keeps_its_permissions_and_a_link_its_place(
        trnsim: CommandLine, name: str, words: list[str]) -> None:
    file, link = trnsim.folder / name, trnsim.folder / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to("new")
    for output in (name, "link"):
        outcome = trnsim(*words, output)
        assert outcome.status == 0, outcome.error
    assert (file.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)
    assert (trnsim.folder / "new").stat().st_mode & 0o777 == 0o666 & ~umask()
    assert file.read_bytes() != b"old"


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_an_interrupted_sweep_leaves_no_table_and_no_processes(trnsim: CommandLine) -> None:
    (trnsim.folder / "long.nkt").write_text(traces.add(128 * LONG_BLOCKS, 2))
    interrupt(trnsim, ["sweep", "long.nkt", "--policy", "dma_rings=1,2,4", "--csv", "out.csv"],
              signal.SIGTERM)


def awaited(is_so: Callable[[], bool]) -> bool:
    """Whether something is so within half a minute."""
    deadline = time.monotonic() + 30
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_so()


def runs_in(folder: Path) -> list[str]:
    """The processes whose folder it is."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # It has ended meanwhile, or is another user's.
            if (process / "cwd").readlink() == folder:
                found.append(process.name)
    return found


def test_a_simulation_from_python_ends_with_its_process_and_leaves_nothing(
        trnsim: CommandLine) -> None:
    (trnsim.folder / "long.nkt").write_text(traces.add(128 * LONG_BLOCKS, 2))
    (trnsim.folder / "tmp").mkdir()
    before = sorted(os.listdir(trnsim.folder))
    code = "import trnsim; trnsim.simulate('long.nkt', timeline='out.pftrace')"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=trnsim.folder,
        env={**os.environ, "TMPDIR": str(trnsim.folder / "tmp"), "TRNSIM_BINARY": trnsim.binary,
             "PYTHONPATH": str(PACKAGE)})
    assert awaited(lambda: sorted(os.listdir(trnsim.folder)) != before)
    assert len(runs_in(trnsim.folder)) == 2
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == -signal.SIGTERM
    assert awaited(lambda: not runs_in(trnsim.folder))
    assert sorted(os.listdir(trnsim.folder)) == before
    assert os.listdir(trnsim.folder / "tmp") == []


def test_a_script_that_a_signal_ends_leaves_nothing(trnsim: CommandLine) -> None:
    (trnsim.folder / "script.py").write_text("open('begun', 'w')\nimport time\ntime.sleep(600)\n")
    (trnsim.folder / "tmp").mkdir()
    process = subprocess.Popen([trnsim.binary, "run", "script.py"], cwd=trnsim.folder,
                               env={**os.environ, "TMPDIR": str(trnsim.folder / "tmp")})
    assert awaited((trnsim.folder / "begun").exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == -signal.SIGTERM
    assert os.listdir(trnsim.folder / "tmp") == []


def test_quiet_leaves_the_files(trnsim: CommandLine) -> None:
    outcome = trnsim("run", "add.nkt", "--quiet", "--json", "out.json")
    assert (outcome.status, outcome.output, outcome.error) == (0, "", "")
    assert (trnsim.folder / "out.json").exists()


def test_there_are_no_colours_and_no_progress_without_a_terminal(trnsim: CommandLine) -> None:
    outcome = trnsim("run", "add.nkt")
    assert "\033" not in outcome.output + outcome.error


def test_a_directory_that_is_gone_is_said_to_be(trnsim: CommandLine, tmp_path: Path) -> None:
    binary = os.environ["TRNSIM_BINARY"]
    (tmp_path / "add.nkt").write_text(traces.add())
    for words, said in ((["add.nkt", "--json", "x.json"], "x.json: cannot be written"),
                        (["add.nkt", "--timeline", "x.pftrace"], "(the current directory is gone)"),
                        (["k.py::f"], "k.py: there is no such file")):
        gone = tmp_path / "gone"
        gone.mkdir()
        inputs = [str(tmp_path / words[0]), *words[1:]]
        ended = subprocess.run(
            ["sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), binary, "run", "-q", *inputs],
            cwd=gone, capture_output=True, text=True, check=False)
        assert ended.returncode == 2 and said in ended.stderr, ended.stderr
        assert "report it" not in ended.stderr


def test_where_nothing_can_be_written_nothing_is_run(trnsim: CommandLine) -> None:
    (trnsim.folder / "script.py").write_text("open('ran', 'w').close()\n")
    for words in (["validate"], ["run", "script.py"]):
        assert trnsim.fails(2, *words, "--json", "no/x.json") == (
            "--json no/x.json: cannot be written (No such file or directory); name a file in a "
            "directory that exists and may be written\n")
    assert not (trnsim.folder / "ran").exists()


def test_a_kernel_that_rows_name_is_kept(trnsim: CommandLine) -> None:
    kernel = trnsim.folder / "k.py"
    kernel.write_text("# a kernel\n")
    (trnsim.folder / "mine.csv").write_text(
        "id,family,class,chip,measured_us,kernel,arguments\nmine,own,new_api,trn2,1,k.py::f,1\n")
    assert trnsim.fails(2, "validate", "--rows", "mine.csv", "--family", "own", "--json", "k.py") == (
        "--json k.py: would overwrite a kernel of --rows, which is read; name another file\n")
    assert kernel.read_text() == "# a kernel\n"
