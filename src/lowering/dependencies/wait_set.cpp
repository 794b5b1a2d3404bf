// SPDX-License-Identifier: Apache-2.0
// Needs of whole sets.
#include "trnsim/lowering/dependencies/wait_set.hpp"

#include <bit>

namespace trnsim::lowering {

using neuron_core::QueueId;

void WaitSet::need(const WaitSet& other, std::uint32_t done_queues, std::uint32_t read_queues) {
    for (std::uint32_t left = other.done_queues_ & done_queues; left != 0; left &= left - 1) {
        const auto queue = static_cast<QueueId>(std::countr_zero(left));
        need_done(queue, other.needs_[queue].done);
    }
    for (std::uint32_t left = other.read_queues_ & read_queues; left != 0; left &= left - 1) {
        const auto queue = static_cast<QueueId>(std::countr_zero(left));
        need_read(queue, other.needs_[queue].read);
    }
}

bool WaitSet::knows(const WaitSet& other,
                    std::uint32_t done_queues,
                    std::uint32_t read_queues) const {
    for (std::uint32_t left = other.done_queues_ & done_queues; left != 0; left &= left - 1) {
        const auto queue = static_cast<QueueId>(std::countr_zero(left));
        if (other.needs_[queue].done > (*known_)[queue]) {
            return false;
        }
    }
    for (std::uint32_t left = other.read_queues_ & read_queues; left != 0; left &= left - 1) {
        const auto queue = static_cast<QueueId>(std::countr_zero(left));
        if (other.needs_[queue].read > (*known_)[queue]) {
            return false;
        }
    }
    return true;
}

}  // namespace trnsim::lowering
