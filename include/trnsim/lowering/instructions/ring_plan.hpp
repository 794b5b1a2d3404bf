// SPDX-License-Identifier: Apache-2.0
// On which DMA ring each transfer of a program is.
#pragma once

#include "trnsim/lowering/policies.hpp"
#include "trnsim/program/program.hpp"
#include "trnsim/spec/chip_spec.hpp"

#include <string>
#include <vector>

namespace trnsim::lowering {

/// The rings of a program. One of each engine is kept for exchanges. [NEURON-RUNTIME]
struct RingPlan {
    std::vector<int> ring;              ///< By template; 0 for what is no transfer or never runs.
    std::vector<std::string> purposes;  ///< By ring, for the report: "load lhsT_tile".
};

/// By policy one ring takes all transfers, or every destination site has its own as long as there
/// are some [NKI-DMA]; of several a quarter, at least one, is for what goes to HBM. An engine that
/// the program lets trigger transfers, or that has to describe them (GpSimd, where no policy says
/// who), has a ring for these behind the policy's, as long as the chip has some; so have loads
/// (Sync) and stores (Scalar) of scratch, which hold up nothing else while they wait for each
/// other. [TRACES-TRN2]
///
/// `planned`: by buffer, whether a LoadPlan says when its tiles are loaded; if not empty, these
/// loads share the first ring with all stores, so that each comes after the stores that the plan
/// has before it, and other loads have the rest (decision 0030). So have stores that no load comes
/// after: they hold up nothing, and need not wait for loads before them (decision 0045).
[[nodiscard]] RingPlan plan_rings(const program::Program& program,
                                  const ChipSpec& chip,
                                  const Policies& policies,
                                  const std::vector<bool>& planned = {});

}  // namespace trnsim::lowering
