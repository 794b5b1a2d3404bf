// SPDX-License-Identifier: Apache-2.0
// trnsim run: one kernel on one chip, or a script with all of its kernel calls.
#include "commands.hpp"
#include "input.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "python_frontend.hpp"
#include "simulation.hpp"
#include "standard_streams.hpp"
#include "terminal.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/timeline/instruction_writer.hpp"
#include "trnsim/timeline/perfetto_writer.hpp"
#include "trnsim/timeline/timeline_tee.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace trnsim::cli {
namespace {

constexpr int kCheckFailed = 4;  ///< Exit status.

struct RunCommandOptions {
    InputOptions input;
    ValueOptions values;
    std::string chip;  ///< Empty: chip_or_default() says.
    std::size_t cores = 0;
    ModelOptions model;
    std::string json;
    std::string timeline;
    std::string instructions;
    bool is_quiet = false;
    std::size_t call = 0;  ///< Of a script; 0 is the slowest.
    bool is_without_values = false;
    std::vector<std::string> script_arguments;
};

/// The timeline file, whose unfinished form a signal removes.
class Timeline {
public:
    Timeline(const std::string& path, const std::string& chip)
        : unfinished_(unfinished(path)), writer_(path, chip) {}
    [[nodiscard]] timeline::PerfettoWriter& writer() { return writer_; }

private:
    /// The name under which PerfettoWriter collects a timeline.
    static std::string unfinished(const std::string& path) {
        require_regular_destination("--timeline", path);
        return timeline::PerfettoWriter::partial_path(path);
    }

    RemoveOnSignal unfinished_;
    timeline::PerfettoWriter writer_;
};

/// The table of instructions.
class InstructionFile {
public:
    explicit InstructionFile(const std::string& path)
        : file_("--instructions", path), writer_(file_.stream(), TRNSIM_VERSION) {}
    [[nodiscard]] timeline::InstructionWriter& writer() { return writer_; }

