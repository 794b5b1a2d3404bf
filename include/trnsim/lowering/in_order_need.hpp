// SPDX-License-Identifier: Apache-2.0
// What the steps in a window would need of a full memory if they ran in program order.
#pragma once

#include <cstdint>
#include <deque>

namespace trnsim::lowering {

/// Keeps steps that run ahead of their turn from taking the bytes that those before them need:
/// without it a window fills a memory with tiles of later iterations, and the earlier ones spill.
///
///     need(t)  bytes of the tiles that live during step t in program order
///
/// A step may take bytes ahead of its turn if at every step t that it passes need(t), the tiles
/// that other steps took ahead of t, and its own fit, less what the step itself frees. Where
/// program order does not fit either, nothing is held back: at such a t, and up to the most that
/// program order needs in the window. Bytes per partition; gaps between tiles are left out.
class InOrderNeed {
public:
    explicit InOrderNeed(std::int64_t capacity) : capacity_(capacity) {}

    /// The next step of the program: what its first uses begin and its last uses end.
    void admit(std::int64_t begun, std::int64_t ended);

    /// A step, by its place in the program, is on its queue.
    void retire(std::uint64_t order);

    /// Whether a step may take so many bytes now. \pre it is admitted, and not retired
    [[nodiscard]] bool allows(std::uint64_t order, std::int64_t bytes) const;

    /// A step takes bytes.
    void take(std::uint64_t order, std::int64_t bytes);

private:
    struct Step {
        std::int64_t need = 0;   ///< Bytes, with those it begins and those it ends.
        std::int64_t ended = 0;  ///< Bytes that are free after it.
        std::int64_t early = 0;  ///< Bytes that it took ahead of its turn.
        bool is_retired = false;
    };

    /// The capacity, or what program order needs if that is more.
    [[nodiscard]] std::int64_t most() const;

    std::int64_t capacity_;
    std::int64_t live_ = 0;    ///< After the last step admitted, in program order.
    std::int64_t early_ = 0;   ///< Sum over the steps.
    std::uint64_t first_ = 0;  ///< Place in the program of the first step.
    std::deque<Step> steps_;   ///< From the earliest that is not retired on.
};

}  // namespace trnsim::lowering
