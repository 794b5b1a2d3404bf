// SPDX-License-Identifier: Apache-2.0
// Issue templates: one per use, with the cost of the engine that runs it.
#include "trnsim/lowering/instructions/issue_table.hpp"

#include "support/program_builder.hpp"
#include "trnsim/base/error.hpp"
#include "trnsim/neuron_core/instruction_timing.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace trnsim::lowering {
namespace {

using neuron_core::Operation;
using testing::ElementsAre;

ChipSpec chip(const std::string& name) {
    return spec::load_chip(TRNSIM_SOURCE_DIR "/configs/chips/" + name + ".json").spec;
}

/// A site in each memory, and templates over them.
struct Sample {
    test::ProgramBuilder builder;
    std::uint32_t memory = builder.input("memory", Dtype::Bfloat16, {128, 512});
    std::uint32_t left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    std::uint32_t right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    std::uint32_t sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    std::uint32_t matmul = builder.matmul(sum, left, right);
    std::uint32_t copy =
        builder.add(Opcode::TensorCopy,
                    {Engine::Gpsimd, Engine::Vector, Engine::Scalar},
                    {builder.whole(Role::Dst, right), builder.whole(Role::Data, sum)});
    std::uint32_t load = builder.copy(right, memory);
    std::uint32_t forced = builder.copy(right, memory, DgeMode::None);
    std::uint32_t exp =
        builder.add(Opcode::Activation,
                    {Engine::Scalar},
                    {builder.whole(Role::Dst, right), builder.whole(Role::Data, sum)},
                    {.function = "exp"});
    program::Program program = builder.build();
};

TEST(IssueTableTest, GivesTheSameTemplateForTheSameUse) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* vector = table.compute(sample.copy, Engine::Vector, 0);
    EXPECT_EQ(vector, table.compute(sample.copy, Engine::Vector, 0));
    EXPECT_NE(vector, table.compute(sample.copy, Engine::Scalar, 0));
    EXPECT_NE(table.load_stationary(sample.matmul), table.multiply_moving(sample.matmul));
    EXPECT_NE(table.transfer(sample.load, {.dge = DgeMode::Hardware}, 0),
              table.transfer(sample.load, {.dge = DgeMode::Hardware}, 64));
}

TEST(IssueTableTest, NumbersItsTemplatesInOrder) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    EXPECT_EQ(table.load_stationary(sample.matmul)->index, 0U);
    EXPECT_EQ(table.multiply_moving(sample.matmul)->index, 1U);
    EXPECT_EQ(table.wait_only(*table.load_stationary(sample.matmul))->index, 2U);
}

TEST(IssueTableTest, EnginesThatTheChipLetsNotRunItAreLeftOut) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    const IssueTable table(sample.program, trn2);
    EXPECT_THAT(table.engines(sample.copy), ElementsAre(Engine::Vector, Engine::Scalar))
        << "GpSimd does not reach PSUM";
    EXPECT_THAT(table.engines(sample.load), ElementsAre(Engine::Dma));
}

TEST(IssueTableTest, ATemplateThatTheChipDoesNotTakeIsAnErrorThatNamesTheLine) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    builder.unary(Opcode::Exponential, Engine::Vector, tile, tile);
    const program::Program program = builder.build();
    const ChipSpec trn2 = chip("trainium2");
    try {
        const IssueTable table(program, trn2);
        FAIL() << "there is no error";
    } catch (const ProgramError& error) {
        EXPECT_THAT(error.what(), testing::StartsWith("kernel.py:101: exponential: "));
    }
}

TEST(IssueTableTest, CostsAreThoseOfTheTimingFunctions) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto& templates = sample.program.templates;
    const TensorEngineSpec& tensor = trn2.neuron_core.tensor_engine;
    EXPECT_EQ(table.compute(sample.copy, Engine::Scalar, 0)->cost,
              neuron_core::cost(trn2, Engine::Scalar, templates[sample.copy]));
    EXPECT_EQ(table.load_stationary(sample.matmul)->tensor_interval,
              neuron_core::load_stationary_interval(tensor, templates[sample.matmul]));
    const auto* multiply = table.multiply_moving(sample.matmul);
    EXPECT_EQ(multiply->tensor_interval,
              neuron_core::multiply_moving_interval(tensor, templates[sample.matmul]));
    EXPECT_EQ(multiply->macs, 128 * 128 * 512);
    EXPECT_EQ(multiply->busy_columns, 512);
    EXPECT_EQ(multiply->row_share, 1.0);
}

