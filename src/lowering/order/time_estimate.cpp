// SPDX-License-Identifier: Apache-2.0
// A schedule on paper.
#include "trnsim/lowering/order/time_estimate.hpp"

#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"

#include <algorithm>
#include <bit>

namespace trnsim::lowering {

using neuron_core::IssueTemplate;
using neuron_core::Operation;
using neuron_core::QueueId;

TimeEstimate::TimeEstimate(const ChipSpec& chip, double dma_rate)
    : chip_(chip),
      dma_rate_(dma_rate),
      dma_engines_(dma::serving_engines(chip.dma, chip.neuron_core.sbuf.partitions)),
      fill_(neuron_core::fill_time(chip.neuron_core.tensor_engine)),
      wakeup_(chip.neuron_core.semaphore_file.wakeup_ns),
      tensor_wakeup_(chip.neuron_core.semaphore_file.wakeup_tensor_ns) {}

Picoseconds TimeEstimate::end_of(QueueId queue, std::uint64_t number) const {
    const Queue& from = queues_[queue];
    if (number == 0 || number + kRemembered <= from.count) {
        return {};
    }
    return from.ends[number % kRemembered];
}

Picoseconds TimeEstimate::met(QueueId queue, const WaitSet& waits) const {
    const bool is_tensor = queue == neuron_core::queue_of(Engine::Tensor);
    const Picoseconds wakeup = is_tensor ? tensor_wakeup_ : wakeup_;
    Picoseconds latest;
    for (std::uint32_t left = waits.queues(); left != 0; left &= left - 1) {
        const auto producer = static_cast<QueueId>(std::countr_zero(left));
        const Picoseconds end = end_of(producer, waits[producer].end());
        latest = std::max(latest, producer == queue ? end : end + wakeup);
    }
    return latest;
}

Picoseconds TimeEstimate::tensor_time(const IssueTemplate& what) const {
    return to_picoseconds(what.tensor_interval, chip_.neuron_core.tensor_engine.clock_ghz);
}

void TimeEstimate::push(QueueId queue, const IssueTemplate& what, Picoseconds ready) {
    const Picoseconds start = std::min(std::max(queues_[queue].free_at, ready), kLongestTime);
    Queue& to = queues_[queue];
    switch (what.operation) {
        case Operation::Transfer:
            return trigger(queue, what, start);
        case Operation::LoadStationary: {
            const Picoseconds pass = neuron_core::pass_time(tensor_time(what), what.passes);
            to.free_at = std::max(to.free_at, std::min(ready, kLongestTime) + pass);
            return append(to, to.free_at);
        }
        case Operation::MultiplyMoving: {
            const Picoseconds interval = tensor_time(what);
            to.free_at =
                start + Picoseconds{neuron_core::share_of_array(what.pe_blocks, interval.value)};
            return append(to, start + interval + fill_);
        }
        default:
            to.free_at = start + what.cost.interval;
            return append(to, start + what.cost.done);
    }
}

void TimeEstimate::append(Queue& queue, Picoseconds end) {
    if (queue.ends.empty()) {
        queue.ends.resize(kRemembered);
    }
    const Picoseconds before = queue.ends[queue.count % kRemembered];
    ++queue.count;
    queue.ends[queue.count % kRemembered] = std::max(before, end);
}

void TimeEstimate::trigger(QueueId ring, const IssueTemplate& what, Picoseconds start) {
    const dma::DmaTransferCost& transfer = what.transfer;
    const std::int64_t taken = std::popcount(transfer.engine_mask);
    const Picoseconds first =
        std::max(start + what.dge_cost.first_byte, std::min(dma_free_at_, kLongestTime));
    const auto at_rate = [this](Picoseconds time) {
        return Picoseconds{static_cast<std::int64_t>(static_cast<double>(time.value) / dma_rate_)};
    };
    const Picoseconds service = at_rate(transfer.service);
    const Picoseconds moved = first + service;
    const Picoseconds all =
        transfer.uneven.empty() ? taken * service : at_rate(transfer.engine_time());
    dma_free_at_ = first + Picoseconds{all.value / std::max(taken, dma_engines_)};
    Queue& queue = queues_[ring];
    const bool is_there = follows_plan_ && transfer.bytes_read_hbm.value > 0;
    append(queue, is_there ? moved : moved + transfer.spread + chip_.dma.completion_ns);
    queue.free_at = start + dma::ring_interval(chip_.dma, what.dge_cost);
    const auto outstanding = static_cast<std::uint64_t>(chip_.dma.ring_outstanding_transfers);
    if (outstanding > 0 && queue.count >= outstanding) {
        queue.free_at = std::max(queue.free_at, end_of(ring, queue.count - outstanding + 1));
    }
}

}  // namespace trnsim::lowering
