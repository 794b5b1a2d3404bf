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

TEST_F(DgeTest, StaticDescriptorsNeedNoGenerator) {
    dge_.generate(DgeMode::None, cost_, ns(0));
    dge_.generate(DgeMode::None, cost_, ns(0));
    EXPECT_EQ(dge_.earliest(DgeMode::None), ns(0));
}

}  // namespace
}  // namespace trnsim::neuron_core
