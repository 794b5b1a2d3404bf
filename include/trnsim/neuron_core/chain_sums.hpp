// SPDX-License-Identifier: Apache-2.0
// Sums along chains of events of which most have their beginnings in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace trnsim::neuron_core {

/// Every event continues the chain of an earlier one and adds a few amounts to it, each to a sum
/// with a number.
///
///     add() --> [ links to what came before ] --> settle(): whole sums for those that matter
///
/// An event costs a link, whatever the number of sums. Once there are kLinks of them, whoever adds
/// them says which events others may still continue, and only their sums are kept.
class ChainSums {
public:
    using Sum = std::uint8_t;
    using Place = std::uint32_t;  ///< Of an event; valid until settle().

    /// Continued by an event with which a chain begins.
    static constexpr Place kNothing = ~Place{0};
    static constexpr std::size_t kLinks = 8192;
    static constexpr std::size_t kAmounts = 4;  ///< An event adds.

    struct Amounts {
        std::array<std::int64_t, kAmounts> values;
        std::array<Sum, kAmounts> to;

        void add_to(std::int64_t* sums) const;
    };

    /// Whether settle() has to come before the next add().
    [[nodiscard]] bool is_full() const { return size_ == kLinks; }

    /// An event that continues the chain of another. \pre !is_full()
    [[nodiscard]] Place add(Place before, const Amounts& amounts) {
        links_[size_] = {.amounts = amounts, .before = before};
        return static_cast<Place>(settled_ + size_++);
    }

    /// Forgets all events but these and gives them new places. There are `sums` sums by now.
    void settle(std::span<Place* const> kept, std::size_t sums);

    /// What the chain that ends with an event comes to, for `sums` sums.
    [[nodiscard]] std::vector<std::int64_t> along(Place event, std::size_t sums) const;

private:
    struct Link {
        Amounts amounts;
        Place before;
    };
    /// The sums of settled events, one row each.
    struct Rows {
        std::vector<std::int64_t> values;
        std::size_t width = 0;

        /// A new row like one of others, which are no wider; or of zeros.
        Place append(const Rows& others, Place like);
    };

    [[nodiscard]] bool is_link(Place event) const { return event != kNothing && event >= settled_; }
    /// How many continue each link: events that are kept, or that such ones continue.
    [[nodiscard]] std::vector<std::uint32_t> count_uses(std::span<Place* const> kept) const;

    Rows rows_;
    std::size_t settled_ = 0;  ///< Events with a row; links are numbered behind them.
    std::size_t size_ = 0;     ///< Links.
    /// Touched as they come: a vector would fill it.
    std::unique_ptr<Link[]> links_ =                     // NOLINT(modernize-avoid-c-arrays)
        std::make_unique_for_overwrite<Link[]>(kLinks);  // NOLINT(modernize-avoid-c-arrays)
};

}  // namespace trnsim::neuron_core
