// SPDX-License-Identifier: Apache-2.0
// Backward liveness.
#include "trnsim/lowering/liveness.hpp"

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
    std::int64_t next_alloc = 0;
};

/// Executions of every alloc node's site.
std::vector<std::int64_t> count_instances(const Program& program) {
    std::vector<std::int64_t> counts(program.buffers.size());
    std::vector<std::int64_t> trips{1};
    for (const program::Node& node : program.nodes) {
        switch (node.kind) {
            case program::Node::Kind::Loop:
                trips.push_back(trips.back() * program.loops[node.index].count);
                break;
            case program::Node::Kind::End:
                trips.pop_back();
                break;
            case program::Node::Kind::Alloc:
                counts[node.index] += trips.back();
                break;
            case program::Node::Kind::Run:
                break;
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
            result_[site].last_step = kNoStep;
        }
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
        const std::vector<Operand>& operands =
            program_.templates[program_.runs[step.run].instruction].operands;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const std::uint32_t buffer = operands[i].buffer;
            SiteState& site = sites_[buffer];
            SiteLiveness& result = result_[buffer];
            if (result.instances == 0) {
                continue;
            }
            std::int64_t& uses = site.uses[step.at[i].instance];
            if (uses++ == 0) {
                result.live_peak = std::max(result.live_peak, ++site.live);
            }
            if (result.last_step == kNoStep) {
                result.last_step = number;
            }
        }
    }

    /// Turns steps counted down from the end into steps counted up from the start.
    void finish(std::int64_t first) {
        for (SiteLiveness& site : result_) {
            std::ranges::reverse(site.uses);
            site.first_step -= first;
            site.last_step = site.last_step == kNoStep ? -1 : site.last_step - first;
        }
    }

    const Program& program_;
    std::vector<SiteState> sites_;
    std::vector<SiteLiveness> result_;
};

}  // namespace

std::vector<SiteLiveness> analyse_liveness(const Program& program) {
    return BackwardWalk(program).walk();
}

}  // namespace trnsim::lowering
