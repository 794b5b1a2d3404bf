// SPDX-License-Identifier: Apache-2.0
// Where a NeuronCore's instructions come from.
#pragma once

#include "trnsim/lowering/analysis/block_splitting.hpp"
#include "trnsim/lowering/analysis/iteration_merging.hpp"
#include "trnsim/lowering/analysis/repeated_loads.hpp"
#include "trnsim/lowering/analysis/sunk_loads.hpp"
#include "trnsim/lowering/loads/planned_accesses.hpp"
#include "trnsim/lowering/lowering.hpp"
#include "trnsim/lowering/replay.hpp"
#include "trnsim/neuron_core/neuron_core.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace trnsim {

/// A program's lowering, after what the compiler makes of its loops, or the replay of a lowered
/// trace. Program and chip must outlive it.
class CoreSource {
public:
    CoreSource(const program::Program& program,
               const ChipSpec& chip,
               const lowering::Policies& policies)
        : program_(&program), calls_(program.instruction_count) {
        if (program.header.form == program::Form::Program) {
            if (policies.drop_repeated_loads) {
                change(lowering::drop_repeated_loads(take()));
                dropped_loads_ = calls_ - program_->instruction_count;
            }
            if (policies.merge_iterations) {
                change(lowering::IterationMerging(chip.neuron_core).apply(take()));
            }
            if (policies.loads == lowering::LoadTiming::JustInTime) {
                const std::vector<bool> loaded = lowering::loaded_sites(*program_);
                change(lowering::split_blocks(take(), loaded));
            }
            std::vector<lowering::SiteLiveness> lives = lowering::analyse_liveness(*program_);
            if (policies.sink_loads && policies.spilling != lowering::Spilling::Off) {
                if (auto sunk = lowering::sink_loads(*program_, lives, [&](const auto& those) {
                        return lowering::fits_into_sbuf(*program_, those, chip, policies);
                    })) {
                    repeated_loads_ = sunk->program.instruction_count - program_->instruction_count;
                    change(std::move(sunk->program));
                    sunk_ = std::move(sunk->passes);
                    lives = lowering::analyse_liveness(*program_);
                }
            }
            lowering_ =
                std::make_unique<lowering::Lowering>(*program_, chip, policies, std::move(lives));
        } else {
            replay_ = std::make_unique<lowering::Replay>(program, chip);
        }
    }

    /// What the core is given.
    [[nodiscard]] neuron_core::CoreProgram program(timeline::TimelineSink* timeline) {
        if (lowering_) {
            return {.source = *lowering_, .names = lowering_->names(), .timeline = timeline};
        }
        return {.source = *replay_,
                .names = replay_->names(),
                .timeline = timeline,
                .observer = &replay_->observer()};
    }

    [[nodiscard]] const program::Program& trace() const { return *program_; }
    [[nodiscard]] const neuron_core::TemplateNames& names() const {
        return lowering_ ? lowering_->names() : replay_->names();
    }
    /// nisa calls of the program as its author wrote it.
    [[nodiscard]] std::int64_t calls() const { return calls_; }
    /// Executed loads that were left out because an iteration had loaded the same already.
    [[nodiscard]] std::int64_t dropped_loads() const { return dropped_loads_; }
    /// Executed loads beyond the program's because tiles had no room beside a loop.
    [[nodiscard]] std::int64_t repeated_loads() const { return repeated_loads_; }
    /// By site of trace() whose loads moved into a loop: how often each tile is loaded.
    [[nodiscard]] const std::map<std::uint32_t, std::int64_t>& sunk() const { return sunk_; }
    /// nullptr for a lowered trace.
    [[nodiscard]] const lowering::Lowering* lowering() const { return lowering_.get(); }

private:
    /// The program, to be changed: the trace is copied, what was made of it is not.
    [[nodiscard]] program::Program take() {
        return changed_ ? std::move(*changed_) : program::Program(*program_);
    }
    void change(program::Program changed) {
        changed_ = std::move(changed);
        program_ = &*changed_;
    }

    const program::Program* program_;
    std::int64_t calls_;
    std::int64_t dropped_loads_ = 0;
    std::int64_t repeated_loads_ = 0;
    std::map<std::uint32_t, std::int64_t> sunk_;
    std::optional<program::Program> changed_;
    std::unique_ptr<lowering::Lowering> lowering_;
    std::unique_ptr<lowering::Replay> replay_;
};

}  // namespace trnsim
