// SPDX-License-Identifier: Apache-2.0
// Instruction laws measured on Trainium2, seen from outside: how long after its start a result is
// visible, and how soon the next instruction may start. [M-VOYAGER]
#include "support/program_builder.hpp"
#include "support/recorded_timeline.hpp"
#include "support/simulation.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace trnsim {
namespace {

using test::ProgramBuilder;
using test::RecordedTimeline;

constexpr double kTolerance = 0.05;

/// An operand of `elements` per partition, or of as many as the law is asked for (0).
struct Part {
    Role role = Role::Dst;
    Dtype dtype = Dtype::Float32;
    Space space = Space::Sbuf;
    std::int64_t elements = 0;
};

/// Completion = base + slope x elements, in nanoseconds, for 128 partitions.
struct Law {
    std::string name;
    Opcode op = Opcode::TensorCopy;
    Engine engine = Engine::Vector;
    std::vector<Part> parts;
    Attributes attributes{};
    double base = 0.0;
    double slope = 0.0;
    std::int64_t most = 2048;  ///< Elements up to which it was measured.

    friend std::ostream& operator<<(std::ostream& os, const Law& law) { return os << law.name; }
};

constexpr Part to(Dtype dtype, std::int64_t elements = 0) {
    return {.role = Role::Dst, .dtype = dtype, .elements = elements};
}
constexpr Part from(Dtype dtype, Space space = Space::Sbuf) {
    return {.role = Role::Data, .dtype = dtype, .space = space};
}
constexpr Part vector_operand(Role role) {
    return {.role = role, .elements = 1};
}

/// The same instruction `count` times, each on tiles of its own.
program::Program row(const Law& law, std::int64_t elements, std::int64_t count) {
    ProgramBuilder builder;
    std::vector<Operand> operands;
    std::vector<std::uint32_t> tiles;
    for (const Part& part : law.parts) {
        const std::int64_t of = part.elements == 0 ? elements : part.elements;
        tiles.push_back(
            builder.tile("tile" + std::to_string(tiles.size()), part.space, part.dtype, {128, of}));
        operands.push_back(builder.whole(part.role, tiles.back()));
    }
    const auto instruction = builder.add(law.op, {law.engine}, operands, law.attributes);
    for (const std::uint32_t tile : tiles) {
        builder.alloc(tile);
    }
    builder.loop(count).run(instruction).end();
    return builder.build();
}

std::vector<RecordedTimeline::Entry> play(const Law& law,
                                          std::int64_t elements,
                                          std::int64_t count) {
    return test::executions(row(law, elements, count), test::chip("trn2"), name(law.op));
}

/// Of the second: the first may load a table or a mask.
double completion_ns(const Law& law, std::int64_t elements) {
    return play(law, elements, 2).at(1).duration.nanoseconds();
}

double interval_ns(const Law& law, std::int64_t elements) {
    constexpr std::int64_t kCount = 16;
    const auto entries = play(law, elements, kCount);
    return (entries.back().start - entries.front().start).nanoseconds() /
           static_cast<double>(kCount - 1);
}

class InstructionLaw : public testing::TestWithParam<Law> {};

TEST_P(InstructionLaw, TheResultIsVisibleAfterTheCompletion) {
    const Law& law = GetParam();
    for (const std::int64_t elements : {law.most / 4, law.most / 2, law.most}) {
        const double expected = law.base + law.slope * static_cast<double>(elements);
        EXPECT_NEAR(completion_ns(law, elements), expected, kTolerance * expected)
            << elements << " elements";
    }
}

TEST_P(InstructionLaw, TheNextInstructionStartsBeforeTheResultIsVisible) {
    const Law& law = GetParam();
    const double interval = interval_ns(law, law.most);
    if (law.op != Opcode::Memset) {  // Its result is visible before the engine is free.
        EXPECT_LT(interval, completion_ns(law, law.most));
    }
    EXPECT_GE(interval, 0.95 * law.slope * static_cast<double>(law.most));
}

constexpr Dtype kFp32 = Dtype::Float32;
constexpr Dtype kBf16 = Dtype::Bfloat16;

std::string name_of(const testing::TestParamInfo<Law>& law) {
    return law.param.name;
}

Law copy(std::string name, Part dst, Part src, double base, double slope, std::int64_t most) {
    return {.name = std::move(name),
            .op = Opcode::TensorCopy,
            .engine = Engine::Vector,
            .parts = {dst, src},
            .base = base,
            .slope = slope,
            .most = most};
}

INSTANTIATE_TEST_SUITE_P(
    VectorCopies,
    InstructionLaw,
    testing::Values(
        copy("Fp32", to(kFp32), from(kFp32), 157, 0.5275, 2048),
        copy("Bf16", to(kBf16), from(kBf16), 156, 0.269, 512),
        copy("Fp32ToBf16", to(kBf16), from(kFp32), 152.5, 0.522, 4096),
        copy("Fp32ToInt32", to(Dtype::Int32), from(kFp32), 152.5, 0.536, 4096),
        copy("Fp32ToUint8", to(Dtype::Uint8), from(kFp32), 152.5, 0.575, 4096),
        copy("Bf16ToFp32", to(kFp32), from(kBf16), 153, 0.803, 512),
        copy("Fp32FromPsum", to(kFp32), from(kFp32, Space::Psum), 158, 1.041, 512),
        copy("Fp32FromPsumToBf16", to(kBf16), from(kFp32, Space::Psum), 158, 1.041, 512)),
    name_of);

Law tensor_tensor(std::string name, Dtype dst, Part data1, Part data2, double base, double slope) {
    data1.role = Role::Data1;
    data2.role = Role::Data2;
    return {.name = std::move(name),
            .op = Opcode::TensorTensor,
            .engine = Engine::Vector,
            .parts = {to(dst), data1, data2},
            .attributes = {.op0 = "add"},
            .base = base,
            .slope = slope,
            .most = 512};
}

INSTANTIATE_TEST_SUITE_P(
    VectorTensorTensor,
    InstructionLaw,
    testing::Values(
        tensor_tensor("Fp32", kFp32, from(kFp32), from(kFp32), 158.7, 1.042),
        tensor_tensor("Fp32ToBf16", kBf16, from(kFp32), from(kFp32), 160.5, 1.038),
        tensor_tensor("Bf16", kBf16, from(kBf16), from(kBf16), 161.5, 0.517),
        tensor_tensor(
            "Fp32InPsumWithBf16", kFp32, from(kFp32, Space::Psum), from(kBf16), 149, 1.043),
        tensor_tensor(
            "Bf16WithFp32InPsum", kFp32, from(kBf16), from(kFp32, Space::Psum), 149, 1.043)),
    name_of);

Law vector(std::string name,
           Opcode op,
           std::vector<Part> parts,
           Attributes attributes,
           double base,
           double slope,
           std::int64_t most) {
    return {.name = std::move(name),
            .op = op,
            .engine = Engine::Vector,
            .parts = std::move(parts),
            .attributes = std::move(attributes),
            .base = base,
            .slope = slope,
            .most = most};
}

const std::vector<Part> kScan{
    to(kFp32), {.role = Role::Data1, .dtype = kFp32}, {.role = Role::Data2, .dtype = kFp32}};
const std::vector<Part> kScanFromTile{to(kFp32),
                                      {.role = Role::Data1, .dtype = kFp32},
                                      {.role = Role::Data2, .dtype = kFp32},
                                      vector_operand(Role::Initial)};
const Attributes kMultiplyAdd{.op0 = "multiply", .op1 = "add"};

std::vector<std::int32_t> identity_mask() {
    std::vector<std::int32_t> mask(32);
    for (std::size_t i = 0; i < mask.size(); ++i) {
        mask[i] = static_cast<std::int32_t>(i);
    }
    return mask;
}

INSTANTIATE_TEST_SUITE_P(
    Vector,
    InstructionLaw,
    testing::Values(
        vector("TensorScalar",
               Opcode::TensorScalar,
               {to(kFp32), from(kFp32)},
               {.op0 = "multiply"},
               160.3,
               0.521,
               8192),
        vector("ReduceFp32",
               Opcode::TensorReduce,
               {to(kFp32, 1), from(kFp32)},
               {.op0 = "add"},
               155,
               1.042,
               8192),
        vector("ReduceFp32FromPsum",
               Opcode::TensorReduce,
               {to(kFp32, 1), from(kFp32, Space::Psum)},
               {.op0 = "maximum"},
               155,
               1.042,
               512),
        vector("ReduceBf16ToFp32",
               Opcode::TensorReduce,
               {to(kFp32, 1), from(kBf16)},
               {.op0 = "add"},
               143,
               1.044,
               4096),
        vector("Reciprocal", Opcode::Reciprocal, {to(kFp32), from(kFp32)}, {}, 153, 6.25, 2048),
        vector("Scan", Opcode::TensorTensorScan, kScan, kMultiplyAdd, 157.7, 2.083, 8192),
        vector("ScanFromATile",
               Opcode::TensorTensorScan,
               kScanFromTile,
               kMultiplyAdd,
               217.7,
               2.083,
               8192),
        vector("CopyPredicatedOfAConstant",
               Opcode::TensorCopyPredicated,
               {to(kFp32), {.role = Role::Predicate, .dtype = Dtype::Uint8}},
               {},
               155.5,
               1.109,
               1024),
        vector("StreamShuffleBf16",
               Opcode::NcStreamShuffle,
               {to(kBf16), from(kBf16)},
               {.mask = identity_mask()},
               143,
               1.045,
               512),
        vector("MemsetBf16", Opcode::Memset, {to(kBf16)}, {.value = 1.0}, 58, 0.832, 512),
        vector("MemsetFp32", Opcode::Memset, {to(kFp32)}, {.value = 1.0}, 58, 0.832, 512)),
    name_of);

Law activation(std::string name,
               const std::string& function,
               std::vector<Part> parts,
               double base,
               double slope,
               std::int64_t most) {
    return {.name = std::move(name),
            .op = Opcode::Activation,
            .engine = Engine::Scalar,
            .parts = std::move(parts),
            .attributes = {.function = function},
            .base = base,
            .slope = slope,
            .most = most};
}

Law on_scalar(Law law) {
    law.engine = Engine::Scalar;
    return law;
}

const Part kBias = vector_operand(Role::Bias);
const Part kScale = vector_operand(Role::Scale);
const Part kPsum = from(kFp32, Space::Psum);

INSTANTIATE_TEST_SUITE_P(
    Scalar,
    InstructionLaw,
    testing::Values(
        activation("Copy", "copy", {to(kFp32), from(kFp32)}, 202, 0.833, 8192),
        activation("CopyBf16", "copy", {to(kBf16), from(kBf16)}, 202, 0.833, 8192),
        activation("CopyWithScale", "copy", {to(kFp32), from(kFp32), kScale}, 293, 0.833, 8192),
        activation("ExpFp32", "exp", {to(kFp32), from(kFp32)}, 293.4, 0.8333, 8192),
        activation("ExpWithBias", "exp", {to(kFp32), from(kFp32), kBias}, 293.4, 0.8333, 8192),
        activation("RsqrtFp32", "rsqrt", {to(kFp32), from(kFp32)}, 293.4, 0.8333, 8192),
        activation("SigmoidFp32", "sigmoid", {to(kFp32), from(kFp32)}, 293.4, 0.8333, 8192),
        activation("LogFp32", "log", {to(kFp32), from(kFp32)}, 286, 0.842, 8192),
        activation("SqrtFp32", "sqrt", {to(kFp32), from(kFp32)}, 286, 0.842, 8192),
        activation("SquareFp32", "square", {to(kFp32), from(kFp32)}, 286, 0.842, 8192),
        activation("ExpBf16", "exp", {to(kBf16), from(kBf16)}, 296, 0.833, 4096),
        activation("ExpFp32ToBf16", "exp", {to(kBf16), from(kFp32)}, 276, 0.842, 4096),
        activation("CopyFromPsum", "copy", {to(kFp32), kPsum}, 162, 0.87, 512),
        activation("CopyFromPsumWithScale", "copy", {to(kFp32), kPsum, kScale}, 257, 0.87, 512),
        activation("ExpFromPsum", "exp", {to(kFp32), kPsum}, 259, 0.833, 512),
        on_scalar(copy("CopyByTensorCopy", to(kFp32), from(kFp32), 191, 0.8335, 8192)),
        on_scalar(copy("CopyBf16ByTensorCopy", to(kBf16), from(kBf16), 191, 0.8335, 8192)),
        on_scalar(copy("CopyFromPsumByTensorCopy", to(kFp32), kPsum, 166.5, 0.857, 512))),
    name_of);

INSTANTIATE_TEST_SUITE_P(Gpsimd,
                         InstructionLaw,
                         testing::Values(Law{.name = "AffineSelect",
                                             .op = Opcode::AffineSelect,
                                             .engine = Engine::Gpsimd,
                                             .parts = {to(kFp32), from(kFp32)},
                                             .base = 177,
                                             .slope = 0.846,
                                             .most = 1024}),
                         name_of);

TEST(InstructionInterval, ScalarCopiesOf128ElementsFollowEvery199Ns) {
    const Law law = on_scalar(copy("", to(kFp32), from(kFp32), 0, 0, 0));
    EXPECT_NEAR(interval_ns(law, 128), 199.0, kTolerance * 199.0);
}

TEST(InstructionInterval, AnActivationThatAccumulatesIsReadOutIn279Ns) {
    Law accumulating = activation("", "exp", {to(kFp32), from(kFp32)}, 0, 0, 0);
    accumulating.op = Opcode::ActivationReduce;
    accumulating.attributes.reduce_op = "add";
    accumulating.parts.push_back(vector_operand(Role::ReduceResult));
    for (const std::int64_t elements : {64, 512, 2048}) {
        const auto passes = static_cast<double>(elements) / 1.2;
        EXPECT_NEAR(
            completion_ns(accumulating, elements), passes + 294.0, kTolerance * (passes + 201.0));
        EXPECT_NEAR(interval_ns(accumulating, elements),
                    passes + 201.0 + 185.0,
                    kTolerance * (passes + 201.0));
        const auto of = [&](std::string_view name) {
            return test::executions(row(accumulating, elements, 2), test::chip("trn2"), name).at(1);
        };
        const auto readout = of("ACTIVATION_READ_ACCUMULATOR");
        EXPECT_NEAR((readout.start - of(name(accumulating.op)).start).nanoseconds(),
                    passes + 201.0,
                    kTolerance * (passes + 201.0))
            << "readable";
        EXPECT_NEAR(readout.duration.nanoseconds(), 279.0, kTolerance * 279.0);
    }
}

TEST(InstructionInterval, ARegisterMoveTakes68Ns) {
    ProgramBuilder builder;
    builder.loop(8).run(builder.add(Opcode::RegisterMove, {Engine::Gpsimd}, {})).end();
    const auto moves = test::executions(builder.build(), test::chip("trn2"), "register_move");
    EXPECT_NEAR(
        (moves.at(7).start - moves.at(0).start).nanoseconds() / 7.0, 68.0, kTolerance * 68.0);
}

/// Eight transposes of 32x32 blocks on Vector that go round so many groups of partitions.
std::vector<RecordedTimeline::Entry> transposes(std::int32_t groups) {
    ProgramBuilder builder;
    const auto from = builder.tile("from", Space::Sbuf, kFp32, {128, 32});
    const auto to = builder.tile("to", Space::Sbuf, kFp32, {128, 32});
    const auto transpose =
        builder.add(Opcode::NcTranspose,
                    {Engine::Vector},
                    {builder.part(Role::Dst, to, 32, 32), builder.part(Role::Data, from, 32, 32)});
    builder.alloc(from).alloc(to);
    for (std::int64_t i = 0; i < 8; ++i) {
        const auto place =
            test::at(test::affine(0), test::affine(0), test::affine(32 * (i % groups)));
        builder.run(transpose, {place, place});
    }
    return test::executions(builder.build(), test::chip("trn2"), "nc_transpose");
}

TEST(InstructionInterval, VectorTransposesFollowEvery93NsInOnePairOfPartitionGroups) {
    const auto same = transposes(1);
    EXPECT_NEAR(same.back().duration.nanoseconds(), 233.0, kTolerance * 233.0);
    EXPECT_NEAR((same[7].start - same[1].start).nanoseconds() / 6.0, 93.0, kTolerance * 93.0);
}

TEST(InstructionInterval, VectorTransposesFollowEvery234NsWhenThePairChanges) {
    const auto other = transposes(2);
    EXPECT_NEAR((other[7].start - other[1].start).nanoseconds() / 6.0, 234.0, kTolerance * 234.0);
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