TEST(IssueTableTest, AProductOverHalfOfTheRowsSaysSo) {
    test::ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {64, 128});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {64, 512});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    const auto matmul = builder.matmul(sum, left, right);
    const program::Program program = builder.build();
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(program, trn2);
    EXPECT_EQ(table.multiply_moving(matmul)->row_share, 0.5);
}

TEST(IssueTableTest, ATransferKnowsItsEnginesBytesAndDescriptors) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* load = table.transfer(sample.load, {.dge = DgeMode::Hardware}, 0);
    EXPECT_EQ(load->operation, Operation::Transfer);
    EXPECT_EQ(load->transfer.engine_mask, 0xFFFFU);
    EXPECT_EQ(load->transfer.bytes, Bytes{128L * 1024});
    EXPECT_EQ(load->transfer.bytes_read_hbm, Bytes{128L * 1024});
    EXPECT_EQ(load->transfer.bytes_written_hbm, Bytes{0});
    EXPECT_EQ(load->transfer.descriptors, 128);
}

TEST(IssueTableTest, ATransferBeginsAsItIsTold) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* by_sync =
        table.transfer(sample.load, {.dge = DgeMode::Hardware, .engine = Engine::Sync}, 0);
    const auto* by_scalar =
        table.transfer(sample.load, {.dge = DgeMode::Hardware, .engine = Engine::Scalar}, 0);
    EXPECT_NE(by_sync, by_scalar);
    EXPECT_EQ(by_scalar->trigger, Engine::Scalar);
    EXPECT_EQ(by_scalar->dge, DgeMode::Hardware);
    EXPECT_EQ(table.transfer(sample.load, {.dge = DgeMode::None}, 0)->trigger, Engine::Dma);
}

TEST(IssueTableTest, ATriggerHoldsItsEngineUntilTheTransferIsDescribed) {  // [TRACES-TRN2]
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto trigger = [&](DgeMode dge, Engine engine) {
        return table.trigger(*table.transfer(sample.load, {.dge = dge, .engine = engine}, 0));
    };
    const auto* hardware = trigger(DgeMode::Hardware, Engine::Scalar);
    EXPECT_EQ(hardware->name, "DMA_DIRECT2D");
    EXPECT_EQ(hardware->operation, Operation::Trigger);
    EXPECT_EQ(hardware->engine, Engine::Scalar);
    EXPECT_EQ(hardware->cost.interval, from_nanoseconds(524));
    EXPECT_EQ(hardware->cost.read, Picoseconds{}) << "the transfer begins with it";
    EXPECT_EQ(table.elements(*hardware), 0) << "it streams nothing";
    EXPECT_EQ(table.source_text(*hardware), "kernel.py:103");
    EXPECT_EQ(trigger(DgeMode::Software, Engine::Gpsimd)->cost.interval,
              from_nanoseconds(330 + 128 * 2))
        << "128 descriptors";
    EXPECT_EQ(trigger(DgeMode::None, Engine::Vector)->cost.interval, from_nanoseconds(8));
    EXPECT_EQ(trigger(DgeMode::Hardware, Engine::Scalar), hardware);
}

TEST(IssueTableTest, ATableLoadTakesTheChipsTime) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* load = table.table_load(sample.exp);
    EXPECT_EQ(load->name, "ACT_TABLE_LOAD");
    EXPECT_EQ(load->cost.interval, from_nanoseconds(1283));
    EXPECT_EQ(load->cost.done, load->cost.interval);
}

