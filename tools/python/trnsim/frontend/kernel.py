# SPDX-License-Identifier: Apache-2.0
# What a decorator like nki.jit makes of a function.
"""Kernels: decorated functions that are traced when launched and inlined when called in a trace."""

from __future__ import annotations

import functools
import importlib
import pickle
from math import prod
from typing import Any
from collections.abc import Callable, Mapping, Sequence

from trnsim.errors import UserError
from trnsim.frontend import recorder, source
from trnsim.frontend.alone import is_alone
from trnsim.frontend.artifacts import write_artifacts
from trnsim.frontend.records.schedule import Edge
from trnsim.frontend.written import name_of

CORES = (1, 2)
"""Cores of a logical NeuronCore, for the API that launches one program on each. [NKI-LANGUAGE]"""
_AS_WRITTEN = "__trnsim_as_written__"
Launcher = Callable[["Kernel", tuple[Any, ...], dict[str, Any]], Any]

_launcher: Launcher | None = None
_listener: Callable[[Kernel], None] | None = None


def set_listener(listener: Callable[[Kernel], None] | None) -> None:
    """Is told of every kernel that another one calls while it is traced."""
    global _listener
    _listener = listener


def set_launcher(launcher: Launcher | None) -> Launcher | None:
    """What a call of a kernel outside of a trace does; returns what it did before."""
    global _launcher
    previous, _launcher = _launcher, launcher
    return previous


