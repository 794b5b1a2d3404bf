// SPDX-License-Identifier: Apache-2.0
// Chains of holds, summed by kind.
#include "trnsim/neuron_core/critical_path.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trnsim::neuron_core {
namespace {

constexpr CriticalPath::Kind kKernelStart = 0;
constexpr CriticalPath::Kind kSemaphore = 1;
constexpr CriticalPath::Kind kFirstEngine = 2;  ///< "other tensor", "other vector", …
constexpr int kEngines = 6;

}  // namespace

CriticalPath::CriticalPath() {
    names_.emplace_back("kernel start");
    names_.emplace_back("semaphore wake-up");
    for (int engine = 0; engine < kEngines; ++engine) {
        names_.push_back(fmt::format("other ({})", name(static_cast<Engine>(engine))));
    }
}

CriticalPath::Kind CriticalPath::kind_of(const std::string& text, Engine engine) {
    const auto found = std::ranges::find(names_, text);
    if (found != names_.end()) {
        return static_cast<Kind>(found - names_.begin());
    }
    if (names_.size() < kKinds) {
        names_.push_back(text);
        return static_cast<Kind>(names_.size() - 1);
    }
    return static_cast<Kind>(kFirstEngine + static_cast<int>(engine));
}

const CriticalPath::Record* CriticalPath::find(QueueId queue, std::uint64_t sequence) const {
    if (records_[queue].empty()) {
        return nullptr;
    }
    const Record& record = records_[queue][sequence % kHistory];
    return record.is_set && record.sequence == sequence ? &record : nullptr;
}

void CriticalPath::started(
    QueueId queue, std::uint64_t sequence, Kind kind, Picoseconds start, const Hold& hold) {
    if (records_[queue].empty()) {
        records_[queue].resize(kHistory);
    }
    Record& record = records_[queue][sequence % kHistory];
    const Record* previous = nullptr;
    Picoseconds since = hold.since;
    if (hold.producer_queue) {
        previous = find(*hold.producer_queue, hold.producer_sequence);
    }
    if (previous == nullptr) {
        previous = sequence > 0 ? find(queue, hold.predecessor) : nullptr;
        since = start;
    }
    if (previous != nullptr) {
        const std::int64_t held = (since - previous->start).value;
        const Kind held_kind = previous->kind;
        record.sums = previous->sums;
        record.sums.resize(names_.size());
        record.sums[held_kind] += held;
        record.sums[kSemaphore] += (start - since).value;
    } else {
        const Picoseconds launch = std::min(start, kernel_start_);
        record.sums.assign(names_.size(), 0);
        record.sums[kKernelStart] = launch.value;
        record.sums[kind] += (start - launch).value;
    }
    record.sequence = sequence;
    record.start = start;
    record.kind = kind;
    record.is_set = true;
}

std::vector<std::pair<std::string, Picoseconds>> CriticalPath::chain(QueueId queue,
                                                                     std::uint64_t sequence,
                                                                     Picoseconds done) const {
    std::vector<std::pair<std::string, Picoseconds>> result;
    const Record* record = find(queue, sequence);
    if (record == nullptr) {
        return result;
    }
    Sums sums = record->sums;
    sums.resize(names_.size());
    sums[record->kind] += (done - record->start).value;
    for (std::size_t kind = 0; kind < names_.size(); ++kind) {
        if (sums[kind] != 0) {
            result.emplace_back(names_[kind], Picoseconds{sums[kind]});
        }
    }
    std::ranges::stable_sort(
        result, std::ranges::greater{}, [](const auto& entry) { return entry.second; });
    return result;
}

}  // namespace trnsim::neuron_core
