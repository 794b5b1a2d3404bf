# SPDX-License-Identifier: Apache-2.0
# The public module neuronxcc.nki.isa.
"""neuronxcc.nki.isa as kernels import it. [NKI-ISA-2.26]"""

from __future__ import annotations

from trnsim.frontend.absent import absent as _absent
from trnsim.frontend import recorder as _recorder
from trnsim.frontend.legacy.isa_dma import dma_copy, dma_transpose
from trnsim.frontend.legacy.isa_gpsimd import (affine_select, bn_aggr, bn_stats, dropout, iota,
                                               local_gather, max8, nc_find_index8,
                                               nc_match_replace8, nc_stream_shuffle,
                                               sequence_bounds, tensor_partition_reduce)
from trnsim.frontend.legacy.isa_tensor import nc_matmul, nc_transpose
from trnsim.frontend.legacy.isa_vector import (activation, activation_reduce, memset, range_select,
                                               reciprocal, scalar_tensor_tensor, select_reduce,
                                               tensor_copy, tensor_copy_dynamic_dst,
                                               tensor_copy_dynamic_src, tensor_copy_predicated,
                                               tensor_reduce, tensor_scalar,
                                               tensor_scalar_cumulative, tensor_scalar_reduce,
                                               tensor_tensor, tensor_tensor_scan)
from trnsim.frontend.legacy.language import fp32
from trnsim.frontend.nki.enums import dge_mode, dma_engine, engine, nc_version, oob_mode, reduce_cmd
from trnsim.frontend.nki.enums import matmul_perf_mode as performance_mode
from trnsim.frontend.nki.stubs import unsupported as _unsupported

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
sync_engine = engine.sync
unknown_engine = engine.unknown
builtin_custom_op = _unsupported("neuronxcc.nki.isa.builtin_custom_op")


def get_nc_version() -> nc_version:
    """The NeuronCore generation that is traced for."""
    return nc_version(_recorder.required().chip.generation)


__all__ = ["activation", "activation_reduce", "affine_select", "bn_aggr", "bn_stats",
           "builtin_custom_op", "dge_mode", "dma_copy", "dma_engine", "dma_transpose", "dropout",
           "engine", "fp32", "get_nc_version", "gpsimd_engine", "iota", "local_gather", "max8",
           "memset", "nc_find_index8", "nc_match_replace8", "nc_matmul", "nc_stream_shuffle",
           "nc_transpose", "nc_version", "oob_mode", "performance_mode", "range_select",
           "reciprocal", "reduce_cmd", "scalar_engine", "scalar_tensor_tensor", "select_reduce",
           "sequence_bounds", "sync_engine", "tensor_copy", "tensor_copy_dynamic_dst",
           "tensor_copy_dynamic_src", "tensor_copy_predicated", "tensor_engine",
           "tensor_partition_reduce", "tensor_reduce", "tensor_scalar",
           "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor",
           "tensor_tensor_scan", "unknown_engine", "vector_engine"]


__getattr__ = _absent("neuronxcc.nki", "isa", globals())
