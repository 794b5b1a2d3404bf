# SPDX-License-Identifier: Apache-2.0
# Tests of `python3 -m trnsim.frontend`: arguments, files, messages and exit statuses.
"""The command line, and what is in the file that it writes."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from trace_expander import expand, expand_cores, lines_of, parse
from trnsim.frontend import TensorArgument, UserError, dtype
from trnsim.frontend import arguments as argument_forms
from trnsim.frontend.__main__ import main

KERNEL = textwrap.dedent("""\
    import nki
    import nki.isa as nisa
    import nki.language as nl
    import torch
    from neuron_dtypes import something
    from scaling import factor

    @nki.jit(platform_target="trn2")
    def scale(x, times: int = 2, *, rows=128):
        assert x.shape[0] % rows == 0, f"rows of x: {x.shape[0]}, but a multiple of {rows}"
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        print("tracing", x.shape)
        for i in range(x.shape[0] // rows):
            tile = nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[i * rows:(i + 1) * rows, :])
            nisa.tensor_scalar(tile, tile, nl.multiply, factor(times))
            nisa.dma_copy(dst=y[i * rows:(i + 1) * rows, :], src=tile)
        return y

    def needs_torch(x):
        return torch.ones(3)

    def too_large(x):
        nl.ndarray((256, 4), dtype=x.dtype, buffer=nl.sbuf)

    class Group:
        @staticmethod
        def nothing(x):
            return x
    """)
HELPER = textwrap.dedent("""\
    import nki

    def factor(times):
        return sum(range(3)) + times
    """)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel file with a helper module beside it."""
    (tmp_path / "scaling.py").write_text(HELPER)
    path = tmp_path / "scale_kernel.py"
    path.write_text(KERNEL)
    for name in ("scale_kernel", "scaling"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return path


def run(*words: str) -> int:
    return main(list(words))


def test_a_kernel_is_traced_into_a_file(kernel: Path, tmp_path: Path) -> None:
    out = tmp_path / "scale.nkt"
    assert run(f"{kernel}::scale", "--arg", "float32[512,64]", "--arg", "3", "-o", str(out)) == 0
    header = parse(lines_of(out)).header
    assert header == {
        "record": "header", "format": "nkt", "version": 1, "form": "program",
        "producer": header["producer"], "target": "trn2", "kernel": "scale", "api": "nki",
        "source_sha256": hashlib.sha256(kernel.read_bytes()).hexdigest(),
        "arguments": ["float32[512,64]", "3"]}
    assert len(expand(lines_of(out))) == 12 and not list(tmp_path.glob(".scale*"))


def test_arguments_may_be_named(kernel: Path, tmp_path: Path) -> None:
    out = tmp_path / "scale.nkt"
    assert run(f"{kernel}::scale", "--arg=rows=64", "--arg=x=bfloat16[128, 8]", "-o", str(out)) == 0
    trace = parse(lines_of(out))
    assert trace.header["arguments"] == ["rows=64", "x=bfloat16[128,8]"]
    assert trace.buffers[0] == {"record": "buffer", "id": 0, "name": "x", "space": "hbm",
                                "kind": "input", "dtype": "bfloat16", "shape": [128, 8]}
    assert [one["kind"] for one in trace.buffers.values() if "kind" in one] == ["input", "output"]


def test_positions_name_the_kernel_file_and_line(kernel: Path, tmp_path: Path) -> None:
    out = tmp_path / "scale.nkt"
    run(f"{kernel}::scale", "--arg", "float32[256,64]", "-o", str(out))
    trace = parse(lines_of(out))
    assert [one["path"] for one in trace.files.values()] == ["scale_kernel.py"]
    sources = [KERNEL.splitlines()[one["source"][1] - 1] for one in trace.templates.values()]
    assert ["dma_copy" in text or "tensor_scalar" in text for text in sources] == [True] * 3


def test_files_of_one_name_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("ones", "others", "here"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "filling.py").write_text(
            "import nki.isa as nisa\ndef fill(tile):\n    nisa.memset(dst=tile, value=0.0)\n")
    (tmp_path / "filled.py").write_text(
        "import nki.language as nl\nimport here.filling, ones.filling, others.filling\n"
        "def filled():\n    tile = nl.ndarray((128, 4), dtype=nl.float32, buffer=nl.sbuf)\n"
        "    for module in (here, ones, others, ones):\n        module.filling.fill(tile)\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path / "here")
    assert run("../filled.py::filled", "-o", "filled.nkt") == 0
    trace = parse(lines_of(Path("filled.nkt")))
    assert sorted(one["path"] for one in trace.files.values()) == [
        "filled.py", "filling.py", "ones/filling.py", "others/filling.py"]


def test_standard_output_holds_the_trace_alone(kernel: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "trnsim.frontend", f"{kernel}::scale", "--arg", "float32[128,64]",
         "-o", "-"], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(root / "tools" / "python"), "PATH": "/usr/bin:/bin",
             "TRNSIM_CONFIG_DIR": str(root / "configs")})
    assert len(expand(done.stdout.splitlines())) == 3
    assert done.stderr == "tracing (128, 64)\n"


