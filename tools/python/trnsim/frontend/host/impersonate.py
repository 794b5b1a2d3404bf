# SPDX-License-Identifier: Apache-2.0
# Makes `import nki` and `import neuronxcc.nki` find this package, in unmodified kernel files.
"""Import machinery: the impersonated modules, those of absent libraries, KERNEL_NAMES."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from collections.abc import Callable, Iterator, Sequence

from trnsim.errors import UserError
from trnsim.frontend.dialect import all_dialects
from trnsim.frontend.host import jax_arrays, neuron_dtypes
from trnsim.frontend.host.guarded import is_guarded
from trnsim.frontend.host.own import is_own_module, place_of
from trnsim.frontend.host.stand_ins import OPTIONAL_LIBRARIES, StandInModule
from trnsim.frontend.host.torch_device import put_on_cpu
from trnsim.frontend.loops import LoopRange
from trnsim.frontend.nki.enums import MemoryRegion

INTERNALS = ("neuronxcc.starfish", *(f"neuronxcc.nki.{name}" for name in (
    "compiler.backends", "kernels", "_private_kernels", "_pre_prod_kernels", "nccl")))
"""Modules of AWS's compiler that kernel files import."""
_OF_TORCH = ("torch_xla", "torch_neuronx", "libtorch_neuronx_lite")
"""Libraries that give torch a device."""
_PREPARED: dict[str, Callable[[ModuleType], None]] = {
    "torch": put_on_cpu, "jax": jax_arrays.prepare}
"""Libraries to which something is done as soon as they are imported."""
_is_command = False
"""Whether the process is trnsim's own, not one of a user who imports the package."""
KERNEL_NAMES = {"range": LoopRange, "sbuf": MemoryRegion.sbuf, "psum": MemoryRegion.psum,
                "hbm": MemoryRegion.shared_hbm}
"""Names that kernel files find without an import; the memories are keywords of NKI Beta 2."""


class _StandInFinder(MetaPathFinder, Loader):
    """Last finder: stands in for OPTIONAL_LIBRARIES that nothing else has found, where the
    importer cannot do without.

    An installed library has the modules that it has: some look for more until there are none.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        library = fullname.partition(".")[0]
        is_absent = library in OPTIONAL_LIBRARIES and (
            not is_guarded(library) if library == fullname else
            PathFinder.find_spec(library) is None)
        if is_absent or fullname.startswith(INTERNALS):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in _OF_TORCH and PathFinder.find_spec("torch") is not None:
            put_on_cpu(importlib.import_module("torch"))
        module = StandInModule(spec.name)
        if spec.name == "neuron_dtypes":
            module.__dict__.update(neuron_dtypes.names())
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to execute."""


class _KernelFinder(MetaPathFinder):
    """Before PathFinder: puts KERNEL_NAMES into modules that mention nki, and
    prepares libraries."""

    def find_spec(self, fullname: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target)
        if (spec is None or spec.origin is None or not spec.origin.endswith(".py")
                or fullname.partition(".")[0] == "trnsim"):
            return spec
        if _is_command and fullname in _PREPARED:
            spec.loader = _PreparingLoader(spec.loader, _PREPARED[fullname])
        elif spec.loader is not None and mentions_nki(Path(spec.origin)):
            spec.loader = _MarkingLoader(spec.loader)
        return spec


class _WrappedLoader(Loader):
    """A loader that does something about a module that another one loads."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._inner.create_module(spec)
        return module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _MarkingLoader(_WrappedLoader):
    """Executes a module with `range` replaced."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(KERNEL_NAMES)
        self._inner.exec_module(module)


class _PreparingLoader(_WrappedLoader):
    """Executes a library and prepares it for kernels."""

    def __init__(self, inner: Any, prepare: Callable[[ModuleType], None]) -> None:
        super().__init__(inner)
        self._prepare = prepare

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        self._prepare(module)


_NKI = re.compile(rb"(?<![A-Za-z])nki")


def mentions_nki(path: Path) -> bool:
    """Whether a source file has anything to do with NKI."""
    try:
        return _NKI.search(path.read_bytes()) is not None
    except OSError:
        return False


