// SPDX-License-Identifier: Apache-2.0
// What Vector, Scalar, GpSimd and Sync have in common: one instruction at a time through the memory
// ports.
#pragma once

#include "trnsim/neuron_core/psum.hpp"
#include "trnsim/neuron_core/sbuf.hpp"
#include "trnsim/neuron_core/sequencer.hpp"

namespace trnsim::neuron_core {

/// The memories an engine streams through.
struct CoreMemories {
    Sbuf& sbuf;
    Psum& psum;
};

/// An engine that streams one instruction's elements at a time: SBUF or PSUM in, SBUF or PSUM out.
///
///     sequencer --> [ memory ports ] --> busy for the cost's interval --> done
///
/// Models: initiation interval, completion, port exclusions and sharing; the sequencer triggers
/// transfers that hardware describes while the data path still works [NKI-ARCH-V3]. Does not model:
/// overlap of an instruction's first reads with the last writes of the one before beyond those two
/// numbers.
class DataPathEngine : public Sequencer {
public:
    DataPathEngine(const sc_core::sc_module_name& name,
                   Engine engine,
                   const CoreServices& services,
                   const CoreMemories& memories);

protected:
    /// Added to an instruction's cost because of what the engine did before.
    struct StateChange {
        Picoseconds interval{};
        Picoseconds done{};
    };
    [[nodiscard]] virtual StateChange state_change(const IssueTemplate& /*next*/) { return {}; }

private:
    [[nodiscard]] Picoseconds earliest(const QueuedInstruction& next) const override;
    [[nodiscard]] std::uint64_t predecessor(const QueuedInstruction& next,
                                            std::uint64_t sequence) const override;
    Issue issue(const QueuedInstruction& next, std::uint64_t sequence) override;

    const Engine engine_;
    CoreMemories memories_;
    Picoseconds free_;            ///< The data path,
    Picoseconds sequencer_free_;  ///< and what issues to it.
    std::uint64_t last_streamed_ = 0;
};

}  // namespace trnsim::neuron_core
