// SPDX-License-Identifier: Apache-2.0
// trnsim sweep: one kernel at every combination of chips, settings and policies.
#include "commands.hpp"
#include "grid_runner.hpp"
#include "input.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "standard_streams.hpp"
#include "trnsim/study/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::cli {
namespace {

struct SweepOptions {
    InputOptions input;
    std::string chips;  ///< Empty: chip_or_default() says.
    ModelOptions model;
    std::string csv = "-";
    std::size_t processes = study::available_processors();
};

std::vector<study::Axis> parse_axes(const char* option, const std::vector<std::string>& texts) {
    std::vector<study::Axis> axes;
    axes.reserve(texts.size());
    for (const std::string& text : texts) {
        axes.push_back(study::parse_axis(option, text));
    }
    return axes;
}

bool has_failed(const study::JobOutcome& outcome) {
    return outcome.exit_status != 0;
}

/// Says on standard error how many points failed, and why the first did.
void report_failures(const std::vector<study::JobOutcome>& outcomes) {
    const auto count = std::ranges::count_if(outcomes, has_failed);
    if (count > 0) {
        const auto first = std::ranges::find_if(outcomes, has_failed);
        complain(
            fmt::format("sweep: {} of {} points failed, see the column \"error\"; point {}: {}",
                        count,
                        outcomes.size(),
                        first - outcomes.begin() + 1,
                        first->error));
    }
}

/// Says why all points failed, of which there is no table: each message once.
void report_all_failed(const std::vector<study::JobOutcome>& outcomes) {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> messages;
    std::set<std::string_view> seen;
    for (const study::JobOutcome& outcome : outcomes) {
        if (seen.insert(outcome.error).second) {
            messages.push_back(outcome.error);
        }
    }
    for (std::size_t i = 0; i < std::min(messages.size(), kShown); ++i) {
        complain(messages[i]);
    }
    const std::string more = messages.size() > kShown
                                 ? fmt::format(" and {} other messages", messages.size() - kShown)
                                 : std::string{};
    complain(outcomes.size() == 1
                 ? "sweep: its only point failed; no table is written"
                 : fmt::format("sweep: all {} points failed so{}; no table is written",
                               outcomes.size(),
                               more));
}

int sweep(const SweepOptions& options) {
    const GridRequest request{.chips = parse_chips("--chip", chip_or_default(options.chips)),
                              .settings = parse_axes("--set", options.model.settings),
                              .policies = parse_axes("--policy", options.model.policies),
                              .everywhere = {.method = options.model.method},
                              .is_permissive = options.input.is_permissive,
                              .processes = options.processes};
    const study::Grid grid = make_grid(request);
    Sources sources{{"INPUT", options.input.input}};
    for (const std::string& chip : request.chips) {
        sources.emplace_back("--chip", chip_file(chip));
    }
    require_sources_kept({{"--csv", options.csv}}, sources);
    OutputFile csv("--csv", options.csv);
    Input input(options.input);
    const std::vector<study::JobOutcome> outcomes = run_grid(input, request, grid);
    if (std::ranges::all_of(outcomes, has_failed)) {
        report_all_failed(outcomes);
        return study::worst_exit_status(outcomes);
    }
    study::write_sweep_csv(csv.stream(), grid, outcomes);
    csv.commit();
    report_failures(outcomes);
    return study::worst_exit_status(outcomes);
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_status) {
    const auto options = std::make_shared<SweepOptions>();
    CLI::App* command = app.add_subcommand(
        "sweep", "simulate one kernel at every combination of chips, settings and policies");
    add_to(*command, options->input);
    add_chip(*command, options->chips, "chips to try, with commas between them");
    add_to(*command, options->model, "V1,V2");
    add_output(*command,
               "--csv",
               options->csv,
               "the table: a row for each point, in the order of the values")
        ->capture_default_str();
    command
        ->add_option("--processes",
                     options->processes,
                     "points simulated at the same time; all cores by default")
        ->type_name("N")
        ->check(whole_number(1, 1024));
    command->footer(
        "Examples:\n"
        "  trnsim sweep matmul.nkt --chip trn2,trn3 --csv chips.csv\n"
        "  trnsim sweep matmul.nkt --set dma.engines=4,8,16 --policy buffer_factor=1,2,4 --csv "
        "dma.csv\n\n"
        "A point that fails keeps its row, with its message in the column \"error\"; if all fail "
        "there is no table.");
    command->callback([options, &exit_status] { exit_status = sweep(*options); });
}

}  // namespace trnsim::cli
