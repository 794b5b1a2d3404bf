// SPDX-License-Identifier: Apache-2.0
// Short ways to write the programs that tests lower and simulate.
#pragma once

#include "trnsim/program/program.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trnsim::test {

/// base + coefficients of the loops around, outermost first.
[[nodiscard]] program::Affine affine(std::int64_t base,
                                     std::initializer_list<std::int64_t> coefficients = {});

/// Where an operand lies: instance, then offset in elements (lowered: address in bytes), then
/// partition.
[[nodiscard]] program::Position at(program::Affine instance = {},
                                   program::Affine offset = {},
                                   program::Affine partition = {});

/// Of a lowered program: byte address and partition.
[[nodiscard]] program::Position address(program::Affine byte, program::Affine partition = {});

/// An operand of a lowered program: `free` elements of each of 128 partitions, in HBM 128 x `free`.
[[nodiscard]] Operand lowered_operand(Role role, Space space, Dtype dtype, std::int64_t free);

/// Builds a program record by record. The source line of buffer b is kernel.py:(1 + b), that of
/// template t kernel.py:(101 + t). What it builds has been through the trace writer and the trace
/// reader, so it is a program that a file can hold.
class ProgramBuilder {
public:
    explicit ProgramBuilder(program::Form form = program::Form::Program);

    /// Where the program puts a tile: partition and byte.
    using FixedAddress = std::pair<std::int32_t, std::int64_t>;

    /// An argument, a result, or a tile to allocate: the first size is the partitions on chip.
    std::uint32_t input(const std::string& name, Dtype dtype, std::vector<std::int64_t> shape);
    std::uint32_t output(const std::string& name, Dtype dtype, std::vector<std::int64_t> shape);
    std::uint32_t tile(const std::string& name,
                       Space space,
                       Dtype dtype,
                       std::vector<std::int64_t> shape,
                       std::optional<FixedAddress> address = {});

    /// An operand that is a whole buffer; written if the role is a result's, else read.
    [[nodiscard]] Operand whole(Role role, std::uint32_t buffer) const;
    /// The first `elements` of each partition, of the first `partitions` partitions (all: 0).
    [[nodiscard]] Operand part(Role role,
                               std::uint32_t buffer,
                               std::int64_t elements,
                               std::int32_t partitions = 0) const;
    /// The first `columns` of each of the first `rows` rows of a tensor in HBM.
    [[nodiscard]] Operand rows(Role role,
                               std::uint32_t buffer,
                               std::int64_t rows,
                               std::int64_t columns) const;

    /// Declares a template.
    std::uint32_t add(Opcode op,
                      std::vector<Engine> engines,
                      std::vector<Operand> operands,
                      Attributes attributes = {});
    std::uint32_t add(InstructionTemplate instruction);
    /// dma_copy of whole buffers.
    std::uint32_t copy(std::uint32_t dst, std::uint32_t src, DgeMode dge = DgeMode::Auto);
    /// An instruction from whole buffer to whole buffer on one engine.
    std::uint32_t unary(Opcode op, Engine engine, std::uint32_t dst, std::uint32_t data);
    /// exp of whole buffers on Scalar, with the sums of the rows.
    std::uint32_t exp_and_sum(std::uint32_t dst, std::uint32_t data, std::uint32_t sum);
    /// nc_matmul of whole buffers.
    std::uint32_t matmul(std::uint32_t dst,
                         std::uint32_t stationary,
                         std::uint32_t moving,
                         bool start = true);

    ProgramBuilder& alloc(std::uint32_t buffer);
    ProgramBuilder& loop(std::int64_t count, bool is_in_order = false);
    ProgramBuilder& end();
    /// Operands left out are at zero.
    ProgramBuilder& run(std::uint32_t instruction,
                        std::vector<program::Position> positions = {},
                        std::vector<program::SemaphoreWait> waits = {},
                        std::vector<program::SemaphoreSignal> signals = {});

    [[nodiscard]] program::Program build() const;
    /// The program as the text of a trace file.
    [[nodiscard]] std::string text() const;

private:
    std::uint32_t declare(program::Buffer buffer);

    program::Program program_;
    std::vector<std::int64_t> trips_{1};
};

/// Reads a trace from its text.
[[nodiscard]] program::Program read_trace(const std::string& text);

}  // namespace trnsim::test
