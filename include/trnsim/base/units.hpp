// SPDX-License-Identifier: Apache-2.0
// Strong types for time, size and rate, so that a wrong unit does not compile.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <ostream>

namespace trnsim {

/// Bytes in a KiB.
inline constexpr std::int64_t kKib = 1024;

/// A whole number of one engine's clock cycles. Which engine's is in the variable's name.
struct Cycles {
    std::int64_t value = 0;

    constexpr Cycles() = default;
    constexpr explicit Cycles(std::int64_t count) : value(count) {}
    friend constexpr auto operator<=>(Cycles, Cycles) = default;
    constexpr Cycles& operator+=(Cycles rhs) { return value += rhs.value, *this; }
    friend constexpr Cycles operator+(Cycles a, Cycles b) { return Cycles{a.value + b.value}; }
    friend constexpr Cycles operator-(Cycles a, Cycles b) { return Cycles{a.value - b.value}; }
    friend constexpr Cycles operator*(std::int64_t n, Cycles a) { return Cycles{n * a.value}; }
};

/// Simulated time or a span of it, in picoseconds: the resolution of the SystemC kernel.
struct Picoseconds {
    std::int64_t value = 0;

    constexpr Picoseconds() = default;
    constexpr explicit Picoseconds(std::int64_t count) : value(count) {}
    friend constexpr auto operator<=>(Picoseconds, Picoseconds) = default;
    constexpr Picoseconds& operator+=(Picoseconds rhs) { return value += rhs.value, *this; }
    constexpr Picoseconds& operator-=(Picoseconds rhs) { return value -= rhs.value, *this; }
    friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) {
        return Picoseconds{a.value + b.value};
    }
    friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) {
        return Picoseconds{a.value - b.value};
    }
    friend constexpr Picoseconds operator*(std::int64_t n, Picoseconds a) {
        return Picoseconds{n * a.value};
    }
    [[nodiscard]] constexpr double nanoseconds() const { return static_cast<double>(value) * 1e-3; }
    [[nodiscard]] constexpr double microseconds() const {
        return static_cast<double>(value) * 1e-6;
    }
    [[nodiscard]] constexpr double seconds() const { return static_cast<double>(value) * 1e-12; }
};

/// 40 hours. Nothing that is simulated lasts longer, and sums of a few such times can be told.
inline constexpr Picoseconds kLongestTime{std::int64_t{1} << 57};

/// A number of bytes.
struct Bytes {
    std::int64_t value = 0;

    constexpr Bytes() = default;
    constexpr explicit Bytes(std::int64_t count) : value(count) {}
    friend constexpr auto operator<=>(Bytes, Bytes) = default;
    constexpr Bytes& operator+=(Bytes rhs) { return value += rhs.value, *this; }
    friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.value + b.value}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.value - b.value}; }
    friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return Bytes{n * a.value}; }
};

/// A clock frequency; 10^9 cycles per second.
struct Gigahertz {
    double value = 0.0;

    constexpr Gigahertz() = default;
    constexpr explicit Gigahertz(double ghz) : value(ghz) {}
    friend constexpr auto operator<=>(Gigahertz, Gigahertz) = default;
};

/// A data rate; 10^9 bytes per second, that is bytes per nanosecond.
struct GigabytesPerSecond {
    double value = 0.0;

    constexpr GigabytesPerSecond() = default;
    constexpr explicit GigabytesPerSecond(double rate) : value(rate) {}
    friend constexpr auto operator<=>(GigabytesPerSecond, GigabytesPerSecond) = default;
};

/// Rounded once, half away from 0; what is longer becomes kLongestTime.
[[nodiscard]] inline Picoseconds from_picoseconds(double ps) {
    const double bounded = std::min(ps, static_cast<double>(kLongestTime.value));
    const auto whole = static_cast<std::int64_t>(bounded);  // std::llround() is a call.
    const double rest = bounded - static_cast<double>(whole);
    return Picoseconds{whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0)};
}

/// Nanoseconds, as datasheets and measurements state them; rounded once to picoseconds.
[[nodiscard]] inline Picoseconds from_nanoseconds(double ns) {
    return from_picoseconds(ns * 1e3);
}

/// The time of `cycles` at `clock`, rounded once for the whole interval.
[[nodiscard]] inline Picoseconds to_picoseconds(Cycles cycles, Gigahertz clock) {
    return from_picoseconds(static_cast<double>(cycles.value) * 1e3 / clock.value);
}

/// The time `bytes` take at `rate`, rounded once.
[[nodiscard]] inline Picoseconds to_picoseconds(Bytes bytes, GigabytesPerSecond rate) {
    return from_picoseconds(static_cast<double>(bytes.value) * 1e3 / rate.value);
}

inline std::ostream& operator<<(std::ostream& os, Cycles v) {
    return os << v.value << " cycles";
}
inline std::ostream& operator<<(std::ostream& os, Picoseconds v) {
    return os << v.value << " ps";
}
inline std::ostream& operator<<(std::ostream& os, Bytes v) {
    return os << v.value << " B";
}
inline std::ostream& operator<<(std::ostream& os, Gigahertz v) {
    return os << v.value << " GHz";
}
inline std::ostream& operator<<(std::ostream& os, GigabytesPerSecond v) {
    return os << v.value << " GB/s";
}

}  // namespace trnsim
