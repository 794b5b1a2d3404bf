// SPDX-License-Identifier: Apache-2.0
// One chip: its HBM and the NeuronCores in use.
#pragma once

#include "trnsim/memory/hbm.hpp"
#include "trnsim/neuron_core/neuron_core.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <systemc>

#include <exception>
#include <memory>
#include <span>
#include <vector>

namespace trnsim::device {

/// A NeuronDevice.
///
///     neuron_core_0 --+
///     neuron_core_1 --+--> hbm: stack 0
///     neuron_core_2 ----->      stack 1 ...
///
/// Models: as many NeuronCores as there are programs, each with SBUF, PSUM, semaphores and DMA
/// engines of its own; neighbours share a stack of HBM. Does not model: access to another core's
/// stack, NeuronLink (D-11). One per simulation.
class NeuronDevice : public sc_core::sc_module {
public:
    /// Core k runs `programs[k]`. \pre no more programs than the chip has cores
    NeuronDevice(const sc_core::sc_module_name& name,
                 const ChipSpec& chip,
                 std::span<const neuron_core::CoreProgram> programs);

    [[nodiscard]] const std::vector<std::unique_ptr<neuron_core::NeuronCore>>& cores() const {
        return cores_;
    }

    /// What a queue threw, if one did; it has stopped the simulation.
    [[nodiscard]] std::exception_ptr fault() const { return fault_; }

private:
    std::exception_ptr fault_;
    memory::Hbm hbm_;
    std::vector<std::unique_ptr<neuron_core::NeuronCore>> cores_;
};

}  // namespace trnsim::device
