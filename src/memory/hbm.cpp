// SPDX-License-Identifier: Apache-2.0
// Sharing of HBM stacks.
#include "trnsim/memory/hbm.hpp"

#include "trnsim/memory/hbm_timing.hpp"

#include <algorithm>

namespace trnsim::memory {

Hbm::Hbm(const sc_core::sc_module_name& name, const HbmSpec& spec)
    : sc_module(name),
      spec_(spec),
      sustained_bytes_per_ps_(stack_sustained(spec, Bytes{spec.page_bytes}).value * 1e-3),
      stack_demand_(static_cast<std::size_t>(spec.stacks)),
      shared_(static_cast<std::size_t>(spec.stacks)) {}

Hbm::Client Hbm::add_client(int stack, sc_core::sc_event& changed) {
    const auto place = static_cast<std::size_t>(stack);
    shared_[place] = std::ranges::find(clients_, place, &Requester::stack) != clients_.end();
    clients_.push_back({.stack = place, .changed = &changed});
    return clients_.size() - 1;
}

double Hbm::grant(Client client) const {
    const double demand = stack_demand_[clients_[client].stack];
    return demand <= sustained_bytes_per_ps_ ? 1.0 : sustained_bytes_per_ps_ / demand;
}

double Hbm::demand(Client client, double bytes_per_ps) {
    Requester& requester = clients_[client];
    if (requester.demand == bytes_per_ps) {
        return grant(client);
    }
    const double before = grant(client);
    requester.demand = bytes_per_ps;
    double sum = 0.0;
    for (const Requester& each : clients_) {
        sum += each.stack == requester.stack ? each.demand : 0.0;
    }
    stack_demand_[requester.stack] = sum;
    const double after = grant(client);
    if (after != before) {
        for (Requester& each : clients_) {
            if (&each != &requester && each.stack == requester.stack && each.demand > 0.0) {
                each.changed->notify(sc_core::SC_ZERO_TIME);
            }
        }
    }
    return after;
}

}  // namespace trnsim::memory
