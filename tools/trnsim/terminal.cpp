// SPDX-License-Identifier: Apache-2.0
// Colours and progress.
#include "terminal.hpp"

#include "trnsim/base/control_characters.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace trnsim::cli {
namespace {

bool environment_is(const char* name, std::string_view value) {
    const char* text = std::getenv(name);
    return text != nullptr && text == value;
}

}  // namespace

bool standard_output_takes_colour() {
    const char* no_colour = std::getenv("NO_COLOR");
    const bool is_refused = no_colour != nullptr && *no_colour != '\0';
    const char* forced = std::getenv("CLICOLOR_FORCE");
    const bool is_forced = forced != nullptr && *forced != '\0' && *forced != '0';
    return (is_forced || isatty(STDOUT_FILENO) != 0) && !is_refused &&
           !environment_is("TERM", "dumb");
}

Progress::Progress(std::string_view what)
    : what_(without_controls(what)), enabled_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
    if (shown_) {
        std::fputs("\r\033[K", stderr);
    }
}

void Progress::update(std::int64_t done, std::int64_t total) {
    const Clock::time_point now = Clock::now();
    if (!enabled_ || now < next_) {
        return;
    }
    next_ = now + std::chrono::milliseconds{200};
    shown_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string share =
        total > 0 ? fmt::format("{:.0f} %, ",
                                100.0 * static_cast<double>(done) / static_cast<double>(total))
                  : std::string{};
    std::fputs(fmt::format("\r\033[K{}: {}{:.0f} s", what_, share, seconds).c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace trnsim::cli
