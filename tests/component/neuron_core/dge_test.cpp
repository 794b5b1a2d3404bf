// SPDX-License-Identifier: Apache-2.0
// Descriptor generators are as many as the mode has, each busy for its DMA.
#include "trnsim/neuron_core/dge.hpp"

#include "component/core_harness.hpp"

#include <gtest/gtest.h>

namespace trnsim::neuron_core {
namespace {

using test::ns;

class DgeTest : public test::SystemCTest {
protected:
    Dge dge_{"dge", {.software = {.blocks = 1}, .hardware = {.blocks = 2}}};
    const dma::DgeCost cost_{.generator = ns(600)};
};

TEST_F(DgeTest, TwoHardwareBlocksTakeTwoTransfersAtOnceAndTheThirdWaits) {
    dge_.generate(DgeMode::Hardware, cost_, ns(0));
    EXPECT_EQ(dge_.earliest(DgeMode::Hardware), ns(0));
    dge_.generate(DgeMode::Hardware, cost_, ns(100));
    EXPECT_EQ(dge_.earliest(DgeMode::Hardware), ns(600));
    dge_.generate(DgeMode::Hardware, cost_, ns(600));
    EXPECT_EQ(dge_.earliest(DgeMode::Hardware), ns(700));
}

TEST_F(DgeTest, SoftwareHasOneGenerator) {
    dge_.generate(DgeMode::Software, cost_, ns(0));
    EXPECT_EQ(dge_.earliest(DgeMode::Software), ns(600));
    EXPECT_EQ(dge_.earliest(DgeMode::Hardware), ns(0));
}

TEST_F(DgeTest, TheRingThatCouldTriggerFirstIsServedFirst) {
    dge_.generate(DgeMode::Software, cost_, ns(0));
    EXPECT_EQ(dge_.request(3, DgeMode::Software, cost_, ns(200)), ns(600));
    EXPECT_EQ(dge_.request(7, DgeMode::Software, cost_, ns(100)), ns(600));
    EXPECT_EQ(dge_.request(3, DgeMode::Software, cost_, ns(200)), ns(1200));
    dge_.serve(7, ns(600));
    EXPECT_EQ(dge_.request(3, DgeMode::Software, cost_, ns(200)), ns(1200));
}

TEST_F(DgeTest, OfTwoRequestsForOneMomentTheLowerRingIsServedFirst) {
    EXPECT_EQ(dge_.request(4, DgeMode::Software, cost_, ns(100)), ns(100));
    EXPECT_EQ(dge_.request(2, DgeMode::Software, cost_, ns(100)), ns(100));
    EXPECT_EQ(dge_.request(4, DgeMode::Software, cost_, ns(100)), ns(700));
}

TEST_F(DgeTest, ARequestForALaterMomentDelaysNobody) {
    EXPECT_EQ(dge_.request(0, DgeMode::Software, cost_, ns(500)), ns(500));
    EXPECT_EQ(dge_.request(1, DgeMode::Software, cost_, ns(499)), ns(499));
}

TEST_F(DgeTest, ModesDoNotWaitForOneAnother) {
    EXPECT_EQ(dge_.request(0, DgeMode::Software, cost_, ns(100)), ns(100));
    EXPECT_EQ(dge_.request(1, DgeMode::Hardware, cost_, ns(200)), ns(200));
    EXPECT_EQ(dge_.request(2, DgeMode::None, cost_, ns(150)), ns(150));
}

TEST_F(DgeTest, StaticDescriptorsNeedNoGenerator) {
    dge_.generate(DgeMode::None, cost_, ns(0));
    dge_.generate(DgeMode::None, cost_, ns(0));
    EXPECT_EQ(dge_.earliest(DgeMode::None), ns(0));
}

}  // namespace
}  // namespace trnsim::neuron_core
