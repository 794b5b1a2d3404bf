// SPDX-License-Identifier: Apache-2.0
// Which memory the iterations of a loop access, and whether they meet there.
#pragma once

#include "loop_tree.hpp"
#include "trnsim/program/program.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace trnsim::lowering {

/// How often each buffer of a program occurs, over all of its nodes.
struct BufferCounts {
    std::vector<std::int64_t> uses;
    std::vector<std::int64_t> allocs;
};

/// All operands of a loop's body.
class LoopAccesses {
public:
    /// One operand of a run somewhere in the loop.
    struct Use {
        std::size_t child = 0;  ///< Of the loop's body.
        const Operand* operand = nullptr;
        const program::Position* at = nullptr;
        std::int64_t low = 0;  ///< Elements from the iteration's base, over the loops inside.
        std::int64_t high = 0;
    };

    /// Of a loop of the tree at `depth`. All arguments must outlive it.
    LoopAccesses(const program::Program& program,
                 const BufferCounts& counts,
                 const LoopTree& loop,
                 std::int32_t depth);

    /// Sites whose tiles live within one iteration each, and are used there only.
    [[nodiscard]] const std::set<std::uint32_t>& private_sites() const { return private_; }

    /// \pre one of private_sites()
    [[nodiscard]] const std::vector<Use>& of(std::uint32_t site) const { return uses_.at(site); }

    /// Whether parts of the loop may run one after the other for all iterations: what one part
    /// writes, others access in the same iteration only. Never if a place is not affine, is fixed,
    /// or a site is allocated in several places.
    [[nodiscard]] bool may_be_taken_apart() const;

private:
    void gather(const LoopTree& item, std::size_t child, bool is_direct);
    void find_private();
    [[nodiscard]] bool is_private(std::uint32_t buffer) const;
    [[nodiscard]] bool is_own(const std::vector<Use>& uses) const;

    const program::Program& program_;
    const BufferCounts& counts_;
    std::int32_t depth_;
    std::vector<std::int64_t> inner_counts_;  ///< Trips of the loops around what is gathered.
    std::map<std::uint32_t, std::vector<Use>> uses_;
    std::set<std::uint32_t> allocated_;  ///< In the loop's body itself.
    std::set<std::uint32_t> private_;
    /// The place of an operand is fixed or in memory, or a site is allocated in several places.
    bool is_opaque_ = false;
};

}  // namespace trnsim::lowering
