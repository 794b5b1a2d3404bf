// SPDX-License-Identifier: Apache-2.0
// The lowered form: addresses, rings and semaphores.
#include "trace_text.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace trnsim::program {
namespace {

TEST(LoweredRecordTest, KeepsAddressesRingsAndSemaphores) {
    const Program program = read_text(lowered_sample());
    EXPECT_EQ(program.header.form, Form::Lowered);
    EXPECT_EQ(program.instruction_count, 6);
    EXPECT_EQ(program.templates[0].ring, 3);
    EXPECT_EQ(program.templates[0].attributes.dge, DgeMode::None);
    EXPECT_EQ(program.templates[1].ring, std::nullopt);
    EXPECT_EQ(program.templates[1].at(Role::Data).space, Space::Sbuf);
    EXPECT_EQ(program.templates[1].at(Role::Dst).dtype, Dtype::Float32);
    EXPECT_EQ(program.runs[0].at[0].offset.base, 2048);
    EXPECT_EQ(program.runs[0].at[0].partition, (Affine{.terms = {{0, 32}}}));
    EXPECT_EQ(program.runs[1].waits,
              (std::vector<SemaphoreWait>{
                  {.semaphore = 17, .at_least = {.base = 16, .terms = {{0, 16}}}}}));
    EXPECT_EQ(program.runs[1].signals,
              (std::vector<SemaphoreSignal>{{.semaphore = 4, .add = 1, .at_read = true},
                                            {.semaphore = 5, .add = 2, .at_read = false}}));
}

TEST(LoweredRecordTest, HasNoAllocations) {
    EXPECT_EQ(error_of(edited(
                  lowered_sample(), "{\"record\":\"end\"}", "{\"record\":\"alloc\",\"buffer\":0}")),
              "t.nkt:7: alloc: a lowered trace addresses memory directly; remove the record");
}

TEST(LoweredRecordTest, OperandsNameTheirSpaceAndDtype) {
    EXPECT_EQ(
        error_of(
            edited(lowered_sample(), "\"space\":\"psum\",\"dtype\":\"float32\"", "\"buffer\":0")),
        "t.nkt:3: template 1 (tensor_copy), operand 0: unknown key \"buffer\"; allowed: role, "
        "access, space, dtype, partitions, pattern, indirect");
    EXPECT_EQ(
        error_of(edited(
            lowered_sample(), "\"space\":\"psum\",\"dtype\":\"float32\"", "\"space\":\"psum\"")),
        "t.nkt:3: template 1 (tensor_copy), operand 0: key \"dtype\" is missing; add it");
}

TEST(LoweredRecordTest, NamesOneEngine) {
    EXPECT_EQ(error_of(edited(lowered_sample(), "[\"vector\"]", "[\"vector\",\"scalar\"]")),
              "t.nkt:3: template 1 (tensor_copy): \"engines\" is a choice of 2; a lowered trace "
              "names one");
}

TEST(LoweredRecordTest, DmaHasARingAndADgeMode) {
    EXPECT_EQ(
        error_of(edited(lowered_sample(), ",\"ring\":3", "")),
        "t.nkt:2: template 0 (dma_copy): key \"ring\" is missing; name the DMA ring, 0 to 15");
    EXPECT_EQ(error_of(edited(lowered_sample(), "\"ring\":3", "\"ring\":16")),
              "t.nkt:2: template 0 (dma_copy): \"ring\" is 16, allowed is 0 to 15");
    EXPECT_EQ(
        error_of(edited(lowered_sample(), "\"attributes\":{\"dge\":\"none\"},", "")),
        "t.nkt:2: template 0 (dma_copy): \"dge\" is \"auto\"; a lowered trace says none, software "
        "or hardware");
    EXPECT_EQ(
        error_of(edited(lowered_sample(), "[[-1,512]]}]", "[[-1,512]]}],\"ring\":0")),
        "t.nkt:3: template 1 (tensor_copy): key \"ring\" is for dma operations of a lowered trace "
        "only; leave it out");
}

TEST(LoweredRecordTest, ExchangesHaveNoRingToName) {
    const std::string exchange = edited(edited(lowered_sample(), "\"dma_copy\"", "\"sendrecv\""),
                                        R"({"dge":"none"})",
                                        R"({"send_to":1,"recv_from":1})");
    EXPECT_EQ(error_of(exchange),
              "t.nkt:2: template 0 (sendrecv): key \"ring\" is for transfers of one NeuronCore; "
              "exchanges have a ring of their own: leave it out");
}

TEST(LoweredRecordTest, AddressesAreNotNegative) {
    EXPECT_EQ(
        error_of(edited(
            lowered_sample(), "{\"address\":4092}", "{\"address\":{\"base\":4092,\"i\":-1025}}")),
        "t.nkt:6: run (tensor_copy), operand 1 (data): byte -2 is accessed, but addresses count "
        "from "
        "0; correct \"address\" or \"pattern\"");
    EXPECT_EQ(
        error_of(edited(
            lowered_sample(), "{\"address\":4092}", "{\"address\":{\"base\":4092,\"i\":-1024}}")),
        "no error");
}

TEST(LoweredRecordTest, PartitionsAreThoseOfTheCore) {
    EXPECT_EQ(
        error_of(edited(lowered_sample(), "{\"i\":32}", "{\"base\":33,\"i\":32}")),
        "t.nkt:5: run (dma_copy), operand 0 (dst): partitions 33 to 128 are accessed, but sbuf has "
        "128; correct \"partition\"");
    EXPECT_EQ(error_of(edited(lowered_sample(), "{\"partition\":32}", "{\"partition\":31}")),
              "t.nkt:6: run (tensor_copy), operand 0 (dst): 32 partitions start at 31, engines "
              "start them "
              "at 0, 32, 64 or 96 only; move the tile");
}

TEST(LoweredRecordTest, PositionsHaveAddressesInsteadOfInstances) {
    EXPECT_EQ(
        error_of(edited(lowered_sample(), "{\"address\":4092}", "{\"offset\":4092}")),
        "t.nkt:6: run (tensor_copy), operand 1 (data): unknown key \"offset\"; allowed: address, "
        "partition");
}

TEST(LoweredRecordTest, WaitsAreForValuesThatSemaphoresHave) {
    EXPECT_EQ(
        error_of(edited(lowered_sample(), "{\"base\":16,\"i\":16}", "{\"base\":16,\"i\":-16}")),
        "t.nkt:6: run (tensor_copy), wait 0: \"at_least\" falls to -16; a semaphore is never below "
        "0");
    EXPECT_EQ(
        error_of(edited(
            lowered_sample(), "{\"base\":16,\"i\":16}", "{\"base\":281474976710655,\"i\":1}")),
        "t.nkt:6: run (tensor_copy), wait 0: \"at_least\" rises to 281474976710657; a "
        "semaphore counts to 281474976710655");
    EXPECT_EQ(
        error_of(edited(
            lowered_sample(), "\"semaphore\":17,\"at_least\"", "\"semaphore\":-1,\"at_least\"")),
        "t.nkt:6: run (tensor_copy), wait 0: \"semaphore\" is -1, allowed is 0 to 65535");
    EXPECT_EQ(
        error_of(edited(lowered_sample(), "\"at_least\":{\"base\":16,\"i\":16}", "\"value\":1")),
        "t.nkt:6: run (tensor_copy), wait 0: unknown key \"value\"; allowed: semaphore, at_least");
}

TEST(LoweredRecordTest, SignalsAddAtReadOrDone) {
    EXPECT_EQ(
        error_of(edited(lowered_sample(), "\"when\":\"read\"", "\"when\":\"start\"")),
        "t.nkt:6: run (tensor_copy), signal 0: \"when\" is \"start\", an unknown name; allowed: "
        "read, done");
    EXPECT_EQ(error_of(edited(lowered_sample(), "\"add\":2", "\"add\":0")),
              "t.nkt:6: run (tensor_copy), signal 1: \"add\" is 0, allowed is 1 to 65535");
}

TEST(LoweredRecordTest, HasUpToFourWaitsAndSignals) {
    const std::string one = R"({"semaphore":5,"add":2})";
    const std::string three = "," + one + "," + one + "," + one;
    EXPECT_EQ(error_of(edited(lowered_sample(), one, one + "," + one + "," + one)), "no error");
    EXPECT_EQ(error_of(edited(lowered_sample(), one, one + three)),
              "t.nkt:6: run (tensor_copy): \"signal\" is an array of 5, allowed is 1 to 4");
    EXPECT_EQ(error_of(edited(lowered_sample(), "[{\"semaphore\":17,\"add\":16}]", "[]")),
              "t.nkt:5: run (dma_copy): \"signal\" is an array of 0, allowed is 1 to 4");
}

}  // namespace
}  // namespace trnsim::program