@pytest.mark.parametrize("folder", ["", "trnsim_kernels"])
def test_a_package_behind_a_link_names_the_lines_of_the_kernel(folder: str,
                                                               tmp_path: Path) -> None:
    """Whatever lies beside the package, and begins with its name."""
    root = Path(__file__).resolve().parents[3]
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / "trnsim").symlink_to(root / "tools" / "python" / "trnsim")
    file = tmp_path / folder / "filled.py"
    file.write_text("import nki.language as nl\ndef filled(x):\n    tile = nl.load(x)\n"
                    "    y = nl.zeros(x.shape, x.dtype, buffer=nl.shared_hbm)\n"
                    "    nl.store(y, tile)\n    return y\n")
    done = subprocess.run(
        [sys.executable, "-m", "trnsim.frontend", f"{file}::filled", "--arg", "float32[128,64]",
         "-o", "-"], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin",
             "TRNSIM_CONFIG_DIR": str(root / "configs")})
    trace = parse(done.stdout.splitlines())
    assert [one["path"] for one in trace.files.values()] == ["filled.py"]


@pytest.mark.parametrize("with_package", [True, False])
def test_a_file_is_compressed_and_standard_output_is_text(
        with_package: bool, kernel: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes],
        monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_package:
        monkeypatch.setitem(sys.modules, "zstandard", None)
    out = tmp_path / "a.nkt"
    for name in (str(out), "-"):
        assert run(f"{kernel}::scale", "--arg", "float32[128,64]", "-o", name) == 0
    assert out.read_bytes()[:4] == bytes.fromhex("28b52ffd")
    zstd = shutil.which("zstd")
    assert zstd is not None
    unpacked = subprocess.run([zstd, "-dc", str(out)], capture_output=True, check=True).stdout
    assert unpacked and capfdbinary.readouterr().out.endswith(unpacked)


