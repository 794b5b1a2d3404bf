// SPDX-License-Identifier: Apache-2.0
// Lowered traces to queues.
#include "trnsim/lowering/replay.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/lowering/instructions/stationary.hpp"
#include "trnsim/lowering/tiles/psum_banks.hpp"
#include "trnsim/neuron_core/scalar_engine_timing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trnsim::lowering {

using neuron_core::InstructionSink;
using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using neuron_core::QueuedInstruction;
using neuron_core::QueueId;
using program::Step;

namespace {

std::int64_t capacity_of(const ChipSpec& chip, Space space) {
    switch (space) {
        case Space::Sbuf:
            return chip.neuron_core.sbuf.partition_kib * kKib;
        case Space::Psum:
            return chip.neuron_core.psum.banks * chip.neuron_core.psum.bank_bytes;
        default:
            return chip.hbm.bytes();
    }
}

/// The same with those of its signals that are, or are not, raised once its sources are read.
QueuedInstruction signals_of(QueuedInstruction instruction, bool at_read) {
    const auto end = std::remove_if(
        instruction.signal_list.begin(),
        instruction.signal_list.begin() + instruction.signal_count,
        [at_read](const neuron_core::SemaphoreSignal& each) { return each.at_read != at_read; });
    instruction.signal_count =
        static_cast<std::uint8_t>(std::distance(instruction.signal_list.begin(), end));
    return instruction;
}

}  // namespace

Replay::Replay(const program::Program& program, const ChipSpec& chip)
    : program_(program), chip_(chip), table_(program, chip), cursor_(program) {
    check_semaphores();
    check_rings();
    for (std::uint32_t index = 0; index < program.templates.size(); ++index) {
        uses_[queue(index)] = true;
        std::vector<RegionShape>& shapes = shapes_.emplace_back();
        for (const Operand& operand : program.templates[index].operands) {
            shapes.emplace_back(operand);
        }
    }
    count_signals();
}

void Replay::count_signals() {
    const std::vector<std::int64_t> executions = program_.executions();
    for (std::size_t i = 0; i < executions.size(); ++i) {
        const program::Node& node = program_.nodes[i];
        if (node.kind != program::Node::Kind::Run) {
            continue;
        }
        const program::Run& run = program_.runs[node.index];
        for (const program::SemaphoreSignal& signal : run.signals) {
            races_.add_total(queue(run.instruction), signal.semaphore, signal.add * executions[i]);
        }
    }
}

void Replay::push(InstructionSink& sink, const Step& step, const QueuedInstruction& next) {
    const std::uint32_t index = program_.runs[step.run].instruction;
    const InstructionTemplate& from = program_.templates[index];
    RaceDetector::Entry entry;
    entry.text = fmt::format("{} {}", program_.source_text(from), next.what->name);
    entry.waits.assign(next.waits().begin(), next.waits().end());
    entry.signals.assign(next.signals().begin(), next.signals().end());
    for (std::size_t i = 0; i < from.operands.size(); ++i) {
        const Operand& operand = from.operands[i];
        if (!accesses(*next.what, from, operand)) {
            continue;
        }
        if (operand.indirect) {  // The indices say where, and they are not in the trace.
            continue;
        }
        const Step::At& at = step.at[i];
        entry.accesses.push_back(
            {.region =
                 Region(shapes_[index][i], static_cast<std::int32_t>(at.partition), at.offset),
             .access = operand.access});
        entry.spaces.push_back(operand.space);
    }
    races_.expect(queue(index), std::move(entry));
    sink.append(queue(index)) = next;
}

void Replay::check_semaphores() const {
    const std::int64_t count = chip_.neuron_core.semaphore_file.count;
    const auto check = [&](std::int32_t semaphore, std::uint32_t index) {
        if (semaphore >= count) {
            const InstructionTemplate& from = program_.templates[index];
            throw ProgramError(
                fmt::format("{}: {}: semaphore {}, but {} has semaphores 0 to {}; use one of them",
                            program_.source_text(from),
                            name(from.op),
                            semaphore,
                            chip_.short_name,
                            count - 1));
        }
    };
    for (const program::Run& run : program_.runs) {
        for (const program::SemaphoreWait& wait : run.waits) {
            check(wait.semaphore, run.instruction);
        }
        for (const program::SemaphoreSignal& signal : run.signals) {
            check(signal.semaphore, run.instruction);
        }
    }
}

void Replay::check_rings() const {
    for (const InstructionTemplate& instruction : program_.templates) {
        if (instruction.ring.value_or(0) >= chip_.dma.rings) {
            throw ProgramError(
                fmt::format("{}: {}: DMA ring {}, but {} has rings 0 to {}; use one of them",
                            program_.source_text(instruction),
                            name(instruction.op),
                            *instruction.ring,
                            chip_.short_name,
                            chip_.dma.rings - 1));
        }
    }
}

