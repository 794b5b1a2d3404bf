// SPDX-License-Identifier: Apache-2.0
// trnsim diff: what changed between two results.
#include "commands.hpp"
#include "output_file.hpp"
#include "terminal.hpp"
#include "trnsim/report/difference.hpp"

#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace trnsim::cli {
namespace {

struct DiffOptions {
    std::string before;
    std::string after;
    std::string json;
};

void diff(const DiffOptions& options) {
    std::optional<OutputFile> json;
    if (!options.json.empty()) {
        json.emplace("--json", options.json);
    }
    const report::Difference difference = report::diff(report::ResultFile::read(options.before),
                                                       report::ResultFile::read(options.after));
    if (json) {
        json->stream() << report::to_json(difference);
        json->commit();
    }
    if (options.json != "-") {
        std::cout << report::to_text(difference, standard_output_takes_colour());
    }
}

}  // namespace

void add_diff(CLI::App& app, int& /*exit_status*/) {
    const auto options = std::make_shared<DiffOptions>();
    CLI::App* command = app.add_subcommand("diff", "show what changed between two results");
    command->add_option("BEFORE", options->before, "a result that run --json wrote")->required();
    command->add_option("AFTER", options->after, "another")->required();
    command
        ->add_option(
            "--json", options->json, "write all changes as JSON (-: to standard output, alone)")
        ->type_name("FILE");
    command->footer(
        "Examples:\n"
        "  trnsim run matmul.nkt --json before.json\n"
        "  trnsim run matmul.nkt --set dma.engines=8 --json after.json\n"
        "  trnsim diff before.json after.json");
    command->callback([options] { diff(*options); });
}

}  // namespace trnsim::cli