    void finish(const report::Report& report) {
        const report::Subject& subject = report.subject;
        writer_.finish({.chip = subject.chip.spec.name,
                        .kernel = subject.header.kernel,
                        .input = subject.input,
                        .arguments = subject.header.arguments,
                        .total = report.result.total,
                        .kernel_start = report.result.kernel_start,
                        .kernel_end = report.result.kernel_end});
        file_.commit();
    }

private:
    OutputFile file_;
    timeline::InstructionWriter writer_;
};

/// \throws UserError for options that a script cannot have
void check_script(const RunCommandOptions& options) {
    const std::string& input = options.input.input;
    const auto refuse =
        [&input](const std::string& option, const std::string& why, const std::string& what) {
            throw UserError(fmt::format(
                "{}: {} is a script, {}; leave {} out, or name one kernel as {}::function",
                option,
                input,
                why,
                what,
                input));
        };
    if (!options.input.arguments.empty()) {
        refuse("--arg " + options.input.arguments.front(),
               "which gives its kernels their arguments",
               "--arg");
    }
    if (options.input.is_permissive) {
        refuse("--permissive", "whose kernels are recorded whole or refused", "it");
    }
    if (!options.input.trip_counts.empty()) {
        refuse("--assume " + options.input.trip_counts.front(),
               "whose values say how often loops run",
               "--assume");
    }
    if (options.values.seed != 0) {
        refuse(fmt::format("--seed {}", options.values.seed),
               "which gives its kernels their arguments",
               "it");
    }
    if (const std::string asked_by = options.values.asked_by(); !asked_by.empty()) {
        refuse(asked_by, "whose kernels return their values as it is", "it");
    }
    if (options.instructions == "-") {
        throw UserError(fmt::format(
            "--instructions -: {} is a script, which has standard output for itself; name a file",
            input));
    }
    if (options.values.reads_unwritten && options.is_without_values) {
        throw UserError(
            "--reads-unwritten: is about values, which --no-values leaves unknown; leave out one "
            "of them");
    }
    options.values.require_complete(true);
}

/// \throws UserError if options for scripts are given with another input, or those for kernels with
/// a script
void check_input_kind(const RunCommandOptions& options) {
    const std::string& input = options.input.input;
    if (is_script(input)) {
        check_script(options);
        return;
    }
    if (!options.script_arguments.empty() && input.find("::") != std::string::npos) {
        throw UserError(fmt::format(
            "trnsim run: {} is not one of its words; if it is an argument of the kernel, write "
            "--arg '{}'",
            options.script_arguments.front(),
            options.script_arguments.front()));
    }
    if (!options.script_arguments.empty()) {
        throw UserError(
            fmt::format("trnsim run: {} is not one of its words; {} is no script, "
                        "which could have words of its own after --",
                        options.script_arguments.front(),
                        input));
    }
    if (options.call != 0 || options.is_without_values) {
        throw UserError(fmt::format("{}: {} is no script, which the option is for; leave it out",
                                    options.call != 0 ? "--call" : "--no-values",
                                    input));
    }
}

/// The words of `python3 -m trnsim.script`.
std::vector<std::string> script_words(const RunCommandOptions& options) {
    std::vector<std::string> words{plain_word(options.input.input)};
    const auto add = [&words](const std::string& name, const std::string& value) {
        if (!value.empty()) {
            words.push_back(fmt::format("{}={}", name, value));
        }
    };
    add("--chip", options.chip);
    add("--cores", options.cores == 0 ? "" : std::to_string(options.cores));
    for (const std::string& setting : options.model.settings) {
        add("--set", setting);
    }
    for (const std::string& policy : options.model.policies) {
        add("--policy", policy);
    }
    add("--method", options.model.method);
    add("--json", options.json);
    add("--timeline", options.timeline);
    add("--instructions", options.instructions);
    add("--call", options.call == 0 ? "" : std::to_string(options.call));
    const std::vector<std::pair<bool, std::string>> flags{
        {options.is_without_values, "--no-values"},
        {options.values.reads_unwritten, "--reads-unwritten"},
        {options.is_quiet, "--quiet"},
        {standard_output_takes_colour(), "--colour"}};
    for (const auto& [is_set, flag] : flags) {
        if (is_set) {
            words.push_back(flag);
        }
    }
    words.emplace_back("--");
    words.insert(words.end(), options.script_arguments.begin(), options.script_arguments.end());
    return words;
}

/// The report as text, and what is wrong with the values. \returns the exit status
int tell(const report::Report& report, const RunCommandOptions& options) {
    if (!options.is_quiet && options.json != "-" && options.instructions != "-") {
        std::cout << report::to_text(report, standard_output_takes_colour());
    }
    if (report.values && !report.values->passes()) {
        flush_standard_output();
        complain(report::failure(*report.values, options.input.input));
        return kCheckFailed;
    }
    return 0;
}

/// \throws UserError if a file that is written is another one's, or one that is read
void check_files(const RunCommandOptions& options) {
    if (options.timeline == "-") {
        throw UserError(
            "--timeline -: a timeline is not text for standard output; name a file, like "
            "kernel.pftrace");
    }
    const Destinations destinations{{"--json", options.json},
                                    {"--timeline", options.timeline},
                                    {"--instructions", options.instructions}};
    require_different_destinations(destinations);
    require_sources_kept(destinations,
                         {{"INPUT", options.input.input},
                          {"--chip", chip_file(options.chip)},
                          {"--check", options.values.reference}});
}

/// \returns the exit status
int run(RunCommandOptions options) {
    check_input_kind(options);
    require_once(options.model);
    check_files(options);
    if (is_script(options.input.input)) {
        require_writable("--json", options.json);
        require_writable("--timeline", options.timeline);
        require_writable("--instructions", options.instructions);
        become_python("trnsim.script", script_words(options));
    }
    options.chip = chip_or_default(options.chip);
    Input input(options.input, options.values);
    std::optional<OutputFile> json;
    if (!options.json.empty()) {
        json.emplace("--json", options.json);
    }
    std::optional<Timeline> timeline;
    if (!options.timeline.empty()) {
        timeline.emplace(options.timeline, options.chip);
    }
    std::optional<InstructionFile> instructions;
    if (!options.instructions.empty()) {
        instructions.emplace(options.instructions);
    }
    std::vector<timeline::TimelineSink*> sinks;
    if (timeline) {
        sinks.push_back(&timeline->writer());
    }
    if (instructions) {
        sinks.push_back(&instructions->writer());
    }
    timeline::TimelineTee tee(sinks);

    const report::Report report = simulate_input(input,
                                                 {.chip = options.chip,
                                                  .model = options.model,
                                                  .cores = options.cores,
                                                  .is_permissive = options.input.is_permissive},
                                                 sinks.empty()       ? nullptr
                                                 : sinks.size() == 1 ? sinks.front()
                                                                     : &tee);

    if (timeline) {
        const HoldSignals hold;
        timeline->writer().finish();
    }
    if (instructions) {
        instructions->finish(report);
    }
    if (json) {
        json->stream() << report::to_json(report);
        json->commit();
        spdlog::info("wrote {}", options.json);
    }
    return tell(report, options);
}

void add_outputs(CLI::App& command, RunCommandOptions& options) {
    add_output(
        command, "--json", options.json, "write the result as JSON (-: to standard output, alone)");
    add_output(
        command, "--timeline", options.timeline, "write a timeline for https://ui.perfetto.dev");
    add_output(command,
               "--instructions",
               options.instructions,
               "write what every engine and DMA ring executed as JSON, for trnsim diff (-: to "
               "standard output, alone)");
    command.add_flag("-q,--quiet", options.is_quiet, "print nothing; for the files it writes");
}

}  // namespace

