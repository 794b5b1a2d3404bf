// SPDX-License-Identifier: Apache-2.0
// The trace file says what the sink was told, complete or not at all.
#include "trnsim/timeline/perfetto_writer.hpp"

#include "trace_reading.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace trnsim::timeline {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

/// A folder of its own for every test.
class PerfettoWriterTest : public testing::Test {
protected:
    PerfettoWriterTest() {
        const auto* info = testing::UnitTest::GetInstance()->current_test_info();
        folder_ = fs::path(testing::TempDir()) / ("timeline_" + std::string(info->name()));
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~PerfettoWriterTest() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path() const { return (folder_ / "run.pftrace").string(); }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder_)) {
            names.push_back(entry.path().filename().string());
        }
        return names;
    }

    fs::path folder_;
};

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Slice slice(TrackId track, LabelId label, std::int64_t start_ps, std::int64_t duration_ps) {
    return {track, label, Picoseconds{start_ps}, Picoseconds{duration_ps}, 0, {}};
}

TEST_F(PerfettoWriterTest, TheChipIsAProcessAndGroupsAndRowsNestInOrderOfRegistration) {
    PerfettoWriter writer(path(), "trn2");
    writer.add_track("NeuronCore 0", "tensor_engine");
    writer.add_track("DMA", "ring[0]");
    writer.add_track("NeuronCore 0", "vector_engine");
    writer.finish();

    const ReadTrace trace = read_trace(path());
    ASSERT_EQ(trace.tracks.size(), 6U);
    EXPECT_EQ(trace.tracks[0].process_name, "trn2");
    EXPECT_TRUE(trace.tracks[0].orders_children);
    EXPECT_EQ(trace.tracks[1].name, "NeuronCore 0");
    EXPECT_EQ(trace.tracks[1].parent, trace.tracks[0].uuid);
    EXPECT_TRUE(trace.tracks[1].orders_children);
    EXPECT_EQ(trace.tracks[2].name, "tensor_engine");
    EXPECT_EQ(trace.tracks[2].parent, trace.tracks[1].uuid);
    EXPECT_EQ(trace.tracks[5].name, "vector_engine");
    EXPECT_EQ(trace.tracks[5].parent, trace.tracks[1].uuid);
    EXPECT_LT(trace.tracks[1].rank, trace.tracks[3].rank);
    EXPECT_LT(trace.tracks[2].rank, trace.tracks[5].rank);
}

