// SPDX-License-Identifier: Apache-2.0
// A program after lowering, with everything its instructions refer to.
#pragma once

#include "recorded_queues.hpp"
#include "trnsim/lowering/lowering.hpp"
#include "trnsim/spec/chip_config.hpp"

#include <string>
#include <utility>

namespace trnsim::test {

/// The chip as its configuration describes it, by long name.
[[nodiscard]] inline ChipSpec chip_named(const std::string& name) {
    return spec::load_chip(TRNSIM_SOURCE_DIR "/configs/chips/" + name + ".json").spec;
}

/// Lowers a program to its end.
class LoweredProgram {
public:
    explicit LoweredProgram(program::Program program,
                            const lowering::Policies& policies = {},
                            ChipSpec chip = chip_named("trainium2"))
        : program_(std::move(program)),
          chip_(std::move(chip)),
          lowering_(program_, chip_, policies) {
        queues_.drain(lowering_);
    }

    [[nodiscard]] const lowering::Lowering& lowering() const { return lowering_; }
    [[nodiscard]] const RecordedQueues& queues() const { return queues_; }
    [[nodiscard]] auto names() const { return queues_.names(); }
    [[nodiscard]] auto of(neuron_core::QueueId queue) const { return queues_.of(queue); }
    [[nodiscard]] const auto& entries() const { return queues_.entries(); }

private:
    const program::Program program_;
    const ChipSpec chip_;
    lowering::Lowering lowering_;
    RecordedQueues queues_;
};

}  // namespace trnsim::test
