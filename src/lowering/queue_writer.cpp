// SPDX-License-Identifier: Apache-2.0
// Dependencies to semaphores.
#include "trnsim/lowering/queue_writer.hpp"

#include <bit>

namespace trnsim::lowering {

using neuron_core::InstructionSink;
using neuron_core::QueuedInstruction;
using neuron_core::QueueId;

QueuedInstruction& QueueWriter::begin(InstructionSink& sink,
                                      QueueId queue,
                                      const neuron_core::IssueTemplate& what,
                                      std::uint64_t psum_banks) {
    QueuedInstruction& instruction = sink.append(queue);
    instruction.what = &what;
    instruction.psum_banks = psum_banks;
    return instruction;
}

void QueueWriter::push(InstructionSink& sink,
                       QueueId queue,
                       const neuron_core::IssueTemplate& what,
                       const WaitSet& waits,
                       std::uint64_t psum_banks) {
    QueuedInstruction* instruction = &begin(sink, queue, what, psum_banks);
    KnownWaits& known = known_[queue];
    for (std::uint32_t left = waits.queues(); left != 0; left &= left - 1) {
        const auto producer = static_cast<QueueId>(std::countr_zero(left));
        const std::uint64_t number = waits[producer].end();
        if (number <= known[producer]) {
            continue;
        }
        if (instruction->wait_count == QueuedInstruction::kMaxWaits) {
            instruction->what = table_.wait_only(what);
            instruction = &begin(sink, queue, what, psum_banks);
        }
        instruction->wait_list[instruction->wait_count++] = {
            .semaphore = producer, .at_least = number & neuron_core::SemaphoreWait::kMostValue};
        known.add(producer, number);
    }
    end(queue, *instruction);
}

void QueueWriter::push_triggered(InstructionSink& sink,
                                 QueueId ring,
                                 const neuron_core::IssueTemplate& what,
                                 QueueId triggers) {
    QueuedInstruction& instruction = begin(sink, ring, what, 0);
    instruction.wait_list[0] = {
        .semaphore = static_cast<std::uint16_t>(trigger_semaphore(triggers)),
        .at_least = triggers_[triggers] & neuron_core::SemaphoreWait::kMostValue};
    instruction.wait_count = 1;
    end(ring, instruction);
}

void QueueWriter::end(QueueId queue, QueuedInstruction& instruction) {
    instruction.signal_list[0] = {.semaphore = queue};
    instruction.signal_count = 1;
    if (instruction.what->operation == neuron_core::Operation::Trigger) {
        instruction.signal_list[1] = {
            .semaphore = static_cast<std::uint16_t>(trigger_semaphore(queue)), .at_begin = true};
        instruction.signal_count = 2;
        ++triggers_[queue];
    }
    ++numbers_[queue];
}

}  // namespace trnsim::lowering
