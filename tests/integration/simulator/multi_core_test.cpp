// SPDX-License-Identifier: Apache-2.0
// NeuronCores of one chip at work together: they share stacks of HBM and nothing else.
#include "support/program_builder.hpp"
#include "support/simulation.hpp"
#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace trnsim {
namespace {

using test::affine;
using test::at;

/// Loads of 512 KiB one after the other, on four rings.
program::Program streaming(std::int64_t loads) {
    test::ProgramBuilder builder;
    const auto memory = builder.input("memory", Dtype::Float32, {128, 1024});
    builder.loop(loads);
    for (int ring = 0; ring < 4; ++ring) {
        const auto tile =
            builder.tile("tile" + std::to_string(ring), Space::Sbuf, Dtype::Float32, {128, 1024});
        builder.alloc(tile);
        builder.run(builder.copy(tile, memory, DgeMode::None), {at(affine(0, {1})), at()});
    }
    builder.end();
    return builder.build();
}

/// Matmuls on tiles that are there.
program::Program computing(std::int64_t matmuls) {
    test::ProgramBuilder builder;
    const auto left = builder.tile("left", Space::Sbuf, Dtype::Bfloat16, {128, 128});
    const auto right = builder.tile("right", Space::Sbuf, Dtype::Bfloat16, {128, 512});
    const auto sum = builder.tile("sum", Space::Psum, Dtype::Float32, {128, 512});
    builder.alloc(left).alloc(right).alloc(sum);
    builder.loop(matmuls).run(builder.matmul(sum, left, right, false)).end();
    return builder.build();
}

TEST(MultiCore, CopiesOfAComputingKernelTakeAsLongAsOne) {
    const program::Program program = computing(1000);
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult eight = test::run(Launch(8, &program), trn2);
    const Picoseconds one = test::run(program, trn2).total;
    ASSERT_EQ(eight.cores.size(), 8U);
    for (const CoreResult& core : eight.cores) {
        EXPECT_EQ(core.total, one);
    }
}

TEST(MultiCore, NeighboursShareTheirStackOfHbm) {
    const program::Program program = streaming(200);
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult result = test::run(Launch(3, &program), trn2);
    const Picoseconds one = test::run(program, trn2).total;
    EXPECT_EQ(result.cores[2].total, one) << "it has a stack of its own";
    EXPECT_GT(result.cores[0].total.seconds(), 1.1 * one.seconds());
    EXPECT_GT(result.cores[0].hbm_limited, Picoseconds{});
    EXPECT_EQ(result.cores[2].hbm_limited, Picoseconds{});
    EXPECT_NEAR(
        result.cores[0].total.seconds(), result.cores[1].total.seconds(), 0.01 * one.seconds());
}

TEST(MultiCore, TheSharedStackMovesWhatItSustains) {
    constexpr std::int64_t kLoads = 400;
    const program::Program program = streaming(kLoads);
    const ChipSpec trn2 = test::chip("trn2");
    const auto time = [&](std::int64_t loads) {
        const program::Program some = streaming(loads);
        return test::run(Launch(2, &some), trn2).total.seconds();
    };
    const double bytes = 2.0 * 4.0 * static_cast<double>(kLoads) * 128 * 1024 * 4;
    const double rate = bytes / (time(2 * kLoads) - time(kLoads)) * 1e-9;
    const double peak = 1024.0 * trn2.hbm.pin_gbit_per_s / 8.0;
    const double sustained = peak * trn2.hbm.refresh_efficiency * trn2.hbm.turnaround_efficiency;
    EXPECT_NEAR(rate, sustained, 0.02 * sustained);
}

TEST(MultiCore, TheResultIsThatOfTheCoreThatEndsLast) {
    const program::Program few = computing(10);
    const program::Program many = computing(1000);
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult result = test::run(Launch{&few, &many}, trn2);
    EXPECT_EQ(result.nisa_calls, 1000);
    EXPECT_EQ(result.total, result.cores[1].total);
    EXPECT_LT(result.cores[0].total, result.total);
}

TEST(MultiCore, MoreProgramsThanCoresAreAnError) {
    const program::Program program = computing(1);
    try {
        static_cast<void>(test::run(Launch(9, &program), test::chip("trn2")));
        FAIL() << "nine programs ran";
    } catch (const UserError& error) {
        EXPECT_STREQ(error.what(), "9 NeuronCores are asked for, but trn2 has 8; use 1 to 8");
    }
}

TEST(MultiCore, CoresWithoutAStackOfHbmAreAnError) {
    const program::Program program = computing(1);
    ChipSpec chip = test::chip("trn2");
    chip.hbm.cores_per_stack = 1;
    try {
        static_cast<void>(test::run(Launch(5, &program), chip));
        FAIL() << "the fifth core has no stack";
    } catch (const UserError& error) {
        EXPECT_STREQ(error.what(),
                     "5 NeuronCores lie at 5 HBM stacks with hbm.cores_per_stack=1, but "
                     "hbm.stacks=4; change one of the two or use at most 4 cores");
    }
    EXPECT_EQ(test::run(Launch(4, &program), chip).cores.size(), 4U);
}

/// The records of one core: it computes `count` times, meets the other, and computes `after` times.
std::string records_of_core(int core, std::int64_t count, bool comes, int after = 1) {
    const std::string tile = std::to_string(core);
    const std::string fill = std::to_string(2 * core);
    const std::string barrier = std::to_string(2 * core + 1);
    std::string text = R"({"record":"core","core":)" + tile + "}\n";
    text += R"({"record":"buffer","id":)" + tile +
            R"(,"name":"t","space":"sbuf","dtype":"float32","shape":[128,1024]})" + "\n";
    text +=
        R"({"record":"template","id":)" + fill +
        R"(,"op":"memset","engines":["gpsimd"],"operands":[{"role":"dst","access":"write","buffer":)" +
        tile + R"(,"partitions":128,"pattern":[[1,1024]]}],"attributes":{"value":1}})" + "\n";
    text += R"({"record":"template","id":)" + barrier +
            R"(,"op":"core_barrier","engines":["gpsimd"],"operands":[]})" + "\n";
    text += R"({"record":"alloc","buffer":)" + tile + "}\n";
    text += R"({"record":"loop","index":"i","count":)" + std::to_string(count) +
            R"(,"kind":"python"})" + "\n" + R"({"record":"run","template":)" + fill +
            R"(,"at":[{}]})" + "\n" + R"({"record":"end"})" + "\n";
    if (comes) {
        text += R"({"record":"run","template":)" + barrier + R"(,"at":[]})" + "\n";
    }
    for (int i = 0; i < after; ++i) {
        text += R"({"record":"run","template":)" + fill + R"(,"at":[{}]})" + "\n";
    }
    return text;
}

/// A program of two cores that meet; if not both come, the second stays away. The first computes
/// `after` times then.
program::Program meeting(std::int64_t first,
                         std::int64_t second,
                         bool both_come = true,
                         int after = 1) {
    std::string text =
        R"({"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"k","api":"trace","cores":2})"
        "\n";
    text += records_of_core(0, first, true, after);
    text += records_of_core(1, second, both_come);
    const std::int64_t runs = first + second + after + (both_come ? 3 : 2);
    text += R"({"record":"summary","instructions":)" + std::to_string(runs) + "}\n";
    return test::read_trace(text);
}

