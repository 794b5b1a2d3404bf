// SPDX-License-Identifier: Apache-2.0
// A stack grants what it sustains, in equal shares of what is asked.
#include "trnsim/memory/hbm.hpp"

#include "support/systemc_test.hpp"
#include "trnsim/memory/hbm_timing.hpp"

#include <gtest/gtest.h>

namespace trnsim::memory {
namespace {

/// Two stacks of 1000 bits x 8 Gbit/s = 1000 GB/s each, all of it sustained.
HbmSpec spec() {
    return {.stacks = 2,
            .stack_interface_bits = 1000,
            .pin_gbit_per_s = 8.0,
            .refresh_efficiency = 1.0,
            .turnaround_efficiency = 1.0};
}

/// Counts its wake-ups.
class Listener : public sc_core::sc_module {
public:
    explicit Listener(const sc_core::sc_module_name& name) : sc_module(name) {
        SC_HAS_PROCESS(Listener);
        SC_METHOD(hear);
        sensitive << changed;
        dont_initialize();
    }
    sc_core::sc_event changed;
    int heard = 0;

private:
    void hear() { ++heard; }
};

class HbmTest : public test::SystemCTest {
protected:
    Hbm hbm_{"hbm", spec()};
    Listener a_{"a"};
    Listener b_{"b"};
    Listener c_{"c"};
};

TEST_F(HbmTest, GrantsAllOfADemandThatTheStackSustains) {
    const Hbm::Client client = hbm_.add_client(0, a_.changed);
    EXPECT_EQ(hbm_.demand(client, 1.0), 1.0);
    EXPECT_EQ(hbm_.grant(client), 1.0);
}

TEST_F(HbmTest, GrantsTheShareThatTheStackSustains) {
    const Hbm::Client client = hbm_.add_client(0, a_.changed);
    EXPECT_DOUBLE_EQ(hbm_.demand(client, 4.0), 0.25);
}

TEST_F(HbmTest, SustainsPeakTimesRefreshTimesTurnaround) {
    HbmSpec limited = spec();
    limited.refresh_efficiency = 0.9;
    limited.turnaround_efficiency = 0.8;
    Hbm hbm("limited", limited);
    const Hbm::Client client = hbm.add_client(0, a_.changed);
    EXPECT_DOUBLE_EQ(hbm.demand(client, 1.0), 0.72);
}

TEST_F(HbmTest, ClientsOfAStackShareByDemand) {
    const Hbm::Client a = hbm_.add_client(0, a_.changed);
    const Hbm::Client b = hbm_.add_client(0, b_.changed);
    hbm_.demand(a, 1.5);
    EXPECT_DOUBLE_EQ(hbm_.demand(b, 0.5), 0.5);
    EXPECT_DOUBLE_EQ(hbm_.grant(a), 0.5);
}

TEST_F(HbmTest, StacksDoNotDisturbEachOther) {
    const Hbm::Client a = hbm_.add_client(0, a_.changed);
    const Hbm::Client b = hbm_.add_client(1, b_.changed);
    hbm_.demand(a, 10.0);
    EXPECT_EQ(hbm_.demand(b, 1.0), 1.0);
}

TEST_F(HbmTest, TellsTheOthersOfTheStackWhenTheirShareChanges) {
    const Hbm::Client a = hbm_.add_client(0, a_.changed);
    const Hbm::Client b = hbm_.add_client(0, b_.changed);
    const Hbm::Client c = hbm_.add_client(1, c_.changed);
    hbm_.demand(a, 0.8);
    hbm_.demand(c, 0.8);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_NS));
    hbm_.demand(b, 0.1);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_NS));
    EXPECT_EQ(a_.heard, 0) << "there is enough for both";
    hbm_.demand(b, 0.8);
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_NS));
    EXPECT_EQ(a_.heard, 1);
    EXPECT_EQ(b_.heard, 0) << "it has the answer already";
    EXPECT_EQ(c_.heard, 0) << "another stack";
}

TEST_F(HbmTest, ADemandThatEndsGivesItsShareBack) {
    const Hbm::Client a = hbm_.add_client(0, a_.changed);
    const Hbm::Client b = hbm_.add_client(0, b_.changed);
    hbm_.demand(a, 1.0);
    hbm_.demand(b, 1.0);
    EXPECT_DOUBLE_EQ(hbm_.grant(a), 0.5);
    hbm_.demand(b, 0.0);
    EXPECT_DOUBLE_EQ(hbm_.grant(a), 1.0);
}

}  // namespace
}  // namespace trnsim::memory
