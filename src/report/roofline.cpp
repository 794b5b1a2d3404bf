// SPDX-License-Identifier: Apache-2.0
// How long each part of the chip would need for its share of a run if it never waited.
#include "trnsim/report/roofline.hpp"

#include <algorithm>

namespace trnsim::report {
namespace {

Picoseconds busiest_dma_engine(const DmaResult& dma) {
    Picoseconds busiest;
    for (const Picoseconds busy : dma.engine_busy) {
        busiest = std::max(busiest, busy);
    }
    return busiest;
}

Picoseconds hbm_time(const MemoryResult& memory, const Peaks& peaks, Picoseconds dma) {
    const Bytes bytes{memory.hbm_read_bytes + memory.hbm_write_bytes};
    const Picoseconds at_peak = peaks.hbm_gb_per_s > 0.0
                                    ? to_picoseconds(bytes, GigabytesPerSecond{peaks.hbm_gb_per_s})
                                    : Picoseconds{};
    const Picoseconds own = std::max(at_peak, memory.hbm_limited);
    return 2 * memory.hbm_limited > dma ? std::max(own, dma) : own;
}

Resource largest(const Roofline& roofline) {
    Resource best = kResources.front();
    for (const Resource resource : kResources) {
        if (roofline.of(resource) > roofline.of(best)) {
            best = resource;
        }
    }
    return best;
}

}  // namespace

std::string_view name(Resource resource) {
    switch (resource) {
        case Resource::Tensor:
            return "tensor";
        case Resource::Vector:
            return "vector";
        case Resource::Scalar:
            return "scalar";
        case Resource::Gpsimd:
            return "gpsimd";
        case Resource::Sync:
            return "sync";
        case Resource::Hbm:
            return "hbm";
        case Resource::Dma:
            return "dma";
        case Resource::Latency:
            return "latency";
    }
    return "";
}

std::optional<Engine> engine_of(Resource resource) {
    switch (resource) {
        case Resource::Tensor:
            return Engine::Tensor;
        case Resource::Vector:
            return Engine::Vector;
        case Resource::Scalar:
            return Engine::Scalar;
        case Resource::Gpsimd:
            return Engine::Gpsimd;
        case Resource::Sync:
            return Engine::Sync;
        default:
            return std::nullopt;
    }
}

Roofline roofline(const RunResult& result, const Peaks& peaks) {
    Roofline roofline;
    const auto set = [&roofline](Resource resource, Picoseconds time) {
        roofline.time.at(static_cast<std::size_t>(resource)) = time;
    };
    for (const Resource resource : kResources) {
        const std::optional<Engine> engine = engine_of(resource);
        if (engine && result.engines.contains(*engine)) {
            set(resource, result.engines.at(*engine).active);
        }
    }
    const Picoseconds dma = busiest_dma_engine(result.dma);
    set(Resource::Dma, dma);
    set(Resource::Hbm, hbm_time(result.memory, peaks, dma));
    roofline.busiest = largest(roofline);
    set(Resource::Latency, std::max(Picoseconds{}, result.total - roofline.of(roofline.busiest)));
    roofline.bound_by = largest(roofline);
    return roofline;
}

}  // namespace trnsim::report
