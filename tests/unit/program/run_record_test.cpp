// SPDX-License-Identifier: Apache-2.0
// Records of the program: loops, allocations and the positions of runs.
#include "trace_text.hpp"

#include <gtest/gtest.h>

namespace trnsim::program {
namespace {

/// The sample with the position of an operand of its second run replaced.
std::string with_dst(const std::string& position) {
    return edited(sample(),
                  R"("template":1,"at":[{"instance":{"m":1}})",
                  R"("template":1,"at":[)" + position);
}
std::string with_data(const std::string& position) {
    return edited(sample(), R"({"instance":{"m":1},"offset":1})", position);
}
std::string with_source(const std::string& position) {
    return edited(sample(), R"({"offset":{"m":65536}})", position);
}

TEST(LoopRecordTest, CountsFromOneToTheLimit) {
    EXPECT_EQ(error_of(edited(sample(), "\"count\":2", "\"count\":0")),
              "t.nkt:9: loop: \"count\" is 0, allowed is 1 to 1000000000000");
    EXPECT_EQ(error_of(edited(sample(), "\"count\":2", "\"count\":1000000000000000000")),
              "t.nkt:9: loop: \"count\" is 1000000000000000000, allowed is 1 to 1000000000000");
    EXPECT_EQ(error_of(edited(sample(), "\"count\":2", "\"count\":-1")),
              "t.nkt:9: loop: \"count\" is -1, allowed is 1 to 1000000000000");
}

TEST(LoopRecordTest, NestedTripsMultiplyUpToTheLimit) {
    const std::string outer =
        "{\"record\":\"loop\",\"index\":\"o\",\"count\":1000000,\"kind\":\"static\"}\n";
    const std::string inner =
        "{\"record\":\"loop\",\"index\":\"i\",\"count\":1000001,\"kind\":\"static\"}\n";
    EXPECT_EQ(
        error_of(edited(sample(), "{\"record\":\"end\"}\n", outer + inner)),
        "t.nkt:15: loop: with the loops around it, it runs more than 1000000000000 times, the "
        "limit; shorten it");
    const std::string longest = edited(sample(), "\"count\":2", "\"count\":1000000000000");
    EXPECT_EQ(
        error_of(longest),
        "t.nkt:11: alloc: the program executes more than 1000000000000 steps, the limit; shorten "
        "it");
}

TEST(LoopRecordTest, NamesAreUniqueAmongTheLoopsAround) {
    const std::string loop =
        "{\"record\":\"loop\",\"index\":\"m\",\"count\":3,\"kind\":\"static\"}\n";
    const std::string end = "{\"record\":\"end\"}\n";
    EXPECT_EQ(
        error_of(edited(sample(), end, loop + end + end)),
        "t.nkt:14: loop: \"index\" is \"m\", the name of a loop around this one; use another name");
    EXPECT_EQ(error_of(edited(sample(), end, end + loop + end)), "no error");
    EXPECT_EQ(
        error_of(edited(sample(), "\"index\":\"m\"", "\"index\":\"base\"")),
        "t.nkt:9: loop: \"index\" is \"base\", which names the constant of a position; use another "
        "name");
    EXPECT_EQ(error_of(edited(sample(), "\"index\":\"m\"", "\"index\":\"\"")),
              "t.nkt:9: loop: \"index\" is empty; write at least one character");
}

TEST(LoopRecordTest, NestsUpTo64Deep) {
    std::string loops;
    std::string ends;
    for (int i = 0; i < 63; ++i) {
        loops += R"({"record":"loop","index":"i)" + std::to_string(i) +
                 "\",\"count\":1,\"kind\":\"python\"}\n";
        ends += "{\"record\":\"end\"}\n";
    }
    const std::string end = "{\"record\":\"end\"}\n";
    EXPECT_EQ(error_of(edited(sample(), end, loops + ends + end)), "no error");
    const std::string last =
        "{\"record\":\"loop\",\"index\":\"last\",\"count\":1,\"kind\":\"python\"}\n";
    EXPECT_EQ(error_of(edited(sample(), end, loops + last + end + ends + end)),
              "t.nkt:77: loop: loops are nested deeper than 64, the limit");
}

TEST(EndRecordTest, ClosesALoop) {
    EXPECT_EQ(
        error_of(edited(
            sample(), "{\"record\":\"end\"}\n", "{\"record\":\"end\"}\n{\"record\":\"end\"}\n")),
        "t.nkt:15: end: no loop is open here; remove the record, or add its \"loop\"");
    EXPECT_EQ(error_of(edited(sample(), "{\"record\":\"end\"}\n", "")),
              "t.nkt:14: summary: loop \"m\" is still open; add its \"end\"");
}

TEST(AllocRecordTest, RefersToBuffersThatAreNoArguments) {
    EXPECT_EQ(error_of(edited(sample(), "\"alloc\",\"buffer\":2", "\"alloc\",\"buffer\":3")),
              "t.nkt:11: alloc: \"buffer\" is 3, past the 3 declared so far; declare it before");
    EXPECT_EQ(error_of(edited(sample(), "\"alloc\",\"buffer\":2", "\"alloc\",\"buffer\":0")),
              "t.nkt:11: alloc: buffer 0 (\"input\") is an input, which exists from the start; "
              "remove the "
              "record");
}

TEST(RunRecordTest, KeepsBasesAndNonZeroTermsInOrderOfDepth) {
    const std::string inner =
        "{\"record\":\"loop\",\"index\":\"n\",\"count\":2,\"kind\":\"python\"}\n";
    const std::string run =
        "{\"record\":\"run\",\"template\":0,\"at\":[{},{\"offset\":{\"n\":3,\"base\":7,\"m\":64}}]}"
        "\n"
        "{\"record\":\"run\",\"template\":0,\"at\":[{\"offset\":0},{\"offset\":{\"m\":0}}]}\n";
    const std::string end = "{\"record\":\"end\"}\n";
    const Program program = read_text(edited(edited(sample(), end, inner + run + end + end),
                                             "\"instructions\":4",
                                             "\"instructions\":12"));
    const Affine expected{.base = 7, .terms = {{0, 64}, {1, 3}}};
    EXPECT_EQ(program.runs[2].at[1].offset, expected);
    EXPECT_EQ(program.runs[2].at[0], Position{});
    EXPECT_EQ(program.runs[3].at[1], Position{});
}

TEST(RunRecordTest, RefersToDeclaredTemplates) {
    EXPECT_EQ(error_of(edited(sample(), "\"template\":1,\"at\"", "\"template\":2,\"at\"")),
              "t.nkt:13: run: \"template\" is 2, past the 2 declared so far; declare it before");
}

TEST(RunRecordTest, HasOnePositionPerOperand) {
    EXPECT_EQ(
        error_of(edited(sample(), ",{\"offset\":{\"m\":65536}}", "")),
        "t.nkt:12: run (dma_copy): \"at\" is an array of 1; template 0 has 2 operands, write one "
        "object each");
    EXPECT_EQ(error_of(with_source("7")),
              "t.nkt:12: run (dma_copy), operand 1 (src): \"at\", entry 1, is an integer; write an "
              "object");
}

TEST(RunRecordTest, CoefficientsNameTheLoopsAround) {
    EXPECT_EQ(
        error_of(with_source("{\"offset\":{\"mm\":65536}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" is an object with \"mm\", which is "
        "no loop around this record; did you mean \"m\"?");
    EXPECT_EQ(
        error_of(with_source("{\"offset\":{\"row\":65536}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" is an object with \"row\", which is "
        "no loop around this record; allowed: base, m");
    EXPECT_EQ(
        error_of(with_source("{\"offset\":{\"m\":1,\"m\":1}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" is an object with \"m\" twice; keep "
        "one");
    EXPECT_EQ(
        error_of(with_source("{\"offset\":{\"base\":1,\"base\":1}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" is an object with \"base\" twice; "
        "keep one");
    EXPECT_EQ(
        error_of(with_source("{\"offset\":{\"m\":\"1\"}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" is a string; write an integer");
    EXPECT_EQ(
        error_of(with_source("{\"offset\":{\"m\":1.5}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" is a number with a fraction or "
        "exponent; write an integer");
}

TEST(RunRecordTest, HbmOperandsHaveNoPartition) {
    EXPECT_EQ(
        error_of(with_source("{\"partition\":0}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): unknown key \"partition\"; allowed: instance, "
        "offset");
}

TEST(RunRecordTest, RejectsExtremesThatOverflow) {
    EXPECT_EQ(
        error_of(with_source("{\"offset\":{\"m\":562949953421312}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" is 562949953421312, allowed is "
        "-281474976710656 to 281474976710656");
    const std::string many = edited(sample(), "\"count\":2", "\"count\":100000000000");
    EXPECT_EQ(
        error_of(edited(many, "{\"m\":65536}", "{\"m\":281474976710656}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" reaches beyond 2^56 in the last "
        "iteration; correct its coefficients");
    EXPECT_EQ(
        error_of(edited(many, "{\"m\":65536}", "{\"m\":-281474976710656}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"offset\" reaches beyond 2^56 in the last "
        "iteration; correct its coefficients");
}

TEST(RunRecordTest, AccessesStayWithinTheirInstanceAtEveryIteration) {
    EXPECT_EQ(error_of(with_source("{\"offset\":{\"m\":65537}}")),
              "t.nkt:12: run (dma_copy), operand 1 (src): elements 0 to 131072 are accessed, but "
              "\"input\" has 131072 of bfloat16; correct \"offset\" or \"pattern\"");
    EXPECT_EQ(error_of(with_source("{\"offset\":{\"base\":65535,\"m\":-65536}}")),
              "t.nkt:12: run (dma_copy), operand 1 (src): elements -1 to 131070 are accessed, but "
              "\"input\" has 131072 of bfloat16; correct \"offset\" or \"pattern\"");
    EXPECT_EQ(error_of(with_source("{\"offset\":{\"base\":65536,\"m\":-65536}}")), "no error");
    EXPECT_EQ(error_of(with_data("{\"offset\":2}")),
              "t.nkt:13: run (activation), operand 1 (data): elements 2 to 512 of a partition are "
              "accessed, but \"tile\" has 512 of bfloat16; correct \"offset\" or \"pattern\"");
    EXPECT_EQ(error_of(with_data("{\"offset\":{\"m\":1}}")), "no error");
}

TEST(RunRecordTest, ViewsAreMeasuredInTheirOwnElements) {
    const std::string view =
        edited(sample(), "\"pattern\":[[2,256]]", R"("pattern":[[1,256]],"dtype":"float32")");
    EXPECT_EQ(error_of(edited(view, "\"offset\":1}", "\"offset\":0}")), "no error");
    EXPECT_EQ(error_of(view),
              "t.nkt:13: run (activation), operand 1 (data): elements 1 to 256 of a partition are "
              "accessed, but \"tile\" has 256 of float32; correct \"offset\" or \"pattern\"");
}

TEST(RunRecordTest, IndirectAccessesAreCheckedAtTheirBaseOnly) {
    const std::string indirect = edited(
        sample(),
        "\"pattern\":[[512,128],[1,512]]}",
        "\"pattern\":[[512,128],[1,512]],\"indirect\":\"index\"},"
        "{\"role\":\"index\",\"access\":\"read\",\"buffer\":1,\"partitions\":128,\"pattern\":[]}");
    const auto with = [&indirect](const std::string& offset) {
        return error_of(
            edited(indirect, R"({"offset":{"m":65536}})", "{\"offset\":" + offset + "},{}"));
    };
    EXPECT_EQ(with("131071"), "no error");
    EXPECT_EQ(
        with("131072"),
        "t.nkt:12: run (dma_copy), operand 1 (src): elements 131072 to 131072 are accessed, but "
        "\"input\" has 131072 of bfloat16; correct \"offset\" or \"pattern\"");
}

TEST(RunRecordTest, PartitionsStayWithinTheTile) {
    EXPECT_EQ(error_of(with_dst("{\"partition\":{\"m\":32}}")),
              "t.nkt:13: run (activation), operand 0 (dst): partitions 0 to 159 are accessed, but "
              "\"sums\" has 128; correct \"partition\"");
    EXPECT_EQ(error_of(with_dst("{\"partition\":-32}")),
              "t.nkt:13: run (activation), operand 0 (dst): partitions -32 to 95 are accessed, but "
              "\"sums\" has 128; correct \"partition\"");
}

/// The sample with all operands of its second template on `count` partitions, and its dst at
/// `partition`.
std::string on_partitions(int count, const std::string& partition) {
    std::string text = with_dst("{\"partition\":" + partition + "}");
    const std::string from = "\"partitions\":128";
    for (std::size_t place = text.find(from, text.find(R"("id":1,"op")"));
         place != std::string::npos;
         place = text.find(from, place)) {
        text.replace(place, from.size(), "\"partitions\":" + std::to_string(count));
    }
    return text;
}

TEST(RunRecordTest, EnginesStartAtQuadrantsThatFit) {
    EXPECT_EQ(error_of(on_partitions(32, "96")), "no error");
    EXPECT_EQ(error_of(on_partitions(32, "{\"base\":32,\"m\":64}")), "no error");
    EXPECT_EQ(error_of(on_partitions(64, "64")), "no error");
    EXPECT_EQ(
        error_of(on_partitions(1, "{\"m\":1}")),
        "t.nkt:13: run (activation), operand 0 (dst): 1 partitions start at 0 to 1, engines start "
        "them at 0, 32, 64 or 96 only; move the tile");
    EXPECT_EQ(
        error_of(on_partitions(33, "32")),
        "t.nkt:13: run (activation), operand 0 (dst): 33 partitions start at 32, engines start "
        "them at 0 or 64 only; move the tile");
    EXPECT_EQ(
        error_of(on_partitions(65, "32")),
        "t.nkt:13: run (activation), operand 0 (dst): 65 partitions start at 32, engines start "
        "them at 0 only; move the tile");
}

TEST(RunRecordTest, DmaStartsAtAnyPartition) {
    const std::string narrow = edited(edited(sample(),
                                             R"("partitions":128,"pattern":[[1,512]])",
                                             R"("partitions":1,"pattern":[[1,512]])"),
                                      "[[512,128],[1,512]]",
                                      "[[1,512]]");
    EXPECT_EQ(
        error_of(edited(
            narrow,
            "\"template\":0,\"at\":[{\"instance\":{\"m\":1}}",
            "\"template\":0,\"at\":[{\"instance\":{\"m\":1},\"partition\":{\"base\":3,\"m\":1}}")),
        "no error");
}

TEST(RunRecordTest, StartPartitionsIncludeTheAddressOfTheBuffer) {
    const auto with = [](const std::string& shape_and_address) {
        std::string text = edited(
            on_partitions(32, "0"), R"("shape":[128,512],"address":[0,2048])", shape_and_address);
        return error_of(text);
    };
    EXPECT_EQ(with("\"shape\":[32,512],\"address\":[96,2048]"), "no error");
    EXPECT_EQ(
        with("\"shape\":[32,512],\"address\":[90,2048]"),
        "t.nkt:13: run (activation), operand 0 (dst): 32 partitions start at 90, engines start "
        "them at 0, 32, 64 or 96 only; move the tile");
}

TEST(RunRecordTest, InstancesAreThoseThatTheProgramAllocates) {
    EXPECT_EQ(
        error_of(with_data("{\"instance\":{\"base\":1,\"m\":1},\"offset\":1}")),
        "t.nkt:13: instance 2 of buffer 1 (\"tile\") is accessed, but the program allocates 2; add "
        "\"alloc\" records or correct \"instance\"");
    EXPECT_EQ(
        error_of(with_data("{\"instance\":{\"m\":-1}}")),
        "t.nkt:13: run (activation), operand 1 (data): \"instance\" falls to -1; instances of "
        "\"tile\" count from 0");
    EXPECT_EQ(
        error_of(with_source("{\"instance\":{\"m\":1}}")),
        "t.nkt:12: run (dma_copy), operand 1 (src): \"instance\" rises to 1, but \"input\" is an "
        "argument and has one, 0");
    EXPECT_EQ(
        error_of(edited(sample(), "{\"record\":\"alloc\",\"buffer\":1}\n", "")),
        "t.nkt:11: instance 1 of buffer 1 (\"tile\") is accessed, but the program allocates 0; add "
        "\"alloc\" records or correct \"instance\"");
}

TEST(RunRecordTest, NumbersThatLoopsChangeAreInRuns) {
    EXPECT_EQ(error_of(with_memset_run("3", "")), "no error");
    const Program program = read_text(with_memset_run("\"run\"", R"(,"value":{"base":4,"m":-2})"));
    EXPECT_EQ(program.runs[0].value,
              (Affine{.base = 4, .terms = {{.depth = 0, .coefficient = -2}}}));
    EXPECT_EQ(read_text(with_memset_run("\"run\"", R"(,"value":9)")).runs[0].value,
              (Affine{.base = 9}));
    EXPECT_EQ(error_of(with_memset_run("\"run\"", "")),
              "t.nkt:6: run (memset): key \"value\" is missing; template 0 leaves it to its runs");
    EXPECT_EQ(
        error_of(with_memset_run("3", R"(,"value":3)")),
        "t.nkt:6: run (memset): \"value\" is for templates that leave it to their runs, which "
        "template 0 does not; leave it out");
    EXPECT_EQ(error_of(with_memset_run("\"run\"", R"(,"value":1.5)")),
              "t.nkt:6: run (memset): \"value\" is a number with a fraction or exponent; write an "
              "integer");
    EXPECT_EQ(error_of(with_memset_run("\"run\"", R"(,"value":{"k":1})")),
              "t.nkt:6: run (memset): \"value\" is an object with \"k\", which is no loop around "
              "this record; did you mean \"m\"?");
}

TEST(RunRecordTest, EdgesOfTheScheduleAreInRuns) {
    const auto with = [](std::string_view keys) { return with_memset_run("3", keys); };
    const Program program =
        read_text(with(R"(,"producer":{"m":2},"depends_on":[7,{"base":1,"m":2}])"));
    const auto& run = program.runs[0];
    EXPECT_EQ(run.producer, (Affine{.terms = {{.depth = 0, .coefficient = 2}}}));
    EXPECT_EQ(
        run.depends_on,
        (std::vector<Affine>{{.base = 7}, {.base = 1, .terms = {{.depth = 0, .coefficient = 2}}}}));
    EXPECT_TRUE(run.has_edges());
    EXPECT_FALSE(read_text(with("")).runs[0].has_edges());
    EXPECT_EQ(error_of(with(R"(,"producer":{"base":1,"m":-2})")),
              "t.nkt:6: run (memset): \"producer\" falls to -1; producers are counted from 0");
    EXPECT_EQ(error_of(with(R"(,"depends_on":[0,-3])")),
              "t.nkt:6: run (memset), depends_on 1: \"depends_on\" falls to -3; producers are "
              "counted from 0");
    EXPECT_EQ(error_of(with(R"(,"depends_on":[])")),
              "t.nkt:6: run (memset): \"depends_on\" is an empty array; leave the key out");
    EXPECT_EQ(error_of(edited(lowered_sample(),
                              "\"signal\":[{\"semaphore\":17",
                              "\"producer\":3,\"signal\":[{\"semaphore\":17")),
              "t.nkt:5: run: \"producer\" and \"depends_on\" are for program traces; write the "
              "semaphores "
              "of a lowered one");
}

TEST(RunRecordTest, SemaphoresAreForLoweredTraces) {
    EXPECT_EQ(error_of(edited(sample(), "{\"m\":65536}}]", "{\"m\":65536}}],\"wait\":[]")),
              "t.nkt:12: run: \"wait\" and \"signal\" are for lowered traces; leave them out, the "
              "lowering orders what depends on each other");
}

}  // namespace
}  // namespace trnsim::program
