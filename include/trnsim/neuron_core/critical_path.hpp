// SPDX-License-Identifier: Apache-2.0
// Which instructions the end of a run hung on, kept up to date as it happens.
#pragma once

#include "trnsim/neuron_core/chain_sums.hpp"
#include "trnsim/neuron_core/queued_instruction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::neuron_core {

/// What an instruction waited for that no other one made it wait for.
inline constexpr const char* kPortName = "memory port";
inline constexpr const char* kRingName = "DMA ring";
inline constexpr const char* kCoresName = "other NeuronCores";

/// Every instruction's start hangs on one earlier event: the end of its queue's previous
/// instruction, or the update of a semaphore. The times along that chain are summed by kind when it
/// is asked for; that of the last one to end is the critical path. Kinds are (source line,
/// operation, engine), at most kKinds of them; the rest are summed by engine.
///
/// Memory: a fixed history per queue, and links between them that become sums when they are many
/// (ChainSums). A chain that hangs on an instruction older than the history
/// (its result was visible long before) is continued from its own queue.
class CriticalPath {
public:
    using Kind = ChainSums::Sum;
    static constexpr int kKinds = 240;

    /// What an instruction's start hung on.
    struct Hold {
        std::optional<QueueId> producer_queue{};  ///< None: its own queue.
        std::uint64_t producer_sequence = 0;
        Picoseconds since{};            ///< When that released it; the rest is wake-up time.
        std::uint64_t predecessor = 0;  ///< The instruction of its own queue that it follows.
        Picoseconds refused{};  ///< After that, by a port of a memory or the interval or limit of a
                                ///< DMA ring,
        Picoseconds kept{};     ///< or by other NeuronCores that it meets.
    };

    CriticalPath();

    /// When the first instructions may start; what one waits beyond that is its own.
    void start_at(Picoseconds time) { kernel_start_ = time; }

    /// The kind that carries `text`; the same text gives the same kind. Beyond kKinds: by engine.
    [[nodiscard]] Kind kind_of(const std::string& text, Engine engine);

    /// Records the start of instruction `sequence` (counting from 0) of a queue.
    void started(
        QueueId queue, std::uint64_t sequence, Kind kind, Picoseconds start, const Hold& hold);

    /// Sums by kind of the chain that ends when that instruction is done; they add up to `done`.
    [[nodiscard]] std::vector<std::pair<std::string, Picoseconds>> chain(QueueId queue,
                                                                         std::uint64_t sequence,
                                                                         Picoseconds done) const;

private:
    static constexpr std::size_t kHistory = 128;
    struct Record {
        std::uint64_t sequence = 0;
        Picoseconds start;
        ChainSums::Place chain = ChainSums::kNothing;  ///< Up to the start, by kind.
        Kind kind = 0;
        bool is_set = false;
    };
    /// The last kHistory of a queue; none if it starts none.
    using History = std::vector<Record>;

    [[nodiscard]] const Record* find(QueueId queue, std::uint64_t sequence) const;
    void settle();

    Picoseconds kernel_start_{};
    std::vector<std::string> names_;
    std::array<History, kQueues> histories_;
    ChainSums chains_;
};

}  // namespace trnsim::neuron_core
