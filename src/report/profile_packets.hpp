// SPDX-License-Identifier: Apache-2.0
// DMA packets of a profile, dealt out to the transfers that they are part of.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/isa/engine.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trnsim::report {

/// One packet of a DMA queue on a DMA engine.
struct DmaPacket {
    Picoseconds start;
    Picoseconds end;
    std::int64_t bytes = 0;
};

/// The packets that a queue's transfers are made of. A transfer ends on every DMA engine that it
/// uses with a packet of 4 bytes, which raises its semaphore; so packets that are counted from one
/// of these to the next belong to one transfer. [AKC-PROFILE]
class PacketQueue {
public:
    void add(const std::string& dma_engine, const DmaPacket& packet);

    /// When each of `transfers` ended, in the order of their triggers; empty if the packets do not
    /// tell.
    [[nodiscard]] std::vector<Picoseconds> ends(std::size_t transfers) const;

private:
    std::map<std::string, std::vector<DmaPacket>> engines_;
};

}  // namespace trnsim::report
