# SPDX-License-Identifier: Apache-2.0
# The Python package of trnsim.
"""trnsim: a cycle-approximate simulator of AWS Trainium and Inferentia chips.

    import trnsim
    result = trnsim.simulate(kernel, "bfloat16[2048,1024]", "bfloat16[2048,2048]", chip="trn2")
    print(result.latency_us, result.bound_by)
    print(result)

After `import trnsim`, `import nki` and `import neuronxcc.nki` find the impersonated modules where
AWS's are not installed; where they are, call `trnsim.install()` before the kernels are imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any
from collections.abc import Sequence

from trnsim._version import __version__
from trnsim.interpreter import missing as _missing, wrong_version as _wrong_version

_is_command = sys.argv[:1] == ["-m"]  # It shows what is said.
_words = _wrong_version()
if not _words and _is_command and importlib.util.find_spec("numpy") is None:
    _words = _missing("numpy")
if _words:
    if _is_command:
        sys.exit(print(_words, file=sys.stderr) or 2)
    raise ImportError(_words)

if TYPE_CHECKING:
    from trnsim.api import compare, simulate, trace
    from trnsim.errors import FrontendError, ProgramError, UserError
    from trnsim.frontend.host.impersonate import install
    from trnsim.frontend.program import Program
    from trnsim.result import Comparison, Result

__all__ = ["Comparison", "FrontendError", "Program", "ProgramError", "Result", "UserError",
           "__version__", "compare", "install", "simulate", "trace"]

_HOMES = {"compare": "trnsim.api", "simulate": "trnsim.api", "trace": "trnsim.api",
          "Comparison": "trnsim.result", "Result": "trnsim.result",
          "FrontendError": "trnsim.errors", "ProgramError": "trnsim.errors",
          "UserError": "trnsim.errors", "Program": "trnsim.frontend.program",
          "install": "trnsim.frontend.host.impersonate"}


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is asked for: the command line needs little of it."""
    if name == "testing":
        return importlib.import_module("trnsim.testing")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trnsim' has no attribute {name!r}; it has "
                             f"{', '.join(__all__)}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    """The public names: most are not here before they are asked for."""
    return sorted([*__all__, "testing"])


class _AbsentNki(MetaPathFinder):
    """Last finder: impersonates AWS's packages where they are not installed."""

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in ("nki", "neuronxcc", "neuron_dtypes"):
            return None
        sys.meta_path.remove(self)
        importlib.import_module("trnsim.frontend.host.impersonate").install()
        if fullname not in sys.modules:
            return importlib.util.find_spec(fullname)
        return importlib.util.spec_from_loader(fullname, _Impersonated())


class _Impersonated(Loader):
    """Loads the module that `install` has put into sys.modules."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


sys.meta_path.append(_AbsentNki())