def test_a_file_that_nothing_can_compress_is_not_written(
        kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    out = tmp_path / "a.nkt"
    assert run(f"{kernel}::scale", "--arg", "float32[128,64]", "-o", str(out)) == 2
    assert "zstandard or the program zstd; install one" in capsys.readouterr().err
    assert not list(tmp_path.glob("*a.nkt*"))


def test_the_same_kernel_gives_the_same_bytes(kernel: Path, tmp_path: Path) -> None:
    outs = [tmp_path / "a.nkt", tmp_path / "b.nkt"]
    for out in outs:
        run(f"{kernel}::scale", "--arg", "float32[1024,64]", "-o", str(out))
    assert outs[0].read_bytes() == outs[1].read_bytes()


@pytest.mark.parametrize(("words", "status", "message"), [
    (["{k}::scale"], 2, "scale(x, times=2, *, rows=128): missing a required argument: 'x'"),
    (["{k}::scale", "--arg", "float32[100,64]"], 2,
     "scale_kernel.py:10: the kernel raises AssertionError: rows of x: 100, but a multiple of 128"),
    (["{k}::needs_torch", "--arg", "float32[100,64]"], 2,
     "scale_kernel.py:21: torch.ones is called in the kernel, but torch is not installed"),
    (["{k}::too_large", "--arg", "float32[100,64]"], 3,
     "scale_kernel.py:24: a sbuf tensor of shape [256, 4] takes 256 partitions"),
    (["{k}::missing"], 2, "has no function 'missing'; its kernels are: scale"),
    (["{k}"], 2, "::scale with an --arg for each parameter; it "
     "defines scale"),
    (["nowhere.py::scale"], 2, "nowhere.py: there is no such file"),
    (["{k}::scale", "--arg", "float99[4]"], 2,
     "--arg 'float99[4]': there is no data type 'float99'; did you mean float"),
    (["{k}::scale", "--arg", "x=bf16[4]"], 2, "'bf16'; did you mean bfloat16?"),
    (["{k}::scale", "--arg", "real[4]"], 2, "there is no data type 'real'; NKI's are float32 "),
    (["{k}::scale", "--arg", "float32[0,4]"], 2,
     "argument x: a tensor of shape [0, 4], which has no element; give every dimension"),
    (["{k}::scale", "--arg", "float32[99999999999999999999,2]"], 2,
     "argument x: a tensor of shape [99999999999999999999, 2] has 199999999999999999998 elements, but "
     "at most 281474976710656 are possible"),
    (["{k}::scale", "--arg", "float32[128,4]", "--arg", "times=3", "--arg", "times=4"], 2,
     "--arg 'times=4': times is given twice"),
    (["{k}::scale", "--arg", "float32[]"], 2, "a tensor without a shape"),
    (["{k}::scale", "--arg", "hello"], 2, "--arg 'hello': neither a tensor like"),
    (["{k}::scale", "--arg", "float32[128,64]", "--chip", "trn9"], 2, "chip 'trn9': "),
    (["{k}::scale", "--arg", "float32[128,64]", "-o", "/nowhere/x.nkt"], 2,
     "/nowhere/x.nkt: No such file or directory; choose another output file"),
])
def test_a_mistake_is_answered_in_one_paragraph(
        words: list[str], status: int, message: str, kernel: Path, tmp_path: Path,
        capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.nkt"
    filled = [word.replace("{k}", str(kernel)) for word in words]
    assert run(*(["-o", str(out)] if "-o" not in filled else []), *filled) == status
    text = capfd.readouterr().err
    assert message in text
    assert text.replace("tracing (128, 64)\n", "").count("\n") == 1 and not out.exists()


def test_a_kernel_that_does_not_import_is_an_error(tmp_path: Path,
                                                   capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken_kernel.py"
    path.write_text("import nki\nimport no_such_module\n")
    assert run(f"{path}::f", "-o", str(tmp_path / "x")) == 2
    assert "broken_kernel.py:2: importing" in capfd.readouterr().err


def test_a_grid_has_one_or_two_programs(tmp_path: Path,
                                                    capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "grid_kernel.py"
    path.write_text(textwrap.dedent("""\
        import nki, nki.language as nl
        @nki.jit
        def copy(x):
            assert (nl.program_id(0), nl.num_programs()) == (0, 1)
            nl.load(x)
        one = copy[1]
        """))
    out = tmp_path / "x.nkt"
    assert run(f"{path}::one", "--arg", "float32[128,64]", "-o", str(out)) == 0
    path.write_text(path.read_text() + "three = copy[3]\n")
    assert run(f"{path}::one", "--arg", "float32[128,64]", "-o", str(out)) == 2
    assert ("grid_kernel.py:7: kernel copy is launched on a grid of [3], 3 programs, but a logical "
            "NeuronCore has 1 or 2 cores") in capfd.readouterr().err


def test_tensors_stand_in_lists_and_dicts() -> None:
    tensor = TensorArgument(dtype("float32"), (4, 2))
    assert argument_forms.parse("xs=['float32[4,2]', 3, 'text']") == ("xs", [tensor, 3, "text"])
    assert argument_forms.parse("('float32[4,2]',)") == (None, (tensor,))
    assert argument_forms.parse("{'a': ['float32[4,2]']}") == (None, {"a": [tensor]})
    assert argument_forms.parse("'float32[4,2]'") == (None, "float32[4,2]")
    assert argument_forms.describe([tensor, ("a", 1)]) == "[float32[4,2], ('a', 1)]"
    assert argument_forms.describe({"a": (tensor,)}) == "{'a': (float32[4,2],)}"


GRIDS = textwrap.dedent("""\
    from neuronxcc import nki
    import neuronxcc.nki.language as nl
    @nki.jit
    def decorated(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        row, column = nl.program_id(0), nl.program_id(1)
        rows, columns = nl.arange(64)[:, None], nl.arange(32)[None, :]
        nl.store(y[row * 64 + rows, column * 32 + columns],
                 nl.load(x[row * 64 + rows, column * 32 + columns]))
        return y
    def plain(x):
        return decorated(x)
    """)


@pytest.mark.parametrize(("grid", "loads"), [
    ("", 1), ("[1]", 1), ("[2]", 2), ("[2,2]", 4), ("[ 2 , 1 ]", 2), ("[nl.nc(2), 2]", 2)])
@pytest.mark.parametrize("function", ["decorated", "plain"])
def test_a_kernel_is_launched_on_the_grid_behind_its_name(
        tmp_path: Path, function: str, grid: str, loads: int) -> None:
    path, out = tmp_path / "grids_kernel.py", tmp_path / "x.nkt"
    path.write_text(GRIDS)
    assert run(f"{path}::{function}{grid}", "--arg", "float32[128,64]", "-o", str(out)) == 0
    assert len(expand(lines_of(out))) == 2 * loads


@pytest.mark.parametrize(("name", "problem"), [
    ("kernel[x]", "[x] is no launch grid; write numbers of programs, like [2] or [4,2]"),
    ("kernel[]", "[] is no launch grid"),
    ("kernel[2,2]", "kernel kernel is launched on a grid of [2, 2], 4 programs"),
    ("kernel[0]", "kernel kernel is launched on a grid of [0], 0 programs"),
    ("kernel[2", "does not name a kernel; write file.py::function, or 'file.py::function[2]'"),
    ("nothing[2]", "has no function 'nothing'"),
])
def test_a_wrong_grid_is_told_with_the_name(tmp_path: Path, capfd: pytest.CaptureFixture[str],
                                            name: str, problem: str) -> None:
    path = tmp_path / "loop_kernel.py"
    path.write_text(LOOP)
    assert run(f"{path}::{name}", "-o", str(tmp_path / "x.nkt")) == 2
    told = capfd.readouterr().err
    assert told.startswith(str(path))
    assert problem in told


@pytest.mark.parametrize("grid", ["0", "2,0", "nc(0)"])
def test_every_axis_of_a_grid_has_a_program(tmp_path: Path, capfd: pytest.CaptureFixture[str],
                                            grid: str) -> None:
    path = tmp_path / "grids_kernel.py"
    path.write_text(GRIDS)
    assert run(f"{path}::decorated[{grid}]", "-o", str(tmp_path / "x.nkt")) == 2
    assert capfd.readouterr().err == (
        f"{path}::decorated[{grid}]: [{grid}] has an axis without programs, but every axis has a "
        "program at least; write numbers from 1 on\n")


LOOP = textwrap.dedent("""\
    import nki, nki.language as nl, nki.isa as nisa
    def kernel(x, count):
        rows = nisa.register_alloc()
        nisa.register_load(rows, count)
        for i in nl.dynamic_range(rows):
            nl.load(x)
    """)


def test_cores_and_trip_counts_are_options(tmp_path: Path,
                                           capfd: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "loop_kernel.py", tmp_path / "x.nkt"
    path.write_text(LOOP)
    arguments = ["--arg", "float32[128,64]", "--arg", "int32[1,1]", "-o", str(out)]
    assert run(f"{path}::kernel[2]", *arguments, "--assume", "rows=3") == 0
    assert [len(core) for core in expand_cores(lines_of(out))] == [4, 4]
    assert run(f"{path}::kernel", *arguments, "--assume", "rows") == 2
    assert "--assume 'rows' is not NAME=COUNT" in capfd.readouterr().err


SCRIPT = textwrap.dedent("""\
    import numpy
    import nki
    import nki.language as nl

    @nki.jit
    def double(x):
        y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(y, nl.multiply(nl.load(x), 2.0))
        return y

    result = double(numpy.ones((128, 4), dtype=numpy.float16))
    assert result.shape == (128, 4)
    """)


def test_a_script_is_run_and_its_kernel_calls_are_traced(
        tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "script.py", tmp_path / "x.nkt"
    path.write_text(SCRIPT)
    assert run(str(path), "-o", str(out)) == 0
    assert parse(lines_of(out)).header["arguments"] == ["float16[128,4]"]
    path.write_text(SCRIPT + "double(result)\ndouble(numpy.ones((64, 4), dtype=numpy.float32))\n")
    assert run(str(path), "-o", str(out)) == 2
    assert "calls 3 kernels; choose one with --launch 1 to 3" in capfd.readouterr().err
    assert run(str(path), "--launch", "3", "-o", str(out)) == 0
    assert parse(lines_of(out)).header["arguments"] == ["float32[64,4]"]
    path.write_text(SCRIPT + "print(result[0])\n")
    assert run(str(path), "-o", str(out)) == 2
    assert "script.py:13: the result of kernel double is read" in capfd.readouterr().err


def test_a_script_is_recorded_with_the_limits_that_are_set(
        tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    limit = "--set=neuron_core.sbuf.partitions=32"
    assert run(str(path), limit, "-o", str(tmp_path / "x.nkt")) == 3
    assert "sbuf has 32" in capfd.readouterr().err


@pytest.mark.parametrize(("text", "expected"), [
    ("float32[2048,2048]", (None, TensorArgument(dtype("float32"), (2048, 2048)))),
    (" bfloat16 [ 4 , 5 ] ", (None, TensorArgument(dtype("bfloat16"), (4, 5)))),
    ("4", (None, 4)), ("(3, 4)", (None, (3, 4))), ("True", (None, True)),
    ("'gelu'", (None, "gelu")), ("eps=1e-6", ("eps", 1e-6)),
    ("bfloat16", (None, dtype("bfloat16"))),
    ("x=int8[3]", ("x", TensorArgument(dtype("int8"), (3,)))), ("None", (None, None)),
])
def test_the_grammar_of_arguments(text: str, expected: object) -> None:
    assert argument_forms.parse(text) == expected


def test_arguments_in_lists_become_tensors(tmp_path: Path) -> None:
    from helpers import program, tensor
    from kernels import nki, nl

    @nki.jit
    def kernel(pair: list, named: dict) -> None:
        nl.load(pair[0])
        nl.load(named["a"])
    trace = parse(program(kernel, [tensor("int8", 4, 4), 3], {"a": tensor("int8", 2, 2)}).lines())
    assert [one["name"] for one in trace.buffers.values() if "kind" in one] == ["pair_0", "named_a"]


def test_an_argument_that_is_only_written_is_an_output() -> None:
    from helpers import program, tensor
    from kernels import nki, nl

    @nki.jit
    def kernel(x: object, y: object) -> None:
        nl.store(y, nl.load(x))
    buffers = parse(program(kernel, tensor("int8", 4, 4), tensor("int8", 4, 4)).lines()).buffers
    assert [buffers[0]["kind"], buffers[1]["kind"]] == ["input", "output"]


def test_numbers_in_the_trace_are_json() -> None:
    from helpers import program, tensor
    from kernels import scale
    for line in program(scale, tensor("float32", 256, 64)).lines():
        assert json.loads(line)


def test_a_wrong_chip_file_is_named(tmp_path: Path) -> None:
    from trnsim.frontend.chip import load_chip
    path = tmp_path / "mine.json"
    path.write_text('{"neuron_core_version": {"value": 1}}')
    with pytest.raises(UserError, match="neuron_core_version is 1, but NKI programs"):
        load_chip(str(path))
    path.write_text('{"neuron_core_version": {"value": 3}}')
    with pytest.raises(UserError, match="/neuron_core/sbuf/partitions is missing"):
        load_chip(str(path))
    path.write_text("{")
    with pytest.raises(UserError, match="mine.json: .*; a chip file is JSON"):
        load_chip(str(path))


@pytest.mark.parametrize(("raised", "status", "told"), [
    ("KeyboardInterrupt", -signal.SIGINT, ""), ("ValueError('of ours')", 1, "ValueError: of ours")])
def test_an_interrupt_before_the_command_begins_ends_it_without_a_word(raised: str, status: int,
                                                                       told: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import trnsim.command\nraise {raised}"],
                          capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(Path(__file__).parents[3] / "tools" / "python")})
    assert done.returncode == status
    assert told in done.stderr if told else done.stderr == ""


def test_output_that_cannot_be_written_is_named() -> None:
    command = "from trnsim.command import end_with\nend_with(lambda: print('text') or 0)"
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-c", command], stdout=full, check=False, stderr=subprocess.PIPE,
            text=True, env={"PYTHONPATH": str(Path(__file__).parents[3] / "tools" / "python")})
    assert (done.returncode, done.stderr) == (
        2, "standard output: No space left on device; choose a place that can be read and "
           "written, and has room\n")
