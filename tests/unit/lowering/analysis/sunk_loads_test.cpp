// SPDX-License-Identifier: Apache-2.0
// What SBUF has no room for beside a loop is loaded in the loop, and nothing else changes.
#include "trnsim/lowering/analysis/sunk_loads.hpp"

#include "support/program_builder.hpp"
#include "symbolic_values.hpp"
#include "trnsim/lowering/policies.hpp"
#include "trnsim/lowering/tiles/allocation.hpp"
#include "trnsim/program/cursor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace trnsim::lowering {
namespace {

using program::Program;
using test::affine;
using test::at;

constexpr std::int64_t kPasses = 2;
constexpr std::int64_t kTilesOfBlock = 4;
constexpr std::int64_t kSteps = 3;
constexpr std::int64_t kRowsOfTile = 2;
constexpr std::int64_t kTileColumns = 256;  ///< A tile has 1 KiB in each partition.
constexpr std::int64_t kTileElements = kRowsOfTile * kTileColumns;

constexpr std::uint32_t kIn = 0;  ///< Numbers of buffers.
constexpr std::uint32_t kTile = 2;
constexpr std::uint32_t kOther = 4;

/// for pass: load tiles; for row: for each tile: store what it comes to
struct Hoisted {
    test::ProgramBuilder builder;
    std::uint32_t in =
        builder.input("in", Dtype::Float32, {kPasses * kTilesOfBlock * kRowsOfTile, kTileColumns});
    std::uint32_t out = builder.output(
        "out", Dtype::Float32, {kPasses * kSteps * kTilesOfBlock * kRowsOfTile, kTileColumns});
    std::uint32_t tile =
        builder.tile("tile", Space::Sbuf, Dtype::Float32, {kRowsOfTile, kTileColumns});
    std::uint32_t result =
        builder.tile("result", Space::Sbuf, Dtype::Float32, {kRowsOfTile, kTileColumns});

