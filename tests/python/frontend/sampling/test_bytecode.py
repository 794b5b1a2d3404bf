# SPDX-License-Identifier: Apache-2.0
# What is read of CPython's instructions is what dis says of them.
"""Operations, the bodies of loops and their instructions, over the code of Python's own modules."""

from __future__ import annotations

import argparse
import ast
import dis
import inspect
import tarfile
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

import pytest
from trnsim.frontend import bytecode
from trnsim.frontend.sampling import runs

MODULES = (argparse, ast, dis, inspect, tarfile)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Some code and all code inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


@pytest.fixture(params=MODULES, ids=lambda module: module.__name__)
def listings(request: Any) -> list[tuple[CodeType, list[dis.Instruction]]]:
    """The code of a module, with what dis says."""
    module: ModuleType = request.param
    top = compile(inspect.getsource(module), str(module.__file__), "exec")
    return [(code, list(dis.get_instructions(code))) for code in codes(top)]


def test_operations_are_the_instructions_of_dis(
        listings: list[tuple[CodeType, list[dis.Instruction]]]) -> None:
    for code, listing in listings:
        plain = [one for one in listing if one.opname != "EXTENDED_ARG"]
        found = list(bytecode.operations(code))
        assert [(one.offset, one.opcode) for one in found] == [
            (one.offset, one.opcode) for one in plain]
        assert [one.argument for one, said in zip(found, plain) if said.arg is not None] == [
            said.arg for said in plain if said.arg is not None]
        assert [one.target for one in found] == [bytecode.target(one) for one in plain]


def test_operations_use_the_local_variables_and_attributes_that_dis_names(
        listings: list[tuple[CodeType, list[dis.Instruction]]]) -> None:
    for code, listing in listings:
        numbers: dict[str, int] = {}
        for one, said in zip(bytecode.operations(code),
                             (one for one in listing if one.opname != "EXTENDED_ARG")):
            uses = bytecode.local_variables(one)
            expected = bytecode.local_accesses(said)
            assert [word for word, _ in uses] == [word for word, _ in expected]
            assert [numbers.setdefault(name, number) for (_, number), (_, name) in zip(
                uses, expected)] == [number for _, number in uses]
            loads = said.opname in ("LOAD_ATTR", "LOAD_METHOD")
            assert bytecode.attribute(code, one) == (said.argval if loads else "")
        assert len(set(numbers.values())) == len(numbers)


def test_the_instructions_of_a_body_are_those_of_dis_counted_from_its_first(
        listings: list[tuple[CodeType, list[dis.Instruction]]]) -> None:
    seen = 0
    for code, listing in listings:
        for one in listing:
            body = bytecode.body_of_for(code, one.offset)
            assert (body is None) == (bytecode.head_of_for(code, one.offset) is None)
            if body is not None:
                seen += 1
                expected = [other for other in listing if other.offset in body]
                found = bytecode.instructions_in(code, body)
                assert [(other.opname, other.offset + body.start) for other in found] == [
                    (other.opname, other.offset) for other in expected]
                for other, said in zip(found, expected):
                    jump = bytecode.target(other)
                    if jump is None:
                        assert repr(other.argval) == repr(said.argval)
                    else:
                        assert jump + body.start == said.argval
    assert seen


def test_an_argument_may_be_extended() -> None:
    body = "".join(f"    use(one, {number}.5)\n" for number in range(300))
    space: dict[str, Any] = {}
    exec(f"def long(values, use):\n  last = 0\n  for one in values:\n    last = one\n{body}"
         "  return last\n", space)
    code = space["long"].__code__
    at = next(one.offset for one in dis.get_instructions(code) if one.opname == "GET_ITER")
    found = bytecode.body_of_for(code, at)
    assert found is not None and len(found) > 300 * 8
    assert runs.leaks(code, at), "last is read after the loop"
