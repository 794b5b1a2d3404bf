// SPDX-License-Identifier: Apache-2.0
// Names of operations, engines and operand properties.
#include "trnsim/isa/instruction.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace trnsim {
namespace {

/// Checks that every value up to `last` has a name of its own that leads back to it.
template <typename Enum>
void expect_names(Enum last, std::optional<Enum> (*from_name)(std::string_view)) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        const auto value = static_cast<Enum>(i);
        EXPECT_FALSE(name(value).empty());
        EXPECT_TRUE(names.insert(name(value)).second) << name(value);
        EXPECT_EQ(from_name(name(value)), value);
    }
    EXPECT_EQ(from_name("no such name"), std::nullopt);
    EXPECT_EQ(from_name(""), std::nullopt);
}

TEST(NamesTest, LeadThereAndBackForEveryValue) {
    expect_names(Opcode::CollectivePermute, opcode_from_name);
    expect_names(Engine::Dma, engine_from_name);
    expect_names(DgeMode::Hardware, dge_mode_from_name);
    expect_names(Space::Psum, space_from_name);
    expect_names(Access::Accumulate, access_from_name);
    expect_names(Role::DstIndex, role_from_name);
    expect_names(OneZero::Both, one_zero_from_name);
    expect_names(MatmulPerfMode::DoubleRow, perf_mode_from_name);
}

TEST(NamesTest, AreThoseOfNki) {
    EXPECT_EQ(name(Opcode::NcMatmul), "nc_matmul");
    EXPECT_EQ(name(Opcode::ScalarTensorTensor), "scalar_tensor_tensor");
    EXPECT_EQ(name(Opcode::NcMatchReplace8), "nc_match_replace8");
    EXPECT_EQ(name(Opcode::CoreBarrier), "core_barrier");
    EXPECT_EQ(name(Engine::Gpsimd), "gpsimd");
    EXPECT_EQ(name(Role::ReduceResult), "reduce_result");
}

TEST(OpcodeTest, AllOpcodesAreInEnumerationOrder) {
    const auto all = all_opcodes();
    ASSERT_EQ(all.size(), static_cast<std::size_t>(Opcode::CollectivePermute) + 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i], static_cast<Opcode>(i));
    }
}

TEST(OpcodeTest, DmaOperationsAreThoseWithDmaInTheirNameAndExchanges) {
    for (const Opcode opcode : all_opcodes()) {
        EXPECT_EQ(is_dma(opcode), name(opcode).starts_with("dma_") || is_exchange(opcode))
            << name(opcode);
    }
}

TEST(OpcodeTest, ExchangesNeedOtherCores) {
    EXPECT_TRUE(is_exchange(Opcode::Sendrecv));
    EXPECT_TRUE(is_exchange(Opcode::AllReduce));
    EXPECT_TRUE(is_exchange(Opcode::CollectivePermute));
    EXPECT_FALSE(is_exchange(Opcode::CoreBarrier));
    EXPECT_FALSE(is_collective(Opcode::Sendrecv));
    EXPECT_TRUE(is_collective(Opcode::AllReduce));
    EXPECT_FALSE(is_exchange(Opcode::DmaCompute));
}

}  // namespace
}  // namespace trnsim
