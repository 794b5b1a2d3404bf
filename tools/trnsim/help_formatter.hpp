// SPDX-License-Identifier: Apache-2.0
// Help whose lines fit into a terminal.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace trnsim::cli {

/// CLI11's help with lines of at most 100 columns: longer ones go on below their description.
class HelpFormatter : public CLI::Formatter {
public:
    HelpFormatter();
    [[nodiscard]] std::string make_help(const CLI::App* app,
                                        std::string name,
                                        CLI::AppFormatMode mode) const override;
};

}  // namespace trnsim::cli
