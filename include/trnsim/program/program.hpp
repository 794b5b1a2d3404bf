// SPDX-License-Identifier: Apache-2.0
// A program trace in memory: declarations, and a flat list of nodes in which loops stay loops.
#pragma once

#include "trnsim/isa/instruction.hpp"
#include "trnsim/program/run.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::program {

enum class Form : std::uint8_t { Program, Lowered };
enum class BufferKind : std::uint8_t { Internal, Input, Output, Constant };
enum class LoopKind : std::uint8_t { Affine, Sequential, Static, Python, Runtime };
/// Whether the compiler sees no loop of that kind, but all its iterations.
[[nodiscard]] constexpr bool is_unrolled(LoopKind kind) {
    return kind == LoopKind::Static || kind == LoopKind::Python;
}
enum class NoteKind : std::uint8_t { Assumption, Unsupported, Warning };

/// The header record.
struct Header {
    Form form = Form::Program;
    std::string producer{};
    std::string target{};  ///< Chip whose limits the frontend applied.
    std::string kernel{};
    std::string source_sha256{};
    std::string api = "trace";  ///< "nki", "neuronxcc.nki", "neuronxcc.nki.as_written" or "trace".
    std::int32_t cores = 1;     ///< Each runs a program of its own.
    std::vector<std::string> arguments{};
    friend bool operator==(const Header&, const Header&) = default;
};

/// An allocation site; every execution of its `alloc` makes an instance.
struct Buffer {
    std::string name{};
    Space space = Space::Sbuf;
    BufferKind kind = BufferKind::Internal;
    Dtype dtype = Dtype::Float32;
    std::vector<std::int64_t> shape{};
    std::optional<std::pair<std::int32_t, std::int64_t>>
        address{};         ///< [partition, byte], if fixed.
    std::string shared{};  ///< What all cores call this HBM buffer; empty if it is private.
    std::vector<SourceFrame> source{};

    [[nodiscard]] std::int64_t partitions() const;     ///< shape[0] on chip, 1 in HBM.
    [[nodiscard]] std::int64_t free_elements() const;  ///< Of one partition; all of them in HBM.
    [[nodiscard]] std::int64_t free_bytes() const;     ///< Of one partition; all of them in HBM.
    friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// A remark of whoever wrote the trace; an unsupported operation is one, too.
struct Note {
    NoteKind kind = NoteKind::Warning;
    std::string text{};
    std::vector<SourceFrame> source{};
    friend bool operator==(const Note&, const Note&) = default;
};

/// A counted loop; `kind` says nothing of what it computes. Iterations of a runtime loop do not
/// overlap, and tiles of its body have no more places than one of them allocates; those of Python's
/// and static ones have as few as a policy says.
struct Loop {
    LoopKind kind = LoopKind::Affine;
    std::string index{};
    std::int64_t count = 1;
    bool is_in_order = false;  ///< No instruction of it passes another one on the same queue.
    std::vector<SourceFrame> source{};
    friend bool operator==(const Loop&, const Loop&) = default;
};

/// One step of the flat pre-order list. A Loop's body is the nodes after it up to its `end`.
struct Node {
    enum class Kind : std::uint8_t { Run, Alloc, Loop, End };
    Kind kind = Kind::Run;
    std::uint32_t index = 0;  ///< Into runs, buffers or loops; of an End: its loop's.
    std::uint32_t match = 0;  ///< Loop: node number of its End; End: of its Loop.
    friend bool operator==(const Node&, const Node&) = default;
};

/// The program of a core after the first. Its declarations follow those of the core before it.
struct Part {
    std::size_t first_buffer = 0;
    std::size_t first_template = 0;
    std::vector<Node> nodes{};
    std::int64_t instruction_count = 0;  ///< Executed runs, loops expanded.
    friend bool operator==(const Part&, const Part&) = default;
};

/// A whole trace. Its size depends on the text of the program, never on trip counts.
struct Program {
    Header header{};
    std::vector<std::string> files{};
    std::vector<Buffer> buffers{};
    std::vector<InstructionTemplate> templates{};
    std::vector<Run> runs{};
    std::vector<Loop> loops{};
    std::vector<Node> nodes{};
    std::vector<Note> notes{};
    std::int64_t instruction_count = 0;  ///< Executed runs of core 0, loops expanded.
    std::int32_t max_depth = 0;          ///< Deepest loop nest.
    std::vector<Part> other_cores{};     ///< Cores 1, 2, …; `nodes` is core 0.

    /// "kernel.py:41" for messages and tables; "?" without a source.
    [[nodiscard]] std::string source_text(const std::vector<SourceFrame>& source) const;
    /// The same of an instruction in a message; "template 3" without a source.
    [[nodiscard]] std::string source_text(const InstructionTemplate& instruction) const;
    /// The same of one of `buffers`; "buffer 3" without a source.
    [[nodiscard]] std::string source_text(const Buffer& buffer) const;
    /// The program of one core as a program of its own; 0 <= core < header.cores.
    [[nodiscard]] Program of_core(std::int32_t core) const;
    /// How often each of `nodes` is executed, a loop and its end counted by their iterations.
    [[nodiscard]] std::vector<std::int64_t> executions() const;
    friend bool operator==(const Program&, const Program&) = default;
};

}  // namespace trnsim::program
