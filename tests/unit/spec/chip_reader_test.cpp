// SPDX-License-Identifier: Apache-2.0
// What the reader of chip files refuses, and in which words.
#include "chip_file.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gmock/gmock.h>

namespace trnsim::spec {
namespace {

using test::chip_text;
using test::replaced;

/// The message about `text` as the file "chip.json".
std::string complaint_about(const std::string& text) {
    try {
        (void)parse_chip(text, "chip.json");
    } catch (const ConfigError& error) {
        return error.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
}

std::string complaint_with(const std::string& from, const std::string& to) {
    return complaint_about(replaced(chip_text(), from, to));
}

constexpr auto kPartitions = R"("partitions": {"value": 128, "unit": "partitions",)";

TEST(ChipReader, RejectsUnknownKeysAndNamesTheNearest) {
    EXPECT_EQ(complaint_with("\"clock_ghz\"", "\"clock_gz\""),
              "chip.json: unknown key \"clock_gz\" in /neuron_core/tensor_engine; did you mean "
              "\"clock_ghz\"?");
    EXPECT_EQ(complaint_with("\"tensor_engine\"", "\"tensor_engin\""),
              "chip.json: unknown key \"tensor_engin\" in /neuron_core; did you mean "
              "\"tensor_engine\"?");
    EXPECT_EQ(complaint_with("\"dma\": {", "\"dna\": {"),
              "chip.json: unknown key \"dna\" in the file; did you mean \"dma\"?");
}

TEST(ChipReader, ListsTheKeysWhenNoneIsNear) {
    EXPECT_EQ(complaint_with("\"psum\"", "\"something else entirely\""),
              "chip.json: unknown key \"something else entirely\" in /neuron_core; allowed are "
              "\"tensor_engine\", \"vector_engine\", \"scalar_engine\", \"gpsimd_engine\", "
              "\"sync_engine\", \"semaphore_file\", \"dge\", \"sbuf\", ...");
}

TEST(ChipReader, RejectsUnknownKeysOfALeaf) {
    EXPECT_EQ(complaint_with("\"value\": 2.4, \"unit\"", "\"valeu\": 2.4, \"unit\""),
              "chip.json: unknown key \"valeu\" in /neuron_core/tensor_engine/clock_ghz; did you "
              "mean \"value\"?");
}

TEST(ChipReader, RejectsDottedKeysThatSpellAPath) {
    EXPECT_THAT(
        complaint_with("\"neuron_core\": {", "\"neuron_core.sbuf\": {}, \"neuron_core\": {"),
        testing::HasSubstr("unknown key \"neuron_core.sbuf\" in the file"));
    EXPECT_THAT(complaint_with("\"hbm\": {",
                               "\"dma.rings\": {\"value\": 16, \"unit\": \"rings\", \"source\": "
                               "\"NKI-DMA\"}, \"hbm\": {"),
                testing::HasSubstr("unknown key \"dma.rings\" in the file"));
}

TEST(ChipReader, RejectsMissingKeysAndSaysWhatToAdd) {
    EXPECT_EQ(complaint_with("    \"rings\": {\"value\": 16, \"unit\": \"rings\", \"source\": "
                             "\"NKI-DMA, DRIVER\"},\n",
                             ""),
              "chip.json: /dma/rings: is missing (Rings of one DMA engine.); add {\"value\": a "
              "whole number from 1 to 16 rings, \"unit\": \"rings\", \"source\": ...}");
    EXPECT_EQ(complaint_with("\"value\": 2.4, ", ""),
              "chip.json: /neuron_core/tensor_engine/clock_ghz/value: is missing; add a number "
              "from 0.1 to 10 GHz");
    EXPECT_THAT(complaint_with("\"unit\": \"GHz\", ", ""),
                testing::HasSubstr("/neuron_core/tensor_engine/clock_ghz/unit: is missing"));
    EXPECT_THAT(complaint_with("  \"name\": \"trainium2\",\n", ""),
                testing::HasSubstr("chip.json: /name: is missing"));
}

TEST(ChipReader, RejectsTheWrongUnit) {
    EXPECT_EQ(complaint_with("\"GHz\"", "\"MHz\""),
              "chip.json: /neuron_core/tensor_engine/clock_ghz: the unit is \"MHz\", but must be "
              "\"GHz\"; convert the value");
}

TEST(ChipReader, RejectsValuesOutOfRangeAndSaysTheRange) {
    EXPECT_EQ(complaint_with(kPartitions, replaced(kPartitions, "128", "256")),
              "chip.json: /neuron_core/sbuf/partitions: the value is 256, but allowed is a whole "
              "number from 1 to 128 partitions; correct it");
    EXPECT_THAT(
        complaint_with("\"value\": 2.4, ", "\"value\": -2.4, "),
        testing::HasSubstr("the value is -2.4, but allowed is a number from 0.1 to 10 GHz"));
    EXPECT_THAT(complaint_with("\"HBM3\"", "\"DDR4\""),
                testing::HasSubstr("the value is \"DDR4\", but allowed is \"HBM2E\" or \"HBM3\" or "
                                   "\"HBM3E\""));
}

TEST(ChipReader, RejectsTheWrongType) {
    struct Wrong {
        const char* is;
        const char* becomes;
        const char* complaint;
    };
    constexpr auto kClock = "\"value\": 2.4";
    for (const Wrong& wrong : {
             Wrong{kClock,
                   R"("value": "2.4")",
                   "the value is \"2.4\", but allowed is a number from 0.1 to 10"},
             Wrong{kClock, "\"value\": [2.4]", "the value is an array, but allowed is a number"},
             Wrong{kClock, "\"value\": {}", "the value is an object, but allowed is a number"},
             Wrong{kClock,
                   "\"value\": 18446744073709551615",
                   "the value is 18446744073709551615, but allowed is a number"},
             Wrong{kClock, "\"value\": null", "the value is null, but allowed is a number"},
             Wrong{"\"dma\": {",
                   R"("dma": 3, "dna": {)",
                   "chip.json: /dma: must be an object with the keys \"engines\""},
             Wrong{"\"value\": 128, ",
                   "\"value\": 128.5, ",
                   "the value is 128.5, but allowed is a whole number"},
             Wrong{
                 "\"value\": true", "\"value\": 1", "the value is 1, but allowed is true or false"},
             Wrong{R"({"value": 2.4, "unit": "GHz", "source": "NKI-ARCH-V3"})",
                   "2.4",
                   "/neuron_core/tensor_engine/clock_ghz: must be an object"},
         }) {
        EXPECT_THAT(complaint_with(wrong.is, wrong.becomes), testing::HasSubstr(wrong.complaint));
    }
    EXPECT_THAT(complaint_about("[]"),
                testing::HasSubstr("chip.json: a chip file is a JSON object"));
}

TEST(ChipReader, AcceptsAWholeNumberWrittenAsAFraction) {
    const ChipConfig config =
        parse_chip(replaced(chip_text(), "\"value\": 128, ", "\"value\": 128.0, "), "chip.json");
    EXPECT_EQ(config.spec.neuron_core.tensor_engine.pe_rows, 128);
}

TEST(ChipReader, RejectsOtherVersionsOfTheFormat) {
    EXPECT_EQ(complaint_with("\"schema_version\": 1", "\"schema_version\": 2"),
              "chip.json: /schema_version: is another version, but this program reads version 1; "
              "convert the file");
    EXPECT_THAT(complaint_about("{}"), testing::HasSubstr("/schema_version: is missing"));
}

TEST(ChipReader, RejectsSourcesThatAreNotTags) {
    EXPECT_THAT(complaint_with("\"source\": \"NKI-ARCH-V3\"", "\"source\": \"I think so\""),
                testing::HasSubstr("the source is \"I think so\", but must be tags of "
                                   "docs/sources.md"));
    EXPECT_THAT(complaint_with("\"source\": \"NKI-ARCH-V3\"", "\"source\": \"\""),
                testing::HasSubstr("/source: is empty, but must be a text"));
}

TEST(ChipReader, RejectsWhatIsNotJsonWithLineAndColumn) {
    EXPECT_EQ(complaint_about("{\n  \"a\": 1,\n  oops\n}"),
              "chip.json:3:3: this is not JSON; correct it here or just before");
    EXPECT_EQ(complaint_about(""),
              "chip.json:1:1: this is not JSON; correct it here or just before");
    EXPECT_THAT(complaint_about(chip_text() + "x"), testing::HasSubstr("this is not JSON"));
    EXPECT_THAT(complaint_about(chip_text().substr(0, 5000)),
                testing::HasSubstr("this is not JSON"));
    EXPECT_THAT(complaint_with("2.4", "NaN"),
                testing::HasSubstr("chip.json:9:30: this is not JSON"));
    for (const char* number : {"1e999", "123456789012345678901"}) {
        EXPECT_EQ(complaint_with("2.4", number),
                  "chip.json: a number is too large for a double or 64 bits; give a smaller one");
    }
}

TEST(ChipReader, RejectsTextThatIsNotUtf8) {
    EXPECT_EQ(complaint_about("{\n  \"n\xff\": 1}"),
              "chip.json:2:5: byte 0xff is not UTF-8; save the file as UTF-8");
    for (const char* bytes :
         {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xe2\x82(", "\x80"}) {
        EXPECT_THAT(complaint_about(std::string("\"") + bytes), testing::HasSubstr("is not UTF-8"));
    }
}

TEST(ChipReader, RejectsAByteOrderMark) {
    EXPECT_EQ(complaint_about("\xef\xbb\xbf" + chip_text()),
              "chip.json: the file begins with a byte order mark; save the file as UTF-8 without "
              "one");
}

TEST(ChipReader, AcceptsUtf8InNotes) {
    const std::string note = "\"unit\": \"GHz\", \"note\": \"\u00b5s \u20ac \U0001f642\"";
    const ChipConfig config =
        parse_chip(replaced(chip_text(), R"("unit": "GHz")", note), "chip.json");
    EXPECT_EQ(config.leaves.at(2).note, "\u00b5s \u20ac \U0001f642");
}

TEST(ChipReader, RejectsDuplicateKeys) {
    EXPECT_EQ(complaint_with("\"rings\"", "\"engines\""),
              "chip.json: key \"engines\" occurs twice in /dma; keep one");
    EXPECT_EQ(complaint_with("\"value\": 2.4,", "\"value\": 2.4, \"value\": 2.4,"),
              "chip.json: key \"value\" occurs twice in /neuron_core/tensor_engine/clock_ghz; keep "
              "one");
    EXPECT_EQ(complaint_with("\"short_name\"", "\"name\""),
              "chip.json: key \"name\" occurs twice in the file; keep one");
    EXPECT_EQ(complaint_with("\"hbm\": {", "\"dma\": {}, \"hbm\": {"),
              "chip.json: key \"dma\" occurs twice in the file; keep one");
}

TEST(ChipReader, RejectsDeepNesting) {
    EXPECT_THAT(complaint_about(std::string(33, '[') + std::string(33, ']')),
                testing::HasSubstr("nested deeper than 32"));
    EXPECT_THAT(complaint_about(std::string(100000, '[') + std::string(100000, ']')),
                testing::HasSubstr("nested deeper than 32"));
    EXPECT_THAT(complaint_about(std::string(100000, '[')), testing::HasSubstr("this is not JSON"));
}

TEST(ChipReader, CutsAndEscapesWhatItQuotes) {
    const std::string message =
        complaint_with("\"clock_ghz\"", "\"\\u0007" + std::string(1000, 'x') + "\"");
    EXPECT_THAT(message, testing::HasSubstr("unknown key \"\\x07xxx"));
    EXPECT_LT(message.size(), 500U);
}

TEST(ChipReader, RejectsFieldsThatContradictEachOther) {
    EXPECT_EQ(complaint_with("\"usable_partition_kib\": {\"value\": 208",
                             "\"usable_partition_kib\": {\"value\": 300"),
              "chip.json: /neuron_core/sbuf/usable_partition_kib: is above partition_kib; lower it "
              "or raise that");
    EXPECT_EQ(complaint_with("\"half_rate_stride_bytes\": {\"value\": 16",
                             "\"half_rate_stride_bytes\": {\"value\": 8"),
              "chip.json: /neuron_core/sbuf/half_rate_stride_bytes: is not above "
              "full_rate_stride_bytes; raise it");
}

}  // namespace
}  // namespace trnsim::spec
