// SPDX-License-Identifier: Apache-2.0
// How often each instance of a site will be used, in order of allocation.
#pragma once

#include "trnsim/lowering/analysis/liveness.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace trnsim::lowering {

/// Walks a site's run-length coded use counts. \pre never asked beyond the last instance
class UseCounter {
public:
    struct Instance {
        std::int64_t number = 0;
        std::int64_t uses = 0;
    };

    explicit UseCounter(std::vector<SiteLiveness::Uses> uses) : uses_(std::move(uses)) {}

    /// Uses of the next instance.
    [[nodiscard]] std::int64_t peek() {
        while (done_ == uses_[run_].instances) {
            done_ = 0;
            ++run_;
        }
        return uses_[run_].uses;
    }

    /// The next instance.
    Instance next() {
        const std::int64_t uses = peek();
        ++done_;
        return {.number = number_++, .uses = uses};
    }

private:
    std::vector<SiteLiveness::Uses> uses_;
    std::size_t run_ = 0;
    std::int64_t done_ = 0;
    std::int64_t number_ = 0;
};

}  // namespace trnsim::lowering