    [[nodiscard]] Operand rows_of(Role role, std::uint32_t buffer) const {
        return builder.rows(role, buffer, kRowsOfTile, kTileColumns);
    }
    std::uint32_t load(std::uint32_t site) {
        return builder.add(Opcode::DmaCopy,
                           {Engine::Dma},
                           {builder.whole(Role::Dst, site), rows_of(Role::Src, in)});
    }
    void load_tiles(std::uint32_t site) {
        const auto one = load(site);
        builder.loop(kTilesOfBlock)
            .alloc(site)
            .run(one,
                 {at(affine(0, {kTilesOfBlock, 1})),
                  at({}, affine(0, {kTilesOfBlock * kTileElements, kTileElements}))})
            .end();
    }
    /// In the loops over passes, rows and tiles.
    void use(std::uint32_t site, const program::Affine& number) { use(site, number, result); }
    void use(std::uint32_t site, const program::Affine& number, std::uint32_t to) {
        const auto take = builder.unary(Opcode::Reciprocal, Engine::Vector, to, site);
        const auto store = builder.add(Opcode::DmaCopy,
                                       {Engine::Dma},
                                       {rows_of(Role::Dst, out), builder.whole(Role::Src, to)});
        const auto instance = affine(0, {kSteps * kTilesOfBlock, kTilesOfBlock, 1});
        builder.alloc(to)
            .run(take, {at(instance), at(number)})
            .run(store,
                 {at({},
                     affine(0,
                            {kSteps * kTilesOfBlock * kTileElements,
                             kTilesOfBlock * kTileElements,
                             kTileElements})),
                  at(instance)});
    }
    void use_in_rows(std::uint32_t site,
                     const program::Affine& number = affine(0, {kTilesOfBlock, 0, 1})) {
        builder.loop(kSteps).loop(kTilesOfBlock);
        use(site, number);
        builder.end().end();
    }
};

Program of_passes(const std::function<void(Hoisted&)>& body) {
    Hoisted kernel;
    kernel.builder.loop(kPasses);
    body(kernel);
    Program program = kernel.builder.end().build();
    for (InstructionTemplate& instruction : program.templates) {
        if (instruction.op == Opcode::DmaCopy) {  // Formulas tell instructions apart by lines.
            instruction.source = {{.file = 0, .line = 7}};
        }
    }
    return program;
}

Program hoisted() {
    return of_passes([](Hoisted& kernel) {
        kernel.load_tiles(kernel.tile);
        kernel.use_in_rows(kernel.tile);
    });
}

SunkLoads sinking(const Program& program, std::int64_t kib) {
    ChipSpec chip;
    chip.neuron_core.sbuf.partition_kib = chip.neuron_core.sbuf.usable_partition_kib = kib;
    const auto fits = [&](const std::vector<SiteLiveness>& lives) {
        return fits_into_sbuf(program, lives, chip, {});
    };
    return sink_loads(program, analyse_liveness(program), fits)
        .value_or(SunkLoads{.program = program, .passes = {}});
}

Program sunk(const Program& program, std::int64_t kib) {
    return sinking(program, kib).program;
}

using Passes = std::map<std::uint32_t, std::int64_t>;

/// Five tiles live, and two if every iteration loads what it reads: this is in between.
constexpr std::int64_t kFull = 4;

std::int64_t executions_of(const Program& program, std::uint32_t site) {
    std::int64_t count = 0;
    program::Cursor cursor(program);
    while (const program::Step* step = cursor.next()) {
        if (!step->is_alloc) {
            const auto& operands = program.templates[program.runs[step->run].instruction].operands;
            count += operands.front().buffer == site ? 1 : 0;
        }
    }
    return count;
}

TEST(SunkLoadsTest, EveryIterationLoadsWhatDoesNotFitBesideTheLoop) {
    const Program program = hoisted();
    const Program after = sunk(program, kFull);
    EXPECT_EQ(executions_of(program, kTile), kPasses * kTilesOfBlock);
    EXPECT_EQ(executions_of(after, kTile), kPasses * kSteps * kTilesOfBlock);
    EXPECT_EQ(after.instruction_count,
              program.instruction_count + kPasses * (kSteps - 1) * kTilesOfBlock);
    EXPECT_EQ(after.max_depth, program.max_depth);
    EXPECT_EQ(test::symbolic_values(after), test::symbolic_values(program));
    EXPECT_EQ(sunk(after, kFull), after);
    EXPECT_EQ(sinking(program, kFull).passes, (Passes{{kTile, kSteps}}));
}

TEST(SunkLoadsTest, WhatALoopKeepsInOrderStaysWhereItIs) {
    for (const std::size_t loop : {0U, 1U, 2U}) {  // Of passes, of loads, of rows.
        Program program = hoisted();
        program.loops[loop].is_in_order = true;
        EXPECT_EQ(sunk(program, kFull), program) << loop;
    }
}

TEST(SunkLoadsTest, LoopsOfLoadsAreDeeperThen) {
    const Program program = of_passes([](Hoisted& kernel) {
        kernel.load_tiles(kernel.tile);
        kernel.builder.loop(kSteps);
        const auto take =
            kernel.builder.unary(Opcode::Reciprocal, Engine::Vector, kernel.result, kernel.tile);
        kernel.builder.alloc(kernel.result);
        for (std::int64_t i = 0; i < kTilesOfBlock; ++i) {
            kernel.builder.run(take, {at(affine(0, {kSteps, 1})), at(affine(i, {kTilesOfBlock}))});
        }
        kernel.builder.end();
    });
    EXPECT_EQ(program.max_depth, 2);
    EXPECT_EQ(sunk(program, kFull).max_depth, 3);
}

/// The same in one more loop, whose iterations read the tiles with those numbers.
Program twice(const program::Affine& number) {
    return of_passes([&](Hoisted& kernel) {
        const auto load = kernel.load(kernel.tile);
        const auto take =
            kernel.builder.unary(Opcode::Reciprocal, Engine::Vector, kernel.result, kernel.tile);
        const auto instance =
            affine(0, {2 * kSteps * kTilesOfBlock, kSteps * kTilesOfBlock, kTilesOfBlock, 1});
        kernel.builder.loop(2)
            .loop(kTilesOfBlock)
            .alloc(kernel.tile)
            .run(load,
                 {at(affine(0, {2 * kTilesOfBlock, kTilesOfBlock, 1})),
                  at({}, affine(0, {kTilesOfBlock * kTileElements, 0, kTileElements}))})
            .end()
            .loop(kSteps)
            .loop(kTilesOfBlock)
            .alloc(kernel.result)
            .run(take, {at(instance), at(number)})
            .end()
            .end()
            .end();
    });
}

TEST(SunkLoadsTest, LoopsAroundNumberTheTiles) {
    const Program program = twice(affine(0, {2 * kTilesOfBlock, kTilesOfBlock, 0, 1}));
    const Program after = sunk(program, kFull);
    EXPECT_EQ(executions_of(after, kTile), 2 * kPasses * kSteps * kTilesOfBlock);
    EXPECT_EQ(after.instruction_count,
              program.instruction_count + 2 * kPasses * (kSteps - 1) * kTilesOfBlock);
    const auto number_in = [](const Program& of, std::size_t run) {
        return of.runs[run].at[1].instance;
    };
    EXPECT_EQ(number_in(after, 1),
              affine(0, {2 * kSteps * kTilesOfBlock, kSteps * kTilesOfBlock, kTilesOfBlock, 1}));
    const Program first = twice(affine(0, {2 * kTilesOfBlock, 0, 0, 1}));
    EXPECT_EQ(sunk(first, kFull), first) << "always those of the first iteration";
    const Program other = twice(affine(0, {0, kTilesOfBlock, 0, 1}));
    EXPECT_EQ(sunk(other, kFull), other) << "always those of the first pass";
}

TEST(SunkLoadsTest, OnlyTheOldCompilersMiddleEndSinksThem) {
    EXPECT_TRUE(default_policies("neuronxcc.nki").sink_loads);
    EXPECT_FALSE(default_policies("neuronxcc.nki.as_written").sink_loads);
    EXPECT_FALSE(default_policies("nki").sink_loads);
}

TEST(SunkLoadsTest, WhereEverythingFitsNothingChanges) {
    const Program program = hoisted();
    EXPECT_EQ(sunk(program, 5), program);
}

TEST(SunkLoadsTest, WhereItWouldNotFitEvenSoNothingChanges) {
    const Program program = hoisted();
    EXPECT_EQ(sunk(program, 1), program);
}

TEST(SunkLoadsTest, TheLargestGoUntilTheOthersFit) {
    const Program program = of_passes([](Hoisted& kernel) {
        const auto other =
            kernel.builder.tile("other", Space::Sbuf, Dtype::Float32, {kRowsOfTile, kTileColumns});
        std::array<std::uint32_t, 2> rest{};
        for (std::uint32_t& one : rest) {
            one = kernel.builder.tile(
                "rest", Space::Sbuf, Dtype::Float32, {kRowsOfTile, kTileColumns});
        }
        const auto load = kernel.load(other);
        kernel.load_tiles(kernel.tile);
        kernel.builder.loop(2)
            .alloc(other)
            .run(load,
                 {at(affine(0, {2, 1})), at({}, affine(0, {2 * kTileElements, kTileElements}))})
            .end();
        kernel.builder.loop(kSteps).loop(kTilesOfBlock);
        kernel.use(kernel.tile, affine(0, {kTilesOfBlock, 0, 1}));
        kernel.use(other, affine(0, {2}), rest[0]);
        kernel.use(other, affine(1, {2}), rest[1]);
        kernel.builder.end().end();
    });
    const Program first = sunk(program, 6);
    EXPECT_EQ(executions_of(first, kTile), kPasses * kSteps * kTilesOfBlock);
    EXPECT_EQ(executions_of(first, kOther), kPasses * 2);
    EXPECT_EQ(test::symbolic_values(first), test::symbolic_values(program));
    const Program both = sunk(program, 5);
    EXPECT_EQ(executions_of(both, kTile), kPasses * kSteps * kTilesOfBlock);
    EXPECT_EQ(executions_of(both, kOther), kPasses * kSteps * 2);
    EXPECT_EQ(test::symbolic_values(both), test::symbolic_values(program));
    EXPECT_EQ(sinking(program, 5).passes, (Passes{{kTile, kSteps}, {kOther, kSteps}}));
}

TEST(SunkLoadsTest, WhatIsReadElsewhereTooStays) {
    for (const bool is_before : {false, true}) {
        const Program program = of_passes([&](Hoisted& kernel) {
            const auto read = [&] {
                const auto take = kernel.builder.unary(
                    Opcode::Reciprocal, Engine::Vector, kernel.result, kernel.tile);
                kernel.builder.alloc(kernel.result)
                    .run(take, {at(), at(affine(0, {kTilesOfBlock}))});
            };
            kernel.load_tiles(kernel.tile);
            if (is_before) {
                read();
            }
            kernel.use_in_rows(kernel.tile);
            if (!is_before) {
                read();
            }
        });
        EXPECT_EQ(sunk(program, kFull), program) << is_before;
    }
}

TEST(SunkLoadsTest, WhatIsReadBesideItsLoadsStays) {
    const Program program = of_passes([](Hoisted& kernel) {
        kernel.load_tiles(kernel.tile);
        const auto take =
            kernel.builder.unary(Opcode::Reciprocal, Engine::Vector, kernel.result, kernel.tile);
        kernel.builder.alloc(kernel.result);
        for (std::int64_t i = 0; i < kTilesOfBlock; ++i) {
            kernel.builder.run(take, {at(affine(0, {1})), at(affine(i, {kTilesOfBlock}))});
        }
    });
    EXPECT_EQ(sunk(program, kFull), program);
}

TEST(SunkLoadsTest, LoadsInALoopThatDoesMoreStay) {
    const Program program = of_passes([](Hoisted& kernel) {
        const auto load = kernel.load(kernel.tile);
        const auto other =
            kernel.builder.tile("other", Space::Sbuf, Dtype::Float32, {kRowsOfTile, kTileColumns});
        const auto take =
            kernel.builder.unary(Opcode::Reciprocal, Engine::Vector, other, kernel.tile);
        kernel.builder.alloc(other)
            .loop(kTilesOfBlock)
            .alloc(kernel.tile)
            .run(load, {at(affine(0, {kTilesOfBlock, 1}))})
            .run(kernel.builder.unary(Opcode::Reciprocal, Engine::Vector, other, other),
                 {at(affine(0, {1})), at(affine(0, {1}))})
            .end()
            .loop(kSteps)
            .loop(kTilesOfBlock)
            .run(take, {at(affine(0, {1})), at(affine(0, {kTilesOfBlock, 0, 1}))})
            .end()
            .end();
    });
    EXPECT_EQ(sunk(program, kFull), program);
}

TEST(SunkLoadsTest, WhatEachIterationReadsOneOfStays) {
    const Program program = of_passes([](Hoisted& kernel) {
        kernel.load_tiles(kernel.tile);
        kernel.use_in_rows(kernel.tile, affine(0, {kTilesOfBlock, 1}));
    });
    EXPECT_EQ(sunk(program, kFull), program);
}

TEST(SunkLoadsTest, LoopsThatACompilerUnrollsOrOfTheRunTimeTakeNothing) {
    for (const auto kind :
         {program::LoopKind::Python, program::LoopKind::Static, program::LoopKind::Runtime}) {
        for (const std::size_t loop : {1U, 2U}) {  // That of the loads, and that over rows.
            Program program = hoisted();
            program.loops[loop].kind = kind;
            EXPECT_EQ(sunk(program, kFull), program) << loop;
        }
    }
}

TEST(SunkLoadsTest, TilesThatAreWrittenStay) {
    const Program program = of_passes([](Hoisted& kernel) {
        kernel.load_tiles(kernel.tile);
        kernel.builder.loop(kSteps).loop(kTilesOfBlock);
        const auto change =
            kernel.builder.unary(Opcode::Reciprocal, Engine::Vector, kernel.tile, kernel.tile);
        const auto number = affine(0, {kTilesOfBlock, 0, 1});
        kernel.builder.run(change, {at(number), at(number)});
        kernel.use(kernel.tile, number);
        kernel.builder.end().end();
    });
    EXPECT_EQ(sunk(program, kFull), program);
}

TEST(SunkLoadsTest, WhatTheProgramOrAnotherCoreMayWriteStays) {
    Program program = hoisted();
    program.buffers[kIn].kind = program::BufferKind::Internal;
    EXPECT_EQ(sunk(program, kFull), program);
    const Program written = of_passes([](Hoisted& kernel) {
        kernel.load_tiles(kernel.tile);
        kernel.use_in_rows(kernel.tile);
        kernel.builder.run(kernel.builder.add(Opcode::DmaCopy,
                                              {Engine::Dma},
                                              {kernel.rows_of(Role::Dst, kernel.in),
                                               kernel.builder.whole(Role::Src, kernel.result)}));
    });
    EXPECT_EQ(sunk(written, kFull), written);
}

TEST(SunkLoadsTest, TilesWithAddressesStay) {
    Program program = hoisted();
    program.buffers[kTile].address = {0, 0};
    EXPECT_EQ(sunk(program, kFull), program);
}

}  // namespace
}  // namespace trnsim::lowering
