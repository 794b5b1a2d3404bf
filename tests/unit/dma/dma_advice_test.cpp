// SPDX-License-Identifier: Apache-2.0
// What is told about transfers that are legal and slow.
#include "trnsim/dma/dma_advice.hpp"

#include "unit/neuron_core/instructions.hpp"

namespace trnsim::dma {
namespace {

using test::chip;
using test::make;
using test::tile;

/// A load of `row` elements, `stride` apart in HBM, into each of `partitions`.
InstructionTemplate load(Dtype dtype,
                         std::int32_t partitions,
                         std::int64_t row,
                         std::int64_t stride = 1,
                         Opcode op = Opcode::DmaCopy) {
    Operand src = tile(Role::Src, Space::Hbm, dtype, partitions, 1, 8192 * stride);
    src.pattern.push_back({stride, row});
    return make(op, {tile(Role::Dst, Space::Sbuf, dtype, row, partitions), src});
}

std::string advice_on(const InstructionTemplate& instruction) {
    return advice(chip("trn2").dma, instruction).value_or("");
}

TEST(DmaAdvice, IsSilentAboutLongRowsOnAllPartitions) {
    EXPECT_EQ(advice_on(load(Dtype::Float32, 128, 512)), "");
    EXPECT_EQ(advice_on(load(Dtype::Float32, 128, 128)), "") << "512 bytes";
}

TEST(DmaAdvice, TellsOfDescriptorsBelow512Bytes) {
    EXPECT_EQ(advice_on(load(Dtype::Float32, 128, 127)),
              "128 descriptors of 508 B reach 70 % of the DMA engines' rate; let at least 512 B "
              "lie behind each other on both sides, better 2 KiB [NKI-DMA]");
    EXPECT_EQ(advice_on(load(Dtype::Float32, 128, 64, 2)).substr(0, 51),
              "8192 descriptors of 4 B reach 1 % of the DMA engine");
}

TEST(DmaAdvice, TellsOfTransposesElementByElement) {
    EXPECT_EQ(advice_on(load(Dtype::Bfloat16, 128, 64, 128)),
              "8192 descriptors of 2 B reach less than 1 % of the DMA engines' rate; moving single "
              "elements "
              "transposes by access pattern: use dma_transpose, or transpose on the tensor engine "
              "[NKI-PERF]");
    EXPECT_EQ(advice_on(load(Dtype::Bfloat16, 128, 64, 128, Opcode::DmaTranspose)), "");
}

TEST(DmaAdvice, TellsOfFewPartitions) {
    EXPECT_EQ(advice_on(load(Dtype::Float32, 32, 1024)),
              "32 partitions occupy 4 of 16 DMA engines; spread the tile over 128 partitions "
              "[NKI-DMA]");
    EXPECT_EQ(advice_on(load(Dtype::Float32, 56, 1024)).substr(0, 42),
              "56 partitions occupy 7 of 16 DMA engines; ");
    EXPECT_EQ(advice_on(load(Dtype::Float32, 64, 1024)), "") << "half of the engines";
    EXPECT_EQ(advice_on(load(Dtype::Float32, 1, 8192)),
              "1 partition occupies 1 of 16 DMA engines; spread the tile over 128 partitions "
              "[NKI-DMA]");
    DmaSpec wide = chip("trn2").dma;
    wide.partitions_per_engine = 64;
    EXPECT_EQ(advice(wide, load(Dtype::Float32, 128, 1024)), std::nullopt)
        << "no more to spread to";
}

TEST(DmaAdvice, IsSilentAboutSingleDescriptorsAndExchanges) {
    EXPECT_EQ(advice_on(load(Dtype::Float32, 1, 4)), "");
    EXPECT_EQ(advice_on(make(Opcode::Sendrecv,
                             {tile(Role::Dst, Space::Sbuf, Dtype::Float32, 4),
                              tile(Role::Src, Space::Sbuf, Dtype::Float32, 4)})),
              "");
}

}  // namespace
}  // namespace trnsim::dma
