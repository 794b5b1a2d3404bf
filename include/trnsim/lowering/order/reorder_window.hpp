// SPDX-License-Identifier: Apache-2.0
// The compiler's list scheduler: which of the next steps goes onto its queue first.
#pragma once

#include "trnsim/base/ring_buffer.hpp"
#include "trnsim/lowering/lowering_counts.hpp"
#include "trnsim/lowering/order/planned_step.hpp"
#include "trnsim/lowering/order/time_estimate.hpp"
#include "trnsim/lowering/tiles/tile_places.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace trnsim::lowering {

/// Steps in program order go in, and come out in the order in which they could start.
///
///     program order --> [ operands found; up to `capacity` steps ] --> earliest start first
///
/// A step comes after every earlier one in the window with which it shares bytes that one of them
/// writes, after the producers that it depends on, after those of its queue where the program wants
/// them in order, and not before there are bytes for its tiles. Of a queue only the first `reach`
/// steps are looked at: 1 keeps its program order, with the triggers of transfers that stand in it.
/// Among steps that could start at the same time the earlier in the program wins. [ACCURACY-STUDY,
/// 1, 5]
class ReorderWindow {
public:
    using Reach = std::array<int, neuron_core::kQueues>;

    /// Estimate and places must outlive it.
    ReorderWindow(const Reach& reach,
                  std::size_t capacity,
                  const TimeEstimate& estimate,
                  const TilePlaces& places);

    /// Whether steps may come out in another order, so that estimates matter.
    [[nodiscard]] bool reorders() const { return capacity_ > 1; }

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] bool is_full() const { return size_ >= capacity_; }

    /// A step to fill in and admit.
    [[nodiscard]] PlannedStep& blank();

    /// Puts a filled-in step behind all others.
    void admit(PlannedStep& step);

    /// Takes the step out that could start first; if there are bytes for none of them, the earliest
    /// in the program. Valid until retire(). \pre !empty()
    [[nodiscard]] PlannedStep& take();

    /// Looks up what a step waits for, unless that is known.
    void settle(PlannedStep& step);

    /// The step is on its queue: what waited for it may follow.
    void retire(PlannedStep& step);

    /// Bytes of tiles have become free.
    void look_again();

    /// Tiles were moved out of memory.
    void forget_estimates();

    /// How many steps of a queue came out, and how many before an earlier one of it.
    [[nodiscard]] const LoweringCounts::Order& order(neuron_core::QueueId queue) const {
        return queues_[queue].order;
    }

private:
    using Steps = RingBuffer<PlannedStep*>;

    /// What several steps lack: of each count the least that helps one of them.
    class Lacks {
    public:
        void clear() { size_ = 0; }
        void add(const Obstacle& lack);
        /// Whether none of them has come to an end. If they were too many to keep, it says no.
        [[nodiscard]] bool stand() const;

    private:
        static constexpr std::size_t kKept = 4;

        std::array<Obstacle, kKept> kept_;
        std::size_t size_ = 0;
    };

    /// The steps of a queue in program order, and the first choice among them.
    struct Queue {
        Steps steps;
        Steps ready;  ///< Those of them that nothing in the window blocks.
        PlannedStep* best = nullptr;
        Picoseconds start;
        Picoseconds free_at;                   ///< Of the queue, when they were chosen.
        bool is_known = false;                 ///< No step came that could be better.
        Lacks lacks;                           ///< Of those that were left out for want of bytes.
        Steps triggers;                        ///< Transfers that it triggers, in program order.
        PlannedStep* last_in_order = nullptr;  ///< The last one that nothing passes.
        LoweringCounts::Order order;

        void unblock(PlannedStep& step, std::size_t reach);
        /// The order of the last step that is looked at. \pre !steps.empty()
        [[nodiscard]] std::uint64_t farthest(std::size_t reach) const;
    };

    void make_blanks();
    /// Lets a step wait for its producers and earlier ones with its bytes, and later ones for it.
    void block(PlannedStep& step);
    /// Lets it wait for an earlier one, once for however many bytes,
    void come_after(PlannedStep& step, PlannedStep& earlier);
    /// and for all of a queue that could pass it: back to one that those before could not pass
    /// either.
    void come_after_all(PlannedStep& step, const Steps& steps);
    /// Lets it wait for those of a queue that it may not pass because the program wants so.
    void keep_in_order(PlannedStep& step, Queue& queue);
    /// Lets a trigger and the instructions of its engine wait for each other, where they are kept
    /// in order.
    void keep_trigger_in_order(PlannedStep& step);
    /// Nobody waits any more for its being the last that nothing passes.
    static void leave(const PlannedStep& step, Queue& queue);
    /// The queue with the step that could start first, or nullptr if no step has bytes.
    [[nodiscard]] Queue* first_to_start();
    void choose(Queue& queue, neuron_core::QueueId id);
    [[nodiscard]] bool has_bytes(PlannedStep& step) const;
    [[nodiscard]] Queue& earliest();
    [[nodiscard]] PlannedStep& take_best(Queue& queue);
    [[nodiscard]] PlannedStep::Conditions& blank_conditions();

    const TimeEstimate& estimate_;
    const TilePlaces& places_;
    std::array<std::size_t, neuron_core::kQueues> reach_{};
    std::size_t capacity_;
    std::size_t size_ = 0;
    std::uint64_t admitted_ = 0;
    std::array<Queue, neuron_core::kQueues> queues_;
    std::uint32_t occupied_ = 0;        ///< A bit per queue with steps.
    std::uint32_t short_of_bytes_ = 0;  ///< And of which one was left out for want of bytes.
    std::uint32_t doubtful_ = 0;        ///< Queues of which it may not lack them any more.
    static constexpr std::size_t kAtOnce = 32;  ///< Steps that are made together.
    std::vector<std::unique_ptr<std::array<PlannedStep, kAtOnce>>> storage_;
    std::vector<PlannedStep*> blanks_;
    std::deque<PlannedStep::Conditions> conditions_;
    std::vector<PlannedStep::Conditions*> unused_conditions_;
    std::deque<PlannedStep::Link> links_;
    PlannedStep::Link* unused_links_ = nullptr;
};

}  // namespace trnsim::lowering
