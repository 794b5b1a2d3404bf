// SPDX-License-Identifier: Apache-2.0
// The logger of the whole program.
#include "logging.hpp"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <iterator>
#include <memory>
#include <utility>

namespace trnsim::cli {
namespace {

/// The processor time of the process so far, in milliseconds.
class ProcessorTime : public spdlog::custom_flag_formatter {
public:
    void format(const spdlog::details::log_msg& /*message*/,
                const std::tm& /*time*/,
                spdlog::memory_buf_t& line) override {
        constexpr double kMilliseconds = 1e3 / CLOCKS_PER_SEC;
        fmt::format_to(
            std::back_inserter(line), "{:.3f}", static_cast<double>(std::clock()) * kMilliseconds);
    }

    [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
        return std::make_unique<ProcessorTime>();
    }
};

}  // namespace

void set_up_logging() {
    spdlog::set_default_logger(spdlog::stderr_color_st("trnsim"));
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<ProcessorTime>('*').set_pattern("%^%l%$ %* ms: %v");
    spdlog::set_formatter(std::move(formatter));
    spdlog::set_level(spdlog::level::warn);
}

void set_verbosity(std::int64_t count) {
    spdlog::set_level(count > 1 ? spdlog::level::debug : spdlog::level::info);
}

}  // namespace trnsim::cli
