// SPDX-License-Identifier: Apache-2.0
// Records that declare and remark: header, file, note, and the source key.
#include "trace_text.hpp"

#include <gtest/gtest.h>

namespace trnsim::program {
namespace {

TEST(HeaderRecordTest, KeepsAllKeys) {
    const std::string digest(64, 'a');
    const std::string text = edited(
        sample(), R"("api":"trace")", R"("api":"neuronxcc.nki","source_sha256":")" + digest + "\"");
    const Header expected{.form = Form::Program,
                          .producer = "test",
                          .target = "trn2",
                          .kernel = "sample",
                          .source_sha256 = digest,
                          .api = "neuronxcc.nki",
                          .arguments = {"bfloat16[256,512]"}};
    EXPECT_EQ(read_text(text).header, expected);
}

TEST(HeaderRecordTest, RejectsOtherFormatsAndVersions) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"nkt\"", "\"ntff\"")),
        "t.nkt:1: header: \"format\" is \"ntff\", allowed is \"nkt\"; this is another kind of "
        "file");
    EXPECT_EQ(
        error_of(edited(sample(), "\"version\":1", "\"version\":2")),
        "t.nkt:1: header: \"version\" is 2, this program reads 1; write the trace again with its "
        "frontend");
}

TEST(HeaderRecordTest, RejectsUnknownFormsAndApis) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"form\":\"program\"", "\"form\":\"lowerd\"")),
        "t.nkt:1: header: \"form\" is \"lowerd\", an unknown name; did you mean \"lowered\"?");
    EXPECT_EQ(error_of(edited(sample(), "\"api\":\"trace\"", "\"api\":\"jax\"")),
              "t.nkt:1: header: \"api\" is \"jax\", an unknown name; allowed: nki, neuronxcc.nki, "
              "neuronxcc.nki.as_written, trace");
    EXPECT_EQ(
        error_of(edited(sample(), "\"api\":\"trace\"", "\"api\":\"neuronxcc.nki.as_written\"")),
        "no error");
}

TEST(HeaderRecordTest, RejectsEmptyNamesAndMalformedDigests) {
    EXPECT_EQ(error_of(edited(sample(), "\"kernel\":\"sample\"", "\"kernel\":\"\"")),
              "t.nkt:1: header: \"kernel\" is empty; write at least one character");
    EXPECT_EQ(
        error_of(edited(sample(), "\"api\"", "\"source_sha256\":\"ABC\",\"api\"")),
        "t.nkt:1: header: \"source_sha256\" is \"ABC\"; write 64 lower-case hexadecimal digits, or "
        "leave the key out");
    EXPECT_EQ(error_of(edited(sample(), "[\"bfloat16[256,512]\"]", "[1]")),
              "t.nkt:1: header: \"arguments\", entry 0, is an integer; write a string");
}

TEST(FileRecordTest, IdsCountFromZero) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"id\":1,\"path\"", "\"id\":0,\"path\"")),
        "t.nkt:3: file 1: \"id\" is 0, the next one is 1; count from 0 in order of declaration");
    EXPECT_EQ(read_text(sample()).files, (std::vector<std::string>{"kernel.py", "library.py"}));
}

TEST(NoteRecordTest, IsAllowedAnywhereAfterTheHeader) {
    const std::string note =
        "{\"record\":\"note\",\"kind\":\"unsupported\",\"text\":\"sendrecv\",\"source\":[0,3]}\n";
    const Program program =
        read_text(edited(sample(), "{\"record\":\"end\"}\n", note + "{\"record\":\"end\"}\n"));
    ASSERT_EQ(program.notes.size(), 1U);
    EXPECT_EQ(program.notes[0].kind, NoteKind::Unsupported);
    EXPECT_EQ(program.notes[0].text, "sendrecv");
    EXPECT_EQ(program.notes[0].source, (std::vector<SourceFrame>{{0, 3}}));
}

TEST(NoteRecordTest, RejectsUnknownKinds) {
    const std::string note = "{\"record\":\"note\",\"kind\":\"hint\",\"text\":\"x\"}\n";
    EXPECT_EQ(
        error_of(edited(sample(), "{\"record\":\"end\"}\n", note)),
        "t.nkt:14: note: \"kind\" is \"hint\", an unknown name; allowed: assumption, unsupported, "
        "warning");
}

TEST(SourceTest, ListsFramesInnermostFirst) {
    EXPECT_EQ(read_text(sample()).buffers[1].source, (std::vector<SourceFrame>{{1, 7}, {0, 41}}));
}

TEST(SourceTest, RefersToDeclaredFilesInPairs) {
    EXPECT_EQ(error_of(edited(sample(), "[1,7,0,41]", "[1,7,2,41]")),
              "t.nkt:5: buffer 1: \"source\", entry 2, is file 2, past the 2 declared so far; "
              "declare it before");
    const std::string odd =
        "t.nkt:5: buffer 1: \"source\" is not made of pairs; write [file, line, …], innermost "
        "first";
    EXPECT_EQ(error_of(edited(sample(), "[1,7,0,41]", "[1,7,0]")), odd);
    EXPECT_EQ(error_of(edited(sample(), "[1,7,0,41]", "[]")), odd);
    EXPECT_EQ(error_of(edited(sample(), "[1,7,0,41]", "[1,-7]")),
              "t.nkt:5: buffer 1: \"source\", entry 1, is -7, allowed is 0 to 2147483647");
}

}  // namespace
}  // namespace trnsim::program