class Kernel:
    """A function marked as a kernel of the API `api` (`nki` or `neuronxcc.nki`).

    `grid` is the launch grid of `kernel[grid]`; () if there is none. `options` are those of its
    decorator.
    """

    def __init__(self, function: Callable[..., Any], api: str, grid: tuple[int, ...] = (),
                 schedule: Sequence[Edge] = ()) -> None:
        self.function = function
        self.api = api
        self.grid = grid
        self.schedule = tuple(schedule)
        self.options: Mapping[str, Any] = {}
        self.name = name_of(function)
        own = dict(self.__dict__)
        functools.update_wrapper(self, function)
        self.__dict__.update(own)  # A function that wraps another kernel has that one's.
        self.__dict__[_AS_WRITTEN] = is_as_written(function)

    def changed(self, **attributes: Any) -> Kernel:
        """The kernel with other attributes; this one stays as it is."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **attributes)
        return made

    def __repr__(self) -> str:
        grid = ", ".join(str(_grid_size(axis)) for axis in self.grid)
        return f"<kernel {self.name}[{grid}]>" if grid else f"<kernel {self.name}>"

    def __copy__(self) -> Kernel:
        return self.changed()

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        return self.changed()

    def __reduce__(self) -> tuple[Any, ...]:
        """By its name, like a function: processes that share the work import its file."""
        own = {name: value for name, value in self.__dict__.items()
               if name in ("grid", "schedule", _AS_WRITTEN)}
        home = getattr(self.function, "__module__", None)
        path = getattr(self.function, "__qualname__", self.name)
        try:
            found = _named(home, path)
        except (ImportError, AttributeError, ValueError):
            found = None
        if getattr(found, "function", found) is not self.function:
            raise pickle.PicklingError(
                f"kernel {self.name}: {home}.{path} is not where another process would find it; "
                "define it at the top of a file that can be imported")
        return _rebuilt, (type(self), home, path, self.api, own)

    def __getitem__(self, grid: Any) -> Kernel:
        """The kernel on a logical NeuronCore of so many cores. UserError for more than two."""
        items = grid if isinstance(grid, (tuple, list)) else (grid,)
        sizes = tuple(_grid_size(item) for item in items)
        if prod(sizes) not in CORES:
            raise UserError(
                f"{source.here()}: kernel {self.name} is launched on a grid of {list(sizes)}, "
                f"{prod(sizes)} programs, but a logical NeuronCore has 1 or 2 cores, and each "
                "runs one; launch it with kernel[1] or kernel[2]")
        return self.changed(grid=sizes)

    def with_schedule(self, edges: Sequence[Edge]) -> Kernel:
        """The kernel with scheduling edges: pairs of an instruction's name and its producers'."""
        for edge in edges:
            if not _is_edge(edge):
                raise UserError(f"{source.here()}: with_schedule: {edge!r} is not a pair of the "
                                "name of an instruction and the names that it runs after")
        return self.changed(schedule=(*self.schedule, *edges))

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if recorder.active() is not None and is_alone():
            if _listener is not None:
                _listener(self)
            return self.function(*arguments, **keywords)
        if _launcher is None:
            raise UserError(
                f"{source.here()}: kernel {self.name} is called outside of a simulation; pass it "
                f"trnsim.simulate({self.name}, ...), run the script with `trnsim run`, or name the "
                "kernel on the command line as file.py::function")
        return _launcher(self, arguments, keywords)

    def launched(self, latency_us: float) -> None:
        """Tells the kernel of a launch that took so many microseconds: what it leaves behind."""
        write_artifacts(self.options, self.name, latency_us)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def _is_edge(edge: Any) -> bool:
    """Whether it is a pair of a name and one or several names."""
    if not isinstance(edge, (list, tuple)) or len(edge) != 2:
        return False
    consumer, producers = edge
    names = producers if isinstance(producers, (list, tuple)) else (producers,)
    return all(isinstance(one, str) for one in (consumer, *names))


def _named(home: Any, path: str) -> Any:
    """What a module calls `path`."""
    return functools.reduce(getattr, path.split("."), importlib.import_module(home))


def _rebuilt(kind: type[Kernel], home: str, path: str, api: str, own: dict[str, Any]) -> Kernel:
    """A kernel that was pickled."""
    found = _named(home, path)
    return (found if isinstance(found, Kernel) else kind(found, api)).changed(**own)


def mark_as_written(kernel: Any) -> Any:
    """What is compiled as it is written: another Kernel, or the function that becomes one.

    UserError if it is neither, or an object that cannot be marked.
    """
    if isinstance(kernel, Kernel):
        return kernel.changed(**{_AS_WRITTEN: True})
    try:
        setattr(getattr(kernel, "__func__", kernel), _AS_WRITTEN, True)
    except (AttributeError, TypeError):
        raise UserError(
            f"{source.here()}: skip_middle_end_transformations cannot mark {kernel!r}; give it a "
            "function, or what nki.jit makes of it") from None
    return kernel


def is_as_written(kernel: Any) -> bool:
    """Whether a kernel, or the function that becomes one, is marked so."""
    while isinstance(kernel, functools.partial) and not getattr(kernel, _AS_WRITTEN, False):
        kernel = kernel.func
    called = getattr(type(kernel), "__call__", None)  # noqa: B004
    return any(getattr(one, _AS_WRITTEN, False) is True for one in (kernel, called))


def _grid_size(item: Any) -> int:
    """One size of a launch grid; `nl.nc(n)` and the like carry theirs in `size`."""
    size = getattr(item, "size", item)
    if not isinstance(size, int):
        raise UserError(f"{source.here()}: a launch grid contains {item!r}, but takes integers")
    return size


def bound_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """That of functools.partial(kernel, …), with some of its arguments; others as they are."""
    if not isinstance(kernel, functools.partial):
        return kernel
    inner = bound_kernel(kernel.func)
    if not isinstance(inner, Kernel):
        return kernel
    return inner.changed(function=functools.partial(inner.function, *kernel.args,
                                                    **kernel.keywords))


def launched_on(kernel: Kernel, grid: Any = None, **options: Any) -> Kernel:
    """A kernel with the options of its decorator: `grid` is that of its launches, others name files
    (artifacts.py) or are hints to a compiler. [NKI-API-2.26, FrameworkKernel]"""
    made = kernel if grid is None else kernel[grid]
    return made.changed(options={**made.options, **options}) if options else made


def decorator_with(decorate: Callable[..., Any], options: Mapping[str, Any],
                   function: Any) -> Callable[..., Any]:
    """What a decorator returns that has its options so far. UserError if it was given something
    that cannot be called."""
    if function is not None:
        advice = ("@classmethod stands above it" if isinstance(function, classmethod) else
                  "name what is not the function")
        raise UserError(f"{source.here()}: a kernel is a function, but its decorator is given "
                        f"{function!r}; {advice}")
    return lambda inner: decorate(inner, **options)


def decorator(api: str) -> Callable[..., Any]:
    """A decorator that works with and without arguments (see launched_on)."""
    def decorate(fn: Any = None, *positional: Any, func: Any = None, **options: Any) -> Any:
        function = func if fn is None else fn
        if isinstance(function, Kernel):
            return launched_on(function, **options)
        if callable(function):
            return launched_on(Kernel(function, api), **options)
        return decorator_with(decorate, options, function)
    return decorate
