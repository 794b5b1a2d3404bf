// SPDX-License-Identifier: Apache-2.0
// How long each part of the chip would need for its share of a run if it never waited.
#pragma once

#include "trnsim/report/summary.hpp"
#include "trnsim/simulator/run_result.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trnsim::report {

/// What can bound a run.
enum class Resource : std::uint8_t { Tensor, Vector, Scalar, Gpsimd, Sync, Hbm, Dma, Latency };
inline constexpr std::array kResources{Resource::Tensor,
                                       Resource::Vector,
                                       Resource::Scalar,
                                       Resource::Gpsimd,
                                       Resource::Sync,
                                       Resource::Hbm,
                                       Resource::Dma,
                                       Resource::Latency};

/// "tensor", …, "hbm", "dma", "latency".
[[nodiscard]] std::string_view name(Resource resource);

/// The engine that the resource is; nothing for HBM, DMA and latency.
[[nodiscard]] std::optional<Engine> engine_of(Resource resource);

/// The least time each resource needs for its work:
///   an engine  the time it is occupied,
///   DMA        the time its busiest engine is occupied,
///   HBM        its bytes at the peak rate of a stack, or the time in which it set the rate of the
///   DMA engines;
///              the whole of DMA's time when it set the rate for more than half of it,
///   latency    what the largest of them leaves of the run: everything waited for something.
/// So a run is bound by latency when nothing is busy for half of it.
struct Roofline {
    std::array<Picoseconds, kResources.size()> time{};  ///< In the order of kResources.
    Resource bound_by = Resource::Latency;              ///< The largest; the first of equals.
    Resource busiest = Resource::Tensor;                ///< The largest without latency.

    [[nodiscard]] Picoseconds of(Resource resource) const {
        return time.at(static_cast<std::size_t>(resource));
    }
};

[[nodiscard]] Roofline roofline(const RunResult& result, const Peaks& peaks);

}  // namespace trnsim::report
