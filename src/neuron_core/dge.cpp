// SPDX-License-Identifier: Apache-2.0
// Occupancy of the descriptor generators.
#include "trnsim/neuron_core/dge.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

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

Picoseconds Dge::request(int ring, DgeMode mode, const dma::DgeCost& cost, Picoseconds at) {
    if (generators(mode).empty()) {
        return at;
    }
    enter({.at = at, .ring = ring, .mode = mode, .generator = cost.generator});
    const std::vector<Picoseconds>* free = &generators(mode);
    for (const Request& each : requests_) {
        if (each.mode != mode) {
            continue;
        }
        const auto first = std::ranges::min_element(*free);
        const Picoseconds start = std::max(each.at, *first);
        if (each.ring == ring) {
            return start;
        }
        const auto generator = first - free->begin();
        if (free != &plan_) {
            plan_ = *free;
            free = &plan_;
        }
        plan_[static_cast<std::size_t>(generator)] = start + each.generator;
    }
    return at;
}

void Dge::enter(const Request& request) {
    const auto known = std::ranges::find(requests_, request.ring, &Request::ring);
    if (known != requests_.end()) {
        if (known->at == request.at) {
            return;
        }
        requests_.erase(known);
    }
    const auto place = std::ranges::find_if(requests_, [&](const Request& each) {
        return std::pair{request.at, request.ring} < std::pair{each.at, each.ring};
    });
    requests_.insert(place, request);
}

void Dge::serve(int ring, Picoseconds now) {
    const auto request = std::ranges::find(requests_, ring, &Request::ring);
    if (request != requests_.end()) {
        occupy(request->mode, request->generator, now);
        requests_.erase(request);
    }
}

void Dge::generate(DgeMode mode, const dma::DgeCost& cost, Picoseconds now) {
    occupy(mode, cost.generator, now);
}

void Dge::occupy(DgeMode mode, Picoseconds time, Picoseconds now) {
    if (mode == DgeMode::Hardware) {
        *std::ranges::min_element(hardware_free_) = now + time;
    } else if (mode == DgeMode::Software) {
        *std::ranges::min_element(software_free_) = now + time;
    }
}

}  // namespace trnsim::neuron_core
