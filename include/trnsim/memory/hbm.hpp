// SPDX-License-Identifier: Apache-2.0
// The HBM of a device, shared by the DMA engines of its NeuronCores.
#pragma once

#include "trnsim/memory/hbm_spec.hpp"

#include <systemc>

#include <cstddef>
#include <vector>

namespace trnsim::memory {

/// Device memory as stacks with a sustained rate each.
///
///     DMA engines of the cores on a stack --> [ demand / sustained rate ] --> share granted to all
///     of them
///
/// Models: stacks, peak from pins and width, refresh, turnaround, page efficiency by piece size,
/// fair sharing between cores. Does not model: single banks and commands, interleaving conflicts,
/// the penalty of the other die's stacks (D-10). One per device.
class Hbm : public sc_core::sc_module {
public:
    using Client = std::size_t;

    Hbm(const sc_core::sc_module_name& name, const HbmSpec& spec);

    /// Adds a requester on a stack; `changed` is notified when its grant changes through others.
    Client add_client(int stack, sc_core::sc_event& changed);

    /// States what a client would move, in bytes per picosecond of a stack with full pages: bytes
    /// in short pieces count more. Returns the share of it, at most 1, that the stack grants.
    double demand(Client client, double bytes_per_ps);

    /// Whether other requesters are on its stack.
    [[nodiscard]] bool is_shared(Client client) const { return shared_[clients_[client].stack]; }

    /// The share granted now.
    [[nodiscard]] double grant(Client client) const;

    [[nodiscard]] const HbmSpec& spec() const { return spec_; }

private:
    struct Requester {
        std::size_t stack = 0;
        double demand = 0.0;
        sc_core::sc_event* changed = nullptr;
    };

    const HbmSpec spec_;
    double sustained_bytes_per_ps_ = 0.0;  ///< Of one stack, full pages.
    std::vector<Requester> clients_;
    std::vector<double> stack_demand_;
    std::vector<bool> shared_;  ///< By stack.
};

}  // namespace trnsim::memory
