// SPDX-License-Identifier: Apache-2.0
// Numbers with units, for results (exact) and for texts (significant digits).
#pragma once

#include "trnsim/base/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace trnsim::report {

// Exact: a division is correctly rounded, so the shortest text of the result is the decimal number
// itself.
[[nodiscard]] constexpr double in_seconds(Picoseconds t) {
    return static_cast<double>(t.value) / 1e12;
}
[[nodiscard]] constexpr double in_microseconds(Picoseconds t) {
    return static_cast<double>(t.value) / 1e6;
}
[[nodiscard]] constexpr double in_nanoseconds(Picoseconds t) {
    return static_cast<double>(t.value) / 1e3;
}

/// part / whole, 0 if whole is 0; rounded to nine significant digits, which hides nothing and reads
/// better.
[[nodiscard]] double ratio(double part, double whole);
[[nodiscard]] double percent(double part, double whole);
[[nodiscard]] double percent(Picoseconds part, Picoseconds whole);

/// "1,234,567".
[[nodiscard]] std::string count_text(std::int64_t count);
/// "1 transfer", "1,234 transfers".
[[nodiscard]] std::string count_text(std::int64_t count, std::string_view noun);
/// `digits` significant digits, thousands separated, no exponent: "1,037", "12.35", "0.2500".
[[nodiscard]] std::string number_text(double value, int digits = 4);
/// "833.3 ns", "12.35 us", "1,036.8 us", "39.89 ms".
[[nodiscard]] std::string time_text(Picoseconds time, int digits = 4);
/// "512 B", "85.33 KiB", "16.00 MiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// "93.2 %".
[[nodiscard]] std::string percent_text(double percent);
/// "+3.7 %", "-12.0 %".
[[nodiscard]] std::string change_text(double percent);

/// Times of one table in one unit, so that they can be compared at a glance.
struct TimeColumn {
    /// The unit for a run of this length: "us", or "ms" from 10 ms on.
    explicit TimeColumn(Picoseconds total);
    [[nodiscard]] std::string text(Picoseconds time) const;

    const char* unit;

private:
    double picoseconds_per_unit_;
    int decimals_;
};

}  // namespace trnsim::report
