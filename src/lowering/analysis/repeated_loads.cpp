// SPDX-License-Identifier: Apache-2.0
// Loads of tiles that only they write, and who reads these tiles.
#include "trnsim/lowering/analysis/repeated_loads.hpp"

#include "affine_terms.hpp"
#include "loop_tree.hpp"
#include "trnsim/lowering/instructions/instruction_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace trnsim::lowering {

using program::Affine;
using program::Node;
using program::Position;
using program::Program;
using program::Run;

namespace {

using Path = std::vector<std::uint32_t>;  ///< Nodes of the loops around a run, outermost first.

/// An operand of an executed run.
struct Use {
    std::uint32_t run = 0;
    std::size_t operand = 0;
    std::size_t place = 0;  ///< Of the run in program order.
};

/// A load of whole columns into a tile that nothing else writes.
struct Load {
    std::uint32_t run = 0;
    std::uint32_t site = 0;
    std::uint32_t source = 0;
    std::int64_t row_stride = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    Path path{};
};

/// Where the tile of one load lies in that of another.
struct Place {
    const Load* load = nullptr;
    Affine columns{};  ///< From the first column of the other.
};

/// value + factor x other.
Affine sum(Affine value, const Affine& other, std::int64_t factor) {
    value.base += factor * other.base;
    for (const Affine::Term& term : other.terms) {
        add_term(value, term.depth, factor * term.coefficient);
    }
    return value;
}

/// From the start of a row in HBM to the next one, if an operand there is that many rows of
/// columns.
std::optional<std::int64_t> row_stride(const AccessPattern& pattern,
                                       std::int64_t rows,
                                       std::int64_t columns) {
    if (pattern.elements() != rows * columns) {
        return std::nullopt;
    }
    if (pattern.is_contiguous()) {
        return columns;
    }
    const auto dims = pattern.dims();
    return dims.size() == 2 && dims[0].count == rows && dims[1] == PatternDim{1, columns}
               ? std::optional{dims[0].stride}
               : std::nullopt;
}

/// Whether a tensor is there before the program runs; scratch may be what another core writes.
bool is_given(const program::Buffer& tensor) {
    return tensor.kind == program::BufferKind::Input ||
           tensor.kind == program::BufferKind::Constant;
}

bool begins_with(const Path& path, const Path& start) {
    return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
}

class Finder {
public:
    explicit Finder(Program program)
        : program_(std::move(program)),
          is_written_(written_buffers(program_)),
          uses_(program_.buffers.size()),
          writes_(program_.buffers.size()) {
        Path path;
        for (std::uint32_t i = 0; i < program_.nodes.size(); ++i) {
            const Node& node = program_.nodes[i];
            if (node.kind == Node::Kind::Loop) {
                path.push_back(i);
            } else if (node.kind == Node::Kind::End) {
                path.pop_back();
            } else if (node.kind == Node::Kind::Run) {
                const auto& operands = template_of(node.index).operands;
                for (std::size_t k = 0; k < operands.size(); ++k) {
                    uses_[operands[k].buffer].push_back({node.index, k, order_.size()});
                    writes_[operands[k].buffer] += operands[k].writes() ? 1 : 0;
                }
                order_.emplace_back(node.index, path);
            }
        }
    }

    Program run() {
        std::vector<Load> kept;
        std::vector<bool> is_gone(program_.runs.size());
        std::vector<bool> is_unused(program_.buffers.size());
        for (const auto& [run, path] : order_) {
            const std::optional<Load> load = load_of(run, path);
            if (!load) {
                continue;
            }
            if (const std::optional<Place> place = place_in(kept, *load);
                place && is_read_where_loaded(*load)) {
                read_instead(*load, *place);
                is_gone[run] = true;
                is_unused[load->site] = true;
            } else {
                kept.push_back(*load);
            }
        }
        if (std::ranges::find(is_gone, true) != is_gone.end()) {
            leave_out(is_gone, is_unused);
        }
        return std::move(program_);
    }

private:
    [[nodiscard]] const InstructionTemplate& template_of(std::uint32_t run) const {
        return program_.templates[program_.runs[run].instruction];
    }

    /// A run as a load, if it is one.
    [[nodiscard]] std::optional<Load> load_of(std::uint32_t run, const Path& path) const {
        const InstructionTemplate& instruction = template_of(run);
        if (instruction.op != Opcode::DmaCopy || instruction.operands.size() != 2 ||
            program_.runs[run].has_edges()) {
            return std::nullopt;
        }
        const Operand& dst = instruction.at(Role::Dst);
        const Operand& src = instruction.at(Role::Src);
        const program::Buffer& site = program_.buffers[dst.buffer];
        const std::optional<std::int64_t> stride =
            row_stride(src.pattern, dst.partitions, dst.elements());
        if (dst.space != Space::Sbuf || src.space != Space::Hbm || site.address || dst.indirect ||
            src.indirect || is_written_[src.buffer] || !is_given(program_.buffers[src.buffer]) ||
            src.dtype != dst.dtype || dst.dtype != site.dtype ||
            src.dtype != program_.buffers[src.buffer].dtype || !stride ||
            !dst.pattern.is_contiguous() || writes_[dst.buffer] != 1) {
            return std::nullopt;
        }
        return Load{.run = run,
                    .site = dst.buffer,
                    .source = src.buffer,
                    .row_stride = *stride,
                    .rows = dst.partitions,
                    .columns = dst.elements(),
                    .path = path};
    }