TEST(MultiCore, CoresOfAProgramWaitForOneAnotherAtABarrier) {
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult result = test::run(meeting(10, 100), trn2);
    ASSERT_EQ(result.cores.size(), 2U);
    EXPECT_EQ(result.cores[0].total, result.cores[1].total);
    EXPECT_GT(result.total, test::run(meeting(10, 10), trn2).total);
    EXPECT_EQ(test::run(meeting(100, 10), trn2).total, result.total);
}

TEST(MultiCore, WhoWaitsForAnotherCoreWaitsForSync) {
    const RunResult result = test::run(meeting(100, 100), test::chip("trn2"));
    const EngineResult& gpsimd = result.engines.at(Engine::Gpsimd);
    EXPECT_EQ(gpsimd.waiting[static_cast<std::size_t>(WaitCause::Sync)], Picoseconds{});
    const RunResult waited = test::run(meeting(10, 100, true, 2), test::chip("trn2"));
    const Picoseconds kept =
        waited.engines.at(Engine::Gpsimd).waiting[static_cast<std::size_t>(WaitCause::Sync)];
    EXPECT_GT(kept, Picoseconds{});
    EXPECT_THAT(waited.critical_path,
                testing::Contains(
                    testing::AllOf(testing::Field(&CriticalPathEntry::what, "other NeuronCores"),
                                   testing::Field(&CriticalPathEntry::time, kept))));
}

