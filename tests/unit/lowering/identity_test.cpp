// SPDX-License-Identifier: Apache-2.0
// The Tensor Engine transposes by a matrix that has to be loaded before.
#include "lowered_program.hpp"
#include "support/program_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using test::LoweredProgram;
using test::ProgramBuilder;
using test::waits_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Policies kWithIdentity{.load_identity = true};
const std::string kMatrix = "identity load";

/// Transposes a tile of each type twice, on an engine.
program::Program transposes(Engine engine, const std::vector<Dtype>& types) {
    ProgramBuilder builder;
    for (const Dtype type : types) {
        const auto tile = builder.tile("tile", Space::Sbuf, type, {32, 32});
        const auto turned = builder.tile("turned", Space::Psum, type, {32, 32});
        const auto transpose = builder.unary(Opcode::NcTranspose, engine, turned, tile);
        builder.alloc(tile).alloc(turned).loop(2).run(transpose).end();
    }
    return builder.build();
}

std::vector<std::int64_t> bytes_of_loads(const LoweredProgram& lowered) {
    std::vector<std::int64_t> bytes;
    for (const auto& instruction : lowered.of(queue_of_ring(0))) {
        bytes.push_back(instruction.what->transfer.bytes.value);
    }
    return bytes;
}

TEST(IdentityTest, TheFirstTransposeOfTheTensorEngineWaitsForItsMatrix) {
    const LoweredProgram lowered(transposes(Engine::Tensor, {Dtype::Float32}), kWithIdentity);
    EXPECT_EQ(lowered.names().front(), kMatrix) << "before all else";
    const std::string loaded = std::to_string(test::done_semaphore(queue_of_ring(0))) + ">=1";
    EXPECT_EQ(std::ranges::count(lowered.of(queue_of(Engine::Tensor)), loaded, waits_of), 1)
        << "the next one knows";
}

TEST(IdentityTest, ATransposeWaitsForARegisterAsOtherInstructionsDo) {
    ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {32, 32});
    const auto turned = builder.tile("turned", Space::Psum, Dtype::Float32, {32, 32});
    builder.run(builder.add(Opcode::RegisterMove, {Engine::Sync}, {})).alloc(tile).alloc(turned);
    builder.run(builder.unary(Opcode::NcTranspose, Engine::Tensor, turned, tile));
    const LoweredProgram lowered(builder.build(), kWithIdentity);
    const std::string set = std::to_string(test::done_semaphore(queue_of(Engine::Sync)));
    EXPECT_THAT(waits_of(lowered.of(queue_of(Engine::Tensor)).at(0)), HasSubstr(set + ">=1"));
}

TEST(IdentityTest, TheFirstRingIsInUseEvenIfTheProgramLoadsNothing) {
    const program::Program program = transposes(Engine::Tensor, {Dtype::Float32});
    const ChipSpec chip = test::chip_named("trainium2");
    EXPECT_TRUE(Lowering(program, chip, kWithIdentity).uses(queue_of_ring(0)));
    EXPECT_FALSE(Lowering(program, chip, {}).uses(queue_of_ring(0)));
}

TEST(IdentityTest, EveryTypeHasAMatrixOfTheArraysSize) {
    const LoweredProgram lowered(
        transposes(Engine::Tensor, {Dtype::Bfloat16, Dtype::Float32, Dtype::Bfloat16}),
        kWithIdentity);
    EXPECT_THAT(bytes_of_loads(lowered), ElementsAre(128 * 128 * 2, 128 * 128 * 4));
}

TEST(IdentityTest, OtherEnginesAndProductsNeedNone) {
    EXPECT_THAT(LoweredProgram(transposes(Engine::Vector, {Dtype::Float32}), kWithIdentity).names(),
                Not(Contains(kMatrix)));
    ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    builder.alloc(left).alloc(right).alloc(sum).run(builder.matmul(sum, left, right));
    EXPECT_THAT(LoweredProgram(builder.build(), kWithIdentity).names(), Not(Contains(kMatrix)));
}

TEST(IdentityTest, WithoutThePolicyMatricesAreInPlace) {
    EXPECT_THAT(LoweredProgram(transposes(Engine::Tensor, {Dtype::Float32})).names(),
                Not(Contains(kMatrix)));
    EXPECT_TRUE(default_policies("neuronxcc.nki").load_identity);
    EXPECT_TRUE(default_policies("neuronxcc.nki.as_written").load_identity);
    EXPECT_FALSE(default_policies("nki").load_identity) << "of which nothing is published";
}

}  // namespace
}  // namespace trnsim::lowering
