// SPDX-License-Identifier: Apache-2.0
// Executes programs on formulas.
#include "symbolic_values.hpp"

#include "trnsim/program/cursor.hpp"

#include <algorithm>
#include <vector>

namespace trnsim::test {
namespace {

using program::Step;

/// Buffer, instance, partition, element.
using Place = std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::int64_t>;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    constexpr std::uint64_t kPrime = 1099511628211U;
    return (hash ^ (value + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U))) * kPrime;
}

/// The elements of one pattern, relative to its base.
std::vector<std::int64_t> offsets(const AccessPattern& pattern) {
    std::vector<std::int64_t> result{0};
    for (const PatternDim& dim : pattern.dims()) {
        std::vector<std::int64_t> next;
        for (const std::int64_t base : result) {
            for (std::int64_t i = 0; i < dim.count; ++i) {
                next.push_back(base + i * dim.stride);
            }
        }
        result = std::move(next);
    }
    return result;
}

class Machine {
public:
    explicit Machine(const program::Program& program) : program_(program) {}

    void run() {
        program::Cursor cursor(program_);
        while (const Step* step = cursor.next()) {
            if (!step->is_alloc) {
                execute(*step);
            }
        }
    }

    [[nodiscard]] const std::map<Place, std::uint64_t>& cells() const { return cells_; }

private:
    static std::vector<Place> places(const Operand& operand, const Step::At& at) {
        std::vector<Place> result;
        for (std::int64_t p = 0; p < operand.partitions; ++p) {
            for (const std::int64_t offset : offsets(operand.pattern)) {
                result.emplace_back(
                    operand.buffer, at.instance, at.partition + p, at.offset + offset);
            }
        }
        return result;
    }

    [[nodiscard]] std::uint64_t value(const Place& place) const {
        const auto found = cells_.find(place);
        if (found != cells_.end()) {
            return found->second;
        }
        // What nobody wrote differs from place to place in HBM; on chip it is one and the same.
        const auto& [buffer, instance, partition, element] = place;
        return program_.buffers[buffer].space == Space::Hbm
                   ? mix(mix(buffer, static_cast<std::uint64_t>(instance)),
                         static_cast<std::uint64_t>(element))
                   : 0;
    }

    void execute(const Step& step) {
        const program::Run& run = program_.runs[step.run];
        const InstructionTemplate& instruction = program_.templates[run.instruction];
        const bool is_matmul = instruction.op == Opcode::NcMatmul;
        std::vector<std::vector<std::uint64_t>> inputs;
        for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
            if (instruction.operands[i].reads() ||
                instruction.operands[i].access == Access::Accumulate) {
                inputs.push_back(values(instruction.operands[i], step.at[i], is_matmul));
            }
        }
        for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
            const Operand& operand = instruction.operands[i];
            if (operand.writes()) {
                write(instruction, places(operand, step.at[i]), inputs, operand);
            }
        }
    }

    /// Of a matmul's inputs one value per column.
    [[nodiscard]] std::vector<std::uint64_t> values(const Operand& operand,
                                                    const Step::At& at,
                                                    bool is_matmul) const {
        std::vector<std::uint64_t> result;
        for (const Place& place : places(operand, at)) {
            result.push_back(value(place));
        }
        if (is_matmul && !operand.writes()) {
            const auto columns = static_cast<std::size_t>(operand.elements());
            for (std::size_t i = columns; i < result.size(); ++i) {
                result[i % columns] = mix(result[i % columns], result[i]);
            }
            result.resize(columns);
        }
        return result;
    }

    void write(const InstructionTemplate& instruction,
               const std::vector<Place>& to,
               const std::vector<std::vector<std::uint64_t>>& inputs,
               const Operand& dst) {
        const bool is_matmul = instruction.op == Opcode::NcMatmul;
        const auto row = static_cast<std::size_t>(std::max<std::int64_t>(1, dst.elements()));
        std::vector<std::uint64_t> results;
        for (std::size_t k = 0; k < to.size(); ++k) {
            std::uint64_t hash =
                mix(static_cast<std::uint64_t>(instruction.op),
                    instruction.source.empty() ? 0 : instruction.source.front().line);
            for (const std::vector<std::uint64_t>& input : inputs) {
                if (is_matmul && input.size() < to.size()) {
                    const bool is_moving = input.size() == row;
                    hash = mix(hash, input[is_moving ? k % row : k / row % input.size()]);
                } else if (input.size() >= to.size()) {
                    const std::size_t share = input.size() / to.size();
                    for (std::size_t i = 0; i < share; ++i) {
                        hash = mix(hash, input[k * share + i]);
                    }
                } else {
                    hash = mix(hash, input[k * input.size() / to.size()]);
                }
            }
            results.push_back(hash);
        }
        for (std::size_t k = 0; k < to.size(); ++k) {
            cells_[to[k]] = results[k];
        }
    }

    const program::Program& program_;
    std::map<Place, std::uint64_t> cells_;
};

}  // namespace

std::map<HbmPlace, std::uint64_t> symbolic_values(const program::Program& program) {
    Machine machine(program);
    machine.run();
    std::map<HbmPlace, std::uint64_t> result;
    for (const auto& [place, formula] : machine.cells()) {
        const auto& [buffer, instance, partition, element] = place;
        if (program.buffers[buffer].space == Space::Hbm) {
            result[{buffer, instance, element}] = formula;
        }
    }
    return result;
}

}  // namespace trnsim::test
