// SPDX-License-Identifier: Apache-2.0
// trnsim compare: one kernel on several chips.
#include "commands.hpp"
#include "grid_runner.hpp"
#include "input.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "standard_streams.hpp"
#include "terminal.hpp"
#include "trnsim/report/comparison.hpp"
#include "trnsim/study/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::cli {
namespace {

struct CompareOptions {
    InputOptions input;
    std::string chips = "trn1,inf2,trn2,trn3";
    ModelOptions model;
    std::string json;
    bool is_quiet = false;
};

bool all_say_the_same(const std::vector<study::JobOutcome>& outcomes) {
    return std::all_of(outcomes.begin(), outcomes.end(), [&](const study::JobOutcome& outcome) {
        return outcome.exit_status != 0 && outcome.error == outcomes.front().error;
    });
}

/// The results of the chips that have one; what the others say goes to standard error.
std::vector<report::ResultFile> results_of(const std::vector<std::string>& chips,
                                           const std::vector<study::JobOutcome>& outcomes) {
    std::vector<report::ResultFile> results;
    if (all_say_the_same(outcomes)) {
        complain(outcomes.front().error);
        return results;
    }
    for (std::size_t i = 0; i < chips.size(); ++i) {
        if (outcomes[i].exit_status == 0) {
            results.emplace_back(chips[i], outcomes[i].output);
        } else {
            const std::string& error = outcomes[i].error;
            const std::string name = chips[i] + ": ";
            complain(fmt::format("{}{}", error.starts_with(name) ? "" : name, error));
        }
    }
    return results;
}

int compare(const CompareOptions& options) {
    const GridRequest request{.chips = parse_chips("--chips", options.chips),
                              .everywhere = options.model,
                              .is_permissive = options.input.is_permissive,
                              .processes = study::available_processors()};
    require_once(options.model);
    Sources sources{{"INPUT", options.input.input}};
    for (const std::string& chip : request.chips) {
        sources.emplace_back("--chips", chip_file(chip));
    }
    require_sources_kept({{"--json", options.json}}, sources);
    Input input(options.input);
    std::optional<OutputFile> json;
    if (!options.json.empty()) {
        json.emplace("--json", options.json);
    }
    const std::vector<study::JobOutcome> outcomes = run_grid(input, request, make_grid(request));
    const std::vector<report::ResultFile> results = results_of(request.chips, outcomes);
    if (!results.empty()) {
        const report::Comparison comparison = report::compare(results);
        if (json) {
            json->stream() << report::to_json(comparison);
            json->commit();
        }
        if (!options.is_quiet && options.json != "-") {
            std::cout << report::to_text(comparison, standard_output_takes_colour());
        }
    }
    return study::worst_exit_status(outcomes);
}

}  // namespace

void add_compare(CLI::App& app, int& exit_status) {
    const auto options = std::make_shared<CompareOptions>();
    CLI::App* command =
        app.add_subcommand("compare", "simulate one kernel on several chips, side by side");
    add_to(*command, options->input);
    command->add_option("--chips", options->chips, "the chips, in the order of the table")
        ->type_name("CHIP,CHIP")
        ->check(not_empty())
        ->capture_default_str();
    add_to(*command, options->model, "VALUE");
    add_output(*command,
               "--json",
               options->json,
               "write the comparison as JSON (-: to standard output, alone)");
    command->add_flag("-q,--quiet", options->is_quiet, "print nothing; for --json");
    command->footer(
        "Examples:\n"
        "  trnsim compare softmax.py::softmax --arg 'float32[4096,1024]'\n"
        "  trnsim compare matmul.nkt --chips trn2,trn3 --json compare.json\n\n"
        "A chip that cannot run the kernel is told on standard error and left out of the table.");
    command->callback([options, &exit_status] { exit_status = compare(*options); });
}

}  // namespace trnsim::cli
