// SPDX-License-Identifier: Apache-2.0
// List scheduling within a window.
#include "trnsim/lowering/reorder_window.hpp"

#include <algorithm>
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
    step.operands.clear();
    step.blocked.clear();
    step.blockers = 0;
    step.has_ready = false;
    return step;
}

void ReorderWindow::admit(PlannedStep& step) {
    step.order = admitted_++;
    ++size_;
    for (const ResolvedOperand& operand : step.operands) {
        if (PendingAccesses* pending = operand.pending()) {
            pending->for_each_before(
                operand.region, operand.operand->access, [&](PlannedStep& earlier) {
                    if (earlier.blocked.empty() || earlier.blocked.back() != &step) {
                        earlier.blocked.push_back(&step);
                        ++step.blockers;
                    }
                });
        }
    }
    for (const ResolvedOperand& operand : step.operands) {
        if (PendingAccesses* pending = operand.pending()) {
            pending->add(step, operand.region, operand.operand->access);
        }
    }
    Queue& queue = queues_[step.queue];
    queue.steps.push_back(&step);
    queue.is_known = false;
}

bool ReorderWindow::has_bytes(const PlannedStep& step) const {
    return std::ranges::all_of(step.operands, [this](const ResolvedOperand& operand) {
        return operand.tile == nullptr || operand.tile->slot != nullptr ||
               places_.has_bytes_for(*operand.tile);
    });
}

Picoseconds ReorderWindow::ready(PlannedStep& step) const {
    if (step.has_ready) {
        return step.ready;
    }
    WaitSet waits;
    step.has_ready = true;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.tile != nullptr && operand.tile->slot == nullptr) {
            step.has_ready = false;  // It may get other bytes.
            operand.collect(step.queue, places_.next_slot(*operand.tile), waits);
        } else {
            operand.collect(step.queue, waits);
        }
    }
    step.ready = estimate_.met(step.queue, waits);
    return step.ready;
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
        const Picoseconds start = std::max(free_at, ready(step));
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
    Queue* first = nullptr;
    for (QueueId id = 0; id < neuron_core::kQueues; ++id) {
        Queue& queue = queues_[id];
        if (queue.steps.empty()) {
            continue;
        }
        const bool is_stale = !queue.is_known || queue.free_at != estimate_.free_at(id) ||
                              (queue.best != nullptr && !has_bytes(*queue.best));
        if (is_stale) {
            choose(queue, id);
        }
        if (queue.best == nullptr) {
            continue;
        }
        const bool is_first =
            first == nullptr || queue.start < first->start ||
            (queue.start == first->start && queue.best->order < first->best->order);
        if (is_first) {
            first = &queue;
        }
    }
    Queue& from = first != nullptr ? *first : earliest();
    PlannedStep& step = *from.best;
    from.steps.erase(std::ranges::find(from.steps, &step));
    from.best = nullptr;
    from.is_known = false;
    --size_;
    return step;
}

ReorderWindow::Queue& ReorderWindow::earliest() {
    Queue* first = nullptr;
    for (Queue& queue : queues_) {
        const bool is_first =
            !queue.steps.empty() &&
            (first == nullptr || queue.steps.front()->order < first->steps.front()->order);
        first = is_first ? &queue : first;
    }
    first->best = first->steps.front();
    return *first;
}

void ReorderWindow::retire(PlannedStep& step) {
    for (const ResolvedOperand& operand : step.operands) {
        if (PendingAccesses* pending = operand.pending()) {
            pending->remove(step);
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
            step->has_ready = false;
        }
    }
}

}  // namespace trnsim::lowering
