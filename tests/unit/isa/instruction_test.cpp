// SPDX-License-Identifier: Apache-2.0
// Operands: their sizes and their look-up by role.
#include "trnsim/isa/instruction.hpp"

#include <gtest/gtest.h>

namespace trnsim {
namespace {

TEST(OperandTest, CountsElementsPerPartitionAndBytesOverAll) {
    const Operand operand{
        .dtype = Dtype::Bfloat16, .partitions = 128, .pattern = {{0, 4}, {1, 64}}};
    EXPECT_EQ(operand.elements(), 256);
    EXPECT_EQ(operand.total_bytes(), 256 * 128 * 2);
}

TEST(OperandTest, ReadsUnlessItWritesOnly) {
    EXPECT_TRUE(Operand{.access = Access::Read}.reads());
    EXPECT_FALSE(Operand{.access = Access::Read}.writes());
    EXPECT_FALSE(Operand{.access = Access::Write}.reads());
    EXPECT_TRUE(Operand{.access = Access::Write}.writes());
    EXPECT_TRUE(Operand{.access = Access::Update}.reads());
    EXPECT_TRUE(Operand{.access = Access::Update}.writes());
    EXPECT_TRUE(Operand{.access = Access::Accumulate}.reads());
    EXPECT_TRUE(Operand{.access = Access::Accumulate}.writes());
}

TEST(InstructionTemplateTest, FindsTheFirstOperandOfARole) {
    InstructionTemplate instruction;
    instruction.operands = {
        {.role = Role::Dst}, {.role = Role::Src, .buffer = 1}, {.role = Role::Src}};
    ASSERT_NE(instruction.find(Role::Src), nullptr);
    EXPECT_EQ(instruction.find(Role::Src)->buffer, 1U);
    EXPECT_EQ(&instruction.at(Role::Dst), instruction.operands.data());
    EXPECT_EQ(instruction.find(Role::Index), nullptr);
}

TEST(InstructionTemplateTest, FindsTheIndicesOfEachOperand) {
    InstructionTemplate instruction;
    instruction.operands = {{.role = Role::Dst, .indirect = 3},
                            {.role = Role::Data},
                            {.role = Role::Index},
                            {.role = Role::Index}};
    EXPECT_EQ(instruction.indices_of(instruction.operands[0]), &instruction.operands[3]);
    EXPECT_EQ(instruction.indices_of(instruction.operands[1]), nullptr);
}

}  // namespace
}  // namespace trnsim
