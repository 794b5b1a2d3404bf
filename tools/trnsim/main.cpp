// SPDX-License-Identifier: Apache-2.0
// The command line of trnsim: parses, runs one command, and turns exceptions into messages and exit
// statuses.
#include "commands.hpp"
#include "help_formatter.hpp"
#include "interrupt.hpp"
#include "logging.hpp"
#include "options.hpp"
#include "output_file.hpp"
#include "standard_streams.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/base/nearest_name.hpp"

#include <systemc>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace trnsim;  // NOLINT(google-build-using-namespace): main reads as in the library

constexpr int kOurFault = 1;
constexpr int kUserError = 2;
constexpr int kProgramError = 3;

/// The command that was being parsed, or the application itself.
const CLI::App& innermost(const CLI::App& app) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    return chosen.empty() ? app : *chosen.front();
}

std::string name_of(const CLI::App& app) {
    return app.get_parent() == nullptr ? app.get_name()
                                       : app.get_parent()->get_name() + " " + app.get_name();
}

std::vector<std::string> allowed_words(const CLI::App& app) {
    std::vector<std::string> words;
    for (const CLI::App* command : app.get_subcommands(nullptr)) {
        words.push_back(command->get_name());
    }
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            words.push_back("--" + name);
        }
    }
    return words;
}

/// How many inputs a command takes, for a word that may be one more of them.
std::string_view number_of_inputs(const CLI::App& command) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNumbers{
        {{"compare",
          "it compares chips that run one INPUT, and trnsim diff compares the results of two"},
         {"sweep", "it takes one INPUT"},
         {"trace", "it takes one INPUT"},
         {"diff", "it takes two files"},
         {"validate", "it simulates the kernels of published measurements, and trnsim run yours"}}};
    const auto* found = std::ranges::find(
        kNumbers, command.get_name(), [](const auto& number) { return number.first; });
    return found == kNumbers.end() ? std::string_view{} : found->second;
}

/// What the user reads when the words on the command line do not fit.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App& command = innermost(app);
    const std::string name = name_of(command);
    const std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) {
        const std::string_view inputs = number_of_inputs(command);
        if (!inputs.empty() && !extras.front().starts_with('-')) {
            return fmt::format("{}: {} is one word too many: {}; {} --help lists its words",
                               name,
                               extras.front(),
                               inputs,
                               name);
        }
        const std::vector<std::string> words = allowed_words(command);
        const std::string_view nearest = trnsim::nearest_name(extras.front(), words);
        return fmt::format("{}: {} is not one of its words{}; {} --help lists them",
                           name,
                           extras.front(),
                           nearest.empty() ? "" : fmt::format(", did you mean {}?", nearest),
                           name);
    }
    return fmt::format("{}: {}; {} --help tells more", name, error.what(), name);
}

int run(int argc, char** argv) {
    CLI::App app{
        "trnsim simulates NKI kernels on AWS Trainium and Inferentia chips: how long, and why.\n",
        "trnsim"};
    int exit_status = 0;
    app.formatter(std::make_shared<cli::HelpFormatter>());
    app.require_subcommand(1);
    app.fallthrough();
    app.set_version_flag("--version", "trnsim " TRNSIM_VERSION);
    app.add_flag_function(
        "-v,--verbose",
        [](std::int64_t count) { cli::set_verbosity(count); },
        "say on standard error what is done, after how much processor time; twice for more");
    cli::add_run(app, exit_status);
    cli::add_compare(app, exit_status);
    cli::add_sweep(app, exit_status);
    cli::add_describe(app, exit_status);
    cli::add_trace(app, exit_status);
    cli::add_diff(app, exit_status);
    cli::add_validate(app, exit_status);
    app.footer(
        "Examples:\n"
        "  trnsim run kernel.py::softmax --arg 'float32[4096,1024]'\n"
        "  trnsim run benchmark.py -- --batch 4\n"
        "  trnsim compare kernel.nkt --chips trn1,inf2,trn2,trn3\n"
        "  trnsim describe trn2.neuron_core.tensor_engine\n\n"
        "Exit status: 0 done, 1 an error of trnsim's own, 2 the input is wrong, 3 the simulated "
        "program is wrong (deadlock, race, overflow), 4 its results are not those of --check.");
    cli::require_values(app, {argv + 1, argv + argc});
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        app.exit(help);
        cli::flush_standard_output();
        return 0;
    } catch (const CLI::ParseError& error) {
        throw UserError(explain(app, error));
    }
    cli::flush_standard_output();
    return exit_status;
}

}  // namespace

// libsystemc refers to sc_main; simulations elaborate from main instead.
int sc_main(int /*argc*/, char* /*argv*/[]) {
    return 0;
}

int main(int argc, char** argv) {
    cli::occupy_closed_streams();
    cli::clean_up_on_signals();
    cli::end_with_parent();
    cli::set_up_logging();
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    try {
        return run(argc, argv);
    } catch (const UserError& error) {
        cli::complain(error.what());
        return kUserError;
    } catch (const ProgramError& error) {
        cli::complain(error.what());
        return kProgramError;
    } catch (const std::exception& error) {
        cli::complain(
            fmt::format("trnsim: an error of its own, please report it: {}", error.what()));
        return kOurFault;
    }
}
