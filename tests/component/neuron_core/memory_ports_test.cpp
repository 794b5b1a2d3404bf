// SPDX-License-Identifier: Apache-2.0
// The ports of SBUF and PSUM by themselves.
#include "component/core_harness.hpp"
#include "trnsim/neuron_core/psum.hpp"
#include "trnsim/neuron_core/sbuf.hpp"

#include <gtest/gtest.h>

namespace trnsim::neuron_core {
namespace {

using test::ns;

/// Nothing but elements for so many nanoseconds.
InstructionCost streaming(std::int64_t time, bool fast_mode = false) {
    return {.interval = ns(time),
            .read = ns(time),
            .done = ns(time),
            .streaming = ns(time),
            .uses_fast_mode = fast_mode};
}

class MemoryPortsTest : public test::SystemCTest {};

TEST_F(MemoryPortsTest, AnExclusiveSbufIsFreeForTheOtherWhenTheAccessEnds) {
    Sbuf sbuf("sbuf", {.vector_gpsimd_exclusive = true});
    EXPECT_EQ(sbuf.ask(Engine::Gpsimd, ns(20), ns(50), ns(0)), ns(20));
    EXPECT_EQ(sbuf.access(Engine::Vector, ns(100), streaming(50, false)), ns(0));
    EXPECT_EQ(sbuf.ask(Engine::Gpsimd, ns(120), ns(50), ns(100)), ns(150));
    EXPECT_EQ(sbuf.ask(Engine::Scalar, ns(120), ns(50), ns(100)), ns(120));
    EXPECT_EQ(sbuf.ask(Engine::Vector, ns(110), ns(50), ns(100)), ns(110))
        << "an engine does not exclude itself";
}

TEST_F(MemoryPortsTest, WhoHasWaitedForLongerGoesFirst) {
    Psum psum("psum", {.vector_scalar_exclusive = true});
    psum.access(Engine::Scalar, ns(0), streaming(100), 0);
    EXPECT_EQ(psum.ask(Engine::Vector, ns(30), ns(50), ns(30)), ns(100));
    EXPECT_EQ(psum.ask(Engine::Scalar, ns(100), ns(50), ns(100)), ns(100) + Picoseconds{1})
        << "Vector has asked before";
    psum.access(Engine::Vector, ns(100), streaming(40), 0);
    EXPECT_EQ(psum.ask(Engine::Scalar, ns(100), ns(50), ns(100) + Picoseconds{1}), ns(140));
    EXPECT_EQ(psum.ask(Engine::Vector, ns(140), ns(50), ns(140)), ns(140) + Picoseconds{1});
}

TEST_F(MemoryPortsTest, WhoAskedAndDidNotComeKeepsNobodyOut) {
    Sbuf sbuf("sbuf", {.vector_gpsimd_exclusive = true});
    sbuf.access(Engine::Gpsimd, ns(0), streaming(100));
    EXPECT_EQ(sbuf.ask(Engine::Vector, ns(30), ns(50), ns(30)), ns(100));
    EXPECT_EQ(sbuf.ask(Engine::Gpsimd, ns(100), ns(50), ns(100)), ns(100) + Picoseconds{1});
    EXPECT_EQ(sbuf.ask(Engine::Gpsimd, ns(100), ns(50), ns(100) + Picoseconds{1}), ns(100));
}

TEST_F(MemoryPortsTest, SharingCostsAtMostTheTimeThatElementsStream) {
    Sbuf sbuf("sbuf", {.fast_modes_share_bus = true});
    sbuf.access(Engine::Gpsimd, ns(0), streaming(1000, false));
    EXPECT_EQ(sbuf.access(Engine::Vector, ns(100), streaming(50, true)), ns(50));
    InstructionCost short_one = streaming(50, true);
    short_one.streaming = ns(5);
    EXPECT_EQ(sbuf.access(Engine::Vector, ns(200), short_one), ns(5));
    Psum psum("psum", {.same_bank_halves_rate = true});
    psum.access(Engine::Scalar, ns(0), streaming(1000), 0b1);
    EXPECT_EQ(psum.access(Engine::Vector, ns(200), short_one, 0b1), ns(5));
}

TEST_F(MemoryPortsTest, SharingCostsNothingAfterTheOtherHasEnded) {
    Sbuf sbuf("sbuf", {.fast_modes_share_bus = true});
    sbuf.access(Engine::Gpsimd, ns(0), streaming(100, false));
    EXPECT_EQ(sbuf.access(Engine::Vector, ns(100), streaming(50, true)), ns(0));
}

TEST_F(MemoryPortsTest, AnAccessLengthenedBySharingIsSharedForLonger) {
    Psum psum("psum", {.same_bank_halves_rate = true});
    psum.access(Engine::Vector, ns(0), streaming(100), 0b1);
    EXPECT_EQ(psum.access(Engine::Scalar, ns(0), streaming(80), 0b1), ns(80));
    EXPECT_EQ(psum.access(Engine::Vector, ns(120), streaming(100), 0b1), ns(40))
        << "Scalar ends at 160";
}

TEST_F(MemoryPortsTest, APsumOfManyBanksTellsThemApart) {
    Psum psum("psum", {.banks = 64, .same_bank_halves_rate = true});
    const std::uint64_t last = std::uint64_t{1} << 63U;
    psum.access(Engine::Vector, ns(0), streaming(100), last);
    EXPECT_EQ(psum.access(Engine::Scalar, ns(0), streaming(50), last >> 1U), ns(0));
    EXPECT_EQ(psum.access(Engine::Scalar, ns(50), streaming(50), last), ns(50));
}

TEST_F(MemoryPortsTest, OtherEnginesHaveNoPortToShare) {
    Psum psum("psum", {.same_bank_halves_rate = true});
    psum.access(Engine::Vector, ns(0), streaming(100), 0b1);
    EXPECT_EQ(psum.access(Engine::Tensor, ns(0), streaming(100), 0b1), ns(0));
}

}  // namespace
}  // namespace trnsim::neuron_core
