// SPDX-License-Identifier: Apache-2.0
// The three kinds of fault: the user's input, the simulated program, and our own (assert).
#pragma once

#include <stdexcept>
#include <string>

namespace trnsim {

/// What the user gave is wrong: a file, an option, a configuration. Exit status 2.
/// The message reads "where: what is, what is allowed; what to do".
class UserError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A chip configuration or a `--set` is wrong.
class ConfigError : public UserError {
public:
    using UserError::UserError;
};

/// A program trace is not one: syntax, unknown keys, truncation, values out of range.
class TraceError : public UserError {
public:
    using UserError::UserError;
};

/// The simulated program is wrong: deadlock, race, SBUF overflow, a tile no engine takes. Exit
/// status 3.
class ProgramError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace trnsim
