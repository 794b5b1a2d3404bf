// SPDX-License-Identifier: Apache-2.0
// Where the NeuronCores that run one kernel wait for one another.
#pragma once

#include <systemc>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trnsim::neuron_core {

/// Barriers and exchanges between the cores of a program. Those who meet are named by a bit each;
/// meetings of the same cores on the same channel follow one another. One per program.
class CoreMeeting {
public:
    /// Who meets, and on what: channel 0 is the barrier, k + 1 is pipe k of sendrecv.
    struct Key {
        std::uint32_t cores = 0;
        std::uint32_t channel = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
    };

    /// A core has come. True if all of them have; otherwise `wake` is notified once they have, and
    /// the core asks again. \pre the core is one of those who meet
    [[nodiscard]] bool arrive(int core, const Key& key, sc_core::sc_event& wake);

    /// The cores that have not come, for messages: "core 1", or "core 1 on pipe 0".
    [[nodiscard]] std::string missing(const Key& key) const;

private:
    struct Meeting {
        std::uint32_t arrived = 0;   ///< For the next meeting.
        std::uint32_t released = 0;  ///< From the last one, and have not asked again.
        std::vector<sc_core::sc_event*> waiting;
    };

    std::map<Key, Meeting> meetings_;
};

}  // namespace trnsim::neuron_core
