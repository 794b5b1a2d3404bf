// SPDX-License-Identifier: Apache-2.0
// What the notes of a trace say to people.
#include "trnsim/program/remarks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::program {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Note note(NoteKind kind, const char* text, std::vector<SourceFrame> source = {}) {
    return {.kind = kind, .text = text, .source = std::move(source)};
}

Program with(std::vector<Note> notes) {
    Program program;
    program.files = {"far/kernel.py", "other.py"};
    program.notes = std::move(notes);
    return program;
}

TEST(RemarksTest, NotesThatSayTheSameAreOneBehindTheirLines) {
    const Remarks found = remarks_of(with({note(NoteKind::Warning, "slow", {{0, 6}}),
                                           note(NoteKind::Warning, "wrong", {{1, 2}}),
                                           note(NoteKind::Warning, "slow", {{0, 9}, {0, 1}}),
                                           note(NoteKind::Warning, "slow", {{1, 12}}),
                                           note(NoteKind::Warning, "slow", {{0, 6}})}));
    EXPECT_THAT(found.warnings,
                ElementsAre("kernel.py:6, 9, other.py:12: slow", "other.py:2: wrong"));
    EXPECT_THAT(found.assumptions, IsEmpty());
}

TEST(RemarksTest, AssumptionsStandApart) {
    const Remarks found = remarks_of(with({note(NoteKind::Assumption, "slow", {{0, 6}}),
                                           note(NoteKind::Unsupported, "slow", {{0, 7}}),
                                           note(NoteKind::Warning, "slow", {{0, 8}})}));
    EXPECT_THAT(found.assumptions, ElementsAre("kernel.py:6: slow"));
    EXPECT_THAT(found.warnings, ElementsAre("kernel.py:7, 8: slow"));
}

TEST(RemarksTest, ANoteWithoutALineHasNone) {
    const Remarks found = remarks_of(with({note(NoteKind::Warning, "slow"),
                                           note(NoteKind::Warning, "slow", {{0, 6}}),
                                           note(NoteKind::Warning, "slow")}));
    EXPECT_THAT(found.warnings, ElementsAre("slow", "kernel.py:6: slow"));
}

TEST(RemarksTest, OfManyLinesSixAreNamed) {
    std::vector<Note> notes;
    for (std::uint32_t line = 1; line <= 6; ++line) {
        notes.push_back(note(NoteKind::Warning, "slow", {{0, line}}));
    }
    EXPECT_THAT(remarks_of(with(notes)).warnings, ElementsAre("kernel.py:1, 2, 3, 4, 5, 6: slow"));
    notes.push_back(note(NoteKind::Warning, "slow", {{0, 7}}));
    EXPECT_THAT(remarks_of(with(notes)).warnings,
                ElementsAre("kernel.py:1, 2, 3, 4, 5, 6 and 1 more: slow"));
}

}  // namespace
}  // namespace trnsim::program
