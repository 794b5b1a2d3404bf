// SPDX-License-Identifier: Apache-2.0
// trnsim trace: writes the program trace of a kernel, or a trace in its canonical form.
#include "commands.hpp"
#include "input.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "python_frontend.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/program/writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace trnsim::cli {
namespace {

struct TraceOptions {
    InputOptions input;
    ValueOptions values;
    std::string chip;
    std::vector<std::string> settings;
    std::string output;
    bool is_quiet = false;
};

/// \throws UserError for settings that change nothing in a trace, or nothing at all
void check_settings(const TraceOptions& options, const Input& input) {
    require_once("--set", options.settings);
    for (const std::string& setting : options.settings) {
        if (!input.is_kernel()) {
            throw UserError(fmt::format(
                "--set {}: {} is a trace, which has been recorded; leave --set out, or name the "
                "kernel",
                setting,
                input.text()));
        }
        if (limits_among({setting}).empty()) {
            throw UserError(fmt::format(
                "--set {}: changes no trace, kernels are recorded with {}; leave it out, and give "
                "it to run",
                setting,
                fmt::join(limit_names(), ", ")));
        }
    }
    if (!options.settings.empty()) {
        static_cast<void>(load_chip(chip_or_default(options.chip), options.settings));
    }
}

void trace(const TraceOptions& options) {
    Input input(options.input, options.values);
    if (!input.is_kernel() && !options.chip.empty()) {
        throw UserError(
            fmt::format("--chip {}: {} is a trace, which is for the chip that it was recorded "
                        "for; leave --chip out, or name the kernel",
                        options.chip,
                        input.text()));
    }
    // A trace is read as a whole before its file is replaced.
    require_sources_kept(
        {{"-o", options.output}},
        {{"INPUT", input.is_kernel() ? input.text() : ""}, {"--chip", chip_file(options.chip)}});
    check_settings(options, input);
    const program::Program& program =
        input.program_for(chip_or_default(options.chip), options.settings);
    if (!options.input.is_permissive) {
        require_supported(program, input.text());
    }
    if (options.output == "-") {
        program::write_file(program, options.output);
        return;
    }
    require_regular_destination("-o", options.output);
    {
        const HoldSignals hold;
        program::write_file(program, options.output);
    }
    if (!options.is_quiet) {
        std::cout << fmt::format("{}: {} instructions from {} lines of program, {} bytes\n",
                                 options.output,
                                 program.instruction_count,
                                 program.nodes.size(),
                                 std::filesystem::file_size(options.output));
    }
}

}  // namespace

void add_trace(CLI::App& app, int& /*exit_status*/) {
    const auto options = std::make_shared<TraceOptions>();
    CLI::App* command =
        app.add_subcommand("trace", "record a kernel, or check and convert a trace");
    add_to(*command, options->input);
    add_chip(*command, options->chip, "whose tile limits a kernel is recorded with");
    add_repeatable(*command,
                   "--set",
                   options->settings,
                   "override a limit of the chip that the kernel is recorded with, as in run")
        ->type_name("PATH=VALUE");
    add_to(*command, options->values);
    add_output(*command,
               "-o,--output",
               options->output,
               "the trace, compressed with zstd, in the place of INPUT if that is one and is named "
               "again; - is standard output, as text")
        ->required();
    command->add_flag("-q,--quiet", options->is_quiet, "say nothing on success");
    command->footer(
        "Examples:\n"
        "  trnsim trace softmax.py::softmax --arg 'float32[4096,1024]' -o softmax.nkt\n"
        "  trnsim trace top_p.py::top_p --arg 'float32[128,512]' --values -o top_p.nkt\n"
        "  trnsim trace matmul.nkt -o - | less");
    command->callback([options] { trace(*options); });
}

}  // namespace trnsim::cli
