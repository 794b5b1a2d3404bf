// SPDX-License-Identifier: Apache-2.0
// What a word on the command line names, for messages to who named it where another is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trnsim::cli {

/// A file or kernel that one of the commands reads or writes.
struct KnownFile {
    enum class Kind : std::uint8_t {
        Kernel,
        Script,
        Trace,
        Result,        ///< Of run --json.
        Instructions,  ///< Of run --instructions, or a profile.
        Chip,
        Other
    };
    Kind kind = Kind::Other;
    std::string what;  ///< "a trace"
    std::string use;   ///< "trnsim run a.nkt simulates it"
};

/// By its name and how it begins; nothing for what is none of them, cannot be read, or would be
/// used up by reading. Other JSON than a trace is read as a whole.
[[nodiscard]] std::optional<KnownFile> known_file(const std::string& name);

/// \throws UserError if the name is that of something else than a kernel or a trace
void require_program(const std::string& name);

/// \throws UserError if the name is that of something else than a chip
void require_chip(const std::string& name);

/// \throws UserError if the name is that of something else than what trnsim diff compares
void require_comparable(const std::string& name);

}  // namespace trnsim::cli
