// SPDX-License-Identifier: Apache-2.0
// Transfers as work shared out over engines and rings.
#include "trnsim/dma/dma_engines.hpp"

#include "trnsim/neuron_core/simulated_time.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace trnsim::dma {

using neuron_core::present;
using neuron_core::to_sc_time;

namespace {

/// Work below this is rounding.
constexpr double kNothing = 0.5;

/// Calls f(number) for every bit set.
template <typename F>
void for_each_bit(std::uint32_t mask, F&& f) {
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
    const auto service = static_cast<double>(cost.service.value);
    const auto engine_time = static_cast<double>(cost.engine_time().value);
    const Bytes hbm_bytes = cost.bytes_read_hbm + cost.bytes_written_hbm;
    Ring& queue = rings_[static_cast<std::size_t>(ring)];
    Transfer& transfer = queue.transfers.append();
    transfer.even_remaining = service;
    transfer.is_even = cost.uneven.empty();
    if (!transfer.is_even) {
        std::ranges::transform(cost.uneven, transfer.remaining.begin(), [](Picoseconds one) {
            return static_cast<double>(one.value);
        });
    }
    transfer.live = cost.engine_mask;
    transfer.served = 0;
    transfer.demand = 0.0;
    transfer.arrival = arrival;
    transfer.spread = cost.spread;
    transfer.engine_demand =
        static_cast<double>(hbm_bytes.value) / (engine_time * cost.hbm_page_efficiency);
    transfer.bytes_per_ps = static_cast<double>(cost.bytes.value) / engine_time;
    queue.engines |= cost.engine_mask;
    busy_rings_ |= 1U << ring;
    stats_.hbm_read_bytes += cost.bytes_read_hbm.value;
    stats_.hbm_write_bytes += cost.bytes_written_hbm.value;
    if ((cost.engine_mask & ~queue.taken) != 0) {  // Else it is served when older ones have ended.
        next_arrival_ = std::min(next_arrival_, arrival);
        wake_.notify(to_sc_time(next_change(transfer) - present(*this)));
    }
}

Picoseconds DmaEngines::next_change(const Transfer& to_come) const {
    if (hbm_.is_shared(hbm_client_)) {
        return to_come.arrival;
    }
    double first = to_come.even_remaining;
    if (!to_come.is_even) {
        for_each_bit(to_come.live,
                     [&](std::size_t e) { first = std::min(first, to_come.remaining[e]); });
    }
    return to_come.arrival + Picoseconds{static_cast<std::int64_t>(first)};
}

void DmaEngines::step() {
    const Picoseconds now = present(*this);
    while (next_arrival_ < now) {
        advance(next_arrival_);
        share();
    }
    advance(now);
    complete_finished();
    share();
    schedule(now);
}

template <typename F>
void DmaEngines::for_each_served(F&& f) {
    for_each_bit(busy_rings_, [&](std::size_t number) {
        Ring& ring = rings_[number];
        for (std::size_t i = 0; i < ring.reach; ++i) {
            if (ring.transfers[i].served != 0) {
                f(ring.transfers[i]);
            }
        }
    });
}

void DmaEngines::serve(Transfer& transfer, double time) {
    if (transfer.is_even && even_share_ > 0 && transfer.served == transfer.live) {
        transfer.even_remaining -= time / even_share_;
        transfer.live = transfer.even_remaining < kNothing ? 0 : transfer.live;
        return;
    }
    if (transfer.is_even) {
        transfer.remaining.fill(transfer.even_remaining);
        transfer.is_even = false;
    }
    for_each_bit(transfer.served, [&](std::size_t e) {
        transfer.remaining[e] -= time / rings_on(e);
        if (transfer.remaining[e] < kNothing) {
            transfer.live &= ~(1U << e);
        }
    });
}

void DmaEngines::advance(Picoseconds to) {
    const Picoseconds span = to - updated_;
    updated_ = to;
    if (span.value == 0) {
        return;
    }
    const double time = static_cast<double>(span.value) * scale_;
    std::uint32_t busy = 0;
    for_each_served([&](Transfer& transfer) {
        busy |= transfer.served;
        serve(transfer, time);
    });
    if (busy != 0) {
        count_busy(busy, span);
        count_active(to - span, to);
        stats_.hbm_limited += scale_ < 1.0 ? span : Picoseconds{};
    }
}

void DmaEngines::count_active(Picoseconds from, Picoseconds to) {
    stats_.active += std::max(Picoseconds{}, to - std::max(from, active_until_));
    active_until_ = std::max(active_until_, to);
}

void DmaEngines::count_busy(std::uint32_t engines, Picoseconds span) {
    if (engines != busy_engines_) {
        add_busy(stats_);
        busy_engines_ = engines;
        busy_time_ = Picoseconds{};
    }
    busy_time_ += span;
}

DmaStats DmaEngines::stats() const {
    DmaStats stats = stats_;
    add_busy(stats);
    return stats;
}

void DmaEngines::add_busy(DmaStats& stats) const {
    for_each_bit(busy_engines_, [&](std::size_t e) { stats.engine_busy[e] += busy_time_; });
}

void DmaEngines::complete_finished() {
    for_each_bit(busy_rings_, [&](std::size_t number) {
        Ring& ring = rings_[number];
        while (!ring.transfers.empty() && ring.transfers.front().live == 0) {
            // The first engines wait for their completion while the last ones still move.
            const Picoseconds rest = std::max(ring.transfers.front().spread, spec_.completion_ns);
            ring.transfers.pop_front();
            count_active(updated_, updated_ + rest);
            completions_[number]();
        }
        if (ring.transfers.empty()) {
            ring.engines = 0;
            ring.taken = 0;
            ring.reach = 0;
            busy_rings_ &= ~(1U << number);
        }
    });
}

void DmaEngines::share() {
    std::uint32_t common = 0;
    int rings = 0;
    bool is_even = true;
    next_arrival_ = kNever;
    next_change_ = kNever;
    demand_ = 0.0;
    for_each_bit(busy_rings_, [&](std::size_t ring) {
        const std::uint32_t served = share_ring(rings_[ring]);
        if (served != 0) {
            is_even = is_even && (rings == 0 || served == common);
            common = served;
            ++rings;
        }
    });
    even_share_ = is_even ? rings : 0;
    if (!is_even) {
        count_rings();
    }
    scale_ = hbm_.demand(hbm_client_, is_even ? demand_ / std::max(1, rings) : uneven_demand());
    if (sink_ != nullptr) {
        draw_rate(updated_);
    }
}

std::uint32_t DmaEngines::share_ring(Ring& ring) {
    std::uint32_t served = 0;
    ring.taken = 0;
    ring.reach = 0;
    while (ring.reach < ring.transfers.size() && (ring.engines & ~ring.taken) != 0) {
        Transfer& transfer = ring.transfers[ring.reach++];
        const std::uint32_t before = transfer.served;
        transfer.served = transfer.live & ~ring.taken;
        if (transfer.served != 0 && transfer.arrival > updated_) {
            transfer.served = 0;
            next_arrival_ = std::min(next_arrival_, transfer.arrival);
            next_change_ = std::min(next_change_, next_change(transfer));
        }
        if (transfer.served != before) {
            transfer.demand = transfer.engine_demand * std::popcount(transfer.served);
        }
        demand_ += transfer.demand;
        ring.taken |= transfer.live;
        served |= transfer.served;
    }
    return served;
}

void DmaEngines::count_rings() {
    rings_served_.fill(0);
    for_each_served([&](const Transfer& transfer) {
        for_each_bit(transfer.served, [&](std::size_t e) { ++rings_served_[e]; });
    });
}

int DmaEngines::rings_on(std::size_t engine) const {
    return even_share_ > 0 ? even_share_ : rings_served_[engine];
}

double DmaEngines::uneven_demand() {
    double sum = 0.0;
    for_each_served([&](const Transfer& transfer) {
        for_each_bit(transfer.served,
                     [&](std::size_t e) { sum += transfer.engine_demand / rings_served_[e]; });
    });
    return sum;
}

double DmaEngines::time_left(const Transfer& transfer) const {
    if (transfer.is_even && even_share_ > 0) {
        return transfer.even_remaining * even_share_ / scale_;
    }
    double least = std::numeric_limits<double>::infinity();
    for_each_bit(transfer.served, [&](std::size_t e) {
        const double left = transfer.is_even ? transfer.even_remaining : transfer.remaining[e];
        least = std::min(least, left * rings_on(e) / scale_);
    });
    return least;
}

void DmaEngines::schedule(Picoseconds now) {
    double next = std::numeric_limits<double>::infinity();
    for_each_served([&](const Transfer& transfer) { next = std::min(next, time_left(transfer)); });
    if (next_change_ != kNever) {
        next = std::min(next, static_cast<double>((next_change_ - now).value));
    }
    if (std::isfinite(next)) {
        wake_.cancel();
        wake_.notify(to_sc_time(Picoseconds{static_cast<std::int64_t>(std::ceil(next))}));
    }
}

void DmaEngines::draw(timeline::TimelineSink& sink, timeline::TrackId track) {
    sink_ = &sink;
    track_ = track;
}

void DmaEngines::draw_rate(Picoseconds now) {
    double bytes_per_ps = 0.0;
    for_each_served([&](const Transfer& transfer) {
        for_each_bit(transfer.served, [&](std::size_t e) {
            bytes_per_ps += transfer.bytes_per_ps * scale_ / rings_on(e);
        });
    });
    if (bytes_per_ps != drawn_rate_) {
        sink_->counter(track_, now, bytes_per_ps * 1e3);
        drawn_rate_ = bytes_per_ps;
    }
}

}  // namespace trnsim::dma
