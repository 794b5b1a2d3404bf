// SPDX-License-Identifier: Apache-2.0
// The three kinds of fault keep apart.
#include "trnsim/base/error.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace trnsim {
namespace {

TEST(ErrorTest, ConfigAndTraceErrorsAreTheUsers) {
    EXPECT_THROW(throw ConfigError("chip.json: is, is allowed; do"), UserError);
    EXPECT_THROW(throw TraceError("a.nkt:3: is, is allowed; do"), UserError);
}

TEST(ErrorTest, ProgramErrorsAreNotTheUsers) {
    EXPECT_FALSE((std::is_base_of_v<UserError, ProgramError>));
    EXPECT_FALSE((std::is_base_of_v<ProgramError, UserError>));
}

TEST(ErrorTest, KeepsItsMessage) {
    const ProgramError error("SBUF: is, is allowed; do");
    EXPECT_STREQ(error.what(), "SBUF: is, is allowed; do");
}

}  // namespace
}  // namespace trnsim
