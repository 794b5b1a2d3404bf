// SPDX-License-Identifier: Apache-2.0
// Operands and their histories.
#include "trnsim/lowering/planned_step.hpp"

namespace trnsim::lowering {

void ResolvedOperand::collect(neuron_core::QueueId queue, const Slot* slot, WaitSet& waits) const {
    const RegionAccess access{
        .region = region, .access = operand->access, .queue = queue, .number = 0};
    if (slot != nullptr) {
        slot->history.collect(access, waits);
    } else if (memory != nullptr) {
        memory->collect(access, waits);
    }
}

void ResolvedOperand::record(neuron_core::QueueId queue, std::uint64_t number) const {
    const RegionAccess access{
        .region = region, .access = operand->access, .queue = queue, .number = number};
    if (tile != nullptr) {
        tile->slot->history.record(access);
        tile->is_dirty = tile->is_dirty || operand->writes();
    } else if (memory != nullptr) {
        memory->record(access);
    }
}

}  // namespace trnsim::lowering
