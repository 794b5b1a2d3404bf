// SPDX-License-Identifier: Apache-2.0
// The systolic array of a NeuronCore and its issue process.
#pragma once

#include "trnsim/neuron_core/clock_gate_timing.hpp"
#include "trnsim/neuron_core/pe_array.hpp"
#include "trnsim/neuron_core/sequencer.hpp"
#include "trnsim/neuron_core/tensor_engine_spec.hpp"
#include "trnsim/neuron_core/tensor_engine_stats.hpp"

namespace trnsim::neuron_core {

/// The Tensor Engine: 128x128 processing elements that multiply a loaded (stationary) tile with a
/// streamed (moving) one.
///
///     sequencer --> LoadStationary --> [ next weights ] --swap--> [ PE array ] <-- MultiplyMoving
///     --> PSUM
///
/// Models: LoadStationary in the background of the MultiplyMoving before it (one tile ahead),
/// initiation intervals, row and column tiles side by side, array fill, the clock gate in its
/// windows. Does not model: the power limit (D-06). One per NeuronCore.
class TensorEngine : public Sequencer {
public:
    TensorEngine(const sc_core::sc_module_name& name,
                 const TensorEngineSpec& spec,
                 const CoreServices& services);

    [[nodiscard]] const TensorEngineSpec& spec() const { return spec_; }
    [[nodiscard]] const TensorEngineStats& tensor_stats() const { return tensor_stats_; }

private:
    [[nodiscard]] Picoseconds earliest(const QueuedInstruction& next) const override;
    [[nodiscard]] std::uint64_t predecessor(const QueuedInstruction& next,
                                            std::uint64_t sequence) const override;
    Issue issue(const QueuedInstruction& next, std::uint64_t sequence) override;
    Issue load_stationary(const IssueTemplate& what);
    Issue multiply_moving(const IssueTemplate& what, std::uint64_t sequence);

    const TensorEngineSpec spec_;
    ClockGateState gate_;
    PeArray array_;
    Picoseconds load_free_;        ///< LoadStationary path.
    Picoseconds multiply_free_;    ///< Issue of MultiplyMoving, to whatever tile.
    Picoseconds control_free_;     ///< The sequencer itself: registers and waits.
    std::uint64_t last_load_ = 0;  ///< Sequence numbers of the last on each path.
    std::uint64_t last_multiply_ = 0;
    TensorEngineStats tensor_stats_;
};

}  // namespace trnsim::neuron_core
