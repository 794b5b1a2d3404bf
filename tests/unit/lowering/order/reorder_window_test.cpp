// SPDX-License-Identifier: Apache-2.0
// List scheduling: what is ready goes first, and never past what it conflicts with.
#include "trnsim/lowering/order/reorder_window.hpp"

#include "lowered_program.hpp"
#include "queues.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::IssueTemplate;
using neuron_core::QueueId;
using test::kRing;
using test::kScalar;
using test::kTensor;
using test::kVector;
using testing::ElementsAre;

/// Steps of 100 ns each over tiles of 64 bytes; they are numbered from 0 in program order.
class Window {
public:
    explicit Window(int reach, std::size_t capacity = 64)
        : window_(reach_of(reach), capacity, estimate_, places_) {}

    /// An access to the tile of that number.
    struct To {
        int tile = 0;
        Access access = Access::Read;
        std::int64_t byte = 0;
        const RegionShape* shape = nullptr;  ///< The whole tile.
    };

    Window& add(QueueId queue, const std::vector<To>& accesses, bool is_in_order = false) {
        return add(queue, std::nullopt, accesses, is_in_order);
    }

    /// A transfer on `ring` that `engine` triggers.
    Window& transfer(QueueId ring, QueueId engine, const std::vector<To>& accesses) {
        return add(ring, engine, accesses, false);
    }

    Window& add(QueueId queue,
                std::optional<QueueId> trigger,
                const std::vector<To>& accesses,
                bool is_in_order) {
        PlannedStep& step = window_.blank();
        step.queue = queue;
        step.trigger = trigger;
        step.is_in_order = is_in_order;
        for (const To& to : accesses) {
            step.operands.push_back(
                {.operand = &operands_[static_cast<std::size_t>(to.access)],
                 .tile = &tile(to.tile),
                 .region = Region(to.shape != nullptr ? *to.shape : whole_, 0, to.byte)});
        }
        window_.admit(step);
        return *this;
    }

    /// Puts the next step on its queue; says which it was.
    std::uint64_t lower() {
        PlannedStep& step = window_.take();
        for (const ResolvedOperand& operand : step.operands) {
            if (operand.tile->slot == nullptr) {
                operand.tile->slot = &slots_.emplace_back();
                places_.free -= 1;
            }
        }
        window_.settle(step);
        estimate_.push(step.queue, work_, step.when->own.met);
        for (const ResolvedOperand& operand : step.operands) {
            operand.record(step.queue, numbers_[step.queue] + 1);
        }
        ++numbers_[step.queue];
        window_.retire(step);
        return step.order;
    }

    std::vector<std::uint64_t> lower_all() {
        std::vector<std::uint64_t> order;
        while (!window_.empty()) {
            order.push_back(lower());
        }
        return order;
    }

    /// Somebody's access before the window: the queue is busy with it for that long.
    Window& before(QueueId queue, const To& to, std::int64_t ns) {
        IssueTemplate what;
        const Picoseconds time{1000 * ns};
        what.cost = {.interval = time, .read = time, .done = time};
        estimate_.push(queue, what, Picoseconds{});
        tile(to.tile).slot->history.record({.region = Region(whole_),
                                            .access = to.access,
                                            .queue = queue,
                                            .number = ++numbers_[queue]});
        return *this;
    }

    [[nodiscard]] ReorderWindow& window() { return window_; }
    [[nodiscard]] Tile& tile(int number) {
        while (tiles_.size() <= static_cast<std::size_t>(number)) {
            tiles_.emplace_back().slot = &slots_.emplace_back();
        }
        return tiles_[static_cast<std::size_t>(number)];
    }

    /// A tile loses its bytes, or never had any.
    Window& without_bytes(int number) {
        tile(number).slot = nullptr;
        return *this;
    }

    /// So many tiles can get bytes.
    Window& free(int tiles) {
        places_.free = tiles;
        ++places_.freed;
        window_.look_again();
        return *this;
    }

    /// From this step on none may take bytes ahead of its turn.
    Window& deny(std::uint64_t order) {
        places_.denied = order;
        window_.look_again();
        return *this;
    }

