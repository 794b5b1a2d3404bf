# SPDX-License-Identifier: Apache-2.0
# Kernels that are named by their files, several in one process.
"""Each file is executed with what lies beside it, whatever else has been imported."""

from __future__ import annotations

import importlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trnsim
from api_kernels import double, irregular, old, old_scaled

KERNEL = """\
import nki
import nki.isa as nisa
import nki.language as nl
{imports}

@nki.jit
def kernel(x):
    {lazy}
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for _ in range(COUNT):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
SMALL, X = "float32[128,64]", "float32[512,256]"


def instructions(name: str, **options: Any) -> int:
    """What the kernel of a file executes."""
    return trnsim.trace(name, SMALL, **options).instructions


@pytest.mark.parametrize(("imports", "lazy", "place"), [
    ("from sizes import COUNT", "", "sizes.py"), ("", "from sizes import COUNT", "sizes.py"),
    ("from .sizes import COUNT", "", "sizes.py"), ("from parts.sizes import COUNT", "",
                                                   "parts/sizes.py")])
def test_files_of_the_same_names_in_different_folders_are_not_mixed_up(
        tmp_path: Path, imports: str, lazy: str, place: str) -> None:
    for folder, count in (("one", 2), ("other", 5)):
        beside = tmp_path / folder / "package" / place
        beside.parent.mkdir(parents=True)
        beside.write_text(f"COUNT = {count}\n")
        (tmp_path / folder / "package" / "k.py").write_text(
            KERNEL.format(imports=imports, lazy=lazy or "pass"))
    names = [str(tmp_path / folder / "package" / "k.py::kernel") for folder in ("one", "other")]
    modules, folders = set(sys.modules), list(sys.path)
    found = [instructions(name) for name in (*names, *reversed(names))]
    assert found == [4, 7, 7, 4]
    assert trnsim.simulate(names[1], SMALL).latency_us > trnsim.simulate(names[0], SMALL).latency_us
    assert {one for one in sys.modules if one.startswith(("sizes", "package", "parts", "k"))
            } <= modules and sys.path == folders


def test_a_file_is_read_again_with_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNEL.format(imports="from sizes import COUNT", lazy="pass"))
    for count in (1, 30):
        (tmp_path / "sizes.py").write_text(f"COUNT = {count}\n")
        assert instructions(f"{tmp_path}/k.py::kernel") == count + 2


def test_a_module_of_ones_own_stays_what_it_is(tmp_path: Path,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, count in (("mine", 3), ("theirs", 4)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own_sizes.py").write_text(f"COUNT = {count}\n")
    monkeypatch.syspath_prepend(tmp_path / "mine")
    import own_sizes  # type: ignore[import-not-found]
    (tmp_path / "theirs" / "k.py").write_text(
        KERNEL.format(imports="from own_sizes import COUNT", lazy="pass"))
    assert instructions(f"{tmp_path}/theirs/k.py::kernel") == 6
    import own_sizes as again
    assert again is own_sizes and own_sizes.COUNT == 3


def test_what_a_file_says_about_its_chip_is_that_of_each_call(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "versions.py").write_text(
        "import nki.isa as nisa\nCOUNT = int(nisa.get_nc_version())\n")
    (tmp_path / "package" / "k.py").write_text(
        KERNEL.format(imports="from .versions import COUNT", lazy="pass"))
    name = f"{tmp_path}/package/k.py::kernel"
    assert [instructions(name, chip=chip) for chip in ("trn1", "trn2", "trn3", "trn1")] == [4, 5, 6, 4]


@pytest.mark.parametrize("kernel", [
    partial(double, times=200), partial(partial(double), times=200)])
def test_a_kernel_with_some_of_its_arguments_is_a_kernel(kernel: Any) -> None:
    assert trnsim.trace(kernel, X).instructions == trnsim.trace(
        double, X, 200).instructions


def test_threads_simulate_what_they_would_alone() -> None:
    counts = range(200, 208)

    def latency(count: int) -> float:
        return trnsim.simulate(irregular, X, count).latency_us

    alone = [latency(count) for count in counts]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(latency, counts)) == alone
    finally:
        sys.setswitchinterval(interval)
    assert trnsim.simulate(double, X).latency_us < alone[0]


@pytest.mark.parametrize("name", ["fractions", "graphlib"])
def test_a_file_that_is_called_as_a_module_of_pythons_leaves_that_one_alone(
        tmp_path: Path, name: str) -> None:
    module = importlib.import_module(name)
    (tmp_path / f"{name}.py").write_text(KERNEL.format(imports="COUNT = 3", lazy="pass"))
    assert instructions(f"{tmp_path}/{name}.py::kernel") == 5
    assert sys.modules[name] is module


def undecorated(x: Any, factor: float) -> Any:
    """x times a number; only the names of its module say which API that is."""
    out = old.ndarray(x.shape, dtype=x.dtype, buffer=old.shared_hbm)
    old.store(out, value=old.load(x) * factor)
    return out


class Scaled:
    """What is called as a kernel of the old API is."""

    def __call__(self, x: Any) -> Any:
        return old_scaled(x, 3.0)


class Inherited(Scaled):
    """So is what inherits that."""


@pytest.mark.parametrize(("kernel", "name"), [
    (partial(old_scaled, factor=3.0), "old_scaled"),
    (partial(old_scaled.function, factor=3.0), "old_scaled"),
    (partial(partial(undecorated), factor=3.0), "undecorated"),
    (Scaled(), "Scaled"), (Inherited(), "Inherited"), (partial(Scaled().__call__), "__call__")])
def test_what_a_kernel_is_called_by_says_its_api_its_name_and_its_file(kernel: Any,
                                                                       name: str) -> None:
    header = json.loads(trnsim.trace(kernel, SMALL).lines()[0])
    assert (header["api"], header["kernel"]) == ("neuronxcc.nki", name)
    assert "source_sha256" in header


class Generator:
    """An object that is none of a kernel."""

    def __call__(self, x: Any) -> Any:
        yield x


@pytest.mark.parametrize("kernel", [Generator(), partial(Generator().__call__)])
def test_a_generator_behind_an_object_is_told(kernel: Any) -> None:
    with pytest.raises(trnsim.UserError, match="is a generator or a coroutine, which does nothing"):
        trnsim.trace(kernel, SMALL)
