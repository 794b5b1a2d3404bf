// SPDX-License-Identifier: Apache-2.0
// The program's choice, then the policies', then the chip's.
#include "trnsim/lowering/trigger_plan.hpp"

#include "trnsim/dma/dma_timing.hpp"

namespace trnsim::lowering {

DmaTrigger plan_trigger(const DgeSpec& spec,
                        const Policies& policies,
                        const InstructionTemplate& instruction,
                        bool is_scratch) {
    const DgeMode own = instruction.attributes.dge;
    const DgeMode of_chip = dma::resolve_dge(spec, instruction);
    // What hardware cannot describe is described by others in scratch too.
    const bool goes_by_scratch =
        is_scratch && policies.scratch_dge != DgeMode::Auto &&
        (policies.scratch_dge != DgeMode::Hardware || of_chip == DgeMode::Hardware);
    const DgeMode policy = goes_by_scratch ? policies.scratch_dge : policies.dge;
    DmaTrigger trigger{.dge = own};
    if (own == DgeMode::Auto) {
        const bool is_open = policy == DgeMode::Auto || !dma::dge_mode(spec, policy).available;
        trigger.dge = is_open ? of_chip : policy;
    }
    if (instruction.attributes.trigger) {
        trigger.engine = *instruction.attributes.trigger;
    } else if (trigger.dge == DgeMode::Software) {
        trigger.engine = Engine::Gpsimd;
    } else if (trigger.dge == DgeMode::Hardware && goes_by_scratch) {
        const bool is_store = instruction.at(Role::Dst).space == Space::Hbm;
        trigger.engine = is_store ? Engine::Scalar : Engine::Sync;
    }
    return trigger;
}

}  // namespace trnsim::lowering
