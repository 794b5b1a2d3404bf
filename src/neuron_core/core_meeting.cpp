// SPDX-License-Identifier: Apache-2.0
// Who has come, and who has not.
#include "trnsim/neuron_core/core_meeting.hpp"

#include <fmt/format.h>

#include <bit>

namespace trnsim::neuron_core {

bool CoreMeeting::arrive(int core, const Key& key, sc_core::sc_event& wake) {
    const std::uint32_t self = std::uint32_t{1} << static_cast<unsigned>(core);
    Meeting& meeting = meetings_[key];
    if ((meeting.released & self) != 0) {
        meeting.released &= ~self;
        return true;
    }
    if ((meeting.arrived & self) == 0) {
        meeting.arrived |= self;
        meeting.waiting.push_back(&wake);
    }
    if (meeting.arrived != key.cores) {
        return false;
    }
    meeting.released = key.cores & ~self;
    meeting.arrived = 0;
    for (sc_core::sc_event* waiting : meeting.waiting) {
        if (waiting != &wake) {
            waiting->notify(sc_core::SC_ZERO_TIME);
        }
    }
    meeting.waiting.clear();
    return true;
}

std::string CoreMeeting::missing(const Key& key) const {
    const auto meeting = meetings_.find(key);
    const std::uint32_t arrived = meeting == meetings_.end() ? 0 : meeting->second.arrived;
    std::string text;
    for (std::uint32_t left = key.cores & ~arrived; left != 0; left &= left - 1) {
        text += fmt::format("{}core {}", text.empty() ? "" : ", ", std::countr_zero(left));
    }
    return key.channel == 0 ? text : fmt::format("{} on pipe {}", text, key.channel - 1);
}

}  // namespace trnsim::neuron_core
