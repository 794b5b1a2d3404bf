// SPDX-License-Identifier: Apache-2.0
// Backward liveness.
#include "trnsim/lowering/analysis/liveness.hpp"

#include "trnsim/base/instance_table.hpp"
#include "trnsim/program/cursor.hpp"

#include <algorithm>

namespace trnsim::lowering {
namespace {

using program::Cursor;
using program::Program;
using program::Step;

/// No step yet: steps are counted down from the end, -1 is the last.
constexpr std::int64_t kNoStep = 0;

/// A site while the program is walked backwards.
struct SiteState {
    InstanceTable<std::int64_t> uses;
    std::int64_t live = 0;
    std::int64_t live_peak = 0;
    std::int64_t next_alloc = 0;
    std::int64_t last_step = kNoStep;
};

/// An operand of a run that lies in a site.
struct SiteAccess {
    std::uint32_t operand = 0;
    std::uint32_t site = 0;
};

/// Executions of every alloc node's site.
std::vector<std::int64_t> count_instances(const Program& program) {
    std::vector<std::int64_t> counts(program.buffers.size());
    const std::vector<std::int64_t> executions = program.executions();
    for (std::size_t i = 0; i < executions.size(); ++i) {
        const program::Node& node = program.nodes[i];
        if (node.kind == program::Node::Kind::Alloc) {
            counts[node.index] += executions[i];
        }
    }
    return counts;
}

class BackwardWalk {
public:
    explicit BackwardWalk(const Program& program)
        : program_(program), sites_(program.buffers.size()), result_(program.buffers.size()) {
        const std::vector<std::int64_t> counts = count_instances(program);
        for (std::size_t site = 0; site < sites_.size(); ++site) {
            sites_[site].next_alloc = counts[site];
            result_[site].instances = counts[site];
        }
        for (const program::Run& run : program.runs) {
            first_access_.push_back(accesses_.size());
            const std::vector<Operand>& operands = program.templates[run.instruction].operands;
            for (std::uint32_t i = 0; i < operands.size(); ++i) {
                if (counts[operands[i].buffer] > 0) {
                    accesses_.push_back({.operand = i, .site = operands[i].buffer});
                }
            }
        }
        first_access_.push_back(accesses_.size());
    }

    std::vector<SiteLiveness> walk() {
        Cursor cursor(program_, Cursor::Direction::Backward);
        std::int64_t step = 0;
        while (const Step* next = cursor.next()) {
            --step;
            if (next->is_alloc) {
                allocate(next->run, step);
            } else {
                use(*next, step);
            }
        }
        finish(step);
        return std::move(result_);
    }

private:
    void allocate(std::uint32_t buffer, std::int64_t step) {
        SiteState& site = sites_[buffer];
        SiteLiveness& result = result_[buffer];
        const std::int64_t instance = --site.next_alloc;
        std::int64_t uses = 0;
        if (const std::int64_t* found = site.uses.find(instance)) {
            uses = *found;
            site.uses.erase(instance);
            --site.live;
        }
        if (result.uses.empty() || result.uses.back().uses != uses) {
            result.uses.push_back({.instances = 0, .uses = uses});
        }
        ++result.uses.back().instances;
        result.first_step = step;
    }

    void use(const Step& step, std::int64_t number) {
        const std::size_t end = first_access_[step.run + 1];
        for (std::size_t i = first_access_[step.run]; i < end; ++i) {
            SiteState& site = sites_[accesses_[i].site];
            std::int64_t& uses = site.uses[step.at[accesses_[i].operand].instance];
            if (uses++ == 0) {
                site.live_peak = std::max(site.live_peak, ++site.live);
            }
            if (site.last_step == kNoStep) {
                site.last_step = number;
            }
        }
    }

    /// Turns steps counted down from the end into steps counted up from the start.
    void finish(std::int64_t first) {
        for (std::size_t i = 0; i < result_.size(); ++i) {
            SiteLiveness& site = result_[i];
            std::ranges::reverse(site.uses);
            site.live_peak = sites_[i].live_peak;
            site.first_step -= first;
            site.last_step = sites_[i].last_step == kNoStep ? -1 : sites_[i].last_step - first;
        }
    }

    const Program& program_;
    std::vector<SiteState> sites_;
    std::vector<SiteLiveness> result_;
    std::vector<SiteAccess> accesses_;       ///< Of all runs, one after the other.
    std::vector<std::size_t> first_access_;  ///< By run; and behind the last one.
};

}  // namespace

std::vector<SiteLiveness> analyse_liveness(const Program& program) {
    return BackwardWalk(program).walk();
}

}  // namespace trnsim::lowering
