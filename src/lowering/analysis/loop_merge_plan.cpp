// SPDX-License-Identifier: Apache-2.0
// Factors, dependences and room for merged iterations.
#include "loop_merge_plan.hpp"

#include "affine_terms.hpp"

#include <algorithm>
#include <cstdlib>

namespace trnsim::lowering {

using program::Affine;
using program::Position;
using program::Program;

namespace {

/// Elements per partition of a merged instruction: a PSUM bank of FP32. [TRACES-TRN2]
constexpr std::int64_t kMostElements = 512;
/// Elements per partition up to which instructions around inner loops are merged: those of 2 are,
/// those of 128 are not. [TRACES-TRN2] [ASSUMED]
constexpr std::int64_t kFewElements = 16;
/// Bytes of a merged transfer. [TRACES-TRN2]
constexpr std::int64_t kMostTransferBytes = 512 * kKib;
/// One part in so many of SBUF is for the tiles that live from one part of a loop to another.
/// [ASSUMED]
constexpr std::int64_t kSbufShare = 2;

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
        case Opcode::NcMatmul:
            return true;
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
          accesses_(program, counts, loop, depth),
          core_(core),
          loop_(loop),
          depth_(depth),
          trips_(program.loops[loop.index].count) {}

    std::optional<LoopMergePlan> plan() {
        if (!accesses_.may_be_taken_apart()) {
            return std::nullopt;
        }
        for (most_ = largest_divisor(trips_, kMostElements); most_ > 1;
             most_ = largest_divisor(trips_, most_ - 1)) {
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
    [[nodiscard]] bool is_private(const Operand& operand) const {
        return accesses_.private_sites().contains(operand.buffer);
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
            if (!takes_iterations(instruction, instruction.operands[i], run.at[i]) ||
                !is_apart_from_results(instruction, run, i)) {
                return false;
            }
        }
        return true;
    }

    /// Whether no other iteration writes what this operand accesses: one that lies in the tensor of
    /// a result lies where that does.
    [[nodiscard]] bool is_apart_from_results(const InstructionTemplate& instruction,
                                             const program::Run& run,
                                             std::size_t operand) const {
        for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
            const Operand& result = instruction.operands[i];
            if (result.writes() && result.buffer == instruction.operands[operand].buffer &&
                !is_private(result) &&
                !same_base(run.at[i].offset, run.at[operand].offset, depth_)) {
                return false;
            }
        }
        return true;
    }

    /// Whether an HBM pattern is one of equal rows.
    static bool has_rows(const InstructionTemplate& instruction, const Operand& operand) {
        const std::int64_t rows = rows_of(instruction);
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
        if (is_private(operand)) {
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
                if (is_private(operand)) {
                    plan_.expanded.insert(operand.buffer);
                }
            }
        }
    }

    /// Whether instances stay whole numbers, and tiles find room.
    [[nodiscard]] bool fits() const {
        std::int64_t sbuf = 0;
        std::int64_t banks = 0;
        for (const std::uint32_t buffer : accesses_.private_sites()) {
            const program::Buffer& site = program_.buffers[buffer];
            const std::vector<LoopAccesses::Use>& uses = accesses_.of(buffer);
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
        return kSbufShare * sbuf <= core_.sbuf.usable_partition_kib * kKib &&
               banks <= core_.psum.banks;
    }

    [[nodiscard]] bool divides(const Affine& instance) const {
        return instance.base % plan_.strip == 0 &&
               std::ranges::all_of(instance.terms, [this](const Affine::Term& term) {
                   return term.depth >= depth_ || term.coefficient % plan_.strip == 0;
               });
    }

    /// Whether a tile lives from one part of the loop to another.
    [[nodiscard]] bool crosses(const std::vector<LoopAccesses::Use>& uses) const {
        std::size_t first = uses.front().child;
        std::size_t last = first;
        for (const LoopAccesses::Use& use : uses) {
            first = std::min(first, use.child);
            last = std::max(last, use.child);
        }
        return std::any_of(plan_.merge.begin() + static_cast<std::ptrdiff_t>(first),
                           plan_.merge.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                           [](std::int64_t factor) { return factor > 1; });
    }

    const Program& program_;
    LoopAccesses accesses_;
    const NeuronCoreSpec& core_;
    const LoopTree& loop_;
    std::int32_t depth_;
    std::int64_t trips_;
    std::int64_t most_ = 1;  ///< Iterations that may be merged.
    LoopMergePlan plan_;
};

}  // namespace

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

std::int64_t rows_of(const InstructionTemplate& instruction) {
    std::int64_t rows = 1;
    for (const Operand& operand : instruction.operands) {
        rows = std::max<std::int64_t>(rows, operand.partitions);
    }
    return rows;
}

std::optional<LoopMergePlan> plan_merge(const Program& program,
                                        const BufferCounts& counts,
                                        const NeuronCoreSpec& core,
                                        const LoopTree& loop,
                                        std::int32_t depth) {
    const program::Loop& source = program.loops[loop.index];
    if (source.kind != program::LoopKind::Affine || source.count < 2) {
        return std::nullopt;
    }
    return Planner(program, counts, core, loop, depth).plan();
}

}  // namespace trnsim::lowering
