// SPDX-License-Identifier: Apache-2.0
// Which bytes of a memory nobody has.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace trnsim::lowering {

/// Bytes 0 to `capacity` of every partition, as gaps between those that were taken: in order of
/// address, as large as they can be. Taking and giving back cost a binary search and a move of the
/// gaps behind; asking again for a size that is known to fit, or not to, costs nothing.
/// In PSUM (`bank_bytes` above 0) nothing crosses into another bank unless it is larger than one,
/// and begins with one.
class FreeBytes {
public:
    explicit FreeBytes(std::int64_t capacity, std::int64_t bank_bytes = 0)
        : bank_bytes_(bank_bytes), gaps_{{.begin = 0, .end = capacity}} {}

    /// Whether `bytes` in one piece are free.
    [[nodiscard]] bool has(std::int64_t bytes) const {
        return bytes <= fits_ || (bytes < fits_not_ && look_for(bytes));
    }

    /// The first address from `start` on, then from 0 on, with so many free bytes.
    [[nodiscard]] std::optional<std::int64_t> find(std::int64_t start, std::int64_t bytes) const;

    /// \pre all of [begin, end) is free
    void take(std::int64_t begin, std::int64_t end);

    /// \pre all of [begin, end) is taken
    void give_back(std::int64_t begin, std::int64_t end);

    /// A count that changes before has() says yes where it said no.
    [[nodiscard]] const std::uint64_t& growths() const { return growths_; }

private:
    struct Gap {
        std::int64_t begin = 0;
        std::int64_t end = 0;
    };
    using Gaps = std::vector<Gap>;

    /// has(), of a size that is not known to fit or not to.
    [[nodiscard]] bool look_for(std::int64_t bytes) const;
    /// The first gap that ends behind `address`.
    [[nodiscard]] Gaps::const_iterator first_behind(std::int64_t address) const;
    [[nodiscard]] std::int64_t aligned(std::int64_t address, std::int64_t bytes) const;

    std::int64_t bank_bytes_;
    Gaps gaps_;
    // What fits leaves room for what is smaller:
    mutable std::int64_t fits_ = 0;  ///< Largest known to.
    mutable std::int64_t fits_not_ = std::numeric_limits<std::int64_t>::max();  ///< Smallest.
    std::uint64_t growths_ = 0;  ///< Gaps that came to be as large as that.
};

}  // namespace trnsim::lowering
