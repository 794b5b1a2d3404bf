// SPDX-License-Identifier: Apache-2.0
// Two tables of instructions side by side: a simulation and a profile, or two simulations.
#pragma once

#include "trnsim/report/instruction_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trnsim::report {

/// A figure of both tables.
template <typename T>
struct Both {
    T before{};
    T after{};
};

/// Instruction by instruction, engine by engine. Those of an engine are joined in their order,
/// where opcode and size are the same (for transfers direction and bytes): a longest common
/// subsequence, within windows of 1024 instructions. Starts are compared from the moment on at
/// which the first instruction of each kernel can start.
struct InstructionDifference {
    /// Two instructions that are joined, or one that has no counterpart; places in
    /// InstructionTable::engines.
    struct Row {
        std::optional<std::size_t> before;
        std::optional<std::size_t> after;
    };

    struct EngineTimes {
        Engine engine = Engine::Tensor;
        Both<std::int64_t> count;
        Both<std::int64_t> other_count;  ///< Instructions that only wait or trigger.
        Both<Picoseconds> active;        ///< Between issue and result of any, overlaps once.
        Both<std::optional<Picoseconds>> waited;  ///< None: not known.
        std::int64_t joined = 0;
        std::vector<Row> rows;
    };

    /// Opcode and size on an engine.
    struct KindTimes {
        Engine engine = Engine::Tensor;
        std::string title;
        Both<std::int64_t> count;
        Both<std::optional<Picoseconds>> median;  ///< Duration; none: not known.
        Both<Picoseconds> total;                  ///< Sum of durations,
        Both<std::optional<Picoseconds>> waited;  ///< and of the waits before them.
    };

    /// Rows of an engine, one after the other, that are not joined.
    struct Parting {
        Engine engine = Engine::Tensor;
        std::size_t first_row = 0;
        std::size_t rows = 0;
        Picoseconds start;  ///< Of the first of them, in its own table.
    };

    /// A joined row whose start differs more, or less, than that of the joined row before it.
    struct Lag {
        Engine engine = Engine::Tensor;
        std::size_t row = 0;
        Picoseconds change;  ///< Positive: `after` falls behind.
        Picoseconds lag;     ///< Of its start.
    };

    struct Transfers {
        Direction direction = Direction::Load;
        Both<std::int64_t> count;
        Both<std::int64_t> bytes;
        Both<std::int64_t> descriptors;
    };

    InstructionTable before;
    InstructionTable after;
    std::vector<EngineTimes> engines;  ///< Those that either table uses; DMA last.
    std::vector<KindTimes> kinds;      ///< The largest difference of total time first.
    std::vector<Parting> partings;     ///< The earliest first.
    std::vector<Lag> lags;             ///< The largest change first.
    std::vector<Transfers> transfers;  ///< Directions that either table uses.
};

[[nodiscard]] InstructionDifference diff(InstructionTable before, InstructionTable after);

/// What a person wants to know of it, a screen or two.
[[nodiscard]] std::string to_text(const InstructionDifference& difference, bool use_colour);

/// The rows of one engine, one to a line.
[[nodiscard]] std::string rows_text(const InstructionDifference& difference,
                                    Engine engine,
                                    bool use_colour);

/// All of it: configs/schema/instruction_difference.schema.json
[[nodiscard]] std::string to_json(const InstructionDifference& difference);

}  // namespace trnsim::report
