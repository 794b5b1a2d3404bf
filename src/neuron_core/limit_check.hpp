// SPDX-License-Identifier: Apache-2.0
// The rules behind check_limits(): each throws the ProgramError of the first thing that does not
// fit.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace trnsim::neuron_core {

/// One instruction under examination, and the wording of what is wrong with it.
class LimitCheck {
public:
    LimitCheck(const ChipSpec& chip,
               const InstructionTemplate& instruction,
               const std::string& where)
        : chip_(chip), instruction_(instruction), where_(where) {}

    void generation() const;    ///< Operation and types exist on the chip.
    void memories() const;      ///< Operands are where the operation can reach them, and fit.
    void matmul() const;        ///< Tile sizes, types and features of the PE array.
    void element_wise() const;  ///< Sizes that single operations ask for.
    void dma() const;           ///< Descriptor generation and element counts.
    void engines() const;       ///< One of the allowed engines can run it.

private:
    [[noreturn]] void fail(const std::string& what) const;
    /// `what()` makes the text, for which there is mostly no need.
    template <typename F>
    void require(bool condition, F&& what) const {
        if (!condition) {
            fail(what());
        }
    }
    /// `feature()` names what chips have since that generation.
    template <typename F>
    void require_generation(NeuronCoreVersion first, F&& feature) const {
        require(chip_.neuron_core_version >= first, [&] { return not_before(first, feature()); });
    }
    [[nodiscard]] std::string not_before(NeuronCoreVersion first, const std::string& feature) const;
    void operand_fits(const Operand& operand) const;
    void matmul_types() const;
    void sparse_matmul() const;
    void matmul_tile() const;
    void matmul_result() const;

    const ChipSpec& chip_;
    const InstructionTemplate& instruction_;
    const std::string& where_;
};

}  // namespace trnsim::neuron_core
