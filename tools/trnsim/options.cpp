// SPDX-License-Identifier: Apache-2.0
// Options that several commands share.
#include "options.hpp"

#include "known_file.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/study/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>

namespace trnsim::cli {
namespace {

/// Names the chip that the Neuron SDK compiles kernels for. [NKI-SIMULATOR]
constexpr const char* kTargetVariable = "NEURON_PLATFORM_TARGET_OVERRIDE";

constexpr std::string_view kEmpty = "the value is empty; give one or leave the option out";

struct Target {
    std::string_view name;
    std::string_view chip;
};
constexpr std::array kTargets{Target{"trn1", "trn1"},
                              Target{"gen2", "trn1"},
                              Target{"inf2", "inf2"},
                              Target{"trn2", "trn2"},
                              Target{"gen3", "trn2"},
                              Target{"trn3", "trn3"},
                              Target{"gen4", "trn3"}};

/// What CLI11 takes for an octal, hexadecimal or binary number.
bool is_not_decimal(const std::string& text) {
    return text.size() > 1 && text[0] == '0' && text[1] != '.' && text[1] != 'e';
}

std::string not_decimal(const std::string& text) {
    return fmt::format("\"{}\" is not a decimal number; leave the 0 before it out", text);
}

}  // namespace

CLI::Option* add_repeatable(CLI::App& command,
                            const std::string& name,
                            std::vector<std::string>& values,
                            const std::string& help) {
    return command.add_option(name, values, help)->allow_extra_args(false);
}

CLI::Validator not_negative() {
    return {[](const std::string& text) {
                double value = 0;
                if (is_not_decimal(text)) {
                    return not_decimal(text);
                }
                if (!CLI::detail::lexical_cast(text, value) || !(value >= 0)) {
                    return fmt::format("\"{}\" is not a number of at least 0", text);
                }
                return std::isinf(value)
                           ? fmt::format(
                                 "\"{}\" is not finite, but a number of at least 0 is needed", text)
                           : std::string{};
            },
            "NONNEGATIVE"};
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
    const bool is_open = most == std::numeric_limits<std::int64_t>::max();
    const auto check = [least, most, is_open](const std::string& text) {
        std::int64_t value = 0;
        if (is_not_decimal(text)) {
            return not_decimal(text);
        }
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        const bool is_number = stop == end && !text.empty();
        if (is_open && is_number && error == std::errc::result_out_of_range && text[0] != '-') {
            return fmt::format("\"{}\" is too large; give a smaller number", text);
        }
        if (is_number && error == std::errc{} && value >= least && value <= most) {
            return std::string{};
        }
        return is_open
                   ? fmt::format("\"{}\" is not a whole number of at least {}", text, least)
                   : fmt::format("\"{}\" is not a whole number from {} to {}", text, least, most);
    };
    return {check, is_open ? "POSITIVE" : fmt::format("{} to {}", least, most)};
}

CLI::Validator not_empty() {
    return {
        [](const std::string& text) { return text.empty() ? std::string{kEmpty} : std::string{}; },
        ""};
}

void require_values(const CLI::App& app, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (word == "--") {
            return;
        }
        if (!word.starts_with("--") || word.find('=') != word.size() - 1) {
            continue;
        }
        const std::string name = word.substr(0, word.size() - 1);
        for (const CLI::App* command : app.get_subcommands(nullptr)) {
            if (command->get_option_no_throw(name) != nullptr) {
                throw UserError(fmt::format("{}: {}", name, kEmpty));
            }
        }
    }
}

void add_to(CLI::App& command, InputOptions& options) {
    command
        .add_option(
            "INPUT",
            options.input,
            "a trace (.nkt, .nkt.zst, or - for standard input), a kernel (file.py::function, or "
            "'file.py::function[2]' on a launch grid) or, for run, a script (file.py)")
        ->required();
    add_repeatable(command,
                   "--arg",
                   options.arguments,
                   "a kernel's next parameter: dtype[shape] or a Python literal; or name=value")
        ->type_name("VALUE");
    add_repeatable(command,
                   "--assume",
                   options.trip_counts,
                   "how often a kernel's loop runs whose bound is in the register NAME, unless "
                   "values say so [8]")
        ->type_name("NAME=COUNT");
    command.add_flag(
        "--permissive",
        options.is_permissive,
        "simulate a trace that notes operations which could not be recorded, without them");
}

std::string ValueOptions::asked_by() const {
    return !reference.empty() ? fmt::format("--check {}", reference)
                              : (is_wanted ? std::string{"--values"} : std::string{});
}

void ValueOptions::require_complete(bool computes_anyway) const {
    if (reference.empty() && (rtol || atol)) {
        throw UserError(
            fmt::format("--{}: is the tolerance of --check, which is not given; add "
                        "--check file.py::function",
                        rtol ? "rtol" : "atol"));
    }
    if (reads_unwritten && asked_by().empty() && !computes_anyway) {
        throw UserError("--reads-unwritten: is about values, which are not computed; add --values");
    }
    if (seed != 0 && asked_by().empty()) {
        throw UserError(fmt::format(
            "--seed {}: is that of the values, which are not computed; add --values", seed));
    }
}