TEST(IssueTableTest, ALoopBarrierTakesTheChipsTimeOnSync) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* barrier = table.loop_barrier(sample.exp);
    EXPECT_EQ(barrier->name, "LOOP_BARRIER");
    EXPECT_EQ(barrier->engine, Engine::Sync);
    EXPECT_EQ(barrier->cost.interval, from_nanoseconds(2900));
    EXPECT_EQ(barrier->cost.done, barrier->cost.interval);
    EXPECT_EQ(table.loop_barrier(sample.exp), barrier);
}

TEST(IssueTableTest, AReadoutWritesTheSumAndTheActivationAllElse) {
    test::ProgramBuilder builder;
    const auto data = builder.tile("data", Space::Psum, Dtype::Float32, {128, 512});
    const auto result = builder.tile("result", Space::Psum, Dtype::Float32, {128, 512});
    const auto sum = builder.tile("sum", Space::Sbuf, Dtype::Float32, {128, 1});
    const auto reduce = builder.exp_and_sum(result, data, sum);
    const program::Program program = builder.build();
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(program, trn2);
    const auto* main = table.compute(reduce, Engine::Scalar, 0);
    const auto* readout = table.read_accumulator(reduce);
    EXPECT_EQ(readout, table.read_accumulator(reduce));
    EXPECT_EQ(readout->name, "ACTIVATION_READ_ACCUMULATOR");
    EXPECT_EQ(readout->cost.interval, to_picoseconds(Cycles{222}, Gigahertz{1.2}));
    EXPECT_TRUE(readout->touches_sbuf);
    EXPECT_FALSE(readout->touches_psum);
    EXPECT_EQ(table.elements(*readout), 1);
    EXPECT_EQ(table.elements(*main), 512);
    const InstructionTemplate& from = program.templates[reduce];
    for (const Operand& operand : from.operands) {
        EXPECT_NE(accesses(*main, from, operand), accesses(*readout, from, operand))
            << name(operand.role);
    }
    EXPECT_EQ(neuron_core::occupancy(trn2, Engine::Scalar, from),
              main->cost.interval + readout->cost.interval);
}

TEST(IssueTableTest, ASpillMovesTheWholeTileOnceToHbmOrBack) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* save = table.spill(sample.right, true, {.dge = DgeMode::Hardware});
    const auto* reload = table.spill(sample.right, false, {.dge = DgeMode::Hardware});
    const Bytes tile{128L * 1024};
    EXPECT_TRUE(save->is_spill_save);
    EXPECT_EQ(save->transfer.bytes_written_hbm, tile);
    EXPECT_EQ(save->transfer.bytes_read_hbm, Bytes{0});
    EXPECT_TRUE(reload->is_spill_reload);
    EXPECT_EQ(reload->transfer.bytes_read_hbm, tile);
    EXPECT_EQ(reload->transfer.bytes_written_hbm, Bytes{0});
    EXPECT_EQ(table.source_text(*save), "kernel.py:3 right");
    EXPECT_EQ(table.details(*save), "spill save");
}

TEST(IssueTableTest, TheTriggerOfASpillComesFromTheTileThatMoves) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const DmaTrigger by_gpsimd{.dge = DgeMode::Software, .engine = Engine::Gpsimd};
    const auto* save = table.spill(sample.right, true, by_gpsimd);
    const auto* trigger = table.trigger(*save);
    EXPECT_EQ(trigger->engine, Engine::Gpsimd);
    EXPECT_EQ(table.source_text(*trigger), table.source_text(*save));
    EXPECT_EQ(table.line(*trigger), "kernel.py:3 right DMA_DIRECT2D");
    EXPECT_EQ(table.elements(*trigger), 0);
    EXPECT_NE(table.trigger(*table.spill(sample.right, false, by_gpsimd)), trigger);
}

TEST(IssueTableTest, TellsWhereATemplateComesFromAndWhatItWorksOn) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* multiply = table.multiply_moving(sample.matmul);
    EXPECT_EQ(table.source_text(*multiply), "kernel.py:101");
    EXPECT_EQ(
        table.details(*multiply),
        "dst float32 psum 128p [512], stationary bfloat16 sbuf 128p [128], moving bfloat16 sbuf "
        "128p [512]");
    EXPECT_EQ(table.details(*table.transfer(sample.load, {.dge = DgeMode::Hardware}, 0)),
              "dst bfloat16 sbuf 128p [512], src bfloat16 hbm [65536]");
}

