// SPDX-License-Identifier: Apache-2.0
// Dependencies become semaphore waits: all that are needed, none twice.
#include "trnsim/lowering/queue_writer.hpp"

#include "queues.hpp"
#include "recorded_queues.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of_ring;
using neuron_core::QueueId;
using test::done;
using test::done_semaphore;
using test::has_read;
using test::kScalar;
using test::kTensor;
using test::kVector;
using test::waits_of;

class QueueWriterTest : public testing::Test {
protected:
    void push(QueueId queue, const WaitSet& waits = {}) {
        writer_.push(sink_, queue, what_, waits);
    }

    /// Waits of the last instruction pushed.
    [[nodiscard]] std::string last_waits() const {
        return waits_of(sink_.entries().back().instruction);
    }

    program::Program program_;
    ChipSpec chip_;
    IssueTable table_{program_, chip_};
    QueueWriter writer_{table_};
    neuron_core::IssueTemplate what_{.name = "work"};
    test::RecordedQueues sink_;
};

TEST_F(QueueWriterTest, NumbersTheInstructionsOfEachQueueFromOne) {
    EXPECT_EQ(writer_.next_number(kVector), 1U);
    push(kVector);
    push(kVector);
    push(kScalar);
    EXPECT_EQ(writer_.next_number(kVector), 3U);
    EXPECT_EQ(writer_.next_number(kScalar), 2U);
}

TEST_F(QueueWriterTest, EveryInstructionCountsItsEndOnTheQueuesOwnSemaphore) {
    push(queue_of_ring(15));
    const auto signals = sink_.entries()[0].instruction.signals();
    ASSERT_EQ(signals.size(), 1U);
    EXPECT_EQ(signals[0].semaphore, done_semaphore(queue_of_ring(15)));
    EXPECT_FALSE(signals[0].at_read);
    EXPECT_EQ(signals[0].add, 1);
}

TEST_F(QueueWriterTest, NeedsBecomeWaitsOnTheProducersSemaphores) {
    WaitSet waits = done(kTensor, 4);
    waits.need_read(kVector, 7);
    push(kScalar, waits);
    EXPECT_EQ(last_waits(), "0>=4 1>=7");
}

TEST_F(QueueWriterTest, AWaitThatTheQueueMadeBeforeIsLeftOut) {
    push(kScalar, done(kTensor, 4));
    push(kScalar, done(kTensor, 4));
    EXPECT_EQ(last_waits(), "");
    push(kScalar, done(kTensor, 3));
    EXPECT_EQ(last_waits(), "");
    push(kScalar, done(kTensor, 5));
    EXPECT_EQ(last_waits(), "0>=5");
    push(kScalar, has_read(kVector, 4));
    EXPECT_EQ(last_waits(), "1>=4");
    push(kScalar, has_read(kVector, 4));
    EXPECT_EQ(last_waits(), "");
}

TEST_F(QueueWriterTest, AnotherQueueMakesItsOwnWaits) {
    push(kScalar, done(kTensor, 4));
    push(kVector, done(kTensor, 4));
    EXPECT_EQ(last_waits(), "0>=4");
}

TEST_F(QueueWriterTest, WhoHasEndedHasRead) {
    push(kScalar, done(kTensor, 4));
    push(kScalar, has_read(kTensor, 4));
    EXPECT_EQ(last_waits(), "");
    push(kScalar, has_read(kTensor, 5));
    EXPECT_EQ(last_waits(), "0>=5");
}

TEST_F(QueueWriterTest, WhoHasReadIsWaitedForUntilItHasEnded) {
    push(kScalar, has_read(kTensor, 4));
    EXPECT_EQ(last_waits(), "0>=4");
    push(kScalar, done(kTensor, 4));
    EXPECT_EQ(last_waits(), "");
}

TEST_F(QueueWriterTest, OfEndAndReadOfOneProducerTheLaterIsWaitedFor) {
    WaitSet waits = done(kTensor, 4);
    waits.need_read(kTensor, 9);
    push(kScalar, waits);
    EXPECT_EQ(last_waits(), "0>=9");
}

TEST_F(QueueWriterTest, WaitsBeyondSixGoIntoInstructionsThatOnlyWait) {
    WaitSet waits;
    for (int ring = 0; ring < 14; ++ring) {
        waits.need_done(queue_of_ring(ring), 1);
    }
    push(kVector, waits);
    ASSERT_EQ(sink_.names(),
              (std::vector<std::string>{"EVENT_SEMAPHORE", "EVENT_SEMAPHORE", "work"}));
    std::string all;
    for (const auto& entry : sink_.entries()) {
        EXPECT_EQ(entry.queue, kVector);
        EXPECT_LE(entry.instruction.wait_count, neuron_core::QueuedInstruction::kMaxWaits);
        all += waits_of(entry.instruction) + " ";
    }
    for (int ring = 0; ring < 14; ++ring) {
        EXPECT_NE(all.find(std::to_string(done_semaphore(queue_of_ring(ring))) + ">=1 "),
                  std::string::npos);
    }
}

TEST_F(QueueWriterTest, AnInstructionThatOnlyWaitsIsNotCounted) {
    WaitSet waits;
    for (int ring = 0; ring < 7; ++ring) {
        waits.need_done(queue_of_ring(ring), 1);
    }
    push(kVector, waits);
    EXPECT_EQ(sink_.entries()[0].instruction.signals().size(), 0U);
    EXPECT_EQ(sink_.entries()[1].instruction.signals().size(), 1U);
    EXPECT_EQ(writer_.next_number(kVector), 2U);
}

TEST_F(QueueWriterTest, TheBanksOfAnInstructionAreWrittenDown) {
    writer_.push(sink_, kVector, what_, {}, 0b101);
    EXPECT_EQ(sink_.entries()[0].instruction.psum_banks, 0b101);
}

}  // namespace
}  // namespace trnsim::lowering
