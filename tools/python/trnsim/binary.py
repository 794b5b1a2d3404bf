# SPDX-License-Identifier: Apache-2.0
# Finds the C++ simulator, which CMake builds and installs.
"""find_binary(): $TRNSIM_BINARY, beside the package, on PATH, or in a source tree's build/release.

Beside the package means `PREFIX/bin/trnsim` for `PREFIX/share/trnsim/python/trnsim`, which is where
`cmake --install` puts them. On PATH, the console script of this package is not what is looked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from collections.abc import Iterator

from trnsim.errors import UserError

BINARY_VARIABLE = "TRNSIM_BINARY"
"""Environment variable that names the simulator."""
_BUILT = Path("build") / "release" / "tools" / "trnsim" / "trnsim"
_HOW = ("build it with `cmake --workflow --preset ci` or `tools/demo` in trnsim's source tree, or "
        f"name it with the environment variable {BINARY_VARIABLE}")


def find_binary() -> Path:
    """The simulator's executable. UserError if there is none, with what was searched."""
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        if not is_program(Path(named)):
            raise UserError(f"{BINARY_VARIABLE}: {named} is not an executable program; name the "
                            f"trnsim that CMake built, or unset the variable")
        return Path(named).resolve()
    for candidate in _candidates():
        if is_program(candidate):
            return candidate.resolve()
    raise UserError("trnsim: the simulator, a C++ program, is not found beside the Python package, "
                    f"on PATH, or in build/release of a source tree; {_HOW}")


def is_program(path: Path) -> bool:
    """Whether a path is an executable that is not a script."""
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF" and os.access(path, os.X_OK)
    except OSError:
        return False


def share_folders(binary: Path) -> Iterator[Path]:
    """Folders that may hold `configs` for a binary: its prefix's share, its source tree."""
    above = binary.resolve().parents
    yield from (folder / "share" / "trnsim" for folder in above[1:2])
    yield from above


def _candidates() -> Iterator[Path]:
    package = Path(__file__).resolve().parent
    yield from (folder / "bin" / "trnsim" for folder in package.parents[3:4])
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / "trnsim"
    for start in (package, Path.cwd()):
        yield from (folder / _BUILT for folder in (start, *start.parents))
