// SPDX-License-Identifier: Apache-2.0
// Numbers with units, for results (exact) and for texts (significant digits).
#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace trnsim::report {
namespace {

constexpr int kResultDigits = 9;
constexpr Picoseconds kMillisecondsFrom{10'000'000'000};  // Shorter times are in microseconds.

double round_to_significant(double value, int digits) {
    if (value == 0.0 || !std::isfinite(value)) {
        return value;
    }
    return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

std::string with_separators(std::string number) {
    const std::size_t first = number.front() == '-' ? 1 : 0;
    std::size_t end = number.find('.');
    end = end == std::string::npos ? number.size() : end;
    while (end > first + 3) {
        end -= 3;
        number.insert(end, ",");
    }
    return number;
}

}  // namespace

double ratio(double part, double whole) {
    return whole == 0.0 ? 0.0 : round_to_significant(part / whole, kResultDigits);
}

double percent(double part, double whole) {
    return whole == 0.0 ? 0.0 : round_to_significant(100.0 * part / whole, kResultDigits);
}

double percent(Picoseconds part, Picoseconds whole) {
    return percent(static_cast<double>(part.value), static_cast<double>(whole.value));
}

std::string count_text(std::int64_t count) {
    return with_separators(std::to_string(count));
}

std::string count_text(std::int64_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : "s");
}

std::string number_text(double value, int digits) {
    const std::string scientific = fmt::format("{:.{}e}", value, digits - 1);
    const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
    const int decimals = std::max(0, digits - 1 - std::max(0, exponent));
    return with_separators(fmt::format("{:.{}f}", round_to_significant(value, digits), decimals));
}

std::string time_text(Picoseconds time, int digits) {
    if (time < Picoseconds{1'000'000}) {
        return number_text(time.nanoseconds(), digits) + " ns";
    }
    if (time < kMillisecondsFrom) {
        return number_text(in_microseconds(time), digits) + " us";
    }
    return number_text(in_microseconds(time) / 1e3, digits) + " ms";
}

std::string bytes_text(double bytes) {
    static constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
    constexpr double kStep = 1024.0;
    if (bytes < kStep) {
        return fmt::format("{:.0f} B", bytes);
    }
    std::size_t unit = 0;
    double value = bytes / kStep;
    while (value >= kStep && unit + 1 < kUnits.size()) {
        value /= kStep;
        ++unit;
    }
    return fmt::format("{} {}", number_text(value), kUnits.at(unit));
}

std::string percent_text(double percent) {
    return fmt::format("{:.1f} %", percent);
}

std::string change_text(double percent) {
    return fmt::format("{:+.1f} %", percent);
}

TimeColumn::TimeColumn(Picoseconds total)
    : unit(total >= kMillisecondsFrom ? "ms" : "us"),
      picoseconds_per_unit_(total >= kMillisecondsFrom ? 1e9 : 1e6) {
    const double units = static_cast<double>(total.value) / picoseconds_per_unit_;
    decimals_ = units >= 1000.0 ? 1 : units >= 100.0 ? 2 : 3;
}

std::string TimeColumn::text(Picoseconds time) const {
    return with_separators(
        fmt::format("{:.{}f}", static_cast<double>(time.value) / picoseconds_per_unit_, decimals_));
}

}  // namespace trnsim::report
