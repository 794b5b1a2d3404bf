// SPDX-License-Identifier: Apache-2.0
// INPUT on the command line: a program trace, or a kernel to trace.
#pragma once

#include "options.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/report/value_report.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::cli {

/// Whether INPUT is a Python script, which `trnsim run` runs as it is.
[[nodiscard]] bool is_script(const std::string& input);

/// What the user named, and the programs it stands for.
class Input {
public:
    /// \param options a path, "-", or "file.py::function"; arguments and trip counts for kernels
    /// only
    /// \param values what is asked about the values, for kernels only
    /// \throws UserError if the text names a script, or a trace is given what is for kernels
    explicit Input(InputOptions options, ValueOptions values = {});

    [[nodiscard]] const std::string& text() const { return options_.input; }
    [[nodiscard]] bool is_kernel() const { return is_kernel_; }

    /// The program as it runs on a chip: a trace is read once; a kernel is traced once for each
    /// chip, because tile limits differ, and once more where settings change them. \throws
    /// UserError, ProgramError as the reader and the frontend do
    [[nodiscard]] const program::Program& program_for(
        const std::string& chip, const std::vector<std::string>& settings = {});

    /// What the kernel traced last computed, if that was asked for.
    [[nodiscard]] const std::optional<report::ValueReport>& values() const { return computed_; }

private:
    void require_no_kernel_options() const;

    InputOptions options_;
    ValueOptions values_;
    std::optional<report::ValueReport> computed_;
    bool is_kernel_ = false;
    /// By chip and what settings change of its limits; a trace is under nothing.
    std::map<std::vector<std::string>, program::Program> programs_;
};

/// \throws UserError naming each operation the frontend could not record, unless there is none
void require_supported(const program::Program& program, const std::string& input);

/// Text for a warning if the trace was made for another chip than the one it runs on, or for one
/// whose name is almost that of a chip; empty otherwise.
[[nodiscard]] std::string target_warning(const program::Program& program,
                                         const ChipSpec& simulated);

}  // namespace trnsim::cli
