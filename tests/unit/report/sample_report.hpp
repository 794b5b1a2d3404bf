// SPDX-License-Identifier: Apache-2.0
// Hand-made runs for the tests of texts and files about runs.
#pragma once

#include "trnsim/report/report.hpp"

namespace trnsim::report {

/// An FP32 matmul of 2048 x 2048 x 2048 on Trainium2, with every field filled and all sums kept.
[[nodiscard]] RunResult matmul_result();

/// What it computed: not what its reference does.
[[nodiscard]] ValueReport matmul_values();

/// What it was, with one policy and one number of the chip changed by the user.
[[nodiscard]] Subject matmul_subject();

/// A kernel that does nothing: no instruction, no transfer.
[[nodiscard]] RunResult empty_result();

}  // namespace trnsim::report
