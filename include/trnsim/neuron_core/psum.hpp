// SPDX-License-Identifier: Apache-2.0
// PSUM as its readers see it: exclusion and bank conflicts.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/isa/engine.hpp"
#include "trnsim/neuron_core/exclusive_turns.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"

#include <systemc>

#include <array>
#include <cstdint>

namespace trnsim::neuron_core {

/// The ports of the Partial Sum Buffer.
///
///     vector, scalar --> [ exclusion (v2) | one stream per bank (v3, v4) ] --> 8 banks
///
/// Models: VectorE and ScalarE never at the same time on v2, but in turns; on v3 and v4
/// two streams on one bank alternate. Does not model: conflicts with the Tensor Engine's writes,
/// which accumulation groups keep apart. The instruction that came first is not stretched after the
/// fact (D-07). One per NeuronCore.
class Psum : public sc_core::sc_module {
public:
    Psum(const sc_core::sc_module_name& name, const PsumSpec& spec);

    /// Asks when `engine` may begin an access of some length for which it is ready at `since`.
    [[nodiscard]] Picoseconds ask(Engine engine,
                                  Picoseconds since,
                                  Picoseconds length,
                                  Picoseconds now);
    /// It cannot begin before `turn` for another reason.
    void postpone(Engine engine, Picoseconds turn);

    /// Begins an instruction's access to `banks` (a bit each) now; returns by how much sharing
    /// lengthens it: at most by the time that its elements stream.
    Picoseconds access(Engine engine,
                       Picoseconds now,
                       const InstructionCost& cost,
                       std::uint64_t banks);

    [[nodiscard]] const PsumSpec& spec() const { return spec_; }

private:
    struct Port {
        Picoseconds until;
        std::uint64_t banks = 0;
    };
    [[nodiscard]] const Port* rival(Engine engine) const;
    [[nodiscard]] bool takes_turns(Engine engine) const;

    const PsumSpec spec_;
    Port vector_;
    Port scalar_;
    ExclusiveTurns turns_;
};

}  // namespace trnsim::neuron_core
