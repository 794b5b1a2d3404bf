// SPDX-License-Identifier: Apache-2.0
// Triggering and completing transfers in order.
#include "trnsim/dma/dma_ring.hpp"

#include <algorithm>
#include <cstddef>

namespace trnsim::dma {

using neuron_core::Execution;
using neuron_core::IssueTemplate;
using neuron_core::QueuedInstruction;

DmaRing::DmaRing(const sc_core::sc_module_name& name,
                 int ring,
                 const neuron_core::CoreServices& services,
                 DmaEngines& engines,
                 neuron_core::Dge& dge)
    : Sequencer(name, neuron_core::queue_of_ring(ring), services),
      ring_(ring),
      engines_(engines),
      dge_(dge) {
    engines_.connect(ring, [this] { guarded([this] { moved(); }); });
}

bool DmaRing::is_full() const {
    const std::int64_t limit = engines_.spec().ring_outstanding_transfers;
    return limit > 0 && static_cast<std::int64_t>(outstanding_.size()) >= limit;
}

Picoseconds DmaRing::earliest(const QueuedInstruction& next) const {
    if (is_full()) {
        return kNotKnown;
    }
    return dge_.request(
        ring_, next.what->dge, next.what->dge_cost, std::max(next_trigger_, ready_at()));
}

neuron_core::Sequencer::Issue DmaRing::issue(const QueuedInstruction& next,
                                             std::uint64_t /*sequence*/) {
    const IssueTemplate& what = *next.what;
    if (what.operation == neuron_core::Operation::Control) {
        return {.interval = what.cost.interval, .read = what.cost.read, .done = what.cost.done};
    }
    const DmaTransferCost& transfer = what.transfer;
    const Picoseconds begin = now();
    mode_ = what.dge;
    dge_.serve(ring_, begin);
    const Picoseconds interval = ring_interval(engines_.spec(), what.dge_cost);
    if (begin == next_trigger_ && ring_stats_.transfer_count > 0) {
        if (paced_.size() <= what.index) {
            paced_.resize(what.index + std::size_t{1});
        }
        paced_[what.index] += begin - std::clamp(ready_at(), last_trigger_, begin);
    }
    last_trigger_ = begin;
    next_trigger_ = begin + interval;
    engines_.submit(ring_, transfer, begin + what.dge_cost.first_byte);
    ++ring_stats_.transfer_count;
    ring_stats_.descriptor_count += transfer.descriptors;
    ring_stats_.bytes += transfer.bytes.value;
    ring_stats_.spill_save_bytes += what.is_spill_save ? transfer.bytes.value : 0;
    ring_stats_.spill_reload_bytes += what.is_spill_reload ? transfer.bytes.value : 0;
    return {.interval = interval, .read = Picoseconds{}, .done = kNotKnown};
}

void DmaRing::issued(const Execution& execution) {
    if (execution.instruction->what->operation == neuron_core::Operation::Control) {
        return;
    }
    Outstanding& newest = outstanding_.append();
    newest.instruction = *execution.instruction;
    newest.execution = execution;
}

void DmaRing::moved() {
    const bool was_full = is_full();
    Outstanding& oldest = outstanding_.front();
    oldest.execution.instruction = &oldest.instruction;
    const Picoseconds end = now() + oldest.instruction.what->transfer.spread;
    announce_read(oldest.execution, end);
    announce_done(oldest.execution, end + engines_.spec().completion_ns);
    outstanding_.pop_front();
    if (was_full) {
        wake().notify(sc_core::SC_ZERO_TIME);
    }
}

}  // namespace trnsim::dma
