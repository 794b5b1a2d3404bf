// SPDX-License-Identifier: Apache-2.0
// The cost of any instruction on any engine, and whether the chip can run it there at all.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <string>

namespace trnsim::neuron_core {

/// The cost on that engine, by its *_engine_timing.hpp; TensorE at full clock. Of DMA operations
/// see dma_timing.hpp. \pre can_run(chip, engine, instruction), and it is no DMA operation
[[nodiscard]] InstructionCost cost(const ChipSpec& chip,
                                   Engine engine,
                                   const InstructionTemplate& instruction);

/// How long the engine is taken: the cost's interval, with that of the ACTIVATION_READ_ACCUMULATOR
/// that follows on the Scalar Engine. \pre as cost()
[[nodiscard]] Picoseconds occupancy(const ChipSpec& chip,
                                    Engine engine,
                                    const InstructionTemplate& instruction);

/// Whether `engine` of this chip executes (for DMA operations: may trigger) the instruction with
/// these operands, attributes and types. [NKI-ISA] [NKI-ARCH-V2] [NKI-ARCH-V3] [NKI-ARCH-V4]
[[nodiscard]] bool can_run(const ChipSpec& chip,
                           Engine engine,
                           const InstructionTemplate& instruction);

/// Checks sizes, types and features against the chip; `where` begins the message ("kernel.py:52:
/// nc_matmul"). Leaves to the allocator what needs addresses: bank crossing, start partitions.
/// \throws ProgramError for an operation, feature or type that the chip does not have, a tile over
/// its limits, or a list of engines none of which can run it
void check_limits(const ChipSpec& chip,
                  const InstructionTemplate& instruction,
                  const std::string& where);

}  // namespace trnsim::neuron_core
