// SPDX-License-Identifier: Apache-2.0
// Building programs record by record.
#include "support/program_builder.hpp"

#include "trnsim/program/reader.hpp"
#include "trnsim/program/writer.hpp"

#include <sstream>

namespace trnsim::test {

using program::Affine;
using program::Node;
using program::Position;

namespace {

bool is_result(Role role) {
    return role == Role::Dst || role == Role::ReduceResult || role == Role::DstScale;
}

}  // namespace

Affine affine(std::int64_t base, std::initializer_list<std::int64_t> coefficients) {
    Affine value{.base = base};
    std::int32_t depth = 0;
    for (const std::int64_t coefficient : coefficients) {
        if (coefficient != 0) {
            value.terms.push_back({.depth = depth, .coefficient = coefficient});
        }
        ++depth;
    }
    return value;
}

Position at(Affine instance, Affine offset, Affine partition) {
    return {.instance = std::move(instance),
            .offset = std::move(offset),
            .partition = std::move(partition)};
}

Position address(Affine byte, Affine partition) {
    return at({}, std::move(byte), std::move(partition));
}

Operand lowered_operand(Role role, Space space, Dtype dtype, std::int64_t free) {
    constexpr std::int32_t kPartitions = 128;
    const bool is_hbm = space == Space::Hbm;
    return {.role = role,
            .access = is_result(role) ? Access::Write : Access::Read,
            .space = space,
            .dtype = dtype,
            .partitions = is_hbm ? 1 : kPartitions,
            .pattern = {{1, is_hbm ? kPartitions * free : free}}};
}

ProgramBuilder::ProgramBuilder(program::Form form) {
    program_.header.form = form;
    program_.header.target = "trn2";
    program_.header.kernel = "test";
    program_.files.emplace_back("kernel.py");
}

std::uint32_t ProgramBuilder::declare(program::Buffer buffer) {
    const auto id = static_cast<std::uint32_t>(program_.buffers.size());
    buffer.source = {{.file = 0, .line = 1 + id}};
    program_.buffers.push_back(std::move(buffer));
    return id;
}

std::uint32_t ProgramBuilder::input(const std::string& name,
                                    Dtype dtype,
                                    std::vector<std::int64_t> shape) {
    return declare({.name = name,
                    .space = Space::Hbm,
                    .kind = program::BufferKind::Input,
                    .dtype = dtype,
                    .shape = std::move(shape)});
}

std::uint32_t ProgramBuilder::output(const std::string& name,
                                     Dtype dtype,
                                     std::vector<std::int64_t> shape) {
    return declare({.name = name,
                    .space = Space::Hbm,
                    .kind = program::BufferKind::Output,
                    .dtype = dtype,
                    .shape = std::move(shape)});
}

std::uint32_t ProgramBuilder::tile(const std::string& name,
                                   Space space,
                                   Dtype dtype,
                                   std::vector<std::int64_t> shape,
                                   std::optional<FixedAddress> address) {
    return declare({.name = name,
                    .space = space,
                    .dtype = dtype,
                    .shape = std::move(shape),
                    .address = address});
}

Operand ProgramBuilder::whole(Role role, std::uint32_t buffer) const {
    return part(role, buffer, program_.buffers[buffer].free_elements());
}

Operand ProgramBuilder::part(Role role,
                             std::uint32_t buffer,
                             std::int64_t elements,
                             std::int32_t partitions) const {
    const program::Buffer& of = program_.buffers[buffer];
    return {.role = role,
            .access = is_result(role) ? Access::Write : Access::Read,
            .space = of.space,
            .dtype = of.dtype,
            .buffer = buffer,
            .partitions = partitions > 0 ? partitions : static_cast<std::int32_t>(of.partitions()),
            .pattern = {{1, elements}}};
}

Operand ProgramBuilder::rows(Role role,
                             std::uint32_t buffer,
                             std::int64_t rows,
                             std::int64_t columns) const {
    Operand operand = whole(role, buffer);
    operand.pattern = {{program_.buffers[buffer].shape.back(), rows}, {1, columns}};
    return operand;
}

std::uint32_t ProgramBuilder::add(InstructionTemplate instruction) {
    const auto id = static_cast<std::uint32_t>(program_.templates.size());
    instruction.source = {{.file = 0, .line = 101 + id}};
    program_.templates.push_back(std::move(instruction));
    return id;
}

std::uint32_t ProgramBuilder::add(Opcode op,
                                  std::vector<Engine> engines,
                                  std::vector<Operand> operands,
                                  Attributes attributes) {
    return add({.op = op,
                .engines = std::move(engines),
                .operands = std::move(operands),
                .attributes = std::move(attributes)});
}

std::uint32_t ProgramBuilder::copy(std::uint32_t dst, std::uint32_t src, DgeMode dge) {
    return add(Opcode::DmaCopy,
               {Engine::Dma},
               {whole(Role::Dst, dst), whole(Role::Src, src)},
               {.dge = dge});
}

std::uint32_t ProgramBuilder::unary(Opcode op,
                                    Engine engine,
                                    std::uint32_t dst,
                                    std::uint32_t data) {
    return add(op, {engine}, {whole(Role::Dst, dst), whole(Role::Data, data)});
}

std::uint32_t ProgramBuilder::exp_and_sum(std::uint32_t dst,
                                          std::uint32_t data,
                                          std::uint32_t sum) {
    return add(Opcode::ActivationReduce,
               {Engine::Scalar},
               {whole(Role::Dst, dst), whole(Role::Data, data), whole(Role::ReduceResult, sum)},
               {.reduce_op = "add", .function = "exp"});
}

std::uint32_t ProgramBuilder::matmul(std::uint32_t dst,
                                     std::uint32_t stationary,
                                     std::uint32_t moving,
                                     bool start) {
    Operand result = whole(Role::Dst, dst);
    result.access = start ? Access::Write : Access::Accumulate;
    return add(Opcode::NcMatmul,
               {Engine::Tensor},
               {result, whole(Role::Stationary, stationary), whole(Role::Moving, moving)},
               {.start = start});
}

ProgramBuilder& ProgramBuilder::alloc(std::uint32_t buffer) {
    program_.nodes.push_back({.kind = Node::Kind::Alloc, .index = buffer});
    return *this;
}

ProgramBuilder& ProgramBuilder::loop(std::int64_t count, bool is_in_order) {
    const auto id = static_cast<std::uint32_t>(program_.loops.size());
    program_.loops.push_back(
        {.index = "i" + std::to_string(id), .count = count, .is_in_order = is_in_order});
    program_.nodes.push_back({.kind = Node::Kind::Loop, .index = id});
    trips_.push_back(trips_.back() * count);
    return *this;
}

ProgramBuilder& ProgramBuilder::end() {
    program_.nodes.push_back({.kind = Node::Kind::End});
    trips_.pop_back();
    return *this;
}

ProgramBuilder& ProgramBuilder::run(std::uint32_t instruction,
                                    std::vector<Position> positions,
                                    std::vector<program::SemaphoreWait> waits,
                                    std::vector<program::SemaphoreSignal> signals) {
    positions.resize(program_.templates[instruction].operands.size());
    program_.nodes.push_back(
        {.kind = Node::Kind::Run, .index = static_cast<std::uint32_t>(program_.runs.size())});
    program_.runs.push_back({.instruction = instruction,
                             .at = std::move(positions),
                             .waits = std::move(waits),
                             .signals = std::move(signals)});
    program_.instruction_count += trips_.back();
    return *this;
}

std::string ProgramBuilder::text() const {
    std::ostringstream output;
    program::write(program_, output);
    return output.str();
}

program::Program ProgramBuilder::build() const {
    return read_trace(text());
}

program::Program read_trace(const std::string& text) {
    std::istringstream input(text);
    return program::read(input, "test.nkt");
}

}  // namespace trnsim::test
