// SPDX-License-Identifier: Apache-2.0
// PSUM port arbitration.
#include "trnsim/neuron_core/psum.hpp"

#include <algorithm>

namespace trnsim::neuron_core {

Psum::Psum(const sc_core::sc_module_name& name, const PsumSpec& spec)
    : sc_module(name), spec_(spec) {}

const Psum::Port* Psum::rival(Engine engine) const {
    switch (engine) {
        case Engine::Vector:
            return &scalar_;
        case Engine::Scalar:
            return &vector_;
        default:
            return nullptr;
    }
}

bool Psum::takes_turns(Engine engine) const {
    return spec_.vector_scalar_exclusive && rival(engine) != nullptr;
}

Picoseconds Psum::ask(Engine engine, Picoseconds since, Picoseconds length, Picoseconds now) {
    return takes_turns(engine) ? turns_.ask(engine, since, length, now) : since;
}

void Psum::postpone(Engine engine, Picoseconds turn) {
    if (takes_turns(engine)) {
        turns_.postpone(engine, turn);
    }
}

Picoseconds Psum::access(Engine engine,
                         Picoseconds now,
                         const InstructionCost& cost,
                         std::uint64_t banks) {
    const Port* other = rival(engine);
    if (other == nullptr) {
        return Picoseconds{};
    }
    Picoseconds extra;
    if (spec_.same_bank_halves_rate && (other->banks & banks) != 0 && other->until > now) {
        extra = std::min(other->until - now, cost.streaming);
    }
    Port& own = engine == Engine::Vector ? vector_ : scalar_;
    own = {.until = now + cost.interval + extra, .banks = banks};
    turns_.begin(engine, own.until);
    return extra;
}

}  // namespace trnsim::neuron_core
