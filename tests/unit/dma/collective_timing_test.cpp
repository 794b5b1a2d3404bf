// SPDX-License-Identifier: Apache-2.0
// Alpha-beta laws of collectives against what AWS publishes.
#include "trnsim/dma/collective_timing.hpp"

#include "unit/neuron_core/instructions.hpp"

#include <numeric>

namespace trnsim::dma {
namespace {

using test::chip;

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kMib = 1024 * kKib;
constexpr std::int64_t kRanksPerChip = 4;  // Of trn2, two cores each.

std::vector<std::int32_t> ranks(std::int32_t count) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

InstructionTemplate collective(Opcode op, std::int32_t count, std::int64_t bytes) {
    InstructionTemplate instruction;
    instruction.op = op;
    instruction.attributes.groups = {ranks(count)};
    instruction.attributes.bytes = bytes;
    return instruction;
}

/// Microseconds on trn2 with two cores to a rank; `bytes` of each rank.
double us(Opcode op, std::int32_t count, std::int64_t bytes) {
    return collective_time(chip("trn2"), collective(op, count, bytes), 2).microseconds();
}

/// An all-gather of a full tensor by one algorithm, in 64 ranks on 16 chips.
double by(CollectiveAlgorithm algorithm, std::int64_t full) {
    ChipSpec spec = chip("trn2");
    spec.collectives.mesh_bytes_max = algorithm == CollectiveAlgorithm::Mesh ? full : 0;
    spec.collectives.rdh_bytes_max = algorithm == CollectiveAlgorithm::Ring ? 0 : full;
    return collective_time(spec, collective(Opcode::AllGather, 64, full / 64), 2).microseconds();
}

TEST(CollectiveTime, OfShortAllGathersIsWhatAwsPrints) {
    // nccom-test, 32 ranks of an instance that is not named. [NCCOM-TEST]
    EXPECT_NEAR(us(Opcode::AllGather, 32, kKib / 32), 6.16, 0.01 * 6.16);
    EXPECT_NEAR(us(Opcode::AllGather, 32, 8 * kKib / 32), 6.48, 0.06 * 6.48);
    EXPECT_NEAR(us(Opcode::AllGather, 32, 64 * kKib / 32), 8.17, 0.23 * 8.17);
    EXPECT_NEAR(us(Opcode::AllGather, 32, 512 * kKib / 32), 23.16, 0.66 * 23.16) << "D-31";
    EXPECT_NEAR(us(Opcode::AllGather, 8, kKib / 8), 10.0, 0.4 * 10.0) << "D-31";
}

TEST(CollectiveTime, CrossesFromMeshToDoublingToRingWithinTwiceThePublishedSizes) {
    using enum CollectiveAlgorithm;
    EXPECT_LT(by(Mesh, kMib / 2), by(Rdh, kMib / 2));
    EXPECT_GT(by(Mesh, 2 * kMib), by(Rdh, 2 * kMib));
    EXPECT_LT(by(Rdh, 28 * kMib), by(Ring, 28 * kMib));
    EXPECT_GT(by(Rdh, 112 * kMib), by(Ring, 112 * kMib));
}

TEST(CollectiveTime, OfAnAllReduceIsThatOfItsTwoHalves) {
    for (const std::int64_t bytes : {kKib, 4 * kMib, 256 * kMib}) {
        EXPECT_DOUBLE_EQ(
            us(Opcode::AllReduce, 16, bytes),
            us(Opcode::ReduceScatter, 16, bytes) + us(Opcode::AllGather, 16, bytes / 16));
    }
}

TEST(CollectiveTime, OfADecodeStepIsOfTheOrderThatAwsReports) {
    // 3 ms for 122 all-reduces of 14 KB in 64 ranks: 25 us each, waiting for the slowest included.
    const double time = us(Opcode::AllReduce, 64, 14'000);
    EXPECT_GT(time, 25.0 / 2.1);
    EXPECT_LT(time, 25.0);
}

TEST(CollectiveTime, NearsTheRateOfItsLinks) {
    InstructionTemplate one_per_chip = collective(Opcode::AllGather, 16, 256 * kMib);
    for (std::int32_t& rank : one_per_chip.attributes.groups.front()) {
        rank *= static_cast<std::int32_t>(kRanksPerChip);
    }
    const double full = 16.0 * 256.0 * static_cast<double>(kMib);
    const double time = collective_time(chip("trn2"), one_per_chip, 2).seconds();
    EXPECT_NEAR(full * 15 / 16 / time * 1e-9, 512, 512 * 0.02);
    // All-to-all of S bytes per chip. [DEV-TRN2]
    const double sent = 4.0 * 64.0 * static_cast<double>(kMib);
    EXPECT_NEAR(sent / (us(Opcode::AllToAll, 64, 64 * kMib) * 1e-6) * 1e-9, 256, 256 * 0.02);
}

TEST(CollectiveTime, OfFourRanksPerChipIsBoundByHbm) {
    // Three accesses per byte for each of two pairs, at the 2.9 TB/s of four stacks.
    const double full = 64.0 * 64.0 * static_cast<double>(kMib);
    EXPECT_NEAR(us(Opcode::AllGather, 64, 64 * kMib), 3 * 2 * full / 2918.4e3, 1.0);
}

TEST(CollectiveTime, WithinAChipUsesNoLink) {
    EXPECT_DOUBLE_EQ(us(Opcode::AllGather, 4, kKib), 6.1);
    ChipSpec spec = chip("trn2");
    spec.collectives.ring_gb_per_s = GigabytesPerSecond{0.01};
    spec.collectives.all_to_all_gb_per_s = GigabytesPerSecond{0.01};
    const auto gather = collective(Opcode::AllGather, 4, 64 * kMib);
    EXPECT_EQ(collective_time(spec, gather, 2), collective_time(chip("trn2"), gather, 2));
    // Three accesses per byte for each of two pairs, at the 2.9 TB/s of four stacks.
    const double bytes = 4.0 * 64.0 * static_cast<double>(kMib);
    EXPECT_NEAR(us(Opcode::AllGather, 4, 64 * kMib), 3 * 2 * bytes / 2918.4e3, 1.0);
}

TEST(CollectiveTime, BeyondAnInstancePaysForTheNetwork) {
    const double one = us(Opcode::AllGather, 64, kKib / 2);
    const double two = us(Opcode::AllGather, 128, kKib / 4);
    // 15 us for the step, and half of 2 KiB of every chip at 25 GB/s. [COLLECTIVES-INTERNODE]
    EXPECT_NEAR(two - one, 15.0 + 0.5 * 32 * 1.024 / 16 / 25, 1e-3);
}

TEST(CollectiveTime, OfARingHasAHopForEveryTwoRanksOfAnInstance) {
    const auto hops = [](std::int32_t count) {
        const auto gather = collective(Opcode::AllGather, count, 64 * kMib);
        ChipSpec spec = chip("trn2");
        spec.hbm.pin_gbit_per_s = 1e6;  // Memory is not what is slow.
        spec.collectives.ring_hop_ns = Picoseconds{};
        const Picoseconds without = collective_time(spec, gather, 2);
        spec.collectives.ring_hop_ns = from_nanoseconds(1);
        return (collective_time(spec, gather, 2) - without).nanoseconds();
    };
    EXPECT_DOUBLE_EQ(hops(2), 1);
    EXPECT_DOUBLE_EQ(hops(8), 3);
    EXPECT_DOUBLE_EQ(hops(64), 31);
    EXPECT_DOUBLE_EQ(hops(128), 31) << "two instances";
}

TEST(CollectiveTime, OfRanksThatAreWholeChipsIsThatOfOneRankOnEach) {
    InstructionTemplate apart = collective(Opcode::AllGather, 16, 4 * kMib);
    for (std::int32_t& rank : apart.attributes.groups.front()) {
        rank *= static_cast<std::int32_t>(kRanksPerChip);
    }
    const auto whole = collective(Opcode::AllGather, 16, 4 * kMib);
    for (const std::int64_t cores : {8, 16}) {
        EXPECT_EQ(collective_time(chip("trn2"), whole, cores),
                  collective_time(chip("trn2"), apart, 2));
    }
}

TEST(CollectiveTime, IsThatOfTheSlowestGroup) {
    InstructionTemplate instruction = collective(Opcode::AllReduce, 4, 4 * kMib);
    const Picoseconds small = collective_time(chip("trn2"), instruction, 2);
    instruction.attributes.groups.push_back(ranks(64));
    EXPECT_GT(collective_time(chip("trn2"), instruction, 2), small);
    EXPECT_EQ(collective_time(chip("trn2"), instruction, 2),
              collective_time(chip("trn2"), collective(Opcode::AllReduce, 64, 4 * kMib), 2));
}

TEST(CollectiveTime, OfAPermuteFallsWithItsChannels) {
    InstructionTemplate instruction = collective(Opcode::CollectivePermute, 8, 32 * kMib);
    instruction.attributes.channels = 1;
    const double one = collective_time(chip("trn2"), instruction, 2).microseconds();
    instruction.attributes.channels = 4;
    const double four = collective_time(chip("trn2"), instruction, 2).microseconds();
    EXPECT_NEAR(one, 5.1 + 1.5 + 33554432.0 / 128e3, 1e-3);
    EXPECT_NEAR(four, 5.1 + 1.5 + 33554432.0 / 512e3, 1e-3);
    instruction.attributes.op0 = "add";
    EXPECT_NEAR(collective_time(chip("trn2"), instruction, 2).microseconds(),
                5.1 + 1.5 + 16777216.0 / 512e3,
                1e-3)
        << "what the sum of two sources takes";
}

TEST(CollectiveGroupOf, CountsChipsAndInstances) {
    const CollectiveSpec& spec = chip("trn2").collectives;
    const CollectiveGroup strided = group_of(spec, {0, 4, 8, 12}, kRanksPerChip);
    EXPECT_EQ(strided.ranks, 4);
    EXPECT_EQ(strided.chips, 4);
    EXPECT_EQ(strided.instances, 1);
    const CollectiveGroup far = group_of(spec, {0, 64}, kRanksPerChip);
    EXPECT_EQ(far.chips, 1);
    EXPECT_EQ(far.instances, 2);
}

TEST(ExchangeLatency, LetsATransferTakeTheTimeOfItsLaw) {
    const ChipSpec& trn2 = chip("trn2");
    const InstructionTemplate gather = collective(Opcode::AllGather, 32, 64 * kKib);
    const Picoseconds time = collective_time(trn2, gather, 2);
    DmaTransferCost transfer;
    transfer.service = from_nanoseconds(300);
    transfer.spread = from_nanoseconds(200);
    DgeCost dge{.generator = from_nanoseconds(500), .first_byte = from_nanoseconds(1300)};
    add_exchange_latency(trn2, gather, 2, transfer, dge);
    EXPECT_EQ(dge.first_byte + transfer.service + transfer.spread + trn2.dma.completion_ns, time);
    EXPECT_EQ(dge.generator, Picoseconds{});
    transfer.service = 2 * time;
    add_exchange_latency(trn2, gather, 2, transfer, dge);
    EXPECT_EQ(dge.first_byte, trn2.collectives.launch_ns) << "DMA is the bound";
}

TEST(ExchangeLatency, OfSendrecvComesBeforeItsBytes) {
    const ChipSpec& trn2 = chip("trn2");
    InstructionTemplate swap;
    swap.op = Opcode::Sendrecv;
    DmaTransferCost transfer;
    transfer.service = from_nanoseconds(5000);
    DgeCost dge;
    add_exchange_latency(trn2, swap, 2, transfer, dge);
    EXPECT_EQ(dge.first_byte + trn2.dma.completion_ns, from_nanoseconds(2000));
    swap.attributes.gpsimd_dma = true;
    dge = {};
    add_exchange_latency(trn2, swap, 2, transfer, dge);
    EXPECT_EQ(dge.first_byte + trn2.dma.completion_ns, from_nanoseconds(1000));
}

}  // namespace
}  // namespace trnsim::dma
