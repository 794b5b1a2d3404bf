// SPDX-License-Identifier: Apache-2.0
// Descriptors, engines and service times of DMA transfers.
#include "trnsim/dma/dma_timing.hpp"

#include "unit/neuron_core/instructions.hpp"

#include <array>

namespace trnsim::dma {
namespace {

using test::chip;
using test::make;
using test::tile;

constexpr auto kF32 = Dtype::Float32;
constexpr auto kBf16 = Dtype::Bfloat16;
constexpr auto kSbuf = Space::Sbuf;
constexpr auto kHbm = Space::Hbm;
constexpr std::uint32_t kAllEngines = 0xffff;

/// HBM rows of `row` FP32 elements, `pitch` apart, to as many partitions.
InstructionTemplate load(std::int32_t rows, std::int64_t row, std::int64_t pitch) {
    Operand src = tile(Role::Src, kHbm, kF32, rows, 1, pitch);
    src.pattern.push_back({1, row});
    return make(Opcode::DmaCopy, {tile(Role::Dst, kSbuf, kF32, row, rows), src});
}

InstructionTemplate in_hbm(std::int64_t elements) {
    return make(Opcode::DmaCopy,
                {tile(Role::Dst, kHbm, kF32, elements), tile(Role::Src, kHbm, kF32, elements)});
}

DmaTransferCost on(const std::string& name,
                   const InstructionTemplate& instruction,
                   std::int32_t first_partition = 0,
                   DgeMode mode = DgeMode::None) {
    const ChipSpec& spec = chip(name);
    return transfer_cost(
        spec.dma, spec.hbm, dge_mode(spec.neuron_core.dge, mode), instruction, first_partition);
}

std::int64_t count(const InstructionTemplate& instruction) {
    return descriptors(chip("trn2").dma, instruction).count;
}

TEST(DmaDescriptors, AreOnePerPartitionRow) {
    EXPECT_EQ(count(load(128, 512, 4096)), 128);
    EXPECT_EQ(count(load(128, 512, 512)), 128) << "adjacent in HBM, not in SBUF";
}

TEST(DmaDescriptors, AreCutAtTheLongest) {
    EXPECT_EQ(count(load(128, 1024, 4096)), 128);
    EXPECT_EQ(count(load(128, 1025, 4096)), 256);
    EXPECT_EQ(count(load(4, 2048, 2048)), 8) << "4 rows of 8 KiB";
    const auto bytes = [](std::int64_t n) {
        return make(
            Opcode::DmaCopy,
            {tile(Role::Dst, kHbm, Dtype::Uint8, n), tile(Role::Src, kHbm, Dtype::Uint8, n)});
    };
    EXPECT_EQ(count(bytes(4096)), 1);
    EXPECT_EQ(count(bytes(4097)), 2);
}

TEST(DmaDescriptors, MergeAdjacentRowsInHbm) {
    EXPECT_EQ(count(in_hbm(1024)), 1);
    EXPECT_EQ(count(in_hbm(8192)), 8);
}

TEST(DmaDescriptors, AreSinglesWhereOneSideJumps) {
    const auto jumping =
        make(Opcode::DmaCopy,
             {tile(Role::Dst, kSbuf, kF32, 512, 16), tile(Role::Src, kHbm, kF32, 16L * 512, 1, 2)});
    EXPECT_EQ(count(jumping), 16L * 512);
}

TEST(DmaDescriptors, AreCutWhereEitherSideIs) {
    // 96 elements: HBM in runs of 32, SBUF in runs of 48, cut at 32, 48 and 64.
    Operand src = tile(Role::Src, kHbm, kF32, 3, 1, 1000);
    src.pattern.push_back({1, 32});
    const auto transfer = make(Opcode::DmaCopy, {tile(Role::Dst, kSbuf, kF32, 48, 2), src});
    EXPECT_EQ(count(transfer), 4);
}

TEST(DmaDescriptors, AreOnePerIndexOfAGather) {
    Operand src = tile(Role::Src, kHbm, kF32, 128, 1, 64);
    src.pattern.push_back({1, 64});
    src.indirect = 2;
    const auto gather = make(
        Opcode::DmaCopy,
        {tile(Role::Dst, kHbm, kF32, 128L * 64), src, tile(Role::Index, kSbuf, Dtype::Uint32, 1)});
    EXPECT_EQ(count(gather), 128);
}

TEST(DmaDescriptors, AreOnePerElementThatIsGatheredAlone) {
    Operand src = tile(Role::Src, kHbm, kF32, 128);
    src.indirect = 2;
    const auto gather =
        make(Opcode::DmaCopy,
             {tile(Role::Dst, kHbm, kF32, 128), src, tile(Role::Index, kSbuf, Dtype::Uint32, 1)});
    EXPECT_EQ(count(gather), 128);
}

TEST(DmaDescriptors, OfAGatherThatScattersTooFollowTheShorterRows) {
    Operand dst = tile(Role::Dst, kHbm, kF32, 128, 1, 64);
    dst.pattern.push_back({1, 64});
    dst.indirect = 2;
    Operand src = tile(Role::Src, kHbm, kF32, 32, 1, 256);
    src.pattern.push_back({1, 256});
    src.indirect = 3;
    InstructionTemplate both = make(Opcode::DmaCopy,
                                    {dst,
                                     src,
                                     tile(Role::Index, kSbuf, Dtype::Uint32, 1),
                                     tile(Role::Index, kSbuf, Dtype::Uint32, 1)});
    both.operands[3].partitions = 32;
    EXPECT_EQ(count(both), 128);
    std::swap(both.operands[0].indirect, both.operands[1].indirect);
    EXPECT_EQ(count(both), 128);
    both.operands[0].indirect = 3;
    EXPECT_EQ(count(both), 128) << "rows of the pattern are apart";
}

TEST(DmaDescriptors, AreThoseOfAFixedPlaceWhereOneOffsetMovesItAll) {
    Operand src = tile(Role::Src, kHbm, kF32, 128L * 512);
    Operand index = tile(Role::Index, kSbuf, Dtype::Uint32, 1);
    index.partitions = 1;
    const auto fixed = make(Opcode::DmaCopy, {tile(Role::Dst, kSbuf, kF32, 512), src});
    src.indirect = 2;
    const auto moved = make(Opcode::DmaCopy, {tile(Role::Dst, kSbuf, kF32, 512), src, index});
    EXPECT_EQ(count(moved), 128);
    EXPECT_EQ(count(moved), count(fixed));
}

TEST(DmaDescriptors, OfATransposeFollowItsSource) {
    InstructionTemplate transpose =
        make(Opcode::DmaTranspose,
             {tile(Role::Dst, kSbuf, kBf16, 2048), tile(Role::Src, kHbm, kBf16, 128L * 2048)});
    EXPECT_EQ(count(transpose), 128);
}

TEST(DmaDescriptors, OfAComputeCountEverySource) {
    InstructionTemplate sum = in_hbm(8192);
    sum.op = Opcode::DmaCompute;
    sum.operands.push_back(tile(Role::Src, kHbm, kF32, 8192));
    EXPECT_EQ(count(sum), 16);
    EXPECT_EQ(descriptors(chip("trn2").dma, sum).bytes, Bytes{2L * 32768});
}

TEST(DmaEngines, ServeEightPartitionsEach) {
    EXPECT_EQ(on("trn2", load(128, 512, 512)).engine_mask, kAllEngines);
    EXPECT_EQ(on("trn2", load(64, 512, 512)).engine_mask, 0xffU);
    EXPECT_EQ(on("trn2", load(64, 512, 512), 64).engine_mask, 0xff00U);
    EXPECT_EQ(on("trn2", load(9, 512, 512)).engine_mask, 0x3U);
    EXPECT_EQ(on("trn2", load(2, 512, 512), 7).engine_mask, 0x3U);
    EXPECT_EQ(on("trn2", load(4, 2048, 2048), 32).engine_mask, 0x10U);
}

TEST(DmaEngines, MoveASingleRowByThatOfItsPartition) {
    EXPECT_EQ(on("trn2", load(1, 4096, 4096)).engine_mask, 0x1U);
    EXPECT_EQ(on("trn2", load(1, 4096, 4096), 120).engine_mask, 0x8000U);
    EXPECT_EQ(on("trn2", load(1, 8192, 8192)).service, on("trn2", load(8, 1024, 8192)).service)
        << "one engine and the same descriptors";
}

TEST(DmaEngines, AreBusyWithTheirOwnDescriptorsOnly) {
    EXPECT_TRUE(on("trn2", load(128, 512, 512)).uneven.empty());
    const DmaTransferCost nine = on("trn2", load(9, 512, 512));
    ASSERT_EQ(nine.uneven.size(), std::size_t{kMostDmaEngines});
    EXPECT_EQ(nine.uneven[0], nine.service);
    EXPECT_NEAR(nine.uneven[1].nanoseconds(), nine.service.nanoseconds() / 8, 0.001);
    EXPECT_EQ(nine.engine_time(), nine.uneven[0] + nine.uneven[1]);
    const DmaTransferCost copy = on("trn2", in_hbm(17L * 1024));
    EXPECT_EQ(copy.service, on("trn2", in_hbm(32L * 1024)).service);
    EXPECT_NEAR(copy.engine_time().nanoseconds(),
                17.0 / 32.0 * on("trn2", in_hbm(32L * 1024)).engine_time().nanoseconds(),
                0.01);
}

TEST(DmaEngines, ShareHbmCopiesByDescriptor) {
    EXPECT_EQ(on("trn2", in_hbm(1 << 20)).engine_mask, kAllEngines);
    EXPECT_EQ(on("trn2", in_hbm(3L * 1024)).engine_mask, 0x7U) << "three descriptors";
}

// Element times of one engine in profiles of real kernels. [TRACES-TRN2] [ACCURACY-STUDY]
TEST(DmaEngineTrace, ElementsTakeEightNsAndTheirBytes) {
    const auto element = [](std::int64_t bytes) {
        return Picoseconds{on("trn2", load(128, bytes / 4, 8192)).service.value / 8};
    };
    test::expect_near_measured(element(512), 27);
    test::expect_near_measured(element(2048), 83);
    test::expect_near_measured(element(4096), 158);
}

TEST(DmaEngineTrace, SoftwareElementsOf256BytesTake38nsAndLongOnesTheirBytes) {
    const auto element = [](std::int64_t bytes) {
        return Picoseconds{
            on("trn2", load(128, bytes / 4, 8192), 0, DgeMode::Software).service.value / 8};
    };
    test::expect_near_measured(element(256), 41, 10.0);
    test::expect_near_measured(element(4096), 158);
}

TEST(DmaEngineFigure, StreamsOf4KibRowsReach414GBPerSecond) {  // 158 ns an element. [TRACES-TRN2]
    const DmaTransferCost cost = on("trn2", load(128, 1024, 1024));
    EXPECT_NEAR(static_cast<double>(cost.bytes.value) / cost.service.nanoseconds(), 414, 2);
}

TEST(DmaEngineFigure, HalfThePartitionsTransferAtHalfTheRate) {
    const DmaTransferCost half = on("trn2", load(64, 1024, 1024));
    EXPECT_EQ(half.service, on("trn2", load(128, 1024, 1024)).service);
    EXPECT_NEAR(static_cast<double>(half.bytes.value) / half.service.nanoseconds(), 207, 1);
}

/// A full load on trn2 with other DMA engines.
DmaTransferCost on_engines(std::int64_t engines, std::int64_t partitions_per_engine) {
    DmaSpec spec = chip("trn2").dma;
    spec.engines = engines;
    spec.partitions_per_engine = partitions_per_engine;
    return transfer_cost(spec,
                         chip("trn2").hbm,
                         dge_mode(chip("trn2").neuron_core.dge, DgeMode::None),
                         load(128, 1024, 1024),
                         0);
}

TEST(DmaEngineFigure, FewerEnginesMoveAtTheirShareOfTheRate) {
    const DmaTransferCost all = on("trn2", load(128, 1024, 1024));
    for (const std::int64_t engines : {8, 4, 2, 1}) {
        const DmaTransferCost few = on_engines(engines, 8);
        EXPECT_NEAR(few.service.nanoseconds(),
                    16.0 / static_cast<double>(engines) * all.service.nanoseconds(),
                    0.01)
            << engines;
        EXPECT_EQ(few.engine_mask, (1U << engines) - 1U);
    }
}

TEST(DmaEngineFigure, ThirtyTwoEnginesMoveTwiceWhatSixteenDo) {
    const DmaTransferCost many = on_engines(32, 4);
    EXPECT_EQ(many.engine_mask, ~std::uint32_t{0});
    EXPECT_NEAR(many.service.nanoseconds(),
                on("trn2", load(128, 1024, 1024)).service.nanoseconds() / 2.0,
                0.01);
}

TEST(DmaEngineFigure, EnginesBeyondThePartitionsServeNone) {
    DmaSpec spec = chip("trn2").dma;
    for (const auto& [engines, each, serving] : {std::array<std::int64_t, 3>{16, 8, 16},
                                                 {32, 8, 16},
                                                 {32, 4, 32},
                                                 {17, 7, 17},
                                                 {32, 7, 19},
                                                 {4, 8, 4}}) {
        spec.engines = engines;
        spec.partitions_per_engine = each;
        EXPECT_EQ(serving_engines(spec, 128), serving) << engines << " engines, " << each;
    }
}

TEST(DmaEngineFigure, Trn1MovesAbout270GBPerSecond) {  // 273 to 275 measured. [M-TRN1]
    const DmaTransferCost cost = on("trn1", load(128, 8192, 8192));
    EXPECT_NEAR(static_cast<double>(cost.bytes.value) / cost.service.nanoseconds(), 274, 22);
}

TEST(DmaReadTurn, TheLastEngineFollowsTheFirstByFifteenTurns) {  // [TRACES-TRN2]
    EXPECT_NEAR(on("trn2", load(128, 128, 128)).spread.nanoseconds(), 207, 5);
    EXPECT_NEAR(on("trn2", load(128, 512, 512)).spread.nanoseconds(), 391, 45);
    EXPECT_NEAR(on("trn2", load(128, 1024, 1024)).spread.nanoseconds(), 713, 20);
}

TEST(DmaReadTurn, EveryEngineHasItsOwn) {
    const double turn = on("trn2", load(128, 512, 512)).spread.nanoseconds() / 15.0;
    EXPECT_NEAR(on("trn2", load(64, 512, 512)).spread.nanoseconds(), 7.0 * turn, 0.01);
    EXPECT_NEAR(on("trn2", load(64, 512, 512), 64).spread.nanoseconds(), 15.0 * turn, 0.01)
        << "the engines of the upper partitions are the last ones";
    EXPECT_EQ(on("trn2", load(8, 512, 512)).spread, Picoseconds{}) << "one engine";
}

TEST(DmaReadTurn, StoresNeedNone) {
    InstructionTemplate store = load(128, 512, 512);
    store.operands[0].role = Role::Src;
    store.operands[1].role = Role::Dst;
    EXPECT_EQ(on("trn2", store).spread, Picoseconds{});
}

TEST(DmaTransferCost, CountsBytesOnTheSideOfTheHbm) {
    const DmaTransferCost read = on("trn2", load(128, 512, 512));
    EXPECT_EQ(read.bytes, Bytes{128L * 2048});
    EXPECT_EQ(read.bytes_read_hbm, read.bytes);
    EXPECT_EQ(read.bytes_written_hbm, Bytes{0});
    const DmaTransferCost both = on("trn2", in_hbm(8192));
    EXPECT_EQ(both.bytes_read_hbm, Bytes{32768});
    EXPECT_EQ(both.bytes_written_hbm, Bytes{32768});
}

TEST(DmaTransferCost, OfACastIsThatOfItsWiderSide) {
    InstructionTemplate cast = load(128, 512, 512);
    cast.operands[0].dtype = kBf16;
    EXPECT_EQ(on("trn2", cast).service, on("trn2", load(128, 512, 512)).service);
    EXPECT_EQ(on("trn2", cast).bytes, Bytes{128L * 1024});
}

TEST(DmaTransferCost, OfTransposesAndComputesIsLongerByTheirEfficiency) {
    const auto moving = [](const InstructionTemplate& instruction) {
        const DmaTransferCost cost = on("trn2", instruction);
        const double busiest = static_cast<double>(cost.descriptors) / 16;
        return cost.service.nanoseconds() - busiest * 8.0;
    };
    InstructionTemplate transpose =
        make(Opcode::DmaTranspose,
             {tile(Role::Dst, kSbuf, kBf16, 2048), tile(Role::Src, kHbm, kBf16, 128L * 2048)});
    const double copy = 8.0 * 4096 / 27.2;
    EXPECT_NEAR(moving(transpose), copy / 0.9, 1.0);
    transpose.operands[1].space = kSbuf;
    EXPECT_NEAR(moving(transpose), copy / 0.5, 1.0);
}

TEST(DmaTransferCost, OfASumOfTwoIsTwiceThatOfACopy) {  // [NKI-ARCH-V4]
    InstructionTemplate sum = load(128, 512, 512);
    sum.op = Opcode::DmaCompute;
    sum.operands.push_back(sum.operands[1]);
    EXPECT_EQ(on("trn2", sum).service, 2 * on("trn2", load(128, 512, 512)).service);
}

TEST(DmaTransferCost, KnowsShortPiecesWasteHbm) {
    const auto jumping =
        make(Opcode::DmaCopy,
             {tile(Role::Dst, kSbuf, kF32, 512, 16), tile(Role::Src, kHbm, kF32, 16L * 512, 1, 2)});
    EXPECT_LT(on("trn2", jumping).hbm_page_efficiency, 0.1);
    EXPECT_DOUBLE_EQ(on("trn2", load(128, 512, 512)).hbm_page_efficiency, 1.0);
}

TEST(Dge, ResolvesAutoByChipAndOperands) {
    const DgeSpec& trn2 = chip("trn2").neuron_core.dge;
    const DgeSpec& trn1 = chip("trn1").neuron_core.dge;
    InstructionTemplate transfer = load(128, 512, 512);
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Hardware);
    EXPECT_EQ(resolve_dge(trn1, transfer), DgeMode::None);
    transfer.operands[0].dtype = kBf16;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Software);
    EXPECT_EQ(resolve_dge(trn1, transfer), DgeMode::None);
    transfer = load(128, 512, 512);
    transfer.operands[1].indirect = 2;
    transfer.operands.push_back(tile(Role::Index, kSbuf, Dtype::Uint32, 1));
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Software);
    transfer.operands.back().partitions = 2;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Software);
    transfer.operands.back().partitions = 1;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Hardware);
    EXPECT_EQ(resolve_dge(trn1, transfer), DgeMode::Software);
    transfer = load(128, 512, 512);
    for (const Opcode op : {Opcode::DmaCompute, Opcode::DmaTranspose}) {
        transfer.op = op;
        EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::None);
        transfer.attributes.dge = DgeMode::Hardware;
        EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Hardware);
        transfer.attributes.dge = DgeMode::Auto;
    }
    transfer = load(128, 512, 512);
    transfer.op = Opcode::DmaTranspose;
    transfer.operands[1].indirect = 2;
    transfer.operands.push_back(tile(Role::Index, kSbuf, Dtype::Uint32, 1, 1));
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Hardware) << "one index moves the start";
    transfer = load(128, 512, 512);
    transfer.attributes.trigger = Engine::Gpsimd;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Software);
    transfer.attributes.trigger = Engine::Scalar;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::Hardware);
    transfer.operands[0].dtype = kBf16;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::None) << "Scalar makes no descriptors";
    transfer.operands[0].dtype = transfer.operands[1].dtype;
    transfer.attributes.trigger = Engine::Vector;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::None) << "only Sync and Scalar reach hardware";
    transfer.attributes.dge = DgeMode::None;
    EXPECT_EQ(resolve_dge(trn2, transfer), DgeMode::None);
}

