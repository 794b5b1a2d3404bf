# SPDX-License-Identifier: Apache-2.0
# Loops that are watched from their first iteration on execute that one and the last.
from __future__ import annotations

from pathlib import Path

import pytest
from helpers import executions
from trnsim.frontend import tracing
from kernel_files import find_kernel
from trnsim.frontend.nki.registers import DEFAULT_TRIPS

KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl

class State(nl.NKIObject):
    tile = None
    rounds = 0

def block(x, state, at):
    nisa.dma_copy(dst=state.tile, src=x[at * 128:at * 128 + 128, 0:64])
    {body}

def look(x, state, row):
    {look}

def blocks(x, state, count):
    for at in range(count):
        block(x, state, at)

@nki.jit
def kernel(x):
    state = State()
    state.tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=state.tile, value=0.0)
    {calls}
"""
MARKED = """for at in nl.affine_range(20):
        block(x, state, at)"""
INNER = """for _ in range(2):
        for at in nl.affine_range(20):
            block(x, state, at)"""
MUCH = MARKED + 60 * "\n        look(x, state, 0)"
RUNTIME = """count = nisa.register_alloc()
    nisa.register_load(count, x[0:1, 0:1])
    for row in nl.dynamic_range(count):
        block(x, state, 0)
        look(x, state, row)"""
TILE = "nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)"
ONCE, TWICE = "blocks(x, state, 20)", "blocks(x, state, 20)\n    blocks(x, state, 20)"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even short loops are watched."""
    monkeypatch.setattr("trnsim.frontend.sampling.sample.WATCHED", 0)


def executed(body: str, calls: str, path: Path, monkeypatch: pytest.MonkeyPatch,
             cores: int = 1, look: str = "pass") -> int:
    """How many iterations are executed (of the last core); checks the trace."""
    path.write_text(KERNEL.format(body=body, calls=calls, look=look))

    def kernel() -> object:
        found = find_kernel(f"{path}::kernel")
        return found[cores] if cores > 1 else found  # type: ignore[index]

    return executions(kernel, monkeypatch)  # type: ignore[arg-type]


def test_a_loop_that_was_watched_before_executes_two_iterations(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed("pass", ONCE, tmp_path / "once.py", monkeypatch) == 3
    assert executed("pass", TWICE, tmp_path / "twice.py", monkeypatch) == 3 + 2


def test_what_one_core_has_learned_is_known_to_the_other(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed("pass", ONCE, tmp_path / "cores.py", monkeypatch, cores=2) == 2


def test_a_comparison_of_the_index_ends_what_is_spanned(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "if at >= 12:\n        nisa.memset(dst=state.tile, value=1.0)"
    assert executed(body, TWICE, tmp_path / "ends.py", monkeypatch) <= 5 + 5


def test_a_first_iteration_that_leaves_another_state_is_not_spanned(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, calls = "state.rounds = 1", f"{ONCE}\n    state.rounds = 0\n    {ONCE}"
    assert 3 + 2 < executed(body, calls, tmp_path / "first.py", monkeypatch) <= 3 + 4


def test_a_number_that_counts_iterations_is_spanned(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "nisa.memset(dst=state.tile, value=2 * at - 7)"
    assert executed(body, TWICE, tmp_path / "number.py", monkeypatch) == 3 + 2


@pytest.mark.parametrize("body", [
    "state.rounds += 1", "nisa.memset(dst=state.tile, value=at / 2)",
    "nisa.dma_copy(dst=state.tile, src=x[at * at:at * at + 128, 0:64])"])
def test_a_loop_with_state_is_executed_in_full_each_time(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed(body, TWICE, tmp_path / "state.py", monkeypatch) >= 40


def test_a_state_that_changes_in_a_later_run_is_noticed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "state.rounds += state.rounds > 0"
    calls = f"{ONCE}\n    state.rounds = 1\n    {ONCE}"
    assert executed(body, calls, tmp_path / "later.py", monkeypatch) >= 3 + 20


def test_an_outermost_loop_over_an_nki_range_is_watched_from_its_first_iteration_on(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed("pass", MARKED, tmp_path / "marked.py", monkeypatch) == 2


@pytest.mark.parametrize("calls", [INNER, MUCH])
def test_an_inner_loop_and_one_with_much_code_show_first_that_they_are_long(
        calls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trnsim.frontend.sampling.sample.WATCHED", 10**9)
    assert executed("pass", calls, tmp_path / "inner.py", monkeypatch) >= 20


@pytest.mark.parametrize("body", [
    "state.rounds = at", "state.rounds += 1", "state.last = [at]", "assert type(at) is int"])
def test_a_state_that_keeps_an_index_has_such_a_loop_executed_in_full(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed(body, MARKED, tmp_path / "keeps.py", monkeypatch) == 20


@pytest.mark.parametrize("body", [
    "state.rounds = 1", "if at == 0:\n        nisa.memset(dst=state.tile, value=1.0)"])
def test_a_first_iteration_that_is_another_is_followed_by_a_few(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed(body, MARKED, tmp_path / "other.py", monkeypatch) <= 5


@pytest.mark.parametrize("body", [
    "pass", f"own = {TILE}\n    nisa.tensor_copy(dst=own, src=state.tile)",
    f"""for _ in range(6):
        own = [{TILE} for _ in range(2)]
        nisa.tensor_copy(dst=own[0], src=state.tile)
        nisa.tensor_copy(dst=own[1], src=own[0])"""])
def test_a_loop_whose_bounds_are_in_registers_executes_one_iteration(
        body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed(body, RUNTIME, tmp_path / "runtime.py", monkeypatch) == 1


@pytest.mark.parametrize(("body", "calls"), [
    ("nisa.memset(dst=state.late, value=0.0)", f"state.late = {TILE}\n    {RUNTIME}"),
    (f"old, state.tile = state.tile, {TILE}\n    nisa.tensor_copy(dst=state.tile, src=old)",
     RUNTIME),
    ("pass", f"""{RUNTIME}
        last = {TILE}
        nisa.tensor_copy(dst=last, src=state.tile)
    nisa.tensor_copy(dst=state.tile, src=last)""")])
def test_one_that_leaves_something_behind_executes_more(
        body: str, calls: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert executed(body, calls, tmp_path / "leaving.py", monkeypatch) > 1


def test_a_first_iteration_that_uses_an_older_tile_for_the_first_time_is_not_spanned(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []
    made = tracing._Attempt
    monkeypatch.setattr(tracing, "_Attempt", lambda *one: attempts.append(1) or made(*one))
    body = "nisa.tensor_copy(dst=state.late[0], src=state.tile)"
    late = f"""state.late = []
    for _ in range(2):
        state.late.append({TILE})
    {ONCE}"""
    assert executed(body, f"{late}\n    {late}", tmp_path / "late.py", monkeypatch) < 12
    assert len(attempts) == 2, "once, and once in full to compare"


@pytest.mark.parametrize("look", [
    "nisa.dma_copy(dst=state.tile, src=x.ap([[4096, 128], [1, 64]], scalar_offset=row))",
    "nisa.memset(dst=state.tile, value=0.0 if row.value is None else 1.0)", "row + 1",
    "state.row = row"])
def test_one_whose_register_is_looked_at_is_executed_in_full(
        look: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "looked.py"
    assert executed("pass", RUNTIME, path, monkeypatch, look=look) >= DEFAULT_TRIPS
