// SPDX-License-Identifier: Apache-2.0
// A run with what it was and what its numbers mean: the source of every text and file about it.
#include "trnsim/report/report.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace trnsim::report {
namespace {

[[maybe_unused]] bool sums_to(const EngineResult& engine, Picoseconds total) {
    return std::accumulate(
               engine.waiting.begin(), engine.waiting.end(), engine.active + engine.idle) == total;
}

}  // namespace

Report make_report(Subject subject, RunResult result) {
    assert(std::all_of(result.engines.begin(), result.engines.end(), [&result](const auto& entry) {
        return sums_to(entry.second, result.total);
    }));
    Report report;
    report.peaks = peaks(subject.chip.spec);
    report.summary =
        summarize(result, report.peaks, subject.chip.spec.accuracy.of(subject.header.api));
    report.roofline = roofline(result, report.peaks);
    report.subject = std::move(subject);
    report.result = std::move(result);
    return report;
}

std::vector<std::pair<std::string, std::string>> overrides(const spec::ChipConfig& chip) {
    std::vector<std::pair<std::string, std::string>> changed;
    for (const spec::ChipConfig::Leaf& leaf : chip.leaves) {
        if (leaf.source == "set by the user") {
            changed.emplace_back(leaf.path, leaf.value);
        }
    }
    return changed;
}

std::vector<std::pair<std::string, std::string>> changed_policies(const Subject& subject) {
    const auto defaults = describe(lowering::default_policies(subject.header.api));
    std::vector<std::pair<std::string, std::string>> changed;
    for (auto& policy : describe(subject.policies)) {
        if (std::find(defaults.begin(), defaults.end(), policy) == defaults.end()) {
            changed.push_back(std::move(policy));
        }
    }
    return changed;
}

}  // namespace trnsim::report
