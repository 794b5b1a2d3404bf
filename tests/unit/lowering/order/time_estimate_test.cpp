// SPDX-License-Identifier: Apache-2.0
// The schedule on paper: costs and wake-ups add up, queues run beside each other.
#include "trnsim/lowering/order/time_estimate.hpp"

#include "lowered_program.hpp"
#include "queues.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace trnsim::lowering {
namespace {

using neuron_core::IssueTemplate;
using neuron_core::Operation;
using neuron_core::queue_of_ring;
using neuron_core::QueueId;
using test::done;
using test::has_read;
using test::kRing;
using test::kScalar;
using test::kTensor;
using test::kVector;

constexpr QueueId kOtherRing = queue_of_ring(1);

class TimeEstimateTest : public testing::Test {
protected:
    /// Free after 50 ns, done after 80 ns.
    const IssueTemplate work_{.cost = {.interval = Picoseconds{50'000},
                                       .read = Picoseconds{30'000},
                                       .done = Picoseconds{80'000}}};
    const ChipSpec chip_ = test::chip_named("trainium2");
    const Picoseconds wakeup_ = chip_.neuron_core.semaphore_file.wakeup_ns;
    const Picoseconds tensor_wakeup_ = chip_.neuron_core.semaphore_file.wakeup_tensor_ns;
    TimeEstimate estimate_{chip_};

    void push(QueueId queue, const IssueTemplate& what, const WaitSet& waits = {}) {
        estimate_.push(queue, what, estimate_.met(queue, waits));
    }
    [[nodiscard]] static IssueTemplate transfer(std::int64_t service_ns, std::uint32_t engines) {
        IssueTemplate what;
        what.operation = Operation::Transfer;
        what.transfer = {.engine_mask = engines, .service = Picoseconds{1000 * service_ns}};
        return what;
    }
};

TEST_F(TimeEstimateTest, EndsWithTheLongestTimeThereIs) {
    const IssueTemplate forever{
        .cost = {.interval = kLongestTime, .read = kLongestTime, .done = kLongestTime}};
    IssueTemplate move = transfer(1, 0xFFFF);
    move.transfer.service = kLongestTime;
    for (int i = 0; i < 200; ++i) {
        push(kVector, forever);
        push(kRing, move, done(kVector, static_cast<std::uint64_t>(i) + 1));
    }
    EXPECT_EQ(estimate_.free_at(kVector), kLongestTime + kLongestTime);
    EXPECT_GE(estimate_.free_at(kRing), kLongestTime);
    EXPECT_LE(estimate_.met(kScalar, done(kRing, 200)), 4 * kLongestTime);
}

TEST_F(TimeEstimateTest, DmaEnginesThatServeNoPartitionsTakeNothingOff) {
    ChipSpec chip = chip_;
    chip.dma.engines = 32;
    TimeEstimate more(chip);
    for (TimeEstimate* estimate : {&estimate_, &more}) {
        for (int i = 0; i < 20; ++i) {
            estimate->push(kRing, transfer(1000, 0xFFFF), {});
        }
    }
    EXPECT_EQ(more.met(kVector, done(kRing, 20)), estimate_.met(kVector, done(kRing, 20)));
}

TEST_F(TimeEstimateTest, AQueueIsFreeAfterTheIntervalsOfItsInstructions) {
    EXPECT_EQ(estimate_.free_at(kVector), Picoseconds{});
    push(kVector, work_);
    push(kVector, work_);
    EXPECT_EQ(estimate_.free_at(kVector), 2 * work_.cost.interval);
    EXPECT_EQ(estimate_.free_at(kScalar), Picoseconds{});
}

TEST_F(TimeEstimateTest, AChainTakesItsCostsAndItsWakeUps) {
    push(kVector, work_);
    push(kScalar, work_, done(kVector, 1));
    push(kVector, work_, done(kScalar, 1));
    EXPECT_EQ(estimate_.met(kScalar, done(kVector, 2)), 3 * (work_.cost.done + wakeup_));
}

TEST_F(TimeEstimateTest, NothingToWaitForIsMetAtOnce) {
    push(kVector, work_);
    EXPECT_EQ(estimate_.met(kScalar, {}), Picoseconds{});
}

TEST_F(TimeEstimateTest, AQueueDoesNotWakeUpForItself) {
    push(kVector, work_);
    EXPECT_EQ(estimate_.met(kVector, done(kVector, 1)), work_.cost.done);
    EXPECT_EQ(estimate_.met(kScalar, done(kVector, 1)), work_.cost.done + wakeup_);
    EXPECT_EQ(estimate_.met(kTensor, done(kVector, 1)), work_.cost.done + tensor_wakeup_);
}

TEST_F(TimeEstimateTest, WhoReadIsWaitedForUntilItHasEnded) {
    push(kVector, work_);
    EXPECT_EQ(estimate_.met(kScalar, has_read(kVector, 1)), work_.cost.done + wakeup_);
}

TEST_F(TimeEstimateTest, AllOfSeveralAreMetWithTheLast) {
    push(kVector, work_);
    push(kScalar, work_);
    push(kScalar, work_);
    WaitSet waits = done(kVector, 1);
    waits.need_read(kScalar, 2);
    EXPECT_EQ(estimate_.met(kTensor, waits),
              work_.cost.interval + work_.cost.done + tensor_wakeup_);
}

TEST_F(TimeEstimateTest, TheInstructionsOfAQueueEndInOrder) {
    IssueTemplate brief;
    brief.cost = {.interval = Picoseconds{1}, .read = Picoseconds{1}, .done = Picoseconds{1}};
    push(kVector, work_);
    push(kVector, brief);
    EXPECT_EQ(estimate_.met(kVector, done(kVector, 2)), work_.cost.done);
}

TEST_F(TimeEstimateTest, AMatmulIsThereWhenTheArrayHasEmptied) {
    IssueTemplate multiply;
    multiply.operation = Operation::MultiplyMoving;
    multiply.tensor_interval = Cycles{2400};
    push(kTensor, multiply);
    const TensorEngineSpec& spec = chip_.neuron_core.tensor_engine;
    const Picoseconds interval = to_picoseconds(multiply.tensor_interval, spec.clock_ghz);
    EXPECT_EQ(estimate_.free_at(kTensor), interval);
    EXPECT_EQ(estimate_.met(kTensor, done(kTensor, 1)), interval + neuron_core::fill_time(spec));
}

/// Two passes of 0.25 us, on a chip of 2.4 GHz.
IssueTemplate load_of_two_passes() {
    IssueTemplate load;
    load.operation = Operation::LoadStationary;
    load.tensor_interval = Cycles{1200};
    load.passes = 2;
    return load;
}

TEST_F(TimeEstimateTest, LoadStationaryHidesBehindTheMatmulBefore) {
    IssueTemplate multiply;
    multiply.operation = Operation::MultiplyMoving;
    multiply.tensor_interval = Cycles{2400};
    for (int i = 0; i < 3; ++i) {
        push(kTensor, load_of_two_passes());
        push(kTensor, multiply);
    }
    EXPECT_EQ(estimate_.free_at(kTensor), Picoseconds{3'250'000}) << "the first is in view";
}

TEST_F(TimeEstimateTest, AMatmulWaitsForOnePassOfALoadStationaryThatCameLate) {
    push(kTensor, work_);
    estimate_.push(kTensor, load_of_two_passes(), Picoseconds{3'000'000});
    EXPECT_EQ(estimate_.free_at(kTensor), Picoseconds{3'250'000});
}

TEST_F(TimeEstimateTest, AMatmulOnATileOfTheArrayTakesItsShareOfTheTimeAndEndsNoSooner) {
    IssueTemplate tile;
    tile.operation = Operation::MultiplyMoving;
    tile.tensor_interval = Cycles{2400};  // 1 us at 2.4 GHz.
    tile.pe_blocks = 0x000F;
    push(kTensor, tile);
    EXPECT_EQ(estimate_.free_at(kTensor), Picoseconds{250'000});
    const Picoseconds fill = neuron_core::fill_time(chip_.neuron_core.tensor_engine);
    EXPECT_EQ(estimate_.met(kTensor, done(kTensor, 1)), Picoseconds{1'000'000} + fill);
}

TEST_F(TimeEstimateTest, ATransferIsThereAfterItsServiceAndTheCompletion) {
    IssueTemplate load = transfer(1000, 0xffff);
    load.dge_cost.first_byte = Picoseconds{200'000};
    push(kRing, load);
    const Picoseconds moved = load.dge_cost.first_byte + load.transfer.service;
    EXPECT_EQ(estimate_.met(kRing, done(kRing, 1)), moved + chip_.dma.completion_ns);
    EXPECT_EQ(estimate_.free_at(kRing), chip_.dma.ring_interval_ns);
}

TEST_F(TimeEstimateTest, APlannedLoadIsThereWithItsLastByte) {
    IssueTemplate load = transfer(1000, 0xffff);
    load.dge_cost.first_byte = Picoseconds{200'000};
    load.transfer.spread = Picoseconds{400'000};
    IssueTemplate store = load;
    load.transfer.bytes_read_hbm = Bytes{2048};
    TimeEstimate planned{chip_};
    planned.follow_plan_of_loads();
    for (TimeEstimate* estimate : {&planned, &estimate_}) {
        estimate->push(kRing, load, {});
        estimate->push(kOtherRing, store, {});
    }
    const Picoseconds last_byte = load.dge_cost.first_byte + load.transfer.service;
    EXPECT_EQ(planned.met(kRing, done(kRing, 1)), last_byte);
    EXPECT_EQ(estimate_.met(kRing, done(kRing, 1)),
              last_byte + load.transfer.spread + chip_.dma.completion_ns);
    EXPECT_EQ(planned.met(kOtherRing, done(kOtherRing, 1)),
              estimate_.met(kOtherRing, done(kOtherRing, 1)))
        << "no load";
}

TEST_F(TimeEstimateTest, ARingIsFreeWhenTheSlowestPartOfATriggerIs) {
    IssueTemplate load = transfer(1, 0xffff);
    load.dge_cost.sequencer = Picoseconds{3'000'000};
    push(kRing, load);
    load.dge_cost.generator = Picoseconds{5'000'000};
    push(kOtherRing, load);
    EXPECT_EQ(estimate_.free_at(kRing), load.dge_cost.sequencer);
    EXPECT_EQ(estimate_.free_at(kOtherRing), load.dge_cost.generator);
}

TEST_F(TimeEstimateTest, RingsShareTheDmaEngines) {
    const IssueTemplate all = transfer(1000, 0xffff);
    const IssueTemplate half = transfer(1000, 0x00ff);
    push(kRing, half);
    push(kOtherRing, all);
    const Picoseconds visible = chip_.dma.completion_ns;
    EXPECT_EQ(estimate_.met(kRing, done(kRing, 1)), Picoseconds{1'000'000} + visible);
    EXPECT_EQ(estimate_.met(kOtherRing, done(kOtherRing, 1)), Picoseconds{1'500'000} + visible);
}

TEST_F(TimeEstimateTest, ATransferTakesLongerAtAShareOfTheRateOfDmaEngines) {
    TimeEstimate careful(chip_, 0.5);
    const IssueTemplate load = transfer(1000, 0xffff);
    careful.push(kRing, load, {});
    careful.push(kOtherRing, load, {});
    const Picoseconds visible = chip_.dma.completion_ns;
    EXPECT_EQ(careful.met(kRing, done(kRing, 1)), 2 * load.transfer.service + visible);
    EXPECT_EQ(careful.met(kOtherRing, done(kOtherRing, 1)), 4 * load.transfer.service + visible);
}

TEST_F(TimeEstimateTest, AFullRingIsFreeWhenItsOldestTransferHasEnded) {
    const auto outstanding = chip_.dma.ring_outstanding_transfers;
    ASSERT_GT(outstanding, 1);
    for (std::int64_t i = 1; i < outstanding; ++i) {
        push(kRing, transfer(1000, 0xffff));
        EXPECT_EQ(estimate_.free_at(kRing), i * chip_.dma.ring_interval_ns);
    }
    push(kRing, transfer(1000, 0xffff));
    EXPECT_EQ(estimate_.free_at(kRing), Picoseconds{1'000'000} + chip_.dma.completion_ns);
}

TEST_F(TimeEstimateTest, ARingWithoutALimitIsNeverFull) {
    ChipSpec chip = chip_;
    chip.dma.ring_outstanding_transfers = 0;
    TimeEstimate estimate(chip);
    constexpr int kMany = 300;
    for (int i = 0; i < kMany; ++i) {
        estimate.push(kRing, transfer(1000, 0xffff), {});
    }
    EXPECT_EQ(estimate.free_at(kRing), kMany * chip.dma.ring_interval_ns);
}

TEST_F(TimeEstimateTest, TheLast256InstructionsOfAQueueAreRemembered) {
    for (int i = 0; i < 257; ++i) {
        push(kVector, work_);
    }
    EXPECT_EQ(estimate_.met(kVector, done(kVector, 1)), Picoseconds{});
    EXPECT_EQ(estimate_.met(kVector, done(kVector, 2)), work_.cost.interval + work_.cost.done);
}

TEST_F(TimeEstimateTest, WhatIsLongPastHoldsNobodyUp) {
    constexpr int kMany = 300;
    for (int i = 0; i < kMany; ++i) {
        push(kVector, work_);
    }
    EXPECT_EQ(estimate_.met(kVector, done(kVector, 1)), Picoseconds{});
    EXPECT_EQ(estimate_.met(kVector, done(kVector, kMany)),
              (kMany - 1) * work_.cost.interval + work_.cost.done);
}

}  // namespace
}  // namespace trnsim::lowering
