// SPDX-License-Identifier: Apache-2.0
// Iterations of loops of the run time end where the walk leaves them, and nowhere else.
#include "trnsim/lowering/analysis/runtime_iterations.hpp"

#include "support/program_builder.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace trnsim::lowering {
namespace {

using program::LoopKind;

/// What is walked: a digit for each instruction, "|" where an iteration has ended before it.
std::string walk(test::ProgramBuilder& builder,
                 std::initializer_list<LoopKind> kinds,
                 const Policies& policies = {}) {
    program::Program program = builder.build();
    std::size_t loop = 0;
    for (const LoopKind kind : kinds) {
        program.loops.at(loop++).kind = kind;
    }
    RuntimeIterations iterations(program, policies);
    program::Cursor cursor(program);
    std::string text;
    std::int64_t ended = 0;
    while (const program::Step* step = cursor.next()) {
        if (!step->is_alloc) {
            const std::int64_t now = iterations.ended_before(*step);
            EXPECT_LE(now, ended + 1);
            text += now > ended ? "|" : "";
            text += std::to_string(step->run);
            ended = now;
        }
    }
    return text;
}

/// Runs number 0, 1, … of one instruction.
class Runs : public test::ProgramBuilder {
public:
    Runs() : copy_(unary(Opcode::TensorCopy, Engine::Vector, tile_, tile_)) { alloc(tile_); }

    Runs& once() {
        run(copy_);
        return *this;
    }

private:
    std::uint32_t tile_ = tile("tile", Space::Sbuf, Dtype::Float32, {128, 16});
    std::uint32_t copy_;
};

/// A loop of two in the middle of the body of a loop of two.
Runs nested() {
    Runs runs;
    runs.loop(2);
    runs.once().loop(2);
    runs.once().end();
    runs.once().end();
    return runs;
}

TEST(RuntimeIterationsTest, EndBetweenIterationsAndAfterTheLast) {
    Runs runs;
    runs.once().loop(3);
    runs.once().once().end();
    runs.once();
    EXPECT_EQ(walk(runs, {LoopKind::Runtime}), "012|12|12|3");
}

TEST(RuntimeIterationsTest, ThePolicyLeavesThemOut) {
    Runs runs;
    runs.loop(3);
    runs.once().end();
    runs.once();
    EXPECT_EQ(walk(runs, {LoopKind::Runtime}, {.drain_iterations = false}), "0001");
}

TEST(RuntimeIterationsTest, OtherLoopsHaveNone) {
    for (const LoopKind kind :
         {LoopKind::Affine, LoopKind::Sequential, LoopKind::Static, LoopKind::Python}) {
        Runs runs;
        runs.loop(3);
        runs.once().end();
        runs.once();
        EXPECT_EQ(walk(runs, {kind}), "0001");
    }
}

TEST(RuntimeIterationsTest, LoopsInsideDoNotEndThem) {
    Runs runs = nested();
    EXPECT_EQ(walk(runs, {LoopKind::Runtime, LoopKind::Affine}), "0112|0112");
}

TEST(RuntimeIterationsTest, ALoopOfTheRunTimeInsideEndsItsOwn) {
    Runs runs = nested();
    EXPECT_EQ(walk(runs, {LoopKind::Runtime, LoopKind::Runtime}), "01|1|2|01|1|2");
}

TEST(RuntimeIterationsTest, EnteringALoopAgainEndsItsLastIteration) {
    Runs runs;
    runs.loop(3).loop(1);
    runs.once().end().end();
    EXPECT_EQ(walk(runs, {LoopKind::Affine, LoopKind::Runtime}), "0|0|0");
}

TEST(RuntimeIterationsTest, LoopsThatFollowEachOtherAreTold) {
    Runs runs;
    runs.loop(1);
    runs.once().end().loop(1);
    runs.once().end();
    EXPECT_EQ(walk(runs, {LoopKind::Runtime, LoopKind::Runtime}), "0|1");
}

}  // namespace
}  // namespace trnsim::lowering
