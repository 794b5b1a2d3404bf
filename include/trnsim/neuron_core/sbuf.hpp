// SPDX-License-Identifier: Apache-2.0
// SBUF as its engines see it: who must keep out, who shares a bus.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/isa/engine.hpp"
#include "trnsim/neuron_core/exclusive_turns.hpp"
#include "trnsim/neuron_core/instruction_cost.hpp"
#include "trnsim/neuron_core/sbuf_spec.hpp"

#include <systemc>

#include <array>

namespace trnsim::neuron_core {

/// The ports of the State Buffer.
///
///     vector, gpsimd --> [ exclusion (v2) | bus shared in fast modes (v3, v4) ] --> SBUF
///
/// Models: VectorE and GpSimd never at the same time on v2, but in turns; on v3 and v4 a
/// fast-mode VectorE instruction and a GpSimd one slow each other to half rate while both run. Does
/// not model: bank conflicts, DMA traffic. The instruction that came first is not stretched after
/// the fact (D-07). One per NeuronCore.
class Sbuf : public sc_core::sc_module {
public:
    Sbuf(const sc_core::sc_module_name& name, const SbufSpec& spec);

    /// Asks when `engine` may begin an access of some length for which it is ready at `since`.
    [[nodiscard]] Picoseconds ask(Engine engine,
                                  Picoseconds since,
                                  Picoseconds length,
                                  Picoseconds now);
    /// It cannot begin before `turn` for another reason.
    void postpone(Engine engine, Picoseconds turn);

    /// Begins an instruction's access now; returns by how much sharing lengthens it: at most by the
    /// time that its elements stream.
    Picoseconds access(Engine engine, Picoseconds now, const InstructionCost& cost);

    [[nodiscard]] const SbufSpec& spec() const { return spec_; }

private:
    struct Port {
        Picoseconds until;
        bool fast_mode = false;
    };
    [[nodiscard]] const Port* rival(Engine engine) const;
    [[nodiscard]] bool takes_turns(Engine engine) const;

    const SbufSpec spec_;
    Port vector_;
    Port gpsimd_;
    ExclusiveTurns turns_;
};

}  // namespace trnsim::neuron_core
