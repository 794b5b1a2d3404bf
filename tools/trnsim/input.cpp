// SPDX-License-Identifier: Apache-2.0
// Reads or traces what the user named as INPUT.
#include "input.hpp"

#include "python_frontend.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/program/reader.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

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

Input::Input(std::string text, std::vector<std::string> arguments, ValueOptions values)
    : text_(std::move(text)),
      arguments_(std::move(arguments)),
      values_(std::move(values)),
      is_kernel_(text_.find("::") != std::string::npos) {
    if (is_script(text_)) {
        throw UserError(
            fmt::format("{}: is a script, which only `trnsim run` takes; for one of its kernels "
                        "write {}::function and an --arg for each of its parameters",
                        text_,
                        text_));
    }
    if (!is_kernel_ && !arguments_.empty()) {
        throw UserError(
            fmt::format("--arg {}: {} is a trace, which has its arguments in it; leave --arg out",
                        arguments_.front(),
                        text_));
    }
    values_.require_complete();
    if (const std::string asked_by = values_.asked_by(); !is_kernel_ && !asked_by.empty()) {
        throw UserError(
            fmt::format("{}: {} is a trace, which has no values; leave it out, or name the kernel "
                        "as file.py::function",
                        asked_by,
                        text_));
    }
}

const program::Program& Input::program_for(const std::string& chip) {
    const std::string key = is_kernel_ ? chip : "";
    if (const auto known = programs_.find(key); known != programs_.end()) {
        return known->second;
    }
    if (is_kernel_) {
        spdlog::info("tracing {} for {}", text_, chip);
        TracedKernel traced = trace_kernel({text_, arguments_, values_}, chip);
        computed_ = std::move(traced.values);
        return programs_.emplace(key, std::move(traced.program)).first->second;
    }
    spdlog::info("reading {}", text_);
    return programs_.emplace(key, program::read_file(text_)).first->second;
}

void require_supported(const program::Program& program, const std::string& input) {
    std::string list;
    for (const program::Note& note : program.notes) {
        if (note.kind == program::NoteKind::Unsupported) {
            list += fmt::format(
                "{}{} ({})", list.empty() ? "" : ", ", note.text, program.source_text(note.source));
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

std::string target_warning(const program::Program& program, const std::string& chip) {
    const std::string& target = program.header.target;
    if (target.empty() || target == chip) {
        return {};
    }
    return fmt::format("the trace was made for {} and runs on {}: tile limits are those of {}",
                       target,
                       chip,
                       target);
}

}  // namespace trnsim::cli
