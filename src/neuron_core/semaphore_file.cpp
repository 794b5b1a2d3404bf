// SPDX-License-Identifier: Apache-2.0
// Semaphores as counters with announced updates in time order.
#include "trnsim/neuron_core/semaphore_file.hpp"

#include "trnsim/neuron_core/simulated_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace trnsim::neuron_core {
namespace {

/// Updates older than this are folded away; beyond any wake-up time.
constexpr Picoseconds kKeep{1'000'000};
constexpr std::size_t kSettleAbove = 32;

}  // namespace

SemaphoreFile::SemaphoreFile(const sc_core::sc_module_name& name, const SemaphoreFileSpec& spec)
    : sc_module(name), spec_(spec), counters_(static_cast<std::size_t>(spec.count)) {}

SemaphoreFile::Answer SemaphoreFile::when(int semaphore, std::int64_t value) const {
    const Counter& counter = counters_[static_cast<std::size_t>(semaphore)];
    if (value <= counter.settled) {
        return {.is_known = true, .update = nullptr};
    }
    if (counter.updates.empty() || counter.updates.back().value_after < value) {
        return {};
    }
    const auto guess = static_cast<std::size_t>(value - counter.settled - 1);
    if (guess < counter.updates.size() && counter.updates[guess].value_after == value) {
        return {.is_known = true, .update = &counter.updates[guess]};
    }
    std::size_t low = 0;
    std::size_t high = counter.updates.size() - 1;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (counter.updates[middle].value_after >= value) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return {.is_known = true, .update = &counter.updates[low]};
}

void SemaphoreFile::await(int semaphore, std::int64_t value, SemaphoreWaiter& waiter) {
    counters_[static_cast<std::size_t>(semaphore)].awaited.push_back(
        {.value = value, .by = &waiter});
}

void SemaphoreFile::signal(int semaphore,
                           std::int64_t add,
                           Picoseconds at,
                           const Producer& producer) {
    Counter& counter = counters_[static_cast<std::size_t>(semaphore)];
    assert(at >= present(*this));
    std::size_t position = counter.updates.size();
    while (position > 0 && counter.updates[position - 1].at > at) {
        --position;
    }
    const std::int64_t before =
        position == 0 ? counter.settled : counter.updates[position - 1].value_after;
    const bool is_last = position == counter.updates.size();
    if (is_last) {
        Update& update = counter.updates.append();
        update.at = at;
        update.value_after = before + add;
        update.producer.queue = producer.queue;
        update.producer.sequence = producer.sequence;
        update.producer.what = producer.what;
    } else {
        counter.updates.insert(position,
                               {.at = at, .value_after = before + add, .producer = producer});
        put_forward(counter, position + 1, add);
    }
    settle(counter);
    if (!counter.awaited.empty()) {
        tell_waiters(counter);
    }
}

void SemaphoreFile::put_forward(Counter& counter, std::size_t position, std::int64_t add) {
    for (; position < counter.updates.size(); ++position) {
        counter.updates[position].value_after += add;
    }
    for (SemaphoreWaiter* queue : queues_) {
        queue->revised();
    }
}

std::string SemaphoreFile::describe(int semaphore, const TemplateNames& names) const {
    const Counter& counter = counters_[static_cast<std::size_t>(semaphore)];
    if (counter.updates.empty()) {
        return fmt::format("value {}, never raised", counter.settled);
    }
    const Update& last = counter.updates.back();
    return fmt::format("value {}, last raised by {} at {:.3f} us",
                       last.value_after,
                       names.line(*last.producer.what),
                       last.at.microseconds());
}

void SemaphoreFile::settle(Counter& counter) const {
    if (counter.updates.size() <= kSettleAbove) {
        return;
    }
    const Picoseconds horizon = present(*this) - kKeep;
    while (counter.updates.size() > 1 && counter.updates.front().at < horizon) {
        counter.settled = counter.updates.front().value_after;
        counter.updates.pop_front();
    }
}

void SemaphoreFile::tell_waiters(Counter& counter) {
    const std::int64_t value = counter.updates.back().value_after;
    for (std::size_t i = 0; i < counter.awaited.size();) {
        const Awaited awaited = counter.awaited[i];
        if (awaited.value > value) {
            ++i;
            continue;
        }
        counter.awaited.erase(counter.awaited.begin() + static_cast<std::ptrdiff_t>(i));
        awaited.by->announced();
    }
}

}  // namespace trnsim::neuron_core
