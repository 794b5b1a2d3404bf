// SPDX-License-Identifier: Apache-2.0
// Simulates one input at every point of a grid.
#include "grid_runner.hpp"

#include "simulation.hpp"
#include "terminal.hpp"
#include "trnsim/base/error.hpp"

#include <exception>
#include <map>
#include <utility>

namespace trnsim::cli {
namespace {

/// Loads the input for each chip; what cannot be loaded is kept as its exception.
std::map<std::string, std::exception_ptr> load_all(Input& input,
                                                   const std::vector<std::string>& chips) {
    std::map<std::string, std::exception_ptr> errors;
    for (const std::string& chip : chips) {
        try {
            static_cast<void>(load_chip(chip, {}));
            static_cast<void>(input.program_for(chip));
        } catch (const UserError&) {
            errors[chip] = std::current_exception();
        } catch (const ProgramError&) {
            errors[chip] = std::current_exception();
        }
    }
    return errors;
}

/// Splits a point's values into chip, settings and policies.
Simulation simulation_at(const GridRequest& request, const std::vector<std::string>& values) {
    Simulation simulation{.chip = values[0],
                          .model = request.everywhere,
                          .is_permissive = request.is_permissive,
                          .shows_progress = false};
    std::size_t next = 1;
    for (const study::Axis& axis : request.settings) {
        simulation.model.settings.push_back(axis.name + "=" + values[next++]);
    }
    for (const study::Axis& axis : request.policies) {
        simulation.model.policies.push_back(axis.name + "=" + values[next++]);
    }
    return simulation;
}

}  // namespace

study::Grid make_grid(const GridRequest& request) {
    std::vector<study::Axis> axes{{.name = "chip", .values = request.chips}};
    axes.insert(axes.end(), request.settings.begin(), request.settings.end());
    axes.insert(axes.end(), request.policies.begin(), request.policies.end());
    return study::Grid(std::move(axes));
}

std::vector<study::JobOutcome> run_grid(Input& input,
                                        const GridRequest& request,
                                        const study::Grid& grid) {
    const std::map<std::string, std::exception_ptr> errors = load_all(input, request.chips);
    std::vector<study::Job> jobs;
    for (std::size_t i = 0; i < grid.size(); ++i) {
        const Simulation simulation = simulation_at(request, grid.point(i));
        if (const auto error = errors.find(simulation.chip); error != errors.end()) {
            jobs.emplace_back(
                [what = error->second]() -> std::string { std::rethrow_exception(what); });
        } else {
            jobs.emplace_back([&input, simulation] {
                return report::to_json(simulate_input(input, simulation));
            });
        }
    }
    Progress progress("simulating " + input.text());
    return study::run_in_processes(
        jobs, request.processes, [&](std::size_t done, std::size_t total) {
            progress.update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total));
        });
}

}  // namespace trnsim::cli
