// SPDX-License-Identifier: Apache-2.0
// VectorE and another engine that never access a memory at the same time.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/isa/engine.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace trnsim::neuron_core {

/// Whose turn it is: that of who has waited for longest, so that neither keeps the other out by
/// working back to back. An access that has begun is not interrupted. [ASSUMED]
class ExclusiveTurns {
public:
    /// When an engine may begin an access of some length that it could begin from `since` on. It
    /// has asked then, and the other one lets it begin first if that could only later and would not
    /// be done before. To be asked again at that time.
    [[nodiscard]] Picoseconds ask(Engine engine,
                                  Picoseconds since,
                                  Picoseconds length,
                                  Picoseconds now) {
        Side& own = sides_[side_of(engine)];
        const Side& other = sides_[1 - side_of(engine)];
        Picoseconds begin = std::max(since, other.until);
        const bool is_others_turn = other.asks && other.since < since && other.turn >= now &&
                                    begin <= other.turn && begin + length > other.turn;
        if (is_others_turn) {  // How long that takes is known once it has begun.
            begin = other.turn + Picoseconds{1};
        }
        own.asks = true;
        own.since = since;
        own.turn = begin;
        return begin;
    }

    /// It needs another memory too, and can begin no earlier than that lets it.
    void postpone(Engine engine, Picoseconds turn) { sides_[side_of(engine)].turn = turn; }

    /// Its access begins now.
    void begin(Engine engine, Picoseconds until) {
        sides_[side_of(engine)].asks = false;
        sides_[side_of(engine)].until = until;
    }

private:
    struct Side {
        Picoseconds until;  ///< Of its access.
        bool asks = false;
        Picoseconds since;
        Picoseconds turn;  ///< When it may begin.
    };
    static std::size_t side_of(Engine engine) { return engine == Engine::Vector ? 0 : 1; }

    std::array<Side, 2> sides_{};
};

}  // namespace trnsim::neuron_core
