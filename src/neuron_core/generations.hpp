// SPDX-License-Identifier: Apache-2.0
// Since which NeuronCore generation an operation or a type exists.
#pragma once

#include "trnsim/base/dtype.hpp"
#include "trnsim/isa/opcode.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <string_view>

namespace trnsim::neuron_core {

/// The first generation with the operation. [NKI-ISA]
[[nodiscard]] NeuronCoreVersion first_generation(Opcode op);

/// The first generation whose engines take the type. [NKI-ISA]
[[nodiscard]] NeuronCoreVersion first_generation(Dtype dtype);

/// The chips of that generation and later, for messages: "trn2 and trn3".
[[nodiscard]] std::string_view chips_since(NeuronCoreVersion version);

}  // namespace trnsim::neuron_core
