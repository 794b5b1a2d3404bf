// SPDX-License-Identifier: Apache-2.0
// Policies: names, defaults, and what is said about wrong ones.
#include "trnsim/lowering/policies.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace trnsim::lowering {
namespace {

std::map<std::string, std::string> described(const Policies& policies) {
    const auto pairs = describe(policies);
    return {pairs.begin(), pairs.end()};
}

std::string error_of(const std::string& assignment) {
    Policies policies;
    try {
        set(policies, assignment);
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

TEST(PoliciesTest, EveryValueOfEveryPolicyCanBeSetAndIsDescribedAsSet) {
    for (const std::string assignment : {"engine_choice=first",
                                         "engine_choice=balanced",
                                         "buffer_factor=2.5",
                                         "buffer_factor=0",
                                         "buffer_extra=3",
                                         "unrolled_buffers=true",
                                         "unrolled_buffers=false",
                                         "psum_buffers=as_sbuf",
                                         "psum_buffers=in_turn",
                                         "buffer_ns=0",
                                         "buffer_ns=1500",
                                         "spilling=off",
                                         "spilling=farthest_use",
                                         "ring_assignment=single",
                                         "ring_assignment=per_site",
                                         "ring_assignment=as_planned",
                                         "dma_rings=1",
                                         "dma_rings=16",
                                         "loads=as_soon_as_possible",
                                         "loads=just_in_time",
                                         "dge=auto",
                                         "dge=none",
                                         "dge=software",
                                         "dge=hardware",
                                         "dge=dynamic",
                                         "scratch_dge=auto",
                                         "scratch_dge=none",
                                         "scratch_dge=software",
                                         "scratch_dge=hardware",
                                         "trigger_in_queues=true",
                                         "trigger_in_queues=false",
                                         "drop_repeated_loads=true",
                                         "drop_repeated_loads=false",
                                         "sink_loads=true",
                                         "sink_loads=false",
                                         "merge_iterations=true",
                                         "merge_iterations=false",
                                         "drain_iterations=true",
                                         "drain_iterations=false",
                                         "reuse_stationary=true",
                                         "reuse_stationary=false",
                                         "load_identity=true",
                                         "load_identity=false",
                                         "matmul_window=1",
                                         "matmul_window=4096",
                                         "reorder_window=16",
                                         "planned_dma_rate=0.5",
                                         "planned_dma_rate=1"}) {
        Policies policies;
        set(policies, assignment);
        const std::string name = assignment.substr(0, assignment.find('='));
        EXPECT_EQ(name + "=" + described(policies)[name], assignment);
    }
}

TEST(PoliciesTest, SettingOneLeavesTheOthers) {
    Policies policies = default_policies("nki");
    auto expected = described(policies);
    set(policies, "spilling=off");
    expected["spilling"] = "off";
    EXPECT_EQ(described(policies), expected);
}

TEST(PoliciesTest, EveryDescribedPolicyCanBeSet) {
    for (const auto& [name, value] : describe(default_policies("neuronxcc.nki"))) {
        Policies policies;
        EXPECT_NO_THROW(set(policies, fmt::format("{}={}", name, value))) << name;
        EXPECT_EQ(described(policies)[name], value);
    }
}

TEST(PoliciesTest, EveryDescribedPolicyHasAMeaning) {
    for (const auto& [name, value] : describe(Policies{})) {
        EXPECT_FALSE(meaning_of(name).empty()) << name;
    }
    EXPECT_TRUE(meaning_of("optimism").empty());
}

TEST(PoliciesTest, TheOldApiBalancesEnginesAndWritesDescriptorsBeforehand) {
    const Policies policies = default_policies("neuronxcc.nki");
    EXPECT_EQ(policies.engine_choice, EngineChoice::Balanced);
    EXPECT_EQ(policies.dge, DgePolicy::None);
}

TEST(PoliciesTest, AKernelCompiledAsItIsWrittenKeepsItsMatmulsAndItsDmas) {
    const Policies policies = default_policies("neuronxcc.nki.as_written");
    EXPECT_EQ(policies.matmul_window, 1);
    EXPECT_FALSE(policies.merge_iterations);
    EXPECT_EQ(policies.dge, DgePolicy::Dynamic);
    EXPECT_EQ(policies.engine_choice, default_policies("neuronxcc.nki").engine_choice);
}

TEST(PoliciesTest, ATraceByHandIsTakenAsItIs) {
    const Policies policies = default_policies("trace");
    EXPECT_EQ(policies.buffer_factor, 1.0);
    EXPECT_EQ(policies.buffer_extra, 0);
    EXPECT_EQ(policies.engine_choice, EngineChoice::First);
    EXPECT_EQ(policies.matmul_window, 1);
    EXPECT_EQ(policies.reorder_window, 1);
}

TEST(PoliciesTest, OnlyTheOldApisCompilerReusesTheBytesOfUnrolledIterationsAtOnce) {
    EXPECT_FALSE(default_policies("neuronxcc.nki").unrolled_buffers);
    EXPECT_TRUE(default_policies("nki").unrolled_buffers);
    EXPECT_TRUE(default_policies("trace").unrolled_buffers);
}

TEST(PoliciesTest, CompilersUseAllOfPsum) {
    EXPECT_EQ(default_policies("neuronxcc.nki").psum_buffers, PsumBuffers::InTurn);
    EXPECT_EQ(default_policies("nki").psum_buffers, PsumBuffers::InTurn);
    EXPECT_EQ(default_policies("trace").psum_buffers, PsumBuffers::AsSbuf);
}

TEST(PoliciesTest, MatmulsAreReorderedForBothApisOtherInstructionsForTheOld) {
    const Policies old_api = default_policies("neuronxcc.nki");
    const Policies new_api = default_policies("nki");
    EXPECT_EQ(new_api.matmul_window, old_api.matmul_window);
    EXPECT_GT(new_api.matmul_window, 1);
    EXPECT_EQ(new_api.reorder_window, 1);
    EXPECT_GT(old_api.reorder_window, 1);
}

TEST(PoliciesTest, OnlyTheNewApisCompilerCountsOnLessThanAllOfTheDmaEngines) {
    EXPECT_EQ(default_policies("neuronxcc.nki").planned_dma_rate, 1.0);
    EXPECT_LT(default_policies("nki").planned_dma_rate, 1.0);
    EXPECT_EQ(default_policies("trace").planned_dma_rate, 1.0);
}

TEST(PoliciesTest, OnlyTheOldApisCompilerHasScratchDescribedByHardware) {
    EXPECT_EQ(default_policies("neuronxcc.nki").scratch_dge, DgePolicy::Hardware);
    EXPECT_EQ(default_policies("nki").scratch_dge, DgePolicy::Auto);
    EXPECT_EQ(default_policies("trace").scratch_dge, DgePolicy::Auto);
}

TEST(PoliciesTest, OnlyTheOldApisCompilerMergesIterations) {
    EXPECT_TRUE(default_policies("neuronxcc.nki").merge_iterations);
    EXPECT_FALSE(default_policies("nki").merge_iterations);
    EXPECT_FALSE(default_policies("trace").merge_iterations);
}

TEST(PoliciesTest, AnAssignmentWithoutAValueIsAnError) {
    EXPECT_EQ(error_of("spilling"),
              "--policy spilling: there is no value; write name=value, as in spilling=off");
}

TEST(PoliciesTest, AnUnknownPolicyIsAnErrorThatNamesAll) {
    EXPECT_EQ(
        error_of("spiling=off"),
        "--policy spiling: there is no such policy; the policies are engine_choice, "
        "buffer_factor, buffer_extra, buffer_ns, unrolled_buffers, loads, psum_buffers, spilling, "
        "ring_assignment, dma_rings, dge, scratch_dge, trigger_in_queues, "
        "drop_repeated_loads, sink_loads, merge_iterations, drain_iterations, "
        "reuse_stationary, load_identity, matmul_window, reorder_window, planned_dma_rate");
}

TEST(PoliciesTest, AnUnknownValueIsAnErrorThatNamesTheValues) {
    EXPECT_EQ(
        error_of("engine_choice=best"),
        "--policy engine_choice: \"best\", but it is one of first, balanced; choose one of them");
    EXPECT_EQ(error_of("spilling="),
              "--policy spilling: \"\", but it is one of off, farthest_use; choose one of them");
    EXPECT_EQ(error_of("ring_assignment=all"),
              "--policy ring_assignment: \"all\", but it is one of single, per_site, as_planned; "
              "choose one of them");
    EXPECT_EQ(error_of("dge=Hardware"),
              "--policy dge: \"Hardware\", but it is one of auto, none, software, hardware, "
              "dynamic; choose one "
              "of them");
    EXPECT_EQ(
        error_of("loads=late"),
        "--policy loads: \"late\", but it is one of as_soon_as_possible, just_in_time; choose "
        "one of them");
    EXPECT_EQ(error_of("reuse_stationary=1"),
              "--policy reuse_stationary: \"1\", but it is one of true, false; choose one of them");
}

TEST(PoliciesTest, ANumberOutOfRangeIsAnErrorThatNamesTheRange) {
    EXPECT_EQ(error_of("dma_rings=0"),
              "--policy dma_rings: \"0\", but it is a number from 1 to 16; give one");
    EXPECT_EQ(error_of("dma_rings=17"),
              "--policy dma_rings: \"17\", but it is a number from 1 to 16; give one");
    EXPECT_EQ(error_of("dma_rings=4.5"),
              "--policy dma_rings: \"4.5\", but it is a number from 1 to 16; give one");
    EXPECT_EQ(error_of("matmul_window=0"),
              "--policy matmul_window: \"0\", but it is a number from 1 to 4096; give one");
    EXPECT_EQ(error_of("reorder_window=4097"),
              "--policy reorder_window: \"4097\", but it is a number from 1 to 4096; give one");
    EXPECT_EQ(error_of("planned_dma_rate=0"),
              "--policy planned_dma_rate: \"0\", but it is a number from 0.01 to 1; give one");
    EXPECT_EQ(error_of("buffer_extra=-1"),
              "--policy buffer_extra: \"-1\", but it is a number from 0 to 1000000; give one");
    EXPECT_EQ(error_of("buffer_factor=nan"),
              "--policy buffer_factor: \"nan\", but it is a number from 0 to 1000000; give one");
    EXPECT_EQ(error_of("buffer_factor=2x"),
              "--policy buffer_factor: \"2x\", but it is a number from 0 to 1000000; give one");
}

}  // namespace
}  // namespace trnsim::lowering
