// SPDX-License-Identifier: Apache-2.0
// Races are found and named; what semaphores order is none.
#include "trnsim/lowering/checks/race_detector.hpp"

#include "queues.hpp"
#include "trnsim/base/error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::QueueId;
using test::kRing;
using test::kScalar;
using test::kTensor;
using test::kVector;

struct Wait {
    std::uint16_t semaphore;
    unsigned at_least;
};
struct Signal {
    std::uint16_t semaphore;
    std::uint16_t add = 1;
    bool at_read = false;
};

/// An instruction that touches some bytes of SBUF from `byte` on.
struct Instruction {
    QueueId queue;
    std::string name;
    Access access;
    std::int64_t byte;
    std::vector<Wait> waits{};
    std::vector<Signal> signals{};
    Space space = Space::Sbuf;
};

/// Starts instructions one after the other, in the order given; returns what is said.
std::string race_in(const std::vector<Instruction>& instructions, std::int64_t bytes = 64) {
    const RegionShape shape({.dtype = Dtype::Uint8, .partitions = 128, .pattern = {{1, bytes}}});
    RaceDetector detector;
    for (const Instruction& each : instructions) {
        for (const Signal& signal : each.signals) {
            detector.add_total(each.queue, signal.semaphore, signal.add);
        }
    }
    std::array<std::uint64_t, neuron_core::kQueues> sequences{};
    for (const Instruction& each : instructions) {
        RaceDetector::Entry entry{.text = each.name};
        entry.accesses.push_back({.region = Region(shape, 0, each.byte), .access = each.access});
        entry.spaces.push_back(each.space);
        for (const Wait& wait : each.waits) {
            entry.waits.push_back({.semaphore = wait.semaphore, .at_least = wait.at_least});
        }
        for (const Signal& signal : each.signals) {
            entry.signals.push_back({signal.semaphore, signal.add, signal.at_read});
        }
        detector.expect(each.queue, std::move(entry));
    }
    try {
        for (const Instruction& each : instructions) {
            detector.started(each.queue, sequences[each.queue]++);
        }
    } catch (const ProgramError& error) {
        return error.what();
    }
    return "no race";
}

TEST(RaceDetectorTest, AReadAfterAnUnorderedWriteIsARace) {
    EXPECT_EQ(
        race_in({{kVector, "k.py:1 memset", Access::Write, 0},
                 {kScalar, "k.py:2 activation", Access::Read, 32}}),
        "race: k.py:2 activation on the scalar engine reads bytes 32 to 95 of partitions 0 to "
        "127 of SBUF, which k.py:1 memset (number 1 of the vector engine) touches too, and no "
        "semaphore "
        "orders the two; wait for it");
}

TEST(RaceDetectorTest, AWriteAfterAnUnorderedReadIsARace) {
    EXPECT_EQ(race_in({{kScalar, "k.py:2 activation", Access::Read, 0},
                       {kRing, "k.py:3 dma_copy", Access::Write, 0}}),
              "race: k.py:3 dma_copy on the DMA ring 0 writes bytes 0 to 63 of partitions 0 to 127 "
              "of SBUF, which k.py:2 activation (number 1 of the scalar engine) touches too, and "
              "no semaphore "
              "orders the two; wait for it");
}

TEST(RaceDetectorTest, TwoUnorderedWritesAreARace) {
    EXPECT_EQ(
        race_in({{kRing, "k.py:3 dma_copy", Access::Write, 0},
                 {kVector, "k.py:4 memset", Access::Write, 63}}),
        "race: k.py:4 memset on the vector engine writes bytes 63 to 126 of partitions 0 to 127 "
        "of SBUF, which k.py:3 dma_copy (number 1 of the DMA ring 0) touches too, and no semaphore "
        "orders "
        "the two; wait for it");
}

TEST(RaceDetectorTest, UnorderedReadsAreNone) {
    EXPECT_EQ(race_in({{kVector, "a", Access::Read, 0}, {kScalar, "b", Access::Read, 0}}),
              "no race");
}

TEST(RaceDetectorTest, OtherBytesAndOtherMemoriesAreNone) {
    EXPECT_EQ(race_in({{kVector, "a", Access::Write, 0}, {kScalar, "b", Access::Write, 64}}),
              "no race");
    EXPECT_EQ(race_in({{kVector, "a", Access::Write, 0},
                       {kScalar, "b", Access::Write, 0, {}, {}, Space::Psum}}),
              "no race");
}

TEST(RaceDetectorTest, AQueueDoesNotRaceWithItself) {
    EXPECT_EQ(race_in({{kVector, "a", Access::Write, 0}, {kVector, "b", Access::Write, 0}}),
              "no race");
}

TEST(RaceDetectorTest, ASemaphoreOrders) {
    EXPECT_EQ(race_in({{kVector, "a", Access::Write, 0, {}, {{7}}},
                       {kScalar, "b", Access::Read, 0, {{7, 1}}}}),
              "no race");
}

TEST(RaceDetectorTest, ASemaphoreOfAnotherInstructionDoesNot) {
    EXPECT_NE(race_in({{kVector, "a", Access::Write, 128, {}, {{7}}},
                       {kVector, "b", Access::Write, 0, {}, {{7}}},
                       {kScalar, "c", Access::Read, 0, {{7, 1}}}}),
              "no race");
    EXPECT_EQ(race_in({{kVector, "a", Access::Write, 128, {}, {{7}}},
                       {kVector, "b", Access::Write, 0, {}, {{7}}},
                       {kScalar, "c", Access::Read, 0, {{7, 2}}}}),
              "no race");
}

