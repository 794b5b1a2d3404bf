# SPDX-License-Identifier: Apache-2.0
# Imports of absent libraries that a program does without.
"""Such imports fail, as they do without trnsim; others find a stand-in."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from trnsim.frontend import install

install()
CAUGHT = "try:\n    {imports}\nexcept {kinds}:\n    {handler}\n"


def found_by(folder: Path, text: str) -> Any:
    """What a file has for tensorflow, which nobody installs beside trnsim."""
    path = folder / "file.py"
    path.write_text(f"tensorflow = None\n{text}")
    spec = importlib.util.spec_from_file_location("file_with_imports", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    try:
        spec.loader.exec_module(module)
        return module.tensorflow
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]


@pytest.mark.parametrize("text", [
    CAUGHT.format(imports="import tensorflow", kinds="ImportError", handler="pass"),
    CAUGHT.format(imports="import numpy, tensorflow.nn", kinds="(ValueError, ImportError) as e",
                  handler="print(e)"),
    CAUGHT.format(imports="from tensorflow import nn as tensorflow", kinds="ModuleNotFoundError",
                  handler="pass"),
    CAUGHT.format(imports="import tensorflow", kinds="Exception", handler="pass"),
    CAUGHT.format(imports="tensorflow = __import__('tensorflow')", kinds="ImportError",
                  handler="pass"),
    "import importlib.util\nif importlib.util.find_spec('tensorflow'):\n    import tensorflow\n"])
def test_an_import_with_something_in_its_place_fails(tmp_path: Path, text: str) -> None:
    assert found_by(tmp_path, text) is None


@pytest.mark.parametrize("text", [
    "import tensorflow",
    CAUGHT.format(imports="import tensorflow", kinds="ValueError", handler="pass"),
    CAUGHT.format(imports="import tensorflow", kinds="ImportError", handler="raise"),
    CAUGHT.format(imports="import tensorflow", kinds="ImportError",
                  handler="import sys; sys.exit('install it')"),
    CAUGHT.format(imports="import nki; import tensorflow", kinds="ImportError", handler="pass")])
def test_an_import_that_is_needed_finds_a_stand_in(tmp_path: Path, text: str) -> None:
    assert found_by(tmp_path, text) is not None


def test_who_imports_what_runs_on_the_device_has_it(tmp_path: Path) -> None:
    text = CAUGHT.format(imports="import torch_xla as tensorflow", kinds="ImportError",
                         handler="pass")
    assert found_by(tmp_path, text) is not None


def test_a_package_that_is_installed_does_without(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    text = CAUGHT.format(imports="tensorflow = __import__('tensorflow')", kinds="Exception",
                         handler="pass")
    assert found_by(folder, text) is None
    assert found_by(tmp_path, text) is not None
