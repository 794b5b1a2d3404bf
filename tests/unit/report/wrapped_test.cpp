// SPDX-License-Identifier: Apache-2.0
// Long lines are broken at spaces, and nothing of them is lost.
#include "trnsim/report/wrapped.hpp"

#include <gtest/gtest.h>

namespace trnsim::report {
namespace {

TEST(WrappedTest, WhatFitsStaysAsItIs) {
    EXPECT_EQ(wrapped("", 10, 2), "");
    EXPECT_EQ(wrapped("one two 3 ", 10, 2), "one two 3 ");
}

TEST(WrappedTest, PartsAreAsLongAsTheyMayBeAndIndentedButForTheFirst) {
    EXPECT_EQ(wrapped("one two three four", 9, 2), "one two\n  three\n  four");
    EXPECT_EQ(wrapped("one two three four", 12, 2), "one two\n  three four");
}

TEST(WrappedTest, IndentationOfTheFirstPartIsKept) {
    EXPECT_EQ(wrapped("    one two", 8, 4), "    one\n    two");
}

TEST(WrappedTest, AWordThatIsTooLongStaysWhole) {
    EXPECT_EQ(wrapped("abcdefghijkl", 5, 2), "abcdefghijkl");
    EXPECT_EQ(wrapped("a abcdefghijkl b", 5, 2), "a\n  abcdefghijkl\n  b");
    EXPECT_EQ(wrapped("abc   ", 4, 2), "abc ");
}

TEST(WrappedTest, ColumnsAreCharacters) {
    EXPECT_EQ(wrapped("\u00b5s \u00b5s", 5, 0), "\u00b5s \u00b5s");
    EXPECT_EQ(wrapped("\u00b5s \u00b5s", 4, 0), "\u00b5s\n\u00b5s");
}

}  // namespace
}  // namespace trnsim::report
