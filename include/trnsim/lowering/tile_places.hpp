// SPDX-License-Identifier: Apache-2.0
// Which bytes a tile would get.
#pragma once

#include "trnsim/lowering/tile.hpp"

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

    /// Whether a tile without bytes would get some at once, without moving another.
    [[nodiscard]] virtual bool has_bytes_for(const Tile& tile) const = 0;

    /// Those bytes with all their history, if both are known before. \pre has_bytes_for()
    [[nodiscard]] virtual const Slot* next_slot(const Tile& tile) const = 0;
};

}  // namespace trnsim::lowering
