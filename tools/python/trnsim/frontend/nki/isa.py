# SPDX-License-Identifier: Apache-2.0
# The public module nki.isa.
"""nki.isa as kernels import it."""

from __future__ import annotations

from trnsim.errors import IllegalInstruction as NkiValidationError
from trnsim.frontend import recorder
from trnsim.frontend.absent import absent as _absent
from trnsim.frontend.nki.enums import (dge_mode, dma_engine, engine, matmul_perf_mode, nc_version,
                                       oob_mode, reduce_cmd)
from trnsim.frontend.nki.isa_cores import core_barrier, sendrecv, sendrecv_compute
from trnsim.frontend.nki.isa_dma import dma_compute, dma_copy, dma_transpose
from trnsim.frontend.nki.isa_gpsimd import (affine_select, iota, local_gather, nc_n_gather,
                                            nonzero_with_count, sequence_bounds,
                                            tensor_partition_reduce, topk)
from trnsim.frontend.nki.isa_matmul import nc_matmul, nc_matmul_mx, nc_transpose
from trnsim.frontend.nki.isa_registers import (register_alloc, register_load, register_move,
                                               register_store)
from trnsim.frontend.nki.isa_scalar import activate2, activation, activation_reduce
from trnsim.frontend.nki.isa_vector import (
    bn_aggr, bn_stats, dropout, exponential, max8, memset, nc_find_index8,
    nc_match_replace8, nc_stream_shuffle, quantize_mx, rand2, rand_get_state, rand_set_state,
    range_select, reciprocal, rng, scalar_tensor_tensor, select_reduce, set_rng_seed, tensor_copy,
    tensor_copy_predicated, tensor_reduce, tensor_scalar, tensor_scalar_cumulative,
    tensor_scalar_reduce, tensor_tensor, tensor_tensor_scan)
from trnsim.frontend.nki.issue import NkiInstruction
from trnsim.frontend.nki.registers import VirtualRegister
from trnsim.frontend.nki.scalars import NkiScalar, scalar_load, scalar_store

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown



def get_nc_version() -> nc_version:
    """The NeuronCore generation of the traced chip."""
    return nc_version(recorder.target().generation)


def get_nc_sub_version() -> int:
    """The silicon revision within the generation: the first."""
    return 0


__all__ = [name for name in dir() if not name.startswith("_") and name not in (
    "annotations", "recorder")]


__getattr__ = _absent("nki", "isa", globals())