TEST(MultiCore, OfCoresThatEndTogetherTheOneThatTheOthersWaitedForIsReported) {
    for (const auto& [first, second] : {std::pair{10, 100}, std::pair{100, 10}}) {
        const RunResult busy = test::run(meeting(first, second), test::chip("trn2"));
        EXPECT_EQ(busy.engines.at(Engine::Gpsimd).instructions, 102);
    }
}

TEST(MultiCore, WhoWaitsForAnotherCoreBehindASemaphoreWaitsForBoth) {
    std::string text =
        R"({"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"k","api":"trace","cores":2})"
        "\n";
    const auto replace_all = [](std::string in, const std::string& from, const std::string& to) {
        for (auto at = in.find(from); at != std::string::npos; at = in.find(from, at + to.size())) {
            in.replace(at, from.size(), to);
        }
        return in;
    };
    for (int core = 0; core < 2; ++core) {  // The barrier of GpSimd waits for Vector's tile first.
        text += replace_all(
            replace_all(records_of_core(core, core == 0 ? 10 : 100, true, core == 0 ? 2 : 1),
                        R"("op":"memset","engines":["gpsimd"])",
                        R"("op":"memset","engines":["vector"])"),
            R"("op":"core_barrier","engines":["gpsimd"],"operands":[])",
            R"("op":"core_barrier","engines":["gpsimd"],"operands":[{"role":"dst","access":"update","buffer":)" +
                std::to_string(core) + R"(,"partitions":128,"pattern":[[1,1024]]}])");
    }
    text = replace_all(text, R"("at":[]})", R"("at":[{}]})") +
           R"({"record":"summary","instructions":115})" + "\n";
    const RunResult result = test::run(test::read_trace(text), test::chip("trn2"));
    EXPECT_GT(result.engines.at(Engine::Gpsimd).waiting[static_cast<std::size_t>(WaitCause::Sync)],
              Picoseconds{});
    for (const auto& [what, time] : result.critical_path) {
        EXPECT_FALSE(what == "semaphore wake-up" && time > Picoseconds{1'000'000}) << time.value;
    }
    const auto barrier = std::ranges::find(result.lines, "core_barrier", &LineResult::op);
    ASSERT_NE(barrier, result.lines.end());
    ASSERT_THAT(barrier->waited_for,
                testing::UnorderedElementsAre(testing::Key(testing::EndsWith("memset")),
                                              testing::Key("other NeuronCores")));
    const Picoseconds kept = barrier->waited_for.at("other NeuronCores");
    EXPECT_EQ(barrier->waited_for.rbegin()->second + kept, barrier->stalled);
    EXPECT_EQ(result.engines.at(Engine::Gpsimd).waiting[static_cast<std::size_t>(WaitCause::Sync)],
              kept);
}

TEST(MultiCore, ACoreThatNeverComesIsADeadlockThatNamesIt) {
    try {
        static_cast<void>(test::run(meeting(10, 10, false), test::chip("trn2")));
        FAIL() << "core 0 met nobody";
    } catch (const ProgramError& error) {
        EXPECT_THAT(
            error.what(),
            testing::ContainsRegex("gpsimd_engine stands before template [0-9]+ "
                                   "core_barrier, instruction 11 of its queue: waits for core 1"));
    }
}

/// One exchange on one tile, or a collective of `bytes` of each of 64 ranks.
RunResult exchanging(const std::string& op, const std::string& attributes) {
    const std::string header =
        R"({"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"k","api":"trace"})"
        "\n";
    const auto operand = [](const char* role, const char* access, const char* buffer) {
        return std::string(R"({"role":")") + role + R"(","access":")" + access + R"(","buffer":)" +
               buffer + R"(,"pattern":[[1,512]]})";
    };
    return test::run(
        test::read_trace(
            header +
            R"({"record":"buffer","id":0,"name":"x","space":"hbm","kind":"input","dtype":"float32","shape":[512]})"
            "\n"
            R"({"record":"buffer","id":1,"name":"y","space":"hbm","kind":"output","dtype":"float32","shape":[512]})"
            "\n"
            R"({"record":"template","id":0,"op":")" +
            op + R"(","engines":["dma"],"operands":[)" + operand("dst", "write", "1") + "," +
            operand("src", "read", "0") + R"(],"attributes":)" + attributes + "}\n" +
            R"({"record":"run","template":0,"at":[{},{}]})"
            "\n"
            R"({"record":"summary","instructions":1})"
            "\n"),
        test::chip("trn2"));
}

