// SPDX-License-Identifier: Apache-2.0
// Which bytes a tile would get.
#pragma once

#include "trnsim/lowering/tiles/tile.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// What keeps tiles without bytes from getting some at once, without moving another: they cannot
/// before a count has come as far as `until`.
struct Obstacle {
    const std::uint64_t* count = nullptr;  ///< nullptr: nothing does.
    std::uint64_t until = 0;

    [[nodiscard]] bool stands() const { return count != nullptr && *count < until; }
};

struct PlannedStep;

/// Where tiles may be put.
class TilePlaces {
public:
    TilePlaces() = default;
    TilePlaces(const TilePlaces&) = delete;
    TilePlaces& operator=(const TilePlaces&) = delete;
    TilePlaces(TilePlaces&&) = delete;
    TilePlaces& operator=(TilePlaces&&) = delete;
    virtual ~TilePlaces() = default;

    /// What stands in the way of the tiles of a step that have no bytes.
    [[nodiscard]] virtual Obstacle obstacle(const PlannedStep& step) const = 0;

    /// The bytes of a tile with all their history, if both are known before. \pre no obstacle()
    [[nodiscard]] virtual const Slot* next_slot(const Tile& tile) const = 0;
};

}  // namespace trnsim::lowering
