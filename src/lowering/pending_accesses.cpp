// SPDX-License-Identifier: Apache-2.0
// The first of those who wait.
#include "trnsim/lowering/pending_accesses.hpp"

#include "trnsim/lowering/planned_step.hpp"

namespace trnsim::lowering {

const PlannedStep* PendingAccesses::first() const {
    const PlannedStep* read = reads_.empty() ? nullptr : reads_.front().step;
    const PlannedStep* write = writes_.empty() ? nullptr : writes_.front().step;
    return read == nullptr || (write != nullptr && write->order < read->order) ? write : read;
}

}  // namespace trnsim::lowering
