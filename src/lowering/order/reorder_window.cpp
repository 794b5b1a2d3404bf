// SPDX-License-Identifier: Apache-2.0
// List scheduling within a window.
#include "trnsim/lowering/order/reorder_window.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <span>
#include <utility>

namespace trnsim::lowering {

using neuron_core::QueueId;

namespace {

/// \pre it is there; usually near the front
void erase(RingBuffer<PlannedStep*>& steps, const PlannedStep& step) {
    std::size_t place = 0;
    while (steps[place] != &step) {
        ++place;
    }
    steps.erase(place);
}

/// Keeps program order; usually at the end.
void insert(RingBuffer<PlannedStep*>& steps, PlannedStep& step) {
    const auto is_earlier = [&step](const PlannedStep* other) { return other->order < step.order; };
    const bool is_last = steps.empty() || is_earlier(steps.back());
    steps.insert(is_last ? steps.size() : steps.partition_point(is_earlier), &step);
}

}  // namespace

ReorderWindow::ReorderWindow(const Reach& reach,
                             std::size_t capacity,
                             const TimeEstimate& estimate,
                             const TilePlaces& places)
    : estimate_(estimate), places_(places), capacity_(capacity) {
    std::ranges::copy(reach, reach_.begin());
}

PlannedStep& ReorderWindow::blank() {
    if (blanks_.empty()) {
        make_blanks();
    }
    PlannedStep& step = *blanks_.back();
    blanks_.pop_back();
    step.clear();
    return step;
}

void ReorderWindow::make_blanks() {
    auto& made = *storage_.emplace_back(std::make_unique<std::array<PlannedStep, kAtOnce>>());
    for (std::size_t i = kAtOnce; i > 0; --i) {
        blanks_.push_back(&made[i - 1]);
    }
}

void ReorderWindow::admit(PlannedStep& step) {
    step.order = admitted_++;
    ++size_;
    Queue& queue = queues_[step.queue];
    if (reorders()) {
        block(step);
        keep_in_order(step, queue);
        keep_trigger_in_order(step);
    }
    queue.steps.push_back(&step);
    occupied_ |= 1U << step.queue;
    if (step.blockers == 0) {
        queue.unblock(step, reach_[step.queue]);
    }
}

inline void ReorderWindow::come_after(PlannedStep& step, PlannedStep& earlier) {
    const bool is_new = earlier.blocked == nullptr || earlier.blocked->step != &step;
    if (is_new && &earlier != &step) {
        PlannedStep::Link* link = unused_links_ != nullptr ? unused_links_ : &links_.emplace_back();
        unused_links_ = link->next;
        *link = {.step = &step, .next = earlier.blocked};
        earlier.blocked = link;
        ++step.blockers;
    }
}

void ReorderWindow::come_after_all(PlannedStep& step, const Steps& steps) {
    for (std::size_t place = steps.size(); place > 0; --place) {
        come_after(step, *steps[place - 1]);
        if (steps[place - 1]->is_in_order) {
            return;
        }
    }
}

void ReorderWindow::block(PlannedStep& step) {
    const auto comes_after = [this, &step](PlannedStep& earlier) { come_after(step, earlier); };
    for (const ResolvedOperand& operand : step.operands) {
        operand.for_each_before(comes_after);
        operand.announce(step);
    }
    for (const ProducerExecution* producer : step.depends_on) {
        if (producer->step != nullptr) {
            come_after(step, *producer->step);
        }
    }
}

void ReorderWindow::Lacks::add(const Obstacle& lack) {
    for (std::size_t i = 0; i < std::min(size_, kKept); ++i) {
        if (kept_[i].count == lack.count) {
            kept_[i].until = std::min(kept_[i].until, lack.until);
            return;
        }
    }
    if (size_ < kKept) {
        kept_[size_] = lack;
    }
    ++size_;
}

bool ReorderWindow::Lacks::stand() const {
    const std::span<const Obstacle> kept = std::span(kept_).first(std::min(size_, kKept));
    return size_ <= kKept && std::ranges::all_of(kept, &Obstacle::stands);
}

std::uint64_t ReorderWindow::Queue::farthest(std::size_t reach) const {
    return steps.size() <= reach ? steps.back()->order : steps[reach - 1]->order;
}

void ReorderWindow::Queue::unblock(PlannedStep& step, std::size_t reach) {
    insert(ready, step);
    __builtin_prefetch(step.operands.data());
    const bool is_beaten = best != nullptr && start == free_at && best->order < step.order;
    is_known = is_known && (is_beaten || step.order > farthest(reach));
}

void ReorderWindow::keep_in_order(PlannedStep& step, Queue& queue) {
    if (step.is_in_order) {
        come_after_all(step, queue.steps);
        come_after_all(step, queue.triggers);
        queue.last_in_order = &step;
    } else if (queue.last_in_order != nullptr) {
        come_after(step, *queue.last_in_order);
    }
}

void ReorderWindow::keep_trigger_in_order(PlannedStep& step) {
    const QueueId id = step.trigger.value_or(step.queue);
    Queue& engine = queues_[id];
    if (reach_[id] == 1 && !engine.triggers.empty()) {
        come_after(step, *engine.triggers.back());
    }
    if (!step.trigger) {
        return;
    }
    if (reach_[id] == 1 && !engine.steps.empty()) {
        come_after(step, *engine.steps.back());
    }
    keep_in_order(step, engine);
    engine.triggers.push_back(&step);
}

bool ReorderWindow::has_bytes(PlannedStep& step) const {
    step.lack = places_.obstacle(step);
    return !step.lack.stands();
}

PlannedStep::Conditions& ReorderWindow::blank_conditions() {
    if (unused_conditions_.empty()) {
        return conditions_.emplace_back();
    }
    PlannedStep::Conditions& conditions = *unused_conditions_.back();
    unused_conditions_.pop_back();
    return conditions;
}

void ReorderWindow::settle(PlannedStep& step) {
    if (step.has_waits) {
        return;
    }
    if (step.when == nullptr) {
        step.when = &blank_conditions();
    }
    step.find_waits(places_);
    if (reorders()) {
        auto& [own, load] = *step.when;
        step.met = own.met = estimate_.met(step.queue, own.waits);
        if (step.has_load) {
            load.met = estimate_.met(step.queue, load.waits);
            step.met = std::max(step.met, load.met);
        }
        if (step.trigger) {
            step.met = std::max(step.met, estimate_.free_at(*step.trigger));
        }
    }
}

void ReorderWindow::choose(Queue& queue, QueueId id) {
    queue.free_at = estimate_.free_at(id);
    queue.is_known = true;
    queue.best = nullptr;
    queue.lacks.clear();
    short_of_bytes_ &= ~(1U << id);
    const std::uint64_t farthest = queue.farthest(reach_[id]);
    for (std::size_t i = 0; i < queue.ready.size(); ++i) {
        PlannedStep& step = *queue.ready[i];
        if (step.order > farthest) {
            return;
        }
        if (!step.has_waits) {  // Else there were bytes, and they are kept for it.
            if (step.lack.stands() || !has_bytes(step)) {
                queue.lacks.add(step.lack);
                short_of_bytes_ |= 1U << id;
                continue;
            }
            settle(step);
        }
        const Picoseconds start = std::max(queue.free_at, step.met);
        if (queue.best == nullptr || start < queue.start) {
            queue.best = &step;
            queue.start = start;
            if (start == queue.free_at) {
                return;
            }
        }
    }
}

ReorderWindow::Queue* ReorderWindow::first_to_start() {
    Queue* first = nullptr;
    for (std::uint32_t left = occupied_; left != 0; left &= left - 1) {
        const auto id = static_cast<QueueId>(std::countr_zero(left));
        Queue& queue = queues_[id];
        const bool is_doubtful = (doubtful_ >> id & 1U) != 0 && !queue.lacks.stand();
        if (!queue.is_known || is_doubtful || queue.free_at != estimate_.free_at(id)) {
            choose(queue, id);
        }
        if (queue.best == nullptr) {
            continue;
        }
        if (first == nullptr || queue.start < first->start ||
            (queue.start == first->start && queue.best->order < first->best->order)) {
            first = &queue;
        }
    }
    doubtful_ = 0;
    return first;
}

PlannedStep& ReorderWindow::take() {
    assert(size_ > 0);
    if (!reorders()) {
        return take_best(earliest());
    }
    Queue* first = first_to_start();
    // Another step may have taken them, unless they are kept for this one.
    while (first != nullptr && !first->best->has_waits && !has_bytes(*first->best)) {
        first->is_known = false;
        first = first_to_start();
    }
    return take_best(first != nullptr ? *first : earliest());
}

PlannedStep& ReorderWindow::take_best(Queue& queue) {
    PlannedStep& step = *queue.best;
    ++queue.order.steps;
    queue.order.early += queue.steps.front() != &step ? 1 : 0;
    erase(queue.steps, step);
    erase(queue.ready, step);
    if (queue.steps.empty()) {
        occupied_ &= ~(1U << step.queue);
    }
    queue.best = nullptr;
    queue.is_known = false;
    --size_;
    return step;
}

ReorderWindow::Queue& ReorderWindow::earliest() {
    Queue* first = nullptr;
    for (std::uint32_t left = occupied_; left != 0; left &= left - 1) {
        Queue& queue = queues_[static_cast<std::size_t>(std::countr_zero(left))];
        queue.best = queue.steps.front();
        if (first == nullptr || queue.best->order < first->best->order) {
            first = &queue;
        }
        queue.is_known = false;
    }
    return *first;
}

void ReorderWindow::retire(PlannedStep& step) {
    if (reorders()) {
        leave(step, queues_[step.queue]);
        if (step.trigger) {
            erase(queues_[*step.trigger].triggers, step);
            leave(step, queues_[*step.trigger]);
        }
        for (const ResolvedOperand& operand : step.operands) {
            operand.withdraw(step);
        }
    }
    while (PlannedStep::Link* link = step.blocked) {
        PlannedStep& later = *link->step;
        if (--later.blockers == 0) {
            queues_[later.queue].unblock(later, reach_[later.queue]);
        }
        step.blocked = link->next;
        link->next = unused_links_;
        unused_links_ = link;
    }
    if (step.when != nullptr) {
        unused_conditions_.push_back(std::exchange(step.when, nullptr));
    }
    blanks_.push_back(&step);
}

void ReorderWindow::leave(const PlannedStep& step, Queue& queue) {
    if (queue.last_in_order == &step) {
        queue.last_in_order = nullptr;
    }
}

void ReorderWindow::look_again() {
    doubtful_ |= short_of_bytes_;
}

void ReorderWindow::forget_estimates() {
    for (Queue& queue : queues_) {
        queue.is_known = false;
        for (std::size_t i = 0; i < queue.ready.size(); ++i) {  // No others were looked at.
            queue.ready[i]->forget_waits();
        }
    }
}

}  // namespace trnsim::lowering
