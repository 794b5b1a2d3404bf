# SPDX-License-Identifier: Apache-2.0
# The pytest plugin of trnsim.
"""The fixture `trnsim`; nothing is imported or changed until a test asks for it.

    def test_softmax_is_fast(trnsim):
        trnsim.assert_latency(softmax, ["float32[4096,1024]"], chip="trn2", max_us=120)
        trnsim.assert_bound_by(softmax, ["float32[4096,1024]"], "hbm")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from trnsim.result import Comparison, Result


class Simulator:
    """What the fixture gives: simulate, compare and assertions."""

    def simulate(self, kernel: Any, *arguments: Any, **options: Any) -> Result:
        """trnsim.simulate."""
        from trnsim.api import simulate
        return simulate(kernel, *arguments, **options)

    def compare(self, kernel: Any, *arguments: Any, **options: Any) -> Comparison:
        """trnsim.compare."""
        from trnsim.api import compare
        return compare(kernel, *arguments, **options)

    def assert_latency(self, kernel: Any, args: Any = (), chip: str | None = None, *,
                       max_us: float, **options: Any) -> Result:
        """trnsim.testing.assert_latency."""
        __tracebackhide__ = True
        from trnsim.expectations import assert_latency
        return assert_latency(kernel, args, chip, max_us=max_us, **options)

    def assert_allclose(self, actual: Any, expected: Any, rtol: float | None = None,
                        atol: float | None = None, name: str = "the result") -> None:
        """trnsim.testing.assert_allclose."""
        __tracebackhide__ = True
        from trnsim.testing import assert_allclose
        assert_allclose(actual, expected, rtol, atol, name)

    def assert_bound_by(self, kernel: Any, args: Any = (), resource: str = "tensor",
                        chip: str | None = None, **options: Any) -> Result:
        """trnsim.testing.assert_bound_by."""
        __tracebackhide__ = True
        from trnsim.expectations import assert_bound_by
        return assert_bound_by(kernel, args, resource, chip, **options)


@pytest.fixture(scope="session")
def trnsim() -> Simulator:
    """Simulates kernels and asserts on what they take."""
    return Simulator()
