// SPDX-License-Identifier: Apache-2.0
// How far simulated latencies of this chip have been from measured ones.
#pragma once

#include <string_view>

namespace trnsim {

/// Four of five published measurements of a chip and API are within this share of the simulation:
/// |simulated - measured| / measured. [docs/accuracy.md]
struct AccuracySpec {
    double new_api_error = 0.0;   ///< Kernels as they are written: nki's, traces by hand.
    double old_api_error = 0.0;   ///< Kernels of neuronxcc.nki, which a compiler rewrites.
    bool is_extrapolated = true;  ///< Nothing was measured on this chip.

    /// The error of a trace header's api.
    [[nodiscard]] double of(std::string_view api) const {
        return api == "neuronxcc.nki" ? old_api_error : new_api_error;
    }
};

}  // namespace trnsim
