// SPDX-License-Identifier: Apache-2.0
// Vector clocks from semaphores.
#include "trnsim/lowering/checks/race_detector.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace trnsim::lowering {
namespace {

using neuron_core::QueueId;

/// Accesses of a block of bytes that are kept apart: all, since merged ones prove no race.
constexpr std::size_t kAllAccesses = std::numeric_limits<std::size_t>::max();

/// What one knows and the other.
void learn(WaitSet::Need& known, const WaitSet::Need& more) {
    known.done = std::max(known.done, more.done);
    known.read = std::max(known.read, more.read);
}

std::string place_of(const Region& region, Space space) {
    std::string bytes = fmt::format("bytes {} to {} of ", region.begin(), region.end() - 1);
    return space == Space::Hbm ? bytes + "HBM"
                               : fmt::format("{}partitions {} to {} of {}",
                                             bytes,
                                             region.partition(),
                                             region.end_partition() - 1,
                                             space == Space::Psum ? "PSUM" : "SBUF");
}

std::string queue_name(QueueId queue) {
    if (queue < neuron_core::kEngineQueues) {
        return fmt::format("{} engine", name(static_cast<Engine>(queue)));
    }
    return fmt::format("DMA ring {}", queue - neuron_core::kEngineQueues);
}

}  // namespace

void RaceDetector::add_total(QueueId queue, int semaphore, std::int64_t amount) {
    semaphores_[semaphore].total += amount;
    semaphores_[semaphore].by_queue[queue].total += amount;
}

void RaceDetector::expect(QueueId queue, Entry entry) {
    entries_[queue].push_back(std::move(entry));
}

void RaceDetector::learn(Clock& clock, const neuron_core::SemaphoreWait& wait) const {
    const auto found = semaphores_.find(static_cast<int>(wait.semaphore));
    if (found == semaphores_.end()) {
        return;
    }
    const Semaphore& semaphore = found->second;
    for (const auto& [queue, updates] : semaphore.by_queue) {
        const std::int64_t others = semaphore.total - updates.total;
        const std::int64_t certain = static_cast<std::int64_t>(wait.at_least) - others;
        if (certain <= 0 || updates.kept.empty()) {
            continue;
        }
        // The latest that must have come: what a queue knows and has done only grows.
        const std::size_t reaching = updates.kept.partition_point(
            [certain](const Updates::Update& update) { return update.sum < certain; });
        const Updates::Update& latest = updates.kept[std::min(reaching, updates.kept.size() - 1)];
        for (std::size_t other = 0; other < clock.size(); ++other) {
            lowering::learn(clock[other], latest.clock[other]);
        }
        lowering::learn(clock[queue], latest.over);
    }
}

std::string RaceDetector::name_of(QueueId queue, std::uint64_t number) const {
    const RingBuffer<std::string>& names = names_[queue];
    const std::uint64_t age = numbers_[queue] - number;
    const std::string text =
        age < names.size() ? names[names.size() - 1 - age] : std::string("an earlier instruction");
    return fmt::format("{} (number {} of the {})", text, number, queue_name(queue));
}

void RaceDetector::check(QueueId queue,
                         const Entry& entry,
                         const RegionAccess& access,
                         Space space,
                         MemoryHistory& memory) {
    WaitSet needs;
    memory.collect(access, needs);
    const Clock& clock = clocks_[queue];
    for (std::uint32_t left = needs.queues(); left != 0; left &= left - 1) {
        const auto other = static_cast<QueueId>(std::countr_zero(left));
        const WaitSet::Need need = needs[other];
        const bool is_over = need.done <= clock[other].done &&
                             need.read <= std::max(clock[other].read, clock[other].done);
        if (other == queue || is_over) {
            continue;
        }
        throw ProgramError(
            fmt::format("race: {} on the {} {} {}, which {} touches too, and no "
                        "semaphore orders the two; wait for it",
                        entry.text,
                        queue_name(queue),
                        access.access == Access::Read ? "reads" : "writes",
                        place_of(access.region, space),
                        name_of(other, std::max(need.done, need.read))));
    }
}

void RaceDetector::announce(QueueId queue, std::uint64_t number, const Entry& entry) {
    for (const neuron_core::SemaphoreSignal& signal : entry.signals) {
        Updates& updates = semaphores_[signal.semaphore].by_queue[queue];
        updates.announced += signal.add;
        WaitSet::Need over = updates.kept.empty() ? WaitSet::Need{} : updates.kept.back().over;
        (signal.at_read ? over.read : over.done) = number;
        updates.kept.push_back({.sum = updates.announced, .over = over, .clock = clocks_[queue]});
        if (updates.kept.size() > kKeptUpdates) {
            updates.kept.pop_front();
        }
    }
}

void RaceDetector::started(QueueId queue, std::uint64_t sequence) {
    const Entry entry = std::move(entries_[queue].front());
    entries_[queue].pop_front();
    const std::uint64_t number = sequence + 1;
    for (const neuron_core::SemaphoreWait& wait : entry.waits) {
        learn(clocks_[queue], wait);
    }
    for (std::size_t i = 0; i < entry.accesses.size(); ++i) {
        MemoryHistory& memory = memories_[static_cast<std::size_t>(entry.spaces[i])];
        RegionAccess access = entry.accesses[i];
        access.queue = queue;
        access.number = number;
        check(queue, entry, access, entry.spaces[i], memory);
        memory.record(access, kAllAccesses);
    }
    numbers_[queue] = number;
    names_[queue].push_back(entry.text);
    if (names_[queue].size() > kKeptNames) {
        names_[queue].pop_front();
    }
    announce(queue, number, entry);
}

}  // namespace trnsim::lowering
