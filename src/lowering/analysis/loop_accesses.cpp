// SPDX-License-Identifier: Apache-2.0
// Operands by buffer, and where iterations meet.
#include "loop_accesses.hpp"

#include "affine_terms.hpp"

#include <algorithm>
#include <cstdlib>

namespace trnsim::lowering {

using program::Affine;

LoopAccesses::LoopAccesses(const program::Program& program,
                           const BufferCounts& counts,
                           const LoopTree& loop,
                           std::int32_t depth)
    : program_(program), counts_(counts), depth_(depth) {
    for (std::size_t child = 0; child < loop.body.size(); ++child) {
        gather(loop.body[child], child, true);
    }
    find_private();
}

void LoopAccesses::gather(const LoopTree& item, std::size_t child, bool is_direct) {
    if (item.is_alloc()) {
        is_opaque_ = is_opaque_ || counts_.allocs[item.index] != 1;
        if (is_direct) {
            allocated_.insert(item.index);
        }
        return;
    }
    if (item.is_loop()) {
        is_opaque_ = is_opaque_ || program_.loops[item.index].is_in_order;
        inner_counts_.push_back(program_.loops[item.index].count);
        for (const LoopTree& inner : item.body) {
            gather(inner, child, false);
        }
        inner_counts_.pop_back();
        return;
    }
    const program::Run& run = program_.runs[item.index];
    const InstructionTemplate& instruction = program_.templates[run.instruction];
    is_opaque_ = is_opaque_ || run.has_edges();
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        Use use{.child = child,
                .operand = &operand,
                .at = &run.at[i],
                .low = operand.pattern.lowest(),
                .high = operand.pattern.highest()};
        for (const Affine::Term& term : run.at[i].offset.terms) {
            if (term.depth > depth_) {
                const auto inner = static_cast<std::size_t>(term.depth - depth_ - 1);
                const std::int64_t reach = term.coefficient * (inner_counts_[inner] - 1);
                use.low += std::min<std::int64_t>(reach, 0);
                use.high += std::max<std::int64_t>(reach, 0);
            }
        }
        is_opaque_ = is_opaque_ || operand.indirect.has_value() ||
                     program_.buffers[operand.buffer].address.has_value();
        uses_[operand.buffer].push_back(use);
    }
}

void LoopAccesses::find_private() {
    for (const std::uint32_t buffer : allocated_) {
        if (is_private(buffer)) {
            private_.insert(buffer);
        }
    }
}

bool LoopAccesses::is_private(std::uint32_t buffer) const {
    const auto found = uses_.find(buffer);
    const program::Buffer& site = program_.buffers[buffer];
    if (found == uses_.end() || site.space == Space::Hbm ||
        counts_.uses[buffer] != static_cast<std::int64_t>(found->second.size())) {
        return false;
    }
    const Affine& first = found->second.front().at->instance;
    return coefficient(first, depth_) == 1 &&
           std::ranges::all_of(found->second, [&](const Use& use) {
               return same_base(use.at->instance, first, depth_) &&
                      !has_inner_terms(use.at->instance, depth_) &&
                      use.operand->dtype == site.dtype;
           });
}

bool LoopAccesses::may_be_taken_apart() const {
    return !is_opaque_ && std::ranges::all_of(uses_, [this](const auto& entry) {
        return private_.contains(entry.first) || is_own(entry.second);
    });
}

bool LoopAccesses::is_own(const std::vector<Use>& uses) const {
    const bool is_written =
        std::ranges::any_of(uses, [](const Use& use) { return use.operand->writes(); });
    const Use& first = uses.front();
    const bool is_of_one =
        std::ranges::all_of(uses, [&](const Use& use) { return use.child == first.child; });
    if (!is_written || is_of_one) {
        return true;
    }
    std::int64_t low = first.low;
    std::int64_t high = first.high;
    for (const Use& use : uses) {
        if (!same_base(use.at->instance, first.at->instance, depth_) ||
            has_inner_terms(use.at->instance, depth_)) {
            return false;
        }
        low = std::min(low, use.low);
        high = std::max(high, use.high);
    }
    if (coefficient(first.at->instance, depth_) != 0) {
        return true;
    }
    const std::int64_t step = coefficient(first.at->offset, depth_);
    return std::abs(step) > high - low && std::ranges::all_of(uses, [&](const Use& use) {
               return use.operand->dtype == first.operand->dtype &&  // It counts their elements.
                      same_base(use.at->offset, first.at->offset, depth_);
           });
}

}  // namespace trnsim::lowering
