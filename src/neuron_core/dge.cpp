// SPDX-License-Identifier: Apache-2.0
// Occupancy of the descriptor generators.
#include "trnsim/neuron_core/dge.hpp"

#include <algorithm>
#include <cstddef>

namespace trnsim::neuron_core {

Dge::Dge(const sc_core::sc_module_name& name, const DgeSpec& spec)
    : sc_module(name),
      hardware_free_(static_cast<std::size_t>(spec.hardware.blocks)),
      software_free_(static_cast<std::size_t>(spec.software.blocks)) {}

const std::vector<Picoseconds>& Dge::generators(DgeMode mode) const {
    switch (mode) {
        case DgeMode::Hardware:
            return hardware_free_;
        case DgeMode::Software:
            return software_free_;
        default:
            return static_free_;
    }
}

Picoseconds Dge::earliest(DgeMode mode) const {
    const std::vector<Picoseconds>& free = generators(mode);
    return free.empty() ? Picoseconds{} : *std::ranges::min_element(free);
}

void Dge::generate(DgeMode mode, const dma::DgeCost& cost, Picoseconds now) {
    if (mode == DgeMode::Hardware) {
        *std::ranges::min_element(hardware_free_) = now + cost.generator;
    } else if (mode == DgeMode::Software) {
        *std::ranges::min_element(software_free_) = now + cost.generator;
    }
}

}  // namespace trnsim::neuron_core
