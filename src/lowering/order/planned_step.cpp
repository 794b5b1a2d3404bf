// SPDX-License-Identifier: Apache-2.0
// Operands and their histories.
#include "trnsim/lowering/order/planned_step.hpp"

namespace trnsim::lowering {

void ResolvedOperand::collect(neuron_core::QueueId queue, const Slot* slot, WaitSet& waits) const {
    const RegionAccess access{
        .region = region, .access = operand->access, .queue = queue, .number = 0, .lanes = lanes};
    if (slot != nullptr) {
        slot->history.collect(access, waits);
    } else if (memory != nullptr) {
        memory->collect(access, waits, block);
    }
}

void ResolvedOperand::record(neuron_core::QueueId queue, std::uint64_t number, bool is_copy) const {
    const RegionAccess access{.region = region,
                              .access = operand->access,
                              .queue = queue,
                              .number = number,
                              .lanes = lanes};
    if (tile != nullptr) {
        tile->slot->history.record(access);
        tile->is_dirty = tile->is_dirty || (operand->writes() && !is_copy);
        tile->is_saved = tile->is_saved || (operand->writes() && is_copy);
    } else if (memory != nullptr) {
        memory->record(access, AccessHistory::kMaxEntries, block);
    }
}

void ResolvedOperand::announce(PlannedStep& step) const {
    if (tile != nullptr) {
        tile->pending.add(step, step.order, region, operand->access);
    } else if (memory != nullptr) {
        memory->announce(step, region, operand->access, block);
    }
}

void ResolvedOperand::withdraw(const PlannedStep& step) const {
    if (tile != nullptr) {
        tile->pending.remove(step, operand->access);
    } else if (memory != nullptr) {
        memory->withdraw(step, region, operand->access, block);
    }
}

void PlannedStep::clear() {
    operands.clear();
    depends_on.clear();
    producer = nullptr;
    trigger.reset();
    is_in_order = false;
    has_load = false;
    has_waits = false;
    has_guess = false;
    blockers = 0;
    lack = {};
}

void PlannedStep::begin(WaitSet& waits) const {
    // An engine ends one after the other; transfers of a ring overlap.
    const std::uint32_t others = queue < neuron_core::kEngineQueues ? ~(1U << queue) : ~0U;
    waits.clear(*known);
    waits.need(*control, others);
    for (const ProducerExecution* earlier : depends_on) {
        if ((others >> earlier->queue & 1U) != 0) {
            waits.need_done(earlier->queue, earlier->number);
        }
    }
}

void PlannedStep::find_waits(const TilePlaces& places) {
    if (!has_guess) {
        begin(when->own.waits);
        if (has_load) {
            begin(when->load.waits);
        }
    }
    has_waits = true;
    for (ResolvedOperand& operand : operands) {
        if (has_guess && operand.is_collected) {
            continue;
        }
        const Slot* slot = operand.tile == nullptr ? nullptr : operand.tile->slot;
        if (operand.tile != nullptr && slot == nullptr) {
            slot = places.next_slot(*operand.tile);
        }
        operand.is_collected = operand.tile == nullptr || slot != nullptr;
        if (!operand.is_collected) {
            has_waits = false;
            continue;
        }
        if (operand.is_loaded) {
            operand.collect(queue, slot, when->load.waits);
        }
        if (operand.is_streamed) {
            operand.collect(queue, slot, when->own.waits);
        }
    }
    has_guess = !has_waits;
}

}  // namespace trnsim::lowering
