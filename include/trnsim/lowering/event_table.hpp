// SPDX-License-Identifier: Apache-2.0
// Instructions that others come after because the program says so, not its data.
#pragma once

#include "trnsim/neuron_core/queued_instruction.hpp"

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace trnsim::lowering {

struct PlannedStep;

/// One execution of a run that is an event: those after it wait for its end.
/// NkiInstruction.depends_on lowers to a semaphore wait. [NKI-ISA]
struct Event {
    PlannedStep* step = nullptr;     ///< While it waits in the window;
    neuron_core::QueueId queue = 0;  ///< then where it is,
    std::uint64_t number = 0;        ///< and its number there.
};

/// Events by the numbers that the program gives them. Takes memory for every event executed.
class EventTable {
public:
    /// An execution of the run that is this event; earlier ones are forgotten. Stays where it is.
    [[nodiscard]] Event& add(std::int64_t event, PlannedStep& step) {
        Event& added = events_.emplace_back(Event{.step = &step});
        latest_[event] = &added;
        return added;
    }

    /// The latest execution so far; nullptr if there is none.
    [[nodiscard]] const Event* find(std::int64_t event) const {
        const auto found = latest_.find(event);
        return found == latest_.end() ? nullptr : found->second;
    }

private:
    std::deque<Event> events_;
    std::unordered_map<std::int64_t, Event*> latest_;
};

}  // namespace trnsim::lowering
