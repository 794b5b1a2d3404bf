// SPDX-License-Identifier: Apache-2.0
// trnsim validate: simulated latencies against published measurements.
#include "commands.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "python_frontend.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::cli {
namespace {

struct ValidateOptions {
    std::string chip;
    std::string family;
    std::string corpus;
    std::string rows;
    std::string json;
    std::string docs;
    std::vector<std::string> settings;
    std::vector<std::string> policies;
    std::size_t jobs = 0;
    bool is_ablation = false;
    bool is_quiet = false;
};

/// The words of `python3 -m trnsim.validation`.
std::vector<std::string> validation_words(const ValidateOptions& options) {
    std::vector<std::string> words;
    const std::vector<std::pair<std::string, std::string>> values{
        {"--chip", options.chip},
        {"--family", options.family},
        {"--corpus", options.corpus},
        {"--rows", options.rows},
        {"--json", options.json},
        {"--write-docs", options.docs},
        {"--jobs", options.jobs == 0 ? "" : std::to_string(options.jobs)}};
    for (const auto& [name, value] : values) {
        if (!value.empty()) {
            words.push_back(fmt::format("{}={}", name, value));
        }
    }
    for (const std::string& setting : options.settings) {
        words.push_back("--set=" + setting);
    }
    for (const std::string& policy : options.policies) {
        words.push_back("--policy=" + policy);
    }
    if (options.is_ablation) {
        words.emplace_back("--ablate");
    }
    if (options.is_quiet) {
        words.emplace_back("--quiet");
    }
    return words;
}

void add_choice(CLI::App& command, ValidateOptions& options) {
    command.add_option("--chip", options.chip, "only what was measured on this chip: trn1, trn2")
        ->type_name("CHIP")
        ->check(not_empty());
    command.add_option("--family", options.family, "only one family of kernels")
        ->type_name("FAMILY")
        ->check(not_empty());
    command
        .add_option("--corpus",
                    options.corpus,
                    "a folder of checkouts called owner+repo: runs the kernels that were measured, "
                    "not only those of this project with the same structure")
        ->type_name("FOLDER")
        ->check(not_empty());
    command
        .add_option(
            "--rows",
            options.rows,
            "measurements of your own; columns id, family, class (new_api; as_written for "
            "kernels with skip_middle_end_transformations, else old_api), chip, "
            "measured_us, kernel (file.py::function), arguments (as --arg takes them, a blank "
            "between two); if you want, method (profiler or benchmark) and more: "
            "docs/accuracy.md")
        ->type_name("FILE.csv")
        ->check(not_empty());
}

void add_model(CLI::App& command, ValidateOptions& options) {
    add_repeatable(command, "--set", options.settings, "override a number of the chips, as in run")
        ->type_name("PATH=VALUE");
    add_repeatable(
        command, "--policy", options.policies, "override a decision of the lowering, as in run")
        ->type_name("NAME=VALUE");
    command.add_flag("--ablate",
                     options.is_ablation,
                     "also the error with each part of the model switched off, one at a time");
    command.add_option("--jobs", options.jobs, "rows at the same time [2]")
        ->type_name("N")
        ->check(whole_number(1));
}

void add_outputs(CLI::App& command, ValidateOptions& options) {
    add_output(
        command, "--json", options.json, "write the result as JSON (-: to standard output, alone)");
    command
        .add_option("--write-docs",
                    options.docs,
                    "rewrite the tables of docs/accuracy.md and README.md of a source tree; they "
                    "are about all "
                    "rows, so --corpus is needed, and what chooses or changes is refused")
        ->type_name("ROOT")
        ->check(not_empty());
    command.add_flag("-q,--quiet", options.is_quiet, "print nothing; for --json and --write-docs");
}

}  // namespace

void add_validate(CLI::App& app, int& /*exit_status*/) {
    const auto options = std::make_shared<ValidateOptions>();
    CLI::App* command =
        app.add_subcommand("validate", "simulate kernels that were measured and show the errors");
    add_choice(*command, *options);
    add_model(*command, *options);
    add_outputs(*command, *options);
    command->footer(
        "Examples:\n"
        "  trnsim validate --family sky_2048\n"
        "  trnsim validate --corpus ~/checkouts --json validation.json --ablate\n"
        "  trnsim validate --rows mine.csv --family mine\n\n"
        "Traces are kept in ~/.cache/trnsim ($TRNSIM_CACHE_DIR, $XDG_CACHE_HOME), and made anew "
        "when a kernel or the frontend changes or one is damaged. docs/accuracy.md explains the "
        "numbers.");
    command->callback([options] {
        require_once("--set", options->settings);
        require_once("--policy", options->policies);
        require_sources_kept({{"--json", options->json}}, {{"--rows", options->rows}});
        require_writable("--json", options->json);
        become_python("trnsim.validation", validation_words(*options));
    });
}

}  // namespace trnsim::cli
