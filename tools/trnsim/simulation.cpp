// SPDX-License-Identifier: Apache-2.0
// One simulation as the commands ask for it.
#include "simulation.hpp"

#include "terminal.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/dma/dma_timing.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace trnsim::cli {
namespace {

/// How often a program runs so that it takes that many NeuronCores (0: once).
std::size_t copies(const program::Program& program, const ChipSpec& chip, std::size_t cores) {
    const auto each = static_cast<std::size_t>(program.header.cores);
    if (cores > 0) {
        check_cores(cores, chip);
    }
    if (cores % each != 0) {
        throw UserError(fmt::format(
            "--cores {}: the program takes {} NeuronCores; give a multiple", cores, each));
    }
    return cores == 0 ? 1 : cores / each;
}

/// Policies that were asked for and change nothing.
std::vector<std::string> policy_warnings(const program::Program& program,
                                         const ChipSpec& chip,
                                         const lowering::Policies& chosen,
                                         const std::vector<std::string>& policies) {
    std::vector<std::string> warnings;
    const bool has_hardware = chip.neuron_core.dge.hardware.available;
    for (const std::string& policy : policies) {
        if (program.header.form == program::Form::Lowered) {
            warnings.push_back(fmt::format(
                "a lowered trace is executed as it is written; {} changes nothing", policy));
        } else if (!has_hardware &&
                   (policy == "dge=hardware" || policy == "scratch_dge=hardware")) {
            warnings.push_back(
                fmt::format("{} has no hardware descriptor generation; {} changes nothing",
                            chip.short_name,
                            policy));
        } else if (policy.starts_with("dma_rings=") && chosen.dma_rings > chip.dma.rings) {
            warnings.push_back(fmt::format("{} has dma.rings={}; {} is no more than dma_rings={}",
                                           chip.short_name,
                                           chip.dma.rings,
                                           policy,
                                           chip.dma.rings));
        }
    }
    return warnings;
}

/// A size of SBUF that was set and gives tiles no room, as a warning; empty if none was. A lowered
/// trace has its own addresses, for which that size counts.
std::string sbuf_warning(const program::Program& program,
                         const ChipSpec& chip,
                         const std::vector<std::string>& settings) {
    const auto find = [&settings](std::string_view path) {
        return std::ranges::find_if(settings, [path](const std::string& setting) {
            return setting.starts_with(path) && setting.substr(path.size()).starts_with('=');
        });
    };
    const auto set = find("neuron_core.sbuf.partition_kib");
    constexpr std::string_view kUsable = "neuron_core.sbuf.usable_partition_kib";
    if (program.header.form == program::Form::Lowered || set == settings.end() ||
        find(kUsable) != settings.end()) {
        return {};
    }
    return fmt::format("{} gives the compiler no more room for tiles, which is {}={}; set that too",
                       *set,
                       kUsable,
                       chip.neuron_core.sbuf.usable_partition_kib);
}

/// DMA engines that move nothing to or from SBUF, as a warning; empty if all do.
std::string idle_engines_warning(const ChipSpec& chip) {
    const std::int64_t partitions = chip.neuron_core.sbuf.partitions;
    const std::int64_t serving = dma::serving_engines(chip.dma, partitions);
    if (serving == chip.dma.engines) {
        return {};
    }
    const std::int64_t fewer = partitions / chip.dma.engines;
    return fmt::format(
        "{} of {} DMA engines serve no partitions of SBUF, since each of them serves {}{}",
        chip.dma.engines - serving,
        chip.dma.engines,
        chip.dma.partitions_per_engine,
        fewer > 0 ? fmt::format("; with dma.partitions_per_engine={} all do", fewer) : "");
}

}  // namespace

report::Report simulate_input(Input& input,
                              const Simulation& simulation,
                              timeline::TimelineSink* timeline) {
    spec::ChipConfig chip = load_chip(simulation.chip, simulation.model.settings);
    const program::Program& program = input.program_for(simulation.chip, simulation.model.settings);
    if (!simulation.is_permissive) {
        require_supported(program, input.text());
    }
    RunOptions options{.policies = choose_policies(program.header.api, simulation.model.policies),
                       .method = simulation.model.method.empty()
                                     ? Method::Profiler
                                     : method_from_name(simulation.model.method).value(),
                       .timeline = timeline,
                       .progress = {}};
    Progress progress("simulating " + input.text());
    if (simulation.shows_progress) {
        options.progress = [&progress](std::int64_t done, std::int64_t total) {
            progress.update(done, total);
        };
    }
    spdlog::info("simulating {} instructions on {}", program.instruction_count, chip.spec.name);
    RunResult result = simulate(
        Launch(copies(program, chip.spec, simulation.cores), &program), chip.spec, options);
    if (std::string warning = target_warning(program, chip.spec); !warning.empty()) {
        result.warnings.push_back(std::move(warning));
    }
    if (std::string warning = idle_engines_warning(chip.spec); !warning.empty()) {
        result.warnings.push_back(std::move(warning));
    }
    if (std::string warning = sbuf_warning(program, chip.spec, simulation.model.settings);
        !warning.empty()) {
        result.warnings.push_back(std::move(warning));
    }
    std::ranges::move(
        policy_warnings(program, chip.spec, options.policies, simulation.model.policies),
        std::back_inserter(result.warnings));
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
