// SPDX-License-Identifier: Apache-2.0
// The in-order half of every engine: takes an instruction, waits for its semaphores, starts it.
#pragma once

#include "trnsim/neuron_core/core_meeting.hpp"
#include "trnsim/neuron_core/engine_stats.hpp"
#include "trnsim/neuron_core/execution_log.hpp"
#include "trnsim/neuron_core/instruction_fetch.hpp"
#include "trnsim/neuron_core/semaphore_file.hpp"
#include "trnsim/neuron_core/simulated_time.hpp"

#include <systemc>

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>

namespace trnsim::neuron_core {

/// What every queue of a NeuronCore works with.
struct CoreServices {
    InstructionFetch& fetch;
    SemaphoreFile& semaphores;
    ExecutionLog& log;
    CoreMeeting* meeting =
        nullptr;                ///< With the other cores of the program; nullptr: there are none.
    int core = 0;               ///< Which of them this is.
    std::exception_ptr& fault;  ///< What stopped the simulation, thrown on by simulate().
};

/// Fetches, waits and issues in order; derived classes are the data paths.
///
///     fetch --> [ wait for semaphores ] --> [ data path: earliest(), issue() ] --> signal
///     semaphores
///
/// Wakes once per instruction, at its start: who announces the last semaphore it waits for sets its
/// alarm. Models: in-order issue, semaphore wake-up time, attribution of every gap to what
/// was waited for; waits for other cores count as waits for the Sync Engine. Does not model: the
/// fetch of instructions (D-03). One per engine and per DMA ring in use.
class Sequencer : public sc_core::sc_module, private SemaphoreWaiter {
public:
    Sequencer(const sc_core::sc_module_name& name, QueueId queue, const CoreServices& services);

    [[nodiscard]] QueueId queue() const { return queue_; }
    [[nodiscard]] const EngineStats& stats() const { return stats_; }

    /// Schedules the first fetch.
    void start_at(Picoseconds time);

    /// Why it stands still: empty when it has nothing left to do.
    [[nodiscard]] std::string describe_block() const;

protected:
    /// A time that only a later event can tell.
    static constexpr Picoseconds kNotKnown{std::numeric_limits<std::int64_t>::max()};

    /// Lengths of an issued instruction, from its start.
    struct Issue {
        Picoseconds interval;          ///< The queue is occupied.
        Picoseconds read;              ///< Sources read.
        Picoseconds done = kNotKnown;  ///< Result visible; kNotKnown: the data path announces it.
    };

    /// When the data path could start it, waits left aside; kNotKnown: what ends that must notify
    /// wake(). \post >= now if the data path is free earlier
    [[nodiscard]] virtual Picoseconds earliest(const QueuedInstruction& next) const = 0;

    /// Which earlier instruction the data path would let it follow: the one before it unless there
    /// is more than one path. \pre sequence > 0
    [[nodiscard]] virtual std::uint64_t predecessor(const QueuedInstruction& /*next*/,
                                                    std::uint64_t sequence) const {
        return sequence - 1;
    }

    /// Starts it now.
    virtual Issue issue(const QueuedInstruction& next, std::uint64_t sequence) = 0;

    /// Tells a data path that announces ends itself how the instruction it just issued was started.
    virtual void issued(const Execution& /*execution*/) {}

    /// Announces that the sources have been read at `read`: when issue() could not tell.
    void announce_read(const Execution& execution, Picoseconds read);
    /// Announces the end, at `done` or with the queue's last end if that is later.
    void announce_done(const Execution& execution, Picoseconds done);

    /// Calls run(), unless there was a fault, and keeps what it throws: the kernel would reword it.
    template <typename F>
    void guarded(F run) try {
        services_.fault ? void() : run();
    } catch (...) {
        services_.fault = std::current_exception();
        sc_core::sc_stop();
    }

    /// When the next instruction's semaphores are met, in earliest().
    [[nodiscard]] Picoseconds ready_at() const { return ready_.at; }
    [[nodiscard]] sc_core::sc_event& wake() { return wake_; }
    [[nodiscard]] CoreServices& services() { return services_; }
    [[nodiscard]] Picoseconds now() const { return present(*this); }

private:
    /// The semaphores' side of the next instruction, as far as its waits are announced.
    struct Readiness {
        std::size_t waits_known = 0;
        Picoseconds at;
        std::optional<Producer> held_by;
        Picoseconds released;  ///< Before the wake-up time.
        bool is_kept_by_cores = false;
    };

    void announced() override;
    void revised() override;

    void step();
    void run_ahead();
    void wake_at(Picoseconds time);
    /// When the next instruction can start; kNotKnown: an announcement, or wake(), will tell.
    [[nodiscard]] Picoseconds earliest_start(const QueuedInstruction& next);
    /// Brings ready_ up to date; false if a wait is not announced yet.
    [[nodiscard]] bool find_readiness(const QueuedInstruction& next);
    /// The bit of its core.
    [[nodiscard]] std::uint32_t own_core() const;
    /// Whether the other cores that it needs have come. If not, the last one wakes it.
    [[nodiscard]] bool have_met(const QueuedInstruction& next);
    void met_by(const SemaphoreFile::Update& update);
    void start(const QueuedInstruction& next);
    void account(const Issue& issue, Execution& execution);
    /// Announces when it begins, has read and is done, but for what is not known.
    void signal_all(const QueuedInstruction& instruction,
                    const Producer& producer,
                    Picoseconds begin,
                    Picoseconds read,
                    Picoseconds done);
    [[nodiscard]] static Producer producer_of(const Execution& execution);

    const QueueId queue_;
    CoreServices services_;
    const Picoseconds wakeup_time_;
    sc_core::sc_event wake_;
    Readiness ready_;           ///< Of the next instruction.
    bool is_awaiting_ = false;  ///< The semaphore file will tell it of an announcement.
    Picoseconds active_until_;
    Picoseconds read_until_;
    std::uint64_t sequence_ = 0;
    EngineStats stats_;
};

}  // namespace trnsim::neuron_core
