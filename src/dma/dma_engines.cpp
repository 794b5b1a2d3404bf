// SPDX-License-Identifier: Apache-2.0
// Transfers as work shared out over engines and rings.
#include "trnsim/dma/dma_engines.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace trnsim::dma {
namespace {

/// Work below this is rounding.
constexpr double kNothing = 0.5;

sc_core::sc_time to_sc_time(Picoseconds span) {
    return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(span.value));
}

Picoseconds current_time() {
    return Picoseconds{static_cast<std::int64_t>(sc_core::sc_time_stamp().value())};
}

/// Calls f(engine) for every bit set.
template <typename F>
void for_each_engine(std::uint32_t mask, F&& f) {
    for (; mask != 0; mask &= mask - 1) {
        f(static_cast<std::size_t>(std::countr_zero(mask)));
    }
}

}  // namespace

DmaEngines::DmaEngines(const sc_core::sc_module_name& name,
                       const DmaSpec& spec,
                       memory::Hbm& hbm,
                       int stack)
    : sc_module(name),
      spec_(spec),
      hbm_(hbm),
      hbm_client_(hbm.add_client(stack, wake_)),
      rings_(static_cast<std::size_t>(spec.rings)),
      completions_(static_cast<std::size_t>(spec.rings)) {
    SC_HAS_PROCESS(DmaEngines);
    SC_METHOD(step);
    sensitive << wake_;
    dont_initialize();
    stats_.engine_busy.resize(static_cast<std::size_t>(spec.engines));
}

void DmaEngines::connect(int ring, Completion completion) {
    completions_[static_cast<std::size_t>(ring)] = std::move(completion);
}

void DmaEngines::submit(int ring, const DmaTransferCost& cost, Picoseconds arrival) {
    Transfer transfer{.live = cost.engine_mask, .arrival = arrival};
    const auto service = static_cast<double>(cost.service.value);
    for_each_engine(cost.engine_mask, [&](std::size_t e) { transfer.remaining[e] = service; });
    const double engine_time = service * std::popcount(cost.engine_mask);
    const Bytes hbm_bytes = cost.bytes_read_hbm + cost.bytes_written_hbm;
    transfer.hbm_bytes_per_ps = static_cast<double>(hbm_bytes.value) / engine_time;
    transfer.bytes_per_ps = static_cast<double>(cost.bytes.value) / engine_time;
    transfer.page_efficiency = cost.hbm_page_efficiency;
    rings_[static_cast<std::size_t>(ring)].push_back(transfer);
    stats_.hbm_read_bytes += cost.bytes_read_hbm.value;
    stats_.hbm_write_bytes += cost.bytes_written_hbm.value;
    wake_.notify(to_sc_time(std::max(arrival - current_time(), Picoseconds{})));
}

void DmaEngines::step() {
    const Picoseconds now = current_time();
    advance(now);
    complete_finished();
    share();
    schedule(now);
    if (sink_ != nullptr) {
        draw_rate(now);
    }
}

void DmaEngines::advance(Picoseconds to) {
    const Picoseconds span = to - updated_;
    updated_ = to;
    if (span.value == 0) {
        return;
    }
    const double time = static_cast<double>(span.value) * scale_;
    std::uint32_t busy = 0;
    for (RingBuffer<Transfer>& ring : rings_) {
        for (std::size_t i = 0; i < ring.size(); ++i) {
            Transfer& transfer = ring[i];
            busy |= transfer.served;
            for_each_engine(transfer.served, [&](std::size_t e) {
                transfer.remaining[e] -= time / rings_served_[e];
                if (transfer.remaining[e] < kNothing) {
                    transfer.live &= ~(1U << e);
                }
            });
        }
    }
    for_each_engine(busy, [&](std::size_t e) { stats_.engine_busy[e] += span; });
    if (busy != 0) {
        stats_.active += span;
        stats_.hbm_limited += scale_ < 1.0 ? span : Picoseconds{};
    }
}

void DmaEngines::complete_finished() {
    for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
        while (!rings_[ring].empty() && rings_[ring].front().live == 0) {
            rings_[ring].pop_front();
            completions_[ring]();
        }
    }
}

void DmaEngines::share() {
    rings_served_.fill(0);
    for (RingBuffer<Transfer>& ring : rings_) {
        std::uint32_t taken = 0;
        for (std::size_t i = 0; i < ring.size(); ++i) {
            Transfer& transfer = ring[i];
            const bool is_here = transfer.arrival <= updated_;
            transfer.served = is_here ? transfer.live & ~taken : 0;
            taken |= transfer.live;
        }
        std::uint32_t served = 0;
        for (std::size_t i = 0; i < ring.size(); ++i) {
            served |= ring[i].served;
        }
        for_each_engine(served, [&](std::size_t e) { ++rings_served_[e]; });
    }
    scale_ = hbm_.demand(hbm_client_, hbm_demand());
}

double DmaEngines::hbm_demand() const {
    double sum = 0.0;
    for (const RingBuffer<Transfer>& ring : rings_) {
        for (std::size_t i = 0; i < ring.size(); ++i) {
            const Transfer& transfer = ring[i];
            double engines = 0.0;
            for_each_engine(transfer.served,
                            [&](std::size_t e) { engines += 1.0 / rings_served_[e]; });
            sum += engines * transfer.hbm_bytes_per_ps / transfer.page_efficiency;
        }
    }
    return sum;
}

void DmaEngines::schedule(Picoseconds now) {
    double next = std::numeric_limits<double>::infinity();
    for (const RingBuffer<Transfer>& ring : rings_) {
        for (std::size_t i = 0; i < ring.size(); ++i) {
            const Transfer& transfer = ring[i];
            for_each_engine(transfer.served, [&](std::size_t e) {
                next = std::min(next, transfer.remaining[e] * rings_served_[e] / scale_);
            });
            if (transfer.arrival > now) {
                next = std::min(next, static_cast<double>((transfer.arrival - now).value));
            }
        }
    }
    if (std::isfinite(next)) {
        wake_.cancel();
        wake_.notify(to_sc_time(Picoseconds{std::llround(std::ceil(next))}));
    }
}

void DmaEngines::draw(timeline::TimelineSink& sink, timeline::TrackId track) {
    sink_ = &sink;
    track_ = track;
}

void DmaEngines::draw_rate(Picoseconds now) {
    double bytes_per_ps = 0.0;
    for (const RingBuffer<Transfer>& ring : rings_) {
        for (std::size_t i = 0; i < ring.size(); ++i) {
            for_each_engine(ring[i].served, [&](std::size_t e) {
                bytes_per_ps += ring[i].bytes_per_ps * scale_ / rings_served_[e];
            });
        }
    }
    if (bytes_per_ps != drawn_rate_) {
        sink_->counter(track_, now, bytes_per_ps * 1e3);
        drawn_rate_ = bytes_per_ps;
    }
}

}  // namespace trnsim::dma
