// SPDX-License-Identifier: Apache-2.0
// Reads or traces what the user named as INPUT.
#include "input.hpp"

#include "known_file.hpp"
#include "python_frontend.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/base/nearest_name.hpp"
#include "trnsim/program/reader.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace trnsim::cli {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

bool is_script(const std::string& input) {
    return ends_with(input, ".py");
}

Input::Input(InputOptions options, ValueOptions values)
    : options_(std::move(options)),
      values_(std::move(values)),
      is_kernel_(text().find("::") != std::string::npos) {
    if (is_script(text())) {
        throw UserError(
            fmt::format("{}: is a script, which only `trnsim run` takes; for one of its kernels "
                        "write {}::function and an --arg for each of its parameters",
                        text(),
                        text()));
    }
    values_.require_complete(false);
    require_program(text());
    if (!is_kernel_) {
        require_no_kernel_options();
    } else if (options_.is_permissive) {
        throw UserError(fmt::format(
            "--permissive: {} is a kernel, which is recorded whole or refused; leave it out",
            text()));
    }
}

void Input::require_no_kernel_options() const {
    const bool is_for_kernel =
        !options_.arguments.empty() || !options_.trip_counts.empty() || !values_.asked_by().empty();
    if (is_for_kernel && text() != "-" && !std::filesystem::exists(text())) {
        throw UserError(
            fmt::format("{}: is no file; name a kernel as file.py::function, or a trace", text()));
    }
    if (!options_.arguments.empty()) {
        throw UserError(
            fmt::format("--arg {}: {} is a trace, which has its arguments in it; leave --arg out",
                        options_.arguments.front(),
                        text()));
    }
    if (!options_.trip_counts.empty()) {
        throw UserError(fmt::format(
            "--assume {}: {} is a trace, whose loops have their counts; leave --assume out",
            options_.trip_counts.front(),
            text()));
    }
    if (const std::string asked_by = values_.asked_by(); !asked_by.empty()) {
        throw UserError(
            fmt::format("{}: {} is a trace, which has no values; leave it out, or name the kernel "
                        "as file.py::function",
                        asked_by,
                        text()));
    }
}

const program::Program& Input::program_for(const std::string& chip,
                                           const std::vector<std::string>& settings) {
    const std::vector<std::string> limits = limits_among(settings);
    std::vector<std::string> key;
    if (is_kernel_) {
        key = limits;
        key.push_back(chip);
    }
    if (const auto known = programs_.find(key); known != programs_.end()) {
        return known->second;
    }
    if (is_kernel_) {
        spdlog::info("tracing {} for {}", text(), chip);
        TracedKernel traced =
            trace_kernel({text(), options_.arguments, options_.trip_counts, values_, limits}, chip);
        computed_ = std::move(traced.values);
        return programs_.emplace(key, std::move(traced.program)).first->second;
    }
    spdlog::info("reading {}", text());
    return programs_.emplace(key, program::read_file(text())).first->second;
}

void require_supported(const program::Program& program, const std::string& input) {
    std::string list;
    for (const program::Note& note : program.notes) {
        if (note.kind == program::NoteKind::Unsupported) {
            const std::string where =
                note.source.empty() ? "" : fmt::format(" ({})", program.source_text(note.source));
            list += fmt::format("{}{}{}", list.empty() ? "" : ", ", note.text, where);
        }
    }
    if (!list.empty()) {
        throw UserError(fmt::format(
            "{}: the trace leaves out what could not be recorded: {}; change the kernel, "
            "or simulate the rest with --permissive",
            input,
            list));
    }
}

std::string target_warning(const program::Program& program, const ChipSpec& simulated) {
    const std::string& target = program.header.target;
    const std::string& chip = simulated.short_name;
    if (target.empty() || target == chip || target == simulated.name) {
        return {};
    }
    const std::vector<std::string> names = spec::chip_names();
    if (const std::string_view nearest = nearest_name(target, names);
        !nearest.empty() && nearest != target) {
        return fmt::format(
            "the trace was made for {}, which is not one of the chips {}, did you "
            "mean {}? It runs on {}",
            target,
            fmt::join(names, ", "),
            nearest,
            chip);
    }
    return fmt::format(
        "the trace was made for {} and runs on {}: tile limits and engines are those of {}; trace "
        "the kernel for {}",
        target,
        chip,
        target,
        chip);
}

}  // namespace trnsim::cli