void add_run(CLI::App& app, int& exit_status) {
    const auto options = std::make_shared<RunCommandOptions>();
    CLI::App* command = app.add_subcommand(
        "run", "simulate one kernel on one chip, or a script with all of its kernel calls");
    add_to(*command, options->input);
    command
        ->add_option("ARGUMENTS",
                     options->script_arguments,
                     "of a script, after --; its kernel calls are all simulated")
        ->type_name("");
    add_chip(*command, options->chip, "a chip's name or the path of a chip file");
    command
        ->add_option("--cores",
                     options->cores,
                     "NeuronCores of the chip that run copies of the kernel at once [one copy]")
        ->type_name("N")
        ->check(whole_number(1));
    add_to(*command, options->model, "VALUE");
    add_to(*command, options->values);
    add_check(*command, options->values);
    add_outputs(*command, *options);
    command
        ->add_option("--call",
                     options->call,
                     "the kernel call of a script to show in full, from 1 [the slowest]")
        ->type_name("N")
        ->check(whole_number(1));
    command->add_flag("--no-values",
                      options->is_without_values,
                      "leave the results of a script's kernels unknown, which is faster");
    command->footer(
        "Examples:\n"
        "  trnsim run softmax.py::softmax --arg 'float32[4096,1024]'\n"
        "  trnsim run matmul.nkt.zst --chip trn3 --json result.json --timeline matmul.pftrace\n"
        "  trnsim run matmul.nkt --set neuron_core.tensor_engine.clock_ghz=2.8 --policy "
        "spilling=off\n"
        "  trnsim run softmax.py::softmax --arg 'float32[4096,1024]' --cores 8\n"
        "  trnsim run softmax.py::softmax --arg 'float32[300,1024]' --check ref.py::softmax\n"
        "  trnsim run benchmark.py --json calls.json -- --batch 4\n"
        "  generate_trace | trnsim run - --json - | jq .summary.latency_us\n\n"
        "docs/result-format.md says what each figure of the summary means.\n"
        "A script runs as it is, with the kernels it calls simulated and nki.benchmark results "
        "that say what was simulated.");
    command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace trnsim::cli
