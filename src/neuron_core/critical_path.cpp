// SPDX-License-Identifier: Apache-2.0
// Chains of holds, summed by kind.
#include "trnsim/neuron_core/critical_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trnsim::neuron_core {
namespace {

constexpr CriticalPath::Kind kKernelStart = 0;
constexpr CriticalPath::Kind kSemaphore = 1;
constexpr CriticalPath::Kind kPort = 2;
constexpr CriticalPath::Kind kRing = 3;
constexpr CriticalPath::Kind kCores = 4;
constexpr CriticalPath::Kind kFirstEngine = 5;  ///< "other tensor", "other vector", …
constexpr int kEngines = 6;

}  // namespace

CriticalPath::CriticalPath() {
    names_.emplace_back("kernel start");
    names_.emplace_back("semaphore wake-up");
    names_.emplace_back(kPortName);
    names_.emplace_back(kRingName);
    names_.emplace_back(kCoresName);
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

void CriticalPath::History::make_room(std::size_t kinds) {
    constexpr std::size_t kMore = 8;
    if (kinds <= room) {
        return;
    }
    records.resize(kHistory);
    History larger{.room = (kinds / kMore + 1) * kMore};
    const std::size_t places = kHistory * larger.room;
    // NOLINTNEXTLINE(modernize-avoid-c-arrays)
    larger.sums = std::make_unique_for_overwrite<std::int64_t[]>(places);
    for (std::size_t place = 0; place < kHistory; ++place) {
        std::copy_n(sums_of(place), records[place].kinds, larger.sums_of(place));
    }
    sums = std::move(larger.sums);
    room = larger.room;
}

const CriticalPath::Record* CriticalPath::find(QueueId queue, std::uint64_t sequence) const {
    const std::vector<Record>& records = histories_[queue].records;
    if (records.empty()) {
        return nullptr;
    }
    const Record& record = records[sequence % kHistory];
    return record.is_set && record.sequence == sequence ? &record : nullptr;
}

void CriticalPath::started(
    QueueId queue, std::uint64_t sequence, Kind kind, Picoseconds start, const Hold& hold) {
    History& history = histories_[queue];
    history.make_room(names_.size());
    std::int64_t* sums = history.sums_of(sequence);
    const Record* previous = nullptr;
    const std::int64_t* sums_before = nullptr;
    Picoseconds since = hold.since;
    if (hold.producer_queue) {
        previous = find(*hold.producer_queue, hold.producer_sequence);
        sums_before = histories_[*hold.producer_queue].sums_of(hold.producer_sequence);
    }
    if (previous == nullptr) {
        previous = sequence > 0 ? find(queue, hold.predecessor) : nullptr;
        sums_before = history.sums_of(hold.predecessor);
        since = start - hold.refused - hold.kept;
    }
    const std::size_t known = previous != nullptr ? previous->kinds : 0;
    if (sums_before != sums) {
        std::copy_n(sums_before, known, sums);
    }
    std::fill(sums + known, sums + names_.size(), 0);
    if (previous != nullptr) {
        sums[previous->kind] += (since - previous->start).value;
        sums[kSemaphore] += (start - since - hold.refused - hold.kept).value;
        sums[queue < kEngineQueues ? kPort : kRing] += hold.refused.value;
        sums[kCores] += hold.kept.value;
    } else {
        const Picoseconds launch = std::min(start, kernel_start_);
        const Picoseconds kept = std::min(start - launch, hold.kept);
        sums[kKernelStart] = launch.value;
        sums[kCores] = kept.value;
        sums[kind] += (start - launch - kept).value;
    }
    history.records[sequence % kHistory] = {.sequence = sequence,
                                            .start = start,
                                            .kind = kind,
                                            .is_set = true,
                                            .kinds = static_cast<std::uint8_t>(names_.size())};
}

std::vector<std::pair<std::string, Picoseconds>> CriticalPath::chain(QueueId queue,
                                                                     std::uint64_t sequence,
                                                                     Picoseconds done) const {
    std::vector<std::pair<std::string, Picoseconds>> result;
    const Record* record = find(queue, sequence);
    if (record == nullptr) {
        return result;
    }
    const std::int64_t* sums = histories_[queue].sums_of(sequence);
    for (std::size_t kind = 0; kind < record->kinds; ++kind) {
        const Picoseconds own = kind == record->kind ? done - record->start : Picoseconds{};
        if (const Picoseconds time = Picoseconds{sums[kind]} + own; time != Picoseconds{}) {
            result.emplace_back(names_[kind], time);
        }
    }
    std::ranges::stable_sort(
        result, std::ranges::greater{}, [](const auto& entry) { return entry.second; });
    return result;
}

}  // namespace trnsim::neuron_core
