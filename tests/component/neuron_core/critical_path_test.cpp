// SPDX-License-Identifier: Apache-2.0
// The chain of events that ends with an instruction adds up to its end.
#include "trnsim/neuron_core/critical_path.hpp"

#include "component/core_harness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::neuron_core {
namespace {

using test::ns;
using test::PlainEngine;
using test::timed;
using testing::ElementsAre;
using testing::Pair;

constexpr QueueId kVector = queue_of(Engine::Vector);
constexpr QueueId kScalar = queue_of(Engine::Scalar);

TEST(CriticalPathTest, AnInstructionThatWaitedForNothingHangsOnTheKernelsStart) {
    CriticalPath path;
    path.start_at(ns(100));
    path.started(kVector, 0, path.kind_of("work", Engine::Vector), ns(100), {.since = ns(100)});
    EXPECT_THAT(path.chain(kVector, 0, ns(150)),
                ElementsAre(Pair("kernel start", ns(100)), Pair("work", ns(50))));
}

TEST(CriticalPathTest, WhatTheFirstInstructionWaitsBeyondTheStartIsItsOwn) {
    CriticalPath path;
    path.start_at(ns(60));
    path.started(kVector, 0, path.kind_of("work", Engine::Vector), ns(100), {.since = ns(100)});
    EXPECT_THAT(path.chain(kVector, 0, ns(150)),
                ElementsAre(Pair("work", ns(90)), Pair("kernel start", ns(60))));
}

TEST(CriticalPathTest, FollowsTheQueueWhereNothingElseHeldIt) {
    CriticalPath path;
    const auto a = path.kind_of("a", Engine::Vector);
    const auto b = path.kind_of("b", Engine::Vector);
    path.started(kVector, 0, a, ns(0), {.since = ns(0)});
    path.started(kVector, 1, b, ns(70), {.since = ns(70), .predecessor = 0});
    EXPECT_THAT(path.chain(kVector, 1, ns(170)),
                ElementsAre(Pair("b", ns(100)), Pair("a", ns(70))));
}

TEST(CriticalPathTest, FollowsTheProducerAndNamesTheWakeUp) {
    CriticalPath path;
    path.started(kScalar, 0, path.kind_of("producer", Engine::Scalar), ns(0), {.since = ns(0)});
    path.started(kVector,
                 0,
                 path.kind_of("consumer", Engine::Vector),
                 ns(310),
                 {.producer_queue = kScalar, .producer_sequence = 0, .since = ns(300)});
    EXPECT_THAT(path.chain(kVector, 0, ns(330)),
                ElementsAre(Pair("producer", ns(300)),
                            Pair("consumer", ns(20)),
                            Pair("semaphore wake-up", ns(10))));
}

TEST(CriticalPathTest, WhatAPortOrARingRefusedIsNotItsPredecessors) {
    for (const auto& [queue, name] :
         {std::pair{kVector, "memory port"}, std::pair{queue_of_ring(0), "DMA ring"}}) {
        CriticalPath path;
        path.started(kScalar, 0, path.kind_of("producer", Engine::Scalar), ns(0), {});
        path.started(queue,
                     0,
                     path.kind_of("consumer", Engine::Vector),
                     ns(350),
                     {.producer_queue = kScalar,
                      .producer_sequence = 0,
                      .since = ns(300),
                      .refused = ns(40)});
        path.started(queue,
                     1,
                     path.kind_of("next", Engine::Vector),
                     ns(420),
                     {.since = ns(420), .predecessor = 0, .refused = ns(50)});
        EXPECT_THAT(path.chain(queue, 1, ns(425)),
                    ElementsAre(Pair("producer", ns(300)),
                                Pair(name, ns(90)),
                                Pair("consumer", ns(20)),
                                Pair("semaphore wake-up", ns(10)),
                                Pair("next", ns(5))));
    }
}

TEST(CriticalPathTest, WhatOtherCoresKeptIsNobodysOfItsOwn) {
    CriticalPath path;
    path.start_at(ns(15));
    path.started(kVector, 0, path.kind_of("barrier", Engine::Vector), ns(100), {.kept = ns(60)});
    path.started(kVector,
                 1,
                 path.kind_of("next", Engine::Vector),
                 ns(190),
                 {.since = ns(190), .predecessor = 0, .kept = ns(50)});
    EXPECT_THAT(path.chain(kVector, 1, ns(195)),
                ElementsAre(Pair("other NeuronCores", ns(110)),
                            Pair("barrier", ns(65)),
                            Pair("kernel start", ns(15)),
                            Pair("next", ns(5))));
}

TEST(CriticalPathTest, TheSameTextIsTheSameKind) {
    CriticalPath path;
    EXPECT_EQ(path.kind_of("a", Engine::Vector), path.kind_of("a", Engine::Vector));
    EXPECT_NE(path.kind_of("a", Engine::Vector), path.kind_of("b", Engine::Vector));
}

TEST(CriticalPathTest, KindsBeyondTheLimitAreSummedByEngine) {
    CriticalPath path;
    for (int i = 0; i < 2 * CriticalPath::kKinds; ++i) {
        static_cast<void>(path.kind_of("line " + std::to_string(i), Engine::Vector));
    }
    const auto late = path.kind_of("late", Engine::Scalar);
    EXPECT_EQ(late, path.kind_of("later", Engine::Scalar));
    path.started(kScalar, 0, late, ns(0), {.since = ns(0)});
    EXPECT_THAT(path.chain(kScalar, 0, ns(10)), ElementsAre(Pair("other (scalar)", ns(10))));
}

/// Chains by the definition: with every start kept.
class EveryStart {
public:
    using Hold = CriticalPath::Hold;

