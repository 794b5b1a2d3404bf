// SPDX-License-Identifier: Apache-2.0
// Semaphores know when they will have which value, however updates are announced.
#include "trnsim/neuron_core/semaphore_file.hpp"

#include "component/core_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace trnsim::neuron_core {
namespace {

using test::ns;

class SemaphoreFileTest : public test::SystemCTest {
protected:
    void signal(int semaphore, std::int64_t add, Picoseconds at, std::uint64_t sequence = 0) {
        semaphores_.signal(semaphore, add, at, {.queue = 1, .sequence = sequence, .what = &what_});
    }

    /// Nothing: not announced; 0: long ago.
    [[nodiscard]] std::optional<Picoseconds> when(int semaphore, std::int64_t value) const {
        const SemaphoreFile::Answer answer = semaphores_.when(semaphore, value);
        if (!answer.is_known) {
            return std::nullopt;
        }
        return answer.update == nullptr ? Picoseconds{} : answer.update->at;
    }

    IssueTemplate what_{.name = "work"};
    test::Script names_;
    SemaphoreFile semaphores_{"semaphore_file", {.count = 8}};
};

TEST_F(SemaphoreFileTest, ZeroIsReachedFromTheStart) {
    EXPECT_EQ(when(0, 0), Picoseconds{});
    EXPECT_EQ(when(0, 1), std::nullopt);
}

TEST_F(SemaphoreFileTest, AValueIsReachedWithTheUpdateThatPassesIt) {
    signal(3, 16, ns(100));
    signal(3, 16, ns(200));
    EXPECT_EQ(when(3, 1), ns(100));
    EXPECT_EQ(when(3, 16), ns(100));
    EXPECT_EQ(when(3, 17), ns(200));
    EXPECT_EQ(when(3, 33), std::nullopt);
    EXPECT_EQ(when(4, 1), std::nullopt);
}

TEST_F(SemaphoreFileTest, UpdatesAddUpInTheOrderOfTheirTimes) {
    signal(0, 1, ns(300), 7);
    signal(0, 1, ns(100), 8);
    signal(0, 1, ns(200), 9);
    EXPECT_EQ(when(0, 1), ns(100));
    EXPECT_EQ(when(0, 2), ns(200));
    EXPECT_EQ(when(0, 3), ns(300));
    EXPECT_EQ(semaphores_.when(0, 1).update->producer.sequence, 8U);
    EXPECT_EQ(semaphores_.when(0, 3).update->producer.sequence, 7U);
}

TEST_F(SemaphoreFileTest, UpdatesOfOneMomentKeepTheOrderOfTheirAnnouncement) {
    signal(0, 1, ns(100), 1);
    signal(0, 1, ns(100), 2);
    EXPECT_EQ(semaphores_.when(0, 1).update->producer.sequence, 1U);
    EXPECT_EQ(semaphores_.when(0, 2).update->producer.sequence, 2U);
}

TEST_F(SemaphoreFileTest, DescribesTheHighestValueAndWhoRaisedIt) {
    EXPECT_EQ(semaphores_.describe(2, names_), "value 0, never raised");
    signal(2, 3, ns(1500));
    EXPECT_EQ(semaphores_.describe(2, names_),
              "value 3, last raised by kernel.py:1 work at 1.500 us");
}

TEST_F(SemaphoreFileTest, AnswersLikeASortedListOfAllUpdates) {
    std::mt19937 random(5);
    std::vector<std::pair<std::int64_t, std::int64_t>> updates;  // time, amount
    for (int i = 0; i < 500; ++i) {
        sc_core::sc_start(
            sc_core::sc_time(static_cast<double>(1 + random() % 200), sc_core::SC_NS));
        const auto now = static_cast<std::int64_t>(sc_core::sc_time_stamp().value());
        const std::int64_t at = now + static_cast<std::int64_t>(random() % 2'000'000);
        const std::int64_t add = 1 + static_cast<std::int64_t>(random() % 3);
        signal(0, add, Picoseconds{at});
        updates.emplace_back(at, add);
        std::ranges::stable_sort(updates, {}, &std::pair<std::int64_t, std::int64_t>::first);
        std::int64_t value = 0;
        for (const auto& [time, amount] : updates) {
            value += amount;
            if (time > now) {
                ASSERT_EQ(when(0, value), Picoseconds{time}) << "value " << value;
            } else {
                ASSERT_LE(when(0, value), Picoseconds{now});
            }
        }
        ASSERT_EQ(when(0, value + 1), std::nullopt);
    }
}

}  // namespace
}  // namespace trnsim::neuron_core
