# SPDX-License-Identifier: Apache-2.0
# The table of what each operation accepts; the rules that do not fit it are beside it.
"""Operands of every operation: memories, shapes, generations; and special checks by name.

[NKI-ISA], and [NKI-ARCH-V2], [NKI-ARCH-V3], [NKI-ARCH-V4] for sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from trnsim.frontend.chip import Chip
from trnsim.frontend.legality import gpsimd, vector
from trnsim.frontend.legality.dma import check_dma_elements, check_sendrecv
from trnsim.frontend.legality.instruction import Instruction
from trnsim.frontend.legality.matmul import check_matmul, check_matmul_mx, check_transpose
from trnsim.frontend.records.tensor import HBM, PSUM, SBUF

S = (SBUF,)
SP = (SBUF, PSUM)
HS = (HBM, SBUF)
P = (PSUM,)


class OperandRule(NamedTuple):
    """`relation`: `like` dst (partitions and elements), `vector` ([P, 1]) or `any`."""

    spaces: tuple[str, ...]
    relation: str


class Rule(NamedTuple):
    """What an operation accepts. `one_psum_input`: roles that are not both in PSUM."""

    operands: dict[str, OperandRule]
    generation: int = 2
    one_psum_input: tuple[str, str] | None = None

    def operand(self, role: str) -> OperandRule:
        """The rule of a role."""
        return self.operands.get(role) or INDEX


def _rule(generation: int = 2, one_psum_input: tuple[str, str] | None = None,
          **roles: tuple[tuple[str, ...], str]) -> Rule:
    return Rule({role: OperandRule(*one) for role, one in roles.items()}, generation,
                one_psum_input)


LIKE, VECTOR, ANY = (SP, "like"), (SP, "vector"), (SP, "any")
LIKE_S, ANY_S, ANY_HS = (S, "like"), (S, "any"), (HS, "any")

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")
"""Operations of all ranks of a group."""

RULES: dict[str, Rule] = {
    "nc_matmul": _rule(dst=(P, "any"), stationary=ANY_S, moving=ANY_S),
    "nc_matmul_mx": _rule(4, dst=(P, "any"), stationary=ANY_S, moving=ANY_S,
                          stationary_scale=ANY_S, moving_scale=ANY_S),
    "nc_transpose": _rule(dst=ANY, data=ANY),
    "tensor_copy": _rule(dst=LIKE, data=LIKE),
    "tensor_tensor": _rule(2, ("data1", "data2"), dst=LIKE, data1=LIKE, data2=LIKE),
    "tensor_scalar": _rule(dst=LIKE, data=LIKE, operand0=VECTOR, operand1=VECTOR,
                           initial=VECTOR),
    "scalar_tensor_tensor": _rule(2, ("data", "operand1"), dst=LIKE, data=LIKE, operand0=VECTOR,
                                  operand1=LIKE, reduce_result=VECTOR),
    "tensor_scalar_reduce": _rule(dst=LIKE, data=LIKE, operand0=VECTOR, initial=VECTOR,
                                  reduce_result=VECTOR),
    "tensor_scalar_cumulative": _rule(dst=LIKE, data=LIKE, operand0=VECTOR, operand1=VECTOR),
    "tensor_reduce": _rule(dst=ANY, data=ANY),
    "tensor_tensor_scan": _rule(2, ("data1", "data2"), dst=LIKE, data1=LIKE, data2=LIKE,
                                initial=VECTOR),
    "tensor_copy_predicated": _rule(2, ("data", "predicate"), dst=LIKE, data=LIKE, predicate=LIKE),
    "select_reduce": _rule(2, ("predicate", "on_true"), dst=LIKE, predicate=LIKE, on_true=LIKE,
                           on_false=VECTOR, reduce_result=VECTOR),
    "range_select": _rule(3, dst=LIKE, data=LIKE, bound0=VECTOR, bound1=VECTOR,
                          reduce_result=VECTOR),
    "memset": _rule(dst=ANY),
    "reciprocal": _rule(dst=LIKE, data=LIKE),
    "exponential": _rule(4, dst=LIKE, data=LIKE, max_value=VECTOR, initial=VECTOR,
                         reduce_result=VECTOR),
    "activation": _rule(dst=LIKE, data=LIKE, bias=VECTOR, scale=VECTOR, reduce_result=VECTOR),
    "activation_reduce": _rule(dst=LIKE, data=LIKE, bias=VECTOR, scale=VECTOR,
                               reduce_result=VECTOR),
    "activate2": _rule(4, dst=LIKE, data=LIKE, operand0=VECTOR, operand1=VECTOR,
                       relu_param=VECTOR, reduce_result=VECTOR),
    "bn_stats": _rule(dst=ANY, data=ANY),
    "bn_aggr": _rule(dst=ANY, data=ANY),
    "max8": _rule(dst=ANY, data=ANY),
    "nc_find_index8": _rule(dst=ANY, data=ANY, values=ANY),
    "nc_match_replace8": _rule(dst=LIKE, data=LIKE, values=ANY, dst_index=ANY),
    "nc_stream_shuffle": _rule(dst=ANY, data=ANY),
    "dropout": _rule(dst=LIKE, data=LIKE, operand0=VECTOR),
    "rng": _rule(dst=ANY),
    "rand2": _rule(4, dst=ANY, operand0=VECTOR, operand1=VECTOR),
    "rand_set_state": _rule(3, data=ANY_S),
    "rand_get_state": _rule(3, dst=ANY),
    "set_rng_seed": _rule(data=ANY),
    "quantize_mx": _rule(4, dst=ANY_S, dst_scale=ANY_S, data=ANY_S),
    "iota": _rule(dst=ANY_S),
    "affine_select": _rule(dst=LIKE_S, data=LIKE_S),
    "local_gather": _rule(dst=ANY_S, data=ANY_S, index=ANY_S),
    "nc_n_gather": _rule(dst=ANY_S, data=ANY_S, index=ANY_S),
    "tensor_partition_reduce": _rule(dst=ANY_S, data=ANY_S),
    "sequence_bounds": _rule(dst=ANY_S, data=ANY_S),
    "nonzero_with_count": _rule(3, dst=ANY_S, data=ANY_S),
    "topk": _rule(dst=ANY_S, data=ANY_S, dst_index=LIKE_S),
    "dma_copy": _rule(dst=ANY_HS, src=ANY_HS, index=ANY_S),
    "dma_transpose": _rule(dst=ANY_HS, src=ANY_HS, index=ANY_S),
    "dma_compute": _rule(dst=ANY_HS, src=ANY_HS),
    "register_move": _rule(),
    "register_load": _rule(data=(HS, "any")),
    "register_store": _rule(dst=(HS, "any")),
    "core_barrier": _rule(dst=ANY_HS),
    "sendrecv": _rule(3, dst=LIKE_S, src=LIKE_S),
    **{op: _rule(dst=ANY_HS, src=ANY_HS) for op in COLLECTIVES},
}
INDEX = OperandRule((HBM, SBUF), "any")
"""An operand `index`, of which every operation may have one for each of its operands."""

CHECKS: dict[str, Callable[[Chip, Instruction], None]] = {
    "nc_matmul": check_matmul, "nc_matmul_mx": check_matmul_mx, "nc_transpose": check_transpose,
    "tensor_tensor": vector.check_tensor_tensor, "tensor_scalar": vector.check_bitvec,
    "tensor_scalar_cumulative": vector.check_cumulative,
    "activation": vector.check_activation, "activation_reduce": vector.check_activation,
    "tensor_reduce": vector.check_tensor_reduce,
    "tensor_copy_predicated": vector.check_predicated, "exponential": vector.check_exponential,
    "select_reduce": vector.check_select_values, "range_select": vector.check_range_select,
    "memset": vector.check_memset, "rng": vector.check_random_bits,
    "bn_stats": vector.check_bn_stats, "bn_aggr": vector.check_bn_aggr,
    "rand_set_state": vector.check_state, "rand_get_state": vector.check_state,
    "set_rng_seed": vector.check_seed, "sequence_bounds": gpsimd.check_sequence_bounds,
    "nonzero_with_count": gpsimd.check_nonzero, "max8": vector.check_max8,
    "nc_find_index8": vector.check_find_index, "dropout": vector.check_dropout,
    "nc_match_replace8": vector.check_match_replace, "nc_stream_shuffle": vector.check_shuffle,
    "quantize_mx": vector.check_quantize, "local_gather": gpsimd.check_local_gather,
    "nc_n_gather": gpsimd.check_n_gather,
    "tensor_partition_reduce": gpsimd.check_partition_reduce, "topk": gpsimd.check_topk,
    "dma_copy": check_dma_elements, "dma_transpose": check_dma_elements,
    "dma_compute": check_dma_elements, "sendrecv": check_sendrecv,
    "register_load": vector.check_single, "register_store": vector.check_single,
}
"""What the table does not say, by operation."""
