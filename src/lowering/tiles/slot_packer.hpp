// SPDX-License-Identifier: Apache-2.0
// Addresses for the slots of sites in one memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace trnsim::lowering {

/// A site while slots are being dealt out. Bytes are per partition.
struct PackedSite {
    std::uint32_t site = 0;
    std::int64_t live = 0;    ///< Tiles at most; it keeps as many slots.
    std::int64_t wanted = 0;  ///< Slots, if there is room.
    std::int64_t slots = 0;
    std::int64_t slot_bytes = 0;
    std::int64_t alignment = 1;
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
    std::int64_t address = 0;
    bool is_computed = true;  ///< Else by DMA.

    [[nodiscard]] std::int64_t bytes() const { return slots * slot_bytes; }
    [[nodiscard]] std::int64_t excess() const { return slots - live; }
    [[nodiscard]] bool meets(const PackedSite& other) const {
        return first_step <= other.last_step && other.first_step <= last_step;
    }
};

/// One memory being packed.
class SlotPacker {
public:
    /// `capacity` in bytes per partition.
    SlotPacker(std::vector<PackedSite> sites, std::int64_t capacity);

    /// Addresses one after the other; false if they exceed the capacity.
    bool place_apart();

    /// First fit, largest first; sites whose lives do not meet may share bytes. False if they
    /// exceed the capacity.
    bool place_shared();

    /// Apart if that fits, else shared if that can fit.
    bool place() { return place_apart() || (most_at_once() <= capacity_ && place_shared()); }

    /// As many slots as wanted, or as fit: takes slots beyond the live tiles away until the rest
    /// fits, from the sites that keep the largest share (a tile or two more than live are what lets
    /// a load run ahead), and gives what room is left back to those with the smallest tiles. False
    /// if even the live tiles do not fit.
    bool fit();

    [[nodiscard]] std::vector<PackedSite>& sites() { return sites_; }
    /// One past the highest byte given out.
    [[nodiscard]] std::int64_t used() const { return used_; }
    /// Whether sites may share bytes.
    [[nodiscard]] bool shares() const { return shares_; }

private:
    /// Bytes of all sites that live at a step, at the fullest one: no place takes less.
    [[nodiscard]] std::int64_t most_at_once() const;
    bool shrink();
    void refill();
    /// The most slots that the site can have, up to those wanted.
    void grow(PackedSite& site);
    /// Compares what the sites have in excess after the loss, for each live tile.
    static bool can_spare_more(const PackedSite& a, const PackedSite& b);
    /// The lowest place beside those that it meets. \pre they are in the order of their addresses
    static std::int64_t first_gap(const PackedSite& site,
                                  std::span<const PackedSite* const> placed);

    std::vector<PackedSite> sites_;
    std::vector<std::size_t> by_first_step_;  ///< Places in sites_,
    std::vector<std::size_t> by_last_step_;   ///< in two orders.
    std::int64_t capacity_;
    std::int64_t used_ = 0;
    bool shares_ = false;
};

}  // namespace trnsim::lowering