TEST(RaceDetectorTest, ASignalAtReadFreesTheSourcesAndNothingElse) {
    EXPECT_EQ(race_in({{kVector, "a", Access::Read, 0, {}, {{7, 1, true}}},
                       {kScalar, "b", Access::Write, 0, {{7, 1}}}}),
              "no race");
    EXPECT_NE(race_in({{kVector, "a", Access::Write, 0, {}, {{7, 1, true}}},
                       {kScalar, "b", Access::Read, 0, {{7, 1}}}}),
              "no race");
}

TEST(RaceDetectorTest, OrderCarriesThroughAThirdQueue) {
    EXPECT_EQ(race_in({{kRing, "a", Access::Write, 0, {}, {{1, 16}}},
                       {kVector, "b", Access::Read, 512, {{1, 16}}, {{2}}},
                       {kScalar, "c", Access::Read, 0, {{2, 1}}}}),
              "no race");
}

TEST(RaceDetectorTest, OrderCarriesOverAWaitThatAQueueMadeBefore) {
    EXPECT_EQ(race_in({{kRing, "a", Access::Write, 0, {}, {{1, 16}}},
                       {kVector, "b", Access::Read, 512, {{1, 16}}},
                       {kVector, "c", Access::Read, 0}}),
              "no race");
}

TEST(RaceDetectorTest, AThirdQueueThatDidNotWaitCarriesNothing) {
    EXPECT_NE(race_in({{kRing, "a", Access::Write, 0, {}, {{1, 16}}},
                       {kVector, "b", Access::Read, 512, {}, {{2}}},
                       {kScalar, "c", Access::Read, 0, {{2, 1}}}}),
              "no race");
}

TEST(RaceDetectorTest, ACountOverTwoProducersOrdersBothOnlyWhenItNeedsBoth) {
    const Instruction a{kVector, "a", Access::Write, 0, {}, {{7}}};
    const Instruction b{kScalar, "b", Access::Write, 64, {}, {{7}}};
    EXPECT_EQ(race_in({a, b, {kTensor, "c", Access::Read, 0, {{7, 2}}}}), "no race");
    EXPECT_EQ(race_in({a, b, {kTensor, "c", Access::Read, 64, {{7, 2}}}}), "no race");
    EXPECT_NE(race_in({a, b, {kTensor, "c", Access::Read, 0, {{7, 1}}}}), "no race")
        << "the other producer may have raised it";
}

TEST(RaceDetectorTest, ACountKnowsHowMuchTheOtherProducerAddsAtMost) {
    // Of 17, the ring adds 16: 16 may be the ring's alone, 17 is not.
    const Instruction ring{kRing, "a", Access::Write, 0, {}, {{7, 16}}};
    const Instruction vector{kVector, "b", Access::Write, 64, {}, {{7, 1}}};
    EXPECT_EQ(race_in({ring, vector, {kTensor, "c", Access::Read, 0, {{7, 2}}}}), "no race");
    EXPECT_NE(race_in({ring, vector, {kTensor, "c", Access::Read, 64, {{7, 16}}}}), "no race");
    EXPECT_EQ(race_in({ring, vector, {kTensor, "c", Access::Read, 64, {{7, 17}}}}), "no race");
}

TEST(RaceDetectorTest, ManySmallDisjointAccessesNeverRace) {
    std::vector<Instruction> instructions;
    for (std::int64_t i = 0; i < 300; ++i) {
        instructions.push_back({kVector, "a", Access::Write, 64 * i});
    }
    instructions.push_back({kScalar, "b", Access::Read, std::int64_t{64} * 300});
    EXPECT_EQ(race_in(instructions), "no race");
}

TEST(RaceDetectorTest, OneOfManySmallAccessesIsOrderedByItsOwnSignal) {
    std::vector<Instruction> instructions;
    for (std::int64_t i = 0; i < 300; ++i) {
        instructions.push_back({kVector, "a", Access::Write, 4 * i, {}, {{1}}});
    }
    std::vector<Instruction> too_early = instructions;
    instructions.push_back({kScalar, "b", Access::Read, std::int64_t{4} * 100, {{1, 101}}});
    EXPECT_EQ(race_in(instructions, 4), "no race");
    too_early.push_back({kScalar, "b", Access::Read, std::int64_t{4} * 100, {{1, 100}}});
    EXPECT_NE(race_in(too_early, 4), "no race");
}

TEST(RaceDetectorTest, AWaitForLongAgoProvesNothingOfWhatCameAfter) {
    std::vector<Instruction> instructions;
    for (std::int64_t i = 0; i < 3000; ++i) {
        instructions.push_back({kVector, "a", Access::Write, i == 10 ? 64 : 0, {}, {{1}}});
    }
    instructions.push_back({kScalar, "b", Access::Read, 64, {{1, 10}}});
    EXPECT_NE(race_in(instructions), "no race");
    instructions.back().waits = {{1, 11}};
    EXPECT_EQ(race_in(instructions), "no race");
}

TEST(RaceDetectorTest, FindsARaceAmongManyOrderedInstructions) {
    std::vector<Instruction> instructions;
    for (unsigned i = 0; i < 2000; ++i) {
        const std::int64_t byte = std::int64_t{64} * (i % 8);
        instructions.push_back({kVector, "write", Access::Write, byte, {{2, i}}, {{1}}});
        instructions.push_back({kScalar, "read", Access::Read, byte, {{1, i + 1}}, {{2}}});
    }
    EXPECT_EQ(race_in(instructions), "no race");
    instructions.push_back({kTensor, "late", Access::Read, std::int64_t{64} * (1999 % 8)});
    EXPECT_EQ(
        race_in(instructions),
        "race: late on the tensor engine reads bytes 448 to 511 of partitions 0 to 127 of SBUF, "
        "which "
        "write (number 2000 of the vector engine) touches too, and no semaphore orders the two; "
        "wait for it");
}

}  // namespace
}  // namespace trnsim::lowering
