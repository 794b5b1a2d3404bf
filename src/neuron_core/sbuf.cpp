// SPDX-License-Identifier: Apache-2.0
// SBUF port arbitration.
#include "trnsim/neuron_core/sbuf.hpp"

#include <algorithm>

namespace trnsim::neuron_core {

Sbuf::Sbuf(const sc_core::sc_module_name& name, const SbufSpec& spec)
    : sc_module(name), spec_(spec) {}

const Sbuf::Port* Sbuf::rival(Engine engine) const {
    switch (engine) {
        case Engine::Vector:
            return &gpsimd_;
        case Engine::Gpsimd:
            return &vector_;
        default:
            return nullptr;
    }
}

bool Sbuf::takes_turns(Engine engine) const {
    return spec_.vector_gpsimd_exclusive && rival(engine) != nullptr;
}

Picoseconds Sbuf::ask(Engine engine, Picoseconds since, Picoseconds length, Picoseconds now) {
    return takes_turns(engine) ? turns_.ask(engine, since, length, now) : since;
}

void Sbuf::postpone(Engine engine, Picoseconds turn) {
    if (takes_turns(engine)) {
        turns_.postpone(engine, turn);
    }
}

Picoseconds Sbuf::access(Engine engine, Picoseconds now, const InstructionCost& cost) {
    const Port* other = rival(engine);
    if (other == nullptr) {
        return Picoseconds{};
    }
    Picoseconds extra;
    const bool shares = spec_.fast_modes_share_bus && (cost.uses_fast_mode || other->fast_mode);
    if (shares && other->until > now) {
        extra = std::min(other->until - now, cost.streaming);
    }
    Port& own = engine == Engine::Vector ? vector_ : gpsimd_;
    own = {.until = now + cost.interval + extra, .fast_mode = cost.uses_fast_mode};
    turns_.begin(engine, own.until);
    return extra;
}

}  // namespace trnsim::neuron_core