void add_to(CLI::App& command, ValueOptions& options) {
    command.add_flag("--values",
                     options.is_wanted,
                     "also compute what a kernel computes, and find what it reads before it is "
                     "written");
    command
        .add_option("--seed",
                    options.seed,
                    "of the random contents of dtype[shape] arguments, with --values [0]")
        ->type_name("N")
        ->check(whole_number(0, std::int64_t{1} << 53));
    command.add_flag("--reads-unwritten",
                     options.reads_unwritten,
                     "what nothing has written reads as NaN, with --values or in a script, instead "
                     "of being an error");
}

void add_check(CLI::App& command, ValueOptions& options) {
    command
        .add_option("--check",
                    options.reference,
                    "compare what a kernel computes with what a numpy function of the same "
                    "arguments returns (file.py::function); implies --values")
        ->type_name("REFERENCE")
        ->check(not_empty());
    command
        .add_option(
            "--rtol",
            options.rtol,
            "relative error that --check allows [by type: float32 1e-5, bfloat16 1.6e-2, …]")
        ->type_name("X")
        ->check(not_negative());
    command
        .add_option("--atol",
                    options.atol,
                    "absolute error that --check allows [rtol times the lower quartile of the "
                    "expected magnitudes]")
        ->type_name("X")
        ->check(not_negative());
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
    add_repeatable(
        command,
        "--policy",
        options.policies,
        fmt::format("override a decision of the lowering (`compiler` in the JSON of run says "
                    "what each means): {}",
                    fmt::join(names, ", ")))
        ->type_name("NAME=" + value_form);
    command
        .add_option("--method",
                    options.method,
                    "what the latency compares with: a profiler's total_time, or nki.benchmark, "
                    "whose kernel start is shorter on trn2 and trn3 and longer on trn1 and inf2 "
                    "[profiler; in a script benchmark for what nki.benchmark launches]")
        ->check(CLI::IsMember({"profiler", "benchmark"}))
        ->type_name("METHOD");
}

void require_once(const std::string& option, const std::vector<std::string>& assignments) {
    std::map<std::string, std::string> known;
    for (const std::string& assignment : assignments) {
        const auto [other, is_first] =
            known.emplace(assignment.substr(0, assignment.find('=')), assignment);
        if (!is_first) {
            throw UserError(fmt::format("{} {}: {} is given twice, before as {}; leave one out",
                                        option,
                                        assignment,
                                        other->first,
                                        other->second));
        }
    }
}

void require_once(const ModelOptions& options) {
    require_once("--set", options.settings);
    require_once("--policy", options.policies);
}

CLI::Option* add_output(CLI::App& command,
                        const std::string& name,
                        std::string& path,
                        const std::string& help) {
    return command.add_option(name, path, help)->type_name("FILE")->check(not_empty());
}

void add_chip(CLI::App& command, std::string& chip, const std::string& help) {
    command
        .add_option("--chip",
                    chip,
                    help + fmt::format(" [the target that ${} names, else trn2]", kTargetVariable))
        ->type_name("CHIP")
        ->check(not_empty());
}

std::string chip_file(const std::string& chip) {
    const bool is_file = chip.find('/') != std::string::npos || chip.ends_with(".json");
    return is_file ? chip : std::string{};
}

std::vector<std::string> parse_chips(std::string_view option, std::string_view text) {
    std::vector<std::string> chips = study::parse_values(option, text);
    std::map<std::string, std::string> seen;  // By the name that its file has.
    for (const std::string& chip : chips) {
        std::string name = chip;
        try {
            if (chip_file(chip).empty()) {
                name = spec::load_chip(chip).spec.name;
            }
        } catch (const UserError&) {  // Whoever runs it says so, and runs the others.
        }
        const auto [other, is_new] = seen.emplace(name, chip);
        if (!is_new) {
            throw UserError(fmt::format(
                "{}: {} and {} are the same chip; remove one", option, other->second, chip));
        }
    }
    return chips;
}

std::string chip_or_default(const std::string& chip) {
    const char* target = std::getenv(kTargetVariable);
    if (!chip.empty() || target == nullptr || *target == '\0') {
        return chip.empty() ? "trn2" : chip;
    }
    std::vector<std::string_view> names;
    for (const Target& one : kTargets) {
        if (one.name == target) {
            return std::string{one.chip};
        }
        names.push_back(one.name);
    }
    throw UserError(fmt::format(
        "{}: '{}' is not a target, targets are {}; set one of them or unset the variable",
        kTargetVariable,
        target,
        fmt::join(names, ", ")));
}

spec::ChipConfig load_chip(const std::string& name, const std::vector<std::string>& settings) {
    require_chip(name);
    spec::ChipConfig chip = spec::load_chip(name);
    spec::set(chip, settings);
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
