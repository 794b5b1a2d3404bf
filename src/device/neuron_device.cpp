// SPDX-License-Identifier: Apache-2.0
// Wiring of a device.
#include "trnsim/device/neuron_device.hpp"

namespace trnsim::device {

NeuronDevice::NeuronDevice(const sc_core::sc_module_name& name,
                           const ChipSpec& chip,
                           const neuron_core::CoreProgram& program)
    : sc_module(name), hbm_("hbm", chip.hbm), neuron_core_("neuron_core", chip, hbm_, program) {}

}  // namespace trnsim::device
