// SPDX-License-Identifier: Apache-2.0
// The main of tests that use SystemC: libsystemc.so refers to sc_main, so every binary that links
// it must define one. A kernel warning fails the test that caused it (a kernel error throws by
// itself).
#include <systemc>

#include <gtest/gtest.h>

namespace {

int kernel_warning_count() {
    return sc_core::sc_report_handler::get_count(sc_core::SC_WARNING);
}

/// Counts the kernel's warnings around each test.
class KernelWarningsFailTests : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo& /*info*/) override {
        before_ = kernel_warning_count();
    }

    void OnTestEnd(const testing::TestInfo& info) override {
        EXPECT_EQ(kernel_warning_count(), before_) << info.name() << ": SystemC warned, see above";
    }

    int before_ = 0;
};

}  // namespace

int sc_main(int /*argc*/, char* /*argv*/[]) {
    return 0;
}

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::UnitTest::GetInstance()->listeners().Append(new KernelWarningsFailTests);
    return RUN_ALL_TESTS();
}
