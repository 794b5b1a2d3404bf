// SPDX-License-Identifier: Apache-2.0
// Steps of a program that outlast the cursor's next one.
#pragma once

#include "trnsim/program/cursor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace trnsim::lowering {

/// Copies of steps, each with the tiles that it uses and a time, by number. Numbers of dropped ones
/// are used again, and so is their memory.
class KeptSteps {
public:
    using Item = std::uint32_t;
    struct Kept {
        program::Step step{};     ///< But for its positions, at(), and iterations().
        std::int64_t time = 0;    ///< Start, in picoseconds of a plan.
        std::int64_t ended = 0;   ///< Iterations (RuntimeIterations) before it.
        std::uint32_t tiles = 0;  ///< How many it has.
        bool is_load = false;     ///< It writes its tile.
    };

    /// Of each step so many positions are kept at the most, and so many tiles.
    KeptSteps(std::size_t positions, std::size_t tiles) : positions_(positions), most_(tiles) {}

    /// Copies a step; it has no tiles yet, and begins at 0.
    [[nodiscard]] Item keep(const program::Step& step);
    void drop(Item item) {
        unused_.push_back(item);
        if (!iterations_.empty()) {
            iterations_.erase(item);
        }
    }

    [[nodiscard]] Kept& operator[](Item item) { return kept_[item]; }
    [[nodiscard]] const Kept& operator[](Item item) const { return kept_[item]; }

    /// The positions of its operands that are kept. Valid until the next keep().
    [[nodiscard]] std::span<const program::Step::At> at(Item item) const {
        const std::size_t count = std::min(positions_, kept_[item].step.at.size());
        return std::span(at_).subspan(item * positions_, count);
    }

    /// Keeps the iterations of a step, too, which few are asked for.
    void keep_iterations(Item item, std::span<const std::int64_t> iterations) {
        iterations_[item].assign(iterations.begin(), iterations.end());
    }
    /// Those of the loops around it, if they are kept; until it is dropped.
    [[nodiscard]] std::span<const std::int64_t> iterations(Item item) const {
        if (iterations_.empty()) {
            return {};
        }
        const auto found = iterations_.find(item);
        return found == iterations_.end() ? std::span<const std::int64_t>() : found->second;
    }

    /// \pre it has fewer than the most
    void add_tile(Item item, std::uint32_t tile) {
        tiles_[item * most_ + kept_[item].tiles++] = tile;
    }
    /// By number; for whoever keeps the step. Valid until the next keep().
    [[nodiscard]] std::span<const std::uint32_t> tiles(Item item) const {
        return std::span(tiles_).subspan(item * most_, kept_[item].tiles);
    }

private:
    std::size_t positions_;
    std::size_t most_;
    std::vector<Kept> kept_{};
    std::vector<program::Step::At> at_{};  ///< Of each as many as are kept at the most.
    std::vector<std::uint32_t> tiles_{};   ///< The same.
    std::unordered_map<Item, std::vector<std::int64_t>> iterations_{};
    std::vector<Item> unused_{};
};

}  // namespace trnsim::lowering
