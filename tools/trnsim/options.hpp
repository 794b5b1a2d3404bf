// SPDX-License-Identifier: Apache-2.0
// Options that several commands share.
#pragma once

#include "trnsim/lowering/policies.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::cli {

/// INPUT, --arg, --assume and --permissive.
struct InputOptions {
    std::string input;
    std::vector<std::string> arguments;
    std::vector<std::string> trip_counts{};  ///< --assume, NAME=COUNT.
    bool is_permissive = false;
};
void add_to(CLI::App& command, InputOptions& options);

/// --values and what goes with it.
struct ValueOptions {
    bool is_wanted = false;  ///< --values
    std::int64_t seed = 0;
    bool reads_unwritten = false;
    std::string reference{};  ///< --check
    std::optional<double> rtol{};
    std::optional<double> atol{};

    /// The option that asks for values, for messages; empty if none does.
    [[nodiscard]] std::string asked_by() const;
    /// \param computes_anyway whether values are computed without being asked for, as in scripts
    /// \throws UserError for an option without the one that it belongs to
    void require_complete(bool computes_anyway) const;
};
/// Adds --values, --seed and --reads-unwritten.
void add_to(CLI::App& command, ValueOptions& options);
/// Adds --check, --rtol and --atol.
void add_check(CLI::App& command, ValueOptions& options);

/// --set and --policy, each repeatable, and --method.
struct ModelOptions {
    std::string method{};  ///< Empty: "profiler", but nki.benchmark in scripts.
    std::vector<std::string> settings;
    std::vector<std::string> policies;
};
/// \param value_form how the help names a value: "VALUE" or "V1,V2"
void add_to(CLI::App& command, ModelOptions& options, const std::string& value_form);

/// \throws UserError if two assignments NAME=VALUE of an option are to the same name
void require_once(const std::string& option, const std::vector<std::string>& assignments);
/// The same for --set and --policy.
void require_once(const ModelOptions& options);

/// Adds an option that may be given several times, one value each; a value may begin with "[".
CLI::Option* add_repeatable(CLI::App& command,
                            const std::string& name,
                            std::vector<std::string>& values,
                            const std::string& help);

/// Allows finite numbers from 0 on.
[[nodiscard]] CLI::Validator not_negative();

/// Allows whole decimal numbers from `least` to `most`.
[[nodiscard]] CLI::Validator whole_number(
    std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// Allows any text but an empty one, which a shell makes of a variable without a value.
[[nodiscard]] CLI::Validator not_empty();

/// \throws UserError for an option with "=" and nothing behind it, which would take the next word
void require_values(const CLI::App& app, const std::vector<std::string>& words);

/// An option that names a file to be written.
CLI::Option* add_output(CLI::App& command,
                        const std::string& name,
                        std::string& path,
                        const std::string& help);

/// --chip, for commands that take one.
void add_chip(CLI::App& command, std::string& chip, const std::string& help);

/// A chip's name if it is that of a file, else nothing.
[[nodiscard]] std::string chip_file(const std::string& chip);

/// The chips of a list with commas between them.
/// \throws UserError for a chip that is given twice, by whatever names
[[nodiscard]] std::vector<std::string> parse_chips(std::string_view option, std::string_view text);

/// The chip that the user named, else that of NEURON_PLATFORM_TARGET_OVERRIDE, else trn2.
/// \throws UserError for a value of the variable that is no target
[[nodiscard]] std::string chip_or_default(const std::string& chip);

/// A chip with settings applied. \throws ConfigError
[[nodiscard]] spec::ChipConfig load_chip(const std::string& name,
                                         const std::vector<std::string>& settings);

/// The default policies of an API with overrides applied. \throws UserError
[[nodiscard]] lowering::Policies choose_policies(const std::string& api,
                                                 const std::vector<std::string>& overrides);

}  // namespace trnsim::cli
