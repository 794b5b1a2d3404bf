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
    const auto service = static_cast<double>(cost.service.value);
    const double engine_time = service * std::popcount(cost.engine_mask);
    const Bytes hbm_bytes = cost.bytes_read_hbm + cost.bytes_written_hbm;
    Transfer transfer;
    transfer.even_remaining = service;
    transfer.live = cost.engine_mask;
    transfer.arrival = arrival;
    transfer.hbm_bytes_per_ps = static_cast<double>(hbm_bytes.value) / engine_time;
    transfer.bytes_per_ps = static_cast<double>(cost.bytes.value) / engine_time;
    transfer.page_efficiency = cost.hbm_page_efficiency;
    rings_[static_cast<std::size_t>(ring)].push_back(transfer);
    busy_rings_ |= 1U << ring;
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

template <typename F>
void DmaEngines::for_each_transfer(F&& f) {
    for_each_engine(busy_rings_, [&](std::size_t ring) {
        RingBuffer<Transfer>& transfers = rings_[ring];
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            f(transfers[i]);
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
    for_each_engine(transfer.served, [&](std::size_t e) {
        transfer.remaining[e] -= time / rings_served_[e];
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
    for_each_transfer([&](Transfer& transfer) {
        if (transfer.served != 0) {
            busy |= transfer.served;
            serve(transfer, time);
        }
    });
    for_each_engine(busy, [&](std::size_t e) { stats_.engine_busy[e] += span; });
    if (busy != 0) {
        stats_.active += span;
        stats_.hbm_limited += scale_ < 1.0 ? span : Picoseconds{};
    }
}

void DmaEngines::complete_finished() {
    for_each_engine(busy_rings_, [&](std::size_t ring) {
        RingBuffer<Transfer>& transfers = rings_[ring];
        while (!transfers.empty() && transfers.front().live == 0) {
            transfers.pop_front();
            completions_[ring]();
        }
        if (transfers.empty()) {
            busy_rings_ &= ~(1U << ring);
        }
    });
}

void DmaEngines::share() {
    rings_served_.fill(0);
    std::uint32_t common = 0;
    int rings = 0;
    bool is_even = true;
    for_each_engine(busy_rings_, [&](std::size_t ring) {
        RingBuffer<Transfer>& transfers = rings_[ring];
        std::uint32_t taken = 0;
        std::uint32_t served = 0;
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            Transfer& transfer = transfers[i];
            const bool is_here = transfer.arrival <= updated_;
            transfer.served = is_here ? transfer.live & ~taken : 0;
            taken |= transfer.live;
            served |= transfer.served;
        }
        if (served != 0) {
            is_even = is_even && (rings == 0 || served == common);
            common = served;
            ++rings;
        }
        for_each_engine(served, [&](std::size_t e) { ++rings_served_[e]; });
    });
    even_share_ = is_even ? rings : 0;
    scale_ = hbm_.demand(hbm_client_, hbm_demand());
}

double DmaEngines::hbm_demand() {
    double sum = 0.0;
    for_each_transfer([&](const Transfer& transfer) {
        double engines = 0.0;
        if (even_share_ > 0) {
            engines = static_cast<double>(std::popcount(transfer.served)) / even_share_;
        } else {
            for_each_engine(transfer.served,
                            [&](std::size_t e) { engines += 1.0 / rings_served_[e]; });
        }
        sum += engines * transfer.hbm_bytes_per_ps / transfer.page_efficiency;
    });
    return sum;
}

double DmaEngines::time_left(const Transfer& transfer) const {
    if (transfer.served == 0) {
        return std::numeric_limits<double>::infinity();
    }
    if (transfer.is_even && even_share_ > 0) {
        return transfer.even_remaining * even_share_ / scale_;
    }
    double least = std::numeric_limits<double>::infinity();
    for_each_engine(transfer.served, [&](std::size_t e) {
        const double left = transfer.is_even ? transfer.even_remaining : transfer.remaining[e];
        least = std::min(least, left * rings_served_[e] / scale_);
    });
    return least;
}

void DmaEngines::schedule(Picoseconds now) {
    double next = std::numeric_limits<double>::infinity();
    for_each_transfer([&](const Transfer& transfer) {
        next = std::min(next, time_left(transfer));
        if (transfer.arrival > now) {
            next = std::min(next, static_cast<double>((transfer.arrival - now).value));
        }
    });
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
    for_each_transfer([&](const Transfer& transfer) {
        for_each_engine(transfer.served, [&](std::size_t e) {
            bytes_per_ps += transfer.bytes_per_ps * scale_ / rings_served_[e];
        });
    });
    if (bytes_per_ps != drawn_rate_) {
        sink_->counter(track_, now, bytes_per_ps * 1e3);
        drawn_rate_ = bytes_per_ps;
    }
}

}  // namespace trnsim::dma
