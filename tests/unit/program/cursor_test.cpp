// SPDX-License-Identifier: Apache-2.0
// The cursor: compared, forwards and backwards, with the plain recursive expansion of random
// programs.
#include "trnsim/program/cursor.hpp"

#include "random_program.hpp"
#include "trace_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace trnsim::program {
namespace {

/// A step with its spans copied.
struct Taken {
    bool is_alloc = false;
    std::uint32_t node = 0;
    std::uint32_t run = 0;
    std::vector<Step::At> at{};
    std::vector<std::int64_t> iterations{};
    friend bool operator==(const Taken&, const Taken&) = default;
};

/// Executes nodes [begin, end) by recursion.
void expand(const Program& program,
            std::uint32_t begin,
            std::uint32_t end,
            std::vector<std::int64_t>& iterations,
            std::vector<Taken>& steps) {
    for (std::uint32_t number = begin; number < end; ++number) {
        const Node& node = program.nodes[number];
        if (node.kind == Node::Kind::Loop) {
            for (std::int64_t i = 0; i < program.loops[node.index].count; ++i) {
                iterations.push_back(i);
                expand(program, number + 1, node.match, iterations, steps);
                iterations.pop_back();
            }
            number = node.match;
            continue;
        }
        Taken step{.is_alloc = node.kind == Node::Kind::Alloc,
                   .node = number,
                   .run = node.index,
                   .iterations = iterations};
        if (!step.is_alloc) {
            for (const Position& position : program.runs[node.index].at) {
                step.at.push_back({evaluate(position.instance, iterations),
                                   evaluate(position.offset, iterations),
                                   evaluate(position.partition, iterations)});
            }
        }
        steps.push_back(std::move(step));
    }
}

std::vector<Taken> expansion_of(const Program& program) {
    std::vector<std::int64_t> iterations;
    std::vector<Taken> steps;
    expand(program, 0, static_cast<std::uint32_t>(program.nodes.size()), iterations, steps);
    return steps;
}

std::vector<Taken> walk(const Program& program, Cursor::Direction direction) {
    std::vector<Taken> steps;
    Cursor cursor(program, direction);
    while (const Step* step = cursor.next()) {
        steps.push_back({.is_alloc = step->is_alloc,
                         .node = step->node,
                         .run = step->run,
                         .at = {step->at.begin(), step->at.end()},
                         .iterations = {step->iterations.begin(), step->iterations.end()}});
    }
    EXPECT_EQ(cursor.next(), nullptr) << "the end stays the end";
    return steps;
}

TEST(CursorTest, YieldsTheStepsOfTheSampleInOrder) {
    const Program program = read_text(sample());
    const std::vector<Taken> steps = walk(program, Cursor::Direction::Forward);
    ASSERT_EQ(steps.size(), 8U);
    EXPECT_EQ(steps[0], (Taken{.is_alloc = true, .node = 1, .run = 1, .iterations = {0}}));
    EXPECT_EQ(steps[6],
              (Taken{.is_alloc = false,
                     .node = 3,
                     .run = 0,
                     .at = {{1, 0, 0}, {0, 65536, 0}},
                     .iterations = {1}}));
}

TEST(CursorTest, AgreesWithTheRecursiveExpansionInBothDirections) {
    std::mt19937 random(41);
    std::size_t steps = 0;
    for (int i = 0; i < 300; ++i) {
        const Program program = random_program(random);
        std::vector<Taken> expected = expansion_of(program);
        steps += expected.size();
        ASSERT_EQ(walk(program, Cursor::Direction::Forward), expected) << "program " << i;
        std::reverse(expected.begin(), expected.end());
        ASSERT_EQ(walk(program, Cursor::Direction::Backward), expected) << "program " << i;
    }
    EXPECT_GT(steps, 300U * 3000U);
}

TEST(CursorTest, OfAnEmptyProgramYieldsNothing) {
    const Program program;
    EXPECT_TRUE(walk(program, Cursor::Direction::Forward).empty());
    EXPECT_TRUE(walk(program, Cursor::Direction::Backward).empty());
}

TEST(CursorTest, PassesEmptyLoopsWithoutCountingTheirTrips) {
    const std::string loop =
        "{\"record\":\"loop\",\"index\":\"e\",\"count\":500000000000,\"kind\":\"python\"}\n";
    const std::string end = "{\"record\":\"end\"}\n";
    const Program program = read_text(edited(sample(), end, loop + end + end));
    EXPECT_EQ(walk(program, Cursor::Direction::Forward), expansion_of(read_text(sample())));
    EXPECT_EQ(walk(program, Cursor::Direction::Backward).size(), 8U);
}

TEST(CursorTest, StartsAtTheFirstStepHoweverManyFollow) {
    const Program program =
        read_text(edited(edited(edited(sample(), "\"count\":2", "\"count\":100000000000"),
                                "\"instructions\":4",
                                "\"instructions\":200000000000"),
                         "{\"m\":65536}",
                         "{}"));
    Cursor forward(program);
    EXPECT_EQ(forward.next()->iterations[0], 0);
    Cursor backward(program, Cursor::Direction::Backward);
    const Step* last = backward.next();
    EXPECT_EQ(last->iterations[0], 99999999999);
    EXPECT_EQ(last->at[0].instance, 99999999999);
}

TEST(CursorTest, ACopyGoesOnIndependently) {
    const Program program = read_text(sample());
    Cursor first(program);
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(first.next());
    }
    Cursor second = first;
    while (first.next() != nullptr) {
    }
    const Step* step = second.next();
    ASSERT_NE(step, nullptr);
    EXPECT_EQ(step->node, 4U);
    EXPECT_EQ(step->iterations[0], 0);
    EXPECT_EQ(step->at[1].offset, 1);
}

TEST(EvaluateTest, AddsTermsToTheBase) {
    const std::vector<std::int64_t> iterations{3, 5};
    EXPECT_EQ(evaluate({.base = 7, .terms = {{0, 100}, {1, -1}}}, iterations), 302);
    EXPECT_EQ(evaluate({}, {}), 0);
}

}  // namespace
}  // namespace trnsim::program
