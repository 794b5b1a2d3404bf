// SPDX-License-Identifier: Apache-2.0
// Simulates one input at every point of a grid.
#include "grid_runner.hpp"

#include "python_frontend.hpp"
#include "simulation.hpp"
#include "terminal.hpp"
#include "trnsim/base/error.hpp"

#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::cli {
namespace {

/// The input as the points of a grid need it, loaded once for all with the same chip and limits.
class Programs {
public:
    explicit Programs(Input& input) : input_(input) {}

    /// nullptr, or why the program of a point cannot be had.
    std::exception_ptr load(const Simulation& simulation) {
        try {
            static_cast<void>(load_chip(simulation.chip, simulation.model.settings));
        } catch (const UserError&) {
            return std::current_exception();
        }
        const std::vector<std::string> limits = limits_among(simulation.model.settings);
        const auto [known, is_new] = known_.try_emplace({simulation.chip, limits});
        if (is_new) {
            try {
                static_cast<void>(input_.program_for(simulation.chip, limits));
            } catch (const UserError&) {
                known->second = std::current_exception();
            } catch (const ProgramError&) {
                known->second = std::current_exception();
            }
        }
        return known->second;
    }

private:
    Input& input_;
    std::map<std::pair<std::string, std::vector<std::string>>, std::exception_ptr> known_;
};

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
    if (const std::string& method = request.everywhere.method; !method.empty()) {
        axes.push_back({.name = "method", .values = {method}});
    }
    return study::Grid(std::move(axes));
}

std::vector<study::JobOutcome> run_grid(Input& input,
                                        const GridRequest& request,
                                        const study::Grid& grid) {
    Programs programs(input);
    std::vector<study::Job> jobs;
    for (std::size_t i = 0; i < grid.size(); ++i) {
        const Simulation simulation = simulation_at(request, grid.point(i));
        if (const std::exception_ptr error = programs.load(simulation)) {
            jobs.emplace_back([error]() -> std::string { std::rethrow_exception(error); });
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
