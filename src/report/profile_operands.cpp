// SPDX-License-Identifier: Apache-2.0
// The `operands` text of a profiled instruction.
#include "profile_operands.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace trnsim::report {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 40U;

/// The product of the numbers in "1,4,1,1"; nothing for anything else.
std::optional<std::int64_t> product(std::string_view list) {
    std::int64_t result = 1;
    while (true) {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), number);
        if (error != std::errc{} || number < 0 || number > kMostElements ||
            (result *= number) > kMostElements) {
            return std::nullopt;
        }
        list.remove_prefix(static_cast<std::size_t>(end - list.data()));
        if (list.empty()) {
            return result;
        }
        if (list.front() != ',') {
            return std::nullopt;
        }
        list.remove_prefix(1);
    }
}

/// The product of the counts of the next "[strides][counts]"; `text` goes on behind them.
std::optional<std::int64_t> next_counts(std::string_view& text) {
    const std::size_t between = text.find("][");
    if (between == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(between + 2);
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    const auto counts = product(text.substr(0, end));
    text.remove_prefix(end);
    return counts;
}

/// What follows "key=".
std::optional<std::string_view> value_of(std::string_view operands, std::string_view key) {
    std::size_t place = operands.find(key);
    while (place != std::string_view::npos) {
        const std::size_t end = place + key.size();
        const bool begins = place == 0 || operands[place - 1] == ' ';
        if (begins && end < operands.size() && operands[end] == '=') {
            return operands.substr(end + 1);
        }
        place = operands.find(key, end);
    }
    return std::nullopt;
}

}  // namespace

std::int64_t largest_operand(std::string_view operands) {
    std::int64_t most = 0;
    for (auto counts = next_counts(operands); counts; counts = next_counts(operands)) {
        most = std::max(most, *counts);
    }
    return most;
}

std::optional<Engine> engine_of_label(std::string_view label) {
    constexpr std::array<std::pair<std::string_view, Engine>, 6> kLabels{
        {{"Tensor", Engine::Tensor},
         {"TensorMatrix", Engine::Tensor},
         {"Vector", Engine::Vector},
         {"Scalar", Engine::Scalar},
         {"GpSimd", Engine::Gpsimd},
         {"Sync", Engine::Sync}}};
    const auto* const found =
        std::ranges::find(kLabels, label, [](const auto& l) { return l.first; });
    return found == kLabels.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Engine> waited_for(std::string_view operands) {
    std::size_t place = operands.find("S[");
    while (place != std::string_view::npos) {
        const std::string_view rest = operands.substr(place);
        const std::size_t open = rest.find("] (");
        const std::size_t close = rest.find(')');
        const bool is_complete =
            open != std::string_view::npos && close != std::string_view::npos && open < close;
        if (is_complete && rest.substr(close + 1).starts_with(">=")) {
            const std::string_view who = rest.substr(open + 3, close - open - 3);
            return who.starts_with('q') ? std::optional(Engine::Dma) : engine_of_label(who);
        }
        place = operands.find("S[", place + 2);
    }
    return std::nullopt;
}

std::optional<ProfiledTransfer> transfer_of(std::string_view operands) {
    const auto size = value_of(operands, "src_elem_size");
    auto from = value_of(operands, "src_pattern");
    auto to = value_of(operands, "dst_pattern");
    if (!size || !from || !to) {
        return std::nullopt;
    }
    const auto bytes = product(size->substr(0, size->find(' ')));
    const auto sources = next_counts(*from);
    const auto destinations = next_counts(*to);
    if (!bytes || !sources || !destinations) {
        return std::nullopt;
    }
    return ProfiledTransfer{.bytes = *bytes * *sources,
                            .elements = std::max(*sources, *destinations)};
}

}  // namespace trnsim::report
