// SPDX-License-Identifier: Apache-2.0
// Wiring of a device.
#include "trnsim/device/neuron_device.hpp"

#include <fmt/format.h>

namespace trnsim::device {

NeuronDevice::NeuronDevice(const sc_core::sc_module_name& name,
                           const ChipSpec& chip,
                           std::span<const neuron_core::CoreProgram> programs)
    : sc_module(name), hbm_("hbm", chip.hbm) {
    for (const neuron_core::CoreProgram& program : programs) {
        const auto core = static_cast<int>(cores_.size());
        const int stack = core / static_cast<int>(chip.hbm.cores_per_stack);
        const std::string core_name = fmt::format("neuron_core_{}", core);
        cores_.push_back(std::make_unique<neuron_core::NeuronCore>(
            core_name.c_str(), chip, hbm_, stack, program, fault_));
    }
}

}  // namespace trnsim::device
