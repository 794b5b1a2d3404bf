// SPDX-License-Identifier: Apache-2.0
// No name moves the cursor of a terminal.
#include "trnsim/base/control_characters.hpp"

#include <gtest/gtest.h>

namespace trnsim {
namespace {

TEST(WithoutControlsTest, PutsASpaceInPlaceOfEach) {
    EXPECT_EQ(without_controls("a\x1b[31mb\x7f\r\n\tc"), "a [31mb    c");
    EXPECT_EQ(without_controls(std::string_view("\0", 1)), " ");
    EXPECT_EQ(without_controls(""), "");
}

TEST(WithoutControlsTest, KeepsWhatIsAskedForAndOtherLanguages) {
    EXPECT_EQ(without_controls("a\n\tb\x1b", "\n\t"), "a\n\tb ");
    EXPECT_EQ(without_controls("\u00b5s \u20ac \U0001f642"), "\u00b5s \u20ac \U0001f642");
}

}  // namespace
}  // namespace trnsim
