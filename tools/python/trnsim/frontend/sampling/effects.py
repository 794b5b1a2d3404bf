# SPDX-License-Identifier: Apache-2.0
# Which code does nothing but change objects that it reaches by names.
"""Code whose effects can be seen in the objects that it reaches (reachable.py), and other code.

Looked at are the names and the instructions of code objects, not its source. Not taken is what has
effects elsewhere (files, clocks, imports), what reaches objects without naming them, and what may
tell an index from the integer that it stands for, or one object from another that is equal.
"""

from __future__ import annotations

import builtins
import dis
import opcode
from collections.abc import Iterable
from itertools import pairwise
from types import CodeType


class Unknown(Exception):
    """The code may reach more than is looked at. The message says what, for whoever asks why."""


FUNCTIONS = frozenset((
    "abs", "all", "any", "bin", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod",
    "enumerate", "filter", "float", "format", "hex", "int", "isinstance", "issubclass", "iter",
    "len", "list", "map", "max", "min", "next", "object", "ord", "pow", "property", "range", "repr",
    "reversed", "round", "slice", "sorted", "staticmethod", "classmethod", "str", "sum", "super",
    "tuple", "zip", "print", "NotImplemented", *(
        name for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException))))
"""Built-in functions that change at most what they are given, and tell nothing but its value.
What prints is noticed when it does (watch.py)."""
DYNAMIC = frozenset(("getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller",
                     "__setattr__", "__delattr__"))
"""Ways to attributes whose names are no names of the code."""
_DUNDERS = frozenset((
    "__init__", "__post_init__", "__name__", "__qualname__", "__class__", "__len__", "__call__",
    "__getitem__", "__eq__", "__ne__", "__setattr__", "__delattr__", "__str__", "__repr__",
    "__doc__", "__debug__"))
"""Names with underscores that lead to nothing but what is looked at anyway."""
_LIBRARIES = frozenset(("math", "operator", "typing", "dataclasses", "enum", "functools",
                        "itertools", "collections", "collections.abc", "abc", "copy", "reprlib",
                        "numpy"))
"""Modules whose functions compute and do nothing else, but for those with these names:"""
IMPURE = frozenset(("random", "seed", "empty", "empty_like", "memmap", "fromfile", "tofile",
                    "save", "savez", "savez_compressed", "savetxt", "load", "seterr",
                    "set_printoptions"))
_INTERNAL = frozenset(("storage", "position", "element_offset"))
"""Attributes of tensors that tell where they start, which no API has."""
_OPCODES = bytes(opcode.opmap[name] for name in (
    "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME", "BUILD_SET", "SET_ADD")
    if name in opcode.opmap)
"""Instructions of code that is not taken: it changes globals, imports, or may go through a set of
objects in the order of their addresses."""
_IS_OP, _LOAD_CONST, _EXTENDED_ARG = (
    opcode.opmap[name] for name in ("IS_OP", "LOAD_CONST", "EXTENDED_ARG"))
_GENERATED = "__create_fn__.<locals>."
"""Methods of dataclasses: their `__eq__` looks whether both are one object first."""
_SINGLETONS = (None, True, False, ...)
_accepted: dict[int, tuple[CodeType, bool]] = {}


def is_ours(module: str) -> bool:
    """Whether a module is this package's; the public ones that it stands for begin with nki."""
    return module.startswith(("trnsim.", "nki.", "neuronxcc.nki")) or module == "nki"


def is_library(module: str) -> bool:
    """Whether the functions of a module of Python's, or of numpy, compute and do nothing else."""
    return module in _LIBRARIES or module.startswith("numpy.") or module == "_operator"


def is_accepted(code: CodeType) -> bool:
    """Whether all that code does is to be seen in objects that it reaches by name."""
    known = _accepted.get(id(code))
    if known is None:
        operations = code.co_code[::2]
        known = _accepted[id(code)] = code, have_no_other_effects(operations, code.co_names) and (
            _IS_OP not in operations or code.co_qualname.startswith(_GENERATED)
            or _asks_for_constants(code)
            or compare_with_singletons(dis.get_instructions(code)))
    return known[1]


def loose_names(instructions: Iterable[dis.Instruction]) -> frozenset[str]:
    """The names whose values are used in other ways than for an attribute of theirs."""
    return frozenset(before.argval for before, one in pairwise(instructions)
                     if before.opcode in dis.hasname and not one.opname.startswith(
                         ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR")))


def _asks_for_constants(code: CodeType) -> bool:
    """Whether `is` plainly follows a constant of one object, as in most code."""
    bytecode = code.co_code
    constants = [any(one is single for single in _SINGLETONS) for one in code.co_consts]
    return all(bytecode[at - 2] == _LOAD_CONST and bytecode[at - 4] != _EXTENDED_ARG
               and constants[bytecode[at - 1]]
               for at in range(4, len(bytecode), 2) if bytecode[at] == _IS_OP)


def globals_of(instructions: Iterable[dis.Instruction]) -> frozenset[str]:
    """The names that are globals of code, not attributes."""
    return frozenset(one.argval for one in instructions
                     if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


def have_no_other_effects(operations: bytes, names: Iterable[str]) -> bool:
    """Whether instructions with these operations and names are such."""
    return (all(operation not in operations for operation in _OPCODES)
            and all(not name.startswith("__") or name in _DUNDERS for name in names)
            and _INTERNAL.isdisjoint(names))


def compare_with_singletons(instructions: Iterable[dis.Instruction]) -> bool:
    """Whether `is` is only asked of classes, and of None, True, False and `...`, which are one
    object each: an index is another object than the integer that it stands for.
    """
    for before, one in pairwise(instructions):
        if one.opcode == _IS_OP and not (
                before.opname == "LOAD_ATTR" and before.argval == "__class__"
                or before.opname == "LOAD_CONST"
                and any(before.argval is single for single in _SINGLETONS)):
            return False
    return True
