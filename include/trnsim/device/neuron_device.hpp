// SPDX-License-Identifier: Apache-2.0
// One chip: its HBM and the NeuronCores in use.
#pragma once

#include "trnsim/memory/hbm.hpp"
#include "trnsim/neuron_core/neuron_core.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <systemc>

namespace trnsim::device {

/// A NeuronDevice.
///
///     neuron_core --> hbm
///
/// Models: one NeuronCore at work, the others idle. Does not model: traffic of other cores,
/// NeuronLink (D-11).
class NeuronDevice : public sc_core::sc_module {
public:
    NeuronDevice(const sc_core::sc_module_name& name,
                 const ChipSpec& chip,
                 const neuron_core::CoreProgram& program);

    [[nodiscard]] neuron_core::NeuronCore& core() { return neuron_core_; }
    [[nodiscard]] const neuron_core::NeuronCore& core() const { return neuron_core_; }

private:
    memory::Hbm hbm_;
    neuron_core::NeuronCore neuron_core_;
};

}  // namespace trnsim::device
