// SPDX-License-Identifier: Apache-2.0
// Accesses of two cores to shared HBM are ordered by meetings, or reported with both lines.
#include "trnsim/lowering/checks/shared_memory_check.hpp"

#include "trnsim/base/error.hpp"
#include "trnsim/program/reader.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace trnsim::lowering {
namespace {

using testing::HasSubstr;

/// Programs of two cores on one shared tensor of 1048576 x 128 float32, each with tiles of its own.
/// Instructions of a core: 3 x core is a load of 128 elements, the next a store, then a barrier.
class TwoCores {
public:
    /// \param lines lines by which the second core's program is behind the first's; 0: one kernel
    /// \param barriers_have_dst the shared tensor
    explicit TwoCores(int lines = 100, bool barriers_have_dst = true)
        : lines_(lines), barriers_have_dst_(barriers_have_dst) {
        line(R"({"record":"header","format":"nkt","version":1,"form":"program","target":"trn2",)"
             R"("kernel":"k","api":"trace","cores":2})");
        line(R"({"record":"file","id":0,"path":"k.py"})");
    }

    TwoCores& core(int number) {
        core_ = number;
        line(fmt::format(R"({{"record":"core","core":{}}})", number));
        line(fmt::format(R"({{"record":"buffer","id":{},"name":"t","space":"sbuf",)"
                         R"("dtype":"float32","shape":[1,128]}})",
                         2 * number));
        line(
            fmt::format(R"({{"record":"buffer","id":{},"name":"out","space":"hbm","kind":"output",)"
                        R"("dtype":"float32","shape":[1048576,128],"shared":"out"}})",
                        2 * number + 1));
        copy(0, 2 * number, 2 * number + 1);
        copy(1, 2 * number + 1, 2 * number);
        line(
            fmt::format(R"({{"record":"template","id":{},"op":"core_barrier","engines":["gpsimd"],)"
                        R"("operands":[{}],"source":[0,{}]}})",
                        3 * number + 2,
                        barriers_have_dst_ ? operand("dst", "update", 2 * number + 1) : "",
                        lines_ * number + 12));
        line(fmt::format(R"({{"record":"alloc","buffer":{}}})", 2 * number));
        return *this;
    }
    TwoCores& read(const std::string& offset) { return access(0, offset); }
    TwoCores& write(const std::string& offset) { return access(1, offset); }
    TwoCores& barrier() {
        line(fmt::format(R"({{"record":"run","template":{},"at":[{}]}})",
                         3 * core_ + 2,
                         barriers_have_dst_ ? "{}" : ""));
        count_ += trips_;
        return *this;
    }
    TwoCores& loop(const std::string& index, std::int64_t trips) {
        line(fmt::format(
            R"({{"record":"loop","index":"{}","count":{},"kind":"affine"}})", index, trips));
        trips_ *= trips;
        outer_.push_back(trips);
        return *this;
    }
    TwoCores& end() {
        line(R"({"record":"end"})");
        trips_ /= outer_.back();
        outer_.pop_back();
        return *this;
    }

    /// What the check says; empty if nothing.
    [[nodiscard]] std::string error() {
        line(fmt::format(R"({{"record":"summary","instructions":{}}})", count_));
        std::istringstream stream(text_);
        const program::Program program = program::read(stream, "t.nkt");
        const std::vector<program::Program> parts{program.of_core(0), program.of_core(1)};
        const std::vector<const program::Program*> cores{parts.data(), parts.data() + 1};
        try {
            SharedMemoryCheck(cores).run();
        } catch (const ProgramError& error) {
            return error.what();
        }
        return {};
    }

private:
    void line(const std::string& record) { text_ += record + "\n"; }

    static std::string operand(const char* role, const char* access, int buffer) {
        return fmt::format(R"({{"role":"{}","access":"{}","buffer":{},{}"pattern":[[1,128]]}})",
                           role,
                           access,
                           buffer,
                           buffer % 2 == 0 ? R"("partitions":1,)" : "");
    }
    void copy(int number, int dst, int src) {
        line(fmt::format(R"({{"record":"template","id":{},"op":"dma_copy","engines":["dma"],)"
                         R"("operands":[{},{}],"source":[0,{}]}})",
                         3 * core_ + number,
                         operand("dst", "write", dst),
                         operand("src", "read", src),
                         lines_ * core_ + 10 + number));
    }
    TwoCores& access(int number, const std::string& offset) {
        const std::string at = fmt::format(R"({{"offset":{}}})", offset);
        line(fmt::format(R"({{"record":"run","template":{},"at":[{},{}]}})",
                         3 * core_ + number,
                         number == 0 ? "{}" : at,
                         number == 0 ? at : "{}"));
        count_ += trips_;
        return *this;
    }

