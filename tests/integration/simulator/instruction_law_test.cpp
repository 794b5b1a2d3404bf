// SPDX-License-Identifier: Apache-2.0
// Instruction laws measured on Trainium2, seen from outside: a chain of instructions that need one
// another advances by the completion, a row of independent ones by the initiation interval.
#include "support/program_builder.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

namespace trnsim {
namespace {

using test::ProgramBuilder;

/// completion = base + slope x elements, in nanoseconds. [M-VOYAGER]
struct Law {
    std::string name;
    Opcode op;
    Engine engine;
    Dtype from;
    Dtype to;
    Attributes attributes;
    double base;
    double slope;
    bool is_binary = false;
    Space source = Space::Sbuf;

    friend std::ostream& operator<<(std::ostream& os, const Law& law) { return os << law.name; }
};

constexpr double kTolerance = 0.05;

/// `chain`: every instruction reads what the one before it wrote.
program::Program row(const Law& law, std::int64_t elements, std::int64_t count, bool chain) {
    ProgramBuilder builder;
    const auto a = builder.tile("a", law.source, law.from, {128, elements});
    const auto b = builder.tile("b", Space::Sbuf, law.to, {128, elements});
    const auto c = builder.tile("c", Space::Sbuf, law.to, {128, elements});
    const auto instruction = [&](std::uint32_t dst, std::uint32_t data) {
        std::vector<Operand> operands{builder.whole(Role::Dst, dst)};
        operands.push_back(builder.whole(law.is_binary ? Role::Data1 : Role::Data, data));
        if (law.is_binary) {
            operands.push_back(builder.whole(Role::Data2, data));
        }
        if (law.op == Opcode::TensorReduce) {
            operands[0] = builder.part(Role::Dst, dst, 1);
        }
        return builder.add(law.op, {law.engine}, operands, law.attributes);
    };
    const auto forth = instruction(b, a);
    const auto back = chain ? instruction(a, b) : instruction(c, a);
    builder.alloc(a).alloc(b).alloc(c);
    builder.loop(count / 2).run(forth).run(back).end();
    return builder.build();
}

double steady_ns(const Law& law, std::int64_t elements, bool chain) {
    constexpr std::int64_t kCount = 64;
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult once = test::run(row(law, elements, kCount, chain), trn2);
    const RunResult twice = test::run(row(law, elements, 2 * kCount, chain), trn2);
    return (twice.total - once.total).nanoseconds() / static_cast<double>(kCount);
}

class InstructionLaw : public testing::TestWithParam<Law> {};

TEST_P(InstructionLaw, AChainAdvancesByTheCompletion) {
    const Law& law = GetParam();
    for (const std::int64_t elements : {128, 512, 2048}) {
        const double expected = law.base + law.slope * static_cast<double>(elements);
        EXPECT_NEAR(steady_ns(law, elements, true), expected, kTolerance * expected)
            << elements << " elements";
    }
}

TEST_P(InstructionLaw, IndependentInstructionsAdvanceByLess) {
    const Law& law = GetParam();
    const double interval = steady_ns(law, 512, false);
    EXPECT_LT(interval, steady_ns(law, 512, true));
    EXPECT_GE(interval, 0.95 * law.slope * 512);
}

INSTANTIATE_TEST_SUITE_P(Trn2,
                         InstructionLaw,
                         testing::Values(Law{"CopyFp32OnVector",
                                             Opcode::TensorCopy,
                                             Engine::Vector,
                                             Dtype::Float32,
                                             Dtype::Float32,
                                             {},
                                             157,
                                             0.5275},
                                         Law{"CopyBf16OnVector",
                                             Opcode::TensorCopy,
                                             Engine::Vector,
                                             Dtype::Bfloat16,
                                             Dtype::Bfloat16,
                                             {},
                                             156,
                                             0.269},
                                         Law{"ScalarMultiplyFp32",
                                             Opcode::TensorScalar,
                                             Engine::Vector,
                                             Dtype::Float32,
                                             Dtype::Float32,
                                             {.op0 = "multiply"},
                                             160.3,
                                             0.521},
                                         Law{"AddFp32",
                                             Opcode::TensorTensor,
                                             Engine::Vector,
                                             Dtype::Float32,
                                             Dtype::Float32,
                                             {.op0 = "add"},
                                             158.7,
                                             1.042,
                                             true},
                                         Law{"AddBf16",
                                             Opcode::TensorTensor,
                                             Engine::Vector,
                                             Dtype::Bfloat16,
                                             Dtype::Bfloat16,
                                             {.op0 = "add"},
                                             161.5,
                                             0.517,
                                             true},
                                         Law{"ReciprocalFp32",
                                             Opcode::Reciprocal,
                                             Engine::Vector,
                                             Dtype::Float32,
                                             Dtype::Float32,
                                             {},
                                             153,
                                             6.25},
                                         Law{"ExpFp32",
                                             Opcode::Activation,
                                             Engine::Scalar,
                                             Dtype::Float32,
                                             Dtype::Float32,
                                             {.function = "exp"},
                                             293.4,
                                             0.8333},
                                         Law{"CopyFp32OnScalar",
                                             Opcode::TensorCopy,
                                             Engine::Scalar,
                                             Dtype::Float32,
                                             Dtype::Float32,
                                             {},
                                             191,
                                             0.8335}),
                         [](const testing::TestParamInfo<Law>& law) { return law.param.name; });

TEST(InstructionInterval, ScalarCopiesOf128ElementsFollowEvery199Ns) {
    // [M-VOYAGER] 128 + 111 cycles.
    const Law copy{
        "", Opcode::TensorCopy, Engine::Scalar, Dtype::Float32, Dtype::Float32, {}, 0, 0};
    EXPECT_NEAR(steady_ns(copy, 128, false), 199.0, kTolerance * 199.0);
}

TEST(InstructionInterval, ANewActivationFunctionLoadsATableIn1283Ns) {
    // [TRACES-TRN2]
    const auto program = [](const std::string& second) {
        ProgramBuilder builder;
        const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 512});
        builder.alloc(tile);
        for (const std::string& function : {std::string("exp"), second}) {
            builder.run(
                builder.add(Opcode::Activation,
                            {Engine::Scalar},
                            {builder.whole(Role::Dst, tile), builder.whole(Role::Data, tile)},
                            {.function = function}));
        }
        return builder.build();
    };
    const RunResult same = test::run(program("exp"), test::chip("trn2"));
    const RunResult other = test::run(program("gelu"), test::chip("trn2"));
    EXPECT_EQ(same.activation_table_loads, 1);
    EXPECT_EQ(other.activation_table_loads, 2);
    // The load hides the wait for the first result: it needs nothing of it.
    const double extra = (other.total - same.total).nanoseconds();
    EXPECT_GT(extra, 1283.0 - 300.0);
    EXPECT_LE(extra, 1283.0);
}

}  // namespace
}  // namespace trnsim
