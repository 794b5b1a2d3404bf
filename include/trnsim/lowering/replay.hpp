// SPDX-License-Identifier: Apache-2.0
// Plays a lowered trace as it is: its queues, its addresses, its semaphores.
#pragma once

#include "trnsim/lowering/checks/race_detector.hpp"
#include "trnsim/lowering/instructions/issue_table.hpp"
#include "trnsim/neuron_core/instruction_source.hpp"
#include "trnsim/program/cursor.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace trnsim::lowering {

/// Instruction source for traces of form "lowered". A matmul becomes LoadStationary, which takes
/// the run's waits, and MultiplyMoving, which raises its semaphores.
class Replay : public neuron_core::InstructionSource {
public:
    /// The program and the chip must outlive it.
    /// \throws ProgramError if the chip does not take an instruction, or a semaphore that it does
    /// not have
    Replay(const program::Program& program, const ChipSpec& chip);

    bool produce(neuron_core::InstructionSink& sink) override;
    [[nodiscard]] bool uses(neuron_core::QueueId queue) const override { return uses_[queue]; }

    [[nodiscard]] const neuron_core::TemplateNames& names() const { return table_; }
    [[nodiscard]] std::int64_t executed() const { return executed_; }
    [[nodiscard]] neuron_core::ExecutionObserver& observer() { return races_; }

private:
    void push(neuron_core::InstructionSink& sink,
              const program::Step& step,
              const neuron_core::QueuedInstruction& next);
    void count_signals();
    void check_semaphores() const;
    void check_rings() const;
    void check_addresses(const program::Step& step, const InstructionTemplate& instruction) const;
    [[nodiscard]] neuron_core::QueuedInstruction instruction(const program::Step& step) const;
    [[nodiscard]] std::uint64_t psum_banks(const program::Step& step) const;
    [[nodiscard]] neuron_core::QueueId queue(std::uint32_t index) const;

    const program::Program& program_;
    const ChipSpec& chip_;
    IssueTable table_;
    program::Cursor cursor_;
    std::array<bool, neuron_core::kQueues> uses_{};
    std::vector<std::vector<RegionShape>> shapes_;  ///< By template and operand.
    RaceDetector races_;
    std::int64_t executed_ = 0;
};

}  // namespace trnsim::lowering
