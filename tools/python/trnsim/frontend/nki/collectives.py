# SPDX-License-Identifier: Apache-2.0
# The public module nki.collectives: names only.
"""nki.collectives as kernels import it. Kernels are traced as one program on one core."""

from __future__ import annotations

from typing import Any

from trnsim.frontend.nki.objects import NKIObject
from trnsim.frontend.nki.stubs import unsupported


class ReplicaGroup(NKIObject):
    """The ranks that take part in a collective."""

    def __init__(self, groups: Any) -> None:
        self.groups = groups


NAMES = (
    "all_reduce", "all_gather", "all_gather_v", "reduce_scatter", "all_to_all", "all_to_all_v",
    "collective_permute", "collective_permute_implicit", "collective_permute_implicit_reduce",
    "collective_permute_implicit_current_processing_rank_id", "rank_id")

globals().update({name: unsupported(f"nki.collectives.{name}") for name in NAMES})
