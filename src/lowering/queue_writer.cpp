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
    const auto add_wait = [&](int semaphore, std::uint64_t number) {
        if (instruction->wait_count == QueuedInstruction::kMaxWaits) {
            instruction->what = table_.wait_only(what);
            instruction = &begin(sink, queue, what, psum_banks);
        }
        instruction->wait_list[instruction->wait_count++] = {
            .semaphore = static_cast<std::uint16_t>(semaphore),
            .at_least = number & neuron_core::SemaphoreWait::kMostValue};
    };
    KnownWaits& known = known_[queue];
    for (std::uint32_t left = waits.queues(); left != 0; left &= left - 1) {
        const auto producer = static_cast<QueueId>(std::countr_zero(left));
        const WaitSet::Need need = waits[producer];
        if (need.done > known[producer].done) {
            add_wait(2 * producer, need.done);
            known.add_done(producer, need.done);
        }
        if (need.read > known[producer].read) {
            add_wait(2 * producer + 1, need.read);
            known.add_read(producer, need.read);
        }
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
    const auto done = static_cast<std::uint16_t>(2 * queue);
    instruction.signal_list[0] = {.semaphore = done};
    instruction.signal_list[1] = {.semaphore = static_cast<std::uint16_t>(done + 1),
                                  .at_read = true};
    instruction.signal_count = 2;
    if (instruction.what->operation == neuron_core::Operation::Trigger) {
        instruction.signal_list[2] = {
            .semaphore = static_cast<std::uint16_t>(trigger_semaphore(queue)), .at_begin = true};
        instruction.signal_count = 3;
        ++triggers_[queue];
    }
    ++numbers_[queue];
}

}  // namespace trnsim::lowering
