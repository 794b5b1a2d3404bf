// SPDX-License-Identifier: Apache-2.0
// What instructions cost on the Vector Engine.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"
#include "trnsim/neuron_core/vector_engine_spec.hpp"

namespace trnsim::neuron_core {

/// interval = issue_overhead + vector_operand x k + cpe x N and done = completion_overhead + the
/// same, in VectorE cycles; N = elements per partition streamed, k = [P,1] operands, cpe as
/// vector_cycles_per_element(). Independent of the number of partitions. [M-VOYAGER] [NKI-ARCH-V2]
/// A reduce_result adds accumulator_readout, nc_transpose has constants of its own. Leaves out port
/// conflicts with GpSimd and ScalarE, mask loads and regrouping (below). \pre can_run(chip,
/// Engine::Vector, instruction)
[[nodiscard]] InstructionCost vector_engine_cost(const VectorEngineSpec& spec,
                                                 const SbufSpec& sbuf,
                                                 const InstructionTemplate& instruction);

/// VectorE cycles per element of the instruction, fast modes and stride penalty included.
/// [NKI-ARCH-V3] [NKI-ISA-2.26] [M-VOYAGER]
[[nodiscard]] double vector_cycles_per_element(const VectorEngineSpec& spec,
                                               const SbufSpec& sbuf,
                                               const InstructionTemplate& instruction);

/// Added to interval and done of a 32x32 nc_transpose whose (source, destination) quadrant pair
/// differs from that of the VectorE instruction before it, or whose predecessor is another
/// operation. [M-VOYAGER]
[[nodiscard]] Picoseconds transpose_regroup_time(const VectorEngineSpec& spec);

/// Added to an nc_stream_shuffle whose mask differs from the last one (LOAD_MASK_SELECT).
/// [M-VOYAGER]
[[nodiscard]] Picoseconds shuffle_mask_load_time(const VectorEngineSpec& spec);

}  // namespace trnsim::neuron_core
