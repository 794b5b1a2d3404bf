// SPDX-License-Identifier: Apache-2.0
// The text of a place in a trace.
#include "place.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace trnsim::program {

void Place::fail(std::string_view message) const {
    std::string path;
    for (std::size_t i = 0; i < depth_; ++i) {
        const Entry& part = parts_[i];
        path += i == 0 ? "" : ", ";
        path += part.what;
        path += part.number == Part::kNoNumber ? "" : fmt::format(" {}", part.number);
        path += part.label.empty() ? "" : fmt::format(" ({})", part.label);
    }
    path += path.empty() ? "" : ": ";
    fail_at(line_, path.append(message));
}

void Place::fail_at(std::int64_t line, std::string_view message) const {
    const std::int64_t shown = std::max<std::int64_t>(line, 1);
    throw TraceError(fmt::format("{}:{}: {}", file_, shown, message));
}

Place::Part::Part(Place& place, std::string_view what, std::int64_t number)
    : place_(place), index_(place.depth_) {
    assert(index_ < place.parts_.size());
    place.parts_[index_] = Entry{what, number, {}};
    ++place.depth_;
}

std::string printable(std::string_view text) {
    constexpr std::size_t kLongest = 60;
    constexpr unsigned char kFirstPrintable = 0x20;
    std::string result;
    std::size_t taken = 0;
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        const bool starts_character = (byte & 0xC0U) != 0x80U;
        if (taken >= kLongest && starts_character) {
            return result + "…";
        }
        ++taken;
        if (byte < kFirstPrintable) {
            result += fmt::format("\\u{:04x}", byte);
        } else {
            result += character;
        }
    }
    return result;
}

std::string in_quotes(std::string_view text) {
    return '"' + printable(text) + '"';
}

}  // namespace trnsim::program
