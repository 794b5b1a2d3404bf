// SPDX-License-Identifier: Apache-2.0
// Bounds of accesses over all iterations.
#include "access_checks.hpp"

#include "affine_reader.hpp"
#include "limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trnsim::program {
namespace {

/// The scales of microscaling: those of several tensors share the partitions of quadrants.
bool is_packed_scale(Role role) {
    return role == Role::DstScale || role == Role::StationaryScale || role == Role::MovingScale;
}

/// DMA engines and the sequencers' registers address any partition.
bool has_start_rule(const InstructionTemplate& instruction, const Operand& operand) {
    return operand.role != Role::Index && !is_packed_scale(operand.role) &&
           !is_dma(instruction.op) && instruction.op != Opcode::RegisterLoad &&
           instruction.op != Opcode::RegisterStore && instruction.op != Opcode::CoreBarrier;
}

/// Engines start at partition 0, 32, 64 or 96 for up to 32 partitions, 0 or 64 for up to 64, else
/// at 0. [NKI-ARCH-V2]
void check_start_partition(const ReaderState& state,
                           const Operand& operand,
                           const Affine& partition,
                           std::int64_t base) {
    const std::int64_t step = operand.partitions <= 32 ? 32 : operand.partitions <= 64 ? 64 : 128;
    Affine absolute = partition;
    absolute.base += base;
    if (!is_multiple(state, absolute, step)) {
        const Interval starts = interval_of(state, absolute, "partition");
        state.place.fail(
            fmt::format("{} partitions start at {}{}, engines start them at {} only; move the tile",
                        operand.partitions,
                        starts.low,
                        starts.low == starts.high ? "" : fmt::format(" to {}", starts.high),
                        step == 32   ? "0, 32, 64 or 96"
                        : step == 64 ? "0 or 64"
                                     : "0"));
    }
}

void check_instance(ReaderState& state, const Operand& operand, const Affine& instance) {
    const Interval range = interval_of(state, instance, "instance");
    const Buffer& buffer = state.program.buffers[operand.buffer];
    if (range.low < 0) {
        state.place.fail(fmt::format("\"instance\" falls to {}; instances of {} count from 0",
                                     range.low,
                                     in_quotes(buffer.name)));
    }
    const bool is_argument = buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output;
    if (is_argument && range.high > 0) {
        state.place.fail(
            fmt::format("\"instance\" rises to {}, but {} is an argument and has one, 0",
                        range.high,
                        in_quotes(buffer.name)));
    }
    HighestUse& highest = state.highest_uses[operand.buffer];
    if (range.high > highest.instance) {
        highest = {range.high, state.place.line()};
    }
}

void check_extent(const ReaderState& state, const Operand& operand, const Interval& offset) {
    const Buffer& buffer = state.program.buffers[operand.buffer];
    const bool is_indirect = operand.indirect.has_value();
    const std::int64_t low = offset.low + (is_indirect ? 0 : operand.pattern.lowest());
    const std::int64_t high = offset.high + (is_indirect ? 0 : operand.pattern.highest());
    const std::int64_t elements = buffer.free_bytes() / size_bytes(operand.dtype);
    if (low < 0 || high >= elements) {
        state.place.fail(
            fmt::format("elements {} to {}{} are accessed, but {} has {} of {}; correct "
                        "\"offset\" or \"pattern\"",
                        low,
                        high,
                        buffer.space == Space::Hbm ? "" : " of a partition",
                        in_quotes(buffer.name),
                        elements,
                        name(operand.dtype)));
    }
}

/// `available`: the partitions that there are; `owner()`: whose they are, for a message.
template <typename F>
void check_partitions(const ReaderState& state,
                      const Operand& operand,
                      const Affine& partition,
                      std::int64_t available,
                      F&& owner) {
    const Interval range = interval_of(state, partition, "partition");
    if (range.low < 0 || range.high > available - operand.partitions) {
        state.place.fail(
            fmt::format("partitions {} to {} are accessed, but {} has {}; correct \"partition\"",
                        range.low,
                        range.high + operand.partitions - 1,
                        owner(),
                        available));
    }
}

}  // namespace

void check_program_access(ReaderState& state,
                          const InstructionTemplate& instruction,
                          const Operand& operand,
                          const Position& position) {
    const Buffer& buffer = state.program.buffers[operand.buffer];
    check_instance(state, operand, position.instance);
    check_extent(state, operand, interval_of(state, position.offset, "offset"));
    if (operand.space == Space::Hbm) {
        return;
    }
    check_partitions(state, operand, position.partition, buffer.partitions(), [&buffer] {
        return in_quotes(buffer.name);
    });
    if (has_start_rule(instruction, operand)) {
        const std::int64_t base = buffer.address ? buffer.address->first : 0;
        check_start_partition(state, operand, position.partition, base);
    }
}

void check_lowered_access(const ReaderState& state,
                          const InstructionTemplate& instruction,
                          const Operand& operand,
                          const Position& position) {
    const Interval address = interval_of(state, position.offset, "address");
    const std::int64_t reach =
        operand.indirect ? 0 : operand.pattern.lowest() * size_bytes(operand.dtype);
    if (address.low + reach < 0) {
        state.place.fail(
            fmt::format("byte {} is accessed, but addresses count from 0; correct "
                        "\"address\" or \"pattern\"",
                        address.low + reach));
    }
    if (operand.space == Space::Hbm) {
        return;
    }
    check_partitions(state, operand, position.partition, kPartitions, [&operand] {
        return name(operand.space);
    });
    if (has_start_rule(instruction, operand)) {
        check_start_partition(state, operand, position.partition, 0);
    }
}

void check_instances_exist(const ReaderState& state) {
    for (std::size_t i = 0; i < state.highest_uses.size(); ++i) {
        const HighestUse& use = state.highest_uses[i];
        if (use.instance >= state.instances[i]) {
            state.place.fail_at(
                use.line,
                fmt::format("instance {} of buffer {} ({}) is accessed, but the program allocates "
                            "{}; add \"alloc\" records or correct \"instance\"",
                            use.instance,
                            i,
                            in_quotes(state.program.buffers[i].name),
                            state.instances[i]));
        }
    }
}

}  // namespace trnsim::program
