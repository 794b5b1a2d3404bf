# SPDX-License-Identifier: Apache-2.0
# Kernels with collectives, from their source to a time.
"""Tests of every function of nki.collectives as a user meets it."""

from __future__ import annotations

import json

import pytest
from command_line import CommandLine

KERNEL = '''
import nki
import nki.collectives as collectives
import nki.language as nl

GROUP = collectives.ReplicaGroup([[0, 1], [2, 3]])


@nki.jit
def exchange(x, counts):
    def hbm(rows):
        return nl.ndarray((rows, 64), dtype=x.dtype, buffer=nl.shared_hbm)

    same, twice, half = hbm(128), hbm(256), hbm(64)
    {call}
    return same, twice, half
'''
CALLS = {
    "all_reduce": "([x], [same], GROUP, nl.add)",
    "all_gather": "([x], [twice], GROUP, 0)",
    "all_gather_v": "([x], [twice], GROUP, counts)",
    "reduce_scatter": "([x], [half], GROUP, 0, nl.maximum)",
    "all_to_all": "([x], [same], GROUP, 0)",
    "all_to_all_v": "([x], [same], GROUP, counts)",
    "collective_permute": "([x], [same], [(0, 1), (1, 0)])",
    "collective_permute_implicit": "([[x]], [[same]], GROUP)",
    "collective_permute_implicit_reduce": "([[x]], [[x]], [[same]], GROUP, nl.add)",
}


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("chip", ["trn2", "trn3"])
def test_a_collective_takes_longer_than_its_launch(trnsim: CommandLine, function: str,
                                                   chip: str) -> None:
    (trnsim.folder / "k.py").write_text(
        KERNEL.format(call=f"collectives.{function}{CALLS[function]}"))
    result = trnsim.result("k.py::exchange", "--arg", "bfloat16[128,64]", "--arg", "uint32[2]",
                           "--chip", chip)
    (launch,) = json.loads(trnsim("describe", f"{chip}.collectives.launch_ns", "--json",
                                  "-").output)["fields"]
    assert result["summary"]["latency_us"] > launch["value"] / 1000
