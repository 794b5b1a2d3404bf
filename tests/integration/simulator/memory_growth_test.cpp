// SPDX-License-Identifier: Apache-2.0
// The simulator's memory depends on a program's text, not on how often its loops run.
#include "support/program_builder.hpp"
#include "support/simulation.hpp"
#include "trnsim/study/local_executor.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>

namespace trnsim {
namespace {

using test::affine;
using test::at;

/// The most memory this process has had, in KiB.
std::int64_t peak_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "VmHWM:") {
            std::int64_t kib = 0;
            status >> kib;
            return kib;
        }
    }
    return 0;
}

/// Peak memory of a process that simulates it.
std::int64_t peak_kib_of(const program::Program& program, std::int64_t sbuf_kib) {
    const study::JobOutcome outcome =
        study::run_in_processes({[&] {
                                    ChipSpec chip = test::chip("trn2");
                                    chip.neuron_core.sbuf.usable_partition_kib = sbuf_kib;
                                    static_cast<void>(test::run(program, chip));
                                    return std::to_string(peak_kib());
                                }},
                                1)
            .front();
    EXPECT_EQ(outcome.exit_status, 0) << outcome.error;
    return outcome.exit_status == 0 ? std::stoll(outcome.output) : 0;
}

/// Load, activation and store of one tile after the other, and one tile that stays for all of it.
program::Program streamed_loads(std::int64_t trips) {
    test::ProgramBuilder builder;
    const auto in = builder.input("in", Dtype::Float32, {128, 256});
    const auto out = builder.output("out", Dtype::Float32, {128, 256});
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 256});
    const auto load = builder.copy(tile, in);
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    const auto store = builder.copy(out, tile);
    builder.alloc(tile).run(load);
    builder.loop(trips).alloc(tile);
    builder.run(load, {at(affine(1, {1}))});
    builder.run(copy, {at(affine(1, {1})), at(affine(1, {1}))});
    builder.run(store, {at(), at(affine(1, {1}))});
    builder.end().run(store);
    return builder.build();
}

/// Tiles that are used again two trips later: with little SBUF every one of them spills.
program::Program reuse(std::int64_t trips) {
    test::ProgramBuilder builder;
    const auto tile = builder.tile("tile", Space::Sbuf, Dtype::Float32, {128, 256});
    const auto small = builder.tile("small", Space::Sbuf, Dtype::Float32, {128, 96});
    const auto copy = builder.unary(Opcode::TensorCopy, Engine::Vector, tile, tile);
    const auto narrow =
        builder.add(Opcode::TensorCopy,
                    {Engine::Scalar},
                    {builder.whole(Role::Dst, small), builder.part(Role::Data, tile, 96)});
    builder.alloc(tile).alloc(tile).loop(trips).alloc(tile).alloc(small);
    builder.run(copy, {at(affine(2, {1})), at(affine(0, {1}))});
    builder.run(narrow, {at(affine(0, {1})), at(affine(1, {1}))});
    builder.end();
    return builder.build();
}

struct Case {
    std::string name;
    std::function<program::Program(std::int64_t)> make;
    std::int64_t sbuf_kib = 192;

    friend std::ostream& operator<<(std::ostream& os, const Case& one) { return os << one.name; }
};

class MemoryGrowth : public testing::TestWithParam<Case> {};

TEST_P(MemoryGrowth, IsNotProportionalToTripCounts) {
#ifdef __has_feature
#if __has_feature(address_sanitizer)
    GTEST_SKIP() << "the address sanitizer keeps what was freed";
#endif
#endif
    constexpr std::int64_t kFew = 2'000;
    constexpr std::int64_t kMany = 60'000;
    constexpr std::int64_t kAllowedKib = 4'096;  // 70 bytes for each further trip.
    const std::int64_t few = peak_kib_of(GetParam().make(kFew), GetParam().sbuf_kib);
    const std::int64_t many = peak_kib_of(GetParam().make(kMany), GetParam().sbuf_kib);
    EXPECT_LE(many - few, kAllowedKib) << few << " KiB became " << many << " KiB";
}

INSTANTIATE_TEST_SUITE_P(Programs,
                         MemoryGrowth,
                         testing::Values(Case{"Stream", streamed_loads},
                                         Case{"Spilling", reuse, 2}),
                         [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

}  // namespace
}  // namespace trnsim
