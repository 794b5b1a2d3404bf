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

const CriticalPath::Record* CriticalPath::find(QueueId queue, std::uint64_t sequence) const {
    const History& history = histories_[queue];
    if (history.empty()) {
        return nullptr;
    }
    const Record& record = history[sequence % kHistory];
    return record.is_set && record.sequence == sequence ? &record : nullptr;
}

void CriticalPath::started(
    QueueId queue, std::uint64_t sequence, Kind kind, Picoseconds start, const Hold& hold) {
    if (chains_.is_full()) {
        settle();
    }
    History& history = histories_[queue];
    if (history.empty()) {
        history.resize(kHistory);
    }
    const Record* previous = nullptr;
    Picoseconds since = hold.since;
    if (hold.producer_queue) {
        previous = find(*hold.producer_queue, hold.producer_sequence);
    }
    if (previous == nullptr) {
        previous = sequence > 0 ? find(queue, hold.predecessor) : nullptr;
        since = start - hold.refused - hold.kept;
    }
    ChainSums::Place chain = ChainSums::kNothing;
    if (previous != nullptr) {
        const Picoseconds wakeup = start - since - hold.refused - hold.kept;
        const Kind refuser = queue < kEngineQueues ? kPort : kRing;
        chain = chains_.add(previous->chain,
                            {.values = {(since - previous->start).value,
                                        wakeup.value,
                                        hold.refused.value,
                                        hold.kept.value},
                             .to = {previous->kind, kSemaphore, refuser, kCores}});
    } else {
        const Picoseconds launch = std::min(start, kernel_start_);
        const Picoseconds kept = std::min(start - launch, hold.kept);
        const Picoseconds rest = start - launch - kept;
        chain = chains_.add(ChainSums::kNothing,
                            {.values = {launch.value, kept.value, rest.value, 0},
                             .to = {kKernelStart, kCores, kind, kind}});
    }
    history[sequence % kHistory] = {
        .sequence = sequence, .start = start, .chain = chain, .kind = kind, .is_set = true};
}

void CriticalPath::settle() {
    std::vector<ChainSums::Place*> kept;
    for (History& history : histories_) {
        for (Record& record : history) {
            if (record.is_set) {
                kept.push_back(&record.chain);
            }
        }
    }
    chains_.settle(kept, names_.size());
}

std::vector<std::pair<std::string, Picoseconds>> CriticalPath::chain(QueueId queue,
                                                                     std::uint64_t sequence,
                                                                     Picoseconds done) const {
    std::vector<std::pair<std::string, Picoseconds>> result;
    const Record* record = find(queue, sequence);
    if (record == nullptr) {
        return result;
    }
    const std::vector<std::int64_t> sums = chains_.along(record->chain, names_.size());
    for (std::size_t kind = 0; kind < sums.size(); ++kind) {
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
