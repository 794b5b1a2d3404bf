// SPDX-License-Identifier: Apache-2.0
// Loading chips by name and path, overriding, writing, and the committed files themselves.
#include "trnsim/spec/chip_config.hpp"

#include "chip_file.hpp"
#include "support/own_folder.hpp"
#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace trnsim::spec {
namespace {

using test::chip_text;
using testing::EndsWith;
using testing::HasSubstr;

template <typename Call>
std::string complaint(Call call) {
    try {
        call();
    } catch (const ConfigError& error) {
        return error.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
}

/// A value of an environment variable that ends with the test.
class Environment {
public:
    Environment(const char* name, const std::string& value) : name_(name) {
        setenv(name, value.c_str(), 1);
    }
    ~Environment() { unsetenv(name_); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    const char* name_;
};

TEST(LoadChip, FindsChipsByShortAndLongNameAndByPath) {
    EXPECT_EQ(load_chip("trn2").spec.name, "trainium2");
    EXPECT_EQ(load_chip("trainium1").spec.short_name, "trn1");
    EXPECT_EQ(load_chip("inf2").spec.neuron_core_version, NeuronCoreVersion::V2);
    const std::string path = TRNSIM_SOURCE_DIR "/configs/chips/trainium3.json";
    EXPECT_EQ(load_chip(path).origin, path);
}

TEST(LoadChip, RejectsUnknownNamesAndListsTheChips) {
    EXPECT_EQ(complaint([] { (void)load_chip("trn5"); }),
              "trn5: no such chip; chips are inf2, trn1, trn2, trn3, or the path of a chip JSON "
              "file");
    EXPECT_THAT(complaint([] { (void)load_chip(""); }), HasSubstr(": no such chip"));
}

TEST(LoadChip, RejectsMissingFilesFoldersAndHugeFiles) {
    EXPECT_EQ(complaint([] { (void)load_chip("./nowhere.json"); }),
              "./nowhere.json: cannot be opened; check the path and its permissions");
    EXPECT_EQ(complaint([] { (void)load_chip("./"); }),
              "./: is a folder; give the path of a chip JSON file");
    EXPECT_EQ(complaint([] { (void)load_chip("/dev/zero"); }),
              "/dev/zero: is larger than 1 MiB; a chip file has about 40 KiB");
}

TEST(LoadChip, PrefersTheFolderOfTheEnvironment) {
    const test::OwnFolder folder;
    std::filesystem::create_directories(folder / "chips");
    std::ofstream(folder / "chips/trainium2.json")
        << test::replaced(chip_text(), "\"value\": 2.4", "\"value\": 2.5");
    const Environment set("TRNSIM_CONFIG_DIR", folder.path().string());
    EXPECT_DOUBLE_EQ(load_chip("trn2").spec.neuron_core.tensor_engine.clock_ghz.value, 2.5);
    EXPECT_THAT(complaint([] { (void)load_chip("trn1"); }), HasSubstr("cannot be opened"));
}

TEST(LoadChip, KnowsTrnsimsOwnChipsUntilSomethingIsSet) {
    ChipConfig config = load_chip("trn2");
    EXPECT_TRUE(config.is_as_shipped);
    EXPECT_TRUE(load_chip(config.origin).is_as_shipped);
    set(config, std::vector<std::string>{});
    EXPECT_TRUE(config.is_as_shipped);
    set(config, "neuron_core.tensor_engine.clock_ghz=2.8");
    EXPECT_FALSE(config.is_as_shipped);
    const test::OwnFolder folder;
    const std::string copy = folder / "trainium2.json";
    std::ofstream(copy) << chip_text("trainium2");
    EXPECT_FALSE(load_chip(copy).is_as_shipped);
}

TEST(LoadChip, SaysWhichFolderToNameWhenThereIsNone) {
    const Environment set("TRNSIM_CONFIG_DIR", "/nowhere");
    EXPECT_EQ(complaint([] { (void)load_chip("trn2"); }),
              "trn2: the folder of chip configurations is not there; set TRNSIM_CONFIG_DIR to the "
              "folder that contains chips/trainium2.json");
}

TEST(SetLeaf, ChangesTheSpecAndSaysSo) {
    ChipConfig config = load_chip("trn2");
    set(config, "neuron_core.tensor_engine.clock_ghz=2.6");
    EXPECT_DOUBLE_EQ(config.spec.neuron_core.tensor_engine.clock_ghz.value, 2.6);
    const auto& leaf = config.leaves.at(2);
    EXPECT_EQ(leaf.path, "neuron_core.tensor_engine.clock_ghz");
    EXPECT_EQ(leaf.value, "2.6");
    EXPECT_EQ(leaf.source, "set by the user");
    EXPECT_EQ(leaf.unit, "GHz");
}

TEST(SetLeaf, OfTheSameValueSetsNothing) {
    ChipConfig config = load_chip("trn2");
    const std::string before = to_json(config);
    set(config, "neuron_core.vector_engine.clock_ghz=0.960");
    EXPECT_EQ(to_json(config), before);
    EXPECT_TRUE(config.is_as_shipped);
}

TEST(SetLeaf, TakesNumbersFlagsNamesAndTimes) {
    ChipConfig config = load_chip("trn2");
    set(config, "neuron_core.tensor_engine.clock_gate.enabled=false");
    set(config, "hbm.kind=HBM3E");
    set(config, "dma.descriptor_overhead_ns=7.25");
    set(config, "neuron_core.vector_engine.issue_overhead_cycles=70");
    EXPECT_FALSE(config.spec.neuron_core.tensor_engine.clock_gate.enabled);
    EXPECT_EQ(config.spec.hbm.kind, "HBM3E");
    EXPECT_EQ(config.spec.dma.descriptor_overhead_ns, Picoseconds{7250});
    EXPECT_EQ(config.spec.neuron_core.vector_engine.issue_overhead_cycles, Cycles{70});
}

TEST(SetLeaf, RejectsUnknownPathsAndNamesTheNearest) {
    ChipConfig config = load_chip("trn2");
    EXPECT_EQ(complaint([&] { set(config, "neuron_core.tensor_engine.clok_ghz=2"); }),
              "--set neuron_core.tensor_engine.clok_ghz=2: the chip has no "
              "\"neuron_core.tensor_engine.clok_ghz\"; did you mean "
              "\"neuron_core.tensor_engine.clock_ghz\"?");
    EXPECT_THAT(complaint([&] { set(config, "fp32_passes=2"); }),
                HasSubstr("; did you mean \"neuron_core.tensor_engine.fp32_passes\"?"));
    EXPECT_THAT(complaint([&] { set(config, "neuron_core=2"); }),
                HasSubstr("has no \"neuron_core\"; it is a group with \"neuron_core."));
    EXPECT_THAT(complaint([&] { set(config, "dma.first_byte_ns=2"); }),
                HasSubstr("; did you mean \"neuron_core.dge.none.first_byte_ns\", "));
    EXPECT_THAT(complaint([&] { set(config, "sbuf.size=2"); }),
                HasSubstr("; did you mean \"neuron_core.sbuf.partitions\", "));
    EXPECT_THAT(complaint([&] { set(config, "dma.how_many=2"); }),
                HasSubstr("; did you mean \"dma.engines\", "));
    EXPECT_THAT(complaint([&] { set(config, "neuron_core.sbuf.bytes_per_partition=2"); }),
                HasSubstr("; did you mean \"neuron_core.sbuf.partition_kib\", "
                          "\"neuron_core.sbuf.usable_partition_kib\", "))
        << "what has a word of it, in the innermost group";
    EXPECT_THAT(complaint([&] { set(config, "neuron_core.sbuf.limits.capacity=2"); }),
                HasSubstr("; did you mean \"neuron_core.sbuf.partitions\", "));
    EXPECT_THAT(complaint([&] { set(config, "neuron_core.clock=2"); }),
                EndsWith("; did you mean \"neuron_core.tensor_engine.clock_ghz\", "
                         "\"neuron_core.vector_engine.clock_ghz\", "
                         "\"neuron_core.scalar_engine.clock_ghz\", "
                         "\"neuron_core.gpsimd_engine.clock_ghz\", "
                         "\"neuron_core.sync_engine.clock_ghz\"?"));
    EXPECT_THAT(complaint([&] { set(config, ".=2"); }), HasSubstr("describe CHIP lists"));
    EXPECT_EQ(complaint([&] { set(config, "something else=2"); }),
              "--set something else=2: the chip has no \"something else\"; trnsim describe CHIP "
              "lists what there is");
    EXPECT_EQ(complaint([&] { set(config, "dma.rings"); }),
              "--set dma.rings: has no \"=\"; write path=value");
}

TEST(SetLeaf, RejectsBadValuesAndLeavesTheConfigurationAlone) {
    ChipConfig config = load_chip("trn2");
    const std::string before = to_json(config);
    EXPECT_EQ(complaint([&] { set(config, "dma.rings=17"); }),
              "--set dma.rings=17: the value is 17, but allowed is a whole number from 1 to 16 "
              "rings; correct it");
    EXPECT_THAT(complaint([&] { set(config, "dma.rings=many"); }),
                HasSubstr("the value is \"many\""));
    EXPECT_THAT(complaint([&] { set(config, "dma.rings="); }), HasSubstr("the value is \"\""));
    EXPECT_THAT(complaint([&] { set(config, "neuron_core.sbuf.usable_partition_kib=1000"); }),
                HasSubstr("is above partition_kib; lower it or raise that"));
    EXPECT_EQ(to_json(config), before);
}

TEST(Set, SeveralHaveToMakeSenseTogetherInAnyOrder) {
    const std::string total = "neuron_core.sbuf.partition_kib=400";
    const std::string usable = "neuron_core.sbuf.usable_partition_kib=300";
    for (const auto& both : {std::vector{total, usable}, {usable, total}}) {
        ChipConfig config = load_chip("trn2");
        set(config, both);
        EXPECT_EQ(config.spec.neuron_core.sbuf.usable_partition_kib, 300);
    }
    ChipConfig config = load_chip("trn2");
    const std::string before = to_json(config);
    EXPECT_EQ(
        complaint([&] {
            set(config, {usable, "dma.rings=8"});
        }),
        "--set neuron_core.sbuf.usable_partition_kib=300 --set dma.rings=8: "
        "/neuron_core/sbuf/usable_partition_kib: is above partition_kib; lower it or raise that");
    EXPECT_EQ(to_json(config), before);
}

TEST(Set, BanksOfPsumArePowersOfTwo) {
    ChipConfig config = load_chip("trn2");
    EXPECT_THAT(complaint([&] { set(config, "neuron_core.psum.bank_bytes=3000"); }),
                HasSubstr("/neuron_core/psum/bank_bytes: is not a power of two"));
}

TEST(ToJson, WithOverridesReadsBackTheSame) {
    ChipConfig config = load_chip("trn2");
    set(config, "neuron_core.tensor_engine.clock_ghz=2.6");
    const std::string text = to_json(config);
    EXPECT_THAT(text,
                HasSubstr("\"value\": 2.6, \"unit\": \"GHz\", \"source\": \"set by the user\""));
    const ChipConfig again = parse_chip(text, "written.json");
    EXPECT_EQ(to_json(again), text);
    EXPECT_DOUBLE_EQ(again.spec.neuron_core.tensor_engine.clock_ghz.value, 2.6);
}

class CommittedChip : public testing::TestWithParam<const char*> {};

TEST_P(CommittedChip, IsInTheFormatThatToJsonWrites) {
    EXPECT_EQ(to_json(parse_chip(chip_text(GetParam()), GetParam())), chip_text(GetParam()));
}

TEST_P(CommittedChip, HasSourcesThatDocsResolve) {
    const std::string sources = test::source_file("docs/sources.md");
    for (const ChipConfig::Leaf& leaf : parse_chip(chip_text(GetParam()), GetParam()).leaves) {
        std::istringstream tags(leaf.source);
        for (std::string tag; std::getline(tags >> std::ws, tag, ',');) {
            EXPECT_THAT(sources, HasSubstr("| `" + tag + "` |")) << leaf.path;
        }
        EXPECT_FALSE(leaf.description.empty()) << leaf.path;
    }
}

TEST_P(CommittedChip, CarriesTheUnitInTheNamesThatHaveOne) {
    for (const ChipConfig::Leaf& leaf : parse_chip(chip_text(GetParam()), GetParam()).leaves) {
        for (const auto& [suffix, unit] : {std::pair{"_ns", "ns"},
                                           {"_cycles", "cycles"},
                                           {"_ghz", "GHz"},
                                           {"_bytes", "B"},
                                           {"_kib", "KiB"},
                                           {"_gib", "GiB"},
                                           {"_gb_per_s", "GB/s"},
                                           {"_gbit_per_s", "Gbit/s"}}) {
            if (leaf.path.ends_with(suffix)) {
                EXPECT_EQ(leaf.unit, unit) << leaf.path;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         CommittedChip,
                         testing::Values("inferentia2", "trainium1", "trainium2", "trainium3"),
                         [](const auto& tested) { return tested.param; });

TEST(ChipSchema, IsTheCommittedOne) {
    const std::string path = testing::TempDir() + "chip.schema.json";
    std::ofstream(path) << chip_schema();
    EXPECT_TRUE(chip_schema() == test::source_file("configs/schema/chip.schema.json"))
        << "the fields of a chip have changed: copy " << path << " to configs/schema";
}

}  // namespace
}  // namespace trnsim::spec
