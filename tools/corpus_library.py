# SPDX-License-Identifier: Apache-2.0
# Runs one test of aws-neuron/nki-library with trnsim in the place of the device.
"""run(checkout, test) -> Outcome: the library's own inputs, reference, tolerance and comparison.

The library's tests hand a kernel with its inputs and its reference to an orchestrator, which would
compile it, run it on a device and compare. Here the kernel is traced with values, and compared with
the library's `maxAllClose` or the test's own validator. Of what the tests import and the checkout
does not have (devices, metrics, clouds), stand-ins are there. torch is needed for the references.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import sys
from pathlib import Path
from typing import Any, NamedTuple

import corpus_arguments
import corpus_torch
import numpy as np
from trnsim.frontend.chip import load_chip, set_target
from trnsim.frontend.host import impersonate, stand_ins
from trnsim.frontend.host.neuron_dtypes import static_cast
from trnsim.frontend.kernel import Kernel, set_listener
from trnsim.frontend.nki.decorators import jit
from trnsim.frontend.tracing import trace_ranks

ABSENT = frozenset((
    "allpairspy", "aws_embedded_metrics", "boto3", "botocore", "debugpy", "fabric2", "filelock",
    "paramiko", "plotext", "pytest_html"))
"""Libraries that the tests import for what is not done here."""
INFRASTRUCTURE = ("test_orchestrator", "metrics_collector", "metrics_emitter", "output_validator")
"""Modules of the library's tests that devices, clouds and metrics hang on."""
SEED = 0
PART = 1 << 22
"""Elements that are compared at a time."""


class Outcome(NamedTuple):
    """What a test has found: its largest error, if it measures any; "" or what is wrong; and the
    kernels that it entered."""

    error: float | None
    reason: str
    kernels: list[str]


class Manager:
    """What a test gets as its `test_manager`: runs the kernel and compares."""

    def __init__(self) -> None:
        self.errors: list[float] = []
        self.wrong: list[str] = []
        self.kernels: set[str] = set()
        self.trace_mode: Any = None

    def execute(self, given: Any) -> None:
        """Runs the kernel of a `KernelArgs` and compares its outputs with the reference."""
        compiler = given.compiler_input
        chip = load_chip(compiler.platform_target.get_compile_target())
        set_target(chip)
        function = given.kernel_func
        kernel = (function if isinstance(function, Kernel) else jit(function))[
            compiler.logical_nc_config]
        self.kernels.add(kernel.name)
        inputs = [_inputs(given.kernel_input, rank)
                  for rank in range(given.inference_args.collective_ranks)]
        programs = trace_ranks(kernel, inputs, chip, api="nki", reads_unwritten=True)
        for rank, program in enumerate(programs):
            self.compare(program, given.validation_args, rank)

    def compare(self, program: Any, validation: Any, rank: int) -> None:
        """Compares the outputs of a rank with the reference of a `ValidationArgs`."""
        wanted, kinds = _reference(validation.golden_output, rank)
        for name, found in _by_name(program, wanted).items():
            target = wanted[name]
            if hasattr(target, "validator"):
                data = np.ascontiguousarray(found.astype(target.dtype)).view(np.uint8).reshape(-1)
                agrees = target.validator(None).validate(data)
            else:
                agrees = self._agrees(_read(found, kinds[name]), target, validation)
            if not agrees:
                self.wrong.append(name)
        assert not self.wrong, f"{', '.join(self.wrong)}: not close to the reference"

    def _agrees(self, found: Any, target: Any, validation: Any) -> bool:
        comparators = importlib.import_module("test.integration.nkilib.utils.comparators")
        found = static_cast(found.reshape(target.shape), np.float32)
        target = static_cast(target, np.float32)
        self.errors.append(difference(found, target).relative)
        return bool(comparators.maxAllClose(found, target, validation.relative_accuracy,
                                            validation.absolute_accuracy))


class Difference(NamedTuple):
    """How far an array is from another."""

    largest: float
    magnitude: float
    """The largest of what is wanted."""
    norm: float
    wanted_norm: float

    @property
    def relative(self) -> float:
        """The largest difference over the largest magnitude."""
        return self.largest / (self.magnitude or 1.0)


def difference(found: Any, wanted: Any) -> Difference:
    """Compares in float64, a part after the other: arrays may fill most of the memory."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.size != wanted.size:
        found, wanted = np.broadcast_arrays(found, wanted)
    found, wanted = found.reshape(-1), wanted.reshape(-1)
    largest = magnitude = squares = wanted_squares = 0.0
    for first in range(0, wanted.size, PART):
        one = found[first:first + PART].astype(np.float64)
        other = wanted[first:first + PART].astype(np.float64)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        apart = np.where(same, 0.0, np.abs(one - other))
        finite = other[np.isfinite(other)]
        largest = np.fmax(largest, apart.max()) if not np.isnan(apart).any() else np.inf
        magnitude = max(magnitude, np.abs(finite).max(initial=0.0))
        squares += float(apart @ apart)
        wanted_squares += float(finite @ finite)
    return Difference(float(largest), float(magnitude), squares**0.5, wanted_squares**0.5)


def _inputs(given: Any, rank: int) -> dict[str, Any]:
    """The arguments of a rank; arrays are copies, as those on a device are.

    References are often made from the arguments after the kernel has run.
    """
    named = given.for_rank(rank) if hasattr(given, "for_rank") else given or {}
    return {name.removesuffix(".must_alias_input"):
            value.copy() if isinstance(value, np.ndarray) else value
            for name, value in named.items()}


def _read(found: Any, kind: Any) -> Any:
    """An output in the type that the test reads it in; packed elements are read as they are."""
    return found.view(kind) if found.dtype.names else found.astype(kind)


def _reference(golden: Any, rank: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reference of each output and the type that it is read in."""
    if isinstance(golden, dict):
        return golden, {name: one.dtype for name, one in golden.items()}
    if hasattr(golden, "for_rank"):
        return _reference(golden.for_rank(rank), rank)
    wanted = golden.golden
    return wanted, {name: golden.output_ndarray.get(name, one).dtype
                    for name, one in wanted.items()}