TEST(Dge, HardwareIsAskedBySyncAndScalarAndSoftwareIsGpsimds) {  // [NKI-DGE]
    for (const Engine engine : kSequencedEngines) {
        const bool is_gpsimd = engine == Engine::Gpsimd;
        const bool is_hardware = engine == Engine::Sync || engine == Engine::Scalar;
        EXPECT_EQ(can_trigger(engine, DgeMode::Hardware), is_hardware);
        EXPECT_EQ(can_trigger(engine, DgeMode::Software), is_gpsimd);
        EXPECT_TRUE(can_trigger(engine, DgeMode::None));
    }
}

TEST(DgeTrace, HardwareTakes1330nsToTheFirstByte) {  // [TRACES-TRN2]
    const DgeCost cost = dge_cost(chip("trn2").neuron_core.dge, DgeMode::Hardware, 128);
    test::expect_near_measured(cost.first_byte, 1335);
    test::expect_near_measured(cost.generator, 590);
}

TEST(DgeTrace, SoftwareTriggersOf128DescriptorsAre586nsApart) {  // [TRACES-TRN2]
    const DgeCost cost = dge_cost(chip("trn2").neuron_core.dge, DgeMode::Software, 128);
    test::expect_near_measured(cost.generator, 586);
    test::expect_near_measured(cost.first_byte, 739);
}

