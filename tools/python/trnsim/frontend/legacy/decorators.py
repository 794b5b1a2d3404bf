# SPDX-License-Identifier: Apache-2.0
# nki.jit and the other decorators of the 0.1 dialect.
"""Decorators: what they are given besides the function is for AWS's compiler and is ignored."""

from __future__ import annotations

from typing import Any, NoReturn

from trnsim.frontend import source
from trnsim.frontend.errors import UnsupportedFeature
from trnsim.frontend.kernel import decorator

jit = decorator("neuronxcc.nki")


def simulate_kernel(kernel: Any, *arguments: Any, **keywords: Any) -> NoReturn:
    """The values of a kernel's results are not computed."""
    raise UnsupportedFeature.named(str(source.here()), "neuronxcc.nki.simulate_kernel")
