// SPDX-License-Identifier: Apache-2.0
// Factors, dependences and room for merged iterations.
#include "loop_merge_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace trnsim::lowering {

using program::Affine;
using program::Position;
using program::Program;

namespace {

/// Elements per partition of a merged instruction: a PSUM bank of FP32. [TRACES-TRN2]
constexpr std::int64_t kMostElements = 512;
/// Elements per partition up to which instructions around inner loops are merged. [TRACES-TRN2]
constexpr std::int64_t kFewElements = 16;
/// Bytes of a merged transfer. [TRACES-TRN2]
constexpr std::int64_t kMostTransferBytes = 512 * kKib;

/// One operand of a run somewhere in the loop.
struct Use {
    std::size_t child = 0;  ///< Of the loop's body.
    bool is_direct = false;
    const Operand* operand = nullptr;
    const Position* at = nullptr;
    std::int64_t low = 0;  ///< Elements from the iteration's base, over the loops inside.
    std::int64_t high = 0;
};

/// Terms of the loops around `depth`.
std::vector<Affine::Term> outer_terms(const Affine& value, std::int32_t depth) {
    std::vector<Affine::Term> terms;
    std::ranges::copy_if(value.terms, std::back_inserter(terms), [depth](const Affine::Term& term) {
        return term.depth < depth;
    });
    return terms;
}

bool has_inner_terms(const Affine& value, std::int32_t depth) {
    return std::ranges::any_of(value.terms,
                               [depth](const Affine::Term& term) { return term.depth > depth; });
}

/// Same but for the loops inside.
bool same_base(const Affine& a, const Affine& b, std::int32_t depth) {
    return a.base == b.base && outer_terms(a, depth) == outer_terms(b, depth) &&
           coefficient(a, depth) == coefficient(b, depth);
}

std::int64_t largest_divisor(std::int64_t of, std::int64_t at_most) {
    for (std::int64_t divisor = std::min(of, at_most); divisor > 1; --divisor) {
        if (of % divisor == 0) {
            return divisor;
        }
    }
    return 1;
}

/// Whether an operation does the same to every element, or row of elements.
bool is_of_elements(const InstructionTemplate& instruction) {
    switch (instruction.op) {
        case Opcode::TensorCopy:
        case Opcode::TensorTensor:
        case Opcode::TensorScalar:
        case Opcode::ScalarTensorTensor:
        case Opcode::TensorReduce:
        case Opcode::Memset:
        case Opcode::Reciprocal:
        case Opcode::Activation:
        case Opcode::DmaCopy:
            return true;
        case Opcode::NcMatmul:
            return !instruction.attributes.is_transpose;
        default:
            return false;
    }
}

class Planner {
public:
    Planner(const Program& program,
            const BufferCounts& counts,
            const NeuronCoreSpec& core,
            const LoopTree& loop,
            std::int32_t depth)
        : program_(program),
          counts_(counts),
          core_(core),
          loop_(loop),
          depth_(depth),
          trips_(program.loops[loop.index].count) {}

    std::optional<LoopMergePlan> plan() {
        gather_all();
        find_private();
        if (!has_only_own_iterations()) {
            return std::nullopt;
        }
        for (most_ = trips_; most_ > 1; most_ = largest_divisor(trips_, most_ - 1)) {
            choose_factors();
            if (plan_.strip == 1) {
                return std::nullopt;
            }
            expand();
            if (fits()) {
                return plan_;
            }
        }
        return std::nullopt;
    }

private:
    void gather_all() {
        for (std::size_t child = 0; child < loop_.body.size(); ++child) {
            inner_counts_.clear();
            gather(loop_.body[child], child, true);
        }
    }

    void gather(const LoopTree& item, std::size_t child, bool is_direct) {
        if (item.is_alloc()) {
            is_odd_ = is_odd_ || counts_.allocs[item.index] != 1;
            if (is_direct) {
                allocated_.insert(item.index);
            }
            return;
        }
        if (item.is_loop()) {
            inner_counts_.push_back(program_.loops[item.index].count);
            for (const LoopTree& inner : item.body) {
                gather(inner, child, false);
            }
            inner_counts_.pop_back();
            return;
        }
        const program::Run& run = program_.runs[item.index];
        const InstructionTemplate& instruction = program_.templates[run.instruction];
        for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
            const Operand& operand = instruction.operands[i];
            Use use{.child = child,
                    .is_direct = is_direct,
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
            is_odd_ = is_odd_ || operand.indirect.has_value() ||
                      program_.buffers[operand.buffer].address.has_value();
            uses_[operand.buffer].push_back(use);
        }
    }

