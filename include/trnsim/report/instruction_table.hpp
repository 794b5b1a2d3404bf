// SPDX-License-Identifier: Apache-2.0
// What every engine and DMA ring executed, simulated or measured, in one form.
#pragma once

#include "trnsim/base/units.hpp"
#include "trnsim/isa/engine.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trnsim::report {

/// Which way a transfer goes.
enum class Direction : std::uint8_t { Load, Store, WithinHbm, OnChip };
inline constexpr std::array kDirections{
    Direction::Load, Direction::Store, Direction::WithinHbm, Direction::OnChip};

/// "load", "store", "within HBM", "on chip".
[[nodiscard]] std::string_view name(Direction direction);

/// The instructions of one NeuronCore, engine by engine. Opcodes are the profiler's words.
struct InstructionTable {
    enum class Origin : std::uint8_t { Simulation, Profile };
    static constexpr std::size_t kEngines = 6;  ///< By Engine; the last is DMA.

    /// What executions have in common.
    struct Kind {
        Engine engine = Engine::Vector;
        std::string opcode{};       ///< "MATMUL", "TENSOR_REDUCE"; of DMA its direction.
        std::int64_t elements = 0;  ///< Per partition, of the largest streamed operand.
        std::string source{};       ///< "kernel.py:52", or the compiler's name: "I-17".
        // Of a transfer:
        Direction direction = Direction::Load;
        std::int64_t bytes = 0;
        std::int64_t descriptors = 0;  ///< Elements of the DMA.

        /// "MATMUL 512", "load 256.0 KiB"
        [[nodiscard]] std::string title() const;
    };

    /// One execution.
    struct Instruction {
        std::uint32_t kind = 0;
        std::int32_t pieces = 1;  ///< Instructions of the hardware: an fp32 matmul has two.
        Picoseconds start{};      ///< From the start of the run; of a transfer: triggered.
        std::optional<Picoseconds> duration{};  ///< To the visible result; none: not known.
        std::optional<Picoseconds> waited{};    ///< Its queue stood still before it,
        std::optional<Engine> waited_for{};     ///< for this one; none: not for another.
    };

    std::string name;  ///< Of the file.
    Origin origin = Origin::Simulation;
    std::string title;           ///< "fused_attention on trainium2, simulated"
    Picoseconds total;           ///< Latency.
    Picoseconds kernel_start{};  ///< The first instruction can start.
    std::vector<Kind> kinds;
    std::array<std::vector<Instruction>, kEngines> engines;  ///< In order of execution.
    /// Instructions that only wait or trigger, by opcode; they are not compared.
    std::array<std::map<std::string, std::int64_t>, kEngines> others;
    std::vector<std::string> notes;  ///< What the file does not tell.

    [[nodiscard]] const Kind& kind_of(const Instruction& instruction) const {
        return kinds[instruction.kind];
    }
};

/// What a JSON file is, by its contents: what `trnsim run` wrote of one kernel or of a script's
/// calls, `compare`, `diff` or `describe`, a profile, a chip's configuration.
enum class FileKind : std::uint8_t {
    Result,
    Calls,
    Instructions,
    Profile,
    Comparison,
    Difference,
    Validation,
    Chip,
    Description,
    OtherJson,
    NoJson
};

[[nodiscard]] FileKind file_kind(std::string_view text);

/// A table that `trnsim run --instructions` wrote, or the JSON of a Neuron profile. Of several
/// NeuronCores the one that ended last. `name` is for messages.
/// \throws UserError with a JSON pointer where something is missing or wrong
[[nodiscard]] InstructionTable read_instructions(std::string name, std::string_view text);

}  // namespace trnsim::report
