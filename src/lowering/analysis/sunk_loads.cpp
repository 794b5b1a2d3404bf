// SPDX-License-Identifier: Apache-2.0
// Sites that are loaded beside the one loop that reads them.
#include "trnsim/lowering/analysis/sunk_loads.hpp"

#include "affine_terms.hpp"
#include "loop_tree.hpp"
#include "trnsim/lowering/instructions/instruction_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace trnsim::lowering {

using program::Affine;
using program::Node;
using program::Program;
using program::Run;

namespace {

using Items = std::vector<LoopTree>;
using Route = std::vector<std::size_t>;  ///< To an item: its number in each list from the top on.

/// An operand of a run, or an alloc, that has to do with a site.
struct Touch {
    Route route{};
    std::optional<std::uint32_t> run{};
    std::size_t operand = 0;
    bool reads = false;
    bool is_in_order = false;  ///< A loop around it passes nothing, and nothing passes that.
};

/// A site whose loads can be moved into the loop that a route leads to.
struct Candidate {
    std::uint32_t site = 0;
    Route loop{};
    std::int64_t tiles = 0;  ///< Allocated for an execution of the loop.
};

std::size_t common_start(const Route& a, const Route& b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

class Sinking {
public:
    explicit Sinking(const Program& program)
        : program_(&program), tree_(to_tree(program.nodes)), is_loadable_(loadable_sites()) {}

    /// By site.
    [[nodiscard]] std::vector<Candidate> candidates() const {
        std::vector<std::vector<Touch>> touches(program_->buffers.size());
        Route route;
        gather(tree_, route, false, touches);
        std::vector<Candidate> found;
        for (std::uint32_t site = 0; site < touches.size(); ++site) {
            if (is_loadable_[site]) {
                if (std::optional<Candidate> one = candidate(site, touches[site])) {
                    found.push_back(std::move(*one));
                }
            }
        }
        return found;
    }

    void sink(const Candidate& one) {
        if (!changed_) {
            changed_ = *program_;
            program_ = &*changed_;
        }
        const std::size_t depth = one.loop.size() - 1;
        std::int64_t passes = 1;
        for (const std::int64_t around : counts_around(one.loop)) {
            passes *= around;
        }
        Items* list = &tree_;
        for (std::size_t i = 0; i < depth; ++i) {
            list = &(*list)[one.loop[i]].body;
        }
        Items& items = *list;
        Items moved;
        Items kept;
        for (std::size_t i = 0; i < items.size(); ++i) {
            const bool is_moved = i < one.loop.back() && is_of(items[i], one.site);
            (is_moved ? moved : kept).push_back(std::move(items[i]));
        }
        items = std::move(kept);
        LoopTree& loop = items[one.loop.back() - moved.size()];
        const std::int64_t count = program_->loops[loop.index].count;
        for (LoopTree& item : moved) {
            changed_->instruction_count += passes * (count - 1) * executed(item, Node::Kind::Run);
            move_inside(item, static_cast<std::int32_t>(depth));
        }
        loop.body.insert(loop.body.begin(),
                         std::make_move_iterator(moved.begin()),
                         std::make_move_iterator(moved.end()));
        renumber(loop, one, static_cast<std::int32_t>(depth), count);
        passes_.emplace(one.site, count);
    }

    /// \pre one was moved
    SunkLoads take() {
        changed_->nodes = to_nodes(tree_);
        std::int32_t depth = 0;
        for (const Node& node : changed_->nodes) {
            depth += node.kind == Node::Kind::Loop ? 1 : node.kind == Node::Kind::End ? -1 : 0;
            changed_->max_depth = std::max(changed_->max_depth, depth);
        }
        return {.program = std::move(*changed_), .passes = std::move(passes_)};
    }

private:
    [[nodiscard]] const InstructionTemplate& template_of(std::uint32_t run) const {
        return program_->templates[program_->runs[run].instruction];
    }

    /// Sites in SBUF that only loads of what is there before the program write.
    [[nodiscard]] std::vector<bool> loadable_sites() const {
        const std::vector<bool> is_written = written_buffers(*program_);
        std::vector<bool> is_loadable(program_->buffers.size());
        for (std::size_t site = 0; site < is_loadable.size(); ++site) {
            const program::Buffer& buffer = program_->buffers[site];
            is_loadable[site] = buffer.space == Space::Sbuf && !buffer.address;
        }
        for (const Run& run : program_->runs) {
            const InstructionTemplate& instruction = program_->templates[run.instruction];
            const bool can_move = is_load(instruction, is_written) && !run.has_edges();
            for (const Operand& operand : instruction.operands) {
                if (operand.writes() && !can_move) {
                    is_loadable[operand.buffer] = false;
                }
            }
        }
        return is_loadable;
    }

    [[nodiscard]] bool is_load(const InstructionTemplate& instruction,
                               const std::vector<bool>& is_written) const {
        if (instruction.op != Opcode::DmaCopy || instruction.operands.size() != 2) {
            return false;
        }
        const Operand& dst = instruction.at(Role::Dst);
        const Operand& src = instruction.at(Role::Src);
        const program::BufferKind kind = program_->buffers[src.buffer].kind;
        return src.space == Space::Hbm && !dst.indirect && !src.indirect &&
               !is_written[src.buffer] &&
               (kind == program::BufferKind::Input || kind == program::BufferKind::Constant);
    }

    /// By site: who touches it, of those whose loads may be moved.
    void gather(const Items& items,
                Route& route,
                bool is_in_order,
                std::vector<std::vector<Touch>>& touches) const {
        for (std::size_t i = 0; i < items.size(); ++i) {
            route.push_back(i);
            if (items[i].is_loop()) {
                const bool is_kept = program_->loops[items[i].index].is_in_order;
                gather(items[i].body, route, is_in_order || is_kept, touches);
            } else if (items[i].is_alloc()) {
                if (is_loadable_[items[i].index]) {
                    touches[items[i].index].push_back({.route = route, .is_in_order = is_in_order});
                }
            } else {
                const auto& operands = template_of(items[i].index).operands;
                for (std::size_t k = 0; k < operands.size(); ++k) {
                    if (is_loadable_[operands[k].buffer]) {
                        touches[operands[k].buffer].push_back({.route = route,
                                                               .run = items[i].index,
                                                               .operand = k,
                                                               .reads = !operands[k].writes(),
                                                               .is_in_order = is_in_order});
                    }
                }
            }
            route.pop_back();
        }
    }

    [[nodiscard]] std::optional<Candidate> candidate(std::uint32_t site,
                                                     const std::vector<Touch>& touches) const {
        const auto reader = std::ranges::find(touches, true, &Touch::reads);
        const auto loader = std::ranges::find(touches, false, &Touch::reads);
        if (reader == touches.end() || loader == touches.end() ||
            std::ranges::any_of(touches, &Touch::is_in_order)) {
            return std::nullopt;
        }
        const std::size_t depth = common_start(loader->route, reader->route);
        if (depth + 1 >= reader->route.size()) {
            return std::nullopt;  // It is read beside the loads, in no loop.
        }
        Candidate one{.site = site,
                      .loop = {reader->route.begin(),
                               reader->route.begin() + static_cast<std::ptrdiff_t>(depth) + 1}};
        const Items& items = list_of(one.loop);
        for (const Touch& touch : touches) {
            const bool is_right = touch.reads ? common_start(touch.route, one.loop) == depth + 1
                                              : common_start(touch.route, one.loop) == depth &&
                                                    touch.route[depth] < one.loop[depth] &&
                                                    is_of(items[touch.route[depth]], site);
            if (!is_right) {
                return std::nullopt;
            }
        }
        for (std::size_t i = 0; i < one.loop.back(); ++i) {
            one.tiles += is_of(items[i], site) ? executed(items[i], Node::Kind::Alloc) : 0;
        }
        const LoopTree& loop = items[one.loop.back()];
        return one.tiles > 1 && is_kept(loop) && are_numbered(touches, one) ? std::optional{one}
                                                                            : std::nullopt;
    }

    /// Whether the loops around number its tiles, and the one that reads them reads all of them.
    [[nodiscard]] bool are_numbered(const std::vector<Touch>& touches, const Candidate& one) const {
        const auto depth = static_cast<std::int32_t>(one.loop.size()) - 1;
        return std::ranges::all_of(touches, [&](const Touch& touch) {
            if (!touch.run) {
                return true;
            }
            const Affine& number = program_->runs[*touch.run].at[touch.operand].instance;
            const std::vector<std::int64_t> counts = counts_around(touch.route);
            std::int64_t factor = one.tiles;
            for (std::int32_t d = depth - 1; d >= 0; --d) {
                if (coefficient(number, d) != factor) {
                    return false;
                }
                factor *= counts[static_cast<std::size_t>(d)];
            }
            return !touch.reads || coefficient(number, depth) == 0;
        });
    }

    /// Of the loops around what a route leads to.
    [[nodiscard]] std::vector<std::int64_t> counts_around(const Route& route) const {
        std::vector<std::int64_t> counts;
        const Items* items = &tree_;
        for (std::size_t i = 0; i + 1 < route.size(); ++i) {
            const LoopTree& loop = (*items)[route[i]];
            counts.push_back(program_->loops[loop.index].count);
            items = &loop.body;
        }
        return counts;
    }

    /// Whether an item allocates and loads tiles of a site, and does nothing else.
    [[nodiscard]] bool is_of(const LoopTree& item, std::uint32_t site) const {
        if (item.is_loop()) {
            return is_kept(item) && std::ranges::all_of(item.body, [&](const LoopTree& inner) {
                       return is_of(inner, site);
                   });
        }
        return item.is_alloc() ? item.index == site
                               : template_of(item.index).operands.front().buffer == site &&
                                     template_of(item.index).operands.front().writes();
    }

    /// Whether a loop is one that the compiler sees, whose iterations may overlap.
    [[nodiscard]] bool is_kept(const LoopTree& item) const {
        if (!item.is_loop()) {
            return false;
        }
        const program::LoopKind kind = program_->loops[item.index].kind;
        return kind == program::LoopKind::Affine || kind == program::LoopKind::Sequential;
    }

    /// How many runs or allocs an item executes.
    [[nodiscard]] std::int64_t executed(const LoopTree& item, Node::Kind kind) const {
        if (!item.is_loop()) {
            return item.kind == kind ? 1 : 0;
        }
        std::int64_t sum = 0;
        for (const LoopTree& inner : item.body) {
            sum += executed(inner, kind);
        }
        return sum * program_->loops[item.index].count;
    }

    /// The list that holds what a route leads to.
    [[nodiscard]] const Items& list_of(const Route& route) const {
        const Items* items = &tree_;
        for (std::size_t i = 0; i + 1 < route.size(); ++i) {
            items = &(*items)[route[i]].body;
        }
        return *items;
    }

    /// What was at `depth` or deeper is one deeper.
    void move_inside(const LoopTree& item, std::int32_t depth) {
        for (const LoopTree& inner : item.body) {
            move_inside(inner, depth);
        }
        if (!item.is_run()) {
            return;
        }
        for (program::Position& at : changed_->runs[item.index].at) {
            for (Affine* value : {&at.instance, &at.offset, &at.partition}) {
                for (Affine::Term& term : value->terms) {
                    term.depth += term.depth >= depth ? 1 : 0;
                }
            }
        }
    }

    /// Gives every iteration of the loop at `depth` tiles of its own.
    void renumber(const LoopTree& item,
                  const Candidate& one,
                  std::int32_t depth,
                  std::int64_t count) {
        for (const LoopTree& inner : item.body) {
            renumber(inner, one, depth, count);
        }
        if (!item.is_run()) {
            return;
        }
        const auto& operands = template_of(item.index).operands;
        for (std::size_t k = 0; k < operands.size(); ++k) {
            if (operands[k].buffer == one.site) {
                Affine& number = changed_->runs[item.index].at[k].instance;
                for (Affine::Term& term : number.terms) {
                    term.coefficient *= term.depth < depth ? count : 1;
                }
                add_term(number, depth, one.tiles);
            }
        }
    }

    const Program* program_;
    std::optional<Program> changed_;  ///< From the first load on that was moved.
    Items tree_;
    std::vector<bool> is_loadable_;
    std::map<std::uint32_t, std::int64_t> passes_;  ///< As SunkLoads says.
};

}  // namespace

std::optional<SunkLoads> sink_loads(const Program& program,
                                    std::vector<SiteLiveness> lives,
                                    const Fits& fits) {
    Sinking sinking(program);
    std::vector<Candidate> left = sinking.candidates();
    if (left.empty() || fits(lives)) {
        return std::nullopt;
    }
    std::vector<SiteLiveness> least = lives;
    for (const Candidate& one : left) {
        least[one.site].live_peak = 1;
    }
    if (!fits(least)) {
        return std::nullopt;
    }
    while (!left.empty() && !fits(lives)) {
        const auto largest = std::ranges::max_element(left, {}, [&](const Candidate& one) {
            return (lives[one.site].live_peak - 1) * program.buffers[one.site].free_bytes();
        });
        lives[largest->site].live_peak = 1;
        sinking.sink(*largest);
        left = sinking.candidates();
    }
    return sinking.take();
}

}  // namespace trnsim::lowering