    int lines_;
    bool barriers_have_dst_;
    std::string text_;
    int core_ = 0;
    std::int64_t trips_ = 1;
    std::int64_t count_ = 0;
    std::vector<std::int64_t> outer_;
};

TEST(SharedMemoryCheck, CoresThatWriteDifferentBytesNeedNoBarrier) {
    EXPECT_EQ(TwoCores().core(0).write("0").core(1).write("128").error(), "");
}

TEST(SharedMemoryCheck, AWriteBesideAReadIsARaceThatNamesBothLines) {
    EXPECT_EQ(TwoCores().core(0).write("256").core(1).read("256").error(),
              "race: core 1 reads (k.py:110: dma_copy, src) bytes 1024 to 1535 of out, which all "
              "cores share, and core 0 writes (k.py:11: dma_copy, dst) bytes 1024 to 1535 of it, "
              "and no core_barrier or sendrecv orders the two; let the cores meet in between");
}

TEST(SharedMemoryCheck, ABarrierWithoutADstOrdersNoBytes) {
    const auto error = [](bool barriers_have_dst) {
        return TwoCores(100, barriers_have_dst)
            .core(0)
            .write("0")
            .barrier()
            .core(1)
            .barrier()
            .read("0")
            .error();
    };
    EXPECT_EQ(error(true), "");
    EXPECT_THAT(error(false),
                HasSubstr("let the cores meet in between, over that tensor: a core_barrier without "
                          "dst orders none"));
}

TEST(SharedMemoryCheck, TwoWritesAreARaceAndTwoReadsAreNone) {
    EXPECT_THAT(TwoCores().core(0).write("0").core(1).write("64").error(),
                HasSubstr("core 1 writes (k.py:111: dma_copy, dst) bytes 256 to 767"));
    EXPECT_EQ(TwoCores().core(0).read("0").core(1).read("0").write("512").error(), "");
}

TEST(SharedMemoryCheck, TheSameLineMayWriteTheSameBytesTwiceAndReadThemBack) {
    const auto twice = [](int lines, const char* second) {
        return TwoCores(lines).core(0).write("0").read("0").core(1).write(second).read("0").error();
    };
    EXPECT_EQ(twice(0, "0"), "");
    EXPECT_NE(twice(100, "0"), "") << "two lines";
    EXPECT_NE(twice(0, "64"), "") << "other bytes";
    EXPECT_NE(TwoCores(0).core(0).write("0").core(1).read("0").error(), "") << "one of them";
}

TEST(SharedMemoryCheck, ABarrierBetweenThemOrdersThem) {
    EXPECT_EQ(TwoCores().core(0).write("0").barrier().core(1).barrier().read("0").error(), "");
    EXPECT_NE(TwoCores().core(0).barrier().write("0").core(1).barrier().read("0").error(), "");
    EXPECT_NE(TwoCores().core(0).write("0").barrier().core(1).read("0").barrier().error(), "");
}

TEST(SharedMemoryCheck, ARaceAfterABarrierIsFoundToo) {
    TwoCores cores;
    cores.core(0).write("0").barrier().read("128");
    cores.core(1).write("128").barrier().write("128");
    EXPECT_THAT(cores.error(), HasSubstr("bytes 512 to 1023"));
}

TEST(SharedMemoryCheck, ABarrierInALoopOrdersItsIterations) {
    // Core 0 writes a row, then core 1 reads it, ten thousand times.
    TwoCores right;
    right.core(0).loop("i", 10'000).write("0").barrier().barrier().end();
    right.core(1).loop("j", 10'000).barrier().read("0").barrier().end();
    EXPECT_EQ(right.error(), "");
    TwoCores wrong;
    wrong.core(0).loop("i", 1000).write("0").barrier().end();
    wrong.core(1).loop("j", 1000).barrier().read("0").end();
    EXPECT_NE(wrong.error(), "");
}

TEST(SharedMemoryCheck, LoopsOverHalvesAreComparedExactly) {
    const auto halves = [](const char* first, const char* second) {
        return TwoCores()
            .core(0)
            .loop("i", 512)
            .write(first)
            .end()
            .core(1)
            .loop("j", 512)
            .write(second)
            .end()
            .error();
    };
    EXPECT_EQ(halves(R"({"i":128})", R"({"base":65536,"j":128})"), "");
    EXPECT_EQ(halves(R"({"i":256})", R"({"base":128,"j":256})"), "") << "even and odd rows";
    EXPECT_THAT(halves(R"({"i":128})", R"({"base":65408,"j":128})"),
                HasSubstr("bytes 261632 to 262143 of out"));
}

TEST(SharedMemoryCheck, ALoopThatComesBackToItsBytesTakesNoMoreRecords) {
    // More rows than records, and each of them a hundred times.
    TwoCores cores;
    cores.core(0).loop("k", 100).loop("i", 512).write(R"({"i":128})").end().end();
    cores.core(1).loop("l", 100).loop("j", 512).read(R"({"base":65536,"j":128})").end().end();
    cores.read("0");
    EXPECT_THAT(cores.error(), HasSubstr("bytes 0 to 511 of out"));
}

TEST(SharedMemoryCheck, OfALongLoopOnlyWhatIsNearIsLookedAt) {
    constexpr int kManyRows = 200'000;  // All of them with all others would take minutes.
    const auto rows = [](std::int64_t first, std::int64_t step) {
        TwoCores cores;
        cores.core(0).loop("i", kManyRows).write(R"({"base":256,"i":256})").end();
        cores.core(1).loop("j", kManyRows);
        cores.write(fmt::format(R"({{"base":{},"j":{}}})", first, step)).end();
        return cores.error();
    };
    constexpr std::int64_t kLast = 256L * kManyRows;
    EXPECT_EQ(rows(128, 256), "");
    EXPECT_EQ(rows(kLast - 128, -256), "");
    EXPECT_THAT(rows(kLast - 127, -256), HasSubstr("race"));
    EXPECT_THAT(rows(kLast + 127, 256), HasSubstr(fmt::format("bytes {} to ", 4 * kLast)));
    EXPECT_EQ(rows(kLast + 128, 256), "");
}

TEST(SharedMemoryCheck, CoresThatNeverMeetAreLeftToTheDeadlock) {
    EXPECT_EQ(TwoCores().core(0).barrier().write("0").core(1).read("128").error(), "");
}

}  // namespace
}  // namespace trnsim::lowering
