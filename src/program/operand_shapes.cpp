// SPDX-License-Identifier: Apache-2.0
// How the element counts of an operation's operands relate. [NKI-ISA]
#include "operand_shapes.hpp"

#include "operation_rules.hpp"

#include <fmt/format.h>

namespace trnsim::program {
namespace {

/// A count of one operand, and what to call it.
struct Count {
    const Operand& operand;
    std::string_view unit;
    std::int64_t value;
};

Count partitions_of(const Operand& operand) {
    return {operand, "partitions", operand.partitions};
}

Count elements_of(const Operand& operand) {
    const bool is_hbm = operand.space == Space::Hbm;
    return {operand, is_hbm ? "elements" : "elements per partition", operand.elements()};
}

Count total_of(const Operand& operand) {
    return {operand, "elements in all", operand.elements() * operand.partitions};
}

class ShapeCheck {
public:
    ShapeCheck(const Place& place, const InstructionTemplate& instruction)
        : place_(place), instruction_(instruction) {}

    void check() const {
        const OperationRule& rule = rule_of(instruction_.op);
        check_rule(rule.shape);
        for (const OperandRule& each : rule.operands.span()) {
            const Operand* operand = instruction_.find(each.role);
            if (each.is_vector && operand != nullptr) {
                equal(elements_of(*operand), 1, "it holds one value per partition");
                equal(partitions_of(*operand), partitions_of(at(Role::Dst)));
            }
        }
    }

private:
    [[nodiscard]] const Operand& at(Role role) const { return instruction_.at(role); }

    void equal(const Count& count, std::int64_t wanted, std::string_view why) const {
        if (count.value != wanted) {
            place_.fail(fmt::format("\"{}\" has {} {}, allowed is {}: {}",
                                    name(count.operand.role),
                                    count.value,
                                    count.unit,
                                    wanted,
                                    why));
        }
    }

    void equal(const Count& count, const Count& other) const {
        if (count.value != other.value) {
            place_.fail(fmt::format(R"("{}" has {} {}, "{}" has {} {}; {} needs as many)",
                                    name(count.operand.role),
                                    count.value,
                                    count.unit,
                                    name(other.operand.role),
                                    other.value,
                                    other.unit,
                                    name(instruction_.op)));
        }
    }

    void multiple(const Count& count, std::int64_t divisor, std::string_view why) const {
        if (count.value % divisor != 0) {
            place_.fail(fmt::format("\"{}\" has {} {}, allowed is a multiple of {}: {}",
                                    name(count.operand.role),
                                    count.value,
                                    count.unit,
                                    divisor,
                                    why));
        }
    }

    void between(const Count& count, std::int64_t lowest, std::int64_t highest) const {
        if (count.value < lowest || count.value > highest) {
            place_.fail(fmt::format("\"{}\" has {} {}, {} takes {} to {}",
                                    name(count.operand.role),
                                    count.value,
                                    count.unit,
                                    name(instruction_.op),
                                    lowest,
                                    highest));
        }
    }

    void check_rule(ShapeRule rule) const {
        switch (rule) {
            case ShapeRule::Free:
                return;
            case ShapeRule::Elementwise:
                return check_elementwise();
            case ShapeRule::Matmul:
                return check_matmul();
            case ShapeRule::Move:
                return check_move();
            case ShapeRule::Shuffle:
                return equal(elements_of(at(Role::Data)), elements_of(at(Role::Dst)));
            case ShapeRule::SingleElement:
                return equal(
                    total_of(instruction_.operands.front()), 1, "the operation moves one value");
            case ShapeRule::Transpose:
                equal(elements_of(at(Role::Dst)), partitions_of(at(Role::Data)));
                return equal(partitions_of(at(Role::Dst)), elements_of(at(Role::Data)));
            case ShapeRule::PartitionReduce:
                equal(partitions_of(at(Role::Dst)), 1, "the partitions are reduced");
                return equal(elements_of(at(Role::Dst)), elements_of(at(Role::Data)));
            default:
                equal(partitions_of(at(Role::Dst)), partitions_of(at(Role::Data)));
                return check_within_partition(rule);
        }
    }

