// SPDX-License-Identifier: Apache-2.0
// Runs the Python side: turns a kernel into a program trace, or becomes one of its commands.
#pragma once

#include "options.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/report/value_report.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::cli {

/// The numbers of a chip that a kernel is recorded with: sizes of memories and tiles.
[[nodiscard]] std::span<const std::string_view> limit_names();
/// Those of PATH=VALUE settings that change what a kernel may do. The others change only how long
/// it takes.
[[nodiscard]] std::vector<std::string> limits_among(const std::vector<std::string>& settings);

/// A kernel as the user named it.
struct KernelReference {
    std::string text;                        ///< "file.py::function"
    std::vector<std::string> arguments;      ///< As given with --arg, in order.
    std::vector<std::string> trip_counts{};  ///< As given with --assume.
    ValueOptions values{};
    std::vector<std::string> limits{};  ///< As given with --set: limits_among() those.
};

/// What the frontend makes of a kernel.
struct TracedKernel {
    program::Program program;
    std::optional<report::ValueReport> values;  ///< If they were asked for.
};

/// Runs `python3 -m trnsim.frontend` for one chip and reads the trace it writes. The interpreter
/// is $TRNSIM_PYTHON, else the one of build/venv, else python3; the package is the installed one or
/// tools/python of the source tree. What the frontend says on standard error is passed on; if it
/// fails, that is the message thrown. \throws UserError, ProgramError by the frontend's exit status
/// 2, 3; std::runtime_error for any other; UserError if the interpreter is no Python that works
[[nodiscard]] TracedKernel trace_kernel(const KernelReference& kernel, const std::string& chip);

/// A file's name as a word that no reader of options takes for one.
[[nodiscard]] std::string plain_word(const std::string& file);

/// Runs `python3 -m` with a module of the package in place of this process, and with this
/// program as the simulator. \param words what follows the name of the module \throws UserError if
/// the interpreter cannot be started, or is no Python that works
[[noreturn]] void become_python(const std::string& module, std::vector<std::string> words);

}  // namespace trnsim::cli
