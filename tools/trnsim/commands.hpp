// SPDX-License-Identifier: Apache-2.0
// The commands of trnsim. Each adds its options to the application and stores its exit status when
// it has run.
#pragma once

#include <CLI/CLI.hpp>

namespace trnsim::cli {

void add_run(CLI::App& app, int& exit_status);
void add_compare(CLI::App& app, int& exit_status);
void add_sweep(CLI::App& app, int& exit_status);
void add_describe(CLI::App& app, int& exit_status);
void add_trace(CLI::App& app, int& exit_status);
void add_diff(CLI::App& app, int& exit_status);
void add_validate(CLI::App& app, int& exit_status);

}  // namespace trnsim::cli
