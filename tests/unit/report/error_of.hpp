// SPDX-License-Identifier: Apache-2.0
// What the user is told.
#pragma once

#include "trnsim/base/error.hpp"

#include <string>

namespace trnsim::test {

/// The message of the UserError that the action throws.
template <typename Action>
[[nodiscard]] std::string error_of(const Action& action) {
    try {
        action();
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace trnsim::test
