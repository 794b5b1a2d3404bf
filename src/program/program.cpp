// SPDX-License-Identifier: Apache-2.0
// Sizes of buffers, and source positions as text.
#include "trnsim/program/program.hpp"

#include <functional>
#include <numeric>

namespace trnsim::program {

std::int64_t Buffer::partitions() const {
    return space == Space::Hbm ? 1 : shape.front();
}

std::int64_t Buffer::free_elements() const {
    const auto first = space == Space::Hbm ? shape.begin() : shape.begin() + 1;
    return std::accumulate(first, shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Buffer::free_bytes() const {
    return free_elements() * size_bytes(dtype);
}

std::string Program::source_text(const std::vector<SourceFrame>& source) const {
    if (source.empty()) {
        return "?";
    }
    return files[source.front().file] + ":" + std::to_string(source.front().line);
}

}  // namespace trnsim::program