    [[nodiscard]] const Position& dst_of(const Load& load) const {
        return program_.runs[load.run].at[index_of(load, Role::Dst)];
    }

    [[nodiscard]] const Position& src_of(const Load& load) const {
        return program_.runs[load.run].at[index_of(load, Role::Src)];
    }

    [[nodiscard]] std::size_t index_of(const Load& load, Role role) const {
        const auto& operands = template_of(load.run).operands;
        return static_cast<std::size_t>(std::ranges::find(operands, role, &Operand::role) -
                                        operands.begin());
    }

    /// The load whose tile holds all that another one would bring.
    [[nodiscard]] std::optional<Place> place_in(const std::vector<Load>& loads,
                                                const Load& load) const {
        const program::Buffer& site = program_.buffers[load.site];
        if (load.rows != site.partitions() || load.columns != site.free_elements()) {
            return std::nullopt;
        }
        for (const Load& first : loads) {
            if (first.source != load.source || first.row_stride != load.row_stride ||
                first.rows != load.rows || first.site == load.site ||
                !begins_with(load.path, first.path) ||
                dst_of(first).partition != dst_of(load).partition) {
                continue;
            }
            Affine columns = sum(src_of(load).offset, src_of(first).offset, -1);
            if (stays_inside(columns, first, load)) {
                return Place{.load = &first, .columns = std::move(columns)};
            }
        }
        return std::nullopt;
    }

    /// Whether all columns of a load are columns of the first one, in each of its iterations.
    [[nodiscard]] bool stays_inside(const Affine& columns,
                                    const Load& first,
                                    const Load& load) const {
        std::int64_t low = columns.base;
        std::int64_t high = columns.base + load.columns;
        for (const Affine::Term& term : columns.terms) {
            const auto depth = static_cast<std::size_t>(term.depth);
            if (depth < first.path.size()) {
                return false;
            }
            const Node& loop = program_.nodes[load.path[depth]];
            const std::int64_t most = term.coefficient * (program_.loops[loop.index].count - 1);
            low += std::min<std::int64_t>(most, 0);
            high += std::max<std::int64_t>(most, 0);
        }
        return low >= 0 && high <= first.columns;
    }

    /// Whether all readers of its tile are in the iteration that loads it, and take it as it is.
    [[nodiscard]] bool is_read_where_loaded(const Load& load) const {
        return std::ranges::all_of(uses_[load.site], [&](const Use& use) {
            const Operand& operand = template_of(use.run).operands[use.operand];
            return use.run == load.run ||
                   (begins_with(order_[use.place].second, load.path) && !operand.indirect &&
                    operand.dtype == program_.buffers[load.site].dtype &&
                    program_.runs[use.run].at[use.operand].instance == dst_of(load).instance);
        });
    }

    /// Lets the readers of a tile read that of another load.
    void read_instead(const Load& load, const Place& place) {
        const Position from = dst_of(load);
        const Position to = dst_of(*place.load);
        for (const Use& use : uses_[load.site]) {
            if (use.run == load.run) {
                continue;
            }
            Run& run = program_.runs[use.run];
            InstructionTemplate instruction = program_.templates[run.instruction];
            instruction.operands[use.operand].buffer = place.load->site;
            program_.templates.push_back(std::move(instruction));
            run.instruction = static_cast<std::uint32_t>(program_.templates.size() - 1);
            Position& at = run.at[use.operand];
            at.instance = to.instance;
            at.offset = sum(sum(sum(at.offset, from.offset, -1), to.offset, 1), place.columns, 1);
            uses_[place.load->site].push_back(use);
        }
        uses_[load.site].clear();
    }

    void leave_out(const std::vector<bool>& is_gone, const std::vector<bool>& is_unused) {
        const std::vector<std::int64_t> executions = program_.executions();
        for (std::size_t i = 0; i < executions.size(); ++i) {
            const Node& node = program_.nodes[i];
            if (node.kind == Node::Kind::Run && is_gone[node.index]) {
                program_.instruction_count -= executions[i];
            }
        }
        std::vector<LoopTree> tree = to_tree(program_.nodes);
        prune(tree, is_gone, is_unused);
        program_.nodes = to_nodes(tree);
    }

    static void prune(std::vector<LoopTree>& items,
                      const std::vector<bool>& is_gone,
                      const std::vector<bool>& is_unused) {
        for (LoopTree& item : items) {
            prune(item.body, is_gone, is_unused);
        }
        std::erase_if(items, [&](const LoopTree& item) {
            return item.is_loop()    ? item.body.empty()
                   : item.is_alloc() ? is_unused[item.index]
                                     : is_gone[item.index];
        });
    }

    Program program_;
    const std::vector<bool> is_written_;
    std::vector<std::vector<Use>> uses_;                 ///< By buffer,
    std::vector<std::int64_t> writes_;                   ///< and how many of them write.
    std::vector<std::pair<std::uint32_t, Path>> order_;  ///< Runs in program order.
};

}  // namespace

Program drop_repeated_loads(Program program) {
    return Finder(std::move(program)).run();
}

}  // namespace trnsim::lowering