TEST_F(PerfettoWriterTest, ASliceCarriesNameCategorySourceAndDetails) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId track = writer.add_track("NeuronCore 0", "tensor_engine");
    const LabelId label = writer.add_label({"nc_matmul", "tensor", "kernel.py:52", "K=128 N=512"});
    writer.slice(slice(track, label, 1'000'000, 213'000));
    writer.finish();

    const ReadTrace trace = read_trace(path());
    ASSERT_EQ(trace.events.size(), 2U);
    const ReadEvent& begin = trace.events[0];
    EXPECT_EQ(begin.name, "nc_matmul");
    EXPECT_EQ(begin.category, "tensor");
    EXPECT_EQ(begin.at_ns, 1'000);
    EXPECT_THAT(
        begin.annotations,
        UnorderedElementsAre(Pair("source", "kernel.py:52"), Pair("details", "K=128 N=512")));
    EXPECT_EQ(trace.events[1].at_ns, 1'213);
    EXPECT_EQ(trace.track(begin.track).name, "tensor_engine");
}

TEST_F(PerfettoWriterTest, EmptySourceAndDetailsAreLeftAway) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId track = writer.add_track("NeuronCore 0", "sync_engine");
    writer.slice(slice(track, writer.add_label({"start", "", "", ""}), 0, 1'000));
    writer.finish();
    const ReadTrace trace = read_trace(path());
    EXPECT_THAT(trace.events[0].annotations, IsEmpty());
    EXPECT_EQ(trace.events[0].category, "");
}

TEST_F(PerfettoWriterTest, StringsAreWrittenOnceHoweverManyLabelsAndSlicesUseThem) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId track = writer.add_track("NeuronCore 0", "tensor_engine");
    const LabelId first = writer.add_label({"nc_matmul", "tensor", "kernel.py:52", ""});
    const LabelId second = writer.add_label({"nc_matmul", "tensor", "kernel.py:60", ""});
    for (std::int64_t i = 0; i < 100; ++i) {
        writer.slice(slice(track, i % 2 == 0 ? first : second, 1'000 * i, 500));
    }
    writer.finish();
    // nc_matmul, tensor, source, kernel.py:52, kernel.py:60
    EXPECT_EQ(read_trace(path()).interned_strings, 5U);
}

TEST_F(PerfettoWriterTest, SlicesThatTouchInPicosecondsTouchInNanosecondsAndNeverOverlap) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId track = writer.add_track("NeuronCore 0", "tensor_engine");
    const LabelId label = writer.add_label({"nc_matmul", "tensor", "", ""});
    constexpr std::int64_t kPeriod = 26'667;  // 64 cycles at 2.4 GHz.
    for (std::int64_t i = 0; i < 10'000; ++i) {
        writer.slice(slice(track, label, i * kPeriod, kPeriod));
    }
    writer.finish();

    const std::vector<ReadSlice> slices = read_trace(path()).slices();
    ASSERT_EQ(slices.size(), 10'000U);
    const auto gap = std::adjacent_find(
        slices.begin(), slices.end(), [](const ReadSlice& a, const ReadSlice& b) {
            return a.uuid != b.uuid || a.end_ns != b.start_ns;
        });
    EXPECT_EQ(gap, slices.end());
    EXPECT_EQ(slices.back().end_ns, 266'670'000 / 1'000);  // 10,000 x 26.667 ns: no error adds up.
}

TEST_F(PerfettoWriterTest, TimesAreRoundedToTheNearestNanosecond) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId track = writer.add_track("NeuronCore 0", "tensor_engine");
    writer.slice(slice(track, writer.add_label({"a", "", "", ""}), 1'499, 1'001));
    writer.finish();
    const std::vector<ReadSlice> slices = read_trace(path()).slices();
    EXPECT_EQ(slices.at(0).start_ns, 1);
    EXPECT_EQ(slices.at(0).end_ns, 3);
}

TEST_F(PerfettoWriterTest, OverlappingSlicesOfARowGoToRowsOfTheSameNameAndPlace) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId ring = writer.add_track("DMA", "ring[0]");
    const LabelId label = writer.add_label({"dma_copy", "dma", "", ""});
    writer.slice(slice(ring, label, 0, 1'000'000));
    writer.slice(slice(ring, label, 400'000, 1'000'000));
    writer.slice(slice(ring, label, 1'000'000, 100'000));  // The first row is free again.
    writer.finish();

    const ReadTrace trace = read_trace(path());
    const std::vector<ReadSlice> slices = trace.slices();
    ASSERT_EQ(slices.size(), 3U);
    EXPECT_NE(slices[0].uuid, slices[1].uuid);
    EXPECT_EQ(slices[0].uuid, slices[2].uuid);
    const ReadTrack& first = trace.track(slices[0].uuid);
    const ReadTrack& second = trace.track(slices[1].uuid);
    EXPECT_EQ(first.name, second.name);
    EXPECT_EQ(first.parent, second.parent);
    EXPECT_EQ(first.rank, second.rank);
}

TEST_F(PerfettoWriterTest, NoRowEverHoldsTwoSlicesAtOnce) {
    PerfettoWriter writer(path(), "trn2");
    std::array<TrackId, 3> rows{};
    for (TrackId& row : rows) {
        row = writer.add_track("DMA", "ring");
    }
    const LabelId label = writer.add_label({"dma_copy", "dma", "", ""});
    std::mt19937 random(7);  // NOLINT: the same sequence on every machine is wanted
    std::int64_t start = 0;
    for (int i = 0; i < 20'000; ++i) {
        start += static_cast<std::int64_t>(random() % 900);
        writer.slice(slice(
            rows.at(random() % 3), label, start, static_cast<std::int64_t>(random() % 5'000)));
    }
    writer.finish();

    std::map<std::uint64_t, std::int64_t> end_of_row;
    for (const ReadSlice& read : read_trace(path()).slices()) {
        ASSERT_GE(read.start_ns, end_of_row[read.uuid]);
        end_of_row[read.uuid] = read.end_ns;
    }
}

TEST_F(PerfettoWriterTest, EveryWaitIsAnArrowOfItsOwnFromTheSliceThatWasWaitedFor) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId dma = writer.add_track("DMA", "ring[0]");
    const TrackId tensor = writer.add_track("NeuronCore 0", "tensor_engine");
    const TrackId vector = writer.add_track("NeuronCore 0", "vector_engine");
    const LabelId load = writer.add_label({"load", "", "", ""});
    const LabelId matmul = writer.add_label({"matmul", "", "", ""});
    const LabelId copy = writer.add_label({"copy", "", "", ""});
    writer.slice({dma, load, Picoseconds{0}, Picoseconds{2'000'000}, 7, {}});
    const std::array<FlowId, 1> on_load{7};
    writer.slice({tensor, matmul, Picoseconds{2'100'000}, Picoseconds{200'000}, 9, on_load});
    const std::array<FlowId, 2> on_both{7, 9};
    writer.slice({vector, copy, Picoseconds{2'400'000}, Picoseconds{100'000}, 0, on_both});
    writer.finish();
    EXPECT_THAT(read_trace(path()).arrows(),
                ElementsAre("load -> copy", "load -> matmul", "matmul -> copy"));
}

TEST_F(PerfettoWriterTest, AnArrowReachesBackOverTheWindowAndNotFurther) {
    constexpr int kWindow = 16'384;
    for (const int slices_between : {kWindow - 1, kWindow}) {
        PerfettoWriter writer(path(), "trn2");
        const TrackId track = writer.add_track("NeuronCore 0", "tensor_engine");
        const LabelId load = writer.add_label({"load", "", "", ""});
        const LabelId work = writer.add_label({"work", "", "", ""});
        writer.slice({track, load, Picoseconds{0}, Picoseconds{1'000}, 1, {}});
        for (std::int64_t i = 1; i <= slices_between; ++i) {
            writer.slice(slice(track, work, 1'000 * i, 1'000));
        }
        const std::array<FlowId, 1> waited_on{1};
        writer.slice({track, work, Picoseconds{1'000'000'000}, Picoseconds{1'000}, 0, waited_on});
        writer.finish();
        EXPECT_EQ(read_trace(path()).arrows().size(), slices_between < kWindow ? 1U : 0U);
    }
}

TEST_F(PerfettoWriterTest, ACounterKeepsItsUnitAndItsValues) {
    PerfettoWriter writer(path(), "trn2");
    const TrackId rate = writer.add_counter("HBM", "read rate", "GB/s");
    writer.counter(rate, Picoseconds{2'000}, 181.5);
    writer.counter(rate, Picoseconds{5'000}, 0.0);
    writer.finish();

    const ReadTrace trace = read_trace(path());
    const ReadTrack& track = trace.track(trace.events.at(0).track);
    EXPECT_TRUE(track.is_counter);
    EXPECT_EQ(track.unit, "GB/s");
    EXPECT_EQ(trace.events[0].type, ReadEvent::Type::Counter);
    EXPECT_EQ(trace.events[0].at_ns, 2);
    EXPECT_EQ(trace.events[0].value, 181.5);
    EXPECT_EQ(trace.events.at(1).value, 0.0);
}

TEST_F(PerfettoWriterTest, NothingAppearsBeforeFinishAndNothingElseAfter) {
    {
        PerfettoWriter writer(path(), "trn2");
        EXPECT_FALSE(fs::exists(path()));
        EXPECT_TRUE(fs::exists(PerfettoWriter::partial_path(path())));
        writer.finish();
        EXPECT_THAT(files(), ElementsAre("run.pftrace"));
    }
    EXPECT_THAT(files(), ElementsAre("run.pftrace"));
}

TEST_F(PerfettoWriterTest, AnAbandonedRunLeavesTheOldFileAndNoOther) {
    std::ofstream(path()) << "yesterday";
    {
        PerfettoWriter writer(path(), "trn2");
        writer.add_track("DMA", "ring[0]");
    }
    EXPECT_THAT(files(), ElementsAre("run.pftrace"));
    EXPECT_EQ(bytes_of(path()), "yesterday");
}

TEST_F(PerfettoWriterTest, TheSameRunGivesTheSameBytes) {
    const auto write = [](const std::string& path) {
        PerfettoWriter writer(path, "trn2");
        const TrackId row = writer.add_track("DMA", "ring[0]");
        const LabelId label = writer.add_label({"dma_copy", "dma", "kernel.py:3", "64 KiB"});
        for (std::int64_t i = 0; i < 50'000; ++i) {
            writer.slice(slice(row, label, i * 700, 1'900));
        }
        writer.finish();
    };
    const std::string other = (folder_ / "again.pftrace").string();
    write(path());
    write(other);
    EXPECT_EQ(bytes_of(path()), bytes_of(other));
}

TEST_F(PerfettoWriterTest, AFolderThatDoesNotExistIsNamed) {
    const std::string missing = (folder_ / "missing" / "run.pftrace").string();
    try {
        PerfettoWriter writer(missing, "trn2");
        FAIL() << "no error";
    } catch (const UserError& error) {
        EXPECT_THAT(
            error.what(),
            AllOf(HasSubstr(missing), HasSubstr("cannot be created"), HasSubstr("name a file")));
    }
}

TEST_F(PerfettoWriterTest, ANameThatIsAFolderIsReportedAtTheEndAndNothingIsLeft) {
    fs::create_directories(path());
    {
        PerfettoWriter writer(path(), "trn2");
        EXPECT_THAT([&] { writer.finish(); },
                    testing::ThrowsMessage<UserError>(HasSubstr("cannot get its name")));
    }
    EXPECT_THAT(files(), ElementsAre("run.pftrace"));
}

TEST(PerfettoWriterFullDiskTest, AFullDiskIsAUserErrorThatSaysHowFarItCame) {
    if (!fs::exists("/dev/full")) {
        GTEST_SKIP() << "this system has no /dev/full";
    }
    const fs::path folder = fs::path(testing::TempDir()) / "timeline_full_disk";
    fs::remove_all(folder);
    fs::create_directories(folder);
    const std::string path = (folder / "run.pftrace").string();
    fs::create_symlink("/dev/full", PerfettoWriter::partial_path(path));
    {
        PerfettoWriter writer(path, "trn2");
        EXPECT_THAT([&] { writer.finish(); },
                    testing::ThrowsMessage<UserError>(HasSubstr("writing stopped after 0 bytes")));
    }
    fs::remove_all(folder);
}

}  // namespace
}  // namespace trnsim::timeline
