// SPDX-License-Identifier: Apache-2.0
// Short names for the queues, waits and regions that tests of dependencies are about.
#pragma once

#include "trnsim/lowering/dependencies/access_history.hpp"

#include <cstdint>

namespace trnsim::test {

inline constexpr auto kTensor = neuron_core::queue_of(Engine::Tensor);
inline constexpr auto kVector = neuron_core::queue_of(Engine::Vector);
inline constexpr auto kScalar = neuron_core::queue_of(Engine::Scalar);
inline constexpr auto kRing = neuron_core::queue_of_ring(0);

/// A wait for the end of an instruction.
inline lowering::WaitSet done(neuron_core::QueueId queue, std::uint64_t number) {
    lowering::WaitSet waits;
    waits.need_done(queue, number);
    return waits;
}

/// A wait until an instruction has read its sources.
inline lowering::WaitSet has_read(neuron_core::QueueId queue, std::uint64_t number) {
    lowering::WaitSet waits;
    waits.need_read(queue, number);
    return waits;
}

/// So many bytes without a gap.
inline lowering::RegionShape dense(std::int64_t bytes, std::int32_t partitions = 128) {
    return lowering::RegionShape(
        {.dtype = Dtype::Uint8, .partitions = partitions, .pattern = {{1, bytes}}});
}

inline const lowering::RegionShape kTen = dense(10);

}  // namespace trnsim::test
