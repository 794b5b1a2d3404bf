// SPDX-License-Identifier: Apache-2.0
// The buffer record.
#include "trace_text.hpp"

#include <gtest/gtest.h>

namespace trnsim::program {
namespace {

TEST(BufferRecordTest, KeepsAllKeys) {
    const Program program = read_text(sample());
    const Buffer input{.name = "input",
                       .space = Space::Hbm,
                       .kind = BufferKind::Input,
                       .dtype = Dtype::Bfloat16,
                       .shape = {256, 512}};
    EXPECT_EQ(program.buffers[0], input);
    const Buffer sums{.name = "sums",
                      .space = Space::Psum,
                      .dtype = Dtype::Float32,
                      .shape = {128, 512},
                      .address = std::pair{0, 2048}};
    EXPECT_EQ(program.buffers[2], sums);
}

TEST(BufferRecordTest, IdsCountFromZero) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"id\":2,\"name\"", "\"id\":3,\"name\"")),
        "t.nkt:6: buffer 2: \"id\" is 3, the next one is 2; count from 0 in order of declaration");
}

TEST(BufferRecordTest, RejectsUnknownNames) {
    EXPECT_EQ(error_of(edited(sample(), "\"space\":\"psum\"", "\"space\":\"psm\"")),
              "t.nkt:6: buffer 2: \"space\" is \"psm\", an unknown name; did you mean \"psum\"?");
    EXPECT_EQ(error_of(edited(sample(), "\"kind\":\"input\"", "\"kind\":\"imput\"")),
              "t.nkt:4: buffer 0: \"kind\" is \"imput\", an unknown name; did you mean \"input\"?");
    EXPECT_EQ(error_of(edited(sample(), "\"dtype\":\"float32\"", "\"dtype\":\"float3\"")),
              "t.nkt:6: buffer 2: \"dtype\" is \"float3\", an unknown name; did you mean "
              "\"float32\"?");
}

TEST(BufferRecordTest, ArgumentsAreInHbm) {
    EXPECT_EQ(
        error_of(edited(sample(), "\"space\":\"sbuf\"", "\"space\":\"sbuf\",\"kind\":\"output\"")),
        "t.nkt:5: buffer 1: an output in sbuf, allowed is hbm; copy it with dma_copy");
}

TEST(BufferRecordTest, RejectsShapesThatAreNone) {
    const std::string shape = R"("float32","shape":[128,512])";
    EXPECT_EQ(error_of(edited(sample(), shape, "\"float32\",\"shape\":[128,0]")),
              "t.nkt:6: buffer 2: \"shape\", entry 1, is 0, allowed is 1 to 281474976710656");
    EXPECT_EQ(error_of(edited(sample(), shape, "\"float32\",\"shape\":[]")),
              "t.nkt:6: buffer 2: \"shape\" is empty; in sbuf and psum the first size is the "
              "partitions");
    EXPECT_EQ(error_of(edited(sample(), shape, "\"float32\",\"shape\":512")),
              "t.nkt:6: buffer 2: \"shape\" is an integer; write an array");
    EXPECT_EQ(error_of(edited(sample(), shape, "\"float32\",\"shape\":[129,4]")),
              "t.nkt:6: buffer 2: \"sums\" has 129 partitions, psum has 128; split the tile");
}

TEST(BufferRecordTest, RejectsProductsThatOverflow) {
    EXPECT_EQ(error_of(edited(sample(), "[256,512]}", "[16777216,16777216]}")), "no error");
    EXPECT_EQ(
        error_of(edited(sample(), "[256,512]}", "[16777216,16777217]}")),
        "t.nkt:4: buffer 0: \"shape\" is more than 281474976710656 elements in all; split the "
        "buffer");
    EXPECT_EQ(
        error_of(edited(sample(), "[256,512]}", "[1099511627776,1099511627776,1099511627776]}")),
        "t.nkt:4: buffer 0: \"shape\" is more than 281474976710656 elements in all; split the "
        "buffer");
}

TEST(BufferRecordTest, AddressesLieOnTheChip) {
    EXPECT_EQ(error_of(edited(sample(), "[256,512]}", "[256,512],\"address\":[0,0]}")),
              "t.nkt:4: buffer 0: \"address\" is for sbuf and psum only; leave it out");
    EXPECT_EQ(error_of(edited(sample(), "[0,2048]", "[2048]")),
              "t.nkt:6: buffer 2: \"address\" is an array of 1; write [partition, byte]");
    EXPECT_EQ(
        error_of(edited(sample(), "[0,2048]", "[32,2048]")),
        "t.nkt:6: buffer 2: \"address\" is partition 32, but the buffer has 128 and the last one "
        "is 127; start at 0 or lower");
}

TEST(BufferRecordTest, IsNotForLoweredTraces) {
    EXPECT_EQ(error_of(edited(lowered_sample(),
                              "{\"record\":\"end\"}",
                              "{\"record\":\"buffer\",\"id\":0,\"name\":\"x\",\"space\":\"sbuf\","
                              "\"dtype\":\"float32\",\"shape\":[1]}")),
              "t.nkt:7: buffer 0: a lowered trace has no buffers; give each operand \"space\" and "
              "\"address\", or write \"form\":\"program\"");
}

}  // namespace
}  // namespace trnsim::program
