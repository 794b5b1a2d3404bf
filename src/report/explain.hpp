// SPDX-License-Identifier: Apache-2.0
// Why a run took as long as it did, in sentences.
#pragma once

#include "trnsim/report/report.hpp"

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trnsim::report {

/// "nc_matmul (tensor)" of "? nc_matmul (tensor)": steps of a program without source lines.
[[nodiscard]] std::string_view without_unknown_source(std::string_view what);

/// The same with its folders as "…", "…/matmul.py:94 nc_matmul", and never wider than `width`: what
/// is cut is the front of the path, not the line number.
[[nodiscard]] std::string in_short(std::string_view what, std::size_t width);

/// The same, but in full if it fits.
[[nodiscard]] std::string in_full_or_short(std::string_view what, std::size_t width);

/// The lines of a run in short: of files that only their folders tell apart, with the folders.
class ShortLines {
public:
    explicit ShortLines(const RunResult& result);

    /// "…/matmul.py:94 nc_matmul", or "first/matmul.py:94 nc_matmul" beside "second/matmul.py".
    [[nodiscard]] std::string text(std::string_view what, std::size_t width) const;

private:
    std::set<std::string, std::less<>> names_;  ///< Of several files each.
};

/// "tensor engine", "HBM", "DMA", "latency".
[[nodiscard]] std::string title(Resource resource);

/// "a profiler's total_time": what the latency is like.
[[nodiscard]] std::string_view title(Method method);

/// "dma_rings=3 spilling=off".
[[nodiscard]] std::string assignments(
    const std::vector<std::pair<std::string, std::string>>& pairs);

/// Two lines: what bounds the run and how close it is to that bound; what keeps it from it.
[[nodiscard]] std::vector<std::string> explain_bound(const Report& report);

/// "HFU 21.4 %, …": how the PE array was used; says so if it was not.
[[nodiscard]] std::string explain_tensor_use(const Report& report);
/// "49.51 to 54.73 ms …": where the measured latency probably is, and why that is believed.
[[nodiscard]] std::string explain_accuracy(const Report& report);
[[nodiscard]] std::string explain_hbm(const Report& report);
[[nodiscard]] std::string explain_spills(const Report& report);
[[nodiscard]] std::string explain_dma(const Report& report);
[[nodiscard]] std::string explain_memories(const Report& report);

}  // namespace trnsim::report
