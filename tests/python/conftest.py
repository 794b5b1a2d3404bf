# SPDX-License-Identifier: Apache-2.0
# Lets the tests of the Python package run from the source tree.
"""Puts tools/python first on the import path, and names the chip configurations beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "python"))
os.environ.setdefault("TRNSIM_CONFIG_DIR", str(ROOT / "configs"))
