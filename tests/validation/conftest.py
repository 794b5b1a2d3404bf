# SPDX-License-Identifier: Apache-2.0
# Lets the tests run from the source tree, with a trace cache of their own.
"""Puts tools/python first on the import path; traces are kept in a folder of the test run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "python"))
os.environ.setdefault("TRNSIM_CONFIG_DIR", str(ROOT / "configs"))


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nothing is left in the user's cache, and nothing is taken from it."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["TRNSIM_CACHE_DIR"] = str(folder)
    return folder