_kernel_finder = _KernelFinder()
_stand_in_finder = _StandInFinder()


def install() -> None:
    """Puts both APIs into sys.modules and the finders into sys.meta_path. May be repeated."""
    for one in all_dialects():
        sys.modules.update(one.modules())
    if _kernel_finder not in sys.meta_path:
        place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else 0
        sys.meta_path.insert(place, _kernel_finder)
        sys.meta_path.append(_stand_in_finder)


def prepare_libraries() -> None:
    """Has scripts and kernel files find torch and jax as for Trainium, from now on."""
    global _is_command
    _is_command = True
    for name, prepare in _PREPARED.items():
        if name in sys.modules:
            prepare(sys.modules[name])


_RELATIVE_IMPORT = re.compile(rb"^\s*from\s+(\.+)[\w.]*\s+import\b", re.MULTILINE)
_ABSOLUTE_IMPORT = re.compile(rb"^\s*(?:from|import)\s+(\w+)\.(\w+)", re.MULTILINE)


def package_of(path: Path) -> tuple[Path, str]:
    """The folder to import a file from, and its dotted name: a package's if it imports from it.

    A folder without __init__.py is a package, too, as far as the file looks up or names it.
    """
    text = path.read_bytes()
    dots = max((len(found) for found in _RELATIVE_IMPORT.findall(text)), default=0)
    depth = max(dots, _named_depth(path, text))
    root, names = path.parent, [path.stem]
    while root != root.parent and (len(names) <= depth
                                   or dots and (root / "__init__.py").is_file()):
        names.insert(0, root.name)
        root = root.parent
    return root, ".".join(names)


def _named_depth(path: Path, text: bytes) -> int:
    """How many folders above a file belong to a package that its absolute imports name."""
    ours = {name.partition(".")[0] for one in all_dialects() for name in one.modules()}
    named = {(first.decode(), second.decode()) for first, second in _ABSOLUTE_IMPORT.findall(text)}
    return max((depth for depth, folder in enumerate(path.parents, 1)
                if folder.name not in ours and any(
                    first == folder.name and _holds(folder, second) for first, second in named)),
               default=0)


def _holds(folder: Path, name: str) -> bool:
    """Whether a folder has a module or a package of this name."""
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


def _beside_its_package(path: Path) -> Path:
    """The nearest folder above a file without an __init__.py, as pytest finds modules."""
    return next((folder for folder in path.parents if not (folder / "__init__.py").is_file()),
                path.parent)


@contextmanager
def imports_of(path: Path) -> Iterator[None]:
    """A kernel file imports what is beside it, whatever modules others have of the same names, and
    leaves its own to nobody."""
    file = path.resolve()
    root, name = package_of(file)
    folders = [root, _beside_its_package(file)]
    words, before = list(sys.path), {key: module for key, module in sys.modules.items()
                                     if is_own_module(module) and key != "__main__"}
    if name in sys.modules:  # A file may be called as a module of Python's.
        before[name] = sys.modules[name]
    for key, module in before.items():
        if key != name and any(_holds(folder, key.partition(".")[0]) and not _is_in(folder, module)
               for folder in folders):
            del sys.modules[key]
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    sys.path[:0] = [str(folders[0])]
    sys.path.append(str(folders[1]))
    try:
        yield
    finally:
        sys.path[:] = words
        for key in [key for key, module in sys.modules.items()
                    if key not in before and key != "__main__" and is_own_module(module)]:
            del sys.modules[key]
        sys.modules.update(before)


def _is_in(folder: Path, module: ModuleType) -> bool:
    place = place_of(module)
    return place is not None and Path(place).resolve().is_relative_to(folder)


def load_kernel_module(path: Path) -> ModuleType:
    """Executes a kernel file under its own name, with what is beside it on sys.path from now on, or
    as long as imports_of(path) lasts."""
    install()
    root, name = package_of(path.resolve())
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    beside = str(_beside_its_package(path.resolve()))
    if beside not in sys.path:
        sys.path.append(beside)
    if name != path.stem:
        return importlib.import_module(name)
    name = name.replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: is not a Python file; name the kernel as file.py::function")
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(KERNEL_NAMES)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
