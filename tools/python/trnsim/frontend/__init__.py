# SPDX-License-Identifier: Apache-2.0
# The NKI frontend: runs a kernel as Python and records what it asks of the hardware.
"""Traces NKI kernels, of the `neuronxcc.nki` and the `nki` API, into program traces.

    from trnsim.frontend import TensorArgument, trace
    trace(kernel, [array, TensorArgument(dtype("bfloat16"), (128, 512)), 4], "trn2").save("k.nkt")
"""

from trnsim.errors import (FrontendError, IllegalInstruction, ProgramError,
                                    UnsupportedFeature, UserError)
from trnsim.frontend.arguments import TensorArgument
from trnsim.frontend.dtypes import dtype
from trnsim.frontend.host.impersonate import install
from trnsim.frontend.host.running import run_kernel, run_program, run_ranks
from trnsim.frontend.host.script import trace_script
from trnsim.frontend.program import Program
from trnsim.frontend.tracing import trace

__all__ = ["FrontendError", "IllegalInstruction", "Program", "ProgramError", "TensorArgument",
           "UnsupportedFeature", "UserError", "dtype", "install", "run_kernel", "run_program",
           "run_ranks", "trace", "trace_script"]