    /// Each of the first steps waits for bytes of its own,
    Window& deny_each(std::size_t steps) {
        places_.own.resize(steps);
        return *this;
    }
    /// which are there now.
    Window& allow(std::uint64_t order) {
        ++places_.own[order];
        window_.look_again();
        return *this;
    }

private:
    /// Bytes for so many tiles.
    struct Places : TilePlaces {
        [[nodiscard]] Obstacle obstacle(const PlannedStep& step) const override {
            if (step.order < own.size() && own[step.order] == 0) {
                return {.count = &own[step.order], .until = 1};
            }
            const bool needs_bytes = std::ranges::any_of(
                step.operands, [](const auto& operand) { return operand.tile->slot == nullptr; });
            return step.order < denied && (free > 0 || !needs_bytes)
                       ? Obstacle{}
                       : Obstacle{.count = &freed, .until = freed + 1};
        }
        [[nodiscard]] const Slot* next_slot(const Tile& /*tile*/) const override { return nullptr; }
        int free = 0;
        std::uint64_t denied = std::numeric_limits<std::uint64_t>::max();
        std::uint64_t freed = 0;
        std::vector<std::uint64_t> own;  ///< By the order of steps; 0: denied.
    };

    static ReorderWindow::Reach reach_of(int reach) {
        ReorderWindow::Reach all{};
        all.fill(reach);
        return all;
    }
    static std::vector<Operand> by_access() {
        std::vector<Operand> result;
        for (const Access access :
             {Access::Read, Access::Write, Access::Update, Access::Accumulate}) {
            result.push_back({.access = access});
        }
        return result;
    }

