// SPDX-License-Identifier: Apache-2.0
// Who makes the instructions of a NeuronCore: the lowering, or a lowered trace.
#pragma once

#include "trnsim/neuron_core/queued_instruction.hpp"

namespace trnsim::neuron_core {

/// Takes instructions in program order, each for one queue.
class InstructionSink {
public:
    InstructionSink() = default;
    InstructionSink(const InstructionSink&) = delete;
    InstructionSink& operator=(const InstructionSink&) = delete;
    virtual ~InstructionSink() = default;
    /// A new instruction at the end of a queue, without waits and signals: to be filled in before
    /// anything else happens. (To copy one that has just been put together would take as long.)
    virtual QueuedInstruction& append(QueueId queue) = 0;
};

/// Produces a program's instructions step by step, so that memory does not depend on its length.
class InstructionSource {
public:
    InstructionSource() = default;
    InstructionSource(const InstructionSource&) = delete;
    InstructionSource& operator=(const InstructionSource&) = delete;
    virtual ~InstructionSource() = default;

    /// Pushes the instructions of the next step of the program. False when the program has ended.
    /// \throws ProgramError if the step cannot be lowered
    virtual bool produce(InstructionSink& sink) = 0;

    /// Whether a queue may still receive instructions.
    [[nodiscard]] virtual bool uses(QueueId queue) const = 0;
};

}  // namespace trnsim::neuron_core
