# SPDX-License-Identifier: Apache-2.0
# Tests of the impersonated modules, of data types, and of the public names.
"""What kernel files can import."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from pathlib import Path

import ml_dtypes
import numpy
import pytest
from trnsim.frontend import UserError, dtype, dtypes, install, run_kernel
from trnsim.frontend.host.impersonate import load_kernel_module, package_of
from trnsim.frontend.nki.tensor import NkiTensor

install()

CORPUS = os.environ.get("TRNSIM_CORPUS")
STUBS = Path(CORPUS or "/nonexistent") / "aws-neuron+aws-neuron-sdk" / "nki" / "api" / "nki"


@pytest.mark.parametrize("name", ["nki", "nki.language", "nki.isa", "nki.typing", "nki.collectives",
                                  "neuronxcc.nki", "neuronxcc.nki.language", "neuronxcc.nki.isa"])
def test_a_module_is_importable(name: str) -> None:
    assert importlib.import_module(name) is sys.modules[name]


def test_only_kernels_get_the_range_that_marks_loops() -> None:
    assert importlib.import_module("trnsim.frontend.sampling.sample").__dict__.get("range") is None


@pytest.mark.skipif(not STUBS.is_dir(), reason="TRNSIM_CORPUS has no AWS Neuron SDK")
def test_every_tensor_method_is_there() -> None:
    tree = ast.parse((STUBS / "language" / "__init__.py").read_text())
    stub = next(node for node in tree.body
                if isinstance(node, ast.ClassDef) and node.name == "NkiTensor")
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(NkiTensor, node.name), node.name


def test_absent_libraries_can_be_imported_and_used_at_import(tmp_path: Path) -> None:
    path = tmp_path / "imports_absent.py"
    path.write_text(
        "import torch\nimport torch.nn.functional as F\nfrom scipy.special import erf\n"
        "import jax.numpy as jnp\n"
        "class Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor): return x\n"
        "@torch.no_grad()\ndef f(x): return x\n"
        "@torch.jit.script\ndef g(x): return x\n")
    module = load_kernel_module(path)
    assert module.f(3) == 3 and module.g(4) == 4 and module.Net().forward(5) == 5


def test_a_module_that_is_not_a_known_library_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "imports_unknown.py"
    path.write_text("import unknown_library\n")
    with pytest.raises(ModuleNotFoundError):
        load_kernel_module(path)


def test_an_installed_library_has_only_the_modules_that_it_has(tmp_path: Path) -> None:
    (tmp_path / "flax").mkdir()
    (tmp_path / "flax" / "__init__.py").write_text("")
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("flax.plugin_17")
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("flax", None)


def test_an_optional_import_takes_its_fallback(tmp_path: Path) -> None:
    path = tmp_path / "imports_optional.py"
    path.write_text("try:\n    import unknown_library\nexcept ImportError:\n    found = False\n")
    assert load_kernel_module(path).found is False


def test_a_helper_module_gets_the_marking_range(tmp_path: Path) -> None:
    (tmp_path / "helper_with_range.py").write_text("import nki\nnumbers = range(3)\n")
    path = tmp_path / "imports_helper.py"
    path.write_text("from helper_with_range import numbers\nsquares = [n * n for n in range(4)]\n")
    module = load_kernel_module(path)
    assert type(module.numbers).__name__ == "LoopRange" and list(module.numbers) == [0, 1, 2]
    assert module.squares == [0, 1, 4, 9]


def test_a_module_that_only_sounds_like_nki_keeps_its_range(tmp_path: Path) -> None:
    (tmp_path / "thinking.py").write_text("# linking, shrinking\nnumbers = range(3)\n")
    path = tmp_path / "imports_thinking.py"
    path.write_text("from thinking import numbers\n")
    assert type(load_kernel_module(path).numbers) is range


@pytest.mark.parametrize(("one", "itemsize", "other"), [
    (dtypes.float32, 4, numpy.float32), (dtypes.bfloat16, 2, ml_dtypes.bfloat16),
    (dtypes.float8_e5m2, 1, ml_dtypes.float8_e5m2), (dtypes.int32, 4, numpy.int32),
    (dtypes.bool_, 1, numpy.bool_), (dtypes.float8_e8m0, 1, ml_dtypes.float8_e8m0fnu),
])
def test_a_data_type_is_that_of_numpy(one: dtypes.DType, itemsize: int, other: type) -> None:
    assert one.itemsize == itemsize == numpy.dtype(one).itemsize
    assert one == other and one == numpy.dtype(other) and one == one.name and dtype(other) is one
    assert numpy.zeros(3).astype(one).dtype == numpy.dtype(other)
    assert one != dtypes.uint16 and {one: 1}[one] == 1


@pytest.mark.parametrize(("one", "bits"), [
    (dtypes.float8_e5m2_x4, numpy.uint32), (dtypes.float8_e4m3fn_x4, numpy.uint32),
    (dtypes.float4_e2m1fn_x4, numpy.uint16)])
def test_packed_types_are_records_of_their_bits_in_numpy(one: dtypes.DType, bits: type) -> None:
    data = numpy.zeros((2, 3), one)
    assert one.itemsize == data.itemsize == numpy.dtype(bits).itemsize
    assert dtype(data.dtype) is one and data.dtype == one and one == data.dtype
    assert numpy.concatenate([data, data]).T.view(bits).shape == (3, 4)
    with pytest.raises(TypeError):
        data + data  # type: ignore[operator]


def test_tfloat32_and_other_records_have_no_numpy_type() -> None:
    assert dtypes.tfloat32.itemsize == 4
    with pytest.raises(AttributeError, match="numpy has no type for tf32"):
        _ = dtypes.tfloat32.dtype
    with pytest.raises(UserError, match="is not one of NKI's"):
        dtype(numpy.dtype([("float8_e5m2_x4", "u4"), ("more", "u4")]))


def test_an_unknown_data_type_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'complex64' is not one of NKI's: float32 .*; convert"):
        dtype("complex64")


@pytest.mark.parametrize("name", ["kernels.attention", "_private_kernels.mlp", "_pre_prod_kernels",
                                  "nccl", "compiler.backends.neuron"])
def test_modules_of_the_compiler_that_no_kernel_needs_are_stood_in_for(name: str,
                                                                       tmp_path: Path) -> None:
    file = tmp_path / "of_others.py"
    file.write_text(f"from neuronxcc.nki.{name} import something\nFOUND = something\n")
    assert load_kernel_module(file).FOUND.__name__ == f"neuronxcc.nki.{name}.something"


def test_functions_of_the_compiler_that_scripts_use_are_there(tmp_path: Path) -> None:
    """As nki-samples, nki-library and programs of the nki-llama contest import them."""
    file = tmp_path / "of_scripts.py"
    file.write_text("from neuronxcc.starfish.penguin.targets.nki.private_api import vnc\n"
                    "from neuronxcc.starfish.support.dtype import static_cast\n"
                    "from neuronxcc.starfish.support.util import allclose\n"
                    "import neuronxcc.nki.language as nl\n"
                    "import neuronxcc.starfish.penguin.ir.ir\n"
                    "SAME = vnc is nl.nc\n")
    found = load_kernel_module(file)
    assert found.SAME
    assert found.static_cast(numpy.ones(2), numpy.float16).dtype == numpy.float16
    assert found.allclose([100.0], [104.0], atol=1e-5, rtol=0.05, verbose=1)
    assert not found.allclose([100.0], [106.0], atol=1e-5, rtol=0.05, verbose=1)


def test_constants_of_the_old_api_need_no_import_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "constants.py"
    file.write_text("import neuronxcc.nki as nki\n"
                    "SAME = nki.isa.constants.engine.vector is nki.isa.engine.vector\n")
    assert load_kernel_module(file).SAME


def test_a_misspelt_module_of_the_api_is_not(tmp_path: Path) -> None:
    file = tmp_path / "misspelt.py"
    file.write_text("import neuronxcc.nki.langage\n")
    with pytest.raises(ModuleNotFoundError, match="langage"):
        load_kernel_module(file)


def test_a_kernel_file_may_have_dots_in_its_name(tmp_path: Path) -> None:
    file = tmp_path / "kernel_90.92mfu.py"
    file.write_text("ANSWER = 42\n")
    assert load_kernel_module(file).ANSWER == 42


def test_a_folder_is_a_package_as_far_as_a_file_looks_up(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "its_kernels" / "experts"
    folder.mkdir(parents=True)
    (folder / "sizes.py").write_text("SIZE = 7\n")
    (folder.parent / "shared.py").write_text("SCALE = 6\n")
    (folder / "near.py").write_text("from .sizes import SIZE\n")
    (folder / "far.py").write_text("from ..shared import SCALE\nfrom .sizes import SIZE\n")
    assert load_kernel_module(folder / "near.py").SIZE == 7
    assert load_kernel_module(folder / "far.py").SCALE == 6


def test_a_package_finds_what_lies_beside_it_last(tmp_path: Path) -> None:
    folder = tmp_path / "its_tests" / "of_kernels"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (tmp_path / "beside_it.py").write_text("SIZE = 7\n")
    (tmp_path / "near_and_beside.py").write_text("SIZE = 8\n")
    (folder / "near_and_beside.py").write_text("SIZE = 9\n")
    (folder / "finds.py").write_text("import beside_it\nimport near_and_beside\n")
    module = load_kernel_module(folder / "finds.py")
    assert (module.beside_it.SIZE, module.near_and_beside.SIZE) == (7, 9)


def test_a_folder_is_a_package_as_far_as_a_file_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "models" / "large" / "its_kernels"
    folder.mkdir(parents=True)
    (folder.parent / "sizes.py").write_text("SIZE = 7\n")
    kernel = folder / "named.py"
    kernel.write_text("from models.large.sizes import SIZE\n")
    assert package_of(kernel) == (tmp_path / "project", "models.large.its_kernels.named")
    assert load_kernel_module(kernel).SIZE == 7


@pytest.mark.parametrize("text", ["import large\n", "import large.other\n", "import os.path\n",
                                  "import nki.language\n", "#  from large.sizes import SIZE\n"])
def test_other_imports_name_no_folder_of_a_file(text: str, tmp_path: Path) -> None:
    for folder in ("os", "nki/language", "large"):
        (tmp_path / folder).mkdir(parents=True)
        kernel = tmp_path / folder / "kernel.py"
        kernel.write_text(text)
        (kernel.parent / "sizes.py").write_text("")
        assert package_of(kernel) == (kernel.parent, "kernel")


def test_dots_in_prose_are_no_import(tmp_path: Path) -> None:
    file = tmp_path / "prose.py"
    file.write_text('"""Rows\nfrom ... to the end\nfrom . on."""\nANSWER = 42\n')
    assert package_of(file) == (tmp_path, "prose")
    file.write_text("def late():\n    from ...far.away import thing\n")
    assert package_of(file)[1].split(".")[-4:] == [*file.parts[-4:-1], "prose"]


def test_there_is_nothing_above_the_topmost_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", lambda _: b"from ....far import thing\n")
    assert package_of(Path("/folder/kernel.py")) == (Path("/"), "folder.kernel")


def test_memories_are_keywords_of_kernels(tmp_path: Path) -> None:
    file = tmp_path / "beta2.py"
    file.write_text("""
import nki
import nki.isa as nisa


@nki.jit
def copy(x):
    tile = sbuf.view(dtype=x.dtype, shape=x.shape)
    nisa.dma_copy(dst=tile, src=x)
    out = hbm.view(x.dtype, x.shape)
    nisa.dma_copy(dst=out, src=tile)
    return out
""")
    data = numpy.arange(128, dtype=numpy.float32).reshape(32, 4)
    assert (run_kernel(load_kernel_module(file).copy, data) == data).all()
