// SPDX-License-Identifier: Apache-2.0
// Runs jobs in processes of this machine: a SystemC kernel can be elaborated once in a process, so
// each simulation of a study has one of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace trnsim::study {

/// A piece of work; what it returns is handed to the parent process. It may throw.
using Job = std::function<std::string()>;

/// What became of a job.
struct JobOutcome {
    int exit_status =
        0;  ///< 0, 2 (UserError), 3 (ProgramError) or 1 (anything else), as trnsim's own.
    std::string output{};  ///< What the job returned, if exit_status is 0.
    std::string error{};   ///< The message otherwise.
};

/// Called after each finished job.
using JobProgress = std::function<void(std::size_t done, std::size_t total)>;

/// Runs each job in a forked process, at most `processes` at a time, and returns their outcomes in
/// the order of the jobs. A job that is killed has an outcome too. The caller must have no threads.
/// Children end with their parent. \throws std::system_error if no process can be started
[[nodiscard]] std::vector<JobOutcome> run_in_processes(const std::vector<Job>& jobs,
                                                       std::size_t processes,
                                                       const JobProgress& progress = {});

/// The processors this process may run on, at least 1.
[[nodiscard]] std::size_t available_processors();

}  // namespace trnsim::study
