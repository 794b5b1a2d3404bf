// SPDX-License-Identifier: Apache-2.0
// Which bytes a tile would get.
#pragma once

#include "trnsim/lowering/tile.hpp"

#include <cstdint>

namespace trnsim::lowering {

/// Where tiles may be put.
class TilePlaces {
public:
    TilePlaces() = default;
    TilePlaces(const TilePlaces&) = delete;
    TilePlaces& operator=(const TilePlaces&) = delete;
    TilePlaces(TilePlaces&&) = delete;
    TilePlaces& operator=(TilePlaces&&) = delete;
    virtual ~TilePlaces() = default;

    /// What keeps a tile without bytes from getting some at once, without moving another: a count
    /// that changes before it could. nullptr: nothing does.
    [[nodiscard]] virtual const std::uint64_t* obstacle(const Tile& tile) const = 0;

    /// Those bytes with all their history, if both are known before. \pre no obstacle()
    [[nodiscard]] virtual const Slot* next_slot(const Tile& tile) const = 0;
};

}  // namespace trnsim::lowering
