// SPDX-License-Identifier: Apache-2.0
// What the steps in a window would need of a full memory if they ran in program order.
#pragma once

#include "trnsim/base/folding_queue.hpp"
#include "trnsim/base/ring_buffer.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace trnsim::lowering {

/// Keeps steps that run ahead of their turn from taking the bytes that those before them need:
/// without it a window fills a memory with tiles of later iterations, and the earlier ones spill.
///
///     need(t)  bytes of the tiles that live during step t in program order
///
/// A step may take bytes ahead of its turn if at every step t that it passes need(t), the tiles
/// that other steps took ahead of t, and its own fit, less what the step itself frees. Where
/// program order does not fit either, nothing is held back: at such a t, and up to the most that
/// program order needs in the window. Bytes per partition; gaps between tiles are left out. Every
/// question takes time logarithmic in the length of the window.
class InOrderNeed {
public:
    explicit InOrderNeed(std::int64_t capacity) : capacity_(capacity) {}

    /// The next step of the program: what its first uses begin and its last uses end.
    void admit(std::int64_t begun, std::int64_t ended);

    /// A step, by its place in the program, is on its queue.
    void retire(std::uint64_t order);

    /// Whether a step may take so many bytes now. \pre it is admitted, and not retired
    [[nodiscard]] bool allows(std::uint64_t order, std::int64_t bytes) const {
        return until(order, bytes) == 0;
    }

    /// 0 if it may, else how far chances() has to come before it may take as many.
    [[nodiscard]] std::uint64_t until(std::uint64_t order, std::int64_t bytes) const;

    /// Whether program order fits, as far as it is known.
    [[nodiscard]] bool fits() const { return answers().all.need <= capacity_; }

    /// Counts up, mostly by one for each step that is no longer passed.
    [[nodiscard]] const std::uint64_t& chances() const { return chances_; }

    /// Lets everybody ask again.
    void give_chance() { chances_ += needs_.end() - needs_.begin(); }

    /// A step takes bytes.
    void take(std::uint64_t order, std::int64_t bytes);

private:
    /// Steps one after the other.
    struct Stretch {
        static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min() / 2;

        std::int64_t early = 0;     ///< Bytes that they took ahead of their turn.
        std::int64_t need = kNone;  ///< The most that program order needs.
        /// The most that is needed where program order fits: by it, and by the steps behind that
        /// place which took theirs early.
        std::int64_t peak = kNone;

        [[nodiscard]] static Stretch join(const Stretch& first, const Stretch& second) {
            return {.early = first.early + second.early,
                    .need = std::max(first.need, second.need),
                    .peak = std::max(first.peak + second.early, second.peak)};
        }
    };

    /// What has been found out about all of them.
    struct Answers {
        Stretch all;  ///< What they come to.
        /// Neither may this step or one behind it take so many bytes more than it frees, or more.
        std::uint64_t refused_order = std::numeric_limits<std::uint64_t>::max();
        std::int64_t refused_bytes = std::numeric_limits<std::int64_t>::max();
        std::uint64_t refused_until = 0;
    };

    struct Step {
        std::int64_t ended = 0;  ///< Bytes that are free after it.
        bool is_retired = false;
    };

    /// What is known, or found out now.
    [[nodiscard]] Answers& answers() const;

    std::int64_t capacity_;
    std::int64_t live_ = 0;        ///< After the last step admitted, in program order.
    FoldingQueue<Stretch> needs_;  ///< By step, from the earliest that is not retired on.
    mutable std::optional<Answers> answers_;  ///< Until one of them changes.
    RingBuffer<Step> steps_;                  ///< The same ones.
    std::uint64_t chances_ = 0;
};

}  // namespace trnsim::lowering
