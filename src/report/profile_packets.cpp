// SPDX-License-Identifier: Apache-2.0
// DMA packets of a profile, dealt out to the transfers that they are part of.
#include "profile_packets.hpp"

#include <algorithm>

namespace trnsim::report {
namespace {

constexpr std::int64_t kSemaphoreBytes = 4;

}  // namespace

void PacketQueue::add(const std::string& dma_engine, const DmaPacket& packet) {
    engines_[dma_engine].push_back(packet);
}

std::vector<Picoseconds> PacketQueue::ends(std::size_t transfers) const {
    std::vector<Picoseconds> ends(engines_.empty() ? 0 : transfers);
    for (const auto& [name, unsorted] : engines_) {
        std::vector<DmaPacket> packets = unsorted;
        std::ranges::stable_sort(packets, {}, &DmaPacket::start);
        std::size_t transfer = 0;
        for (const DmaPacket& packet : packets) {
            if (transfer == ends.size()) {
                return {};
            }
            ends[transfer] = std::max(ends[transfer], packet.end);
            transfer += packet.bytes == kSemaphoreBytes ? 1 : 0;
        }
        if (transfer != ends.size()) {
            return {};
        }
    }
    return ends;
}

}  // namespace trnsim::report