    const IssueTemplate work_{.cost = {.interval = Picoseconds{100'000},
                                       .read = Picoseconds{100'000},
                                       .done = Picoseconds{100'000}}};
    const RegionShape whole_{Operand{.dtype = Dtype::Uint8, .pattern = {{1, 64}}}};
    const std::vector<Operand> operands_ = by_access();
    const ChipSpec chip_ = test::chip_named("trainium2");
    TimeEstimate estimate_{chip_};
    Places places_;
    ReorderWindow window_;
    std::deque<Slot> slots_;
    std::deque<Tile> tiles_;
    std::array<std::uint64_t, neuron_core::kQueues> numbers_{};
};

/// Tile 0 is written during the first microsecond; the others are there.
constexpr Window::To kLate{.tile = 0, .access = Access::Write};
constexpr std::int64_t kLateNs = 1000;

TEST(ReorderWindowTest, AStepThatIsReadyOvertakesOneThatWaits) {
    Window window(2);
    window.before(kScalar, kLate, kLateNs);
    window.add(kVector, {{.tile = 0}}).add(kVector, {{.tile = 1}});
    EXPECT_THAT(window.lower_all(), ElementsAre(1, 0));
}

TEST(ReorderWindowTest, AStepInOrderPassesNothingOfItsQueueAndNothingPassesIt) {
    for (const auto& [first, second] : {std::pair{true, false}, {false, true}, {true, true}}) {
        Window window(8);
        window.before(kScalar, kLate, kLateNs);
        window.add(kVector, {{.tile = 0}}, first).add(kVector, {{.tile = 1}}, second);
        window.add(kTensor, {{.tile = 2}}, true);
        EXPECT_THAT(window.lower_all(), ElementsAre(2, 0, 1)) << first << second;
    }
}

TEST(ReorderWindowTest, NothingPassesAStepInOrderFromAnywhereInTheWindow) {
    Window before(8);  // The last one is in order.
    before.before(kScalar, kLate, kLateNs);
    before.add(kVector, {{.tile = 0}}).add(kVector, {{.tile = 1}});
    before.add(kVector, {{.tile = 2}}, true);
    EXPECT_THAT(before.lower_all(), ElementsAre(1, 0, 2));

    Window behind(8);  // The first one is.
    behind.before(kScalar, kLate, kLateNs);
    behind.add(kVector, {{.tile = 0}}, true).add(kVector, {{.tile = 1}});
    behind.add(kVector, {{.tile = 2}});
    EXPECT_THAT(behind.lower_all(), ElementsAre(0, 1, 2));
    behind.add(kVector, {{.tile = 0}}).add(kVector, {{.tile = 3}});
    EXPECT_EQ(behind.lower_all().size(), 2U) << "it holds up nobody once it is on its queue";
}

TEST(ReorderWindowTest, AReachOfOneKeepsTheOrderOfEveryQueue) {
    Window window(1);
    window.before(kScalar, kLate, kLateNs);
    window.add(kVector, {{.tile = 0}}).add(kVector, {{.tile = 1}}).add(kTensor, {{.tile = 2}});
    EXPECT_THAT(window.lower_all(), ElementsAre(2, 0, 1));
}

TEST(ReorderWindowTest, ATriggerAndTheInstructionsOfAnEngineInOrderPassNobodyThere) {
    constexpr QueueId kOther = neuron_core::queue_of_ring(1);
    const auto order_with = [&](int reach) {
        Window window(reach);
        window.before(kTensor, kLate, kLateNs);
        window.transfer(kRing, kScalar, {{.tile = 1}});
        window.add(kScalar, {{.tile = 0}});              // Late,
        window.transfer(kRing, kScalar, {{.tile = 2}});  // so that this trigger waits behind it,
        window.add(kScalar, {{.tile = 3}});              // and this behind that.
        window.transfer(kOther, kScalar, {{.tile = 4}});
        window.transfer(kOther, kVector, {{.tile = 5}});
        return window.lower_all();
    };
    EXPECT_THAT(order_with(1), ElementsAre(0, 1, 2, 3, 4, 5)) << "the rings are in order too";
    EXPECT_EQ(order_with(8).back(), 1U) << "an engine that is not kept in order";
}

TEST(ReorderWindowTest, ATriggerInOrderPassesNothingOfItsEngineAndNothingPassesIt) {
    const auto order_with = [](bool is_trigger_first, bool first, bool second) {
        const std::optional<QueueId> trigger = kScalar;
        Window window(8);
        window.before(kTensor, kLate, kLateNs);
        window.add(is_trigger_first ? kRing : kScalar,
                   is_trigger_first ? trigger : std::nullopt,
                   {{.tile = 0}},
                   first);
        window.add(is_trigger_first ? kScalar : kRing,
                   is_trigger_first ? std::nullopt : trigger,
                   {{.tile = 1}},
                   second);
        return window.lower_all();
    };
    for (const bool is_trigger_first : {true, false}) {
        for (const auto& [first, second] : {std::pair{true, false}, {false, true}, {true, true}}) {
            EXPECT_THAT(order_with(is_trigger_first, first, second), ElementsAre(0, 1))
                << is_trigger_first << first << second;
        }
        EXPECT_THAT(order_with(is_trigger_first, false, false), ElementsAre(1, 0))
            << is_trigger_first;
    }
}

TEST(ReorderWindowTest, ATransferStartsWhenTheEngineThatTriggersItIsFree) {
    Window window(8);
    window.before(kScalar, kLate, kLateNs);
    window.transfer(kRing, kScalar, {{.tile = 1}}).add(kVector, {{.tile = 2}});
    EXPECT_THAT(window.lower_all(), ElementsAre(1, 0));
}

TEST(ReorderWindowTest, AnInstructionInOrderComesBehindEveryTriggerOfItsEngine) {
    constexpr QueueId kOther = neuron_core::queue_of_ring(1);
    Window window(8);
    window.before(kTensor, kLate, kLateNs);
    window.transfer(kRing, kScalar, {{.tile = 0}});  // Late.
    window.transfer(kOther, kScalar, {{.tile = 1}});
    window.add(kScalar, {{.tile = 2}}, true);
    EXPECT_THAT(window.lower_all(), ElementsAre(1, 0, 2));
}

TEST(ReorderWindowTest, ATriggerThatIsOnItsQueueHoldsUpNobody) {
    Window window(1);
    window.transfer(kRing, kScalar, {{.tile = 1}}).add(kVector, {{.tile = 2}});
    ASSERT_THAT(window.lower_all(), ElementsAre(0, 1));
    window.add(kScalar, {{.tile = 3}}).add(kVector, {{.tile = 4}});
    ASSERT_EQ(window.lower(), 2U);
    EXPECT_EQ(window.lower(), 3U);
}

TEST(ReorderWindowTest, WhatNobodyTriggersPassesALateInstruction) {
    Window window(1);
    window.before(kTensor, kLate, kLateNs);
    window.add(kScalar, {{.tile = 0}}).add(kRing, {{.tile = 1}});
    window.transfer(neuron_core::queue_of_ring(1), kVector, {{.tile = 2}});
    EXPECT_THAT(window.lower_all(), ElementsAre(1, 2, 0));
}

TEST(ReorderWindowTest, OnlyTheFirstStepsOfAQueueWithinItsReachAreLookedAt) {
    const auto order_with = [](int reach) {
        Window window(reach);
        window.before(kScalar, kLate, kLateNs);
        window.add(kVector, {{.tile = 0}}).add(kVector, {{.tile = 0}}).add(kVector, {{.tile = 1}});
        return window.lower_all();
    };
    EXPECT_THAT(order_with(2), ElementsAre(0, 1, 2));
    EXPECT_THAT(order_with(3), ElementsAre(2, 0, 1));
}

TEST(ReorderWindowTest, AmongStepsThatCouldStartTogetherTheEarlierGoesFirst) {
    Window window(8);
    window.add(kVector, {{.tile = 1}}).add(kScalar, {{.tile = 2}}).add(kVector, {{.tile = 3}});
    window.add(kScalar, {{.tile = 4}}).add(kTensor, {{.tile = 5}});
    EXPECT_THAT(window.lower_all(), ElementsAre(0, 1, 4, 2, 3));
}

TEST(ReorderWindowTest, NothingPassesAStepThatWritesWhatItReads) {
    Window window(8);
    window.before(kScalar, kLate, kLateNs);
    window.add(kVector, {{.tile = 0}, {.tile = 1, .access = Access::Write}});
    window.add(kTensor, {{.tile = 1}}).add(kTensor, {{.tile = 2}});
    EXPECT_THAT(window.lower_all(), ElementsAre(2, 0, 1));
}

TEST(ReorderWindowTest, NothingPassesAStepThatReadsWhatItWrites) {
    Window window(8);
    window.before(kScalar, kLate, kLateNs);
    window.add(kVector, {{.tile = 0}, {.tile = 1}});
    window.add(kTensor, {{.tile = 1, .access = Access::Write}}).add(kTensor, {{.tile = 2}});
    EXPECT_THAT(window.lower_all(), ElementsAre(2, 0, 1));
}

TEST(ReorderWindowTest, OtherBytesOfTheSameTileMayPass) {
    const RegionShape half({.dtype = Dtype::Uint8, .pattern = {{1, 32}}});
    Window window(8);
    window.before(kScalar, kLate, kLateNs);
    window.add(kVector,
               {{.tile = 0}, {.tile = 1, .access = Access::Write, .byte = 0, .shape = &half}});
    window.add(kVector, {{.tile = 1, .access = Access::Write, .byte = 32, .shape = &half}});
    EXPECT_THAT(window.lower_all(), ElementsAre(1, 0));
}

TEST(ReorderWindowTest, AdditionsComeInAnyOrderAfterTheOverwriteAndBeforeTheRead) {
    Window window(8);
    window.before(kScalar, kLate, kLateNs);
    window.add(kTensor, {{.tile = 9, .access = Access::Write}});
    window.add(kTensor, {{.tile = 0}, {.tile = 9, .access = Access::Accumulate}});
    window.add(kTensor, {{.tile = 1}, {.tile = 9, .access = Access::Accumulate}});
    window.add(kVector, {{.tile = 9}});
    EXPECT_THAT(window.lower_all(), ElementsAre(0, 2, 1, 3));
}

TEST(ReorderWindowTest, AStepThatConflictsTwiceIsFreeWhenTheOtherIsOnItsQueue) {
    Window window(8);
    window.add(kVector,
               {{.tile = 1, .access = Access::Write}, {.tile = 2, .access = Access::Write}});
    window.add(kTensor, {{.tile = 1}, {.tile = 2}, {.tile = 1}});
    EXPECT_THAT(window.lower_all(), ElementsAre(0, 1));
}

TEST(ReorderWindowTest, AnInstructionFromOutsideTheWindowDelaysItsQueue) {
    Window window(8);
    window.add(kVector, {{.tile = 1}}).add(kTensor, {{.tile = 2}}).add(kVector, {{.tile = 3}});
    window.add(kTensor, {{.tile = 4}});
    EXPECT_EQ(window.lower(), 0U);
    EXPECT_EQ(window.lower(), 1U);  // By now Vector's next step has been chosen.
    window.before(kVector, {.tile = 5}, kLateNs);
    EXPECT_EQ(window.lower(), 3U);
    EXPECT_EQ(window.lower(), 2U);
}

TEST(ReorderWindowTest, IsFullAtItsCapacityAndForgetsWhatItGaveOut) {
    Window window(2, 3);
    EXPECT_TRUE(window.window().empty());
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(window.window().is_full());
        window.add(kVector, {{.tile = 1, .access = Access::Write}});
    }
    EXPECT_TRUE(window.window().is_full());
    EXPECT_FALSE(window.tile(1).pending.empty());
    EXPECT_EQ(window.lower(), 0U);
    EXPECT_FALSE(window.window().is_full());
    EXPECT_THAT(window.lower_all(), ElementsAre(1, 2));
    EXPECT_TRUE(window.window().empty());
    EXPECT_TRUE(window.tile(1).pending.empty());
}

TEST(ReorderWindowTest, AStepThatMayNotTakeBytesAheadOfItsTurnWaitsForIt) {
    Window window(2);
    window.without_bytes(2).free(1).deny(1);
    window.before(kTensor, {.tile = 1}, kLateNs);
    window.add(kTensor, {{.tile = 1}}).add(kVector, {{.tile = 2, .access = Access::Write}});
    EXPECT_EQ(window.lower(), 0U) << "though Vector could start earlier";
    window.deny(2);
    EXPECT_EQ(window.lower(), 1U);
}

TEST(ReorderWindowTest, AStepWithBytesForItsTilesPassesOneWithout) {
    Window window(2);
    window.without_bytes(1);
    window.add(kVector, {{.tile = 1, .access = Access::Write}}).add(kVector, {{.tile = 2}});
    EXPECT_THAT(window.lower_all(), ElementsAre(1, 0));
}

TEST(ReorderWindowTest, AStepIsLookedAtAgainWhenBytesAreFree) {
    Window window(2);
    window.without_bytes(1);
    window.add(kVector, {{.tile = 1, .access = Access::Write}}).add(kVector, {{.tile = 2}});
    window.add(kVector, {{.tile = 3}});
    EXPECT_EQ(window.lower(), 1U);
    window.free(1);
    EXPECT_THAT(window.lower_all(), ElementsAre(0, 2));
}

TEST(ReorderWindowTest, AStepWhoseBytesAnotherOneTookLetsThoseWithBytesPass) {
    Window window(2);
    window.without_bytes(1).without_bytes(2).free(1);
    window.add(kVector, {{.tile = 1, .access = Access::Write}});
    window.add(kScalar, {{.tile = 2, .access = Access::Write}}).add(kScalar, {{.tile = 3}});
    EXPECT_THAT(window.lower_all(), ElementsAre(0, 2, 1));
}

TEST(ReorderWindowTest, WithBytesForNobodyTheEarliestStepOfAllGoesFirst) {
    Window window(4);
    window.without_bytes(1).without_bytes(2);
    window.add(kScalar, {{.tile = 2, .access = Access::Write}});
    window.add(kVector, {{.tile = 1, .access = Access::Write}});
    EXPECT_THAT(window.lower_all(), ElementsAre(0, 1));
}

TEST(ReorderWindowTest, OfTilesThatWereMovedNothingIsKnownAnyMore) {
    Window window(2);
    window.before(kScalar, kLate, kLateNs);
    window.add(kVector, {{.tile = 0}}).add(kVector, {{.tile = 1}}).add(kVector, {{.tile = 2}});
    EXPECT_EQ(window.lower(), 1U);
    window.tile(0).slot->history = {};  // Other bytes, which nobody uses.
    window.window().forget_estimates();
    EXPECT_THAT(window.lower_all(), ElementsAre(0, 2));
}

TEST(ReorderWindowTest, AStepTakesItsTurnWhenItsOwnBytesAreThereHoweverManyOthersWait) {
    constexpr std::uint64_t kSteps = 8;
    for (std::uint64_t allowed = 0; allowed < kSteps; ++allowed) {
        Window window(kSteps + 1);
        window.deny_each(kSteps);
        for (int i = 0; i < static_cast<int>(kSteps); ++i) {
            window.add(kVector, {{.tile = i}});
        }
        window.add(kScalar, {{.tile = kSteps}}).add(kScalar, {{.tile = kSteps}});
        EXPECT_EQ(window.lower(), kSteps)
            << "it needs no bytes, and leaves the others' queue alone";
        window.allow(allowed);
        EXPECT_EQ(window.lower(), allowed);
    }
}

TEST(ReorderWindowTest, AStepTakesItsTurnOnceThereAreEnoughBytesForIt) {
    Window window(8);
    window.deny_each(1);
    window.add(kVector, {{.tile = 0}}).add(kScalar, {{.tile = 1}}).add(kScalar, {{.tile = 1}});
    window.add(kScalar, {{.tile = 1}});
    EXPECT_EQ(window.lower(), 1U);
    window.window().look_again();
    EXPECT_EQ(window.lower(), 2U) << "nothing has changed";
    window.allow(0);
    EXPECT_EQ(window.lower(), 0U);
}

}  // namespace
}  // namespace trnsim::lowering
