// SPDX-License-Identifier: Apache-2.0
// What is done only for a person at a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace trnsim::cli {

/// Whether standard output is a terminal that takes colours (NO_COLOR and TERM=dumb are respected).
[[nodiscard]] bool standard_output_takes_colour();

/// One line on standard error that says how far some work is: shown to a terminal only, after a
/// second, and wiped away at the end.
class Progress {
public:
    explicit Progress(std::string_view what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress();

    /// \param total the end of the work; 0 if it is not known
    void update(std::int64_t done, std::int64_t total);

private:
    using Clock = std::chrono::steady_clock;

    std::string what_;
    bool enabled_;
    bool shown_ = false;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_ = start_ + std::chrono::seconds{1};
};

}  // namespace trnsim::cli
