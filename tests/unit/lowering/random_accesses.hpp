// SPDX-License-Identifier: Apache-2.0
// Accesses made of dice, and the dependencies between them byte by byte.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::test {

/// Draws accesses of some queues to one memory; every access is the next instruction of its queue.
class AccessDice {
public:
    /// Accesses begin below `span` bytes; `most_elements` of each.
    AccessDice(unsigned seed, std::int64_t span, std::int64_t most_elements)
        : random_(seed), span_(span), most_elements_(most_elements) {}

    [[nodiscard]] lowering::RegionAccess next();

private:
    std::int64_t roll(std::int64_t sides) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(sides));
    }
    [[nodiscard]] AccessPattern pattern();

    std::mt19937_64 random_;
    std::int64_t span_;
    std::int64_t most_elements_;
    std::deque<lowering::RegionShape> shapes_;
    std::map<neuron_core::QueueId, std::uint64_t> numbers_;
};

/// Every byte of four quadrants of partitions with its last writer and the readers since then.
class ByteMap {
public:
    explicit ByteMap(std::int64_t bytes)
        : bytes_(bytes), cells_(static_cast<std::size_t>(4 * bytes)) {}

    /// What an access must wait for at the very least.
    [[nodiscard]] lowering::WaitSet required(const lowering::RegionAccess& access) const;

    void record(const lowering::RegionAccess& access);

    /// Whether two accesses have a byte in common.
    [[nodiscard]] bool meet(const lowering::RegionAccess& a, const lowering::RegionAccess& b) const;

private:
    struct Cell {
        neuron_core::QueueId writer = 0;
        std::uint64_t write = 0;  ///< 0: never written.
        std::map<neuron_core::QueueId, std::uint64_t> reads;
    };
    [[nodiscard]] std::vector<std::size_t> cells_of(const lowering::RegionAccess& access) const;

    std::int64_t bytes_;
    std::vector<Cell> cells_;
};

/// "covers" if `found` makes everything in `required` wait; otherwise what is missing.
[[nodiscard]] std::string missing(const lowering::WaitSet& found,
                                  const lowering::WaitSet& required);

/// Equal for every queue.
[[nodiscard]] bool same(const lowering::WaitSet& a, const lowering::WaitSet& b);

}  // namespace trnsim::test