TEST(MultiCore, ACollectiveTakesWhatItsLawSays) {
    const ChipSpec trn2 = test::chip("trn2");
    // A mesh within the chip: launch and two steps.
    const RunResult near = exchanging("all_gather", R"({"groups":[[0,1,2,3]],"bytes":2048})");
    const Picoseconds around = near.kernel_start + near.kernel_end;
    EXPECT_NEAR((near.total - around).microseconds(), 6.1, 0.05);
    // Two instances: 15 us more, and 64 KiB of each chip's 2 at 25 GB/s are little.
    const RunResult far = exchanging("all_gather", R"({"groups":[[0,128]],"bytes":2048})");
    EXPECT_NEAR((far.total - near.total).microseconds(), 15.0, 0.2);
}

/// Of a trace: fills a tile so often, then exchanges it with the neighbour's.
std::string records_of_exchange(int core, std::int64_t fills) {
    const auto operand = [](const char* role, const char* access, int buffer) {
        return fmt::format(
            R"({{"role":"{}","access":"{}","buffer":{},"partitions":128,"pattern":[[1,4]]}})",
            role,
            access,
            buffer);
    };
    const int mine = 2 * core;
    const int theirs = mine + 1;
    std::string text = fmt::format(R"({{"record":"core","core":{}}})", core) + "\n";
    for (const int buffer : {mine, theirs}) {
        text += fmt::format(
            R"({{"record":"buffer","id":{},"name":"t","space":"sbuf","dtype":"float32","shape":[128,4]}})"
            "\n",
            buffer);
    }
    text += fmt::format(
        R"({{"record":"template","id":{},"op":"memset","engines":["gpsimd"],"operands":[{}],"attributes":{{"value":1}}}})"
        "\n",
        mine,
        operand("dst", "write", mine));
    text += fmt::format(
        R"({{"record":"template","id":{},"op":"sendrecv","engines":["dma"],"operands":[{},{}],"attributes":{{"send_to":{},"recv_from":{}}}}})"
        "\n",
        theirs,
        operand("dst", "write", theirs),
        operand("src", "read", mine),
        core ^ 1,
        core ^ 1);
    text += fmt::format(R"({{"record":"alloc","buffer":{}}})"
                        "\n"
                        R"({{"record":"alloc","buffer":{}}})"
                        "\n"
                        R"({{"record":"loop","index":"i","count":{},"kind":"python"}})"
                        "\n"
                        R"({{"record":"run","template":{},"at":[{{}}]}})"
                        "\n"
                        R"({{"record":"end"}})"
                        "\n"
                        R"({{"record":"run","template":{},"at":[{{}},{{}}]}})"
                        "\n",
                        mine,
                        theirs,
                        fills,
                        mine,
                        theirs);
    return text;
}

/// Four cores: 0 and 1 exchange 2 KiB, and so do 2 and 3 after filling a tile so often.
program::Program two_pairs(std::int64_t fills) {
    std::string text =
        R"({"record":"header","format":"nkt","version":1,"form":"program","target":"trn2","kernel":"k","api":"trace","cores":4})"
        "\n";
    for (int core = 0; core < 4; ++core) {
        text += records_of_exchange(core, core < 2 ? 1 : fills);
    }
    text += fmt::format(R"({{"record":"summary","instructions":{}}})", 2 * (1 + fills) + 4) + "\n";
    return test::read_trace(text);
}

TEST(MultiCore, CoresThatExchangeWaitForTheirPartnersOnly) {
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult together = test::run(two_pairs(1), trn2);
    const RunResult apart = test::run(two_pairs(1000), trn2);
    EXPECT_EQ(apart.cores[0].total, together.cores[0].total);
    EXPECT_GT(apart.cores[2].total, together.cores[2].total);
}

TEST(MultiCore, CopiesOfAProgramMeetAmongThemselves) {
    const program::Program program = meeting(10, 100);
    const ChipSpec trn2 = test::chip("trn2");
    const RunResult two = test::run(Launch(2, &program), trn2);
    ASSERT_EQ(two.cores.size(), 4U);
    EXPECT_EQ(two.total, test::run(program, trn2).total);
}

}  // namespace
}  // namespace trnsim