TEST(IssueTableTest, TellsWhoGoesByWhichIndices) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 8});
    const auto rows = builder.tile("rows", Space::Sbuf, Dtype::Int32, {128, 1});
    const auto places = builder.tile("places", Space::Sbuf, Dtype::Int32, {128, 1});
    Operand dst = builder.whole(Role::Dst, tile);
    Operand data = builder.whole(Role::Data, tile);
    dst.indirect = 3;
    data.indirect = 2;
    const auto copy = builder.add(
        Opcode::TensorCopy,
        {Engine::Gpsimd},
        {dst, data, builder.whole(Role::Index, rows), builder.whole(Role::Index, places)});
    builder.alloc(tile).alloc(rows).alloc(places).run(
        copy, {test::at(), test::at(), test::at(), test::at()});
    const program::Program program = builder.build();
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(program, trn2);
    EXPECT_EQ(
        table.details(*table.compute(copy, Engine::Gpsimd, 0)),
        "dst float32 sbuf 128p [8], data float32 sbuf 128p [8], index of data int32 sbuf 128p "
        "[1], index of dst int32 sbuf 128p [1]");
}

TEST(IssueTableTest, AWaitComesFromWhatItIsPutBefore) {
    const Sample sample;
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(sample.program, trn2);
    const auto* wait = table.wait_only(*table.multiply_moving(sample.matmul));
    EXPECT_EQ(wait->engine, Engine::Tensor);
    EXPECT_EQ(table.source_text(*wait), "kernel.py:101");
    const auto* save = table.spill(sample.right, true, {.dge = DgeMode::Hardware});
    EXPECT_EQ(table.source_text(*table.wait_only(*save)), "kernel.py:3 right");
}

TEST(IssueTableTest, ATransposeOnVectorIsOneForEachPairOfPartitionGroups) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 32});
    const auto transpose = builder.add(
        Opcode::NcTranspose,
        {Engine::Vector},
        {builder.part(Role::Dst, tile, 32, 32), builder.part(Role::Data, tile, 32, 32)});
    const program::Program program = builder.build();
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(program, trn2);
    const auto at = [&](std::int64_t dst, std::int64_t data) {
        const std::array<program::Step::At, 2> places{{{.partition = dst}, {.partition = data}}};
        return table.compute(
            transpose, Engine::Vector, table.groups(transpose, Engine::Vector, places));
    };
    EXPECT_EQ(at(0, 32), at(0, 32));
    EXPECT_NE(at(0, 32)->state_key, at(32, 0)->state_key);
    EXPECT_NE(at(0, 0)->state_key, 0U) << "0 is the state after another instruction";
}

TEST(IssueTableTest, DifferentShuffleMasksHaveDifferentKeys) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 64});
    std::vector<std::int32_t> mask(32);
    for (std::int32_t i = 0; i < 32; ++i) {
        mask[static_cast<std::size_t>(i)] = 31 - i;
    }
    const auto shuffle = [&](const std::vector<std::int32_t>& of) {
        return builder.add(Opcode::NcStreamShuffle,
                           {Engine::Vector},
                           {builder.whole(Role::Dst, tile), builder.whole(Role::Data, tile)},
                           {.mask = of});
    };
    const auto reversed = shuffle(mask);
    const auto again = shuffle(mask);
    std::swap(mask[0], mask[1]);
    const auto swapped = shuffle(mask);
    const auto zeros = shuffle(std::vector<std::int32_t>(32, 0));
    const program::Program program = builder.build();
    const ChipSpec trn2 = chip("trainium2");
    IssueTable table(program, trn2);
    const auto key = [&](std::uint32_t index) {
        return table.compute(index, Engine::Vector, 0)->state_key;
    };
    EXPECT_EQ(key(reversed), key(again));
    EXPECT_NE(key(reversed), key(swapped));
    EXPECT_NE(key(zeros), 0U);
}

}  // namespace
}  // namespace trnsim::lowering
