// SPDX-License-Identifier: Apache-2.0
// The cost of any instruction on any engine.
#include "trnsim/neuron_core/instruction_timing.hpp"

#include "trnsim/neuron_core/gpsimd_engine_timing.hpp"
#include "trnsim/neuron_core/scalar_engine_timing.hpp"
#include "trnsim/neuron_core/sync_engine_timing.hpp"
#include "trnsim/neuron_core/tensor_engine_timing.hpp"
#include "trnsim/neuron_core/vector_engine_timing.hpp"

#include <cassert>

namespace trnsim::neuron_core {
namespace {

bool is_control(Opcode op) {
    return op == Opcode::RegisterMove || op == Opcode::RegisterLoad ||
           op == Opcode::RegisterStore || op == Opcode::CoreBarrier;
}

}  // namespace

InstructionCost cost(const ChipSpec& chip, Engine engine, const InstructionTemplate& instruction) {
    const NeuronCoreSpec& core = chip.neuron_core;
    if (is_control(instruction.op)) {
        return sync_engine_cost(core.sync_engine, instruction);
    }
    switch (engine) {
        case Engine::Tensor:
            return multiply_moving_cost(core.tensor_engine, instruction);
        case Engine::Vector:
            return vector_engine_cost(core.vector_engine, core.sbuf, instruction);
        case Engine::Scalar:
            return scalar_engine_cost(core.scalar_engine, core.sbuf, instruction);
        case Engine::Gpsimd:
            return gpsimd_engine_cost(core.gpsimd_engine, instruction);
        default:
            assert(!"the Sync and DMA engines have no data path of their own");
            return {};
    }
}

Picoseconds occupancy(const ChipSpec& chip, Engine engine, const InstructionTemplate& instruction) {
    const Picoseconds own = cost(chip, engine, instruction).interval;
    return engine == Engine::Scalar && is_accumulated(instruction)
               ? own + read_accumulator_cost(chip.neuron_core.scalar_engine).interval
               : own;
}

}  // namespace trnsim::neuron_core
