// SPDX-License-Identifier: Apache-2.0
// Finds the name that was probably meant, by edit distance.
#include "nearest_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace trnsim::spec {
namespace {

constexpr std::size_t kQuotedMax = 60;
constexpr std::size_t kListedMax = 8;

/// Insertions, deletions and substitutions from `a` to `b`.
std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i] == b[j] ? 0U : 1U);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
        }
    }
    return row.back();
}

}  // namespace

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
    const std::string_view start = name.substr(0, kQuotedMax);
    std::size_t least = std::max<std::size_t>(3, start.size() / 3) + 1;
    const std::string* nearest = nullptr;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edits(start, candidate);
        if (distance < least) {
            least = distance;
            nearest = &candidate;
        }
    }
    if (nearest != nullptr) {
        return fmt::format("; did you mean {}?", in_quotes(*nearest));
    }
    return "; allowed are" + listed(candidates);
}

std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (std::size_t i = 0; i < std::min(kListedMax, names.size()); ++i) {
        list += (i == 0 ? " " : ", ") + in_quotes(names[i]);
    }
    return names.size() > kListedMax ? list + ", ..." : list;
}

std::string in_quotes(std::string_view text) {
    std::string result = "\"";
    for (const char c : text.substr(0, kQuotedMax)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20U || byte == 0x7fU) {
            result += fmt::format("\\x{:02x}", byte);
        } else {
            result += c;
        }
    }
    return result + (text.size() > kQuotedMax ? "\"..." : "\"");
}

}  // namespace trnsim::spec
