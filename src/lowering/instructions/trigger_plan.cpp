// SPDX-License-Identifier: Apache-2.0
// The program's choice, then the policies', then the chip's.
#include "trnsim/lowering/instructions/trigger_plan.hpp"

#include "trnsim/dma/dma_timing.hpp"

#include <optional>

namespace trnsim::lowering {

namespace {

/// What a policy means on a chip; nothing if the chip does not have it, or if it leaves it open.
std::optional<DgeMode> mode_of(const DgeSpec& spec, DgePolicy policy) {
    const auto if_available = [&](DgeMode mode) {
        return dma::dge_mode(spec, mode).available ? std::optional(mode) : std::nullopt;
    };
    switch (policy) {
        case DgePolicy::None:
            return if_available(DgeMode::None);
        case DgePolicy::Software:
            return if_available(DgeMode::Software);
        case DgePolicy::Hardware:
            return if_available(DgeMode::Hardware);
        case DgePolicy::Dynamic:
            return spec.hardware.available ? DgeMode::Software : DgeMode::None;
        default:
            return std::nullopt;
    }
}

bool is_store(const InstructionTemplate& instruction) {
    return instruction.at(Role::Dst).space == Space::Hbm;
}

}  // namespace

DmaTrigger plan_trigger(const DgeSpec& spec,
                        const Policies& policies,
                        const InstructionTemplate& instruction,
                        bool is_scratch) {
    const DgeMode own = instruction.attributes.dge;
    const DgeMode of_chip = dma::resolve_dge(spec, instruction);
    // What hardware cannot describe is described by others in scratch too.
    const bool goes_by_scratch =
        is_scratch && policies.scratch_dge != DgePolicy::Auto &&
        (policies.scratch_dge != DgePolicy::Hardware || of_chip == DgeMode::Hardware);
    DmaTrigger trigger{.dge = own};
    if (own == DgeMode::Auto) {
        trigger.dge =
            mode_of(spec, goes_by_scratch ? policies.scratch_dge : policies.dge).value_or(of_chip);
    }
    if (instruction.attributes.trigger) {
        trigger.engine = *instruction.attributes.trigger;
        if (!dma::can_trigger(trigger.engine, trigger.dge)) {
            trigger.dge = of_chip;  // The program's choice stands above a policy's.
        }
    } else if (trigger.dge == DgeMode::Software) {
        trigger.engine = Engine::Gpsimd;
    } else if (trigger.dge == DgeMode::Hardware && goes_by_scratch) {
        trigger.engine = is_store(instruction) ? Engine::Scalar : Engine::Sync;
    } else if (!spec.hardware.available && policies.trigger_in_queues &&
               !is_exchange(instruction.op)) {
        trigger.engine = is_store(instruction) ? Engine::Gpsimd : Engine::Sync;
    }
    return trigger;
}

}  // namespace trnsim::lowering
