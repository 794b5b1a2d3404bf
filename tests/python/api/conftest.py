# SPDX-License-Identifier: Apache-2.0
# What the tests of the Python API share.
"""The kernels, and the simulator: $TRNSIM_BINARY, else this source tree's release build."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of whoever runs the tests does not choose the chip."""
    monkeypatch.delenv("NEURON_PLATFORM_TARGET_OVERRIDE", raising=False)