TEST(DgeTrace, ATriggerHoldsItsSequencerAndGpsimdUntilTheDescriptorsAreMade) {  // [TRACES-TRN2]
    const auto held = [](DgeMode mode) {
        return trigger_interval(mode, dge_cost(chip("trn2").neuron_core.dge, mode, 128));
    };
    test::expect_near_measured(held(DgeMode::Hardware), 524);
    test::expect_near_measured(held(DgeMode::Software), 586);
    EXPECT_EQ(held(DgeMode::None), from_nanoseconds(8));
    EXPECT_EQ(trigger_interval(DgeMode::Software, {.sequencer = Picoseconds{7}}), Picoseconds{7});
}

TEST(DgeTrace, DescriptorsOfARingAreMadeOneAfterTheOther) {  // [M-VOYAGER]
    const auto interval = [](DgeMode mode) {
        return ring_interval(chip("trn2").dma, dge_cost(chip("trn2").neuron_core.dge, mode, 128));
    };
    test::expect_near_measured(interval(DgeMode::Hardware), 599);
    EXPECT_EQ(interval(DgeMode::None), from_nanoseconds(60)) << "the ring's own pace";
    EXPECT_EQ(ring_interval({}, {.sequencer = Picoseconds{7}}), Picoseconds{7});
}

TEST(Dge, SoftwareTakesLongerForMoreDescriptors) {  // [KDA]
    const DgeSpec& spec = chip("trn2").neuron_core.dge;
    const Picoseconds more = dge_cost(spec, DgeMode::Software, 10'240).generator -
                             dge_cost(spec, DgeMode::Software, 0).generator;
    test::expect_near_measured(more, 20'000);
}

}  // namespace
}  // namespace trnsim::dma
