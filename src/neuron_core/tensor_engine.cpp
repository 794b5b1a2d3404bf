// SPDX-License-Identifier: Apache-2.0
// LoadStationary and MultiplyMoving over time.
#include "trnsim/neuron_core/tensor_engine.hpp"

#include "trnsim/neuron_core/tensor_engine_timing.hpp"

#include <algorithm>

namespace trnsim::neuron_core {

TensorEngine::TensorEngine(const sc_core::sc_module_name& name,
                           const TensorEngineSpec& spec,
                           const CoreServices& services)
    : Sequencer(name, queue_of(Engine::Tensor), services), spec_(spec) {}

Picoseconds TensorEngine::earliest(const QueuedInstruction& next) const {
    switch (next.what->operation) {
        case Operation::LoadStationary:
            return std::max(
                {load_free_, array_.of(next.what->pe_blocks).multiply_start, control_free_});
        case Operation::MultiplyMoving: {
            const PeArray::Times tile = array_.of(next.what->pe_blocks);
            return std::max({multiply_free_, tile.multiply_end, tile.weights_ready, control_free_});
        }
        default:
            return control_free_;
    }
}

std::uint64_t TensorEngine::predecessor(const QueuedInstruction& next,
                                        std::uint64_t sequence) const {
    // What follows a control instruction, or the product that took the weights before, stands
    // behind that or behind others that began now.
    const bool is_load = next.what->operation == Operation::LoadStationary;
    if (!is_load && next.what->operation != Operation::MultiplyMoving) {
        return sequence - 1;
    }
    const PeArray::Times tile = array_.of(next.what->pe_blocks);
    if ((is_load ? load_free_ : tile.weights_ready) == now()) {
        return last_load_;  // One behind that of these weights began where that ended: now.
    }
    if (is_load) {
        return sequence - 1;
    }
    if (tile.multiply_end == now()) {
        return tile.multiply;
    }
    return multiply_free_ == now() ? last_multiply_ : sequence - 1;
}

Sequencer::Issue TensorEngine::issue(const QueuedInstruction& next, std::uint64_t sequence) {
    switch (next.what->operation) {
        case Operation::LoadStationary:
            last_load_ = sequence;
            return load_stationary(*next.what);
        case Operation::MultiplyMoving:
            last_multiply_ = sequence;
            return multiply_moving(*next.what, sequence);
        default:
            control_free_ = now() + next.what->cost.interval;
            return {.interval = next.what->cost.interval,
                    .read = next.what->cost.read,
                    .done = next.what->cost.done};
    }
}

Sequencer::Issue TensorEngine::load_stationary(const IssueTemplate& what) {
    const Picoseconds begin = now();
    gate_ = advance(spec_.clock_gate, spec_.clock_ghz, gate_, begin);
    const ClockGateRun run =
        stream(spec_.clock_gate, spec_.clock_ghz, gate_, begin, {.cycles = what.tensor_interval});
    const Picoseconds interval = run.end - begin;
    load_free_ = run.end;
    // Weights of later passes follow while those before are multiplied.
    array_.load(what.pe_blocks, begin + pass_time(interval, what.passes));
    return {.interval = interval, .read = interval, .done = interval};
}

Sequencer::Issue TensorEngine::multiply_moving(const IssueTemplate& what, std::uint64_t sequence) {
    const Picoseconds begin = now();
    const ClockGateRun run = stream(spec_.clock_gate,
                                    spec_.clock_ghz,
                                    gate_,
                                    begin,
                                    {.cycles = what.tensor_interval,
                                     .columns = what.busy_columns,
                                     .row_share = what.row_share});
    const double rate_at_end = rate(spec_.clock_gate, run.state);
    gate_ = run.state;
    const Picoseconds interval = run.end - begin;
    multiply_free_ =
        begin + std::min(interval, to_picoseconds(what.issue_interval, spec_.clock_ghz));
    const Picoseconds last_pass = run.end - pass_time(interval, what.passes);
    array_.multiply(what.pe_blocks, last_pass, run.end, sequence);
    tensor_stats_.cold += Picoseconds{share_of_array(what.pe_blocks, run.cold.value)};
    if (what.is_transpose) {
        tensor_stats_.transpose_macs += what.macs;
        tensor_stats_.weighted_transpose_macs += what.peak_weight * static_cast<double>(what.macs);
    } else {
        tensor_stats_.macs += what.macs;
        tensor_stats_.weighted_macs += what.peak_weight * static_cast<double>(what.macs);
    }
    return {
        .interval = interval, .read = interval, .done = interval + fill_time(spec_, rate_at_end)};
}

}  // namespace trnsim::neuron_core
