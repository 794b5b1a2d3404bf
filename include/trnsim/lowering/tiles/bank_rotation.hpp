// SPDX-License-Identifier: Apache-2.0
// Which bytes of PSUM every tile gets, settled in program order.
#pragma once

#include "trnsim/base/instance_table.hpp"
#include "trnsim/lowering/analysis/liveness.hpp"
#include "trnsim/lowering/analysis/use_counter.hpp"
#include "trnsim/lowering/tiles/free_bytes.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"
#include "trnsim/program/program.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// PSUM as a compiler deals it out before it schedules: in program order every tile, of whichever
/// site, takes the next bytes that are free then, going round the banks.
///
///     tiles   t0 p0 p1 p2 p3 p4 p5 p6 p7 t1 p8 …
///     banks   0  1  2  3  4  5  6  7  0  1  2  …
///
/// What is written into a bank therefore comes after what was there before, wherever a window moves
/// it: above, t1 may pass the products from p1 on, and t2 none from p8 on. [TRACES-TRN2] Tiles have
/// whole banks; they share one where sites would have none to run ahead with.
class BankRotation {
public:
    /// Of the bytes from `first` on, where a bank begins. nullopt: at some moment no gap is large
    /// enough.
    [[nodiscard]] static std::optional<BankRotation> plan(const program::Program& program,
                                                          const std::vector<SiteLiveness>& liveness,
                                                          const PsumSpec& psum,
                                                          std::int64_t first);

    /// Whether tiles of a site lie here.
    [[nodiscard]] bool has(std::uint32_t buffer) const { return sites_[buffer].has_value(); }

    /// Bytes per partition of a tile. \pre has(buffer)
    [[nodiscard]] std::int64_t tile_bytes(std::uint32_t buffer) const {
        return sites_[buffer]->tile_bytes;
    }

    /// Whether there are tiles smaller than a bank, and they may share one.
    [[nodiscard]] bool shares_banks() const { return shares_banks_; }

    /// Begins the next instance of a site; it gets bytes at its first use. \pre has(buffer)
    void begin(std::uint32_t buffer);

    /// The byte within a partition where an instance lies that the next step of the program uses;
    /// nullopt: it does not live. Counts the use. \pre has(buffer)
    [[nodiscard]] std::optional<std::int64_t> use(std::uint32_t buffer, std::int64_t instance);

    /// That was all of the step: what it used last is free.
    void end_step();

    /// Banks from the first to the last that a tile has had.
    [[nodiscard]] std::int64_t banks() const;

private:
    struct Tile {
        std::int64_t address = -1;  ///< Not yet.
        std::int64_t uses_left = 0;
    };
    struct Site {
        std::int64_t tile_bytes = 0;
        UseCounter uses;
        std::int64_t most_places = 0;       ///< Tiles of a loop of the run time return to theirs.
        std::deque<std::int64_t> places{};  ///< The last ones.
        InstanceTable<Tile> living{};
    };

    BankRotation(const program::Program& program,
                 const std::vector<SiteLiveness>& liveness,
                 const PsumSpec& psum,
                 std::int64_t first,
                 bool shares_banks);

    /// Whether there is a gap for every tile.
    [[nodiscard]] bool fits(const program::Program& program,
                            const std::vector<SiteLiveness>& liveness) const;
    /// Goes through the program. False: there is not.
    [[nodiscard]] bool runs(const program::Program& program);
    void place(Site& site, Tile& tile);

    PsumSpec psum_;
    std::int64_t first_;  ///< Byte from which on it deals.
    bool shares_banks_ = false;
    std::vector<std::optional<Site>> sites_;  ///< By buffer.
    FreeBytes free_;
    std::int64_t next_ = 0;
    std::int64_t highest_ = 0;
    bool is_full_ = false;                                     ///< There was no gap.
    std::vector<std::pair<std::int64_t, std::int64_t>> over_;  ///< Last used by this step.
};

}  // namespace trnsim::lowering
