// SPDX-License-Identifier: Apache-2.0
// The DMA engines of a NeuronCore, shared by its rings.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/dma/dma_spec.hpp"
#include "trnsim/dma/dma_stats.hpp"
#include "trnsim/dma/dma_timing.hpp"
#include "trnsim/memory/hbm.hpp"
#include "trnsim/timeline/timeline_sink.hpp"

#include <systemc>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace trnsim::dma {

/// Moves data. Every transfer is work for some of the engines; an engine serves the rings that have
/// work for it round robin, each ring in order.
///
///     rings --> [ engine 0, 1, …, round robin per descriptor ] --> HBM --> completion
///
/// Round robin over descriptors of similar size is sharing in equal parts, so rates change only
/// when a transfer arrives or an engine's part of one ends: one wake-up for each end, however long
/// the transfer. Arrivals slow others down, so they need none: the next end sees to them, unless
/// another core that shares the HBM stack has to know. Models: engines chosen by partition, sharing
/// between rings, HBM as a common limit. Does not model: unequal shares of rings with unlike
/// descriptors, priorities (D-09). One per NeuronCore.
class DmaEngines : public sc_core::sc_module {
public:
    using Completion = std::function<void()>;

    DmaEngines(const sc_core::sc_module_name& name,
               const DmaSpec& spec,
               memory::Hbm& hbm,
               int stack);

    /// Called when the oldest transfer of `ring` has moved its last byte, but for its spread. Set
    /// at elaboration.
    void connect(int ring, Completion completion);

    /// Queues a transfer on `ring` whose first byte can move at `arrival`.
    void submit(int ring, const DmaTransferCost& cost, Picoseconds arrival);

    [[nodiscard]] const DmaSpec& spec() const { return spec_; }
    [[nodiscard]] DmaStats stats() const;

    /// Draws the rate of data movement on a counter track.
    void draw(timeline::TimelineSink& sink, timeline::TrackId track);

private:
    static constexpr Picoseconds kNever{std::numeric_limits<std::int64_t>::max()};

    /// Service time left is in ps at an engine's full rate. It is one number as long as all engines
    /// of the transfer have the same left, which is the rule.
    struct Transfer {
        std::array<double, kMostDmaEngines> remaining{};  ///< By engine, if not is_even.
        double even_remaining = 0.0;
        bool is_even = true;
        std::uint32_t live = 0;    ///< Engines with work left.
        std::uint32_t served = 0;  ///< Engines that work on it now.
        double demand = 0.0;       ///< Of all those on HBM at full rate, as Hbm::demand counts it.
        Picoseconds arrival;
        Picoseconds spread;
        double engine_demand = 0.0;  ///< Of one engine.
        double bytes_per_ps = 0.0;   ///< Of one engine at full rate.
    };
    struct Ring {
        RingBuffer<Transfer> transfers;
        std::uint32_t engines = 0;  ///< Of all of its transfers, and maybe more.
        std::uint32_t taken = 0;    ///< Engines with work, or work to come, from its `reach`
        std::size_t reach = 0;      ///< oldest transfers, behind which no other one is left.
    };

    void step();
    /// The earliest moment from which on somebody else can notice that the transfer has arrived.
    [[nodiscard]] Picoseconds next_change(const Transfer& to_come) const;
    template <typename F>
    void for_each_served(F&& f);
    void serve(Transfer& transfer, double time);
    void advance(Picoseconds to);
    void count_active(Picoseconds from, Picoseconds to);
    void count_busy(std::uint32_t engines, Picoseconds span);
    /// Completes busy times with the last stretch.
    void add_busy(DmaStats& stats) const;
    void complete_finished();
    void share();
    [[nodiscard]] std::uint32_t share_ring(Ring& ring);
    void count_rings();
    [[nodiscard]] int rings_on(std::size_t engine) const;
    void schedule(Picoseconds now);
    [[nodiscard]] double uneven_demand();
    [[nodiscard]] double time_left(const Transfer& transfer) const;
    void draw_rate(Picoseconds now);

    const DmaSpec spec_;
    memory::Hbm& hbm_;
    memory::Hbm::Client hbm_client_;
    std::vector<Ring> rings_;
    std::vector<Completion> completions_;
    std::uint32_t busy_rings_ = 0;  ///< Rings with transfers, a bit each.
    int even_share_ = 0;  ///< Rings on every engine in use, if all have the same; otherwise 0, and
    std::array<int, kMostDmaEngines> rings_served_{};  ///< by engine: rings with work on it.
    double demand_ = 0.0;                              ///< Of all transfers served, not shared.
    double scale_ = 1.0;                               ///< Rate that HBM leaves to the engines.
    Picoseconds next_arrival_ = kNever;  ///< Of a transfer that finds an engine of its ring free,
    Picoseconds next_change_ = kNever;   ///< and when that may be noticed.
    Picoseconds updated_;
    sc_core::sc_event wake_;
    DmaStats stats_;            ///< Busy times without the last stretch.
    Picoseconds active_until_;  ///< All time before it is counted.
    std::uint32_t busy_engines_ = 0;
    Picoseconds busy_time_;  ///< Stretch in which just these engines were busy.
    timeline::TimelineSink* sink_ = nullptr;
    timeline::TrackId track_ = 0;
    double drawn_rate_ = -1.0;
};

}  // namespace trnsim::dma
