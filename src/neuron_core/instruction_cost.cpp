// SPDX-License-Identifier: Apache-2.0
// Prints an instruction's cost.
#include "trnsim/neuron_core/instruction_cost.hpp"

namespace trnsim::neuron_core {

std::ostream& operator<<(std::ostream& os, const InstructionCost& cost) {
    return os << "{interval " << cost.interval << ", read " << cost.read << ", done " << cost.done
              << ", streaming " << cost.streaming << (cost.uses_fast_mode ? ", fast mode}" : "}");
}

}  // namespace trnsim::neuron_core