    void started(QueueId queue, const std::string& kind, Picoseconds start, const Hold& hold) {
        std::map<std::string, Picoseconds> sums;
        const auto& own = starts_[queue];
        if (hold.producer_queue) {
            const Start& from = starts_[*hold.producer_queue][hold.producer_sequence];
            sums = from.sums;
            sums[from.kind] += hold.since - from.start;
            sums["semaphore wake-up"] += start - hold.since;
        } else if (!own.empty()) {
            sums = own.back().sums;
            sums[own.back().kind] += start - own.back().start;
        } else {
            sums[kind] += start;
        }
        starts_[queue].push_back({.kind = kind, .start = start, .sums = sums});
    }

    [[nodiscard]] std::map<std::string, Picoseconds> chain(QueueId queue, Picoseconds done) const {
        const Start& last = starts_.at(queue).back();
        std::map<std::string, Picoseconds> sums = last.sums;
        sums[last.kind] += done - last.start;
        std::erase_if(sums, [](const auto& entry) { return entry.second == Picoseconds{}; });
        return sums;
    }

private:
    struct Start {
        std::string kind;
        Picoseconds start;
        std::map<std::string, Picoseconds> sums;
    };
    std::map<QueueId, std::vector<Start>> starts_;
};

TEST(CriticalPathTest, ChainsOfAnyLengthAreThoseOfEveryStart) {
    constexpr std::size_t kStarts = 20'000;
    constexpr std::array kQueuesUsed{kVector, kScalar, queue_of_ring(0), queue_of_ring(3)};
    std::mt19937 random(7);
    const auto below = [&random](std::uint64_t limit) { return random() % limit; };
    CriticalPath path;
    EveryStart all;
    std::map<QueueId, std::vector<Picoseconds>> started;
    Picoseconds time;
    for (std::size_t i = 0; i < kStarts; ++i) {
        time = time + ns(static_cast<std::int64_t>(below(20)));
        const QueueId queue = kQueuesUsed.at(below(i % 1000 < 700 ? 2 : kQueuesUsed.size()));
        const QueueId other = kQueuesUsed.at(below(kQueuesUsed.size()));
        const std::uint64_t sequence = started[queue].size();
        CriticalPath::Hold hold{.since = time, .predecessor = sequence > 0 ? sequence - 1 : 0};
        if (other != queue && !started[other].empty() && below(3) > 0) {
            hold.producer_queue = other;
            const std::size_t back = std::min<std::size_t>(below(9), started[other].size() - 1);
            hold.producer_sequence = started[other].size() - 1 - back;
            hold.since = std::max(started[other][hold.producer_sequence], time - ns(3));
        }
        const std::string kind = "line " + std::to_string(below(2 + i / 600));
        path.started(queue, sequence, path.kind_of(kind, Engine::Vector), time, hold);
        all.started(queue, kind, time, hold);
        started[queue].push_back(time);
        if (i % 997 == 0 || i + 20 > kStarts) {
            const auto found = path.chain(queue, sequence, time + ns(40));
            EXPECT_EQ((std::map<std::string, Picoseconds>{found.begin(), found.end()}),
                      all.chain(queue, time + ns(40)))
                << i;
        }
    }
}

class CriticalPathOfRuns : public test::SystemCTest {};

TEST_F(CriticalPathOfRuns, AddsUpToTheEndOfEveryEngine) {
    test::CoreHarness core;
    const IssueTemplate& a = core.script.define(timed("a", ns(30), ns(30), ns(80)));
    const IssueTemplate& b = core.script.define(timed("b", ns(50), ns(50), ns(90)));
    for (std::uint64_t i = 0; i < 500; ++i) {
        core.script.add(Engine::Vector, i % 3 == 0 ? a : b).wait(1, i / 4).signal(2);
        core.script.add(Engine::Scalar, i % 5 == 0 ? b : a).wait(2, i + 1).signal(1);
    }
    PlainEngine vector("vector", Engine::Vector, core);
    PlainEngine scalar("scalar", Engine::Scalar, core);
    test::CoreHarness::run();
    for (const PlainEngine* engine : {&vector, &scalar}) {
        const auto chain =
            core.log().critical_path().chain(engine->queue(), 499, engine->stats().last_done);
        Picoseconds sum;
        for (const auto& [what, time] : chain) {
            EXPECT_GT(time, ns(0)) << what;
            sum += time;
        }
        EXPECT_EQ(sum, engine->stats().last_done);
    }
}

}  // namespace
}  // namespace trnsim::neuron_core