    /// Sites whose tiles live within one iteration, next to one another in memory if need be.
    void find_private() {
        for (const std::uint32_t buffer : allocated_) {
            const auto found = uses_.find(buffer);
            if (found == uses_.end() || counts_.allocs[buffer] != 1 ||
                counts_.uses[buffer] != static_cast<std::int64_t>(found->second.size()) ||
                program_.buffers[buffer].space == Space::Hbm) {
                continue;
            }
            const Affine& first = found->second.front().at->instance;
            const bool is_private = coefficient(first, depth_) == 1 &&
                                    std::ranges::all_of(found->second, [&](const Use& use) {
                                        return same_base(use.at->instance, first, depth_) &&
                                               !has_inner_terms(use.at->instance, depth_) &&
                                               use.operand->dtype == program_.buffers[buffer].dtype;
                                    });
            if (is_private) {
                private_.insert(buffer);
            }
        }
    }

    /// Whether parts of the loop may run one after the other for all iterations: what one part
    /// writes, others access in the same iteration only.
    [[nodiscard]] bool has_only_own_iterations() const {
        if (is_odd_) {
            return false;
        }
        return std::ranges::all_of(uses_, [this](const auto& entry) {
            return private_.contains(entry.first) || is_own(entry.second);
        });
    }

    [[nodiscard]] bool is_own(const std::vector<Use>& uses) const {
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
                   return same_base(use.at->offset, first.at->offset, depth_);
               });
    }

    [[nodiscard]] bool has_loops() const {
        return std::ranges::any_of(loop_.body, [](const LoopTree& item) { return item.is_loop(); });
    }

    /// The widest of the instructions that have room to grow says how many iterations; one that
    /// cannot be merged counts, too.
    void choose_factors() {
        plan_ = {};
        std::int64_t elements = 0;
        for (const LoopTree& item : loop_.body) {
            if (item.is_run() && !is_dma(instruction_of(item).op)) {
                const std::int64_t of_this = width(instruction_of(item));
                elements = std::max(elements, 2 * of_this <= kMostElements ? of_this : 0);
            }
        }
        if (elements == 0) {
            return;
        }
        plan_.strip = largest_divisor(trips_, std::min(most_, kMostElements / elements));
        bool is_of_use = false;
        for (const LoopTree& item : loop_.body) {
            plan_.merge.push_back(can_be_merged(item) ? factor(instruction_of(item)) : 1);
            is_of_use = is_of_use || (plan_.merge.back() > 1 && !is_dma(instruction_of(item).op));
        }
        plan_.strip = is_of_use ? plan_.strip : 1;
    }

    [[nodiscard]] const InstructionTemplate& instruction_of(const LoopTree& item) const {
        return program_.templates[program_.runs[item.index].instruction];
    }

    /// Elements per partition.
    static std::int64_t width(const InstructionTemplate& instruction) {
        std::int64_t elements = 1;
        for (const Operand& operand : instruction.operands) {
            if (!is_broadcast(instruction, operand)) {
                elements = std::max(elements, operand.elements());
            }
        }
        return elements;
    }

    /// How many iterations of the strip one instruction does.
    [[nodiscard]] std::int64_t factor(const InstructionTemplate& instruction) const {
        if (!is_dma(instruction.op)) {
            return plan_.strip * width(instruction) <= kMostElements ? plan_.strip : 1;
        }
        std::int64_t bytes = 1;
        for (const Operand& operand : instruction.operands) {
            bytes = std::max(bytes, operand.total_bytes());
        }
        return largest_divisor(plan_.strip, kMostTransferBytes / bytes);
    }

    [[nodiscard]] bool can_be_merged(const LoopTree& item) const {
        if (!item.is_run() || !is_of_elements(instruction_of(item))) {
            return false;
        }
        const program::Run& run = program_.runs[item.index];
        const InstructionTemplate& instruction = program_.templates[run.instruction];
        if (has_loops() && !is_dma(instruction.op) && width(instruction) > kFewElements) {
            return false;
        }
        for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
            if (!takes_iterations(instruction, instruction.operands[i], run.at[i])) {
                return false;
            }
        }
        return true;
    }

    /// Whether an HBM pattern is one of equal rows.
    static bool has_rows(const InstructionTemplate& instruction, const Operand& operand) {
        std::int64_t rows = 1;
        for (const Operand& other : instruction.operands) {
            rows = std::max<std::int64_t>(rows, other.partitions);
        }
        return rows == 1 ||
               (operand.pattern.rank() > 0 && operand.pattern.dims().front().count % rows == 0);
    }

    [[nodiscard]] bool takes_iterations(const InstructionTemplate& instruction,
                                        const Operand& operand,
                                        const Position& at) const {
        const bool is_same_instance = coefficient(at.instance, depth_) == 0;
        const std::int64_t step = coefficient(at.offset, depth_);
        if (coefficient(at.partition, depth_) != 0 ||
            operand.pattern.rank() + 2 > AccessPattern::kMaxRank ||
            (operand.space == Space::Hbm && !has_rows(instruction, operand))) {
            return false;
        }
        if (is_broadcast(instruction, operand)) {
            return is_same_instance && step == 0;
        }
        if (private_.contains(operand.buffer)) {
            return step == 0 && takes_psum(operand);
        }
        const bool is_apart =
            operand.space == Space::Hbm
                ? step != 0
                : std::abs(step) > operand.pattern.highest() - operand.pattern.lowest();
        return is_same_instance && (is_apart || (!operand.writes() && !is_dma(instruction.op)));
    }

    [[nodiscard]] bool takes_psum(const Operand& operand) const {
        return operand.space != Space::Psum ||
               2 * program_.buffers[operand.buffer].free_bytes() <= core_.psum.bank_bytes;
    }

    /// Tiles of merged instructions lie side by side.
    void expand() {
        for (std::size_t child = 0; child < loop_.body.size(); ++child) {
            if (plan_.merge[child] == 1) {
                continue;
            }
            for (const Operand& operand : instruction_of(loop_.body[child]).operands) {
                if (private_.contains(operand.buffer)) {
                    plan_.expanded.insert(operand.buffer);
                }
            }
        }
    }

    /// Whether instances stay whole numbers, and tiles find room.
    [[nodiscard]] bool fits() const {
        std::int64_t sbuf = 0;
        std::int64_t banks = 0;
        for (const std::uint32_t buffer : private_) {
            const program::Buffer& site = program_.buffers[buffer];
            const std::vector<Use>& uses = uses_.at(buffer);
            const bool is_expanded = plan_.expanded.contains(buffer);
            if (is_expanded && !divides(uses.front().at->instance)) {
                return false;
            }
            const std::int64_t bytes = plan_.strip * site.free_bytes();
            if (is_expanded && site.space == Space::Psum && bytes > core_.psum.bank_bytes) {
                return false;
            }
            if (is_expanded || crosses(uses)) {
                if (site.space == Space::Psum) {
                    banks += is_expanded ? 1 : plan_.strip;
                } else {
                    sbuf += bytes;
                }
            }
        }
        return 2 * sbuf <= core_.sbuf.usable_partition_kib * kKib && banks <= core_.psum.banks;
    }

    [[nodiscard]] bool divides(const Affine& instance) const {
        return instance.base % plan_.strip == 0 &&
               std::ranges::all_of(instance.terms, [this](const Affine::Term& term) {
                   return term.depth >= depth_ || term.coefficient % plan_.strip == 0;
               });
    }

    /// Whether a tile lives from one part of the loop to another.
    [[nodiscard]] bool crosses(const std::vector<Use>& uses) const {
        std::size_t first = uses.front().child;
        std::size_t last = first;
        for (const Use& use : uses) {
            first = std::min(first, use.child);
            last = std::max(last, use.child);
        }
        return std::any_of(plan_.merge.begin() + static_cast<std::ptrdiff_t>(first),
                           plan_.merge.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                           [](std::int64_t factor) { return factor > 1; });
    }

    const Program& program_;
    const BufferCounts& counts_;
    const NeuronCoreSpec& core_;
    const LoopTree& loop_;
    std::int32_t depth_;
    std::int64_t trips_;
    std::int64_t most_ = 1;  ///< Iterations that may be merged.
    std::vector<std::int64_t> inner_counts_;
    std::map<std::uint32_t, std::vector<Use>> uses_;
    std::set<std::uint32_t> allocated_;
    std::set<std::uint32_t> private_;
    bool is_odd_ = false;  ///< Something here whose place is not affine, or fixed.
    LoopMergePlan plan_;
};

}  // namespace

std::int64_t coefficient(const Affine& value, std::int32_t depth) {
    for (const Affine::Term& term : value.terms) {
        if (term.depth == depth) {
            return term.coefficient;
        }
    }
    return 0;
}

bool is_broadcast(const InstructionTemplate& instruction, const Operand& operand) {
    switch (operand.role) {
        case Role::Stationary:
            return true;
        case Role::Operand0:
        case Role::Operand1:
        case Role::Bias:
        case Role::Scale:
            return instruction.op != Opcode::ScalarTensorTensor || operand.elements() == 1;
        default:
            return false;
    }
}

std::optional<LoopMergePlan> plan_merge(const Program& program,
                                        const BufferCounts& counts,
                                        const NeuronCoreSpec& core,
                                        const LoopTree& loop,
                                        std::int32_t depth) {
    const program::Loop& source = program.loops[loop.index];
    if (source.kind != program::LoopKind::Affine || source.is_in_order || source.count < 2) {
        return std::nullopt;
    }
    return Planner(program, counts, core, loop, depth).plan();
}

}  // namespace trnsim::lowering
