# SPDX-License-Identifier: Apache-2.0
# Tests of what kernels and references find in the place of libraries that are not installed.
"""Stand-ins can be named, and whoever computes with one is told which library to install."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import tensor
from kernels import nisa, nl
from trnsim.frontend import UserError, dtype, trace
from trnsim.frontend.host.stand_ins import stand_in
from trnsim.frontend.reference import Reference
from trnsim.frontend.value_report import Tolerance, check

PI, KIND = stand_in("torch.pi"), stand_in("torch.float32")
X = tensor("float32", 128, 64)


@pytest.mark.parametrize("compute", [
    lambda: PI + 1, lambda: 2 * PI, lambda: -PI, lambda: PI < 3, lambda: float(PI),
    lambda: operator.index(PI), lambda: np.ones(3) * PI])
def test_who_computes_with_a_stand_in_is_told_what_to_install(compute: Any) -> None:
    with pytest.raises(UserError, match=r"test_stand_ins.py:\d+: torch.pi is computed with, but "
                       r"torch is not installed for \S+; install it, as with `pip install torch`"):
        compute()


def test_what_a_call_of_a_stand_in_returns_has_no_parts() -> None:
    """As where a script unpacks what a kernel of AWS's compiler returns."""
    kernel = stand_in("neuronxcc.nki.kernels.attention.flash_fwd")
    with pytest.raises(UserError, match=r"test_stand_ins.py:\d+: neuronxcc.nki.kernels.attention."
                                        r"flash_fwd\(\) is unpacked or iterated over, but neuronxcc "
                                        r"is not installed for .*; install it$"):
        _, _ = kernel[1, 4](1, 2)
    assert list(kernel) == []


def test_an_array_of_what_an_absent_library_returns_is_refused() -> None:
    with pytest.raises(UserError, match=r"test_stand_ins.py:\d+: torch.rand\(\).T is made an array, "
                                        "but torch is not installed"):
        np.array(stand_in("torch.rand")(4, 4).T, dtype=np.float32)

    class Net(stand_in("torch.nn.Module")):  # type: ignore[misc]
        """A class of a kernel's file."""
    assert np.array(Net).dtype == object


def test_a_class_whose_base_is_one_is_as_python_has_it() -> None:
    class Net(stand_in("torch.nn.Module")):  # type: ignore[misc]
        """A class of a kernel's file."""
    with pytest.raises(TypeError):
        Net + 1
    assert isinstance(Net(), Net)


def test_a_number_of_an_absent_library_in_a_kernel_is_named() -> None:
    def kernel(x: Any) -> None:
        nisa.memset(nl.ndarray((128, 64), dtype=KIND, buffer=nl.sbuf), PI)
    with pytest.raises(UserError, match=r"test_stand_ins.py:\d+: torch.pi is computed with, but"):
        trace(kernel, [X])


def test_a_data_type_of_an_absent_library_is_that_of_its_name() -> None:
    assert dtype(KIND) is nl.float32


@pytest.mark.parametrize(("body", "message"), [
    ("nkipy.relu(x)", r"ref.py::f: the reference returns nkipy.relu\(\), but nkipy is not "
                      "installed for .*; install it$"),
    ("nkipy.asarray(x) + 1", r"ref.py:4: nkipy.asarray\(\) is computed with, but nkipy is not"),
])
def test_a_reference_that_needs_an_absent_library_says_so(tmp_path: Path, body: str,
                                                          message: str) -> None:
    path = tmp_path / "ref.py"
    path.write_text(f"import nkipy\n\ndef f(x):\n    return {body}\n")

    def kernel(x: Any) -> Any:
        return x
    with pytest.raises(UserError, match=message):
        run_reference(kernel, f"{path}::f")


def run_reference(kernel: Any, text: str) -> None:
    """Compares a kernel with a reference."""
    reference, data = Reference(text), np.ones((4, 4), np.float32)
    program = trace(kernel, [data], values=True)
    check(program, reference(kernel, [data], {}, 0), reference, 0, Tolerance(0.0, 0.0))


def test_a_call_that_does_not_fit_is_told_without_addresses() -> None:
    def kernel(a: Any, b: Any = nl.add, c: Any = KIND, d: Any = nisa.dge_mode.none, *e: Any,
               f: Any = (1, 2)) -> None:
        """Nothing."""
    with pytest.raises(UserError) as found:
        trace(kernel, [])
    assert str(found.value) == (
        "kernel(a, b=add, c=torch.float32, d=dge_mode.none, *e, f=(1, 2)): missing a required "
        "argument: 'a'; give one value for each parameter that has no default, like 'float32[128,512]' for a tensor")
