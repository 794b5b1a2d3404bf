// SPDX-License-Identifier: Apache-2.0
// What a chain comes to does not depend on when sums were made of its links.
#include "trnsim/neuron_core/chain_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace trnsim::neuron_core {
namespace {

constexpr std::size_t kSums = 5;

using Sums = std::vector<std::int64_t>;

ChainSums::Amounts only(ChainSums::Sum to, std::int64_t value) {
    return {.values = {value, 0, 0, 0}, .to = {to, to, to, to}};
}

TEST(ChainSumsTest, AddsUpWhatEventsOfAChainAdd) {
    ChainSums chains;
    const auto first = chains.add(ChainSums::kNothing, only(0, 10));
    const auto second = chains.add(first, {.values = {1, 2, 3, 4}, .to = {1, 1, 0, 2}});
    const auto other = chains.add(first, only(3, 7));
    EXPECT_EQ(chains.along(first, kSums), (Sums{10, 0, 0, 0, 0}));
    EXPECT_EQ(chains.along(second, kSums), (Sums{13, 3, 4, 0, 0}));
    EXPECT_EQ(chains.along(other, kSums), (Sums{10, 0, 0, 7, 0}));
    EXPECT_EQ(chains.along(ChainSums::kNothing, kSums), Sums(kSums));
}

TEST(ChainSumsTest, KeepsTheSumsOfEventsThatOthersContinueAndOfNoOthers) {
    ChainSums chains;
    auto kept = chains.add(chains.add(ChainSums::kNothing, only(0, 10)), only(1, 5));
    auto last = chains.add(kept, only(1, 1));
    static_cast<void>(chains.add(kept, only(4, 100)));
    const std::vector<ChainSums::Place*> places{&kept, &last};
    chains.settle(places, 2);
    EXPECT_EQ(chains.along(kept, kSums), (Sums{10, 5, 0, 0, 0}));
    EXPECT_EQ(chains.along(last, kSums), (Sums{10, 6, 0, 0, 0})) << "sums that came later are 0";
    EXPECT_EQ(chains.along(chains.add(last, only(4, 3)), kSums), (Sums{10, 6, 0, 0, 3}));
}

TEST(ChainSumsTest, SaysWhatWholeSumsWouldSayHoweverOftenItSettles) {
    constexpr std::size_t kLiving = 40;
    constexpr int kEvents = 3 * static_cast<int>(ChainSums::kLinks);
    std::mt19937 random(7);
    const auto below = [&random](std::size_t end) { return random() % end; };
    ChainSums chains;
    std::vector<ChainSums::Place> living(kLiving, ChainSums::kNothing);
    std::vector<Sums> wanted(kLiving, Sums(kSums));
    for (int event = 0; event < kEvents; ++event) {
        if (chains.is_full() || below(2000) == 0) {
            std::vector<ChainSums::Place*> kept;
            kept.reserve(living.size());
            for (ChainSums::Place& place : living) {
                kept.push_back(&place);
            }
            chains.settle(kept, kSums);
        }
        const std::size_t from = below(kLiving);
        const std::size_t to = below(kLiving);
        ChainSums::Amounts amounts{};
        wanted[to] = wanted[from];
        for (std::size_t i = 0; i < ChainSums::kAmounts; ++i) {
            amounts.to[i] = static_cast<ChainSums::Sum>(below(kSums));
            amounts.values[i] = static_cast<std::int64_t>(below(1000));
            wanted[to][amounts.to[i]] += amounts.values[i];
        }
        living[to] = chains.add(living[from], amounts);
    }
    for (std::size_t i = 0; i < kLiving; ++i) {
        EXPECT_EQ(chains.along(living[i], kSums), wanted[i]) << i;
    }
}

}  // namespace
}  // namespace trnsim::neuron_core