void Replay::check_addresses(const Step& step, const InstructionTemplate& instruction) const {
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
        const Operand& operand = instruction.operands[i];
        const RegionShape& shape = shapes_[program_.runs[step.run].instruction][i];
        const std::int64_t begin = step.at[i].offset + shape.lowest_byte;
        const std::int64_t end = step.at[i].offset + shape.end_byte;
        if (begin < 0 || end > capacity_of(chip_, operand.space)) {
            throw ProgramError(fmt::format(
                "{}: {}: {} covers bytes {} to {} of {}, which has {} on {}; move it inside",
                program_.source_text(instruction),
                name(instruction.op),
                name(operand.role),
                begin,
                end - 1,
                name(operand.space),
                capacity_of(chip_, operand.space),
                chip_.short_name));
        }
        const PsumSpec& psum = chip_.neuron_core.psum;
        if (is_matmul(instruction.op) && operand.role == Role::Dst &&
            !takes_matmul(psum, begin, end)) {
            throw ProgramError(fmt::format(
                "{}: {}: dst covers bytes {} to {} of psum, across banks of {} bytes; keep "
                "the result of one matmul inside a bank",
                program_.source_text(instruction),
                name(instruction.op),
                begin,
                end - 1,
                psum.bank_bytes));
        }
    }
}

std::uint64_t Replay::psum_banks(const Step& step) const {
    const std::uint32_t index = program_.runs[step.run].instruction;
    const std::vector<Operand>& operands = program_.templates[index].operands;
    std::uint64_t banks = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const RegionShape& shape = shapes_[index][i];
        if (operands[i].space == Space::Psum) {
            banks |= banks_of(chip_.neuron_core.psum,
                              step.at[i].offset + shape.lowest_byte,
                              step.at[i].offset + shape.end_byte);
        }
    }
    return banks;
}

QueueId Replay::queue(std::uint32_t index) const {
    const InstructionTemplate& instruction = program_.templates[index];
    return is_dma(instruction.op) ? queue_of_ring(instruction.ring.value_or(0))
                                  : queue_of(instruction.engines.front());
}

QueuedInstruction Replay::instruction(const Step& step) const {
    const program::Run& run = program_.runs[step.run];
    QueuedInstruction result;
    for (const program::SemaphoreWait& wait : run.waits) {
        const std::int64_t value = program::evaluate(wait.at_least, step.iterations);
        result.wait_list[result.wait_count++] = {
            .semaphore = static_cast<std::uint16_t>(wait.semaphore),
            .at_least = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)) &
                        neuron_core::SemaphoreWait::kMostValue};
    }
    for (const program::SemaphoreSignal& signal : run.signals) {
        result.signal_list[result.signal_count++] = {
            .semaphore = static_cast<std::uint16_t>(signal.semaphore),
            .add = static_cast<std::uint16_t>(signal.add),
            .at_read = signal.at_read};
    }
    return result;
}

bool Replay::produce(InstructionSink& sink) {
    const Step* step = cursor_.next();
    if (step == nullptr) {
        return false;
    }
    ++executed_;
    const std::uint32_t index = program_.runs[step->run].instruction;
    const InstructionTemplate& from = program_.templates[index];
    check_addresses(*step, from);
    QueuedInstruction next = instruction(*step);
    next.psum_banks = psum_banks(*step);
    if (is_dma(from.op)) {
        const auto on_chip = std::ranges::find_if(
            from.operands, [](const Operand& operand) { return operand.space != Space::Hbm; });
        const std::int64_t partition =
            on_chip == from.operands.end()
                ? 0
                : step->at[static_cast<std::size_t>(on_chip - from.operands.begin())].partition;
        next.what = table_.transfer(index,
                                    {.dge = dma::resolve_dge(chip_.neuron_core.dge, from)},
                                    static_cast<std::int32_t>(partition));
    } else if (from.engines.front() == Engine::Tensor && uses_array(from.op)) {
        QueuedInstruction load = next;
        load.what = table_.load_stationary(index);
        load.signal_count = 0;
        push(sink, *step, load);
        next.what = table_.multiply_moving(index);
        next.wait_count = 0;
    } else {
        const Engine engine = from.engines.front();
        next.what = table_.compute(index, engine, table_.groups(index, engine, step->at));
    }
    if (from.engines.front() == Engine::Scalar && neuron_core::is_accumulated(from)) {
        push(sink, *step, signals_of(next, true));
        next = signals_of(next, false);
        next.what = table_.read_accumulator(index);
        next.wait_count = 0;
    }
    push(sink, *step, next);
    return true;
}

}  // namespace trnsim::lowering
