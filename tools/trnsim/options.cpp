// SPDX-License-Identifier: Apache-2.0
// Options that several commands share.
#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trnsim::cli {

CLI::Option* add_repeatable(CLI::App& command,
                            const std::string& name,
                            std::vector<std::string>& values,
                            const std::string& help) {
    return command.add_option(name, values, help)->allow_extra_args(false);
}

void add_to(CLI::App& command, InputOptions& options) {
    command
        .add_option(
            "INPUT",
            options.input,
            "a trace (.nkt, .nkt.zst, or - for standard input) or a kernel (file.py::function)")
        ->required();
    add_repeatable(command,
                   "--arg",
                   options.arguments,
                   "a kernel's next parameter: dtype[shape] or a Python literal; or name=value")
        ->type_name("VALUE");
    command.add_flag(
        "--permissive",
        options.is_permissive,
        "simulate a trace that leaves operations out because they could not be recorded");
}

void add_to(CLI::App& command, ModelOptions& options, const std::string& value_form) {
    add_repeatable(command,
                   "--set",
                   options.settings,
                   "override a number of the chip; `trnsim describe CHIP` lists them")
        ->type_name("PATH=" + value_form);
    std::vector<std::string> names;
    for (const auto& [name, value] : describe(lowering::default_policies("trace"))) {
        names.push_back(name);
    }
    add_repeatable(command,
                   "--policy",
                   options.policies,
                   fmt::format("override a decision of the lowering: {}", fmt::join(names, ", ")))
        ->type_name("NAME=" + value_form);
}

spec::ChipConfig load_chip(const std::string& name, const std::vector<std::string>& settings) {
    spec::ChipConfig chip = spec::load_chip(name);
    for (const std::string& setting : settings) {
        spec::set(chip, setting);
    }
    return chip;
}

lowering::Policies choose_policies(const std::string& api,
                                   const std::vector<std::string>& overrides) {
    lowering::Policies policies = lowering::default_policies(api);
    for (const std::string& assignment : overrides) {
        lowering::set(policies, assignment);
    }
    return policies;
}

}  // namespace trnsim::cli