def _by_name(program: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """The outputs by the names of the reference: arguments first, then what is returned."""
    outputs = program.outputs
    returned = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    if len(returned) == len(wanted):
        return dict(zip(wanted, (np.asarray(one) for one in returned)))
    found = {name: program.written[name] for name in wanted if name in program.written}
    rest = [name for name in wanted if name not in found]
    assert len(rest) <= len(returned), f"{len(returned)} outputs, expected are {list(wanted)}"
    return found | {name: np.asarray(one) for name, one in zip(rest, returned)}


class Plugin:
    """The fixtures of the tests, and the tests that the library makes from ranges."""

    def __init__(self, manager: Manager, platform: str, values: dict[str, Any]) -> None:
        self.manager = manager
        self.platform = platform
        self.values = values
        self.ran = 0
        self.reason = ""

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """What the library's conftest does for its own ways to parametrize tests.

        Of all combinations of parameters, that of the first value of each is made.
        """
        marker = metafunc.definition.get_closest_marker("coverage_parametrize")
        if marker is not None:
            first = {name: getattr(values, "values", values)[0]
                     for name, values in marker.kwargs.items()
                     if name in metafunc.fixturenames}
            if "is_negative_test_case" in metafunc.fixturenames:
                first["is_negative_test_case"] = False
            metafunc.parametrize(list(first), [tuple(first.values())])
        if "range_test_options" not in metafunc.fixturenames:
            return
        harness = importlib.import_module("test.utils.ranged_test_harness")
        limit = getattr(metafunc.function, harness.RANGE_TEST_LIMIT_NUM_TESTS_ATTR_KEY, None)
        random.seed(SEED)
        made = harness.RangeTestHarness(metafunc.function.range_test_config,
                                        **({} if limit is None else {"limit_num_of_test": limit}))
        names, cases = made.get_unique_test_cases()
        metafunc.parametrize("range_test_options", cases, ids=names)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """One test is enough; with `values` it has those in the place of its own parameters."""
        del items[1:]
        for item in items if self.values else ():
            given = item.callspec.params
            for name, value in self.values.items():
                if hasattr(given[name], "tensors"):
                    for tensor, sizes in value.items():
                        given[name].tensors[tensor].update(sizes)
                else:
                    given[name] = value

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keeps the first failure."""
        self.ran += report.when == "call" and not report.skipped
        if report.failed and not self.reason:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.reason = " ".join((crash.message if crash else str(report.longrepr)).split())

    def pytest_collectreport(self, report: Any) -> None:
        """A module that cannot be imported."""
        if report.failed and not self.reason:
            self.reason = " ".join(str(report.longrepr).split())[-300:]


def fixtures(plugin: Plugin) -> Any:
    """A plugin with the fixtures that the tests ask for."""
    import pytest

    class Fixtures:
        @pytest.fixture
        def test_manager(self) -> Any:
            return plugin.manager

        @pytest.fixture
        def platform_target(self) -> Any:
            module = importlib.import_module("test.utils.common_dataclasses")
            return module.Platforms(plugin.platform)

        @pytest.fixture
        def collector(self) -> Any:
            return stand_ins.stand_in("collector")

    return Fixtures()


def prepare(checkout: Path) -> None:
    """Makes the library and its tests importable."""
    impersonate.OPTIONAL_LIBRARIES |= ABSENT
    impersonate.install()
    sys.path[:0] = [str(checkout / "src"), str(checkout)]
    sys.modules.pop("test", None)
    importlib.import_module("test.utils")
    for name in INFRASTRUCTURE:
        full = f"test.utils.{name}"
        sys.modules[full] = stand_ins.StandInModule(full)


def run(checkout: Path, test: str, platform: str, values: dict[str, Any]) -> Outcome:
    """Runs the first test of a name as pytest has it: path::class::function[parameters].

    `values` are put in the place of parameters of the test, mostly to make it smaller; they are
    written as arguments in tables are (corpus_arguments.py).
    """
    import pytest

    for library in ("torch", "scipy"):
        if importlib.util.find_spec(library) is None:
            return Outcome(None, f"{library} is not installed", [])
    prepare(checkout)
    corpus_torch.adapt(importlib.import_module("torch"))
    manager = Manager()
    given = {name: corpus_arguments.argument(value) for name, value in values.items()}
    plugin = Plugin(manager, platform, given)
    set_listener(lambda kernel: manager.kernels.add(kernel.name))
    os.chdir(checkout)
    pytest.main([test, "--noconftest", "-q", "--rootdir", str(checkout), "-W", "ignore",
                 "-p", "no:cacheprovider"], plugins=[plugin, fixtures(plugin)])
    reason = plugin.reason or ("" if plugin.ran else f"{test}: no such test was run")
    return Outcome(max(manager.errors, default=None), reason, sorted(manager.kernels))
