// SPDX-License-Identifier: Apache-2.0
// Programs whose iterations may be merged, and what they execute.
#pragma once

#include "lowered_program.hpp"
#include "support/program_builder.hpp"
#include "trnsim/lowering/analysis/iteration_merging.hpp"
#include "trnsim/program/cursor.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trnsim::test {

inline constexpr std::int32_t kRows = 4;  ///< Partitions; few, because formulas are kept of each.

inline program::Program merged(const program::Program& program) {
    static const ChipSpec chip = chip_named("trainium2");
    return lowering::IterationMerging(chip.neuron_core).apply(program);
}

/// A value so many times.
inline program::Affine times(program::Affine value, std::int64_t factor) {
    value.base *= factor;
    for (program::Affine::Term& term : value.terms) {
        term.coefficient *= factor;
    }
    return value;
}

/// A tile of `elements` of a tensor that holds such tiles one after the other.
inline Operand tile_in(const ProgramBuilder& builder,
                       Role role,
                       std::uint32_t tensor,
                       std::int64_t elements) {
    Operand operand = builder.whole(role, tensor);
    operand.pattern = {{1, elements}};
    return operand;
}

using Counts = std::map<std::string, int>;

/// Executed instructions by operation, with the elements per partition of their results.
inline Counts executed(const program::Program& program) {
    Counts counts;
    program::Cursor cursor(program);
    while (const program::Step* step = cursor.next()) {
        if (!step->is_alloc) {
            const InstructionTemplate& what =
                program.templates[program.runs[step->run].instruction];
            ++counts[std::string(name(what.op)) + " " +
                     std::to_string(what.operands.front().elements())];
        }
    }
    return counts;
}

/// Of the wide tiles of `Maxima`.
struct MaximaShape {
    std::int32_t rows = kRows;
    std::int64_t wide = 1024;
    Space space = Space::Sbuf;  ///< Of those that are loaded, or filled in PSUM.
};

/// Row maxima of wide tiles, as in a softmax: one narrow instruction between wide ones.
struct Maxima {
    explicit Maxima(std::int64_t iterations, const MaximaShape& of = {})
        : trips(iterations), shape(of) {}

    std::int64_t trips;
    MaximaShape shape;
    ProgramBuilder builder;
    std::uint32_t in = builder.input("in", Dtype::Float32, {trips, shape.rows, shape.wide});
    std::uint32_t out = builder.output("out", Dtype::Float32, {trips, shape.rows, shape.wide});
    std::uint32_t x = builder.tile("x", shape.space, Dtype::Float32, {shape.rows, shape.wide});
    std::uint32_t top = builder.tile("top", Space::Sbuf, Dtype::Float32, {shape.rows, 1});
    std::uint32_t inverse = builder.tile("inverse", Space::Sbuf, Dtype::Float32, {shape.rows, 1});
    std::uint32_t y = builder.tile("y", Space::Sbuf, Dtype::Float32, {shape.rows, shape.wide});
    bool is_loaded = shape.space == Space::Sbuf;
    std::uint32_t load =
        is_loaded
            ? builder.add(Opcode::DmaCopy,
                          {Engine::Dma},
                          {builder.whole(Role::Dst, x), tensor(Role::Src, in)})
            : builder.add(
                  Opcode::Memset, {Engine::Vector}, {builder.whole(Role::Dst, x)}, {.value = 1.0});
    std::uint32_t reduce =
        builder.add(Opcode::TensorReduce,
                    {Engine::Vector},
                    {builder.whole(Role::Dst, top), builder.whole(Role::Data, x)},
                    {.op0 = "maximum"});
    std::uint32_t invert = builder.unary(Opcode::Reciprocal, Engine::Vector, inverse, top);
    std::uint32_t scale = builder.add(Opcode::TensorScalar,
                                      {Engine::Vector},
                                      {builder.whole(Role::Dst, y),
                                       builder.whole(Role::Data, x),
                                       builder.whole(Role::Operand0, inverse)},
                                      {.op0 = "multiply"});
    std::uint32_t store = builder.add(
        Opcode::DmaCopy, {Engine::Dma}, {tensor(Role::Dst, out), builder.whole(Role::Src, y)});

    [[nodiscard]] Operand tensor(Role role, std::uint32_t buffer) const {
        return tile_in(builder, role, buffer, shape.rows * shape.wide);
    }

    program::Program build() {
        const auto tile = at(affine(0, {1}));
        const auto rows = at({}, affine(0, {shape.rows * shape.wide}));
        builder.loop(trips).alloc(x).alloc(top).alloc(inverse).alloc(y);
        builder.run(load, is_loaded ? std::vector{tile, rows} : std::vector{tile})
            .run(reduce, {tile, tile})
            .run(invert, {tile, tile})
            .run(scale, {tile, tile, tile})
            .run(store, {rows, tile})
            .end();
        return builder.build();
    }
};

}  // namespace trnsim::test
