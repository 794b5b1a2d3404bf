// SPDX-License-Identifier: Apache-2.0
// trnsim run: one kernel on one chip.
#include "commands.hpp"
#include "input.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "simulation.hpp"
#include "terminal.hpp"
#include "trnsim/timeline/perfetto_writer.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

namespace trnsim::cli {
namespace {

struct RunCommandOptions {
    InputOptions input;
    std::string chip = "trn2";
    std::size_t cores = 0;
    ModelOptions model;
    std::string json;
    std::string timeline;
    bool is_quiet = false;
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
        return fmt::format("{}.partial-{}", path, getpid());
    }

    RemoveOnSignal unfinished_;
    timeline::PerfettoWriter writer_;
};

void run(const RunCommandOptions& options) {
    Input input(options.input.input, options.input.arguments);
    std::optional<OutputFile> json;
    if (!options.json.empty()) {
        json.emplace("--json", options.json);
    }
    std::optional<Timeline> timeline;
    if (!options.timeline.empty()) {
        timeline.emplace(options.timeline, options.chip);
    }

    const report::Report report = simulate_input(input,
                                                 {.chip = options.chip,
                                                  .model = options.model,
                                                  .cores = options.cores,
                                                  .is_permissive = options.input.is_permissive},
                                                 timeline ? &timeline->writer() : nullptr);

    if (timeline) {
        const HoldSignals hold;
        timeline->writer().finish();
    }
    if (json) {
        json->stream() << report::to_json(report);
        json->commit();
    }
    if (!options.is_quiet && options.json != "-") {
        std::cout << report::to_text(report, standard_output_takes_colour());
    }
}

}  // namespace

void add_run(CLI::App& app, int& /*exit_status*/) {
    const auto options = std::make_shared<RunCommandOptions>();
    CLI::App* command = app.add_subcommand("run", "simulate one kernel on one chip");
    add_to(*command, options->input);
    command->add_option("--chip", options->chip, "a chip's name or the path of a chip file")
        ->type_name("CHIP")
        ->capture_default_str();
    command
        ->add_option("--cores",
                     options->cores,
                     "NeuronCores of the chip that run copies of the kernel at once [one copy]")
        ->type_name("N")
        ->check(CLI::PositiveNumber);
    add_to(*command, options->model, "VALUE");
    command
        ->add_option(
            "--json", options->json, "write the result as JSON (-: to standard output, alone)")
        ->type_name("FILE");
    command
        ->add_option(
            "--timeline", options->timeline, "write a timeline for https://ui.perfetto.dev")
        ->type_name("FILE");
    command->add_flag("-q,--quiet", options->is_quiet, "print nothing; for --json and --timeline");
    command->footer(
        "Examples:\n"
        "  trnsim run softmax.py::softmax --arg 'float32[4096,1024]'\n"
        "  trnsim run matmul.nkt.zst --chip trn3 --json result.json --timeline matmul.pftrace\n"
        "  trnsim run matmul.nkt --set neuron_core.tensor_engine.clock_ghz=2.8 --policy "
        "spilling=off\n"
        "  trnsim run softmax.py::softmax --arg 'float32[4096,1024]' --cores 8\n"
        "  generate_trace | trnsim run - --json - | jq .summary.latency_us");
    command->callback([options] { run(*options); });
}

}  // namespace trnsim::cli
