// SPDX-License-Identifier: Apache-2.0
// Gaps in order of address.
#include "trnsim/lowering/tiles/free_bytes.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace trnsim::lowering {

FreeBytes::Gaps::const_iterator FreeBytes::first_behind(std::int64_t address) const {
    return std::ranges::upper_bound(gaps_, address, {}, &Gap::end);
}

std::int64_t FreeBytes::aligned(std::int64_t address, std::int64_t bytes) const {
    if (bank_bytes_ == 0) {
        return address;
    }
    const std::int64_t into_bank = address % bank_bytes_;
    const bool fits = into_bank == 0 || into_bank + bytes <= bank_bytes_;
    return fits ? address : address + bank_bytes_ - into_bank;
}

bool FreeBytes::look_for(std::int64_t bytes) const {
    const bool is_found = std::ranges::any_of(
        gaps_, [&](const Gap& gap) { return gap.end - aligned(gap.begin, bytes) >= bytes; });
    (is_found ? fits_ : fits_not_) = bytes;
    return is_found;
}

std::optional<std::int64_t> FreeBytes::find(std::int64_t start, std::int64_t bytes) const {
    const auto from = first_behind(start);
    for (auto gap = from; gap != gaps_.end(); ++gap) {
        const std::int64_t address = aligned(std::max(gap->begin, start), bytes);
        if (gap->end - address >= bytes) {
            return address;
        }
    }
    for (auto gap = gaps_.begin(); gap != gaps_.end() && gap->begin < start; ++gap) {
        const std::int64_t address = aligned(gap->begin, bytes);
        if (gap->end - address >= bytes) {
            return address;
        }
    }
    return std::nullopt;
}

void FreeBytes::take(std::int64_t begin, std::int64_t end) {
    const auto gap = gaps_.begin() + (first_behind(begin) - gaps_.cbegin());
    assert(gap != gaps_.end() && gap->begin <= begin && end <= gap->end);
    const Gap rest{.begin = end, .end = gap->end};
    gap->end = begin;
    if (gap->begin == gap->end && rest.begin == rest.end) {
        gaps_.erase(gap);
    } else if (gap->begin == gap->end) {
        *gap = rest;
    } else if (rest.begin < rest.end) {
        gaps_.insert(std::next(gap), rest);
    }
    fits_ = 0;
}

void FreeBytes::give_back(std::int64_t begin, std::int64_t end) {
    auto behind = gaps_.begin() + (first_behind(begin) - gaps_.cbegin());
    assert(behind == gaps_.end() || end <= behind->begin);
    const bool meets_behind = behind != gaps_.end() && behind->begin == end;
    const bool meets_before = behind != gaps_.begin() && std::prev(behind)->end == begin;
    const std::int64_t first = meets_before ? std::prev(behind)->begin : begin;
    const std::int64_t last = meets_behind ? behind->end : end;
    if (meets_before && meets_behind) {
        std::prev(behind)->end = behind->end;
        gaps_.erase(behind);
    } else if (meets_before) {
        std::prev(behind)->end = end;
    } else if (meets_behind) {
        behind->begin = begin;
    } else {
        gaps_.insert(behind, {.begin = begin, .end = end});
    }
    if (last - first >= fits_not_) {
        fits_not_ = std::numeric_limits<std::int64_t>::max();
        ++growths_;
    }
}

}  // namespace trnsim::lowering
