// SPDX-License-Identifier: Apache-2.0
// What instructions cost on the GpSimd Engine.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/gpsimd_engine_spec.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"

namespace trnsim::neuron_core {

/// interval = issue_overhead + work, done = completion_overhead + work, in GpSimd cycles. work = N
/// for iota, affine_select, copies, integer arithmetic; 4 N for rsqrt; n x elements x C for
/// local_gather with C = (28 + 4 e) / 4 e / min(4 / bytes, e); per group of 512 for nc_n_gather; 4
/// n + k for topk. [NKI-ISA-2.26] [NKI-ISA] [M-VOYAGER] Leaves out port conflicts with VectorE.
/// \pre can_run(chip, Engine::Gpsimd, instruction)
[[nodiscard]] InstructionCost gpsimd_engine_cost(const GpsimdEngineSpec& spec,
                                                 const InstructionTemplate& instruction);

}  // namespace trnsim::neuron_core
