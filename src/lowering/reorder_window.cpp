// SPDX-License-Identifier: Apache-2.0
// List scheduling within a window.
#include "trnsim/lowering/reorder_window.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace trnsim::lowering {

using neuron_core::QueueId;

ReorderWindow::ReorderWindow(const Reach& reach,
                             std::size_t capacity,
                             const TimeEstimate& estimate,
                             const TilePlaces& places)
    : estimate_(estimate), places_(places), reach_(reach), capacity_(capacity) {}

PlannedStep& ReorderWindow::blank() {
    if (blanks_.empty()) {
        return storage_.emplace_back();
    }
    PlannedStep& step = *blanks_.back();
    blanks_.pop_back();
    step.clear();
    return step;
}

void ReorderWindow::admit(PlannedStep& step) {
    step.order = admitted_++;
    ++size_;
    Queue& queue = queues_[step.queue];
    queue.steps.push_back(&step);
    queue.is_known = false;
    occupied_ |= 1U << step.queue;
    if (!reorders()) {
        return;
    }
    for (const ResolvedOperand& operand : step.operands) {
        PendingAccesses* pending = operand.pending();
        if (pending == nullptr) {
            continue;
        }
        const Access access = operand.operand->access;
        pending->for_each_before(operand.region, access, [&step](PlannedStep& earlier) {
            const bool is_new = earlier.blocked.empty() || earlier.blocked.back() != &step;
            if (is_new && &earlier != &step) {
                earlier.blocked.push_back(&step);
                ++step.blockers;
            }
        });
        pending->add(step, operand.region, access);
    }
}

bool ReorderWindow::has_bytes(const PlannedStep& step) const {
    return std::ranges::all_of(step.operands, [this](const ResolvedOperand& operand) {
        return operand.tile == nullptr || operand.tile->slot != nullptr ||
               places_.has_bytes_for(*operand.tile);
    });
}

void ReorderWindow::settle(PlannedStep& step) const {
    if (step.has_waits) {
        return;
    }
    step.find_waits(places_);
    if (reorders()) {
        step.own.met = estimate_.met(step.queue, step.own.waits);
        step.load.met = estimate_.met(step.queue, step.load.waits);
    }
}

void ReorderWindow::choose(Queue& queue, QueueId id) const {
    const Picoseconds free_at = estimate_.free_at(id);
    queue.free_at = free_at;
    const std::size_t reach = std::min(queue.steps.size(), static_cast<std::size_t>(reach_[id]));
    queue.is_known = true;
    queue.needs_bytes = false;
    queue.best = nullptr;
    for (std::size_t i = 0; i < reach; ++i) {
        PlannedStep& step = *queue.steps[i];
        if (step.blockers > 0) {
            continue;
        }
        if (!has_bytes(step)) {
            queue.needs_bytes = true;
            continue;
        }
        settle(step);
        const Picoseconds start = std::max({free_at, step.own.met, step.load.met});
        if (queue.best == nullptr || start < queue.start) {
            queue.best = &step;
            queue.start = start;
            if (start == free_at) {
                return;
            }
        }
    }
}

PlannedStep& ReorderWindow::take() {
    assert(size_ > 0);
    if (!reorders()) {
        const auto only = static_cast<QueueId>(std::countr_zero(occupied_));
        queues_[only].best = queues_[only].steps.front();
        return take_from(only);
    }
    const Queue* first = nullptr;
    QueueId first_id = 0;
    for (std::uint32_t left = occupied_; left != 0; left &= left - 1) {
        const auto id = static_cast<QueueId>(std::countr_zero(left));
        Queue& queue = queues_[id];
        const bool is_stale = !queue.is_known || queue.free_at != estimate_.free_at(id) ||
                              (queue.best != nullptr && !has_bytes(*queue.best));
        if (is_stale) {
            choose(queue, id);
        }
        if (queue.best == nullptr) {
            continue;
        }
        if (first == nullptr || queue.start < first->start ||
            (queue.start == first->start && queue.best->order < first->best->order)) {
            first = &queue;
            first_id = id;
        }
    }
    return take_from(first != nullptr ? first_id : earliest());
}

PlannedStep& ReorderWindow::take_from(QueueId id) {
    Queue& queue = queues_[id];
    PlannedStep& step = *queue.best;
    queue.steps.erase(std::ranges::find(queue.steps, &step));
    if (queue.steps.empty()) {
        occupied_ &= ~(1U << id);
    }
    queue.best = nullptr;
    queue.is_known = false;
    --size_;
    return step;
}

QueueId ReorderWindow::earliest() {
    QueueId first = 0;
    std::uint64_t order = admitted_;
    for (std::uint32_t left = occupied_; left != 0; left &= left - 1) {
        const auto id = static_cast<QueueId>(std::countr_zero(left));
        const PlannedStep& oldest = *queues_[id].steps.front();
        if (oldest.order < order) {
            order = oldest.order;
            first = id;
        }
    }
    queues_[first].best = queues_[first].steps.front();
    return first;
}

void ReorderWindow::retire(PlannedStep& step) {
    if (reorders()) {
        for (const ResolvedOperand& operand : step.operands) {
            if (PendingAccesses* pending = operand.pending()) {
                pending->remove(step);
            }
        }
    }
    for (PlannedStep* later : step.blocked) {
        if (--later->blockers == 0) {
            queues_[later->queue].is_known = false;
        }
    }
    blanks_.push_back(&step);
}

void ReorderWindow::look_again() {
    for (Queue& queue : queues_) {
        queue.is_known = queue.is_known && !queue.needs_bytes;
    }
}

void ReorderWindow::forget_estimates() {
    for (Queue& queue : queues_) {
        queue.is_known = false;
        for (PlannedStep* step : queue.steps) {
            step->has_waits = false;
        }
    }
}

}  // namespace trnsim::lowering
