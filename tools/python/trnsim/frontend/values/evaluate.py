# SPDX-License-Identifier: Apache-2.0
# Which function evaluates which operation.
"""Operation -> evaluator.

An evaluator takes a Call and the instruction's immediates: what its values depend on besides
operands and attributes, in the order of the evaluator's parameters. The dialects hand immediates
over with the instruction (`Recorder.record`); the trace does not hold them.
"""

from __future__ import annotations

from collections.abc import Callable

from trnsim.frontend.values import (
                                    collectives,
                                    dma,
                                    elementwise,
                                    exchange,
                                    gather,
                                    matmul,
                                    microscaling,
                                    random,
                                    reduction,
                                    selection,
                                    top8,
)

EVALUATORS: dict[str, Callable[..., None]] = {
    **{one.__name__: one for one in (
        elementwise.memset, elementwise.tensor_copy, elementwise.tensor_tensor,
        elementwise.tensor_scalar, elementwise.scalar_tensor_tensor,
        elementwise.tensor_scalar_reduce, elementwise.activation, elementwise.activation_reduce,
        elementwise.activate2, elementwise.reciprocal, elementwise.exponential,
        reduction.tensor_reduce, reduction.tensor_partition_reduce, reduction.tensor_tensor_scan,
        reduction.tensor_scalar_cumulative, reduction.bn_stats, reduction.bn_aggr,
        matmul.nc_matmul, matmul.nc_transpose, microscaling.nc_matmul_mx,
        microscaling.quantize_mx, dma.dma_copy, dma.dma_transpose, dma.dma_compute,
        selection.iota, selection.affine_select, selection.range_select, selection.select_reduce,
        selection.tensor_copy_predicated, gather.nc_n_gather, gather.local_gather,
        gather.nc_stream_shuffle, gather.sequence_bounds, gather.nonzero_with_count, gather.topk,
        top8.max8, top8.nc_find_index8, top8.nc_match_replace8, random.rng, random.rand2,
        random.dropout, random.set_rng_seed, random.rand_set_state, random.rand_get_state,
        exchange.core_barrier, exchange.sendrecv, exchange.register_store,
        collectives.all_reduce, collectives.all_gather, collectives.reduce_scatter,
        collectives.all_to_all, collectives.collective_permute)},
    "register_move": exchange.nothing, "register_load": exchange.nothing,
}
