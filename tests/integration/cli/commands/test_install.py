# SPDX-License-Identifier: Apache-2.0
# What is installed finds its parts.
"""Tests of `cmake --install` and of `pip install ./tools/python`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine

ROOT = Path(__file__).resolve().parents[4]
KERNEL = '''
import nki
import nki.language as nl


@nki.jit
def double(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y, nl.multiply(nl.load(x), 2.0))
    return y
'''
SCRIPT = KERNEL + '''

import numpy
double(numpy.ones((128, 4), numpy.float32))
'''
API = '''
import trnsim
from kernel import double
print(trnsim.simulate(double, "float32[128,4]").chip, trnsim.__file__)
'''


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "api.py").write_text(API)


def bare_environment(**variables: str) -> dict[str, str]:
    """No variable tells where anything of trnsim is."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("TRNSIM_", "PYTHON", "NEURON_"))}
    return {**kept, **variables}


def run(folder: Path, *words: object, **variables: str) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True,
                          text=True, check=False, env=bare_environment(**variables))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installation_works_from_anywhere(trnsim: CommandLine, tmp_path: Path) -> None:
    build = Path(trnsim.binary).resolve().parents[2]
    if not (build / "cmake_install.cmake").is_file():
        pytest.skip(f"{build} is not a build folder of CMake")
    prefix = tmp_path / "prefix"
    run(tmp_path, "cmake", "--install", build, "--prefix", prefix)
    binary = prefix / "bin" / "trnsim"
    assert (prefix / "share/trnsim/configs/schema/result.schema.json").is_file()
    text = run(tmp_path, binary, "run", "kernel.py::double", "--arg", "float32[128,4]",
               TRNSIM_PYTHON=sys.executable)
    assert text.startswith("double on trainium2")
    assert "script.py: 1 kernel call," in run(tmp_path, binary, "run", "script.py",
                                              TRNSIM_PYTHON=sys.executable)
    package = prefix / "share" / "trnsim" / "python"
    text = run(tmp_path, sys.executable, "api.py", PYTHONPATH=str(package))
    assert text == f"trainium2 {package / 'trnsim' / '__init__.py'}\n"


def test_pip_installs_package_command_and_plugin(trnsim: CommandLine, tmp_path: Path) -> None:
    run(tmp_path, sys.executable, "-m", "venv", "venv")
    source = shutil.copytree(ROOT / "tools" / "python", tmp_path / "source",
                             ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    python = tmp_path / "venv" / "bin" / "python"
    installed = subprocess.run(
        [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
         "--retries", "0", "--timeout", "5", str(source)],
        capture_output=True, text=True, check=False, env=bare_environment())
    if installed.returncode != 0 and "setuptools" in installed.stderr:
        pytest.skip("pip cannot fetch setuptools: no network")
    assert installed.returncode == 0, installed.stderr
    here = next(Path(folder) for folder in sys.path if (Path(folder) / "numpy").is_dir())
    binary = {"TRNSIM_BINARY": str(Path(trnsim.binary).resolve()), "PYTHONPATH": str(here)}
    text = run(tmp_path, python.with_name("trnsim"), "run", "kernel.py::double", "--arg",
               "float32[128,4]", **binary)
    assert text.startswith("double on trainium2")
    assert run(tmp_path, python, "api.py", **binary).startswith(f"trainium2 {tmp_path}/venv/")
    names = ("import importlib.metadata as m; print([e.value for e in m.entry_points("
             "group='pytest11') if e.name == 'pytest_trnsim'], m.version('trnsim'))")
    version = run(tmp_path, python.with_name("trnsim"), "--version", **binary).split()[1]
    assert run(tmp_path, python, "-c", names, **binary) == f"['pytest_trnsim'] {version}\n"
    missing = subprocess.run([str(python.with_name("trnsim")), "--version"], cwd=tmp_path,
                             capture_output=True, text=True, check=False,
                             env=bare_environment(PATH=str(python.parent)))
    assert missing.returncode == 2 and "cmake --workflow --preset ci" in missing.stderr


def test_a_package_behind_a_link_is_still_not_the_users_code(trnsim: CommandLine,
                                                             tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(ROOT / "tools" / "python")
    said = run(tmp_path, sys.executable, "-m", "trnsim.script", "script.py",
               PYTHONPATH=str(tmp_path / "linked"),
               TRNSIM_BINARY=str(Path(trnsim.binary).resolve()))
    assert "script.py:14" in said
