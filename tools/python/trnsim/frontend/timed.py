# SPDX-License-Identifier: Apache-2.0
# Kernels that nki.benchmark and nki.profile make.
"""TimedKernel: a kernel whose latency can be asked for after a launch.

    bench = nki.benchmark(warmup=5, iters=10)(kernel)
    bench(a, b)
    bench.benchmark_result.nc_latency.get_latency_percentile(50)
"""

from __future__ import annotations

from typing import Any
from collections.abc import Callable, Mapping

from trnsim.errors import UserError
from trnsim.frontend import source
from trnsim.frontend.kernel import Kernel, decorator_with, launched_on

class Latency:
    """The latency of a launch; a simulation is repeatable, so all percentiles are one number."""

    def __init__(self, latency_us: float) -> None:
        self._latency_us = latency_us

    def get_latency_percentile(self, percentile: float) -> float:
        """Microseconds. UserError for a percentile that is none."""
        if not 0 <= percentile <= 100:
            raise UserError(f"{source.here()}: percentile {percentile}, but it is 0 to 100")
        return self._latency_us

    def __repr__(self) -> str:
        return f"Latency({self._latency_us:.2f} us, simulated)"


class BenchmarkResult:
    """What `benchmark_result` of a benchmarked kernel is."""

    def __init__(self, latency_us: float) -> None:
        self.nc_latency = Latency(latency_us)

    def __repr__(self) -> str:
        return f"BenchmarkResult(nc_latency={self.nc_latency!r})"


class TimedKernel(Kernel):
    """A kernel that is launched to see how long it takes; `inner` is the kernel itself.

    `method` says what its latency counts: "benchmark" or "profiler".
    """

    def __init__(self, inner: Kernel, options: Mapping[str, Any], method: str) -> None:
        self.__dict__.update(inner.__dict__)
        self.method = method
        self.inner = inner
        self.options = options
        self._result: BenchmarkResult | None = None
        self._without_grid: TimedKernel | None = None

    def __getitem__(self, grid: Any) -> TimedKernel:
        made = TimedKernel(self.inner[grid], self.options, self.method)
        made._without_grid = self
        return made

    def changed(self, **attributes: Any) -> TimedKernel:
        return TimedKernel(self.inner.changed(**attributes), self.options, self.method)

    def __reduce__(self) -> tuple[Any, ...]:
        return TimedKernel, (self.inner, self.options, self.method)

    @property
    def benchmark_result(self) -> BenchmarkResult:
        """The result of the last launch, on whatever grid. UserError if there was none."""
        if self._result is None:
            raise UserError(f"{source.here()}: kernel {self.name} has no benchmark_result; launch "
                            "it before, in a script that `trnsim run` runs")
        return self._result

    def launched(self, latency_us: float) -> None:
        """Stores what a launch took."""
        result = BenchmarkResult(latency_us)
        kernel: TimedKernel | None = self
        while kernel is not None:
            kernel._result, kernel = result, kernel._without_grid
        super().launched(latency_us)


def timed(make: Callable[[Any], Kernel], method: str) -> Callable[..., Any]:
    """A decorator like `make` whose kernels are timed; with and without arguments."""
    def decorate(kernel: Any = None, *_: Any, func: Any = None, **options: Any) -> Any:
        function = func if kernel is None else kernel
        if isinstance(function, TimedKernel):
            function = function.inner
        if callable(function):
            return TimedKernel(launched_on(make(function), options.get("grid")), options, method)
        return decorator_with(decorate, options, function)
    return decorate