    /// Operations whose dst and data have the same partitions.
    void check_within_partition(ShapeRule rule) const {
        const Count dst = elements_of(at(Role::Dst));
        const Count data = elements_of(at(Role::Data));
        switch (rule) {
            case ShapeRule::Reduce:
                return multiple(data, dst.value, "each element of dst is reduced of as many");
            case ShapeRule::BnStats:
                return equal(dst, 6, "count, mean and variance of even and of odd elements");
            case ShapeRule::BnAggr:
                equal(dst, 2, "mean and variance");
                return multiple(data, 3, "count, mean and variance");
            case ShapeRule::QuantizeMx:
                multiple(data, 4, "four values make one packed element");
                return equal(dst, data.value / 4, "four values make one packed element");
            case ShapeRule::SequenceBounds:
                equal(partitions_of(at(Role::Data)), 1, "sequences lie in one partition");
                return equal(dst, 2 * data.value, "a start and an end for each element");
            case ShapeRule::NonzeroWithCount:
                return equal(dst, data.value + 1, "an index for each element, and the count");
            case ShapeRule::Topk:
                multiple(partitions_of(at(Role::Data)), 16, "a GpSimd core has 16 partitions");
                return equal(dst, instruction_.attributes.k, "\"k\" values are kept");
            case ShapeRule::LocalGather:
                multiple(partitions_of(at(Role::Data)), 16, "a GpSimd core has 16 partitions");
                return equal(partitions_of(at(Role::Index)), partitions_of(at(Role::Data)));
            case ShapeRule::Gather:
                equal(partitions_of(at(Role::Index)), partitions_of(at(Role::Data)));
                return equal(elements_of(at(Role::Index)), dst);
            default:
                return check_eights(rule);
        }
    }

    void check_eights(ShapeRule rule) const {
        constexpr std::int64_t kEight = 8;
        constexpr std::int64_t kMost = 16384;
        const Count data = elements_of(at(Role::Data));
        between(data, kEight, kMost);
        if (rule == ShapeRule::MatchReplace8) {
            equal(elements_of(at(Role::Dst)), data);
        } else {
            equal(elements_of(at(Role::Dst)), kEight, "eight values are found");
        }
        if (rule != ShapeRule::Max8) {
            equal(elements_of(at(Role::Values)), kEight, "eight values are searched");
            equal(partitions_of(at(Role::Values)), partitions_of(at(Role::Data)));
        }
    }

    void check_elementwise() const {
        const Operand& dst = at(Role::Dst);
        for (const OperandRule& each : rule_of(instruction_.op).operands.span()) {
            const Operand* operand = instruction_.find(each.role);
            if (each.is_vector || operand == nullptr) {
                continue;
            }
            equal(partitions_of(*operand), partitions_of(dst));
            if (each.role != Role::OnFalse || operand->elements() != 1) {
                equal(elements_of(*operand), elements_of(dst));
            }
        }
    }

    void check_matmul() const {
        const Operand& stationary = at(Role::Stationary);
        const Operand& moving = at(Role::Moving);
        const Operand& dst = at(Role::Dst);
        equal(partitions_of(moving), partitions_of(stationary));
        if (instruction_.op == Opcode::NcMatmulSparse) {
            return check_sparse_matmul();
        }
        const bool pairs_rows = instruction_.attributes.perf_mode == MatmulPerfMode::DoubleRow;
        const std::int64_t rows = pairs_rows ? 2 : 1;
        if (pairs_rows) {
            multiple(elements_of(stationary), rows, "double_row takes two rows per partition");
            multiple(elements_of(moving), rows, "double_row takes two rows per partition");
        }
        equal(partitions_of(dst),
              stationary.elements() / rows,
              "one partition for each column of the stationary tile");
        equal(elements_of(dst),
              moving.elements() / rows,
              "one element for each column of the moving tile");
    }

    void check_sparse_matmul() const {
        constexpr std::int64_t kTagsPerElement = 4;
        const Operand& stationary = at(Role::Stationary);
        const Operand& moving = at(Role::Moving);
        const Operand& tags = at(Role::Tags);
        const std::int64_t ratio = instruction_.attributes.compress_ratio;
        multiple(elements_of(stationary), kTagsPerElement, "an element of tags packs four of them");
        multiple(elements_of(moving), ratio, "compress_ratio rows meet one of the stationary tile");
        equal(partitions_of(tags), partitions_of(stationary));
        equal(elements_of(tags),
              stationary.elements() / kTagsPerElement,
              "one for every four elements of the stationary tile");
        equal(partitions_of(at(Role::Dst)),
              stationary.elements(),
              "one partition for each column of the stationary tile");
        equal(elements_of(at(Role::Dst)),
              moving.elements() / ratio,
              "one element for each column of the moving tile");
    }

    void check_move() const {
        for (const Operand& operand : instruction_.operands) {
            if (operand.role == Role::Src) {
                equal(total_of(operand), total_of(at(Role::Dst)));
            }
        }
    }

    const Place& place_;
    const InstructionTemplate& instruction_;
};

}  // namespace

void check_operand_shapes(const Place& place, const InstructionTemplate& instruction) {
    ShapeCheck(place, instruction).check();
}

}  // namespace trnsim::program
