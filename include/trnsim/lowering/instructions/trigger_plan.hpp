// SPDX-License-Identifier: Apache-2.0
// Who describes each transfer to the DMA engines, and in whose queue it is triggered.
#pragma once

#include "trnsim/isa/engine.hpp"
#include "trnsim/isa/instruction.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/neuron_core/sync_engine_spec.hpp"

namespace trnsim::lowering {

/// How a transfer begins.
struct DmaTrigger {
    DgeMode dge = DgeMode::None;  ///< Never Auto.
    Engine engine = Engine::Dma;  ///< In whose queue; Dma: in none, its ring begins it by itself.
};

/// Of a transfer of the program. It says itself how, or the policies do, or it is what the chip
/// does with such transfers. The engine is the one that the program names, GpSimd where it makes
/// the descriptors, for scratch by hardware Sync that loads and Scalar that stores, [TRACES-TRN2]
/// and on chips without a DGE Sync that loads and GpSimd that stores. [ENGINES-TRN1] `is_scratch`:
/// the kernel writes and reads its tensor in HBM.
[[nodiscard]] DmaTrigger plan_trigger(const DgeSpec& spec,
                                      const Policies& policies,
                                      const InstructionTemplate& instruction,
                                      bool is_scratch);

}  // namespace trnsim::lowering
