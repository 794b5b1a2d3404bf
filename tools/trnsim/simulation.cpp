// SPDX-License-Identifier: Apache-2.0
// One simulation as the commands ask for it.
#include "simulation.hpp"

#include "terminal.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace trnsim::cli {
namespace {

/// How often a program runs so that it takes that many NeuronCores (0: once).
std::size_t copies(const program::Program& program, std::size_t cores) {
    const auto each = static_cast<std::size_t>(program.header.cores);
    if (cores % each != 0) {
        throw UserError(fmt::format(
            "--cores {}: the program takes {} NeuronCores; give a multiple", cores, each));
    }
    return cores == 0 ? 1 : cores / each;
}

}  // namespace

report::Report simulate_input(Input& input,
                              const Simulation& simulation,
                              timeline::TimelineSink* timeline) {
    spec::ChipConfig chip = load_chip(simulation.chip, simulation.model.settings);
    const program::Program& program = input.program_for(simulation.chip);
    if (!simulation.is_permissive) {
        require_supported(program, input.text());
    }
    RunOptions options{.policies = choose_policies(program.header.api, simulation.model.policies),
                       .method = method_from_name(simulation.model.method).value(),
                       .timeline = timeline,
                       .progress = {}};
    Progress progress("simulating " + input.text());
    if (simulation.shows_progress) {
        options.progress = [&progress](std::int64_t done, std::int64_t total) {
            progress.update(done, total);
        };
    }
    spdlog::info("simulating {} instructions on {}", program.instruction_count, chip.spec.name);
    RunResult result =
        simulate(Launch(copies(program, simulation.cores), &program), chip.spec, options);
    if (std::string warning = target_warning(program, chip.spec); !warning.empty()) {
        result.warnings.push_back(std::move(warning));
    }
    report::Report report = report::make_report({.trnsim_version = TRNSIM_VERSION,
                                                 .input = input.text(),
                                                 .header = program.header,
                                                 .chip = std::move(chip),
                                                 .policies = options.policies},
                                                std::move(result));
    report.values = input.values();
    return report;
}

}  // namespace trnsim::cli
