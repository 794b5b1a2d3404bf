// SPDX-License-Identifier: Apache-2.0
// A SystemC kernel of its own for every test of a process.
#pragma once

#include <systemc>

#include <gtest/gtest.h>

namespace trnsim::test {

/// Makes a new, empty kernel the current one. Earlier ones stay where they are: modules that still
/// exist refer to them, and a process does not run many.
inline void begin_fresh_kernel() {
    static std::vector<sc_core::sc_simcontext*> contexts;
    contexts.push_back(new sc_core::sc_simcontext);
    sc_core::sc_curr_simcontext = contexts.back();
}

/// Base of fixtures whose members are SystemC modules.
class SystemCTest : public testing::Test {
protected:
    SystemCTest() { begin_fresh_kernel(); }
};

}  // namespace trnsim::test
